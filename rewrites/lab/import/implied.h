// Decides whether rules imply another rule: saturates an instance of the left side of
// that rule, and looks for the right side in the same class.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_IMPLIED_H
#define EG_REWRITES_IMPORT_IMPLIED_H

#include "rewrites/lab/basis/owned.h"

// How a rule can be implied by other rules, the strongest first: id, words of reports.
#define EG_IMPLIED_LIST(X)                                                               \
  X(EG_IMPLIED_BY_DEFAULT, "on by default")                                              \
  X(EG_IMPLIED_BY_DEFAULT_MEETING, "on by default, from both sides")                     \
  X(EG_IMPLIED_BY_EXPLORING, "with explore rules")                                       \
  X(EG_IMPLIED_BY_EXPLORING_MEETING, "with explore rules, from both sides")
#define EG_IMPLIED_ENUM(id, words) id,
typedef enum eg_implied { EG_IMPLIED_LIST(EG_IMPLIED_ENUM) EG_IMPLIED_NOT } eg_implied;
#undef EG_IMPLIED_ENUM
/// Returns the words of reports, such as "on by default", or NULL for EG_IMPLIED_NOT.
const char *eg_implied_words(eg_implied how);

/// Rules that may imply other rules. Rules of every class are used, also of classes that
/// a search would exclude.
typedef struct eg_implied_checker {
  eg_rules_own rules; // all of them switched on
  bool *is_default;   // [rules] true for the rules that are used first
  bool is_alone;      // the other rules are not used at all
  eg_arena arena;
} eg_implied_checker;

void eg_implied_checker_init(eg_implied_checker *checker, egraph_allocator alloc);
void eg_implied_checker_deinit(eg_implied_checker *checker);
/// Fills the checker with the shipped rules.
egraph_status eg_implied_checker_load(eg_implied_checker *checker);
/// Fills the checker with a copy of `rules`, including the rules that are switched off.
egraph_status eg_implied_checker_copy(eg_implied_checker *checker, const eg_rules *rules);
/// Decides whether the checker's rules imply a rule (of any set), on instances in which
/// kernels of convolutions are weights. `names` (overwritten) gets the shipped rules that
/// the first instance needs: without any one of them the sides are not found equal. Equal
/// seeds give equal answers. Fails with EGRAPH_E_MEMORY.
egraph_status eg_implied_check(const eg_implied_checker *checker, const eg_rule *rule,
                               eg_implied *out, eg_text *names);

// ---- sets (implied_sets.c) ----------------------------------------------------------

/// Finds a small subset of a set of rules that implies the others, and appends
/// its rule file; `report` (may be NULL) is called for each rule once, in order.
/// Rules with parallel operators are kept. Equal sets give equal answers. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_rules_minimize(egraph_allocator alloc, const eg_rules *rules,
                                void (*report)(void *user, const egraph_rule_need *need),
                                void *user, eg_text *out);

/// Checks for every rule of `of` whether the sets `by` together imply it. Both directions
/// of a rule count as one rule, and so does a rule in several sets.
egraph_status eg_rules_found(egraph_allocator alloc, const eg_rules *of,
                             const eg_rules *const *by, size_t by_count,
                             void (*report)(void *user, const egraph_rule_found *found),
                             void *user);

#endif
