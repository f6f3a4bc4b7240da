// Runs tests of rules. A test becomes a graph of its given tensors, an e-graph of that
// graph, and terms added to the e-graph.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/verify/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/lab/basis/owned.h"
#include "rewrites/saturation/rule_build.h"
#include "rewrites/saturation/saturate.h"
#include "rewrites/saturation/tensor_facts.h"

typedef struct test_run {
  egraph_allocator alloc;
  const eg_rules *rules;
  const eg_rule_test *test;
  eg_text *failures;
  bool failed;
  eg_graph_own graph;
  eg_tensor_egraph_own egraph;
  eg_arena arena;
  eg_rule_env env;
  eg_rule_builder builder;
} test_run;
EG_OWNER_DEFINE_STATIC(test_run, (eg_rule_builder, builder), (eg_arena, arena),
                       (eg_tensor_egraph_own, egraph), (eg_graph_own, graph))

static egraph_status EG_PRINTF(3, 4)
    fail_at(test_run *run, uint32_t line, const char *format, ...) {
  char what[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  run->failed = true;
  return eg_text_printf(run->failures, "%s:%u: test %s: %s\n", run->test->file, line,
                        run->test->name, what);
}

// ---- given tensors --------------------------------------------------------------

static egraph_status add_given(test_run *run, const eg_rule_given *given) {
  const char *name = given->name + 1;
  eg_value value;
  if (!given->weight) return eg_graph_add_input(run->graph, name, &given->type, &value);
  return given->filled
             ? eg_graph_add_splat(run->graph, name, &given->type, given->value, &value)
             : eg_graph_add_weight(run->graph, name, &given->type, NULL, &value);
}

static egraph_status build_given(test_run *run) {
  const eg_rule *body = &run->test->body;
  EG_TRY(eg_graph_create(&run->alloc, &run->graph));
  for (uint32_t i = 0; i < run->test->given_count; i++)
    EG_TRY(add_given(run, &run->test->given[i]));
  EG_TRY(eg_tensor_egraph_create(&run->alloc, run->graph, &run->egraph));
  EG_TRY(eg_rule_builder_reserve(&run->builder, body));
  run->env = (eg_rule_env){.egraph = run->egraph, .rule = body};
  EG_NEW(&run->arena, body->var_count, run->env.vars);
  EG_NEW(&run->arena, 1, run->env.scratch);
  for (uint32_t i = 0; i < run->test->given_count; i++) {
    eg_value value = {.id = i}; // values have the order in which they were added
    run->env.vars[i] =
        (eg_rule_value){.kind = EG_RULE_TENSOR,
                        .tensor = eg_tensor_egraph_value_class(run->egraph, value)};
  }
  return EGRAPH_OK;
}

// ---- saturation -----------------------------------------------------------------

static bool uses_rule(void *user, uint32_t index) {
  const test_run *run = user;
  const eg_rule *rule = eg_rules_at(run->rules, index);
  const eg_rule_test *test = run->test;
  if (test->rule_count == 0) return strcmp(rule->file, test->file) == 0;
  for (uint32_t i = 0; i < test->rule_count; i++)
    if (eg_rule_answers_to(rule, test->rules[i])) return true;
  return false;
}

static egraph_status check_rule_names(test_run *run) {
  for (uint32_t i = 0; i < run->test->rule_count; i++) {
    bool found = false;
    for (uint32_t rule = 0; !found && rule < eg_rules_count(run->rules); rule++)
      found = eg_rule_answers_to(eg_rules_at(run->rules, rule), run->test->rules[i]);
    if (found) continue;
    EG_TRY(fail_at(run, run->test->line, "there is no rule and no rule file %s",
                   run->test->rules[i]));
  }
  return EGRAPH_OK;
}

static egraph_status saturate_test(test_run *run) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.iteration_limit = run->test->iterations;
  options.time_limit_seconds = 60; // iterations should end a test, not the clock
  options.math = EGRAPH_MATH_FAST;
  options.use_rule = uses_rule;
  options.use_rule_user = run;
  eg_saturation_report report;
  egraph_status status = eg_saturate(run->egraph, run->rules, &options, &report);
  eg_saturation_report_deinit(&report);
  return status;
}

