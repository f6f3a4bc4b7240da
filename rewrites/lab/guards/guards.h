// Finds guards of rules: conditions of a closed list (guard_list.c) under which a refuted
// rule holds. Also finds conditions of a rule that are stronger than necessary.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GUARDS_H
#define EG_REWRITES_GUARDS_H

#include "base/text.h"
#include "rewrites/language/rules.h"

typedef enum eg_guard_outcome {
  EG_GUARD_HOLDS,    // the rule holds, and every condition is needed
  EG_GUARD_WEAKER,   // the rule also holds with weaker conditions
  EG_GUARD_HOLDS_IF, // the rule holds only under a guard
  EG_GUARD_REFUTED // no guard of the list helps, or there are too few instances to judge
} eg_guard_outcome;
/// Returns "holds", "weaker", "holds-if" or "refuted".
const char *eg_guard_outcome_name(eg_guard_outcome outcome);

/// The result of searching conditions for one rule, borrowed for the call of `report`.
typedef struct eg_guard_finding {
  const char *rule;
  eg_guard_outcome outcome;
  const char *guard; // HOLDS_IF: conditions to add; WEAKER: conditions in place of others
  const char *detail; // the finding in words; REFUTED: the counterexample
} eg_guard_finding;

/// Checks every rule: a both-ways rule once, a rule with parameters in its first case.
/// Among the guards that are false on every instance where the rule fails, reports the
/// one that is true on most instances where it holds, verified with three seeds. Equal
/// seeds give equal findings. Fails with EGRAPH_E_MEMORY.
egraph_status eg_guards_check(const eg_rules *rules, uint64_t seed,
                              void (*report)(void *user, const eg_guard_finding *finding),
                              void *user);

typedef struct eg_guard_search {
  uint64_t seed;
  uint32_t share;  // at least one of so many instances must satisfy the guard
  uint32_t others; // largest number of conditions, each an alternative: (or ...)
  /// Sets *out to true when the caller accepts the condition `guard`; the search skips
  /// conditions that are not accepted. May be NULL.
  egraph_status (*wants)(void *user, const char *guard, bool *out);
  void *user;
} eg_guard_search;

/// Finds the weakest condition under which a refuted rule holds, with up to how->others
/// alternatives. Sets *out_found when there is such a guard, and appends it to `guard`.
egraph_status eg_guard_find(egraph_allocator alloc, const eg_rule *rule,
                            const eg_guard_search *how, eg_text *guard, bool *out_found);

// ---- the closed list (guard_list.c) ---------------------------------------------------

EG_VEC_DEFINE(eg_guard_texts, const char *);

/// Appends the conditions that can be guards of the rule, over variables that its left
/// side binds, conditions of one variable first. The texts are in the arena.
egraph_status eg_guard_list(const eg_rule *rule, eg_arena *arena, eg_guard_texts *out);

#endif
