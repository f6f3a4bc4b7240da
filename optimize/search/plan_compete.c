// Every public function of this file turns the user's constraints into limits, builds a
// model within these limits, and solves it.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_compete.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "base/work.h"
#include "extract/layout/layout_bound.h"
#include "extract/layout/layout_solve.h"
#include "optimize/model/plan_recall.h"
#include "optimize/search/plan_step_row.h"
#include "pcg/plan/plan_cost.h"

// ---- one problem --------------------------------------------------------------------

/// Solves the problem, beginning with the seed plan unless there is an incumbent.
static egraph_status fit(const eg_competition *c, eg_plan_model *model,
                         eg_fitted_plan *out) {
  eg_layout_options layout = c->layout;
  EG_LOCAL(eg_u32s, seed, c->alloc);
  bool is_used =
      layout.incumbent == NULL && c->seed != NULL && c->seed->len == model->values.len;
  EG_TRY(is_used ? eg_plan_choices_find(c->seed, model, &seed) : EGRAPH_OK);
  if (is_used) layout.incumbent = seed.data;
  return eg_plan_fit(model, c->alloc, &layout, c->only_fitting, out);
}

static egraph_status model_within(const eg_competition *c, const eg_plan_limits *limits,
                                  eg_plan_model *out) {
  EG_TRY(eg_plan_model_init_within(out, c->alloc, c->space, limits));
  if (c->algebra == NULL) return EGRAPH_OK;
  EG_RETURN_FILLED(eg_plan_algebra_fix(c->algebra, out), eg_plan_model, out);
}

static egraph_status solve_within(const eg_competition *c, const eg_plan_limits *limits,
                                  eg_fitted_plan *out) {
  EG_OWNED(eg_plan_model, model);
  EG_TRY(model_within(c, limits, &model));
  EG_TRY(fit(c, &model, out));
  bool is_too_large = out->status == EG_LAYOUT_NO_MEMORY || out->least_memory > 0;
  if (!c->beyond_memory || out->has_plan || !is_too_large) return EGRAPH_OK;
  // If no plan fits in memory, finds the cost of a plan without the limit.
  const eg_layout_status why = out->status;
  double least_memory = out->least_memory;
  eg_plan_model_limit_memory(&model, INFINITY);
  EG_TRY(eg_plan_fit(&model, c->alloc, &c->layout, true, out));
  out->status = why;
  out->least_memory = least_memory;
  return EGRAPH_OK;
}

// ---- constraints without a plan -----------------------------------------------------

/// Finds whether some plan obeys the first `count` constraints, with unlimited memory.
static egraph_status try_first(const eg_competition *c, size_t count,
                               bool *out_is_possible) {
  EG_OWNED(eg_plan_limits, limits);
  EG_OWNED(eg_plan_model, model);
  EG_LOCAL(eg_layout_result, result, c->alloc);
  eg_layout_options options = c->layout;
  options.relative_gap = 1; // any plan suffices
  EG_TRY(eg_plan_limits_init(&limits, c->alloc, c->space));
  EG_TRY(eg_plan_limits_add(&limits, c->constraints, count, false));
  EG_TRY(eg_plan_model_init_within(&model, c->alloc, c->space, &limits));
  eg_plan_model_limit_memory(&model, INFINITY);
  EG_TRY(eg_layout_solve(c->alloc, &model.problem, &options, &result));
  *out_is_possible = result.status != EG_LAYOUT_INFEASIBLE;
  return EGRAPH_OK;
}

/// Finds by bisection the first statement that leaves no plan, and fails with its text;
/// OK: no statement is the cause. More statements never allow more plans.
static egraph_status blame(const eg_competition *c) {
  size_t possible = 0, impossible = c->constraints->rows.len;
  bool is_possible;
  EG_TRY(try_first(c, 0, &is_possible));
  if (!is_possible) return EGRAPH_OK;
  while (impossible - possible > 1) {
    size_t middle = possible + (impossible - possible) / 2;
    EG_TRY(try_first(c, middle, &is_possible));
    *(is_possible ? &possible : &impossible) = middle;
  }
  return eg_plan_constraint_fail(
      &c->constraints->rows.data[impossible - 1],
      "with this statement and those above it no operator fits to the next, so there is "
      "no plan; loosen or remove one of them");
}

