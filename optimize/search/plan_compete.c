// Every entry point makes limits of what is demanded, a model within them, and solves it.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_compete.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "base/work.h"
#include "extract/layout/layout_bound.h"
#include "extract/layout/layout_solve.h"
#include "optimize/model/plan_recall.h"
#include "pcg/plan/plan_summary.h"

// ---- one problem --------------------------------------------------------------------

/// Solves from the seed on, unless there is something better to begin with.
static egraph_status fit(const eg_competition *c, eg_plan_model *model,
                         eg_fitted_plan *out) {
  eg_layout_options layout = c->layout;
  eg_u32s seed;
  eg_u32s_init(&seed, c->alloc);
  bool is_used =
      layout.incumbent == NULL && c->seed != NULL && c->seed->len == model->values.len;
  egraph_status status =
      is_used ? eg_plan_choices_find(c->seed, model, &seed) : EGRAPH_OK;
  if (is_used) layout.incumbent = seed.data;
  if (status == EGRAPH_OK)
    status = eg_plan_fit(model, c->alloc, &layout, c->only_fitting, out);
  eg_u32s_deinit(&seed);
  return status;
}

static egraph_status model_within(const eg_competition *c, const eg_plan_limits *limits,
                                  eg_plan_model *out) {
  EG_TRY(eg_plan_model_init_within(out, c->alloc, c->space, limits));
  if (c->algebra == NULL) return EGRAPH_OK;
  egraph_status status = eg_plan_algebra_fix(c->algebra, out);
  if (status != EGRAPH_OK) eg_plan_model_deinit(out);
  return status;
}

static egraph_status solve_within(const eg_competition *c, const eg_plan_limits *limits,
                                  eg_fitted_plan *out) {
  eg_plan_model model;
  *out = (eg_fitted_plan){.status = EG_LAYOUT_UNKNOWN};
  EG_TRY(model_within(c, limits, &model));
  egraph_status status = fit(c, &model, out);
  bool is_too_large = !out->has_plan && out->least_memory > 0;
  if (status == EGRAPH_OK && c->beyond_memory && is_too_large) {
    // What a plan would cost that does not fit.
    const eg_layout_status why = out->status;
    double least_memory = out->least_memory;
    eg_plan_model_limit_memory(&model, INFINITY);
    status = eg_plan_fit(&model, c->alloc, &c->layout, true, out);
    out->status = why;
    out->least_memory = least_memory;
  }
  eg_plan_model_deinit(&model);
  return status;
}

// ---- constraints without a plan -----------------------------------------------------

/// Whether some plan keeps the first `count` constraints, however much memory it takes.
static egraph_status try_first(const eg_competition *c, size_t count,
                               bool *out_is_possible) {
  eg_plan_limits limits;
  eg_plan_model model;
  eg_layout_result result;
  eg_layout_options options = c->layout;
  options.relative_gap = 1; // any plan will do
  EG_TRY(eg_plan_limits_init(&limits, c->alloc, c->space));
  egraph_status status = eg_plan_limits_add(&limits, c->constraints, count, false);
  if (status == EGRAPH_OK)
    status = eg_plan_model_init_within(&model, c->alloc, c->space, &limits);
  eg_plan_limits_deinit(&limits);
  EG_TRY(status);
  eg_plan_model_limit_memory(&model, INFINITY);
  eg_layout_result_init(&result, c->alloc);
  status = eg_layout_solve(c->alloc, &model.problem, &options, &result);
  *out_is_possible = result.status != EG_LAYOUT_INFEASIBLE;
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  return status;
}

/// Names the statement with which possible becomes impossible; OK: none of them is to
/// blame. By bisection: more statements never allow more.
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
  eg_text mesh;
  eg_text_init(&mesh, c->alloc);
  egraph_status status = eg_mesh_print(&mesh, c->mesh);
  if (status == EGRAPH_OK)
    status = eg_plan_constraint_fail(
        row, "there is no axis '%.64s' in the mesh %s; name one of it, or say *",
        row->axis, mesh.chars.len == 0 ? "of one device" : eg_text_of(&mesh));
  eg_text_deinit(&mesh);
  return status;
}

