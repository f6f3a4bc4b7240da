// A single device is a mesh without axes: every value has one layout, and the plan of the
// space decides which e-nodes make the values.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_algebra.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "optimize/search/budget.h"
#include "optimize/search/plan_fit.h"

/// Replaces the allowed e-nodes by the e-nodes that a solution uses; `strategy` is by
/// value of the model's problem.
static void note_nodes(eg_plan_algebra *algebra, const eg_plan_model *model,
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

static egraph_status init_none(eg_plan_algebra *algebra, egraph_allocator alloc,
                               const eg_engine *engine) {
  *algebra = (eg_plan_algebra){.is_found = false};
  eg_bytes_init(&algebra->chosen, alloc);
  return eg_bytes_resize(&algebra->chosen, eg_engine_node_limit(engine));
}

egraph_status eg_plan_algebra_cheapest(eg_plan_algebra *algebra, egraph_allocator alloc,
                                       eg_tensor_egraph *egraph, const eg_step_info *info,
                                       const eg_device_cost *device,
                                       const eg_layout_options *layout) {
  const eg_machine_mesh alone = {.mesh = {.axis_count = 0}};
  eg_machine_costs costs = {.device = *device, .mesh = &alone};
  eg_plan_costs prices = eg_machine_plan_costs(&costs);
  eg_step_info unlimited = *info;
  EG_OWNED(eg_plan_space, space);
  EG_OWNED(eg_plan_model, model);
  EG_LOCAL(eg_layout_result, result, alloc);
  unlimited.memory_limit = INFINITY;
  EG_TRY(init_none(algebra, alloc, eg_tensor_egraph_engine_of(egraph)));
  EG_TRY(eg_plan_space_init(&space, alloc, egraph, &unlimited, &alone.mesh, &prices));
  EG_TRY(eg_plan_model_init(&model, alloc, &space));
  EG_TRY(eg_layout_solve(alloc, &model.problem, layout, &result));
  if (result.solutions.len != 0)
    note_nodes(algebra, &model, &result.solutions.data[0].strategy);
  return EGRAPH_OK;
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

egraph_status eg_plan_algebra_of(eg_plan_algebra *algebra, egraph_allocator alloc,
                                 const eg_plan_space *space, const eg_plan_choices *plan,
                                 eg_u32s *strategy) {
  EG_OWNED(eg_plan_model, model);
  EG_TRY(init_none(algebra, alloc, eg_plan_space_engine(space)));
  EG_TRY(eg_plan_model_init(&model, alloc, space));
  EG_TRY(eg_plan_choices_find(plan, &model, strategy));
  note_nodes(algebra, &model, strategy);
  return EGRAPH_OK;
}

void eg_plan_algebra_deinit(eg_plan_algebra *algebra) {
  eg_bytes_deinit(&algebra->chosen);
}

egraph_status eg_plan_algebra_fix(const eg_plan_algebra *algebra, eg_plan_model *model) {
  assert(algebra->is_found);
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
} // ---- in turn -----------------------------------------------------------------------

// Finds a good first plan in a large space. Rules change a graph locally, layouts are
// chosen across all of it; therefore each is fixed in turn while the other is chosen:
//
//   a plan of the graph as it was given ---> algebra in its layouts -> layouts ...
//
// No solution is worse than the solution before; the solver begins with the last one.
// Both alternating steps solve the whole problem with choices forbidden, therefore
// strategies have the same numbers in all steps.

// Share of the remaining work and time for an alternating step, and its gap.
static const double STEP_SHARE = 0.5, STEP_GAP = 0.002;
static const double WORTHWHILE = 1e-4; // relative gain that justifies another round
enum { MOST_ROUNDS = 4 };

typedef struct improver {
  egraph_allocator alloc;
  const eg_plan_space *space;
  const eg_layout_options *layout;
  double deadline;
  eg_work work;
  double cost; // of the best
  eg_u32s *best;
  eg_plan_algebra algebra;
} improver;

static egraph_status keep_improvement(improver *m, const eg_plan_model *model,
                                      const eg_fitted_plan *plan) {
  if (!plan->has_plan || !(plan->cost < m->cost)) return EGRAPH_OK;
  m->cost = plan->cost;
  m->best->len = 0;
  EG_TRY(eg_plan_choices_find(&plan->choices, model, m->best));
  note_nodes(&m->algebra, model, m->best);
  return EGRAPH_OK;
}

/// Finds the cheapest plan whose peak of memory is also within the limit.
static egraph_status solve_within_limit(improver *m, eg_plan_model *model) {
  EG_OWNED(eg_fitted_plan, plan);
  eg_layout_options options = *m->layout;
  double left = m->deadline - eg_clock_seconds();
  options.time_limit_seconds = fmax(STEP_SHARE * left, EG_LEAST_SECONDS);
  if (m->work.limit != EG_WORK_UNLIMITED)
    options.work_limit = 1 + (uint64_t)(STEP_SHARE * (double)eg_work_left(&m->work));
  options.relative_gap = fmax(options.relative_gap, STEP_GAP);
  options.incumbent = m->best->data;
  EG_TRY(eg_plan_fit(model, m->alloc, &options, true, &plan));
  eg_work_add(&m->work, plan.work);
  return keep_improvement(m, model, &plan);
}

/// Fixes the layouts of the best plan's values; their operators, and values that the plan
/// lacks, stay free.
static egraph_status fix_layouts(improver *m, eg_plan_model *model) {
  eg_layout_problem *problem = &model->problem;
  for (uint32_t v = 0; v < m->best->len; v++) {
    uint32_t strategy = m->best->data[v];
    if (strategy == EG_LAYOUT_NONE) continue;
    EG_TRY(eg_layout_problem_fix_layout(
        problem, v, problem->output.data[strategy] - problem->place_begin.data[v]));
  }
  return EGRAPH_OK;
}

/// Improves the graph in fixed layouts (`holds_layouts`), or the layouts of a
/// fixed graph.
static egraph_status improve_one_side(improver *m, bool holds_layouts) {
  EG_OWNED(eg_plan_model, model);
  EG_TRY(eg_plan_model_init(&model, m->alloc, m->space));
  EG_TRY(holds_layouts ? fix_layouts(m, &model)
                       : eg_plan_algebra_fix(&m->algebra, &model));
  return solve_within_limit(m, &model);
}

static egraph_status improve_in_turns(improver *m) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    double before = m->cost;
    EG_TRY(improve_one_side(m, true));
    EG_TRY(improve_one_side(m, false));
    bool is_over = eg_work_is_spent(&m->work) || eg_clock_seconds() >= m->deadline;
    if (!(m->cost < before * (1 - WORTHWHILE)) || is_over) break;
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_improve(egraph_allocator alloc, const eg_plan_space *space,
                              const eg_layout_options *layout,
                              const eg_plan_choices *given, double cost, eg_u32s *best) {
  assert(best->len == 0 && layout->time_limit_seconds > 0);
  improver m = {.alloc = alloc,
                .space = space,
                .layout = layout,
                .deadline = eg_clock_seconds() + layout->time_limit_seconds,
                .work.limit =
                    layout->work_limit != 0 ? layout->work_limit : EG_WORK_UNLIMITED,
                .cost = cost,
                .best = best};
  if (given->len == 0) return EGRAPH_OK;
  egraph_status status = eg_plan_algebra_of(&m.algebra, alloc, space, given, best);
  if (status == EGRAPH_OK) status = improve_in_turns(&m);
  eg_plan_algebra_deinit(&m.algebra);
  return status;
}
