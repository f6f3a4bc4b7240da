// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/planner.h"

#include <math.h>

#include "base/clock.h"
#include "optimize/plan/plan_algebra.h"
#include "optimize/plan/plan_improve.h"
#include "optimize/plan/plan_rules.h"
#include "optimize/plan/unit_axes.h"

static const double LEAST_SECONDS = 0.01;
static const double IMPROVING_SHARE = 0.9;

// ---- planning -----------------------------------------------------------------------

typedef struct planner {
  egraph_allocator alloc;
  const eg_planner_input *input;
  eg_planning *out;
  eg_tensor_egraph *egraph;
  bool is_searching; // or at work on baselines
  bool is_open;      // what is found may be worse than a baseline
  bool is_cancelled;
  bool has_variants;    // rules have made some
  eg_plan_choices seed; // of the cheapest baseline
  double start;
} planner;

static egraph_status apply_rules(planner *p) {
  const eg_saturation_options defaults = EG_SATURATION_OPTIONS_DEFAULT;
  const eg_planner_input *input = p->input;
  eg_saturation_report report;
  egraph_status status = eg_plan_apply_rules(
      p->egraph, input->info, input->rules,
      input->saturation == NULL ? &defaults : input->saturation, &report);
  p->out->stop = report.stop;
  p->out->iterations = report.iterations;
  eg_saturation_report_deinit(&report);
  return status;
}

static egraph_status saturate(planner *p) {
  EG_TRY(eg_tensor_egraph_create(&p->alloc, p->input->graph, &p->egraph));
  eg_engine *engine = eg_tensor_egraph_engine(p->egraph);
  EG_TRY(eg_engine_rebuild(engine));
  uint32_t given = eg_engine_node_count(engine);
  p->out->stop = EG_STOP_SATURATED;
  if (p->input->rules != NULL) EG_TRY(apply_rules(p));
  p->out->nodes = eg_engine_node_count(engine);
  p->has_variants = p->out->nodes != given;
  p->out->classes = eg_engine_class_count(engine);
  p->out->saturate_seconds = eg_clock_seconds() - p->start;
  return EGRAPH_OK;
}

/// Options of a solution in the time that is left.
static eg_layout_options remaining(const planner *p) {
  eg_layout_options options = p->input->layout;
  options.time_limit_seconds =
      fmax(options.time_limit_seconds - (eg_clock_seconds() - p->start), LEAST_SECONDS);
  return options;
}

// ---- search and baselines -----------------------------------------------------------

// Part of the time that is kept for baselines, where the search ends without a proof;
// each gets at least so much, whatever the limit is. What each gets before the search,
// for a rough plan, if that is enough for one.
static const double KEPT_TIME = 0.1, LEAST_BASELINE_SECONDS = 0.25;
static const double SEED_SHARE = 0.002, LEAST_SEED_SECONDS = 0.1, SEED_GAP = 0.05;
static const double PROVEN_GAP = 1e-9;

/// Of baselines nobody hears but what is the best up to now.
static bool on_progress(void *user, double cost, double bound, double seconds) {
  planner *p = user;
  const eg_layout_options *asked = &p->input->layout;
  if (p->is_cancelled || asked->progress == NULL) return p->is_cancelled;
  if (!p->is_searching) bound = p->out->bound;
  cost = p->is_searching ? fmin(cost, p->out->cost) : p->out->cost;
  p->is_cancelled = asked->progress(asked->user, cost, bound, seconds);
  return p->is_cancelled;
}

