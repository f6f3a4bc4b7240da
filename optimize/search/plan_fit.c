// What a device holds at a peak becomes a row of memory of the layout problem (the first
// half); solutions are sought within such rows, then with less kept, then one by one.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_fit.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "base/work.h"
#include "optimize/model/plan_emit.h"
#include "optimize/model/plan_solution.h"
#include "optimize/search/plan_walk.h"
#include "pcg/plan/plan_life.h"
#include "pcg/plan/plan_summary.h"

// ---- rows of memory at a peak ------------------------------------------------------

// What a device holds at the peak of a plan, as a memory row of its layout problem: the
// solution that the plan is made of exceeds it as the plan does the limit, and another
// keeps to it by holding less of what is there at that step.
//
//   inputs, weights          strategies of the entry
//   kept for a later phase   strategies that keep it
//   operands of the step     strategies of the step's operator, by the layouts they need
//   other values             strategies of the producer, by the layout made
//   moved from another way   arcs, by where they lead
//
// What is there at a step depends on the order of steps, which is the plan's, and on how
// layouts are reached; of another solution the row tells about how much that is. It is
// for finding plans, and proves nothing.

typedef struct peak_row {
  eg_doubles strategy, arc; // bytes of each of the problem
  double constant; // bytes at the step that no choice of the problem stands for: scratch
  double value;    // of the solution; together: the peak
} peak_row;
EG_OWNER_DEFINE_STATIC(peak_row, (eg_doubles, strategy, arc))

// What of a problem value is there.
enum { MADE = 1, MOVED = 2, KEPT = 4, LEAVES = 8 };

typedef struct peak_view {
  const eg_plan_model *model;
  const eg_plan_space *space;
  const eg_layout_problem *problem;
  const eg_emitted_plan *emitted;
  uint32_t step;
  eg_plan_solution chosen;
  eg_bytes holds;   // [problem values] flags of the above
  eg_bytes is_read; // [inputs of the operator at the step] of this phase alone
  uint32_t reader;  // problem value that the step makes, or EG_SPACE_NONE: a move
  peak_row *row;
} peak_view;

// ---- what is there --------------------------------------------------------------------

static const eg_model_value *value_at(const peak_view *p, uint32_t value) {
  return &p->model->values.data[value];
}

/// The place in which the state of a place was made, by a node, a move or as an entry.
static uint32_t origin_in(const eg_plan_solution *chosen, uint32_t place) {
  while (chosen->move_into.data[place] == EG_SPACE_NONE) {
    uint32_t before =
        eg_plan_solution_kept_from(chosen, chosen->value_of_place.data[place]);
    if (before == EG_SPACE_NONE) break;
    place = before;
  }
  return place;
}

static uint32_t origin_of(const peak_view *p, uint32_t place) {
  return origin_in(&p->chosen, place);
}

static bool takes_memory(const peak_view *p, uint32_t strategy) {
  return p->problem->memory[0].data[strategy] > 0 ||
         p->problem->memory[1].data[strategy] > 0;
}

/// Marks what keeps the state of a place for a later phase, or lets it leave the step;
/// false: nothing does. Of several that keep it one is marked: it is there once.
static bool mark_kept(peak_view *p, uint32_t place, eg_store store) {
  uint32_t v = value_at(p, p->chosen.value_of_place.data[place])->value,
           found = EG_SPACE_NONE;
  bool leaves = store == EG_STORE_OUTPUT;
  bool in_update = p->emitted->plan.steps.data[p->step].phase == EG_PHASE_UPDATE;
  for (uint32_t i = p->chosen.value_begin.data[v]; i < p->chosen.value_begin.data[v + 1];
       i++) {
    uint32_t value = p->chosen.values.data[i];
    eg_model_role role = value_at(p, value)->role;
    uint32_t before = eg_plan_solution_kept_from(&p->chosen, value);
    if (before == EG_SPACE_NONE || origin_of(p, before) != place) continue;
    if (leaves != (role == EG_MODEL_EXIT)) continue;
    if (!leaves && !takes_memory(p, eg_plan_solution_strategy(&p->chosen, value)))
      continue;
    // Before UPDATE what is kept first, then what is kept last.
    if (found == EG_SPACE_NONE || (role == EG_MODEL_KEPT) != in_update) found = value;
  }
  if (found == EG_SPACE_NONE) return false;
  p->holds.data[found] |= leaves ? LEAVES : KEPT;
  return true;
}

