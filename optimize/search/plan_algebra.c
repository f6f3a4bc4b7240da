// A single device is a mesh without axes: every value has one layout, so that the plan of
// the space says which e-nodes make its values.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_algebra.h"

#include <math.h>

void eg_plan_algebra_note(eg_plan_algebra *algebra, const eg_plan_model *model,
                          const eg_u32s *strategy) {
  const eg_layout_problem *problem = &model->problem;
  for (size_t i = 0; i < algebra->chosen.len; i++)
    algebra->chosen.data[i] = 0;
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++) {
    uint32_t used = strategy->data[problem->operator_value.data[o]];
    bool is_used = used >= problem->strategy_begin.data[o] &&
                   used < problem->strategy_begin.data[o + 1];
    uint32_t op = model->operators.data[o];
    if (used != EG_LAYOUT_NONE && is_used && op != EG_SPACE_NONE)
      algebra->chosen.data[model->space->operators.data[op].node.id] = 1;
  }
  algebra->is_found = true;
}

static egraph_status choose(egraph_allocator alloc, const eg_plan_space *space,
                            const eg_layout_options *layout, eg_plan_algebra *out) {
  eg_plan_model model;
  eg_layout_result result;
  EG_TRY(eg_plan_model_init(&model, alloc, space));
  eg_layout_result_init(&result, alloc);
  egraph_status status = eg_layout_solve(alloc, &model.problem, layout, &result);
  if (status == EGRAPH_OK && result.solutions.len != 0)
    eg_plan_algebra_note(out, &model, &result.solutions.data[0].strategy);
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  return status;
}

static egraph_status fill_algebra(eg_plan_algebra *algebra, egraph_allocator alloc,
                                  eg_tensor_egraph *egraph, const eg_step_info *info,
                                  const eg_device_cost *device,
                                  const eg_layout_options *layout) {
  const eg_machine_mesh alone = {.mesh = {.axis_count = 0}};
  eg_machine_costs costs = {.device = *device, .mesh = &alone};
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  eg_step_info unlimited = *info;
  unlimited.memory_limit = INFINITY;
  eg_plan_space space;
  EG_TRY(eg_plan_space_init(&space, alloc, egraph, &unlimited, &alone.mesh, &asked));
  egraph_status status = choose(alloc, &space, layout, algebra);
  eg_plan_space_deinit(&space);
  return status;
}

static egraph_status init_none(eg_plan_algebra *algebra, egraph_allocator alloc,
                               const eg_engine *engine) {
  uint32_t nodes = eg_engine_node_limit(engine);
  *algebra = (eg_plan_algebra){.is_found = false};
  eg_bytes_init(&algebra->chosen, alloc);
  EG_TRY(eg_bytes_resize(&algebra->chosen, nodes));
  for (uint32_t i = 0; i < nodes; i++)
    algebra->chosen.data[i] = 0;
  return EGRAPH_OK;
}

egraph_status eg_plan_algebra_cheapest(eg_plan_algebra *algebra, egraph_allocator alloc,
                                       eg_tensor_egraph *egraph, const eg_step_info *info,
                                       const eg_device_cost *device,
                                       const eg_layout_options *layout) {
  EG_TRY(init_none(algebra, alloc, eg_tensor_egraph_engine_of(egraph)));
  egraph_status status = fill_algebra(algebra, alloc, egraph, info, device, layout);
  if (status != EGRAPH_OK) eg_plan_algebra_deinit(algebra);
  return status;
}

egraph_status eg_plan_algebra_original(eg_plan_algebra *algebra, egraph_allocator alloc,
                                       const eg_tensor_egraph *egraph) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  EG_TRY(init_none(algebra, alloc, engine));
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(engine, c, &count);
    for (uint32_t i = 0; i < count; i++)
      algebra->chosen.data[nodes[i].id] =
          eg_engine_node_reason(engine, nodes[i]) == EG_REASON_SEED;
  }
  algebra->is_found = true;
  return EGRAPH_OK;
}

void eg_plan_algebra_deinit(eg_plan_algebra *algebra) {
  eg_bytes_deinit(&algebra->chosen);
}

egraph_status eg_plan_algebra_fix(const eg_plan_algebra *algebra, eg_plan_model *model) {
  eg_layout_problem *problem = &model->problem;
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++) {
    uint32_t op = model->operators.data[o];
    if (op == EG_SPACE_NONE ||
        algebra->chosen.data[model->space->operators.data[op].node.id] != 0)
      continue;
    uint32_t count =
        problem->strategy_begin.data[o + 1] - problem->strategy_begin.data[o];
    for (uint32_t s = 0; s < count; s++)
      EG_TRY(eg_layout_problem_forbid_strategy(problem, o, s));
  }
  return EGRAPH_OK;
}
