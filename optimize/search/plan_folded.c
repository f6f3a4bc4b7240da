// Bounds the whole step by the folded step (one block for many), and mixes plans: blocks
// get the choices of different plans.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_folded.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/work.h"
#include "extract/layout/layout_solve.h"
#include "optimize/model/plan_recall.h"
#include "optimize/search/budget.h"
#include "pcg/plan/plan_cost.h"

// ---- a bound ----------------------------------------------------------------------

// The bound is a concave, piecewise linear function of a memory price, with few pieces.
// Therefore the next price is the point where two lines meet: the line through the two
// known points left of the gap, and the line through the two points right of it.
static const double STEP = 1.3, FAR_STEP = 4; // to the next price; if the best is far
enum { NEAR_POINTS = 4 };              // tried without passing the best price: it is far
static const double FIRST_WORTH = 0.1; // first value of a limit, as a share of the bound
// Least gain of a price, as a share of the bound; while a row for a step may follow
static const double WORTHWHILE = 1e-4, WORTHWHILE_FIRST = 1e-2;
enum { MOST_POINTS = 16 };
static const double CLIMB_SHARE = 0.6; // of time and work, for better prices
// Bounds are searched up to this share above a plan's cost, to expose a contradiction.
static const double BEYOND = 1e-6;
static const double LEAST_SECONDS = 0.01;

typedef struct cutter {
  egraph_allocator alloc;
  const eg_cut_input *in;
  eg_plan_model model;
  double first[EG_LAYOUT_MEMORY_ROWS]; // prices to begin with
  eg_layout_potentials best;
  double start;
  eg_work work;
  eg_cut *out;
} cutter;

static double climb_share(const cutter *c) { return c->in->climb_only ? 1 : CLIMB_SHARE; }

static double seconds_left(const cutter *c, double share) {
  double limit = share * c->in->options.time_limit_seconds;
  return limit - (eg_clock_seconds() - c->start);
}

/// Returns the options with the remaining time and work as limits.
static eg_open_options remaining(const cutter *c) {
  eg_open_options options = c->in->options;
  options.time_limit_seconds = fmax(seconds_left(c, 1), LEAST_SECONDS);
  if (options.work_limit != 0)
    options.work_limit =
        options.work_limit > c->work.done ? options.work_limit - c->work.done : 1;
  return options;
}

/// Returns the seconds that all bytes within the memory limits cost at these prices.
static double allowance(const cutter *c, const double *price) {
  double seconds = 0;
  for (uint32_t r = 0; r < c->model.problem.memory_rows; r++)
    if (price[r] > 0) seconds += price[r] * c->in->space->info->memory_limit;
  return seconds;
}

/// Computes the bound at these memory prices, and keeps it if it is the best.
static egraph_status try_prices(cutter *c, const double *price, double *out_bound) {
  eg_open_options options = remaining(c);
  EG_OWNED(eg_layout_potentials, potentials);
  double bound = 0;
  uint64_t work = 0;
  options.work_limit = eg_work_share(options.work_limit, climb_share(c));
  EG_TRY(eg_plan_model_price_memory(&c->model, price));
  eg_layout_potentials_init(&potentials, c->alloc, &c->model.seams);
  EG_TRY(eg_layout_open_climb(c->alloc, &c->model.problem, &options, &potentials, &bound,
                              &work));
  eg_work_add(&c->work, work);
  bound -= allowance(c, price);
  *out_bound = bound;
  if (bound > c->out->bound) {
    const eg_layout_potentials before = c->best;
    c->best = potentials;
    potentials = before;
    c->out->bound = bound;
    memcpy(c->out->price, price, sizeof c->out->price);
  }
  return EGRAPH_OK;
}

// ---- prices ---------------------------------------------------------------------------

/// Bounds at prices of one memory row, with the best prices of other rows, by price.
typedef struct curve {
  uint32_t row, count, best;
  double price[MOST_POINTS], bound[MOST_POINTS];
} curve;

static void add_point(curve *v, double price, double bound) {
  assert(v->count < MOST_POINTS);
  uint32_t at = v->count++;
  for (; at > 0 && v->price[at - 1] > price; at--) {
    v->price[at] = v->price[at - 1];
    v->bound[at] = v->bound[at - 1];
  }
  v->price[at] = price;
  v->bound[at] = bound;
  v->best = 0;
  for (uint32_t i = 1; i < v->count; i++)
    if (v->bound[i] > v->bound[v->best]) v->best = i;
}

