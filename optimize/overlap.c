// SPDX-License-Identifier: Apache-2.0
#include "optimize/overlap.h"

#include <math.h>
#include <string.h>

#include "pcg/plan/plan_words.h"
#include "sim/plan/plan_simulation.h"

enum { GAME_ROUNDS = 20000 };
static const double SAME_WEIGHT = 1e-6;

void eg_overlap_init(eg_overlap *o, const eg_machine_mesh *mesh, uint32_t micro_batches,
                     double memory_limit, double beside) {
  *o = (eg_overlap){.mesh = mesh,
                    .memory_limit = memory_limit,
                    .beside = beside,
                    .streams = 1,
                    .micro_batches = micro_batches,
                    .shortest = INFINITY};
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) { // as eg_plan_tasks_make does
    uint32_t link = mesh->links[a].link;
    if (link != EG_LINK_AUTO && o->stream_of_link[link] == 0)
      o->stream_of_link[link] = o->streams++;
  }
  o->paths = 2 * o->streams - 1;
  for (uint32_t i = 0; i < o->paths; i++)
    o->weight[i] = 1.0 / o->paths;
}

// ---- paths --------------------------------------------------------------------------

/// Of all exchanges of a stream; of what is computed in the first forward pass, and late
/// exchanges of the stream.
static uint32_t exchange_path(uint32_t stream) { return 2 * stream - 1; }
static uint32_t late_path(uint32_t stream) { return 2 * stream; }

/// Adds to every path what it has of a step of the plan.
static void add_to_paths(const eg_overlap *o, const eg_plan_step *step, eg_phase made,
                         double runs, double *paths) {
  double seconds = step->seconds * runs;
  if (eg_plan_step_is_exchange(step)) { // along an axis of several devices
    uint32_t stream = o->stream_of_link[o->mesh->links[step->transition.axis].link];
    paths[exchange_path(stream)] += seconds;
    if (made != EG_PHASE_FORWARD) paths[late_path(stream)] += seconds;
    return;
  }
  paths[0] += seconds;
  for (uint32_t i = 1; i < o->streams && step->phase == EG_PHASE_FORWARD; i++)
    paths[late_path(i)] += step->seconds;
}

static egraph_status sum_paths(const eg_overlap *o, const eg_plan *plan,
                               egraph_allocator alloc, double *out) {
  eg_phase *made; // [states]; FORWARD of an entry
  memset(out, 0, EG_OVERLAP_PATHS * sizeof *out);
  EG_TRY(eg_alloc(alloc, plan->states.len, sizeof *made, &made));
  for (uint32_t i = 0; i < plan->states.len; i++)
    if (plan->states.data[i].step == EG_PLAN_NONE) made[i] = EG_PHASE_FORWARD;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    eg_phase phase = step->is_move ? made[step->from] : step->phase;
    for (uint32_t r = 0; r < eg_plan_step_result_count(plan, step); r++)
      made[eg_plan_step_result(plan, step, r)] = phase;
    add_to_paths(o, step, phase, eg_phase_runs(plan, step->phase), out);
  }
  eg_free(alloc, made, plan->states.len, sizeof *made);
  return EGRAPH_OK;
}

egraph_status eg_overlap_add(eg_overlap *o, const eg_plan *plan, egraph_allocator alloc,
                             double *out_seconds) {
  eg_plan_simulation s;
  eg_plan_simulation_init(&s, alloc);
  const eg_simulation_setup setup = {.links = o->mesh, .beside = o->beside};
  egraph_status status = eg_plan_simulate_shortest_as(plan, &setup, o->memory_limit, &s);
  *out_seconds = s.seconds;
  o->last = s.seconds;
  o->missing = fmax(s.wanted_bytes - o->memory_limit, 0);
  eg_plan_simulation_deinit(&s);
  EG_TRY(status);
  if (o->plans < EG_OVERLAP_PLANS)
    EG_TRY(sum_paths(o, plan, alloc, o->seconds[o->plans++]));
  o->shortest = fmin(o->shortest, *out_seconds);
  return EGRAPH_OK;
}