/// Marks an operand of the step by the layout that is needed; false: it is none, or an
/// entry, which is there anyway.
static bool mark_operand(peak_view *p, uint32_t place) {
  if (p->reader == EG_SPACE_NONE) return false;
  uint32_t strategy = eg_plan_solution_strategy(&p->chosen, p->reader);
  uint32_t begin = p->problem->need_begin.data[strategy];
  bool is_found = false;
  for (uint32_t n = begin; n < p->problem->need_begin.data[strategy + 1]; n++) {
    uint32_t need = p->problem->needs.data[n];
    uint32_t v = value_at(p, p->chosen.value_of_place.data[need])->value;
    if (p->space->values.data[v].is_entry || origin_of(p, need) != place) continue;
    p->is_read.data[n - begin] = 1;
    is_found = true;
  }
  return is_found;
}

static void mark(peak_view *p, const eg_life *life) {
  if (life->store == EG_STORE_CARRIED || life->store == EG_STORE_INPUT) return;
  if (life->store == EG_STORE_SCRATCH) return;
  uint32_t place = p->emitted->place_of.data[life->state];
  uint32_t value = p->chosen.value_of_place.data[place];
  bool may_be_kept = life->store != EG_STORE_TRANSIENT;
  if (may_be_kept && mark_kept(p, place, life->store)) return;
  if (mark_operand(p, place)) return;
  p->holds.data[value] |= p->chosen.move_into.data[place] != EG_SPACE_NONE ? MOVED : MADE;
}

static egraph_status mark_all(peak_view *p, egraph_allocator alloc, double *out_bytes) {
  eg_lives lives;
  eg_lives_init(&lives, alloc);
  *out_bytes = 0;
  egraph_status status = eg_plan_lives(&p->emitted->plan, alloc, &lives);
  for (size_t i = 0; status == EGRAPH_OK && i < lives.len; i++) {
    if (lives.data[i].from > p->step || lives.data[i].until < p->step) continue;
    *out_bytes += lives.data[i].bytes;
    mark(p, &lives.data[i]);
  }
  eg_lives_deinit(&lives);
  return status;
}

// ---- the row --------------------------------------------------------------------------

static double bytes_at(const peak_view *p, uint32_t place) {
  uint32_t value = p->chosen.value_of_place.data[place];
  uint32_t number = place - p->problem->place_begin.data[value];
  return eg_plan_space_bytes(p->space, value_at(p, value)->value,
                             eg_plan_model_layout(p->model, value, number));
}

/// Operands that a strategy of the step's operator needs, each layout once. What another
/// operator would read in its stead is there at that time too.
static double bytes_read(const peak_view *p, uint32_t op, uint32_t strategy) {
  uint32_t mine = eg_plan_solution_strategy(&p->chosen, p->reader);
  bool is_same = p->chosen.operator_of.data[mine] == op;
  uint32_t begin = p->problem->need_begin.data[strategy];
  uint32_t end = p->problem->need_begin.data[strategy + 1];
  double bytes = 0;
  for (uint32_t n = begin; n < end; n++) {
    uint32_t need = p->problem->needs.data[n], before = begin;
    uint32_t v = value_at(p, p->chosen.value_of_place.data[need])->value;
    bool is_in =
        is_same ? p->is_read.data[n - begin] != 0 : !p->space->values.data[v].is_entry;
    while (before < n && p->problem->needs.data[before] != need)
      before++;
    if (is_in && before == n) bytes += bytes_at(p, need);
  }
  return bytes;
}

static double bytes_of_strategy(const peak_view *p, uint32_t op, uint32_t strategy) {
  uint32_t value = p->problem->operator_value.data[op];
  uint32_t place = p->problem->output.data[strategy];
  uint8_t holds = p->holds.data[value];
  double times = p->problem->memory_times.data[value];
  if (value_at(p, value)->role == EG_MODEL_ENTRY)
    return p->problem->memory[0].data[strategy];
  if (p->model->operators.data[op] == EG_SPACE_NONE) {
    bool is_there =
        (holds & LEAVES) != 0 || ((holds & KEPT) != 0 && takes_memory(p, strategy));
    return is_there ? bytes_at(p, place) : 0;
  }
  double bytes = (holds & MADE) != 0 ? bytes_at(p, place) : 0;
  if (value == p->reader) bytes += bytes_read(p, op, strategy);
  return bytes / times;
}

