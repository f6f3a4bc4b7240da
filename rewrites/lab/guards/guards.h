// Guards of rules: conditions of a closed list (guard_list.c) under which a rule holds
// that some instances refute, and conditions of a rule that are stronger than they need
// be.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GUARDS_H
#define EG_REWRITES_GUARDS_H

#include "base/text.h"
#include "rewrites/language/rules.h"

typedef enum eg_guard_outcome {
  EG_GUARD_HOLDS,    // and every condition is needed
  EG_GUARD_WEAKER,   // it holds with weaker conditions, too
  EG_GUARD_HOLDS_IF, // it does not hold, but under a guard
  EG_GUARD_REFUTED   // no guard of the list helps; or too few instances to judge
} eg_guard_outcome;
/// "holds", "weaker", "holds-if", "refuted".
const char *eg_guard_outcome_name(eg_guard_outcome outcome);

/// A finding, borrowed for the call.
typedef struct eg_guard_finding {
  const char *rule;
  eg_guard_outcome outcome;
  const char *guard;  // HOLDS_IF: conditions to be added; WEAKER: in place of others
  const char *detail; // in words; REFUTED: the counterexample
} eg_guard_finding;

/// Looks at every rule, a both-ways one once, one with parameters in its first case. The
/// guard found is the one that most of the instances keep on which the rule holds, and
/// none on which it does not; it is verified with three seeds. Equal seeds, equal
/// findings. Fails with EGRAPH_E_MEMORY.
egraph_status eg_guards_check(const eg_rules *rules, uint64_t seed,
                              void (*report)(void *user, const eg_guard_finding *finding),
                              void *user);

typedef struct eg_guard_search {
  uint64_t seed;
  uint32_t share;  // one of so many instances keeps the guard, at least
  uint32_t others; // conditions at most, each an alternative to the guard: (or ...)
  /// True when a guard is wanted; others are passed over. May be NULL.
  egraph_status (*wants)(void *user, const char *guard, bool *out);
  void *user;
} eg_guard_search;

/// The weakest guard of a rule that does not hold, or others. *out_found: whether there
/// is one, which is appended to `guard` then.
egraph_status eg_guard_find(egraph_allocator alloc, const eg_rule *rule,
                            const eg_guard_search *how, eg_text *guard, bool *out_found);

// ---- the closed list (guard_list.c) ---------------------------------------------------

EG_VEC_DEFINE(eg_guard_texts, const char *);

/// Appends conditions over variables that the left side of the rule binds; conditions of
/// one variable precede conditions of two. The texts are in the arena.
egraph_status eg_guard_list(const eg_rule *rule, eg_arena *arena, eg_guard_texts *out);

#endif
