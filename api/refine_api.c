// Public functions: guards of rules, corrections of pairs, and smallest sets of rules.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "base/text.h"
#include "rewrites/lab/correct/correct.h"
#include "rewrites/lab/guards/guards.h"
#include "rewrites/lab/import/implied.h"

typedef struct guard_listener {
  void (*report)(void *user, const egraph_rule_guard *guard);
  void *user;
} guard_listener;

static void on_guard(void *user, const eg_guard_finding *finding) {
  const guard_listener *to = user;
  const egraph_rule_guard guard = {.rule = finding->rule,
                                   .outcome = eg_guard_outcome_name(finding->outcome),
                                   .guard = finding->guard,
                                   .detail = finding->detail};
  if (to->report != NULL) to->report(to->user, &guard);
}

egraph_status egraph_rules_guards(const egraph_rules *rules, uint64_t seed,
                                  void (*report)(void *user,
                                                 const egraph_rule_guard *guard),
                                  void *user) {
  EG_REQUIRE(rules);
  guard_listener to = {.report = report, .user = user};
  return eg_guards_check(rules, seed, on_guard, &to);
}

typedef struct correction_listener {
  void (*report)(void *user, const egraph_rule_correction *found);
  void *user;
} correction_listener;

static void on_correction(void *user, const eg_correction *found) {
  const correction_listener *to = user;
  const egraph_rule_correction told = {.rule = found->rule,
                                       .is_corrected = found->is_corrected,
                                       .detail = found->detail,
                                       .rules = found->rules};
  if (to->report != NULL) to->report(to->user, &told);
}

egraph_status egraph_rules_correct(const egraph_allocator *alloc,
                                   const egraph_rules *rules, uint64_t seed,
                                   void (*report)(void *user,
                                                  const egraph_rule_correction *found),
                                   void *user, char **out) {
  EG_REQUIRE(rules, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  correction_listener to = {.report = report, .user = user};
  EG_TRY(eg_rules_correct(rules, seed, on_correction, &to, &text));
  return eg_text_take(&text, out);
}

egraph_status
egraph_rules_minimize(const egraph_allocator *alloc, const egraph_rules *rules,
                      void (*report)(void *user, const egraph_rule_need *need),
                      void *user, char **out) {
  EG_REQUIRE(rules, out);
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  EG_TRY(eg_rules_minimize(eg_allocator_or_heap(alloc), rules, report, user, &text));
  return eg_text_take(&text, out);
}

egraph_status egraph_rules_found(const egraph_allocator *alloc, const egraph_rules *of,
                                 const egraph_rules *const *by, size_t by_count,
                                 void (*report)(void *user,
                                                const egraph_rule_found *found),
                                 void *user) {
  EG_REQUIRE(of, by);
  for (size_t i = 0; i < by_count; i++)
    if (by[i] == NULL)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "egraph_rules_found: by[%zu] is NULL", i);
  return eg_rules_found(eg_allocator_or_heap(alloc), of, by, by_count, report, user);
}