void eg_overlap_set_bound(eg_overlap *o, double weighted) {
  o->bound = fmax(o->bound, weighted);
}

// ---- weights ------------------------------------------------------------------------

static double weighted(const eg_overlap *o, uint32_t plan, const double *weight) {
  double sum = 0;
  for (uint32_t i = 0; i < o->paths; i++)
    sum += weight[i] * o->seconds[plan][i];
  return sum;
}

/// The least weighted seconds of all plans met.
static double least_weighted(const eg_overlap *o, const double *weight,
                             uint32_t *out_plan) {
  double best = INFINITY;
  for (uint32_t p = 0; p < o->plans; p++) {
    double seconds = weighted(o, p, weight);
    if (seconds >= best) continue;
    best = seconds;
    *out_plan = p;
  }
  return best;
}

/// Weights whose least is about as large as any weights' (Freund, Schapire, "Adaptive
/// game playing using multiplicative weights", 1999): each round favours the paths
/// that are long in the plan that is the least; the mean of all rounds is the answer.
static void play(const eg_overlap *o, double *out) {
  double score[EG_OVERLAP_PATHS] = {0}, sum[EG_OVERLAP_PATHS] = {0};
  double weight[EG_OVERLAP_PATHS], most = 0;
  for (uint32_t p = 0; p < o->plans; p++)
    for (uint32_t i = 0; i < o->paths; i++)
      most = fmax(most, o->seconds[p][i]);
  double rate = most > 0 ? sqrt(8 * log(o->paths + 1.0) / GAME_ROUNDS) / most : 0;
  for (int round = 0; round < GAME_ROUNDS; round++) {
    double top = 0, total = 0;
    uint32_t plan = 0;
    for (uint32_t i = 0; i < o->paths; i++)
      top = fmax(top, score[i]);
    for (uint32_t i = 0; i < o->paths; i++)
      total += weight[i] = exp(score[i] - top);
    for (uint32_t i = 0; i < o->paths; i++)
      sum[i] += weight[i] /= total;
    (void)least_weighted(o, weight, &plan);
    for (uint32_t i = 0; i < o->paths; i++)
      score[i] += rate * o->seconds[plan][i];
  }
  for (uint32_t i = 0; i < o->paths; i++)
    out[i] = sum[i] / GAME_ROUNDS;
}

bool eg_overlap_next(eg_overlap *o, double gap) {
  uint32_t plan = 0;
  double room = gap * o->shortest, before[EG_OVERLAP_PATHS], change = 0;
  if (o->plans == 0 || o->plans == EG_OVERLAP_PLANS || o->streams == 1 ||
      o->shortest - o->bound <= room)
    return false;
  memcpy(before, o->weight, sizeof before);
  play(o, o->weight);
  for (uint32_t i = 0; i < o->paths; i++)
    change = fmax(change, fabs(o->weight[i] - before[i]));
  // The same search finds the same again; and no weights bound better than by the least
  // of what was met.
  return change > SAME_WEIGHT && least_weighted(o, o->weight, &plan) - o->bound > room;
}

eg_cost_weights eg_overlap_prices(const eg_overlap *o) {
  eg_cost_weights weights = {.forward = o->weight[0], .later = o->weight[0]};
  for (uint32_t i = 1; i < o->streams; i++)
    weights.forward += o->weight[late_path(i)] / o->micro_batches;
  for (uint32_t a = 0; a < o->mesh->mesh.axis_count; a++) {
    uint32_t link = o->mesh->links[a].link;
    if (link == EG_LINK_AUTO) continue; // exchanges take no time
    uint32_t stream = o->stream_of_link[link];
    weights.exchange[a] = o->weight[exchange_path(stream)];
    weights.late_exchange[a] = weights.exchange[a] + o->weight[late_path(stream)];
  }
  return weights;
}