// ---- entry points -------------------------------------------------------------------

static egraph_status check_axes(const eg_competition *c) {
  const eg_plan_constraint *row = eg_plan_constraints_strange(c->constraints, c->mesh);
  if (row == NULL) return EGRAPH_OK;
  EG_LOCAL(eg_text, mesh, c->alloc);
  EG_TRY(eg_mesh_print(&mesh, c->mesh));
  return eg_plan_constraint_fail(
      row, "there is no axis '%.64s' in the mesh %s; name one of it, or say *", row->axis,
      mesh.chars.len == 0 ? "of one device" : eg_text_of(&mesh));
  return EGRAPH_OK;
}

static bool is_unconstrained(const eg_competition *c) {
  return c->constraints == NULL || c->constraints->rows.len == 0;
}

/// The user's constraints as limits of the layouts and moves of each value.
typedef struct demands {
  eg_plan_limits limits;
  const eg_plan_limits *held; // NULL: there are none
} demands;

static void demands_deinit(demands *d) {
  if (d->held != NULL) eg_plan_limits_deinit(&d->limits);
}

static egraph_status demands_init(demands *d, const eg_competition *c) {
  if (is_unconstrained(c)) return EGRAPH_OK;
  EG_TRY(check_axes(c));
  EG_TRY(eg_plan_limits_init(&d->limits, c->alloc, c->space));
  d->held = &d->limits;
  return eg_plan_limits_add(&d->limits, c->constraints, c->constraints->rows.len, false);
}

egraph_status eg_compete_given(const eg_competition *competition, eg_fitted_plan *out) {
  EG_OWNED(demands, user);
  EG_TRY(demands_init(&user, competition));
  return solve_within(competition, user.held, out);
}

egraph_status eg_compete_search(const eg_competition *competition, eg_fitted_plan *out) {
  EG_TRY(eg_compete_given(competition, out));
  bool is_blamed = out->status == EG_LAYOUT_INFEASIBLE && !is_unconstrained(competition);
  return is_blamed ? blame(competition) : EGRAPH_OK;
}

/// Makes the plan of a searcher's strategies, with the cheapest moves between layouts.
static egraph_status emit_answer(const eg_competition *c, const eg_plan_model *model,
                                 const uint32_t *strategy, eg_fitted_plan *out) {
  EG_OWNED(eg_layout_solution, solution);
  bool is_solution;
  EG_TRY(eg_plan_complete(model, c->alloc, strategy, &solution, &is_solution));
  if (!is_solution)
    return EG_FAIL(EGRAPH_E_INTERNAL, "a search has found strategies that are no plan");
  EG_TRY(eg_plan_emit(model, c->alloc, &solution, &out->emitted));
  out->has_plan = true;
  eg_emitted_plan_leave_problem(&out->emitted);
  out->cost = solution.cost;
  for (uint32_t r = 0; r < model->problem.memory_rows; r++)
    out->kept = fmax(out->kept, solution.memory[r]);
  return EGRAPH_OK;
}

static egraph_status ask(const eg_competition *c, const eg_plan_searcher *searcher,
                         const eg_plan_question *question, eg_plan_model *model,
                         eg_fitted_plan *out, eg_plan_searched *out_searched) {
  eg_plan_question asked = *question;
  EG_LOCAL(eg_plan_answer, answer, c->alloc);
  eg_plan_summary summary;
  double start = eg_clock_seconds();
  asked.model = model;
  EG_TRY(searcher->run(searcher->self, &asked, &answer));
  *out_searched = (eg_plan_searched){.proposals = answer.proposals,
                                     .work = answer.work,
                                     .seconds = eg_clock_seconds() - start,
                                     .stop = answer.stop};
  if (answer.strategy.len == 0) return EGRAPH_OK;
  eg_plan_model_limit_memory(model, INFINITY);
  EG_TRY(emit_answer(c, model, answer.strategy.data, out));
  EG_TRY(eg_plan_summary_make(&out->emitted.plan, c->alloc, &summary));
  out->status = EG_LAYOUT_FEASIBLE;
  out->memory = summary.peak;
  return EGRAPH_OK;
}

