// SPDX-License-Identifier: Apache-2.0
#include "optimize/overlap.h"

#include <math.h>
#include <string.h>

#include "sim/plan/plan_simulation.h"

enum { GAME_ROUNDS = 20000 };

void eg_overlap_init(eg_overlap *o, const eg_machine_mesh *mesh, double memory_limit) {
  *o = (eg_overlap){
      .mesh = mesh, .memory_limit = memory_limit, .streams = 1, .shortest = INFINITY};
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) { // as eg_plan_tasks_make does
    uint32_t link = mesh->links[a].link;
    if (link != EG_LINK_AUTO && o->stream_of_link[link] == 0)
      o->stream_of_link[link] = o->streams++;
  }
  for (uint32_t i = 0; i < o->streams; i++)
    o->weight[i] = 1.0 / o->streams;
}

/// Seconds that the streams of a simulated plan are busy, by class of links.
static void take_busy(const eg_overlap *o, const eg_plan_simulation *s, double *out) {
  memset(out, 0, EG_OVERLAP_STREAMS * sizeof *out);
  out[0] = s->busy[0];
  for (uint32_t a = 0; a < o->mesh->mesh.axis_count; a++) {
    uint32_t link = o->mesh->links[a].link;
    if (link != EG_LINK_AUTO)
      out[o->stream_of_link[link]] = s->busy[s->tasks.stream_of_axis[a]];
  }
}

static egraph_status add_issued(eg_overlap *o, const eg_plan *plan, eg_issue issue,
                                eg_plan_simulation *s, bool *out_fits,
                                double *out_seconds) {
  EG_TRY(eg_plan_simulate(plan, o->mesh, issue, s));
  *out_fits = s->peak_bytes <= o->memory_limit || issue == EG_ISSUE_IN_ORDER;
  *out_seconds = s->seconds;
  if (issue == EG_ISSUE_AHEAD && o->plans < EG_OVERLAP_PLANS)
    take_busy(o, s, o->busy[o->plans++]);
  return EGRAPH_OK;
}

egraph_status eg_overlap_add(eg_overlap *o, const eg_plan *plan, egraph_allocator alloc,
                             double *out_seconds) {
  bool fits = false;
  for (int issue = EG_ISSUE_AHEAD; issue < EG_ISSUES && !fits; issue++) {
    eg_plan_simulation s;
    eg_plan_simulation_init(&s, alloc);
    egraph_status status = add_issued(o, plan, (eg_issue)issue, &s, &fits, out_seconds);
    eg_plan_simulation_deinit(&s);
    EG_TRY(status);
  }
  o->shortest = fmin(o->shortest, *out_seconds);
  return EGRAPH_OK;
}

void eg_overlap_set_bound(eg_overlap *o, double weighted) {
  o->bound = fmax(o->bound, weighted);
}

// ---- weights ------------------------------------------------------------------------

static double weighted(const eg_overlap *o, uint32_t plan, const double *weight) {
  double sum = 0;
  for (uint32_t i = 0; i < o->streams; i++)
    sum += weight[i] * o->busy[plan][i];
  return sum;
}

/// The least weighted seconds of all plans met.
static double least(const eg_overlap *o, const double *weight, uint32_t *out_plan) {
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
/// game playing using multiplicative weights", 1999): each round favours the streams
/// that are busy in the plan that is the least; the mean of all rounds is the answer.
static void play(const eg_overlap *o, double *out) {
  double score[EG_OVERLAP_STREAMS] = {0}, sum[EG_OVERLAP_STREAMS] = {0};
  double weight[EG_OVERLAP_STREAMS], most = 0;
  for (uint32_t p = 0; p < o->plans; p++)
    for (uint32_t i = 0; i < o->streams; i++)
      most = fmax(most, o->busy[p][i]);
  double rate = most > 0 ? sqrt(8 * log(o->streams + 1.0) / GAME_ROUNDS) / most : 0;
  for (int round = 0; round < GAME_ROUNDS; round++) {
    double top = 0, total = 0;
    uint32_t plan = 0;
    for (uint32_t i = 0; i < o->streams; i++)
      top = fmax(top, score[i]);
    for (uint32_t i = 0; i < o->streams; i++)
      total += weight[i] = exp(score[i] - top);
    for (uint32_t i = 0; i < o->streams; i++)
      sum[i] += weight[i] /= total;
    (void)least(o, weight, &plan);
    for (uint32_t i = 0; i < o->streams; i++)
      score[i] += rate * o->busy[plan][i];
  }
  for (uint32_t i = 0; i < o->streams; i++)
    out[i] = sum[i] / GAME_ROUNDS;
}

bool eg_overlap_next(eg_overlap *o, double gap) {
  uint32_t plan = 0;
  double room = gap * o->shortest;
  if (o->plans == 0 || o->plans == EG_OVERLAP_PLANS || o->streams == 1 ||
      o->shortest - o->bound <= room)
    return false;
  play(o, o->weight);
  // No weights bound better than by the least of what was met.
  return least(o, o->weight, &plan) - o->bound > room;
}

eg_cost_weights eg_overlap_prices(const eg_overlap *o) {
  eg_cost_weights weights = {.compute = o->weight[0]};
  for (uint32_t l = 0; l < EG_MACHINE_MAX_LINKS; l++)
    weights.link[l] = o->stream_of_link[l] != 0 ? o->weight[o->stream_of_link[l]] : 1;
  return weights;
}
