// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/replay.h"

#include "base/owner.h"
#include "rewrites/language/rules.h"
#include "rewrites/replay/replay_closure.h"
#include "rewrites/replay/replay_step.h"

typedef struct replay {
  const eg_replay_input *input;
  eg_replay_terms terms;
  eg_u32s numbers;      // [terms of the explanation] terms
  eg_u32s equations;    // pairs of terms
  eg_u32s roots, right; // terms of the current step
  eg_u32s is_used;      // [rules]
  eg_rule_cases *cases;
  eg_replay_report *report;
} replay;

/// Adds the part of the explanation to the message of a failure that is not
/// the machine's.
static egraph_status refuse_at(egraph_status status, const char *what, size_t number,
                               const char *name) {
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  (void)eg_fail_context(status, "%s %zu (%.100s)", what, number, name);
  return status == EGRAPH_E_UNSUPPORTED ? status : EGRAPH_E_ARGUMENT;
}

// ---- terms -----------------------------------------------------------------------

static egraph_status add_explained_term(replay *r, uint32_t term) {
  const eg_explained *e = r->input->explained;
  const eg_attrs *attrs = eg_explained_attrs(e, term);
  eg_ground ground = eg_ground_at(&e->terms, term);
  uint32_t *out = &r->numbers.data[term];
  bool is_fitting;
  EG_TRY(eg_u32s_resize(&r->roots, ground.arity));
  for (uint32_t i = 0; i < ground.arity; i++)
    r->roots.data[i] = r->numbers.data[ground.children[i]];
  r->report->constants += attrs == NULL;
  if (attrs == NULL)
    return eg_replay_terms_add_constant(&r->terms, r->roots.data[0], out);
  EG_TRY(eg_replay_terms_add(&r->terms, attrs, r->roots.data, ground.arity, out));
  EG_TRY(eg_replay_terms_fit(&r->terms, *out, &is_fitting));
  return is_fitting ? EGRAPH_OK
                    : EG_FAIL(EGRAPH_E_ARGUMENT,
                              "it makes a number that its type does not hold");
}

static egraph_status add_explained_terms(replay *r) {
  const eg_explained *e = r->input->explained;
  uint32_t count = eg_ground_count(&e->terms);
  EG_TRY(eg_u32s_resize(&r->numbers, count));
  for (uint32_t t = 0; t < count; t++) {
    const eg_attrs *attrs = eg_explained_attrs(e, t);
    EG_TRY(refuse_at(add_explained_term(r, t), "term", t,
                     attrs == NULL ? "constant" : eg_op_info_of((eg_op)attrs->op)->name));
  }
  return EGRAPH_OK;
}

// ---- steps -----------------------------------------------------------------------