static egraph_status fill_peak(peak_view *p) {
  const eg_layout_problem *problem = p->problem;
  const eg_layout_solution *solution = p->chosen.solution;
  p->row->value = 0;
  p->row->strategy.len = p->row->arc.len = 0;
  for (uint32_t s = 0; s < eg_layout_strategy_count(problem); s++) {
    uint32_t op = p->chosen.operator_of.data[s], value = problem->operator_value.data[op];
    double bytes = bytes_of_strategy(p, op, s);
    EG_TRY(eg_doubles_push(&p->row->strategy, bytes));
    if (solution->strategy.data[value] == s)
      p->row->value += bytes * problem->memory_times.data[value];
  }
  for (uint32_t a = 0; a < eg_layout_arc_count(problem); a++) {
    uint32_t to = problem->arc_to.data[a], value = p->chosen.value_of_place.data[to];
    double times = problem->memory_times.data[value];
    double bytes = (p->holds.data[value] & MOVED) != 0 ? bytes_at(p, to) / times : 0;
    EG_TRY(eg_doubles_push(&p->row->arc, bytes));
    if (solution->arc_used.data[a]) p->row->value += bytes * times;
  }
  return EGRAPH_OK;
}

static egraph_status make(peak_view *p, egraph_allocator alloc) {
  double bytes;
  EG_TRY(eg_bytes_resize(&p->holds, p->model->values.len));
  if (p->reader != EG_SPACE_NONE) {
    uint32_t strategy = eg_plan_solution_strategy(&p->chosen, p->reader);
    const uint32_t *begin = p->problem->need_begin.data + strategy;
    EG_TRY(eg_bytes_resize(&p->is_read, begin[1] - begin[0]));
  }
  EG_TRY(mark_all(p, alloc, &bytes));
  EG_TRY(fill_peak(p));
  p->row->constant = bytes - p->row->value;
  return EGRAPH_OK;
}

/// The row of what `emitted`, the plan of the solution, holds at a step; replaces what
/// was in the row. Fails with EGRAPH_E_MEMORY.
static egraph_status make_row(peak_row *row, const eg_plan_model *model,
                              egraph_allocator alloc, const eg_layout_solution *solution,
                              const eg_emitted_plan *emitted, uint32_t step) {
  bool is_node =
      step < emitted->plan.steps.len && !emitted->plan.steps.data[step].is_move;
  peak_view p = {.model = model,
                 .space = model->space,
                 .problem = &model->problem,
                 .emitted = emitted,
                 .step = step,
                 .reader = is_node ? emitted->value_at.data[step] : EG_SPACE_NONE,
                 .row = row};
  eg_bytes_init(&p.holds, alloc);
  eg_bytes_init(&p.is_read, alloc);
  egraph_status status = eg_plan_solution_init(&p.chosen, alloc, model, solution);
  if (status == EGRAPH_OK) {
    status = make(&p, alloc);
    eg_plan_solution_deinit(&p.chosen);
  }
  eg_bytes_deinit(&p.is_read);
  eg_bytes_deinit(&p.holds);
  return status;
}

/// Writes it to a row of the problem, with this limit of the peak. False: what is
/// constant exceeds that.
static bool set_row(const peak_row *row, eg_layout_problem *problem, uint32_t number,
                    double limit) {
  if (!(limit > row->constant)) return false;
  for (uint32_t s = 0; s < row->strategy.len; s++)
    problem->memory[number].data[s] = row->strategy.data[s];
  for (uint32_t a = 0; a < row->arc.len; a++)
    problem->arc_memory[number].data[a] = row->arc.data[a];
  problem->memory_limit[number] = limit - row->constant;
  return true;
}

// ---- what is kept ---------------------------------------------------------------------

/// `counted` is a flag per row and place: its state is in the sum.
static void add_kept(const eg_plan_solution *chosen, uint32_t value, uint8_t *counted,
                     double *out) {
  const eg_layout_problem *problem = chosen->problem;
  uint32_t strategy = eg_plan_solution_strategy(chosen, value);
  uint32_t before = eg_plan_solution_kept_from(chosen, value);
  uint32_t origin = before == EG_SPACE_NONE ? EG_SPACE_NONE : origin_in(chosen, before);
  const eg_model_value *from =
      origin == EG_SPACE_NONE
          ? NULL
          : &chosen->model->values.data[chosen->value_of_place.data[origin]];
  if (from != NULL && from->role == EG_MODEL_ENTRY) return;
  for (uint32_t r = 0; r < problem->memory_rows; r++) {
    double bytes = problem->memory[r].data[strategy];
    if (bytes == 0 || (origin != EG_SPACE_NONE && (counted[origin] >> r & 1) != 0))
      continue;
    if (origin != EG_SPACE_NONE) counted[origin] |= (uint8_t)(1u << r);
    out[r] += bytes * problem->memory_times.data[value];
  }
}

