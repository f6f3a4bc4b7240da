// Rules on the e-graph of a step. They do not look across what adds up over
// micro-batches, nor from block to block of a folded step: what is equal in one
// micro-batch need not be in the step, and a block that stands for many is rewritten
// alone. (Such values are sealed, see eg_tensor_egraph_seal.)
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_RULES_H
#define EG_OPTIMIZE_SEARCH_PLAN_RULES_H

#include "optimize/space/step_info.h"
#include "rewrites/saturation/saturate.h"

/// As eg_saturate; `info` is of the graph that `egraph` was seeded with.
egraph_status eg_plan_apply_rules(eg_tensor_egraph *egraph, const eg_step_info *info,
                                  const eg_rules *rules,
                                  const eg_saturation_options *options,
                                  eg_saturation_report *out_report);

#endif