egraph_status eg_compete_by(const eg_competition *competition,
                            const eg_plan_searcher *searcher,
                            const eg_plan_question *question, eg_fitted_plan *out,
                            eg_plan_searched *out_searched) {
  assert(searcher->run != NULL && question->mesh != NULL);
  EG_OWNED(demands, user);
  EG_OWNED(eg_plan_model, model);
  out->cost = INFINITY;
  EG_TRY(demands_init(&user, competition));
  EG_TRY(model_within(competition, user.held, &model));
  return ask(competition, searcher, question, &model, out, out_searched);
}

static egraph_status bound_within(const eg_competition *c, const eg_plan_limits *limits,
                                  double *out) {
  const eg_layout_bound_options wanted = {.work_limit = c->layout.work_limit,
                                          .time_limit_seconds =
                                              c->layout.time_limit_seconds,
                                          .done = c->layout.done};
  eg_plan_model model;
  eg_layout_bounded bounded;
  EG_TRY(model_within(c, limits, &model));
  egraph_status status =
      eg_layout_bound(c->alloc, &model.problem, &wanted, &bounded, NULL);
  eg_plan_model_deinit(&model);
  if (status == EGRAPH_OK) *out = bounded.bound;
  return status;
}

// The share of work and time for a first bound, which may show that a search is useless.
static const double PROBE_SHARE = 0.05;

egraph_status eg_compete_probe(const eg_competition *competition, double ceiling,
                               bool is_folded, double *out) {
  eg_competition probe = *competition;
  eg_cut cut;
  probe.layout.work_limit = eg_work_share(probe.layout.work_limit, PROBE_SHARE);
  probe.layout.time_limit_seconds *= PROBE_SHARE;
  if (!is_folded) {
    EG_OWNED(demands, user);
    EG_TRY(demands_init(&user, &probe));
    return bound_within(&probe, user.held, out);
  }
  const eg_cut_input how = {.cost = ceiling};
  EG_TRY(eg_compete_cut(&probe, &how, &cut));
  *out = cut.bound;
  return EGRAPH_OK;
}

egraph_status eg_compete_cut(const eg_competition *competition, const eg_cut_input *how,
                             eg_cut *out) {
  const eg_layout_options *layout = &competition->layout;
  EG_OWNED(demands, user);
  EG_TRY(demands_init(&user, competition));
  eg_cut_input input = *how;
  input.space = competition->space;
  input.limits = user.held;
  input.options = (eg_open_options){.work_limit = layout->work_limit,
                                    .time_limit_seconds = layout->time_limit_seconds,
                                    .progress = layout->progress,
                                    .user = layout->user,
                                    .done = layout->done};
  return eg_plan_cut_bound(competition->alloc, &input, out);
}

egraph_status eg_compete_recall(const eg_competition *competition,
                                const eg_memory_hint *hint, eg_memory_prices *out) {
  EG_OWNED(demands, user);
  EG_OWNED(eg_plan_model, model);
  EG_TRY(demands_init(&user, competition));
  EG_TRY(eg_plan_model_init_within(&model, competition->alloc, competition->space,
                                   user.held));
  out->at[model.problem.memory_rows] = hint->price;
  bool is_same = hint->values == model.values.len &&
                 model.values.data[hint->made].role == EG_MODEL_COPY;
  if (!is_same) return EGRAPH_OK;
  return eg_step_row_note(&out->step, &model, competition->alloc, hint->made,
                          hint->is_moved ? EG_STEP_EACH_MOVE : EG_SPACE_NONE, NULL);
}

