// Rules on the e-graph of a step.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_RULES_H
#define EG_OPTIMIZE_SEARCH_PLAN_RULES_H

#include "optimize/space/step_info.h"
#include "rewrites/saturation/saturate.h"

/// As eg_saturate, but that values are sealed which rules must not look through; `info`
/// is of the graph that `egraph` was seeded with.
egraph_status eg_plan_apply_rules(eg_tensor_egraph *egraph, const eg_step_info *info,
                                  const eg_rules *rules,
                                  const eg_saturation_options *options,
                                  eg_saturation_report *out_report);

#endif
