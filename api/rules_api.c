// Public functions of rewrite rules.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/arguments.h"
#include "base/text.h"
#include "rewrites/lab/derive/derive.h"
#include "rewrites/lab/derive/smt.h"
#include "rewrites/lab/import/import.h"
#include "rewrites/lab/prove/prove.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "rewrites/language/rule_ast.h"
#include "rewrites/language/rules.h"

const char *egraph_math_name(egraph_math math) { return eg_rule_class_name(math); }

bool egraph_math_find(const char *name, egraph_math *out) {
  return name != NULL && out != NULL && eg_rule_class_find(name, out);
}

egraph_status egraph_rules_create(const egraph_allocator *alloc, egraph_rules **out) {
  EG_REQUIRE(out);
  EG_TRY(eg_rules_create_checked(alloc, out));
  (void)eg_rules_set_verified(*out, true);
  return EGRAPH_OK;
}

void egraph_rules_trust(egraph_rules *rules, bool trust) {
  if (rules != NULL) (void)eg_rules_set_verified(rules, !trust);
}

void egraph_rules_destroy(egraph_rules *rules) { eg_rules_destroy(rules); }

egraph_status egraph_rules_add_builtin(egraph_rules *rules) {
  EG_REQUIRE(rules);
  return eg_rules_add_builtin(rules);
}

egraph_status egraph_rules_add_file(egraph_rules *rules, const char *path) {
  EG_REQUIRE(rules, path);
  return eg_rules_load(rules, path);
}

egraph_status egraph_rules_add_text(egraph_rules *rules, const char *name,
                                    const char *text) {
  EG_REQUIRE(rules, name, text);
  return eg_rules_parse(rules, name, text, strlen(text));
}

typedef void import_reporter(void *user, uint32_t number, const char *outcome,
                             const char *detail);

typedef struct import_report {
  import_reporter *report;
  void *user;
} import_report;

static void on_import(void *user, uint32_t number, eg_import_outcome outcome,
                      const char *detail) {
  const import_report *to = user;
  to->report(to->user, number, eg_import_outcome_name(outcome), detail);
}

egraph_status egraph_rules_import(egraph_rules *rules, const char *path,
                                  import_reporter *report, void *user) {
  EG_REQUIRE(rules, path);
  import_report to = {.report = report, .user = user};
  return eg_rules_import(rules, path, report != NULL ? on_import : NULL, &to);
}

egraph_status egraph_rules_enable(egraph_rules *rules, const char *name, bool on) {
  EG_REQUIRE(rules, name);
  return eg_rules_enable(rules, name, on);
}

uint32_t egraph_rules_count(const egraph_rules *rules) {
  return rules != NULL ? eg_rules_count(rules) : 0;
}

static egraph_rule_info info_of(const eg_rule *rule) {
  return (egraph_rule_info){.name = rule->name,
                            .source = rule->source,
                            .file = rule->file,
                            .line = rule->line,
                            .known_as = rule->known_as,
                            .math = rule->math,
                            .is_on = rule->enabled};
}

egraph_rule_info egraph_rules_at(const egraph_rules *rules, uint32_t index) {
  if (index >= egraph_rules_count(rules)) return (egraph_rule_info){.name = NULL};
  return info_of(eg_rules_at(rules, index));
}

uint32_t egraph_rules_implied_count(const egraph_rules *rules) {
  return rules != NULL ? eg_rules_implied_count(rules) : 0;
}

egraph_rule_info egraph_rules_implied_at(const egraph_rules *rules, uint32_t index) {
  if (index >= egraph_rules_implied_count(rules)) return (egraph_rule_info){.name = NULL};
  return info_of(eg_rules_implied_at(rules, index));
}

typedef void verify_reporter(void *user, const char *rule, bool accepted,
                             const char *detail);

/// Runs the tests of the rules, and reports each line of their failures as a rejection.
static egraph_status verify_tests(const egraph_rules *rules, verify_reporter *report,
                                  void *user, uint32_t *inout_rejected) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  eg_rule_test_summary summary = {.failed = 0};
  EG_LOCAL(eg_text, failures, alloc);
  EG_LOCAL(eg_text, line, alloc);
  egraph_status status = eg_rules_run_tests(rules, 0, &alloc, &failures, &summary);
  *inout_rejected += summary.failed;
  EG_TRY(status);
  bool is_reported = summary.failed != 0 && report != NULL;
  for (const char *at = is_reported ? eg_text_of(&failures) : ""; *at != '\0';) {
    size_t length = strcspn(at, "\n");
    eg_text_clear(&line);
    EG_TRY(eg_text_printf(&line, "%.*s", (int)length, at));
    report(user, "(test)", false, eg_text_of(&line));
    at += length + (at[length] == '\n');
  }
  return EGRAPH_OK;
}

egraph_status egraph_rules_verify(const egraph_rules *rules, uint64_t seed,
                                  verify_reporter *report, void *user,
                                  uint32_t *out_rejected) {
  EG_REQUIRE(rules, out_rejected);
  const eg_verify_options options = {.seed = seed, .instances = EG_VERIFY_INSTANCES};
  EG_TRY(eg_rules_verify(rules, &options, report, user, out_rejected));
  return verify_tests(rules, report, user, out_rejected);
}

/// The caller's function that receives the evidence for rules, and its argument.
typedef struct listener {
  void (*report)(void *user, const egraph_rule_evidence *evidence);
  void *user;
} listener;

