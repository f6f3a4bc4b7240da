// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_rules.h"

static egraph_status seal(eg_tensor_egraph *egraph, const uint32_t *values,
                          uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_tensor_egraph_seal(
        egraph, eg_tensor_egraph_value_class(egraph, (eg_value){values[i]})));
  return EGRAPH_OK;
}

egraph_status eg_plan_apply_rules(eg_tensor_egraph *egraph, const eg_step_info *info,
                                  const eg_rules *rules,
                                  const eg_saturation_options *options,
                                  eg_saturation_report *out_report) {
  *out_report = (eg_saturation_report){.alloc = eg_tensor_egraph_allocator(egraph)};
  for (uint32_t i = 0; i < info->carried_count; i++)
    if (info->carried[i].is_sum)
      EG_TRY(eg_tensor_egraph_seal(
          egraph, eg_tensor_egraph_root(egraph, info->carried[i].output)));
  EG_TRY(seal(egraph, info->sealed, info->sealed_count));
  EG_TRY(seal(egraph, info->fixed, info->fixed_count));
  EG_TRY(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  return eg_saturate(egraph, rules, options, out_report);
}