/// Returns the height at a price of the line through points i and i + 1 of the curve.
static double line_at(const curve *v, uint32_t i, double price) {
  assert(i + 1 < v->count);
  double slope = (v->bound[i + 1] - v->bound[i]) / (v->price[i + 1] - v->price[i]);
  return v->bound[i] + slope * (price - v->price[i]);
}

/// Returns the price at which the lines on both sides of the gap after point i meet, and
/// the height of this point; the middle of the gap if only one side has a line.
static double meet_lines(const curve *v, uint32_t i, double *out_bound) {
  bool has_left = i > 0, has_right = i + 2 < v->count;
  double low = v->price[i], high = v->price[i + 1], middle = low + (high - low) / 2;
  *out_bound = INFINITY;
  if (!has_left && !has_right) return middle;
  if (has_left && has_right) {
    double at_low = line_at(v, i + 1, low) - v->bound[i];
    double at_high = v->bound[i + 1] - line_at(v, i - 1, high);
    double share = at_low - at_high > 0 ? at_low / (at_low - at_high) : 0.5;
    middle = low + fmin(fmax(share, 0), 1) * (high - low);
  }
  *out_bound = line_at(v, has_left ? i - 1 : i + 1, middle);
  return middle;
}

/// True when the best price is near the first one, which an earlier search has found.
static bool is_near(const curve *v) { return v->price[0] > 0 && v->count < NEAR_POINTS; }

/// Returns the next memory price to try; negative: no price is worth a try.
static double next_price(const curve *v, double bound, double worthwhile) {
  uint32_t b = v->best;
  double price[2] = {-1, -1}, promise[2] = {0, 0};
  if (b + 1 == v->count) return v->price[b] * (is_near(v) ? STEP : FAR_STEP);
  if (b == 0 && v->price[0] > 0) return v->price[0] / STEP;
  if (b == 0 && v->count == 2) return v->price[1] / FAR_STEP;
  if (b == 0 && v->count > 3) return -1; // price 0 is the best
  if (b > 0) price[0] = meet_lines(v, b - 1, &promise[0]);
  price[1] = meet_lines(v, b, &promise[1]);
  int higher = promise[1] > promise[0];
  return promise[higher] > bound * (1 + worthwhile) ? price[higher] : -1;
}

static double worthwhile(const cutter *c) {
  bool is_first = c->in->climb_only && c->in->prices->step.strategy.len == 0;
  return is_first ? WORTHWHILE_FIRST : WORTHWHILE;
}

static bool is_enough(const cutter *c) {
  if (c->in->gaps == NULL) return false;
  double gap = fmax(eg_layout_gap_after(c->in->gaps, c->work.done), EG_PROVEN_GAP);
  return c->out->bound >= c->in->at_hand * (1 - gap);
}

/// Finds the price of one memory row that gives the best bound.
static egraph_status find_price(cutter *c, uint32_t row) {
  curve v = {.row = row};
  double price = c->out->price[row];
  add_point(&v, price, c->out->bound);
  if (!(price > 0))
    price = FIRST_WORTH * c->out->bound / c->in->space->info->memory_limit;
  else
    price *= STEP;
  double work = climb_share(c) * (double)c->in->options.work_limit; // 0: no limit
  while (price >= 0 && v.count < MOST_POINTS && !is_enough(c) &&
         seconds_left(c, climb_share(c)) > 0 &&
         !(work > 0 && (double)c->work.done > work)) {
    double all[EG_LAYOUT_MEMORY_ROWS], bound;
    memcpy(all, c->out->price, sizeof all);
    all[row] = price;
    EG_TRY(try_prices(c, all, &bound));
    add_point(&v, price, bound);
    price = next_price(&v, v.bound[v.best], worthwhile(c));
  }
  return EGRAPH_OK;
}

static egraph_status search_prices(cutter *c) {
  eg_open_options options = remaining(c);
  double bound;
  options.ceiling = c->in->cost * (1 + BEYOND) + allowance(c, c->out->price);
  EG_TRY(eg_plan_model_price_memory(&c->model, c->out->price));
  EG_TRY(eg_layout_open_search(c->alloc, &c->model.problem, &options, &c->best, &bound));
  c->out->bound = fmax(c->out->bound, bound - allowance(c, c->out->price));
  return EGRAPH_OK;
}

