// Iterated local search: descents by first improvement over the classes in use (moves of
// equal cost are taken too, once in a while, to cross plateaus), and kicks of a few
// classes from the best choice of this run.
// SPDX-License-Identifier: Apache-2.0
#include "extract/flips.h"

#include <math.h>

#include "base/owner.h"

enum {
  MIN_KICK = 2,
  MAX_KICK = 9,
  EDGE_WORK = 4,
  PATIENCE = 20 // kicks in a row without success, for each class that can move
};

typedef struct descent {
  const eg_flips *flips;
  eg_u32s present, best, trial;
  eg_u32s movable; // classes in use with a choice, shuffled
  double cost, best_cost;
  uint64_t work;
} descent;
EG_OWNER_DEFINE_STATIC(descent, (eg_u32s, present, best, trial, movable))

static egraph_status evaluate(descent *d, double *out_cost) {
  size_t classes = d->present.len;
  memcpy(d->trial.data, d->present.data, classes * sizeof(uint32_t));
  d->work += classes * EDGE_WORK;
  return eg_incumbent_evaluate(d->flips->incumbent, d->trial.data, out_cost);
}

static uint32_t candidate_count(const eg_flips *flips, uint32_t class) {
  return flips->candidate_begin->data[class + 1] - flips->candidate_begin->data[class];
}

// d->trial holds what the last evaluation left in use.
static egraph_status collect_movable(descent *d) {
  double cost;
  EG_TRY(evaluate(d, &cost));
  d->movable.len = 0;
  for (uint32_t class = 0; class < d->present.len; class ++)
    if (d->trial.data[class] != EG_EXTRACT_NONE && candidate_count(d->flips, class) > 1)
      EG_TRY(eg_u32s_push(&d->movable, class));
  for (size_t i = d->movable.len; i > 1; i--) {
    size_t j = eg_rng_below(d->flips->rng, i);
    uint32_t moved = d->movable.data[i - 1];
    d->movable.data[i - 1] = d->movable.data[j];
    d->movable.data[j] = moved;
  }
  return EGRAPH_OK;
}

static bool is_spent(const descent *d) {
  return d->work >= d->flips->work || eg_incumbent_stop(d->flips->incumbent);
}

static egraph_status try_class(descent *d, uint32_t class, bool *improved) {
  const eg_flips *flips = d->flips;
  uint32_t *slot = &d->present.data[class];
  for (uint32_t i = flips->candidate_begin->data[class];
       i < flips->candidate_begin->data[class + 1]; i++) {
    uint32_t before = *slot;
    if (flips->candidates->data[i] == before) continue;
    double cost;
    *slot = flips->candidates->data[i];
    EG_TRY(evaluate(d, &cost));
    bool better = cost < d->cost - 1e-12 * fabs(d->cost);
    bool level = cost <= d->cost && eg_rng_below(flips->rng, 4) == 0;
    if (!better && !level) {
      *slot = before;
      continue;
    }
    d->cost = cost;
    *improved = *improved || better;
  }
  return EGRAPH_OK;
}

static egraph_status keep_best(descent *d) {
  if (!(d->cost < d->best_cost)) return EGRAPH_OK;
  double cost;
  d->best_cost = d->cost;
  memcpy(d->best.data, d->present.data, d->present.len * sizeof(uint32_t));
  return eg_incumbent_offer(d->flips->incumbent, d->best.data, &cost);
}

static egraph_status descend(descent *d) {
  for (bool improved = true; improved && !is_spent(d);) {
    improved = false;
    EG_TRY(collect_movable(d));
    for (size_t i = 0; i < d->movable.len && !is_spent(d); i++)
      EG_TRY(try_class(d, d->movable.data[i], &improved));
    EG_TRY(keep_best(d));
  }
  return EGRAPH_OK;
}

// Kicks that close a cycle are taken back.
static egraph_status kick(descent *d) {
  const eg_flips *flips = d->flips;
  memcpy(d->present.data, d->best.data, d->present.len * sizeof(uint32_t));
  EG_TRY(collect_movable(d));
  d->cost = d->best_cost;
  uint64_t count = MIN_KICK + eg_rng_below(flips->rng, MAX_KICK - MIN_KICK + 1);
  for (uint64_t i = 0; i < count && i < d->movable.len; i++) {
    uint32_t class = d->movable.data[i], before = d->present.data[class];
    uint32_t pick = (uint32_t)eg_rng_below(flips->rng, candidate_count(flips, class));
    double cost;
    d->present.data[class] =
        flips->candidates->data[flips->candidate_begin->data[class] + pick];
    EG_TRY(evaluate(d, &cost));
    if (isinf(cost))
      d->present.data[class] = before;
    else
      d->cost = cost;
  }
  return EGRAPH_OK;
}

static egraph_status search(descent *d, const uint32_t *choice) {
  uint32_t classes = d->flips->incumbent->problem->class_count;
  EG_TRY(eg_u32s_append(&d->present, choice, classes));
  EG_TRY(eg_u32s_resize(&d->best, classes));
  EG_TRY(eg_u32s_resize(&d->trial, classes));
  EG_TRY(evaluate(d, &d->cost));
  if (isinf(d->cost)) return EGRAPH_OK;
  EG_TRY(keep_best(d));
  EG_TRY(descend(d));
  for (size_t failed = 0; !is_spent(d) && failed < PATIENCE * d->movable.len; failed++) {
    double before = d->best_cost;
    EG_TRY(kick(d));
    EG_TRY(descend(d));
    if (d->best_cost < before) failed = 0;
  }
  return EGRAPH_OK;
}

egraph_status eg_flips_run(const eg_flips *flips, uint32_t *choice) {
  egraph_allocator alloc = flips->incumbent->choice.alloc;
  descent d;
  descent_init(&d, alloc);
  d.flips = flips;
  d.best_cost = INFINITY;
  egraph_status status = search(&d, choice);
  if (status == EGRAPH_OK && isfinite(d.best_cost) && d.best.len != 0)
    memcpy(choice, d.best.data, d.best.len * sizeof(uint32_t));
  descent_deinit(&d);
  return status;
}
