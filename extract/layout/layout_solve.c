// Every pass minimizes one measure under limits on others; the first pass minimizes the
// cost under the memory limits. The pass for the k-th best solution excludes the k - 1
// solutions before. If no solution keeps the limits, memory rows are minimized.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_solve.h"

#include "base/clock.h"
#include "base/proof.h"
#include "extract/layout/layout_search.h"

void eg_layout_result_init(eg_layout_result *result, egraph_allocator alloc) {
  *result = (eg_layout_result){.status = EG_LAYOUT_UNKNOWN, .cost = INFINITY};
  eg_layout_solutions_init(&result->solutions, alloc);
  eg_u32s_init(&result->least, alloc);
}

void eg_layout_result_deinit(eg_layout_result *result) {
  for (size_t i = 0; i < result->solutions.len; i++)
    eg_layout_solution_deinit(&result->solutions.data[i]);
  eg_layout_solutions_deinit(&result->solutions);
  eg_u32s_deinit(&result->least);
}

/// Copies a choice whose cost and memory the certificate confirms.
static egraph_status copy_certified(egraph_allocator alloc,
                                    const eg_layout_problem *problem,
                                    const eg_layout_choice *choice,
                                    eg_layout_solution *out) {
  EG_TRY(eg_u32s_append(&out->strategy, choice->strategy.data, choice->strategy.len));
  EG_TRY(eg_bytes_append(&out->arc_used, choice->arc_used.data, choice->arc_used.len));
  EG_TRY(eg_layout_certify(alloc, problem, out->strategy.data, out->arc_used.data,
                           &out->cost, out->memory));
  EG_TRY(eg_proof_check_equal("cost of a layout problem's solution",
                              choice->sum[EG_LAYOUT_COST], out->cost));
  for (uint32_t r = 0; r < problem->memory_rows; r++)
    EG_TRY(eg_proof_check_equal("memory of a layout problem's solution",
                                choice->sum[EG_LAYOUT_ROW + r], out->memory[r]));
  return EGRAPH_OK;
}

static egraph_status fill_solution(egraph_allocator alloc,
                                   const eg_layout_problem *problem,
                                   const eg_layout_choice *choice,
                                   eg_layout_solution *out) {
  eg_layout_solution_init_members(out, alloc);
  EG_RETURN_FILLED(copy_certified(alloc, problem, choice, out), eg_layout_solution, out);
}

typedef struct solver {
  egraph_allocator alloc;
  const eg_layout_problem *problem;
  const eg_layout_options *options;
  eg_layout_result *result;
  eg_layout_view view;
  eg_layout_clock clock;
  eg_layout_choice best; // solution of the last pass
  bool has_best, closed; // of the last pass
  double bound;
} solver;

static void solver_deinit(solver *s) {
  eg_layout_view_deinit(&s->view);
  eg_layout_choice_deinit(&s->best);
}

/// Runs one minimization; its solution, if any, becomes s->best.
static egraph_status run_layout_pass(solver *s, const eg_layout_task *task) {
  bool is_cost = task->objective == EG_LAYOUT_COST;
  EG_OWNED(eg_layout_search, search);
  EG_TRY(eg_layout_search_init(&search, s->alloc, &s->view, task, &s->clock));
  if (is_cost) search.gaps = s->options;
  search.ceiling = s->options->ceiling;
  if (s->has_best && !is_cost) EG_TRY(eg_layout_search_adopt(&search, &s->best));
  if (s->options->incumbent != NULL) {
    bool ignored;
    eg_layout_search_take(&search, s->options->incumbent);
    EG_TRY(eg_layout_search_offer(&search, &ignored));
  }
  EG_TRY(eg_layout_search_run(&search, &s->closed));
  if (is_cost && s->result->solutions.len == 0)
    memcpy(s->result->price, search.price, sizeof search.price);
  s->bound = search.bound;
  s->has_best = search.has_best;
  return s->has_best ? eg_layout_choice_copy(&s->best, &search.best) : EGRAPH_OK;
}

static egraph_status report_solution(solver *s) {
  assert(s->has_best);
  eg_layout_solution solution = {.bound = s->bound, .is_proven = s->closed};
  EG_TRY(fill_solution(s->alloc, s->problem, &s->best, &solution));
  // The proof and the choice among solutions of equal cost each have a tolerance.
  double slack = EG_LAYOUT_TOLERANCE * fabs(solution.bound);
  egraph_status status =
      eg_proof_check_bound("layout problem", solution.bound - slack, solution.cost);
  if (solution.bound > solution.cost) solution.bound = solution.cost; // by rounding
  if (status == EGRAPH_OK)
    status = eg_layout_solutions_push(&s->result->solutions, solution);
  EG_RETURN_FILLED(status, eg_layout_solution, &solution);
}

