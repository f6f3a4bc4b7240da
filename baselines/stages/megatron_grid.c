// Megatron-LM's grid (SC'21) tries every way to write the number of devices as t * p * d:
// t tensor parallel within a node, p pipeline stages, d data parallel. Stages have equal
// numbers of layers, run 1F1B or interleaved, with states of the optimizer whole or split
// along d (ZeRO-1). Within a stage the product's planner plans the named baseline.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/stage_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/owner.h"

enum { MOST_CHUNKS = 8, MOST_LAYERS = 128 };

EG_VEC_DEFINE(places, eg_stage_place);

/// A point of the grid: numbers of tensor parallel devices, pipeline stages, replicas
/// (data), and chunks of a stage.
typedef struct point {
  uint32_t tensor, stages, data, chunks;
  eg_stage_roles roles;
  bool is_fitted; // planned for less memory than its fastest plan takes
} point;

typedef struct grid {
  eg_stage_planner planner;
  eg_staged *out;
  eg_stage_plans plans; // of the current point, like the lists below
  places places;
  eg_u32s last;
} grid;

static void grid_deinit(grid *g) {
  EG_DEINIT_MEMBERS(g, (eg_stage_plans, plans), (places, places), (eg_u32s, last))
  eg_stage_planner_deinit(&g->planner);
}

/// Finds devices for a stage: part of a node if a part is enough, otherwise whole nodes.
static bool find_grid_place(const grid *g, const point *at, eg_stage_place *out) {
  uint32_t width = g->planner.shape.width, devices = at->tensor * at->data;
  if (devices > width && devices % width != 0) return false;
  uint32_t nodes = devices > width ? devices / width : 1;
  *out = (eg_stage_place){nodes, devices / nodes / at->tensor, at->tensor, at->roles};
  return true;
}

static void write_name(const point *at, char *out) {
  int used = snprintf(out, EG_STAGED_NAME_SIZE, "t=%" PRIu32 " p=%" PRIu32 " d=%" PRIu32,
                      at->tensor, at->stages, at->data);
  if (used < 0) return;
  if (at->chunks > 1)
    used += snprintf(out + used, EG_STAGED_NAME_SIZE - (size_t)used, " v=%" PRIu32,
                     at->chunks);
  if (at->roles == EG_STAGE_ZERO_1)
    used += snprintf(out + used, EG_STAGED_NAME_SIZE - (size_t)used, " zero-1");
  if (at->is_fitted)
    (void)snprintf(out + used, EG_STAGED_NAME_SIZE - (size_t)used, " fitted");
}

static egraph_status add_point(grid *g, const point *at) {
  uint32_t layers = eg_layered_count(g->planner.layered), parts = at->stages * at->chunks,
           each = layers / parts;
  eg_stage_place place;
  eg_stage_plan plan;
  eg_pipeline_choice choice = {.schedule = at->chunks > 1 ? EG_SCHEDULE_INTERLEAVED
                                                          : EG_SCHEDULE_1F1B,
                               .stages = at->stages,
                               .chunks = at->chunks};
  if (!find_grid_place(g, at, &place)) return EGRAPH_OK;
  g->plans.len = g->places.len = g->last.len = 0;
  for (uint32_t part = 0; part < parts; part++) {
    uint32_t last = (part + 1) * each - 1;
    EG_TRY(eg_stage_planner_plan(&g->planner, part * each, last, &place, &plan));
    EG_TRY(eg_stage_plans_push(&g->plans, plan));
    EG_TRY(places_push(&g->places, place));
    EG_TRY(eg_u32s_push(&g->last, last));
  }
  write_name(at, choice.name);
  choice.plans = g->plans.data;
  choice.places = g->places.data;
  choice.last = g->last.data;
  return eg_staged_add(g->out, &g->planner, &choice);
}

/// Returns the bytes that the largest chunk may hold with one micro-batch in flight, so
/// that its device fits: most - excess / chunks.
static double room_of_part(const grid *g, const eg_staged_row *row, uint32_t chunks) {
  double most = 0;
  for (size_t i = 0; i < g->plans.len; i++)
    most = fmax(most, g->plans.data[i].fixed_bytes + g->plans.data[i].flight_bytes);
  return most - row->excess / chunks;
}

/// Plans a point of the grid for the shortest time. If this plan does not fit, but would
/// be the best, plans the point again for the available memory and adds another row.
static egraph_status add_fitting(grid *g, point at) {
  size_t before = g->out->rows.len;
  EG_TRY(add_point(g, &at));
  if (g->out->rows.len == before || g->planner.is_cancelled) return EGRAPH_OK;
  const eg_staged_row *row = &g->out->rows.data[before];
  if (!row->is_possible || row->excess <= 0) return EGRAPH_OK;
  const eg_staged_row *best = &g->out->rows.data[g->out->best];
  if (best->excess <= 0 && best->seconds <= row->seconds) return EGRAPH_OK;
  double room = room_of_part(g, row, at.chunks);
  if (!(room > 0)) return EGRAPH_OK;
  at.is_fitted = true;
  g->planner.most_bytes = room;
  egraph_status status = add_point(g, &at);
  g->planner.most_bytes = INFINITY;
  if (status == EGRAPH_OK && !g->out->rows.data[before + 1].is_possible)
    g->out->rows.len--; // the row planned for time shows how much memory is missing
  return status;
}

/// Adds a grid point without ZeRO-1 and, if there are several replicas, with it.
static egraph_status add_roles(grid *g, point at) {
  at.roles = EG_STAGE_DATA;
  EG_TRY(add_fitting(g, at));
  if (at.data == 1) return EGRAPH_OK;
  at.roles = EG_STAGE_ZERO_1;
  return add_fitting(g, at);
}

/// Adds a grid point for all numbers of chunks that divide layers and micro-batches.
static egraph_status add_chunks(grid *g, point at) {
  uint32_t layers = eg_layered_count(g->planner.layered),
           micro_batches = g->planner.call->training->micro_batches;
  for (at.chunks = 1; at.chunks <= MOST_CHUNKS; at.chunks++) {
    bool is_even = layers % (at.stages * at.chunks) == 0;
    bool is_round = at.stages > 1 && micro_batches % at.stages == 0;
    if (is_even && (at.chunks == 1 || is_round)) EG_TRY(add_roles(g, at));
  }
  return EGRAPH_OK;
}

static egraph_status add_all(grid *g) {
  uint32_t width = g->planner.shape.width, devices = g->planner.shape.nodes * width;
  uint32_t layers = eg_layered_count(g->planner.layered);
  for (uint32_t t = 1; t <= width; t++)
    for (uint32_t p = 1; p <= layers && width % t == 0; p++)
      if (devices % (t * p) == 0)
        EG_TRY(
            add_chunks(g, (point){.tensor = t, .stages = p, .data = devices / (t * p)}));
  return EGRAPH_OK;
}

egraph_status eg_megatron_grid(const eg_plan_call *call, eg_staged *out) {
  EG_OWNED(eg_layered, layered);
  EG_OWNED(grid, g);
  double start = eg_clock_seconds();
  out->algorithm = "megatron-grid";
  EG_TRY(eg_layered_init(&layered, call->request->alloc, call->forward, call->training,
                         MOST_LAYERS));
  EG_TRY(eg_stage_planner_init(&g.planner, call, &layered));
  EG_INIT_MEMBERS(&g, call->request->alloc, (eg_stage_plans, plans), (places, places),
                  (eg_u32s, last))
  g.out = out;
  EG_TRY(add_all(&g));
  eg_staged_note(out, &g.planner);
  out->search_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}