/// Notes the memory row of a plan's peak step.
static egraph_status note_peak(const eg_competition *c, const eg_plan_model *model,
                               const eg_layout_solution *solution,
                               const eg_emitted_plan *emitted,
                               const eg_plan_summary *summary, eg_peak_row *out) {
  EG_LOCAL(eg_peak_row, peak, c->alloc);
  EG_TRY(eg_peak_row_make(&peak, model, c->alloc, solution, emitted, summary->peak_step));
  if (peak.made == EG_SPACE_NONE) return EGRAPH_OK;
  return eg_step_row_note(out, model, c->alloc, peak.made, peak.into,
                          solution->strategy.data);
}

// The first price is slightly above the best bound's price. Each price is at least
// TIE_PRICE of the highest: then plans of equal cost store less in memory rows that do
// not bind.
static const double FIRST_FACTOR = 1.03, TIE_PRICE = 1e-3;
static const double FARTHER = 1.25; // to the next price; squared for each price after it
static const double SAME = 1e-6;    // relative: plans of as many seconds are the same
// Of all mates, for each of MOST_MATES solutions: share of the work and of the time.
static const double MATE_SHARE = 0.3;
enum { MOST_MATES = 6 };

typedef struct mate_search {
  const eg_competition *c;
  const double *best; // prices
  double deadline;
  eg_work work; // of all solutions
  eg_plan_model model;
  eg_u32s incumbent; // the last solution, or empty
  eg_mates *mates;
  eg_peak_row *large;
  bool is_over; // the last solution is a mate that was known
} mate_search;

static void mate_search_deinit(mate_search *m) {
  eg_plan_model_deinit(&m->model);
  eg_u32s_deinit(&m->incumbent);
}

/// Keeps the plan of a solution as one of the mates, by its peak.
static egraph_status keep_mate(mate_search *m, double factor,
                               const eg_layout_solution *solution) {
  EG_OWNED(eg_emitted_plan, emitted);
  eg_plan_summary summary;
  EG_TRY(eg_plan_emit(&m->model, m->c->alloc, solution, &emitted));
  EG_TRY(eg_plan_summary_make(&emitted.plan, m->c->alloc, &summary));
  int mate =
      summary.peak > m->c->space->info->memory_limit ? EG_MATE_CHEAP : EG_MATE_SMALL;
  if (mate == EG_MATE_CHEAP && m->large->strategy.len == 0)
    EG_TRY(note_peak(m->c, &m->model, solution, &emitted, &summary, m->large));
  eg_emitted_plan_leave_problem(&emitted);
  eg_mates *mates = m->mates;
  bool is_same = mates->has[mate] &&
                 fabs(summary.seconds - mates->seconds[mate]) <= SAME * summary.seconds;
  m->is_over = is_same && mates->has[EG_MATE_SMALL] && mates->has[EG_MATE_CHEAP];
  if (mates->has[mate]) eg_emitted_plan_deinit(&mates->plan[mate]);
  mates->plan[mate] = emitted;
  mates->has[mate] = true;
  mates->factor[mate] = factor;
  mates->seconds[mate] = summary.seconds;
  mates->peak[mate] = summary.peak;
  emitted = (eg_emitted_plan){.graph = NULL}; // moved
  return EGRAPH_OK;
}

/// Finds the cheapest plan at the best prices times a factor; *out_has: there is one, and
/// was time and work for it.
static egraph_status try_factor(mate_search *m, double factor, bool *out_has) {
  double price[EG_LAYOUT_MEMORY_ROWS], highest = 0;
  EG_LOCAL(eg_layout_result, result, m->c->alloc);
  eg_layout_options options = m->c->layout;
  options.time_limit_seconds =
      fmin(MATE_SHARE * options.time_limit_seconds, m->deadline - eg_clock_seconds());
  options.work_limit = eg_work_share(options.work_limit, MATE_SHARE);
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    highest = fmax(highest, m->best[r]);
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    price[r] = factor * fmax(m->best[r], TIE_PRICE * highest);
  *out_has = false;
  if (!(highest > 0 && options.time_limit_seconds > 0) || eg_work_is_spent(&m->work))
    return EGRAPH_OK;
  if (m->incumbent.len != 0) options.incumbent = m->incumbent.data;
  EG_TRY(eg_plan_model_price_memory(&m->model, price));
  EG_TRY(eg_layout_solve(m->c->alloc, &m->model.problem, &options, &result));
  eg_work_add(&m->work, result.work);
  *out_has = result.solutions.len != 0;
  if (!*out_has) return EGRAPH_OK;
  const eg_layout_solution *solution = &result.solutions.data[0];
  m->incumbent.len = 0;
  EG_TRY(eg_u32s_append(&m->incumbent, solution->strategy.data, solution->strategy.len));
  return keep_mate(m, factor, solution);
}