static egraph_status find_solutions(solver *s) {
  eg_layout_task task = eg_layout_task_of(EG_LAYOUT_COST);
  task.excluded = &s->result->solutions;
  for (uint32_t r = 0; r < s->problem->memory_rows; r++)
    task.limit[EG_LAYOUT_ROW + r] = s->problem->memory_limit[r];
  for (uint32_t i = 0; i < s->options->solutions; i++) {
    s->has_best = false;
    EG_TRY(run_layout_pass(s, &task));
    if (i == 0) s->result->bound = s->bound;
    s->result->is_complete = s->closed && !s->has_best && isinf(s->bound);
    if (!s->has_best) break;
    EG_TRY(report_solution(s));
    if (s->clock.stopped) break;
  }
  return EGRAPH_OK;
}

// ---- least memory -------------------------------------------------------------------
//
// If no solution keeps the limits, finds the least rise of all limits, the same for each,
// with which a solution exists. The least rise of one row alone is a lower bound.
// Bisection asks: can one row keep a rise that all other rows must keep?

enum { MOST_RISES = 24 };

typedef struct least_rise {
  double known, proven; // largest rise of a row of some solution; lower bound
  uint32_t row;         // row of the known rise
} least_rise;

static bool is_limited(const solver *s, uint32_t row) {
  return isfinite(s->problem->memory_limit[row]);
}

/// Keeps the memory of the last pass's solution if it exceeds the limits by less than the
/// known solution does.
static egraph_status keep_least(solver *s, least_rise *least) {
  assert(s->has_best);
  uint32_t row = 0;
  double rise = -INFINITY;
  for (uint32_t r = 0; r < s->problem->memory_rows; r++) {
    double own = s->best.sum[EG_LAYOUT_ROW + r] - s->problem->memory_limit[r];
    if (!is_limited(s, r) || own <= rise) continue;
    rise = own;
    row = r;
  }
  if (!(rise < least->known)) return EGRAPH_OK;
  least->known = rise;
  least->row = row;
  memcpy(s->result->least_memory, s->best.sum + EG_LAYOUT_ROW,
         sizeof s->result->least_memory);
  s->result->least.len = 0;
  return eg_u32s_append(&s->result->least, s->best.strategy.data, s->best.strategy.len);
}

/// Minimizes the memory of each limited row alone. *out_any: there is a solution.
static egraph_status minimize_rows(solver *s, least_rise *least, bool *out_any) {
  *out_any = true;
  for (uint32_t r = 0; r < s->problem->memory_rows && *out_any; r++) {
    if (!is_limited(s, r)) continue;
    eg_layout_task task = eg_layout_task_of((eg_layout_measure)(EG_LAYOUT_ROW + r));
    EG_TRY(run_layout_pass(s, &task));
    *out_any = s->has_best;
    if (!s->has_best) break;
    EG_TRY(keep_least(s, least));
    least->proven = fmax(least->proven, s->bound - s->problem->memory_limit[r]);
  }
  return EGRAPH_OK;
}

/// Decides if one memory row can keep its limit plus `rise` while the others keep theirs
/// plus `rise`. *out_known: false when the pass could not decide.
static egraph_status try_rise(solver *s, double rise, least_rise *least,
                              bool *out_known) {
  assert(least->row < s->problem->memory_rows);
  uint32_t row = least->row;
  eg_layout_task task = eg_layout_task_of((eg_layout_measure)(EG_LAYOUT_ROW + row));
  for (uint32_t r = 0; r < s->problem->memory_rows; r++)
    if (r != row && is_limited(s, r))
      task.limit[EG_LAYOUT_ROW + r] = s->problem->memory_limit[r] + rise;
  EG_TRY(run_layout_pass(s, &task));
  bool none = s->has_best ? s->bound - s->problem->memory_limit[row] > rise : s->closed;
  double before = least->known;
  if (s->has_best) EG_TRY(keep_least(s, least));
  if (none) least->proven = fmax(least->proven, rise);
  *out_known = none || least->known < before;
  return EGRAPH_OK;
}

