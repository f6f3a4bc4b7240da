// The public API, part: what rules need. Guards under which a rule holds, corrections of
// pairs that are equal on a part, and the smallest set of rules that implies others.
// Conventions as in egraph.h, which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_REFINE_H
#define EGRAPH_REFINE_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What conditions of a closed list say of a rule.
typedef struct egraph_rule_guard {
  const char *rule;
  /// "holds": with every condition that it has; "weaker": with weaker ones, too;
  /// "holds-if": with `guard` alone; "refuted": no condition of the list helps
  const char *outcome;
  const char *guard;  // conditions of the rule language; "": none
  const char *detail; // in words; of a refuted rule the counterexample
} egraph_rule_guard;
/// Looks for the weakest guard of every rule that does not hold, and for conditions of
/// those that hold which are stronger than they need be. Both by instances, of which the
/// guard keeps most, and confirmed by verification; a both-ways rule is one, one with
/// parameters is looked at in its first case, those with parallel operators are left out.
/// What `report` (may be NULL) is given lasts as long as the call.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_guards(
    const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const egraph_rule_guard *guard), void *user);

/// What became of a pair whose sides are equal on a part of their result.
typedef struct egraph_rule_correction {
  const char *rule;
  bool is_corrected;
  const char *detail; // where the sides agree; or why there is no corrected rule
  uint32_t rules;     // that were written
} egraph_rule_correction;
/// Reads every rule as a pair whose sides may differ on a part of the result, finds the
/// box in which they agree, and writes rules that compute the rest by the left side (PET,
/// OSDI'21). Operators must be linear in each operand, or move data. Every rule that is
/// written is verified. Give it rules that are not (egraph_rules_trust). `report` may be
/// NULL. Hands over a file of the corrected rules; free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_correct(
    const egraph_allocator *alloc, const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const egraph_rule_correction *found), void *user,
    char **out);

/// What became of a rule of a set that was made smaller.
typedef struct egraph_rule_need {
  const char *rule;
  bool is_kept;
  const char *by; // of one that is not: rules that imply it; ""
} egraph_rule_need;
/// The smallest subset found whose closure has the other rules: greedily, large rules are
/// left out first, each if saturation with the rest makes its sides equal (within limits
/// of nodes and iterations, on eight instances). Switched off or not; a both-ways rule is
/// one. Hands over the rule file of those that are kept; free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_minimize(
    const egraph_allocator *alloc, const egraph_rules *rules,
    void (*report)(void *user, const egraph_rule_need *need), void *user, char **out);

/// Whether other rules find a rule again.
typedef struct egraph_rule_found {
  const char *rule, *file;
  uint32_t operators; // of its larger side
  bool is_found;
  const char *by;     // rules that imply it, with a number each behind their names; ""
  const char *reason; // of one that is not: what it has that generated rules lack; ""
} egraph_rule_found;
/// Says of every rule of `of` whether `by_count` sets together imply it, by saturation
/// (within limits of nodes and iterations, on up to eight instances), and operators that
/// commute by axiom. A both-ways rule is one; what stands in several sets counts once.
/// What `report` (may be NULL) is given lasts as long as the call.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_found(
    const egraph_allocator *alloc, const egraph_rules *of, const egraph_rules *const *by,
    size_t by_count, void (*report)(void *user, const egraph_rule_found *found),
    void *user);

#ifdef __cplusplus
}
#endif

#endif