static bool is_unconstrained(const eg_competition *c) {
  return c->constraints == NULL || c->constraints->rows.len == 0;
}

/// The user's constraints as limits.
typedef struct demands {
  eg_plan_limits limits;
  const eg_plan_limits *held; // NULL: there are none
} demands;

static egraph_status demands_init(demands *d, const eg_competition *c) {
  d->held = NULL;
  if (is_unconstrained(c)) return EGRAPH_OK;
  EG_TRY(check_axes(c));
  EG_TRY(eg_plan_limits_init(&d->limits, c->alloc, c->space));
  d->held = &d->limits;
  egraph_status status =
      eg_plan_limits_add(&d->limits, c->constraints, c->constraints->rows.len, false);
  if (status != EGRAPH_OK) eg_plan_limits_deinit(&d->limits);
  return status;
}

static void demands_deinit(demands *d) {
  if (d->held != NULL) eg_plan_limits_deinit(&d->limits);
}

egraph_status eg_compete_check(const eg_competition *competition) {
  demands user;
  EG_TRY(demands_init(&user, competition));
  demands_deinit(&user);
  return EGRAPH_OK;
}

egraph_status eg_compete_given(const eg_competition *competition, eg_fitted_plan *out) {
  demands user;
  EG_TRY(demands_init(&user, competition));
  egraph_status status = solve_within(competition, user.held, out);
  demands_deinit(&user);
  return status;
}

egraph_status eg_compete_search(const eg_competition *competition, eg_fitted_plan *out) {
  EG_TRY(eg_compete_given(competition, out));
  bool is_blamed = out->status == EG_LAYOUT_INFEASIBLE && !is_unconstrained(competition);
  return is_blamed ? blame(competition) : EGRAPH_OK;
}

/// The plan of an answer: strategies with the arcs of least cost that go with them.
static egraph_status emit_answer(const eg_competition *c, const eg_plan_model *model,
                                 const uint32_t *strategy, eg_fitted_plan *out) {
  eg_layout_completer *completer;
  eg_layout_solution solution;
  bool is_solution;
  EG_TRY(eg_layout_completer_create(c->alloc, &model->problem, &completer));
  egraph_status status = eg_layout_complete(completer, strategy, &solution, &is_solution);
  eg_layout_completer_destroy(completer);
  EG_TRY(status);
  if (!is_solution)
    return EG_FAIL(EGRAPH_E_INTERNAL, "a search has found strategies that are no plan");
  status = eg_plan_emit(model, c->alloc, &solution, &out->emitted);
  out->has_plan = status == EGRAPH_OK;
  if (out->has_plan) { // of the problem, which goes
    eg_u32s_deinit(&out->emitted.place_of);
    eg_u32s_deinit(&out->emitted.value_at);
  }
  out->cost = solution.cost;
  for (uint32_t r = 0; r < model->problem.memory_rows; r++)
    out->kept = fmax(out->kept, solution.memory[r]);
  eg_layout_solution_deinit(&solution);
  return status;
}