// ---- terms and claims -----------------------------------------------------------

static egraph_status add_root(test_run *run, const eg_rule_root *root, uint32_t line,
                              eg_class *out) {
  bool ok;
  uint32_t missing, end = root->term + 1;
  run->env.scratch->int_count = 0;
  EG_TRY(eg_rule_plan(&run->builder, &run->env, run->egraph, root->first_term, end, &ok,
                      &missing));
  if (!ok) return fail_at(run, line, "a term is ill-typed: %s", egraph_last_error());
  EG_TRY(eg_rule_commit(&run->builder, run->env.rule, run->egraph, root->first_term, end,
                        EG_REASON_SEED));
  *out = run->builder.terms[root->term].class;
  return EGRAPH_OK;
}

static egraph_status add_roots(test_run *run, const eg_rule_root *roots, uint32_t line,
                               eg_class *out) {
  for (uint32_t i = 0; i < run->test->body.root_count && !run->failed; i++)
    EG_TRY(add_root(run, &roots[i], line, &out[i]));
  return EGRAPH_OK;
}

static egraph_status compare_roots(test_run *run, const eg_rule_claim *claim,
                                   const eg_class *terms, const eg_class *others) {
  for (uint32_t i = 0; i < run->test->body.root_count; i++) {
    bool same = eg_are_united(run->egraph, terms[i], others[i]);
    if (same == claim->equal) continue;
    EG_TRY(fail_at(run, claim->line, "term %u %s", i + 1,
                   same ? "was found equal to the one that must differ"
                        : "was not found equal"));
  }
  return EGRAPH_OK;
}

// Checks a claim of a test. Equal terms must be reached from the given tensors alone;
// different terms are saturated as well, so that they could become equal.
static egraph_status check_claim(test_run *run, const eg_rule_claim *claim,
                                 const eg_class *terms) {
  eg_class *others;
  EG_NEW(&run->arena, run->test->body.root_count, others);
  EG_TRY(add_roots(run, claim->roots, claim->line, others));
  if (!claim->equal && !run->failed) EG_TRY(saturate_test(run));
  if (run->failed) return EGRAPH_OK;
  return compare_roots(run, claim, terms, others);
}

static egraph_status run_body(test_run *run) {
  eg_class *terms;
  EG_TRY(check_rule_names(run));
  EG_TRY(build_given(run));
  EG_NEW(&run->arena, run->test->body.root_count, terms);
  EG_TRY(add_roots(run, run->test->body.rhs, run->test->line, terms));
  if (run->failed) return EGRAPH_OK;
  EG_TRY(saturate_test(run));
  for (int equal = 1; equal >= 0; equal--)
    for (uint32_t i = 0; i < run->test->claim_count; i++)
      if (run->test->claims[i].equal == (equal == 1))
        EG_TRY(check_claim(run, &run->test->claims[i], terms));
  return EGRAPH_OK;
}

egraph_status eg_rules_run_tests(const eg_rules *rules, uint32_t first,
                                 const egraph_allocator *alloc, eg_text *failures,
                                 eg_rule_test_summary *out) {
  eg_rule_test_summary summary = {.run = 0};
  for (uint32_t i = first; i < eg_rules_test_count(rules); i++) {
    EG_LOCAL(test_run, run, eg_allocator_or_heap(alloc));
    run.alloc = eg_allocator_or_heap(alloc);
    run.rules = rules;
    run.test = eg_rules_test_at(rules, i);
    run.failures = failures;
    egraph_status status = run_body(&run);
    // An error that the test's text or rules caused is a failure of the test.
    if (status == EGRAPH_E_TYPE || status == EGRAPH_E_ARGUMENT)
      status = fail_at(&run, run.test->line, "%s", egraph_last_error());
    EG_TRY(status);
    summary.run++;
    summary.failed += run.failed;
  }
  *out = summary;
  return EGRAPH_OK;
}