static egraph_status run_cutter(cutter *c) {
  uint32_t rows = c->model.problem.memory_rows;
  double bound;
  bool is_known = false;
  EG_TRY(try_prices(c, c->first, &bound));
  if (!(bound > 0) || isinf(bound) || bound < c->in->known * (1 - WORTHWHILE))
    return EGRAPH_OK;
  for (uint32_t r = 0; r < rows; r++)
    is_known = is_known || c->first[r] > 0;
  // Memory rows without a known price are tried only if no row has one.
  for (uint32_t r = 0; c->in->may_bind && r < rows; r++)
    if (!is_known || c->first[r] > 0) EG_TRY(find_price(c, r));
  return c->in->climb_only || is_enough(c) ? EGRAPH_OK : search_prices(c);
}

/// Returns the number of strategies before those that hand values from block to block:
/// those that the open model and the model of a search both begin with.
static uint32_t common_strategies(const eg_plan_model *model) {
  const eg_layout_problem *p = &model->problem;
  uint32_t op = 0, count = eg_layout_operator_count(p);
  while (op < count &&
         model->values.data[p->operator_value.data[op]].role != EG_MODEL_HANDED)
    op++;
  return p->strategy_begin.data[op];
}

/// True when the step is outside the block that represents many: at that time every block
/// holds what this block holds.
static bool is_outside(const cutter *c, uint32_t made) {
  assert(c->model.values.data[made].role ==
         EG_MODEL_COPY); // both models number them alike
  return c->model.problem.memory_times.data[made] == 1;
}

/// Adds the memory row of the input's step. Where it cannot, the step's price is added to
/// the price of the first row.
static void add_step(cutter *c) {
  const eg_peak_row *step = &c->in->prices->step;
  eg_layout_problem *p = &c->model.problem;
  uint32_t row = p->memory_rows, common = common_strategies(&c->model);
  if (step->strategy.len == 0 || !is_outside(c, step->made)) {
    c->first[0] += c->first[row];
    c->first[row] = 0;
    return;
  }
  assert(common <= step->strategy.len && step->arc.len == eg_layout_arc_count(p));
  for (uint32_t s = 0; s < eg_layout_strategy_count(p); s++)
    p->memory[row].data[s] = s < common ? step->strategy.data[s] : 0;
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++)
    p->arc_memory[row].data[a] = step->arc.data[a];
  p->memory_rows++;
}

egraph_status eg_plan_cut_bound(egraph_allocator alloc, const eg_cut_input *input,
                                eg_cut *out) {
  cutter c = {.alloc = alloc, .in = input, .start = eg_clock_seconds(), .out = out};
  *out = (eg_cut){.bound = 0};
  if (input->prices != NULL) memcpy(c.first, input->prices->at, sizeof c.first);
  if (!input->space->can_be_cut) return EGRAPH_OK;
  EG_TRY(eg_plan_model_init_open(&c.model, alloc, input->space, input->limits));
  out->rows = c.model.problem.memory_rows;
  out->places = eg_layout_place_count(&c.model.problem);
  out->arcs = eg_layout_arc_count(&c.model.problem);
  if (input->prices != NULL) add_step(&c);
  eg_layout_potentials_init(&c.best, alloc, &c.model.seams);
  egraph_status status = run_cutter(&c);
  eg_layout_potentials_deinit(&c.best);
  eg_plan_model_deinit(&c.model);
  return status;
}

// ---- blocks of several kinds ------------------------------------------------------

typedef struct mixer {
  egraph_allocator alloc;
  const eg_mix_input *in;
  const eg_plan_model *model;
  eg_u32s strategy[EG_MIX_KINDS]; // [problem values] of a kind
  eg_bytes kind;                  // [blocks] of the best mixture
  eg_u32s mixed;                  // [problem values] of the current mixture
  eg_layout_completer *completer;
  eg_mixed_plan *out;
} mixer;
EG_OWNER_DEFINE_STATIC(mixer, (eg_u32s, strategy[0], strategy[1], strategy[2], mixed),
                       (eg_bytes, kind))
_Static_assert(EG_MIX_KINDS == 3, "each kind has strategies");

/// Keeps a plan of mixed blocks if it is the cheapest; *emitted: the plan before,
/// or zeros.
static void keep_better(mixer *m, eg_emitted_plan *emitted, double cost, double memory) {
  eg_mixed_plan *out = m->out;
  if (out->has_plan && !(cost < out->cost)) return;
  const eg_emitted_plan before = out->emitted;
  *out = (eg_mixed_plan){
      .has_plan = true, .cost = cost, .memory = memory, .emitted = *emitted};
  *emitted = before;
}

