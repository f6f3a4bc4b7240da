// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/planner.h"

#include <math.h>

#include "base/clock.h"

// ---- planning -----------------------------------------------------------------------

typedef struct planner {
  egraph_allocator alloc;
  const eg_planner_input *input;
  eg_planning *out;
  eg_tensor_egraph *egraph;
} planner;

static egraph_status saturate(planner *p) {
  eg_saturation_options defaults = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report = {.alloc = p->alloc};
  double start = eg_clock_seconds();
  EG_TRY(eg_tensor_egraph_create(&p->alloc, p->input->graph, &p->egraph));
  eg_engine *engine = eg_tensor_egraph_engine(p->egraph);
  egraph_status status = eg_engine_rebuild(engine);
  p->out->stop = EG_STOP_SATURATED;
  if (status == EGRAPH_OK && p->input->rules != NULL) {
    status = eg_saturate(p->egraph, p->input->rules,
                         p->input->saturation == NULL ? &defaults : p->input->saturation,
                         &report);
    p->out->stop = report.stop;
    eg_saturation_report_deinit(&report);
  }
  p->out->nodes = eg_engine_node_count(engine);
  p->out->classes = eg_engine_class_count(engine);
  p->out->saturate_seconds = eg_clock_seconds() - start;
  return status;
}

static egraph_status emit(planner *p, const eg_plan_model *model,
                          const eg_layout_result *result) {
  eg_planning *out = p->out;
  out->status = result->status;
  out->cost = result->cost;
  out->bound = result->bound;
  out->gap = result->gap;
  out->least_memory = result->least_memory;
  if (result->solutions.len == 0) return EGRAPH_OK;
  out->memory = result->solutions.data[0].memory;
  EG_TRY(eg_plan_emit(model, p->alloc, &result->solutions.data[0], &out->emitted));
  out->has_plan = true;
  return EGRAPH_OK;
}

static egraph_status solve(planner *p, const eg_plan_space *space) {
  eg_plan_model model;
  eg_layout_result result;
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_model_init(&model, p->alloc, space));
  eg_layout_result_init(&result, p->alloc);
  egraph_status status =
      eg_layout_solve(p->alloc, &model.problem, &p->input->layout, &result);
  if (status == EGRAPH_OK) status = emit(p, &model, &result);
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  p->out->solve_seconds = eg_clock_seconds() - start;
  return status;
}

static egraph_status plan(planner *p) {
  eg_machine_costs costs = {.mesh = p->input->mesh};
  EG_TRY(eg_device_cost_init(&costs.device, p->input->machine, p->input->costs));
  EG_TRY(saturate(p));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  eg_plan_space space;
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_space_init(&space, p->alloc, p->egraph, p->input->info,
                            &p->input->mesh->mesh, &asked));
  p->out->space_seconds = eg_clock_seconds() - start;
  egraph_status status = solve(p, &space);
  eg_plan_space_deinit(&space);
  return status;
}

egraph_status eg_planner_run(egraph_allocator alloc, const eg_planner_input *input,
                             eg_planning *out) {
  planner p = {.alloc = alloc, .input = input, .out = out};
  *out = (eg_planning){.status = EG_LAYOUT_UNKNOWN, .cost = INFINITY};
  egraph_status status = plan(&p);
  eg_tensor_egraph_destroy(p.egraph);
  if (status != EGRAPH_OK) eg_planning_deinit(out);
  return status;
}

void eg_planning_deinit(eg_planning *planning) {
  if (planning->has_plan) eg_emitted_plan_deinit(&planning->emitted);
  planning->has_plan = false;
}