static egraph_status ask(const eg_competition *c, const eg_plan_searcher *searcher,
                         const eg_plan_question *question, eg_plan_model *model,
                         eg_fitted_plan *out, eg_plan_searched *out_searched) {
  eg_plan_question asked = *question;
  eg_plan_answer answer = {.stop = EG_PLAN_STOP_EXHAUSTED};
  eg_plan_summary summary;
  double start = eg_clock_seconds();
  asked.model = model;
  eg_u32s_init(&answer.strategy, c->alloc);
  egraph_status status = searcher->run(searcher->self, &asked, &answer);
  *out_searched = (eg_plan_searched){.proposals = answer.proposals,
                                     .work = answer.work,
                                     .seconds = eg_clock_seconds() - start,
                                     .stop = answer.stop};
  if (status == EGRAPH_OK && answer.strategy.len != 0) {
    eg_plan_model_limit_memory(model, INFINITY);
    status = emit_answer(c, model, answer.strategy.data, out);
  }
  eg_u32s_deinit(&answer.strategy);
  EG_TRY(status);
  if (!out->has_plan) return EGRAPH_OK;
  out->status = EG_LAYOUT_FEASIBLE;
  status = eg_plan_summary_make(&out->emitted.plan, c->alloc, &summary);
  if (status == EGRAPH_OK)
    out->memory = summary.peak;
  else
    eg_fitted_plan_deinit(out);
  return status;
}