/// Emits a completed solution. *out_fits: its peak of memory is within the limit.
static egraph_status weigh_mixture(mixer *m, const eg_layout_solution *solution,
                                   bool *out_fits) {
  EG_OWNED(eg_emitted_plan, emitted);
  eg_plan_summary summary;
  EG_TRY(eg_plan_emit(m->model, m->alloc, solution, &emitted));
  EG_TRY(eg_plan_summary_make(&emitted.plan, m->alloc, &summary));
  eg_emitted_plan_leave_problem(&emitted);
  *out_fits = summary.peak <= m->in->memory_limit;
  if (*out_fits) keep_better(m, &emitted, summary.seconds, summary.peak);
  return EGRAPH_OK;
}

/// Gives the first `count` blocks of kind 0 another plan's choices; returns how many.
static uint32_t turn(mixer *m, uint8_t kind, uint32_t count) {
  uint32_t turned = 0;
  for (size_t i = 0; i < m->kind.len && turned < count; i++)
    if (m->kind.data[i] == 0) {
      m->kind.data[i] = kind;
      turned++;
    }
  return turned;
}

static void turn_back(mixer *m, uint8_t kind) {
  for (size_t i = 0; i < m->kind.len; i++)
    if (m->kind.data[i] == kind) m->kind.data[i] = 0;
}

/// Completes, emits and judges the plan with the current kinds of blocks.
static egraph_status try_kinds(mixer *m, bool *out_fits) {
  EG_OWNED(eg_layout_solution, solution);
  bool is_solution;
  const eg_plan_model *model = m->model;
  *out_fits = false;
  for (uint32_t v = 0; v < m->mixed.len; v++) {
    uint32_t block = model->space->values.data[model->values.data[v].value].block;
    uint8_t kind = block < m->kind.len ? m->kind.data[block] : 0;
    m->mixed.data[v] = m->strategy[kind].data[v];
  }
  EG_TRY(eg_layout_complete(m->completer, m->mixed.data, &solution, &is_solution));
  if (!is_solution) return EGRAPH_OK;
  return weigh_mixture(m, &solution, out_fits);
}

/// Finds by bisection the most blocks that may get another plan's choices, and
/// changes them.
static egraph_status add_kind(mixer *m, uint8_t kind) {
  uint32_t fitting = 0, too_many = turn(m, kind, UINT32_MAX) + 1;
  turn_back(m, kind);
  while (too_many - fitting > 1 && eg_clock_seconds() < m->in->deadline) {
    uint32_t middle = fitting + (too_many - fitting) / 2;
    bool fits;
    (void)turn(m, kind, middle);
    EG_TRY(try_kinds(m, &fits));
    turn_back(m, kind);
    *(fits ? &fitting : &too_many) = middle;
  }
  (void)turn(m, kind, fitting);
  return EGRAPH_OK;
}

static egraph_status run_mixer(mixer *m) {
  bool ignored;
  for (uint32_t k = 0; k < m->in->kinds; k++) {
    EG_TRY(eg_plan_recall(m->model, m->in->kind[k], &m->strategy[k]));
    if (m->strategy[k].len == 0) return EGRAPH_OK;
  }
  EG_TRY(eg_u32s_resize(&m->mixed, m->strategy[0].len));
  EG_TRY(eg_bytes_resize(&m->kind, m->model->space->info->fold.count));
  EG_TRY(try_kinds(m, &ignored));
  for (uint32_t k = 1; k < m->in->kinds; k++)
    EG_TRY(add_kind(m, (uint8_t)k));
  return EGRAPH_OK;
}

egraph_status eg_plan_mix(egraph_allocator alloc, const eg_mix_input *input,
                          eg_mixed_plan *out) {
  assert(input->kinds >= 1 && input->kinds <= EG_MIX_KINDS);
  EG_HELD(eg_layout_completer, completer);
  *out = (eg_mixed_plan){.has_plan = false};
  EG_TRY(eg_layout_completer_create(alloc, &input->model->problem, &completer));
  EG_LOCAL_WITH(mixer, m, alloc, .alloc = alloc, .in = input, .model = input->model,
                .completer = completer, .out = out);
  egraph_status status = run_mixer(&m);
  if (status != EGRAPH_OK && out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  return status;
}
