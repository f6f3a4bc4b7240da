// SPDX-License-Identifier: Apache-2.0
#include "extract/incumbent.h"

#include <math.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/proof.h"

// ---- CPU time by part -------------------------------------------------------------

void eg_part_clock_start(eg_part_clock *clock, egraph_extract_part part) {
  clock->part = part;
  clock->since = eg_clock_thread_seconds();
}

egraph_extract_part eg_part_enter(eg_part_clock *clock, egraph_extract_part part) {
  assert(part < EGRAPH_PART_COUNT);
  if (clock == NULL || clock->part == part) return part;
  egraph_extract_part before = eg_part_clock_stop(clock);
  clock->part = part;
  return before;
}

egraph_extract_part eg_part_clock_stop(eg_part_clock *clock) {
  double now = eg_clock_thread_seconds();
  clock->seconds[clock->part] += now - clock->since;
  clock->since = now;
  return clock->part;
}

void eg_part_clock_merge(eg_part_clock *to, const eg_part_clock *from) {
  for (int i = 0; to != NULL && i < EGRAPH_PART_COUNT; i++)
    to->seconds[i] += from->seconds[i];
}

// ---- the best solution, the bound, the limits -------------------------------------

// The tolerance of all proofs in this file: smaller relative differences are rounding.
static const double TOLERANCE = 1e-9;

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

double eg_cost_unit_of(const eg_extract_problem *problem) {
  uint64_t unit = 0;
  double sum = 0;
  for (size_t n = 0; n < problem->cost.len; n++) {
    double cost = fabs(problem->cost.data[n]);
    sum += cost;
    if (floor(cost) != cost || sum > 0x1p50) return 0;
    unit = common_divisor(unit, (uint64_t)cost);
  }
  return (double)unit;
}

// Million steps of work for each second of the time limit. Measured: half of the time
// goes into steps that are not counted.
static const double MILLIONS_PER_SECOND = 400;

/// Returns the limit of steps, at most 2^63, so that sums of a few limits do
/// not overflow.
static uint64_t work_limit(const eg_extract_options *options) {
  double millions = options->work_limit != 0
                        ? (double)options->work_limit
                        : options->time_limit_seconds * MILLIONS_PER_SECOND;
  return millions < 0x1p63 / 1e6 ? (uint64_t)(millions * 1e6) : UINT64_C(1) << 63;
}

static egraph_status size_scratch(eg_incumbent *incumbent) {
  size_t classes = incumbent->problem->class_count;
  EG_TRY(eg_u32s_resize(&incumbent->choice, classes));
  EG_TRY(eg_bytes_resize(&incumbent->color, classes));
  EG_TRY(eg_u32s_resize(&incumbent->stack, classes));
  EG_TRY(eg_u32s_resize(&incumbent->cursor, classes));
  return eg_u32s_resize(&incumbent->trial, classes);
}

egraph_status eg_incumbent_init(eg_incumbent *incumbent, egraph_allocator alloc,
                                const eg_extract_problem *problem,
                                const eg_extract_options *options) {
  *incumbent = (eg_incumbent){.problem = problem,
                              .options = options,
                              .cost = INFINITY,
                              .bound = -INFINITY,
                              .unit = eg_cost_unit_of(problem),
                              .work = {.limit = work_limit(options)},
                              .start_seconds = eg_clock_seconds()};
  incumbent->asked_seconds = incumbent->start_seconds;
  eg_incumbent_init_members(incumbent, alloc);
  EG_RETURN_FILLED(size_scratch(incumbent), eg_incumbent, incumbent);
}

enum { WHITE, GREY, BLACK };

/// Walks depth first below one root; false when a class has no node or a grey class is
/// met again. A class is pushed at most once, so the stack never outgrows the classes.
static bool walk_below(eg_incumbent *incumbent, const uint32_t *choice, uint32_t root,
                       double *cost) {
  assert(root < incumbent->problem->class_count);
  const eg_extract_problem *problem = incumbent->problem;
  uint8_t *color = incumbent->color.data;
  size_t depth = 0;
  uint32_t next = root;
  for (;;) {
    if (color[next] == GREY) return false;
    if (color[next] == WHITE) {
      if (choice[next] == EG_EXTRACT_NONE) return false;
      color[next] = GREY;
      *cost += problem->cost.data[choice[next]];
      incumbent->cursor.data[depth] = problem->child_begin.data[choice[next]];
      incumbent->stack.data[depth++] = next;
    }
    while (depth != 0) {
      uint32_t class = incumbent->stack.data[depth - 1];
      uint32_t at = incumbent->cursor.data[depth - 1];
      if (at < problem->child_begin.data[choice[class] + 1]) break;
      color[class] = BLACK;
      depth--;
    }
    if (depth == 0) return true;
    next = problem->children.data[incumbent->cursor.data[depth - 1]++];
  }
}

void eg_incumbent_count(eg_incumbent *incumbent, uint64_t steps) {
  for (; incumbent != NULL; incumbent = incumbent->apart ? NULL : incumbent->outer)
    eg_work_add(&incumbent->work, steps);
}

uint64_t eg_incumbent_work_left(const eg_incumbent *incumbent) {
  uint64_t left = eg_work_left(&incumbent->work);
  while (!incumbent->apart && (incumbent = incumbent->outer) != NULL)
    if (eg_work_left(&incumbent->work) < left) left = eg_work_left(&incumbent->work);
  return left;
}