static egraph_status take_step(replay *r, eg_replay_stepper *stepper,
                               const eg_explained_step *step) {
  uint32_t number;
  const eg_rule *rule;
  EG_TRY(eg_rule_cases_find(r->cases, step->rule, &number, &rule));
  if (rule == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no such rule; give the file that has it");
  EG_TRY(eg_u32s_resize(&r->roots, step->count));
  EG_TRY(eg_u32s_resize(&r->right, step->count));
  for (uint32_t i = 0; i < step->count; i++)
    r->roots.data[i] = r->numbers.data[r->input->explained->roots.data[step->first + i]];
  EG_TRY(eg_replay_step(stepper, rule, r->roots.data, step->count, r->right.data));
  for (uint32_t i = 0; i < step->count; i++) {
    const uint32_t pair[2] = {r->roots.data[i], r->right.data[i]};
    EG_TRY(eg_u32s_append(&r->equations, pair, 2));
  }
  r->report->rules += r->is_used.data[number] == 0;
  r->is_used.data[number] = 1;
  if (rule->math > r->report->math) r->report->math = rule->math;
  return EGRAPH_OK;
}

static egraph_status take_steps(replay *r) {
  const eg_explained_steps *steps = &r->input->explained->steps;
  EG_LOCAL(eg_replay_stepper, stepper, r->terms.alloc);
  stepper.terms = &r->terms;
  EG_TRY(eg_rule_cases_create(r->terms.alloc, r->input->rules, &r->cases));
  egraph_status status = eg_u32s_resize(&r->is_used, eg_rules_count(r->input->rules));
  for (size_t i = 0; status == EGRAPH_OK && i < steps->len; i++)
    status = refuse_at(take_step(r, &stepper, &steps->data[i]), "step", i + 1,
                       steps->data[i].rule);
  eg_rule_cases_destroy(r->cases);
  r->cases = NULL;
  return status;
}

// ---- outputs ---------------------------------------------------------------------

static egraph_status state_all(replay *r, eg_replay_closure *closure) {
  for (size_t i = 0; i < r->equations.len; i += 2)
    EG_TRY(
        eg_replay_closure_unite(closure, r->equations.data[i], r->equations.data[i + 1]));
  for (uint32_t t = 0; t < eg_ground_count(&r->terms.ground); t++) {
    eg_ground ground = eg_ground_at(&r->terms.ground, t);
    if (ground.op == EG_EXPLAINED_CONSTANT)
      EG_TRY(eg_replay_closure_unite(closure, t, ground.children[0]));
  }
  return EGRAPH_OK;
}

/// Checks that the outputs of the given graph are equal to the terms of the explanation.
static egraph_status compare_given_outputs(replay *r) {
  const eg_graph *given = r->input->given;
  const eg_u32s *outputs = &r->input->explained->outputs;
  EG_LOCAL(eg_replay_closure, closure, r->terms.alloc);
  EG_TRY(eg_replay_closure_start(&closure, &r->terms.ground));
  EG_TRY(state_all(r, &closure));
  for (uint32_t i = 0; i < outputs->len; i++) {
    const char *name;
    eg_value value = eg_graph_output(given, i, &name);
    if (!eg_replay_closure_are_equal(&closure, r->terms.values.data[value.id],
                                     r->numbers.data[outputs->data[i]]))
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "output '%.200s' of the given model does not follow to be equal to "
                     "the term of the explanation",
                     name);
  }
  return EGRAPH_OK;
}

static egraph_status check_outputs(replay *r) {
  const eg_graph *given = r->input->given, *result = r->input->result;
  uint32_t count = eg_graph_output_count(given);
  if (eg_graph_output_count(result) != count || r->input->explained->outputs.len != count)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the given model has %u outputs, the result %u, the explanation %zu",
                   count, eg_graph_output_count(result),
                   r->input->explained->outputs.len);
  EG_TRY(compare_given_outputs(r));
  EG_TRY(eg_u32s_resize(&r->roots, count));
  for (uint32_t i = 0; i < count; i++)
    r->roots.data[i] = r->numbers.data[r->input->explained->outputs.data[i]];
  return eg_replay_follow(&r->terms, result, r->input->is_same_record, r->roots.data);
}

// ---- all -------------------------------------------------------------------------

EG_OWNER_DEFINE_STATIC(replay, (eg_replay_terms, terms),
                       (eg_u32s, numbers, equations, roots, right, is_used))

egraph_status eg_replay(egraph_allocator alloc, const eg_replay_input *input,
                        eg_replay_report *out) {
  EG_LOCAL(replay, r, alloc);
  *out = (eg_replay_report){.math = EGRAPH_MATH_EXACT};
  r.input = input;
  r.report = out;
  EG_TRY(eg_replay_terms_start(&r.terms, input->given, input->max_bytes));
  EG_TRY(add_explained_terms(&r));
  EG_TRY(take_steps(&r));
  EG_TRY(check_outputs(&r));
  out->steps = (uint32_t)input->explained->steps.len;
  out->terms = eg_ground_count(&input->explained->terms);
  return EGRAPH_OK;
}
