// Judges drafts: decides whether rules imply a draft, and whether the verifier accepts
// it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_JUDGE_H
#define EG_REWRITES_GENERATE_JUDGE_H

#include "rewrites/lab/generate/draft.h"
#include "rewrites/language/rules.h"

typedef struct eg_judge_options {
  uint32_t iterations, nodes_of_a_pair; // of a saturation
  uint32_t instances;                   // of a rule that is kept
  uint64_t seed;
  egraph_math math; // classes of rules that imply: this one and those before it
} eg_judge_options;

/// How values that need not be fixed are lifted; tried in order until the result passes.
typedef enum eg_lift_care {
  EG_LIFT_UNREFUTED, // by few instances
  EG_LIFT_ACCEPTED,  // one by one
  EG_LIFT_NOTHING
} eg_lift_care;

/// Decides for each draft whether the enabled rules make its sides equal, all drafts in
/// one e-graph. False: not within the limits.
egraph_status eg_judge_implied(const eg_rules *rules, const eg_judge_options *options,
                               const eg_draft *const *drafts, uint32_t count,
                               bool *out_implied);

/// Reads the rule that a draft is; *out is NULL where the text is none. The caller
/// destroys *out.
egraph_status eg_judge_read(const eg_draft *draft, eg_rules **out);
/// False in *out when few instances refute the rule: most drafts fail so.
egraph_status eg_judge_may_hold(const eg_judge_options *options, const eg_draft *draft,
                                bool *out);
/// Decides whether the verifier accepts the rule: on few instances, then on more.
egraph_status eg_judge_accepts(const eg_judge_options *options, const eg_draft *draft,
                               bool *out_accepted);
/// The strictest class that passes, and backwards, too, where that does; verified with
/// three seeds more on instances of every class.
egraph_status eg_judge_settle(const eg_judge_options *options, eg_draft *draft,
                              bool *out_accepted);

/// Leaves as much of the instance out as the verifier lets: every value of an attribute
/// that is on the left, without a guard; else *out_accepted is false.
egraph_status eg_judge_generalize(const eg_judge_options *options, eg_draft *draft,
                                  bool *out_accepted);
/// Finds what can be left out where that does not hold: values that are lifted one by one
/// under the guard that is needed. *out_accepted is false where no guard does.
egraph_status eg_judge_guard(const eg_judge_options *options, eg_draft *draft,
                             bool *out_accepted);

#endif
