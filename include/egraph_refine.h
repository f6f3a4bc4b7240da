// The public API, part: guards under which a rule holds, corrections of pairs that are
// equal on a part of their result, and the smallest set of rules that implies others.
// Conventions as in egraph.h, which includes this.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_REFINE_H
#define EGRAPH_REFINE_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The weakest condition under which a rule holds, from a closed list.
typedef struct egraph_rule_guard {
  const char *rule;
  /// The rule "holds": with its conditions, and with no weaker conditions; "weaker": with
  /// the weaker conditions of `guard`; "holds-if": only with `guard`; "refuted": with no
  /// condition of the list
  const char *outcome;
  const char *guard;  // conditions of the rule language; "": none
  const char *detail; // explanation in words; for a refuted rule the counterexample
} egraph_rule_guard;
/// Finds the weakest guard of every rule that does not hold, and weaker conditions for
/// rules that hold. Candidates are ranked by the instances that they keep, and confirmed
/// by verification. A both-ways rule counts as one; only the first case of a rule with
/// parameters is tried; rules with parallel operators are skipped. The arguments of
/// `report` (may be NULL) are valid during the call.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_guards(
    const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const egraph_rule_guard *guard), void *user);

/// The result for a pair whose sides are equal on a part of their result.
typedef struct egraph_rule_correction {
  const char *rule;
  bool is_corrected;
  const char *detail; // where the sides agree; or why there is no corrected rule
  uint32_t rules;     // number of rules written
} egraph_rule_correction;
/// Takes every rule as a pair whose sides may differ on a part of the result, finds the
/// box in which the sides agree, and writes rules that compute the rest by the left side
/// (PET, OSDI'21). Operators must move data or be linear in each operand. Every written
/// rule is verified. Load the pairs without verification (egraph_rules_trust). `report`
/// may be NULL. Returns a file of the corrected rules; free with egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_correct(
    const egraph_allocator *alloc, const egraph_rules *rules, uint64_t seed,
    void (*report)(void *user, const egraph_rule_correction *found), void *user,
    char **out);

/// The result for a rule of a set that is minimized.
typedef struct egraph_rule_need {
  const char *rule;
  bool is_kept;
  const char *by; // the rules that imply it; "" when it is kept
} egraph_rule_need;
/// Finds a small subset of rules that implies the others, greedily: tries to drop large
/// rules first, each when saturation with the rest makes its sides equal (within limits
/// of nodes and iterations, on eight instances). Rules count switched on or off; a
/// both-ways rule is one. Returns the rule file of the kept rules; free with
/// egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_minimize(
    const egraph_allocator *alloc, const egraph_rules *rules,
    void (*report)(void *user, const egraph_rule_need *need), void *user, char **out);

/// The result for a rule that other rules may imply.
typedef struct egraph_rule_found {
  const char *rule, *file;
  uint32_t operators; // number of operators of its larger side
  bool is_found;
  const char *by;     // the rules that imply it, each with its count; ""
  const char *reason; // the feature of the rule that generated rules lack; ""
} egraph_rule_found;
/// Reports for every rule of `of` whether the `by_count` sets together imply it, by
/// saturation (within limits of nodes and iterations, on up to eight instances) and
/// commutativity of operators. A both-ways rule is one; a rule that several sets contain
/// counts once. The arguments of `report` (may be NULL) are valid during the call.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_found(
    const egraph_allocator *alloc, const egraph_rules *of, const egraph_rules *const *by,
    size_t by_count, void (*report)(void *user, const egraph_rule_found *found),
    void *user);

#ifdef __cplusplus
}
#endif

#endif