static void on_test_failure(void *user, const char *rule, bool accepted,
                            const char *detail) {
  const listener *to = user;
  const egraph_rule_evidence evidence = {.rule = rule,
                                         .is_accepted = accepted,
                                         .detail = detail,
                                         .verdict = accepted ? "tested" : "refuted"};
  if (to->report != NULL) to->report(to->user, &evidence);
}

egraph_status egraph_rules_examine(const egraph_rules *rules, uint64_t seed,
                                   void (*report)(void *user,
                                                  const egraph_rule_evidence *evidence),
                                   void *user, uint32_t *out_rejected) {
  EG_REQUIRE(rules, out_rejected);
  listener to = {.report = report, .user = user};
  const eg_verify_options options = {.seed = seed,
                                     .instances = EG_VERIFY_INSTANCES,
                                     .evidence = report,
                                     .evidence_user = user};
  EG_TRY(eg_rules_verify(rules, &options, NULL, NULL, out_rejected));
  return verify_tests(rules, on_test_failure, &to, out_rejected);
}

egraph_status egraph_rules_prove(const egraph_rules *rules,
                                 void (*report)(void *user,
                                                const egraph_rule_proof *proof),
                                 void *user, uint32_t *out_proved) {
  EG_REQUIRE(rules, out_proved);
  *out_proved = 0;
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    eg_proof_verdict verdict;
    EG_TRY(eg_rules_prove(rules, i, &verdict));
    *out_proved += verdict.is_proved;
    egraph_rule_proof proof = {.rule = eg_rule_name(rules, i),
                               .is_proved = verdict.is_proved,
                               .reason = verdict.reason,
                               .cases = verdict.cases,
                               .ranks = verdict.ranks};
    if (report != NULL) report(user, &proof);
  }
  return EGRAPH_OK;
}

typedef void on_derivation(void *user, const egraph_rule_derivation *derivation);

/// Proves the rules of a copy in which all rules are switched on; then derives the rules
/// that were not proved.
static egraph_status derive_all(const eg_rules *rules, uint64_t seed, bool *is_proved,
                                bool *both_ways, on_derivation *report, void *user,
                                uint32_t *out_derived) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  const eg_axioms axioms = {
      .rules = rules, .is_axiom = is_proved, .both_ways = both_ways};
  EG_LOCAL(eg_text, names, alloc);
  uint32_t count = eg_rules_count(rules);
  for (uint32_t i = 0; i < count; i++) {
    eg_proof_verdict verdict;
    EG_TRY(eg_rules_prove(rules, i, &verdict));
    is_proved[i] = verdict.is_proved;
    both_ways[i] = verdict.both_ways;
  }
  for (uint32_t i = 0; i < count; i++) {
    eg_derivation_verdict verdict = {.is_derived = false};
    eg_text_clear(&names);
    if (!is_proved[i])
      EG_TRY(
          eg_rule_derive(&axioms, eg_rules_at(rules, i), alloc, seed, &verdict, &names));
    *out_derived += verdict.is_derived;
    const egraph_rule_derivation derivation = {.rule = eg_rule_name(rules, i),
                                               .is_proved = is_proved[i],
                                               .is_derived = verdict.is_derived,
                                               .reason = verdict.reason,
                                               .from = eg_text_of(&names),
                                               .instances = verdict.instances,
                                               .steps = verdict.steps};
    if (report != NULL) report(user, &derivation);
  }
  return EGRAPH_OK;
}

egraph_status egraph_rules_derive(const egraph_rules *rules, uint64_t seed,
                                  on_derivation *report, void *user,
                                  uint32_t *out_derived) {
  EG_REQUIRE(rules, out_derived);
  *out_derived = 0;
  egraph_allocator alloc = eg_rules_allocator(rules);
  eg_rules *all;
  bool *flags; // is_proved, both_ways
  EG_LOCAL(eg_arena, arena, alloc);
  EG_TRY(eg_rules_copy_all_on(rules, alloc, &all));
  size_t count = eg_rules_count(all);
  egraph_status status = eg_arena_alloc(&arena, 2 * count, sizeof *flags, &flags);
  if (status == EGRAPH_OK)
    status = derive_all(all, seed, flags, flags + count, report, user, out_derived);
  eg_rules_destroy(all);
  return status;
}

egraph_status egraph_rules_smt(const egraph_rules *rules, uint64_t seed,
                               void (*report)(void *user,
                                              const egraph_rule_question *question),
                               void *user) {
  EG_REQUIRE(rules);
  EG_LOCAL(eg_text, text, eg_rules_allocator(rules));
  for (uint32_t i = 0; i < eg_rules_count(rules); i++) {
    eg_smt_question made;
    eg_text_clear(&text);
    egraph_status status = eg_smt_print_rule(
        eg_rules_at(rules, i), eg_rules_allocator(rules), seed, &text, &made);
    bool is_said = status == EGRAPH_OK;
    if (status != EGRAPH_E_UNSUPPORTED) EG_TRY(status);
    const egraph_rule_question question = {.rule = eg_rule_name(rules, i),
                                           .script = is_said ? eg_text_of(&text) : NULL,
                                           .reason =
                                               is_said ? made.doubt : egraph_last_error(),
                                           .is_decisive = made.is_decisive};
    if (report != NULL) report(user, &question);
  }
  return EGRAPH_OK;
}

egraph_status egraph_rules_text(const egraph_allocator *alloc, const egraph_rules *rules,
                                char **out) {
  EG_REQUIRE(rules, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  EG_TRY(eg_rules_print(rules, &text));
  return eg_text_take(&text, out);
}
