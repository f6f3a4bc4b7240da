// Fills the result of the planner, and applies rules to its e-graph.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/planner.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "optimize/search/budget.h"
#include "optimize/search/plan_folded.h"
#include "optimize/space/groups.h"
#include "optimize/space/layout_graph.h"

void eg_planning_judge(eg_planning *planning) {
  if (!planning->has_plan) return;
  double missing = fmax(planning->cost - planning->bound, 0);
  planning->gap = planning->cost > 0 ? missing / planning->cost : 0;
  planning->status =
      planning->gap <= EG_PROVEN_GAP ? EG_LAYOUT_OPTIMAL : EG_LAYOUT_FEASIBLE;
}

egraph_status eg_baseline_outcome_note(eg_baseline_outcome *outcome,
                                       egraph_allocator alloc, const char *name,
                                       const eg_baseline_obstacle *obstacle,
                                       const eg_fitted_plan *plan) {
  *outcome = (eg_baseline_outcome){.is_tried = true,
                                   .obstacle = *obstacle,
                                   .status = plan->status,
                                   .cost = plan->cost,
                                   .memory = plan->memory,
                                   .least_memory = plan->least_memory,
                                   .has_summary = plan->has_plan};
  memcpy(outcome->name, name, strlen(name) + 1);
  if (!plan->has_plan) return EGRAPH_OK;
  return eg_plan_summary_make(&plan->emitted.plan, alloc, &outcome->summary);
}

egraph_status eg_planner_costs(const eg_planner_input *input, const eg_machine_mesh *mesh,
                               eg_machine_costs *out) {
  assert(input->context != NULL && mesh != NULL);
  const eg_plan_context *context = input->context;
  *out = (eg_machine_costs){.mesh = mesh, .weights = input->weights};
  EG_TRY(eg_device_cost_init(&out->device, context->machine, context->costs));
  out->device.plain_only = context->plain_only;
  return EGRAPH_OK;
}

void eg_planning_deinit(eg_planning *planning) {
  if (planning->has_plan) eg_emitted_plan_deinit(&planning->emitted);
  planning->has_plan = false;
  eg_mates_deinit(&planning->mates);
}

egraph_status eg_planning_mix(eg_planning *out, egraph_allocator alloc,
                              const eg_plan_space *space, eg_mix_input *input,
                              const eg_mesh *mesh) {
  eg_mixed_plan mixed;
  EG_OWNED(eg_plan_model, model);
  EG_TRY(eg_plan_model_init(&model, alloc, space));
  input->model = &model;
  EG_TRY(eg_plan_mix(alloc, input, &mixed));
  if (!mixed.has_plan) return EGRAPH_OK;
  out->status = EG_LAYOUT_FEASIBLE;
  out->has_plan = true;
  out->cost = mixed.cost;
  out->memory = mixed.memory;
  out->emitted = mixed.emitted;
  eg_unit_axes_restore(&out->emitted.plan, mesh);
  return EGRAPH_OK;
}

// ---- rules and groups -------------------------------------------------------------

static egraph_status seal(eg_tensor_egraph *egraph, const uint32_t *values,
                          uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_tensor_egraph_seal(
        egraph, eg_tensor_egraph_value_class(egraph, (eg_value){values[i]})));
  return EGRAPH_OK;
}

/// Seals the values through which rules do not match; rebuilds the e-graph.
static egraph_status seal_all(eg_tensor_egraph *egraph, const eg_step_info *info) {
  for (uint32_t i = 0; i < info->carried_count; i++)
    if (info->carried[i].is_sum)
      EG_TRY(eg_tensor_egraph_seal(
          egraph, eg_tensor_egraph_root(egraph, info->carried[i].output)));
  EG_TRY(seal(egraph, info->sealed, info->sealed_count));
  EG_TRY(seal(egraph, info->fixed, info->fixed_count));
  return eg_engine_rebuild(eg_tensor_egraph_engine(egraph));
}

// Groups are added before the rules and after them: rules add readers of a value, and a
// value with more readers is inside fewer groups.
static egraph_status add_groups(eg_tensor_egraph *egraph, const eg_planner_input *input) {
  bool rereads = input->info->is_small || eg_mesh_devices(&input->mesh->mesh) == 1;
  return eg_planner_has_groups(input) ? eg_groups_add(egraph, input->info, rereads)
                                      : EGRAPH_OK;
}

egraph_status eg_planning_saturate(eg_planning *out, egraph_allocator alloc,
                                   const eg_planner_input *input,
                                   const eg_step_info *info,
                                   eg_tensor_egraph **out_egraph,
                                   uint32_t *out_given_nodes) {
  const eg_saturation_options defaults = EG_SATURATION_OPTIONS_DEFAULT;
  EG_TRY(eg_tensor_egraph_create(&alloc, input->graph, out_egraph));
  eg_engine *engine = eg_tensor_egraph_engine(*out_egraph);
  EG_TRY(seal_all(*out_egraph, info));
  *out_given_nodes = eg_engine_node_count(engine);
  EG_TRY(add_groups(*out_egraph, input));
  out->stop = EG_STOP_SATURATED;
  const eg_rules *rules = eg_planner_rules(input);
  if (rules != NULL) {
    const eg_saturation_options *options = input->context->saturation;
    EG_OWNED(eg_saturation_report, report);
    egraph_status status = eg_plan_apply_rules(
        *out_egraph, info, rules, options != NULL ? options : &defaults, &report);
    out->stop = report.stop;
    out->iterations = report.iterations;
    EG_TRY(status);
    EG_TRY(add_groups(*out_egraph, input));
  }
  out->nodes = eg_engine_node_count(engine);
  out->is_as_given = out->nodes == *out_given_nodes && out->stop == EG_STOP_SATURATED;
  out->classes = eg_engine_class_count(engine);
  return EGRAPH_OK;
}

egraph_status eg_plan_apply_rules(eg_tensor_egraph *egraph, const eg_step_info *info,
                                  const eg_rules *rules,
                                  const eg_saturation_options *options,
                                  eg_saturation_report *out_report) {
  *out_report = (eg_saturation_report){.alloc = eg_tensor_egraph_allocator(egraph)};
  EG_TRY(seal_all(egraph, info));
  return eg_saturate(egraph, rules, options, out_report);
}