/// Returns the factor at which both mates cost the same (Held and Karp 1971); 0: there is
/// none.
static double meeting_factor(const mate_search *m) {
  const eg_mates *mates = m->mates;
  double price = 0;
  if (!mates->has[EG_MATE_SMALL] || !mates->has[EG_MATE_CHEAP]) return 0;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    price += m->best[r];
  double factor = (mates->seconds[EG_MATE_SMALL] - mates->seconds[EG_MATE_CHEAP]) /
                  (mates->peak[EG_MATE_CHEAP] - mates->peak[EG_MATE_SMALL]) / price;
  return fmax(factor, 0);
}

/// Returns the next factor to try: a higher or lower one as long as one of the mates is
/// not known, then that at which both cost the same; the middle if that is not between
/// theirs, because some solution was not the cheapest. 0: no plan is between them.
static double next_factor(const mate_search *m, double *inout_step) {
  const eg_mates *mates = m->mates;
  bool has_small = mates->has[EG_MATE_SMALL], has_cheap = mates->has[EG_MATE_CHEAP];
  double high = mates->factor[EG_MATE_SMALL], low = mates->factor[EG_MATE_CHEAP];
  double step = *inout_step;
  if (has_small && has_cheap) {
    bool is_between = mates->meeting > low && mates->meeting < high;
    return m->is_over ? 0 : is_between ? mates->meeting : sqrt(low * high);
  }
  if (!has_small && !has_cheap) return FIRST_FACTOR;
  *inout_step *= step;
  return has_small ? high / step : low * step;
}

static egraph_status search_mates(mate_search *m) {
  double step = FARTHER, factor;
  bool has = true;
  for (int tries = 0; has && tries < MOST_MATES; tries++) {
    if ((factor = next_factor(m, &step)) == 0) break;
    EG_TRY(try_factor(m, factor, &has));
    m->mates->meeting = meeting_factor(m);
  }
  return EGRAPH_OK;
}

egraph_status eg_compete_mates(const eg_competition *competition, const double *best,
                               const eg_peak_row *step, eg_peak_row *large,
                               eg_mates *mates) {
  EG_OWNED(demands, user);
  EG_TRY(demands_init(&user, competition));
  EG_OWNED(mate_search, m);
  const eg_layout_options *layout = &competition->layout;
  m = (mate_search){.c = competition,
                    .best = best,
                    .deadline = eg_clock_seconds() + layout->time_limit_seconds,
                    .work.limit =
                        layout->work_limit != 0 ? layout->work_limit : EG_WORK_UNLIMITED,
                    .mates = mates,
                    .large = large};
  eg_u32s_init(&m.incumbent, competition->alloc);
  EG_TRY(eg_plan_model_init_within(&m.model, competition->alloc, competition->space,
                                   user.held));
  eg_layout_problem *problem = &m.model.problem;
  if (step->strategy.len != 0 &&
      eg_peak_row_set(step, problem, problem->memory_rows, INFINITY))
    problem->memory_rows++;
  return search_mates(&m);
}

void eg_mates_deinit(eg_mates *mates) {
  for (int m = 0; m < EG_MATES; m++)
    if (mates->has[m]) eg_emitted_plan_deinit(&mates->plan[m]);
  *mates = (eg_mates){.has = {false}};
}

// ---- baselines ----------------------------------------------------------------------