/// Bytes in each row of the problem that the solution's plan really has at that time:
/// what is kept twice, or kept as it enters, is one state. Fails with EGRAPH_E_MEMORY.
static egraph_status sum_kept(const eg_plan_model *model, egraph_allocator alloc,
                              const eg_layout_solution *solution,
                              double out[EG_LAYOUT_MEMORY_ROWS]) {
  size_t places = eg_layout_place_count(&model->problem);
  eg_plan_solution chosen;
  uint8_t *counted = NULL;
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    out[r] = 0;
  EG_TRY(eg_plan_solution_init(&chosen, alloc, model, solution));
  egraph_status status = eg_alloc(alloc, places, 1, &counted);
  for (uint32_t v = 0; status == EGRAPH_OK && v < model->values.len; v++)
    if (solution->strategy.data[v] != EG_LAYOUT_NONE) add_kept(&chosen, v, counted, out);
  eg_free(alloc, counted, places, 1);
  eg_plan_solution_deinit(&chosen);
  return status;
}

enum { MOST_PEAKS = 24, MOST_ROUNDS = 8 };
static const double FIRST_SHARE = 0.9; // of the time, when the limit may matter
static const double LEAST_SECONDS = 0.01;
static const double COARSE_GAP = 1e-3; // while no plan fits
static const double LATER_SHARE = 0.5; // of what is left, for one more solution
static const double MOST_SHARE = 2, LEAST_WORK = 1e8; // of the first one's; steps
static const double TIES_SHARE = 0.5;  // likewise, for a plan of the same cost
static const double MOST_CLOCK = 5e-8; // seconds of a step: the second limit
static const double PROVEN_GAP = 1e-9;
static const double ANY_GAP = 0.01; // with which a search does not ask for the cheapest
enum { MOST_STRATEGIES = 1000 };
static const double LEAST_KEPT = 0.4, MORE = 1.2; // of the limit
static const double FINE = 5e-3; // of the limit: what the search leaves between
// Of going through all solutions: a plan that is made and weighed counts as so many tried
// strategies. About half a second.
enum { MOST_STEPS = 3000000, FEW_STEPS = 300000, VISIT_STEPS = 300, WALK_WORK = 60 };

typedef struct rows {
  double at[EG_LAYOUT_MEMORY_ROWS];
} rows;

typedef struct fitter {
  egraph_allocator alloc;
  eg_plan_model *model;
  const eg_layout_options *options;
  bool only_fitting;
  double limit, deadline;
  eg_work work;
  uint64_t first_work; // that the first solution took
  uint32_t rows;       // of the problem as it came, whose limits every plan keeps
  double least_peak;   // of the plans that were made
  double known_peak;   // of the plan that keeps least, once it is made
  double least_cost;   // of those that fit
  peak_row last_peak, best_peak; // of the last plan that was not taken; of the best
  eg_plan_walk walk;
  double walk_share; // of the least cost, that solutions may have
  eg_u32s found;     // strategies of the cheapest solution whose plan fits, or empty
  eg_fitted_plan *out;
} fitter;

/// What came of a solution that keeps at most so much.
typedef struct attempt {
  eg_layout_status status;
  double cost, bound;
  rows price; // seconds of a byte
  rows least; // status NO_MEMORY: what a solution keeps that exceeds by little
  bool is_solved;
  rows kept;         // is_solved
  double peak;       // is_solved
  uint32_t peak_row; // is_solved: the row that the peak is nearest to
} attempt;

static double seconds_left(const fitter *f) {
  return fmax(f->deadline - eg_clock_seconds(), LEAST_SECONDS);
}

/// A share of the work that is left; EG_WORK_UNLIMITED: there is no limit.
static uint64_t work_left(const fitter *f, double share) {
  if (f->work.limit == EG_WORK_UNLIMITED) return EG_WORK_UNLIMITED;
  return (uint64_t)fmax(share * (double)eg_work_left(&f->work), 1);
}

/// Of `times` solutions that each take what the first one took.
static uint64_t work_of(const fitter *f, double times) {
  return (uint64_t)(times * fmax((double)f->first_work, LEAST_WORK));
}

static void limit_rows(fitter *f, const rows *most) {
  memcpy(f->model->problem.memory_limit, most->at, f->rows * sizeof *most->at);
}

static double most_of(const fitter *f, const rows *kept) {
  double most = 0;
  for (uint32_t r = 0; r < f->rows; r++)
    most = fmax(most, kept->at[r]);
  return most;
}