static egraph_status find_least_memory(solver *s) {
  eg_layout_result *result = s->result;
  least_rise least = {.known = INFINITY, .proven = -INFINITY};
  double rounding = 0;
  bool any;
  EG_TRY(minimize_rows(s, &least, &any));
  result->status = any         ? EG_LAYOUT_NO_MEMORY
                   : s->closed ? EG_LAYOUT_INFEASIBLE
                               : EG_LAYOUT_UNKNOWN;
  if (!any) return EGRAPH_OK;
  for (uint32_t r = 0; r < s->problem->memory_rows; r++)
    rounding = fmax(rounding, EG_LAYOUT_TOLERANCE * result->least_memory[r]);
  for (int i = 0; i < MOST_RISES && least.known - least.proven > 2 * rounding; i++) {
    bool is_known;
    double rise = i % 2 == 0 ? least.known - rounding
                             : least.proven + (least.known - least.proven) / 2;
    EG_TRY(try_rise(s, rise, &least, &is_known));
    if (!is_known || s->clock.stopped) break;
  }
  result->is_least_memory_proven = least.known - least.proven <= 2 * rounding;
  return EGRAPH_OK;
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status conclude_result(solver *s) {
  eg_layout_result *result = s->result;
  if (result->solutions.len == 0) {
    if (!result->is_complete) return EGRAPH_OK;
    result->status = EG_LAYOUT_INFEASIBLE;
    result->bound = INFINITY;
    for (uint32_t r = 0; r < s->problem->memory_rows; r++)
      if (is_limited(s, r)) return find_least_memory(s);
    return EGRAPH_OK;
  }
  const eg_layout_solution *first = &result->solutions.data[0];
  result->cost = first->cost;
  result->bound = first->bound;
  double missing = first->cost - first->bound;
  result->gap = missing > 0 ? missing / first->cost : 0;
  result->status = missing <= EG_LAYOUT_TOLERANCE * first->cost ? EG_LAYOUT_OPTIMAL
                                                                : EG_LAYOUT_FEASIBLE;
  return EGRAPH_OK;
}

static egraph_status check_input(const eg_layout_problem *problem,
                                 const eg_layout_options *options) {
  if (!(options->time_limit_seconds > 0 && options->solutions >= 1 &&
        options->relative_gap >= 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "layout solver: the time limit must be > 0, the gap >= 0 and the "
                   "number of solutions >= 1");
  if (problem->memory_rows < 1 || problem->memory_rows > EG_LAYOUT_MEMORY_ROWS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "layout solver: %u memory rows, but 1 to %d can be",
                   problem->memory_rows, EG_LAYOUT_MEMORY_ROWS);
  for (uint32_t r = 0; r < problem->memory_rows; r++)
    if (!(problem->memory_limit[r] >= 0))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "layout solver: memory limit %u must be >= 0", r);
  return EGRAPH_OK;
}

egraph_status eg_layout_solve(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_options *options,
                              eg_layout_result *result) {
  assert(result->solutions.len == 0);
  EG_TRY(check_input(problem, options));
  double now = eg_clock_seconds();
  EG_OWNED(solver, s);
  s = (solver){.alloc = alloc,
               .problem = problem,
               .options = options,
               .result = result,
               .clock = {.start_seconds = now,
                         .deadline = now + options->time_limit_seconds,
                         .asked_seconds = now,
                         .by_work = options->by_work,
                         .work.limit = options->work_limit,
                         .progress = options->progress,
                         .user = options->user}};
  eg_layout_choice_init(&s.best, alloc);
  EG_TRY(eg_layout_view_init(&s.view, alloc, problem));
  egraph_status status = find_solutions(&s);
  if (status == EGRAPH_OK) status = conclude_result(&s);
  result->work = s.clock.work.done;
  if (options->done != NULL) *options->done += result->work;
  return status;
}

// ---- completion ---------------------------------------------------------------------

struct eg_layout_completer {
  egraph_allocator alloc;
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_clock clock;
  eg_layout_search search; // gives legal strategies and the evaluator
};

egraph_status eg_layout_completer_create(egraph_allocator alloc,
                                         const eg_layout_problem *problem,
                                         eg_layout_completer **out) {
  EG_HELD(eg_layout_completer, c);
  EG_TRY(eg_alloc(alloc, 1, sizeof *c, &c));
  *c = (eg_layout_completer){.alloc = alloc, .task = eg_layout_task_of(EG_LAYOUT_COST)};
  EG_TRY(eg_layout_view_init(&c->view, alloc, problem));
  EG_HAND_OVER(eg_layout_search_init(&c->search, alloc, &c->view, &c->task, &c->clock), c,
               out);
}

void eg_layout_completer_destroy(eg_layout_completer *c) {
  if (c == NULL) return;
  eg_layout_search_deinit(&c->search);
  eg_layout_view_deinit(&c->view);
  eg_free(c->alloc, c, 1, sizeof *c);
}

static bool is_within_limits(const eg_layout_completer *c) {
  const eg_layout_problem *p = c->view.problem;
  for (uint32_t r = 0; r < p->memory_rows; r++)
    if (c->search.trial.sum[EG_LAYOUT_ROW + r] > p->memory_limit[r]) return false;
  return true;
}

egraph_status eg_layout_complete(eg_layout_completer *c, const uint32_t *strategy,
                                 eg_layout_solution *out, bool *out_is_solution) {
  eg_layout_choice *trial = &c->search.trial;
  eg_layout_search_take(&c->search, strategy);
  EG_TRY(eg_layout_evaluate(&c->search.evaluator, c->search.arc_weight.data, trial,
                            out_is_solution));
  *out_is_solution = *out_is_solution && is_within_limits(c);
  if (!*out_is_solution) return EGRAPH_OK;
  *out = (eg_layout_solution){.bound = 0};
  return fill_solution(c->alloc, c->view.problem, trial, out);
}
