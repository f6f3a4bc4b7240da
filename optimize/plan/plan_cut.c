// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_cut.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

// The bound is concave in the prices: they go up or down by a factor while that helps,
// then by its root. Prices that a search has found are near the best; where it has found
// none, the limit is first worth this share of the bound.
static const double NEAR_STEP = 1.3, FAR_STEP = 4, LAST_STEP = 1.03, FIRST_WORTH = 0.1;
static const double CLIMB_SHARE = 0.6; // of the time, for better prices
static const double LEAST_SECONDS = 0.01;

typedef struct cutter {
  egraph_allocator alloc;
  const eg_cut_input *in;
  eg_plan_model model;
  eg_doubles cost; // of its strategies, without prices
  eg_layout_potentials best;
  double start;
  eg_cut *out;
} cutter;

static double seconds_left(const cutter *c, double share) {
  double limit = share * c->in->options.time_limit_seconds;
  return limit - (eg_clock_seconds() - c->start);
}

/// What the limits may take at these prices.
static double allowance(const cutter *c, const double *price) {
  double seconds = 0;
  for (uint32_t r = 0; r < c->model.problem.memory_rows; r++)
    if (price[r] > 0) seconds += price[r] * c->in->space->info->memory_limit;
  return seconds;
}

static void set_prices(cutter *c, const double *price) {
  memcpy(c->model.problem.cost.data, c->cost.data, c->cost.len * sizeof *c->cost.data);
  eg_plan_model_price_memory(&c->model, price);
}

/// Keeps the bound at these prices if it is the best.
static egraph_status try_prices(cutter *c, const double *price, bool *out_is_better) {
  eg_open_options options = c->in->options;
  eg_layout_potentials potentials;
  double bound = 0;
  options.time_limit_seconds = fmax(seconds_left(c, 1), LEAST_SECONDS);
  set_prices(c, price);
  eg_layout_potentials_init(&potentials, c->alloc, &c->model.seams);
  egraph_status status =
      eg_layout_open_climb(c->alloc, &c->model.problem, &options, &potentials, &bound);
  bound -= allowance(c, price);
  *out_is_better = status == EGRAPH_OK && bound > c->out->bound;
  if (*out_is_better) {
    const eg_layout_potentials before = c->best;
    c->best = potentials;
    potentials = before;
    c->out->bound = bound;
    memcpy(c->out->price, price, sizeof c->out->price);
  }
  eg_layout_potentials_deinit(&potentials);
  return status;
}

/// One price up, else down.
static egraph_status move_price(cutter *c, uint32_t row, double step, bool *out_moved) {
  *out_moved = false;
  for (int i = 0; i < 2 && !*out_moved; i++) {
    double price[EG_LAYOUT_MEMORY_ROWS];
    memcpy(price, c->out->price, sizeof price);
    price[row] *= i == 0 ? step : 1 / step;
    if (seconds_left(c, CLIMB_SHARE) <= 0) return EGRAPH_OK;
    EG_TRY(try_prices(c, price, out_moved));
  }
  return EGRAPH_OK;
}

static bool has_prices(const cutter *c) {
  for (uint32_t r = 0; r < c->model.problem.memory_rows; r++)
    if (c->out->price[r] > 0) return true;
  return false;
}

/// Prices where there are none: of each row alone, high, then lower.
static egraph_status guess_prices(cutter *c) {
  for (uint32_t r = 0; r < c->model.problem.memory_rows; r++) {
    double worth = FIRST_WORTH * c->out->bound;
    bool is_better = false;
    for (int i = 0; i < 2 && !is_better; i++, worth /= FAR_STEP) {
      double price[EG_LAYOUT_MEMORY_ROWS];
      memcpy(price, c->out->price, sizeof price);
      price[r] = worth / c->in->space->info->memory_limit;
      if (seconds_left(c, CLIMB_SHARE) <= 0) return EGRAPH_OK;
      EG_TRY(try_prices(c, price, &is_better));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_prices(cutter *c) {
  double first = has_prices(c) ? NEAR_STEP : FAR_STEP;
  if (!has_prices(c)) EG_TRY(guess_prices(c));
  if (!has_prices(c)) return EGRAPH_OK;
  for (double step = first; step > LAST_STEP;) {
    bool moved = false;
    for (uint32_t r = 0; r < c->model.problem.memory_rows; r++) {
      bool this_moved = false;
      if (c->out->price[r] > 0) EG_TRY(move_price(c, r, step, &this_moved));
      moved = moved || this_moved;
    }
    if (seconds_left(c, CLIMB_SHARE) <= 0) break;
    if (!moved) step = sqrt(step);
  }
  return EGRAPH_OK;
}

static egraph_status search(cutter *c) {
  eg_open_options options = c->in->options;
  double bound;
  options.time_limit_seconds = fmax(seconds_left(c, 1), LEAST_SECONDS);
  set_prices(c, c->out->price);
  EG_TRY(eg_layout_open_search(c->alloc, &c->model.problem, &options, &c->best, &bound));
  c->out->bound = fmax(c->out->bound, bound - allowance(c, c->out->price));
  return EGRAPH_OK;
}

static egraph_status run(cutter *c) {
  bool any;
  EG_TRY(
      eg_doubles_append(&c->cost, c->model.problem.cost.data, c->model.problem.cost.len));
  EG_TRY(try_prices(c, c->in->price, &any));
  if (!any || isinf(c->out->bound)) return EGRAPH_OK;
  if (c->in->may_bind) EG_TRY(find_prices(c));
  return search(c);
}

egraph_status eg_plan_cut_bound(egraph_allocator alloc, const eg_cut_input *input,
                                eg_cut *out) {
  cutter c = {.alloc = alloc, .in = input, .start = eg_clock_seconds(), .out = out};
  *out = (eg_cut){.bound = 0};
  memcpy(out->price, input->price, sizeof out->price);
  if (input->space->info->fold.times == 0 || !input->space->is_exact) return EGRAPH_OK;
  EG_TRY(eg_plan_model_init_open(&c.model, alloc, input->space, input->limits));
  eg_doubles_init(&c.cost, alloc);
  eg_layout_potentials_init(&c.best, alloc, &c.model.seams);
  egraph_status status = run(&c);
  eg_layout_potentials_deinit(&c.best);
  eg_doubles_deinit(&c.cost);
  eg_plan_model_deinit(&c.model);
  return status;
}