static bool fits(const fitter *f, const attempt *a) {
  return a->is_solved && a->peak <= f->limit;
}

/// The row that must give way to a peak: of the end of the phase that it is in.
static uint32_t row_of_peak(const fitter *f, const eg_plan *plan,
                            const eg_plan_summary *summary, const rows *kept) {
  if (f->rows == 1 || summary->peak_step >= plan->steps.len) return 0;
  switch (plan->steps.data[summary->peak_step].phase) {
  case EG_PHASE_FORWARD: return 0;
  case EG_PHASE_UPDATE: return 1;
  case EG_PHASE_BACKWARD:
  case EG_PHASE_COUNT: break;
  }
  return kept->at[1] > kept->at[0] ? 1 : 0;
}

/// Cheaper than the best, or as cheap, up to rounding, and of a lower peak.
static bool is_better(fitter *f, const eg_layout_solution *solution, const attempt *a) {
  bool is_cheaper = solution->cost < f->least_cost * (1 - PROVEN_GAP);
  bool is_equal = solution->cost <= f->least_cost * (1 + PROVEN_GAP / 2);
  if (f->out->has_plan && !is_cheaper && !(is_equal && a->peak < f->out->memory))
    return false;
  f->least_cost = fmin(f->least_cost, solution->cost);
  return true;
}

/// Takes the solution's plan over if it fits and is the cheapest.
static egraph_status weigh(fitter *f, const eg_layout_solution *solution, attempt *out) {
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  rows kept;
  EG_TRY(eg_plan_emit(f->model, f->alloc, solution, &emitted));
  egraph_status status = eg_plan_summary_make(&emitted.plan, f->alloc, &summary);
  if (status == EGRAPH_OK) status = sum_kept(f->model, f->alloc, solution, kept.at);
  if (status == EGRAPH_OK) {
    memcpy(out->kept.at, solution->memory, sizeof out->kept.at);
    out->peak = summary.peak;
    out->peak_row = row_of_peak(f, &emitted.plan, &summary, &out->kept);
    f->least_peak = fmin(f->least_peak, out->peak);
    status = eg_proof_check_bound("memory that a plan keeps, and its peak",
                                  most_of(f, &kept), out->peak);
  }
  bool is_taken = status == EGRAPH_OK && fits(f, out) && is_better(f, solution, out);
  if (status == EGRAPH_OK && f->walk.visit == NULL)
    status = make_row(is_taken ? &f->best_peak : &f->last_peak, f->model, f->alloc,
                      solution, &emitted, summary.peak_step);
  if (status != EGRAPH_OK || !is_taken) {
    eg_emitted_plan_deinit(&emitted);
    return status;
  }
  eg_fitted_plan_deinit(f->out);
  eg_u32s_deinit(&emitted.place_of); // the problem's: nobody reads them but the row
  eg_u32s_deinit(&emitted.value_at);
  f->out->emitted = emitted;
  f->out->has_plan = true;
  f->out->cost = solution->cost;
  f->out->kept = most_of(f, &kept);
  f->out->memory = out->peak;
  eg_plan_choices_init(&f->out->choices, f->alloc);
  f->found.len = 0;
  EG_TRY(eg_u32s_append(&f->found, solution->strategy.data, solution->strategy.len));
  return eg_plan_choices_note(&f->out->choices, f->model, &solution->strategy);
}

/// Seconds that so many steps may take.
static double clock_of(const fitter *f, uint64_t work) {
  return f->options->by_work ? seconds_left(f) : MOST_CLOCK * (double)work;
}

static egraph_status attempt_within(fitter *f, double share, uint64_t work, double gap,
                                    attempt *out) {
  eg_layout_options options = *f->options;
  eg_layout_result result;
  uint64_t left = work_left(f, share);
  options.time_limit_seconds = fmin(share * seconds_left(f), clock_of(f, work));
  options.work_limit = work < left ? work : left;
  if (options.work_limit == EG_WORK_UNLIMITED) options.work_limit = 0;
  options.relative_gap = fmax(gap, options.relative_gap);
  if (f->found.len != 0) options.incumbent = f->found.data;
  eg_layout_result_init(&result, f->alloc);
  egraph_status status = eg_layout_solve(f->alloc, &f->model->problem, &options, &result);
  eg_work_add(&f->work, result.work);
  *out = (attempt){.status = result.status,
                   .cost = result.cost,
                   .bound = result.bound,
                   .is_solved = result.solutions.len != 0};
  memcpy(out->least.at, result.least_memory, sizeof out->least.at);
  memcpy(out->price.at, result.price, sizeof out->price.at);
  if (status == EGRAPH_OK && out->is_solved)
    status = weigh(f, &result.solutions.data[0], out);
  eg_layout_result_deinit(&result);
  return status;
}

