// Equality saturation: search all rules, apply all matches, rebuild, until nothing
// changes or a budget ends it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SATURATE_H
#define EG_REWRITES_SATURATE_H

#include "rewrites/language/rules.h"
#include "rewrites/saturation/saturation.h"
#include "rewrites/saturation/tensor_egraph.h"

/// Limits and cancellation are results. Fails with EGRAPH_E_MEMORY, or EGRAPH_E_TYPE when
/// a rule turns out unsound (it united classes of different types); the report must be
/// released with eg_saturation_report_deinit either way.
egraph_status eg_saturate(eg_tensor_egraph *egraph, const eg_rules *rules,
                          const eg_saturation_options *options,
                          eg_saturation_report *out_report);

#endif