/// Adds the user's constraints, then the roles of the axes as far as these allow them.
static egraph_status add_baseline(const eg_competition *c, const eg_axis_roles *roles,
                                  eg_plan_limits *limits) {
  EG_LOCAL(eg_plan_constraints, mine, c->alloc);
  if (c->constraints != NULL)
    EG_TRY(eg_plan_limits_add(limits, c->constraints, c->constraints->rows.len, true));
  EG_TRY(eg_baseline_constraints(&mine, roles, &c->space->mesh));
  return eg_plan_limits_add(limits, &mine, mine.rows.len, true);
}

static const eg_type *space_value_type(const eg_competition *c, uint32_t v) {
  return &eg_plan_space_layouts(c->space, v)->type;
}

/// Reports a batch size that the axes which split batches do not divide together.
static void check_batches(const eg_competition *c, const eg_plan_limits *limits,
                          const eg_axis_roles *roles, eg_baseline_obstacle *out) {
  uint32_t parts = 1;
  for (uint32_t a = 0; a < roles->axis_count; a++)
    if (roles->role[a] >= EG_AXIS_DATA && roles->role[a] <= EG_AXIS_ZERO_3)
      parts *= c->space->mesh.axes[a].size;
  for (uint32_t v = 0; v < c->space->values.len; v++)
    if ((limits->values[v].kinds >> EG_KIND_BATCHES & 1) != 0 &&
        space_value_type(c, v)->dims[0] % parts != 0) {
      *out = (eg_baseline_obstacle){parts, space_value_type(c, v)->dims[0]};
      return;
    }
}

/// True when some value of a kind can be cut into `parts`, or no value is of the kind.
static bool some_divides(const eg_competition *c, const eg_plan_limits *limits,
                         eg_plan_kind kind, uint32_t parts) {
  bool is_there = false;
  for (uint32_t v = 0; v < c->space->values.len; v++) {
    if ((limits->values[v].kinds >> kind & 1) == 0) continue;
    const eg_type *type = space_value_type(c, v);
    is_there = true;
    for (uint32_t d = 0; d < type->rank; d++)
      if (type->dims[d] % parts == 0) return true;
  }
  return !is_there;
}

/// Reports an axis whose role splits weights, states or gradients, if it divides none.
static void check_weights(const eg_competition *c, const eg_plan_limits *limits,
                          const eg_axis_roles *roles, eg_baseline_obstacle *out) {
  for (uint32_t a = 0; a < roles->axis_count; a++) {
    uint32_t parts = c->space->mesh.axes[a].size;
    if (roles->role[a] < EG_AXIS_ZERO_1 || roles->role[a] == EG_AXIS_ANY) continue;
    if (!some_divides(c, limits, EG_KIND_WEIGHTS, parts))
      *out = (eg_baseline_obstacle){.parts = parts};
  }
}

static egraph_status baseline_init(demands *d, const eg_competition *c,
                                   const eg_axis_roles *roles) {
  EG_TRY(eg_plan_limits_init(&d->limits, c->alloc, c->space));
  d->held = &d->limits;
  return add_baseline(c, roles, &d->limits);
}

egraph_status eg_compete_baseline(const eg_competition *competition,
                                  const eg_axis_roles *roles,
                                  eg_baseline_obstacle *obstacle, eg_fitted_plan *out) {
  assert(roles->axis_count == competition->space->mesh.axis_count);
  EG_OWNED(eg_plan_limits, limits);
  out->status = EG_LAYOUT_INFEASIBLE;
  out->cost = INFINITY;
  *obstacle = (eg_baseline_obstacle){.parts = 0};
  EG_TRY(eg_plan_limits_init(&limits, competition->alloc, competition->space));
  check_batches(competition, &limits, roles, obstacle);
  if (obstacle->parts == 0) check_weights(competition, &limits, roles, obstacle);
  if (obstacle->parts != 0) return EGRAPH_OK;
  EG_TRY(add_baseline(competition, roles, &limits));
  return solve_within(competition, &limits, out);
}