egraph_status eg_compete_by(const eg_competition *competition,
                            const eg_plan_searcher *searcher,
                            const eg_plan_question *question, eg_fitted_plan *out,
                            eg_plan_searched *out_searched) {
  demands user;
  eg_plan_model model;
  *out = (eg_fitted_plan){.status = EG_LAYOUT_UNKNOWN, .cost = INFINITY};
  eg_plan_choices_init(&out->choices, competition->alloc);
  EG_TRY(demands_init(&user, competition));
  egraph_status status = model_within(competition, user.held, &model);
  demands_deinit(&user);
  EG_TRY(status);
  status = ask(competition, searcher, question, &model, out, out_searched);
  eg_plan_model_deinit(&model);
  return status;
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

egraph_status eg_compete_bound(const eg_competition *competition, double *out) {
  demands user;
  EG_TRY(demands_init(&user, competition));
  egraph_status status = bound_within(competition, user.held, out);
  demands_deinit(&user);
  return status;
}

// Of all work and time, for a bound that may show that there is nothing to search for.
static const double PROBE_SHARE = 0.05;

egraph_status eg_compete_probe(const eg_competition *competition, double ceiling,
                               bool is_folded, double *out) {
  static const double free_memory[EG_LAYOUT_MEMORY_ROWS];
  eg_competition probe = *competition;
  eg_cut cut;
  probe.layout.work_limit = eg_work_share(probe.layout.work_limit, PROBE_SHARE);
  probe.layout.time_limit_seconds *= PROBE_SHARE;
  if (!is_folded) return eg_compete_bound(&probe, out);
  EG_TRY(eg_compete_cut(&probe, free_memory, ceiling, false, &cut));
  *out = cut.bound;
  return EGRAPH_OK;
}

egraph_status eg_compete_cut(const eg_competition *competition, const double *price,
                             double cost, bool may_bind, eg_cut *out) {
  const eg_layout_options *layout = &competition->layout;
  demands user;
  EG_TRY(demands_init(&user, competition));
  eg_cut_input input = {.space = competition->space,
                        .limits = user.held,
                        .cost = cost,
                        .may_bind = may_bind,
                        .options = {.work_limit = layout->work_limit,
                                    .time_limit_seconds = layout->time_limit_seconds,
                                    .progress = layout->progress,
                                    .user = layout->user,
                                    .done = layout->done}};
  memcpy(input.price, price, sizeof input.price);
  egraph_status status = eg_plan_cut_bound(competition->alloc, &input, out);
  demands_deinit(&user);
  return status;
}

static egraph_status solve_priced(const eg_competition *c, const eg_plan_limits *limits,
                                  const double *price, eg_emitted_plan *out,
                                  bool *out_has) {
  eg_plan_model model;
  eg_layout_result result;
  EG_TRY(eg_plan_model_init_within(&model, c->alloc, c->space, limits));
  eg_plan_model_price_memory(&model, price);
  eg_layout_result_init(&result, c->alloc);
  egraph_status status = eg_layout_solve(c->alloc, &model.problem, &c->layout, &result);
  *out_has = status == EGRAPH_OK && result.solutions.len != 0;
  if (*out_has) status = eg_plan_emit(&model, c->alloc, &result.solutions.data[0], out);
  *out_has = *out_has && status == EGRAPH_OK;
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  return status;
}

// How far prices are from the best; of the highest one: equal costs keep less in rows
// that do not bind.
static const double MATE_STEP = 0.03, TIE_PRICE = 1e-3;

static egraph_status solve_mates(const eg_competition *c, const eg_plan_limits *limits,
                                 const double *best, eg_emitted_plan *mates,
                                 bool *out_has) {
  bool has[EG_MATES] = {false, false};
  double highest = 0;
  egraph_status status = EGRAPH_OK;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    highest = fmax(highest, best[r]);
  for (int m = 0; m < EG_MATES && status == EGRAPH_OK && highest > 0; m++) {
    double price[EG_LAYOUT_MEMORY_ROWS];
    for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
      price[r] = fmax(best[r], TIE_PRICE * highest) *
                 (m == EG_MATE_SMALL ? 1 + MATE_STEP : 1 - MATE_STEP);
    status = solve_priced(c, limits, price, &mates[m], &has[m]);
  }
  *out_has = status == EGRAPH_OK && has[EG_MATE_SMALL] && has[EG_MATE_CHEAP];
  for (int m = 0; m < EG_MATES && !*out_has; m++)
    if (has[m]) eg_emitted_plan_deinit(&mates[m]);
  return status;
}

egraph_status eg_compete_mates(const eg_competition *competition, const double *best,
                               eg_emitted_plan mates[EG_MATES], bool *out_has) {
  demands user;
  *out_has = false;
  EG_TRY(demands_init(&user, competition));
  egraph_status status = solve_mates(competition, user.held, best, mates, out_has);
  demands_deinit(&user);
  return status;
}

// ---- baselines ----------------------------------------------------------------------

/// Adds the roles, and the user's constraints as far as the roles allow them.
static egraph_status add_baseline(const eg_competition *c, const eg_axis_roles *roles,
                                  eg_plan_limits *limits) {
  eg_plan_constraints mine;
  eg_plan_constraints_init(&mine, c->alloc);
  egraph_status status = EGRAPH_OK;
  if (c->constraints != NULL)
    status = eg_plan_limits_add(limits, c->constraints, c->constraints->rows.len, true);
  if (status == EGRAPH_OK)
    status = eg_baseline_constraints(&mine, roles, &c->space->mesh);
  if (status == EGRAPH_OK)
    status = eg_plan_limits_add(limits, &mine, mine.rows.len, true);
  eg_plan_constraints_deinit(&mine);
  return status;
}

static const eg_type *space_value_type(const eg_competition *c, uint32_t v) {
  return &eg_plan_space_layouts(c->space, v)->type;
}

/// Batches are cut along all axes that split them, one within the other.
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

/// Whether some value of a kind can be cut along an axis, or there is none of it.
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

/// What the axes that split weights, states or gradients would have nothing of.
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
  egraph_status status = add_baseline(c, roles, &d->limits);
  if (status != EGRAPH_OK) eg_plan_limits_deinit(&d->limits);
  return status;
}

egraph_status eg_compete_baseline(const eg_competition *competition,
                                  const eg_axis_roles *roles,
                                  eg_baseline_obstacle *obstacle, eg_fitted_plan *out) {
  eg_plan_limits limits;
  *out = (eg_fitted_plan){.status = EG_LAYOUT_INFEASIBLE, .cost = INFINITY};
  *obstacle = (eg_baseline_obstacle){.parts = 0};
  EG_TRY(eg_plan_limits_init(&limits, competition->alloc, competition->space));
  check_batches(competition, &limits, roles, obstacle);
  if (obstacle->parts == 0) check_weights(competition, &limits, roles, obstacle);
  egraph_status status = EGRAPH_OK;
  if (obstacle->parts == 0) {
    status = add_baseline(competition, roles, &limits);
    if (status == EGRAPH_OK) status = solve_within(competition, &limits, out);
  }
  eg_plan_limits_deinit(&limits);
  return status;
}

