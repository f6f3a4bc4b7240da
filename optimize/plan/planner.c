// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/planner.h"

#include <math.h>

#include "base/clock.h"
#include "optimize/plan/unit_axes.h"

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

static void take_over(planner *p, const eg_fitted_plan *fitted) {
  eg_planning *out = p->out;
  out->status = fitted->status;
  out->cost = fitted->cost;
  out->bound = fitted->bound;
  out->gap = fitted->gap;
  out->memory = fitted->memory;
  out->kept = fitted->kept;
  out->least_memory = fitted->least_memory;
  out->has_plan = fitted->has_plan;
  if (!fitted->has_plan) return;
  out->emitted = fitted->emitted;
  eg_unit_axes_restore(&out->emitted.plan, &p->input->mesh->mesh);
}

static egraph_status solve(planner *p, const eg_plan_space *space) {
  eg_plan_model model;
  eg_fitted_plan fitted;
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_model_init(&model, p->alloc, space));
  p->out->places = eg_layout_place_count(&model.problem);
  p->out->arcs = eg_layout_arc_count(&model.problem);
  egraph_status status = eg_plan_fit(&model, p->alloc, &p->input->layout, &fitted);
  if (status == EGRAPH_OK) take_over(p, &fitted);
  eg_plan_model_deinit(&model);
  p->out->solve_seconds = eg_clock_seconds() - start;
  return status;
}

static egraph_status plan(planner *p) {
  eg_machine_mesh mesh = eg_unit_axes_drop(p->input->mesh);
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, p->input->machine, p->input->costs));
  EG_TRY(saturate(p));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  eg_plan_space space;
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_space_init(&space, p->alloc, p->egraph, p->input->info, &mesh.mesh,
                            &asked));
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
