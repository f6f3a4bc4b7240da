// Judges candidates: whether rules imply one already, and whether the verifier lets one
// pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_JUDGE_H
#define EG_REWRITES_GENERATE_JUDGE_H

#include "rewrites/generate/draft.h"
#include "rewrites/language/rules.h"

typedef struct eg_judge_options {
  uint32_t iterations, nodes_of_a_pair; // of a saturation
  uint32_t instances;                   // of a rule that is kept
  uint64_t seed;
  egraph_math math; // classes of rules that imply: this one and those before it
} eg_judge_options;

/// Whether the rules, all that are on, make the sides of each draft equal: all of them in
/// one e-graph. false: not within the limits.
egraph_status eg_judge_implied(const eg_rules *rules, const eg_judge_options *options,
                               const eg_draft *const *drafts, uint32_t count,
                               bool *out_implied);

/// Finds what can be left out of a draft so that the verifier accepts the rule:
/// everything; or values that are lifted one by one under the guard that is needed; and
/// its class. *out_accepted is false where no guard does.
egraph_status eg_judge_generalize(const eg_judge_options *options, eg_draft *draft,
                                  bool *out_accepted);

#endif