static egraph_status try_to_keep(fitter *f, const rows *most, double share, uint64_t work,
                                 attempt *out) {
  limit_rows(f, most);
  return attempt_within(f, share, work, 0, out);
}

// ---- rows at the peak ---------------------------------------------------------------

static uint32_t spare_rows(const fitter *f) { return EG_LAYOUT_MEMORY_ROWS - f->rows; }

/// Holds less where the peak of the last plan is, and where those before it were, as far
/// as there are rows, until a plan fits; then its cost is made as low as the rows allow.
static egraph_status steer(fitter *f, const attempt *first) {
  eg_layout_problem *problem = &f->model->problem;
  uint32_t spare = spare_rows(f), used = 0;
  double gap = COARSE_GAP;
  uint64_t until = f->work.done + work_of(f, MOST_ROUNDS);
  double deadline = eg_clock_seconds() + clock_of(f, work_of(f, MOST_ROUNDS));
  attempt last = *first;
  for (int round = 0; round < MOST_PEAKS && last.is_solved; round++) {
    if (fits(f, &last)) {
      if (!(gap > f->options->relative_gap)) break;
      gap = 0;
    } else {
      if (!set_row(&f->last_peak, problem, f->rows + used % spare, f->limit)) break;
      used++;
      problem->memory_rows = f->rows + (used < spare ? used : spare);
    }
    if (f->work.done > until || eg_clock_seconds() > deadline) break;
    EG_TRY(attempt_within(f, LATER_SHARE, work_of(f, MOST_SHARE), gap, &last));
  }
  problem->memory_rows = f->rows;
  return EGRAPH_OK;
}

/// Of solutions as cheap as the best one looks for the plan of a lower peak, with a part
/// of the work that the first solution took.
static egraph_status lower_peak(fitter *f) {
  eg_layout_problem *problem = &f->model->problem;
  uint64_t until = f->work.done + work_of(f, TIES_SHARE);
  rows most;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    most.at[r] = f->limit;
  limit_rows(f, &most);
  for (uint32_t used = 0; used < spare_rows(f);) {
    attempt next;
    double peak = f->out->memory;
    const peak_row *row = used == 0 ? &f->best_peak : &f->last_peak;
    if (f->work.done >= until) break;
    if (!set_row(row, problem, f->rows + used, peak * (1 - FINE))) break;
    problem->memory_rows = f->rows + ++used;
    EG_TRY(attempt_within(f, LATER_SHARE, until - f->work.done, 0, &next));
    if (!next.is_solved || next.cost > f->least_cost * (1 + PROVEN_GAP / 2)) break;
    if (f->out->memory < peak) used = 0; // the row of the new best
  }
  problem->memory_rows = f->rows;
  return EGRAPH_OK;
}

// ---- keeping less --------------------------------------------------------------------

/// The plan that keeps least, whatever it costs. Its peak does not depend on the limit,
/// so with this much memory the same plan is found again.
static egraph_status try_least(fitter *f, attempt *inout, rows *out_most) {
  const rows nothing = {{0}};
  EG_TRY(try_to_keep(f, &nothing, LATER_SHARE, EG_WORK_UNLIMITED, inout));
  if (!inout->is_solved && inout->status == EG_LAYOUT_NO_MEMORY) {
    *out_most = inout->least;
    EG_TRY(try_to_keep(f, out_most, LATER_SHARE, EG_WORK_UNLIMITED, inout));
  }
  if (inout->is_solved) f->known_peak = inout->peak;
  return EGRAPH_OK;
}

/// Keeps as much less as the peak is too high, until it is not or nothing is so small;
/// `inout_most` is what the last attempt might keep.
static egraph_status tighten(fitter *f, attempt *inout, rows *inout_most,
                             rows *out_too_much) {
  for (int round = 0; round < MOST_ROUNDS && inout->is_solved && !fits(f, inout);
       round++) {
    uint32_t r = inout->peak_row;
    double excess = fmax(inout->peak - f->limit, FINE * f->limit);
    *out_too_much = *inout_most;
    out_too_much->at[r] = fmin(inout_most->at[r], inout->kept.at[r]);
    inout_most->at[r] = fmax(0, out_too_much->at[r] - excess);
    EG_TRY(try_to_keep(f, inout_most, LATER_SHARE, work_of(f, MOST_SHARE), inout));
  }
  if (fits(f, inout) || f->only_fitting) return EGRAPH_OK;
  return try_least(f, inout, inout_most);
}