egraph_status eg_compete_named(const eg_competition *competition, const char *name,
                               eg_fitted_plan *out) {
  eg_axis_roles roles;
  eg_baseline_obstacle obstacle;
  EG_TRY(eg_axis_roles_parse(name, competition->mesh, &roles));
  EG_TRY(eg_compete_check(competition));
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

/// Prices for a solution, and both as text.
static egraph_status prove_claim(const eg_competition *c,
                                 const eg_layout_problem *problem,
                                 const eg_layout_solution *solution, double claimed,
                                 eg_plan_certificate *out) {
  const eg_layout_bound_options wanted = {.work_limit = c->layout.work_limit,
                                          .time_limit_seconds =
                                              c->layout.time_limit_seconds,
                                          .target = solution->strategy.data,
                                          .done = c->layout.done};
  eg_layout_dual dual;
  eg_layout_bounded bounded;
  eg_layout_dual_init(&dual, c->alloc);
  egraph_status status = eg_layout_bound(c->alloc, problem, &wanted, &bounded, &dual);
  if (status == EGRAPH_OK)
    status = eg_proof_check_bound("certificate of a plan", bounded.bound, solution->cost);
  if (status == EGRAPH_OK)
    status = eg_layout_certificate_write(problem, solution, &dual, claimed, &out->text);
  out->checked = dual.bound;
  eg_layout_dual_deinit(&dual);
  return status;
}

/// From the plan's strategies to its solution, which must cost what the plan does.
static egraph_status certify_strategies(const eg_competition *c,
                                        const eg_layout_problem *problem,
                                        const eg_plan_claim *claim,
                                        const uint32_t *strategy,
                                        eg_plan_certificate *out) {
  eg_layout_completer *completer;
  eg_layout_solution solution;
  bool is_solution;
  EG_TRY(eg_layout_completer_create(c->alloc, problem, &completer));
  egraph_status status = eg_layout_complete(completer, strategy, &solution, &is_solution);
  eg_layout_completer_destroy(completer);
  EG_TRY(status);
  out->outcome = EG_PLAN_DIFFERENT;
  if (!is_solution) return EGRAPH_OK;
  double larger = fmax(fabs(solution.cost), fabs(claim->cost));
  if (fabs(solution.cost - claim->cost) <= EG_PROOF_ROUNDING * larger) {
    out->outcome = EG_PLAN_CERTIFIED;
    status = prove_claim(c, problem, &solution, claim->bound, out);
  }
  eg_layout_solution_deinit(&solution);
  return status;
}

static egraph_status certify_within(const eg_competition *c, const eg_plan_limits *limits,
                                    const eg_plan_claim *claim,
                                    eg_plan_certificate *out) {
  eg_plan_model model;
  eg_u32s strategy;
  EG_TRY(model_within(c, limits, &model));
  eg_u32s_init(&strategy, c->alloc);
  egraph_status status = eg_plan_recall(&model, claim->plan, &strategy);
  if (status == EGRAPH_OK && strategy.len != 0)
    status = certify_strategies(c, &model.problem, claim, strategy.data, out);
  eg_u32s_deinit(&strategy);
  eg_plan_model_deinit(&model);
  return status;
}

egraph_status eg_compete_certify(const eg_competition *competition,
                                 const eg_axis_roles *roles, const eg_plan_claim *claim,
                                 eg_plan_certificate *out) {
  demands held;
  EG_TRY(roles != NULL ? baseline_init(&held, competition, roles)
                       : demands_init(&held, competition));
  egraph_status status = certify_within(competition, held.held, claim, out);
  demands_deinit(&held);
  return status;
}