static void take(planner *p, eg_fitted_plan *plan) {
  eg_planning *out = p->out;
  if (out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  out->cost = plan->cost;
  out->memory = plan->memory;
  out->kept = plan->kept;
  out->has_plan = plan->has_plan;
  out->emitted = plan->emitted;
  if (plan->has_plan) eg_unit_axes_restore(&out->emitted.plan, &p->input->mesh->mesh);
  plan->has_plan = false;
}

/// What the search has found, and its proofs; a baseline that is cheaper stays.
static void conclude(planner *p, eg_fitted_plan *found) {
  eg_planning *out = p->out;
  bool stays = out->has_plan && !(found->has_plan && found->cost <= out->cost);
  out->status = found->status;
  out->bound = found->bound;
  out->gap = found->gap;
  out->least_memory = found->least_memory;
  out->places = found->places;
  out->arcs = found->arcs;
  if (!stays) {
    take(p, found);
    out->seed = NULL;
    return;
  }
  out->bound = fmin(out->bound, out->cost);
  out->gap = out->cost > 0 ? (out->cost - out->bound) / out->cost : 0;
  out->status = EG_LAYOUT_FEASIBLE;
  out->least_memory = 0;
}

static egraph_status search(planner *p, const eg_competition *competition) {
  eg_fitted_plan found;
  const eg_baseline *only = p->input->baseline;
  if (only != NULL) EG_TRY(eg_compete_check(competition));
  p->is_searching = true;
  EG_TRY(only != NULL ? eg_compete_baseline(competition, *only, &found)
                      : eg_compete_search(competition, &found));
  p->is_searching = false;
  conclude(p, &found);
  eg_fitted_plan_deinit(&found);
  return EGRAPH_OK;
}

static egraph_status note(planner *p, eg_baseline baseline, const eg_fitted_plan *plan) {
  eg_baseline_outcome *outcome = &p->out->baseline[baseline];
  if (outcome->is_tried && !(plan->cost < outcome->cost)) return EGRAPH_OK;
  outcome->is_tried = true;
  outcome->status = plan->status;
  outcome->cost = plan->cost;
  outcome->memory = plan->memory;
  outcome->least_memory = plan->least_memory;
  outcome->has_summary = plan->has_plan;
  if (!plan->has_plan) return EGRAPH_OK;
  return eg_plan_summary_make(&plan->emitted.plan, p->alloc, &outcome->summary);
}

/// A baseline's plan that is cheaper than what there is becomes the plan, and what the
/// search begins with.
static void let_win(planner *p, eg_baseline baseline, eg_fitted_plan *plan) {
  eg_planning *out = p->out;
  bool fits = plan->has_plan && plan->memory <= p->input->info->memory_limit;
  if (!fits || plan->cost >= out->cost) return;
  take(p, plan);
  eg_plan_choices_deinit(&p->seed);
  p->seed = plan->choices;
  eg_plan_choices_init(&plan->choices, p->alloc);
  out->seed = eg_baseline_name(baseline);
  out->status = EG_LAYOUT_FEASIBLE;
  out->bound = fmin(out->bound, out->cost);
  out->gap = out->cost > 0 ? (out->cost - out->bound) / out->cost : 0;
}

static egraph_status try_baseline(planner *p, eg_competition *competition, eg_baseline b,
                                  double seconds) {
  eg_fitted_plan plan;
  competition->layout.time_limit_seconds = seconds;
  EG_TRY(eg_compete_baseline(competition, b, &plan));
  egraph_status status = note(p, b, &plan);
  if (status == EGRAPH_OK && p->is_open) let_win(p, b, &plan);
  eg_fitted_plan_deinit(&plan);
  return status;
}

/// For the search to begin with; where rules have made variants, it begins with more
/// (plan_improve.h).
static egraph_status seed_baselines(planner *p, eg_competition *competition) {
  double seconds = SEED_SHARE * remaining(p).time_limit_seconds;
  if (p->has_variants || seconds < LEAST_SEED_SECONDS) return EGRAPH_OK;
  competition->layout.relative_gap = fmax(p->input->layout.relative_gap, SEED_GAP);
  p->is_open = true;
  for (int b = 0; b < EG_BASELINES && !p->is_cancelled; b++)
    EG_TRY(try_baseline(p, competition, (eg_baseline)b, seconds));
  competition->layout.relative_gap = p->input->layout.relative_gap;
  return EGRAPH_OK;
}

/// Each of those that are not proven gets its share of what is left of the time, or what
/// it takes: without time, too, none is better than the plan.
static egraph_status try_baselines(planner *p, eg_competition *competition,
                                   double deadline) {
  for (int b = 0; b < EG_BASELINES && !p->is_cancelled; b++) {
    const eg_baseline_outcome *known = &p->out->baseline[b];
    bool is_done = known->is_tried && (known->status == EG_LAYOUT_OPTIMAL ||
                                       known->status == EG_LAYOUT_INFEASIBLE);
    double left = (deadline - eg_clock_seconds()) / (EG_BASELINES - b);
    if (is_done) continue;
    EG_TRY(
        try_baseline(p, competition, (eg_baseline)b, fmax(left, LEAST_BASELINE_SECONDS)));
  }
  return EGRAPH_OK;
}

/// Strategies to begin with, where rules left a choice that the user does not limit.
static egraph_status improve(planner *p, const eg_plan_space *space, eg_u32s *known) {
  const eg_plan_constraints *limits = p->input->constraints;
  bool is_free = (limits == NULL || limits->rows.len == 0) && p->input->baseline == NULL;
  eg_layout_options options = remaining(p);
  options.time_limit_seconds *= IMPROVING_SHARE;
  if (!p->has_variants || !is_free) return EGRAPH_OK;
  return eg_plan_improve(p->alloc, space, &options, known);
}

static egraph_status search_and_compare(planner *p, eg_competition *competition,
                                        const eg_u32s *known) {
  double start = eg_clock_seconds(), limit = remaining(p).time_limit_seconds;
  if (p->input->baseline == NULL || p->input->compares)
    competition->layout.time_limit_seconds = limit * (1 - KEPT_TIME);
  else
    competition->layout.time_limit_seconds = limit;
  if (known->len != 0) competition->layout.incumbent = known->data;
  competition->seed = &p->seed;
  EG_TRY(search(p, competition));
  competition->layout.incumbent = NULL;
  competition->seed = NULL;
  p->is_open =
      p->input->baseline == NULL && (p->out->status == EG_LAYOUT_UNKNOWN ||
                                     (p->out->has_plan && p->out->gap > PROVEN_GAP));
  competition->beyond_memory = p->input->compares;
  if (!p->is_open && !p->input->compares) return EGRAPH_OK;
  return try_baselines(p, competition, start + limit);
}

static egraph_status compete(planner *p, const eg_plan_space *space,
                             eg_competition *competition, eg_u32s *known) {
  competition->layout = p->input->layout;
  competition->layout.progress = on_progress;
  competition->layout.user = p;
  if (p->input->baseline == NULL) EG_TRY(seed_baselines(p, competition));
  if (competition->algebra == NULL) EG_TRY(improve(p, space, known));
  return search_and_compare(p, competition, known);
}

static egraph_status solve(planner *p, const eg_plan_space *space,
                           const eg_plan_algebra *algebra) {
  eg_competition competition = {.alloc = p->alloc,
                                .space = space,
                                .constraints = p->input->constraints,
                                .algebra = algebra,
                                .mesh = &p->input->mesh->mesh};
  eg_u32s known;
  double start = eg_clock_seconds();
  eg_u32s_init(&known, p->alloc);
  eg_plan_choices_init(&p->seed, p->alloc);
  egraph_status status = compete(p, space, &competition, &known);
  eg_plan_choices_deinit(&p->seed);
  eg_u32s_deinit(&known);
  EG_TRY(status);
  p->out->solve_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static egraph_status plan_with(planner *p, eg_machine_costs *costs,
                               const eg_plan_algebra *algebra) {
  eg_plan_costs asked = eg_machine_plan_costs(costs);
  eg_plan_space space;
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_space_init(&space, p->alloc, p->egraph, p->input->info,
                            &costs->mesh->mesh, &asked));
  p->out->space_seconds = eg_clock_seconds() - start;
  egraph_status status = solve(p, &space, algebra);
  eg_plan_space_deinit(&space);
  return status;
}

static egraph_status plan_algebra_first(planner *p, eg_machine_costs *costs) {
  eg_plan_algebra algebra;
  eg_layout_options options = remaining(p);
  EG_TRY(eg_plan_algebra_cheapest(&algebra, p->alloc, p->egraph, p->input->info,
                                  &costs->device, &options));
  egraph_status status = algebra.is_found ? plan_with(p, costs, &algebra) : EGRAPH_OK;
  eg_plan_algebra_deinit(&algebra);
  return status;
}

static egraph_status plan(planner *p) {
  eg_machine_mesh mesh = eg_unit_axes_drop(p->input->mesh);
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, p->input->machine, p->input->costs));
  EG_TRY(saturate(p));
  return p->input->algebra_first ? plan_algebra_first(p, &costs)
                                 : plan_with(p, &costs, NULL);
}

egraph_status eg_planner_run(egraph_allocator alloc, const eg_planner_input *input,
                             eg_planning *out) {
  planner p = {.alloc = alloc, .input = input, .out = out, .start = eg_clock_seconds()};
  *out = (eg_planning){.status = EG_LAYOUT_UNKNOWN, .cost = INFINITY};
  egraph_status status = plan(&p);
  eg_tensor_egraph_destroy(p.egraph);
  if (status != EGRAPH_OK) eg_planning_deinit(out);
  return status;
}

void eg_planning_deinit(eg_planning *planning) {
  if (planning->has_plan) eg_emitted_plan_deinit(&planning->emitted);
  planning->has_plan = false;
}