/// Between what may be kept and what was too much there may be cheaper plans.
static egraph_status loosen(fitter *f, rows most, rows too_much) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    attempt next;
    rows middle;
    double apart = 0;
    for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++) {
      double step = isfinite(most.at[r]) ? too_much.at[r] - most.at[r] : 0;
      middle.at[r] = most.at[r] + step / 2;
      apart = fmax(apart, step);
    }
    if (!(apart > FINE * f->limit)) break;
    EG_TRY(try_to_keep(f, &middle, LATER_SHARE, work_of(f, MOST_SHARE), &next));
    if (!next.is_solved) break;
    *(fits(f, &next) ? &most : &too_much) = middle;
  }
  return EGRAPH_OK;
}

// ---- solutions one after the other ---------------------------------------------------

static egraph_status weigh_next(void *user, const eg_layout_solution *solution) {
  fitter *f = user;
  attempt ignored = {.is_solved = true};
  EG_TRY(weigh(f, solution, &ignored));
  f->walk.most_cost = f->least_cost * f->walk_share;
  return EGRAPH_OK;
}

/// Of what keeps at most so much, whatever its plan's peak is.
static egraph_status walk(fitter *f, double kept, double share, uint64_t steps) {
  for (uint32_t r = 0; r < f->rows; r++)
    f->model->problem.memory_limit[r] = kept;
  uint64_t left = work_left(f, 1) / WALK_WORK;
  f->walk_share = share;
  f->walk = (eg_plan_walk){.most_cost = f->least_cost * share,
                           .most_steps = steps < left ? steps : left,
                           .deadline = f->deadline,
                           .visit_steps = VISIT_STEPS,
                           .visit = weigh_next,
                           .user = f};
  egraph_status status = eg_plan_walk_run(&f->walk, f->alloc, &f->model->problem);
  eg_work_add(&f->work, f->walk.steps * WALK_WORK);
  if (f->options->done != NULL) *f->options->done += f->walk.steps * WALK_WORK;
  f->walk.visit = NULL;
  return status;
}

/// Whether the cheapest plan is asked for, not just one within the limit.
static bool wants_best(const fitter *f) {
  return !f->only_fitting && f->options->relative_gap < ANY_GAP;
}

/// Whether the solutions of the problem are few enough to be gone through.
static bool is_small(const fitter *f) {
  return eg_layout_strategy_count(&f->model->problem) <= MOST_STRATEGIES;
}

/// Every solution that is cheaper than the cheapest plan that fits, where there are few:
/// of this cost is the cheapest then.
static egraph_status go_through(fitter *f, uint64_t steps, attempt *first) {
  if (!wants_best(f) || !is_small(f)) return EGRAPH_OK;
  EG_TRY(walk(f, f->limit, 1 - PROVEN_GAP, steps));
  if (!f->walk.is_complete) return EGRAPH_OK;
  if (!f->out->has_plan) first->status = EG_LAYOUT_NO_MEMORY;
  if (f->out->has_plan) first->bound = f->out->cost;
  return EGRAPH_OK;
}

/// Where nothing has fitted and there was too much to go through: what keeps less is
/// less, and its plans have room.
static egraph_status go_through_less(fitter *f) {
  uint64_t left = MOST_STEPS;
  if (!wants_best(f) || !is_small(f)) return EGRAPH_OK;
  for (double kept = LEAST_KEPT; kept < 1 && !f->out->has_plan; kept *= MORE) {
    EG_TRY(walk(f, kept * f->limit, 1 - PROVEN_GAP, left));
    if (!f->walk.is_complete || f->walk.steps >= left) break;
    left -= f->walk.steps;
  }
  f->walk.is_complete = false; // of all
  return EGRAPH_OK;
}

// ---- the whole -----------------------------------------------------------------------