egraph_status eg_compete_named(const eg_competition *competition, const char *name,
                               eg_fitted_plan *out) {
  eg_axis_roles roles;
  eg_baseline_obstacle obstacle;
  EG_TRY(eg_axis_roles_parse(name, competition->mesh, &roles));
  {
    EG_OWNED(demands, user); // only to check the constraints
    EG_TRY(demands_init(&user, competition));
  }
  EG_TRY(eg_compete_baseline(competition, &roles, &obstacle, out));
  if (obstacle.parts == 0) return EGRAPH_OK;
  if (obstacle.batch != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no plan of baseline %.128s: the batch of %" PRId64
                   " does not divide by %" PRIu32 "; take another batch, or other axes",
                   name, obstacle.batch, obstacle.parts);
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no plan of baseline %.128s: no weight divides by %" PRIu32
                 "; take other axes",
                 name, obstacle.parts);
}

// ---- certificates -------------------------------------------------------------------

void eg_plan_certificate_init(eg_plan_certificate *certificate, egraph_allocator alloc) {
  *certificate = (eg_plan_certificate){.outcome = EG_PLAN_LOST, .checked = -INFINITY};
  eg_text_init(&certificate->text, alloc);
}

void eg_plan_certificate_deinit(eg_plan_certificate *certificate) {
  eg_text_deinit(&certificate->text);
}

/// Finds prices that prove a bound for a solution, and writes both as text.
static egraph_status prove_claim(const eg_competition *c,
                                 const eg_layout_problem *problem,
                                 const eg_layout_solution *solution, double claimed,
                                 eg_plan_certificate *out) {
  const eg_layout_bound_options wanted = {.work_limit = c->layout.work_limit,
                                          .time_limit_seconds =
                                              c->layout.time_limit_seconds,
                                          .target = solution->strategy.data,
                                          .done = c->layout.done};
  eg_layout_bounded bounded;
  EG_LOCAL(eg_layout_dual, dual, c->alloc);
  EG_TRY(eg_layout_bound(c->alloc, problem, &wanted, &bounded, &dual));
  EG_TRY(eg_proof_check_bound("certificate of a plan", bounded.bound, solution->cost));
  EG_TRY(eg_layout_certificate_write(problem, solution, &dual, claimed, &out->text));
  out->checked = dual.bound;
  return EGRAPH_OK;
}

/// Completes the plan's strategies to a solution, which must have the plan's cost.
static egraph_status certify_strategies(const eg_competition *c,
                                        const eg_plan_model *model,
                                        const eg_plan_claim *claim,
                                        const uint32_t *strategy,
                                        eg_plan_certificate *out) {
  EG_OWNED(eg_layout_solution, solution);
  bool is_solution;
  EG_TRY(eg_plan_complete(model, c->alloc, strategy, &solution, &is_solution));
  double larger = fmax(fabs(solution.cost), fabs(claim->cost));
  bool is_same =
      is_solution && fabs(solution.cost - claim->cost) <= EG_PROOF_ROUNDING * larger;
  out->outcome = is_same ? EG_PLAN_CERTIFIED : EG_PLAN_DIFFERENT;
  return is_same ? prove_claim(c, &model->problem, &solution, claim->bound, out)
                 : EGRAPH_OK;
}

static egraph_status certify_within(const eg_competition *c, const eg_plan_limits *limits,
                                    const eg_plan_claim *claim,
                                    eg_plan_certificate *out) {
  EG_OWNED(eg_plan_model, model);
  EG_TRY(model_within(c, limits, &model));
  EG_LOCAL(eg_u32s, strategy, c->alloc);
  EG_TRY(eg_plan_recall(&model, claim->plan, &strategy));
  if (strategy.len != 0) EG_TRY(certify_strategies(c, &model, claim, strategy.data, out));
  return EGRAPH_OK;
}

egraph_status eg_compete_certify(const eg_competition *competition,
                                 const eg_axis_roles *roles, const eg_plan_claim *claim,
                                 eg_plan_certificate *out) {
  EG_OWNED(demands, held);
  EG_TRY(roles != NULL ? baseline_init(&held, competition, roles)
                       : demands_init(&held, competition));
  return certify_within(competition, held.held, claim, out);
}
