// Judges generated rules (drafts): decides whether known rules imply a draft, and whether
// the verifier accepts it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_JUDGE_H
#define EG_REWRITES_GENERATE_JUDGE_H

#include "rewrites/lab/generate/draft.h"
#include "rewrites/language/rules.h"

typedef struct eg_judge_options {
  uint32_t iterations, nodes_of_a_pair; // limits of a saturation
  uint32_t instances; // number of instances on which a kept rule is verified
  uint64_t seed;
  // The class (exact, associative, fast) of the rules that may imply a draft; rules of
  // stricter classes are used, too.
  egraph_math math;
} eg_judge_options;

/// How attribute values that a rule need not fix are replaced by variables, tried in this
/// order until the rule passes.
typedef enum eg_lift_care {
  EG_LIFT_UNREFUTED, // lift values while few instances do not refute the rule
  EG_LIFT_ACCEPTED,  // lift values one by one while the verifier accepts the rule
  EG_LIFT_NOTHING
} eg_lift_care;

/// Decides for each draft whether the enabled rules make its sides equal, with all drafts
/// in one e-graph. The result is false when they do not become equal within the limits.
egraph_status eg_judge_implied(const eg_rules *rules, const eg_judge_options *options,
                               const eg_draft *const *drafts, uint32_t count,
                               bool *out_implied);

/// Reads the text of a draft as a rule; *out is NULL when the text is not a rule. The
/// caller destroys *out.
egraph_status eg_judge_read(const eg_draft *draft, eg_rules **out);
/// Tests the rule on few instances; *out is false when they refute it, as they do for
/// most drafts.
egraph_status eg_judge_may_hold(const eg_judge_options *options, const eg_draft *draft,
                                bool *out);
/// Sets *out_accepted if the verifier accepts the rule on few, then on more instances.
egraph_status eg_judge_accepts(const eg_judge_options *options, const eg_draft *draft,
                               bool *out_accepted);
/// Finds the strictest class (exact, associative, fast) in which the rule passes, and
/// makes the rule both-ways when the reverse passes, too; then verifies it with three
/// more seeds on all classes of instances.
egraph_status eg_judge_settle(const eg_judge_options *options, eg_draft *draft,
                              bool *out_accepted);

/// Generalizes a draft as far as the verifier accepts it without a guard: replaces every
/// attribute value of the left side by a variable. *out_accepted is false when the
/// verifier accepts no such rule.
egraph_status eg_judge_generalize(const eg_judge_options *options, eg_draft *draft,
                                  bool *out_accepted);
/// Generalizes a draft that holds only under a guard: replaces attribute values by
/// variables one by one and adds the guard. *out_accepted is false when no guard helps.
egraph_status eg_judge_guard(const eg_judge_options *options, eg_draft *draft,
                             bool *out_accepted);

#endif
