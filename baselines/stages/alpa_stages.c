// Alpa's inter-operator search (OSDI'22, section 5): cuts layers, fills a table of stages
// on submeshes, each planned by the product's planner without algebra, chooses stages by
// the dynamic program (interop.h), and simulates the choice under 1F1B.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/stage_report.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/owner.h"
#include "baselines/stages/interop.h"

// A stage is not planned if its share of the work differs from its share of the devices
// by more than this factor (Alpa's stage_imbalance_tolerance).
static const double MOST_IMBALANCE = 2;
enum { MOST_LAYERS = 16 };          // the table grows with their square
static const double EPSILON = 1e-6; // seconds, Alpa's

EG_VEC_DEFINE(cells, eg_stage_cell);
EG_VEC_DEFINE(places, eg_stage_place);

typedef struct finder {
  eg_stage_planner planner;
  eg_submeshes shapes;
  cells cells;
  eg_stage_plans plans; // [cells]
  eg_interop_choice choice;
} finder;
#define FINDER_MEMBERS                                                                   \
  (eg_submeshes, shapes), (cells, cells), (eg_stage_plans, plans),                       \
      (eg_interop_choice, choice)

static void finder_deinit(finder *f) {
  EG_DEINIT_MEMBERS(f, FINDER_MEMBERS)
  eg_stage_planner_deinit(&f->planner);
}

static eg_stage_place stage_place_of(eg_submesh shape) {
  return (eg_stage_place){shape.nodes, 1, shape.width, EG_STAGE_FREE};
}

static bool is_balanced(const finder *f, uint32_t first, uint32_t last,
                        eg_submesh shape) {
  const eg_layered *layered = f->planner.layered;
  double all = 0, mine = 0;
  for (uint32_t i = 0; i < layered->work.len; i++) {
    all += layered->work.data[i];
    if (i >= first && i <= last) mine += layered->work.data[i];
  }
  double devices = (double)f->planner.shape.nodes * f->planner.shape.width;
  double ratio = mine * devices, fair = all * eg_submesh_devices(shape);
  return ratio <= MOST_IMBALANCE * fair && fair <= MOST_IMBALANCE * ratio;
}

/// Returns how many stages may come after this stage for the stage to fit in memory. It
/// holds one micro-batch in flight for each of them, and one of its own.
static uint32_t most_behind(const finder *f, const eg_stage_plan *plan) {
  if (isinf(f->planner.most_bytes)) return UINT32_MAX;
  double room = f->planner.call->budget.memory - plan->fixed_bytes - plan->flight_bytes;
  if (room < 0) return 0; // a rounding error: the plan itself fits
  if (!(plan->flight_bytes > 0) || room / plan->flight_bytes > 1e6) return UINT32_MAX;
  return (uint32_t)(room / plan->flight_bytes);
}

static egraph_status add_cell(finder *f, uint32_t first, uint32_t last,
                              eg_submesh shape) {
  eg_stage_plan plan = {.has_plan = false};
  eg_stage_cell cell = {INFINITY, 0};
  const eg_stage_place place = stage_place_of(shape);
  if (first <= last && is_balanced(f, first, last, shape))
    EG_TRY(eg_stage_planner_plan(&f->planner, first, last, &place, &plan));
  // The update exchanges gradients once a step; its seconds are divided among the
  // micro-batches.
  if (plan.has_plan)
    cell = (eg_stage_cell){plan.forward + plan.backward +
                               plan.update / f->planner.call->training->micro_batches,
                           most_behind(f, &plan)};
  EG_TRY(eg_stage_plans_push(&f->plans, plan));
  return cells_push(&f->cells, cell);
}

static egraph_status fill_table(finder *f) {
  uint32_t layers = eg_layered_count(f->planner.layered);
  for (uint32_t first = 0; first < layers; first++)
    for (uint32_t last = 0; last < layers; last++)
      for (size_t s = 0; s < f->shapes.len; s++)
        EG_TRY(add_cell(f, first, last, f->shapes.data[s]));
  return EGRAPH_OK;
}

static egraph_status add_choice(finder *f, eg_staged *out) {
  egraph_allocator alloc = f->planner.call->request->alloc;
  size_t count = f->choice.stages.len;
  EG_LOCAL(eg_stage_plans, plans, alloc);
  EG_LOCAL(places, where, alloc);
  EG_LOCAL(eg_u32s, last, alloc);
  for (size_t i = 0; i < count; i++) {
    const eg_interop_stage *stage = &f->choice.stages.data[i];
    size_t cell =
        eg_interop_cell_at(eg_layered_count(f->planner.layered), (uint32_t)f->shapes.len,
                           stage->first, stage->last, stage->shape);
    EG_TRY(eg_stage_plans_push(&plans, f->plans.data[cell]));
    EG_TRY(places_push(&where, stage_place_of(f->shapes.data[stage->shape])));
    EG_TRY(eg_u32s_push(&last, stage->last));
  }
  eg_pipeline_choice choice = {.schedule = EG_SCHEDULE_1F1B,
                               .stages = (uint32_t)count,
                               .chunks = 1,
                               .plans = plans.data,
                               .places = where.data,
                               .last = last.data};
  (void)snprintf(choice.name, sizeof choice.name, "%zu stages, 1f1b", count);
  return eg_staged_add(out, &f->planner, &choice);
}

/// Fills the table of stages within the planner's limit, and adds the pipeline chosen
/// from the table, if any.
static egraph_status choose_stages(finder *f, eg_staged *out) {
  const eg_plan_call *call = f->planner.call;
  f->cells.len = f->plans.len = f->choice.stages.len = 0;
  EG_TRY(fill_table(f));
  const eg_interop_problem problem = {.layers = eg_layered_count(f->planner.layered),
                                      .devices =
                                          f->planner.shape.nodes * f->planner.shape.width,
                                      .micro_batches = call->training->micro_batches,
                                      .shapes = f->shapes.data,
                                      .shape_count = (uint32_t)f->shapes.len,
                                      .cells = f->cells.data,
                                      .epsilon = EPSILON};
  EG_TRY(eg_interop_choose(&problem, call->request->alloc, &f->choice));
  return f->choice.stages.len == 0 ? EGRAPH_OK : add_choice(f, out);
}

/// Chooses stages that fit. If there are none, chooses without the memory limit, to show
/// how much memory is missing.
static egraph_status choose_fitting(finder *f, eg_staged *out) {
  EG_TRY(eg_submeshes_of(f->planner.shape.nodes, f->planner.shape.width, &f->shapes));
  f->planner.most_bytes = f->planner.call->budget.memory;
  EG_TRY(choose_stages(f, out));
  if (out->best != UINT32_MAX || isinf(f->planner.most_bytes)) return EGRAPH_OK;
  f->planner.most_bytes = INFINITY;
  return choose_stages(f, out);
}

egraph_status eg_alpa_stages(const eg_plan_call *call, eg_staged *out) {
  EG_OWNED(eg_layered, layered);
  EG_OWNED(finder, f);
  double start = eg_clock_seconds();
  out->algorithm = "alpa-stages";
  EG_TRY(eg_layered_init(&layered, call->request->alloc, call->forward, call->training,
                         MOST_LAYERS));
  EG_TRY(eg_stage_planner_init(&f.planner, call, &layered));
  EG_INIT_MEMBERS(&f, call->request->alloc, FINDER_MEMBERS)
  EG_TRY(choose_fitting(&f, out));
  eg_staged_note(out, &f.planner);
  out->search_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}
