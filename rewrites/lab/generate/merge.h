// Rules that are the same but for one pointwise operator, as one rule with an operator
// variable.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_MERGE_H
#define EG_REWRITES_GENERATE_MERGE_H

#include "base/text.h"
#include "rewrites/lab/generate/generate_state.h"

/// A rule of the file that is written.
typedef struct eg_merged_rule {
  const char *text;
  bool both_ways;
  uint32_t count; // rules that it stands for
} eg_merged_rule;
EG_VEC_DEFINE(eg_merged_rules, eg_merged_rule);

/// Merges what the verifier lets be merged, most of them first; a merged rule stands in
/// the place of its first one, with its name. Texts are in the arena, or those of
/// `rules`. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_rules_merge(eg_arena *arena, const eg_kept_rules *rules, uint64_t seed,
                             eg_merged_rules *out);

#endif