egraph_status eg_incumbent_evaluate(eg_incumbent *incumbent, uint32_t *choice,
                                    double *out_cost) {
  assert(incumbent->color.len == incumbent->problem->class_count);
  const eg_extract_problem *problem = incumbent->problem;
  eg_incumbent_count(incumbent, problem->class_count + problem->children.len);
  if (problem->class_count != 0)
    memset(incumbent->color.data, WHITE, problem->class_count);
  double cost = 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    if (!walk_below(incumbent, choice, problem->roots.data[i], &cost)) {
      *out_cost = INFINITY;
      return EGRAPH_OK;
    }
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (incumbent->color.data[class] == WHITE) choice[class] = EG_EXTRACT_NONE;
  *out_cost = cost;
  return EGRAPH_OK;
}

/// Checks the proof: a solution below a proven bound disproves it. The rounding error of
/// a sum is proportional to the magnitudes of its terms, which exceed the sum when costs
/// have both signs.
static egraph_status check_proof(const eg_incumbent *incumbent) {
  double bound = incumbent->bound, cost = incumbent->cost;
  if (!(bound > cost)) return EGRAPH_OK;
  double magnitude = eg_extract_magnitude(incumbent->problem, incumbent->choice.data);
  if (bound - cost <= 2 * TOLERANCE * magnitude) return EGRAPH_OK;
  return eg_proof_check_bound("extraction", bound, cost);
}

egraph_status eg_incumbent_offer(eg_incumbent *incumbent, const uint32_t *choice,
                                 double *out_cost) {
  size_t bytes = incumbent->problem->class_count * sizeof(uint32_t);
  if (bytes != 0) memcpy(incumbent->trial.data, choice, bytes);
  EG_TRY(eg_incumbent_evaluate(incumbent, incumbent->trial.data, out_cost));
  if (!(*out_cost < incumbent->cost)) return EGRAPH_OK;
  incumbent->cost = *out_cost;
  eg_u32s better = incumbent->trial;
  incumbent->trial = incumbent->choice;
  incumbent->choice = better;
  EG_TRY(check_proof(incumbent));
  return incumbent->on_better == NULL ? EGRAPH_OK
                                      : incumbent->on_better(incumbent->on_better_user);
}

void eg_incumbent_raise(eg_incumbent *incumbent, double bound) {
  assert(!isnan(bound));
  bound = eg_round_to_unit(bound, incumbent->unit);
  // The caller's bound holds for solutions cheaper than the best one; all others cost at
  // least as much as the best one.
  if (bound > incumbent->cost) bound = incumbent->cost;
  if (bound > incumbent->bound) incumbent->bound = bound;
}

double eg_incumbent_cutoff_of(const eg_incumbent *incumbent, double cost) {
  if (!isfinite(cost)) return cost;
  if (incumbent->unit > 0) return cost - incumbent->unit * (1 - 1e-6);
  return cost - TOLERANCE * fabs(cost);
}

double eg_incumbent_cutoff(const eg_incumbent *incumbent) {
  return eg_incumbent_cutoff_of(incumbent, incumbent->cost);
}

static double own_deadline(const eg_incumbent *incumbent) {
  double seconds = incumbent->options->time_limit_seconds - incumbent->reserve;
  return incumbent->start_seconds + seconds;
}

double eg_incumbent_deadline(const eg_incumbent *incumbent) {
  double deadline = own_deadline(incumbent);
  while ((incumbent = incumbent->outer) != NULL)
    deadline = fmin(deadline, own_deadline(incumbent));
  return deadline;
}

double eg_incumbent_seconds_left(const eg_incumbent *incumbent) {
  return eg_incumbent_deadline(incumbent) - eg_clock_seconds();
}

static bool gap_is_small(const eg_incumbent *incumbent) {
  double gap = incumbent->options->relative_gap;
  double cost = incumbent->cost + incumbent->rest_cost;
  double bound = incumbent->bound + incumbent->rest_bound;
  return gap > 0 && isfinite(cost) && cost - bound <= gap * fabs(cost);
}

/// Asks the caller whether to stop. One thread calls progress at a time; the
/// others continue.
static bool caller_stops(eg_incumbent *incumbent, double now) {
  const eg_extract_options *options = incumbent->options;
  if (options->progress == NULL || atomic_exchange(&incumbent->asking, true))
    return false;
  bool stops = false;
  if (now - incumbent->asked_seconds >= 0.1) {
    incumbent->asked_seconds = now;
    stops = options->progress(options->user, incumbent->cost, incumbent->bound,
                              now - incumbent->start_seconds);
  }
  atomic_store(&incumbent->asking, false);
  return stops;
}

bool eg_incumbent_stop(eg_incumbent *incumbent) {
  if (atomic_load_explicit(&incumbent->stopped, memory_order_relaxed)) return true;
  double now = eg_clock_seconds();
  bool stops = eg_work_is_spent(&incumbent->work) || now >= own_deadline(incumbent) ||
               gap_is_small(incumbent);
  if (incumbent->outer == NULL) {
    stops = stops || caller_stops(incumbent, now);
  } else {
    eg_incumbent_raise(incumbent->outer, incumbent->outer_rest + incumbent->bound);
    stops = stops || eg_incumbent_stop(incumbent->outer);
  }
  if (stops) atomic_store_explicit(&incumbent->stopped, true, memory_order_relaxed);
  return stops;
}

// ---- patience of a step -----------------------------------------------------------

bool eg_patience_ended(const eg_patience *patience) {
  if (eg_clock_seconds() > patience->deadline) return true;
  return patience->incumbent != NULL && eg_incumbent_stop(patience->incumbent);
}

eg_patience eg_patience_of(eg_incumbent *incumbent) {
  return (eg_patience){eg_incumbent_deadline(incumbent), incumbent};
}