static egraph_status conclude(fitter *f, const attempt *first) {
  eg_fitted_plan *out = f->out;
  out->status = first->status;
  out->bound = first->bound;
  memcpy(out->price, first->price.at, sizeof out->price);
  if (!out->has_plan) {
    out->cost = INFINITY;
    out->gap = INFINITY;
    double least = f->walk.is_complete ? f->least_peak : f->known_peak;
    bool is_known = isinf(least) && first->status == EG_LAYOUT_NO_MEMORY;
    out->least_memory = isfinite(least) ? least
                        : is_known      ? most_of(f, &first->least)
                                        : 0;
    if (first->is_solved && first->status != EG_LAYOUT_NO_MEMORY)
      out->status = EG_LAYOUT_UNKNOWN;
    return EGRAPH_OK;
  }
  if (first->status == EG_LAYOUT_NO_MEMORY || first->status == EG_LAYOUT_INFEASIBLE)
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "a plan of %.17g bytes was found within a limit of %.17g, which was "
                   "proven to allow none; please report this with the input",
                   out->memory, f->limit);
  EG_TRY(eg_proof_check_bound("plan", out->bound, out->cost));
  double missing = fmax(out->cost - out->bound, 0);
  out->gap = out->cost > 0 ? missing / out->cost : 0;
  out->status =
      missing <= PROVEN_GAP * out->cost ? EG_LAYOUT_OPTIMAL : EG_LAYOUT_FEASIBLE;
  return EGRAPH_OK;
}

static egraph_status fit(fitter *f) {
  attempt first, last;
  rows most, too_much;
  const eg_plan_space *space = f->model->space;
  double bytes = 0; // of everything twice, whole: moves have two ends
  for (uint32_t v = 0; v < space->values.len; v++) // layout 0: R on every axis
    bytes += 2.0 * space->values.data[v].times * eg_plan_space_bytes(space, v, 0);
  double share = bytes > f->limit ? FIRST_SHARE : 1;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    most.at[r] = r < f->rows ? f->limit : INFINITY;
  too_much = most;
  EG_TRY(try_to_keep(f, &most, share, EG_WORK_UNLIMITED, &first));
  f->first_work = f->work.done;
  last = first;
  if (first.is_solved && !fits(f, &first)) {
    EG_TRY(go_through(f, FEW_STEPS, &first));
    if (!f->walk.is_complete) {
      EG_TRY(steer(f, &first));
      EG_TRY(go_through(f, MOST_STEPS, &first));
    }
    if (!f->out->has_plan && !f->walk.is_complete) {
      EG_TRY(tighten(f, &last, &most, &too_much));
      if (!f->out->has_plan) EG_TRY(go_through_less(f));
      if (f->out->has_plan) EG_TRY(loosen(f, most, too_much));
    }
  }
  if (f->out->has_plan && wants_best(f)) { // one that is as cheap may have a lower peak
    f->walk.is_complete = false;
    if (is_small(f)) EG_TRY(walk(f, f->limit, 1 + PROVEN_GAP / 4, FEW_STEPS));
    if (!f->walk.is_complete) EG_TRY(lower_peak(f));
  }
  bool is_asked =
      !f->only_fitting && first.status == EG_LAYOUT_NO_MEMORY && !f->walk.is_complete;
  if (is_asked && isinf(f->known_peak)) EG_TRY(try_least(f, &last, &most));
  return conclude(f, &first);
}

egraph_status eg_plan_fit(eg_plan_model *model, egraph_allocator alloc,
                          const eg_layout_options *options, bool only_fitting,
                          eg_fitted_plan *out) {
  *out = (eg_fitted_plan){.status = EG_LAYOUT_UNKNOWN,
                          .places = eg_layout_place_count(&model->problem),
                          .arcs = eg_layout_arc_count(&model->problem)};
  fitter f = {.alloc = alloc,
              .model = model,
              .options = options,
              .only_fitting = only_fitting,
              .limit = model->problem.memory_limit[0],
              .deadline = eg_clock_seconds() + options->time_limit_seconds,
              .work.limit =
                  options->work_limit != 0 ? options->work_limit : EG_WORK_UNLIMITED,
              .rows = model->problem.memory_rows,
              .least_peak = INFINITY,
              .known_peak = INFINITY,
              .least_cost = INFINITY,
              .out = out};
  peak_row_init(&f.last_peak, alloc);
  peak_row_init(&f.best_peak, alloc);
  eg_u32s_init(&f.found, alloc);
  egraph_status status = fit(&f);
  peak_row_deinit(&f.last_peak);
  peak_row_deinit(&f.best_peak);
  eg_u32s_deinit(&f.found);
  for (uint32_t r = 0; r < f.rows; r++)
    model->problem.memory_limit[r] = f.limit;
  out->work = f.work.done;
  if (status != EGRAPH_OK) eg_fitted_plan_deinit(out);
  return status;
}

void eg_fitted_plan_deinit(eg_fitted_plan *fitted) {
  if (fitted->has_plan) eg_emitted_plan_deinit(&fitted->emitted);
  fitted->has_plan = false;
  eg_plan_choices_deinit(&fitted->choices);
}
