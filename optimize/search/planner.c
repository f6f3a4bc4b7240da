// Stages: baselines of the given graph, roughly, then finely; the given graph's cheapest
// plan; with variants made by rules, fewer devices and the best baseline, then graph and
// layouts in turn; the search; for a folded step, the bound of the whole step; and, after
// a search without a proof, the baselines that may be cheaper.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/planner.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "optimize/model/plan_recall.h"
#include "optimize/search/plan_algebra.h"
#include "optimize/search/planner_internal.h"
#include "optimize/space/layout_graph.h"

// Shares of all work and of the remaining time for a stage of planning, and its gap.
typedef struct stage_budget {
  double work, time, gap;
} stage_budget;
// Shares of stages, if rules have made variants of the graph:
static const stage_budget GIVEN = {0.3, 0.3, 0}, IMPROVING = {0.2, 0.9, 0};
static const double VARIANTS_WORK = 0.5;
static const double SEARCH_TIME = 0.9; // the rest is for baselines
// A limit of memory that does not bind changes nothing: all stages first run without it,
// and a plan that fits is the answer. Otherwise the bounds also hold within the limit,
// and the search within the limit gets the remaining work and time, at least this share.
static const double LIMITED_SHARE = 0.5;
// The share of the budget for a bound of a folded step if the limit of memory may bind,
// and the gap of the plans that are mixed block by block.
static const double BOUND_SHARE = 0.4, MATE_GAP = 1e-3;
// The share of a folded step's bound, if it may prove the plan at hand.
static const double PROOF_SHARE = 0.7;
static const double NEAR_LIMIT = 0.5; // of memory: above it, a limit may bind

/// True when rules have made variants of the given graph.
static bool has_variants(const eg_planner *p) { return p->out->nodes != p->given_nodes; }

// ---- before the search --------------------------------------------------------------

/// Plans within the graph to which the competition limits the search.
static egraph_status plan_graph(eg_planner *p, const eg_competition *competition) {
  EG_LOCAL(eg_fitted_plan, plan, p->alloc);
  eg_competition own = *competition;
  p->stage = EG_PLANNER_GIVEN_GRAPH;
  own.layout.time_limit_seconds = GIVEN.time * eg_planner_remaining(p).time_limit_seconds;
  own.layout.work_limit = eg_work_share(p->budget.work_limit, GIVEN.work);
  own.seed = &p->seed;
  EG_TRY(eg_compete_given(&own, &plan));
  eg_planner_note_least(p, &plan);
  return eg_planner_let_win(p, "", &plan);
}

/// Plans the graph as it was given, so that no plan with variants is dearer; then plans
/// some baselines with the variants that rules made.
static egraph_status seed_given(eg_planner *p, eg_competition *competition) {
  EG_OWNED(eg_plan_algebra, given);
  eg_competition own = *competition;
  EG_TRY(eg_plan_algebra_original(&given, p->alloc, p->egraph));
  own.algebra = &given;
  EG_TRY(eg_contest_seed(p, &own));
  if (!p->is_cancelled) EG_TRY(plan_graph(p, &own));
  return eg_contest_seed_variants(p, competition);
}

/// Finds first plans for the search. If rules have made variants, the given graph is
/// planned first, then graph and layouts are improved in turn (plan_algebra.h).
static egraph_status find_seed(eg_planner *p, eg_competition *competition,
                               eg_u32s *known) {
  bool is_known = known->len != 0;
  if (p->input->baseline != NULL || p->input->is_alone) return EGRAPH_OK;
  if (!has_variants(p) || competition->algebra != NULL)
    return is_known ? EGRAPH_OK : eg_contest_seed(p, competition);
  if (!is_known) EG_TRY(seed_given(p, competition));
  if (!eg_planner_is_free(p) || p->is_cancelled) return EGRAPH_OK;
  eg_layout_options options = eg_planner_remaining(p);
  options.time_limit_seconds *= IMPROVING.time;
  options.work_limit = eg_work_share(options.work_limit, IMPROVING.work);
  options.progress = eg_planner_progress;
  options.user = p;
  known->len = 0;
  return eg_plan_improve(p->alloc, competition->space, &options, &p->seed, p->out->cost,
                         known);
}

/// Finds the strategies of the caller's known plan in the space, if the space has all.
static egraph_status recall_known(eg_planner *p, const eg_plan_space *space,
                                  eg_u32s *known) {
  if (p->input->known == NULL) return EGRAPH_OK;
  EG_TRY(eg_plan_choices_recall(&p->seed, p->alloc, space, p->input->known, known));
  if (known->len != 0) p->out->cost = p->known_cost = p->input->known_cost;
  return EGRAPH_OK;
}

// ---- the search ---------------------------------------------------------------------

/// Takes the result of the search and its proofs; an earlier plan that is cheaper stays.
static egraph_status conclude_search(eg_planner *p, eg_fitted_plan *found) {
  eg_planning *out = p->out;
  bool stays = out->has_plan && !(found->has_plan && found->cost <= out->cost);
  out->status = found->status;
  out->bound = fmax(found->bound, p->floor);
  out->gap = found->gap;
  eg_planner_note_least(p, found);
  bool is_large = found->has_plan && found->memory > p->input->info->memory_limit;
  if (p->is_lifted && !stays && is_large) {
    eg_plan_choices_deinit(&p->seed);
    p->seed = found->choices;
    eg_plan_choices_init(&found->choices, p->alloc);
  }
  out->places = found->places;
  out->arcs = found->arcs;
  if (!stays) eg_planner_take(p, found);
  if (!out->has_plan) return EGRAPH_OK;
  EG_TRY(eg_proof_check_bound("plan of a mesh", out->bound, out->cost));
  eg_planning_judge(out);
  return EGRAPH_OK;
}

static egraph_status search_layouts(eg_planner *p, const eg_competition *competition) {
  EG_LOCAL(eg_fitted_plan, found, p->alloc);
  p->stage = EG_PLANNER_SEARCHING;
  EG_TRY(p->input->baseline != NULL
             ? eg_compete_named(competition, p->input->baseline, &found)
             : eg_compete_search(competition, &found));
  eg_memory_prices_deinit(&p->prices);
  p->prices = found.prices;
  eg_memory_prices_init(&found.prices, p->alloc); // moved
  return conclude_search(p, &found);
}

static void note_hint(eg_planner *p, const eg_cut *cut) {
  const eg_peak_row *step = &p->prices.step;
  p->out->hint = (eg_memory_hint){.values = (uint32_t)step->counts.len,
                                  .made = step->made,
                                  .is_moved = step->into != EG_SPACE_NONE};
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    p->out->hint.price += cut->price[r];
}

/// Returns the seconds left for the bound of a folded step, and for mates.
static double cut_seconds_left(const eg_planner *p) {
  return p->cut_end - eg_clock_seconds();
}

/// Bounds the whole step by the folded step; `known`: a bound at the first prices, which
/// are not worth a search if they give less.
static egraph_status bound_whole(eg_planner *p, const eg_competition *competition,
                                 bool may_bind, double known, eg_cut *out_cut) {
  const eg_planner_input *input = p->input;
  eg_planning *out = p->out;
  eg_competition own = *competition;
  double share = may_bind ? BOUND_SHARE : 1;
  if (input->at_hand > 0) share = fmax(share, PROOF_SHARE);
  own.layout.time_limit_seconds =
      fmax(fmin(share * input->cut_seconds, cut_seconds_left(p)), EG_LEAST_SECONDS);
  own.layout.work_limit = eg_work_share(input->cut_work, share);
  double cost = out->has_plan ? out->cost : INFINITY;
  double at_hand = input->at_hand > 0 ? input->at_hand : INFINITY;
  const eg_cut_input how = {.prices = &p->prices,
                            .cost = cost,
                            .known = known,
                            .at_hand = fmin(at_hand, cost),
                            .gaps = &p->budget,
                            .may_bind = may_bind,
                            .climb_only = input->cut_only};
  EG_TRY(eg_compete_cut(&own, &how, out_cut));
  out->cut_bound = fmax(out->cut_bound, out_cut->bound);
  out->places = out_cut->places;
  out->arcs = out_cut->arcs;
  return EGRAPH_OK;
}

/// Finds two plans to be mixed, at prices near those of the cut (eg_compete_mates).
static egraph_status find_mates(eg_planner *p, const eg_competition *competition,
                                const eg_cut *cut, eg_peak_row *large) {
  eg_competition own = *competition;
  own.layout.time_limit_seconds = cut_seconds_left(p);
  own.layout.work_limit = p->input->cut_work;
  own.layout.relative_gap = fmax(p->budget.relative_gap, MATE_GAP);
  return eg_compete_mates(&own, cut->price, &p->prices.step, large, &p->out->mates);
}

/// Finds a bound with the memory row of a step, whose price is the price of all rows so
/// far. If that bound is higher, it and the row stay, and mates are found for them.
static egraph_status bound_by_step(eg_planner *p, const eg_competition *competition,
                                   eg_peak_row *step, eg_cut *inout_cut) {
  eg_cut cut;
  eg_memory_prices *prices = &p->prices;
  assert(prices->step.strategy.len == 0);
  const eg_memory_prices before = *prices;
  *prices = (eg_memory_prices){.step = *step};
  eg_peak_row_init(step, p->alloc); // moved
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    prices->at[inout_cut->rows] += inout_cut->price[r];
  EG_TRY(bound_whole(p, competition, true, inout_cut->bound, &cut));
  if (cut.bound > inout_cut->bound) {
    *inout_cut = cut;
    eg_mates_deinit(&p->out->mates);
    return find_mates(p, competition, inout_cut, &prices->step);
  }
  eg_memory_prices_deinit(prices);
  *prices = before;
  return EGRAPH_OK;
}

/// Bounds the whole step at the price at which both mates cost the same: there the bound
/// is often best.
static egraph_status bound_meeting(eg_planner *p, const eg_competition *competition,
                                   const eg_cut *best) {
  eg_cut cut;
  double *at = p->prices.at, meeting = p->out->mates.meeting;
  if (meeting == 0) return EGRAPH_OK;
  for (uint32_t r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    at[r] = meeting * best->price[r];
  return bound_whole(p, competition, true, INFINITY, &cut);
}

/// Finds a bound of the whole step, and two plans to be mixed, if the step is folded.
static egraph_status cut_folded(eg_planner *p, const eg_competition *competition) {
  const eg_planner_input *input = p->input;
  eg_planning *out = p->out;
  eg_cut cut;
  if (!(input->cut_seconds > 0) || p->is_cancelled || input->baseline != NULL ||
      competition->algebra != NULL)
    return EGRAPH_OK;
  p->stage = EG_PLANNER_CUTTING;
  p->cut_end = eg_clock_seconds() + input->cut_seconds;
  double memory = out->has_plan ? out->memory : INFINITY;
  bool is_near = memory > NEAR_LIMIT * p->info.memory_limit;
  bool is_close = out->has_plan && out->gap <= MATE_GAP;
  bool may_bind = (input->binds || out->exceeds || is_near) && !is_close;
  if (may_bind && input->hint.price > 0 && p->prices.step.strategy.len == 0)
    EG_TRY(eg_compete_recall(competition, &input->hint, &p->prices));
  EG_TRY(bound_whole(p, competition, may_bind, 0, &cut));
  note_hint(p, &cut);
  if (!may_bind || out->cut_bound >= eg_planner_enough(input, p->done)) return EGRAPH_OK;
  bool has_row = p->prices.step.strategy.len != 0;
  EG_LOCAL(eg_peak_row, large, p->alloc);
  EG_TRY(find_mates(p, competition, &cut, &large));
  if (large.strategy.len != 0 && !has_row)
    EG_TRY(bound_by_step(p, competition, &large, &cut));
  note_hint(p, &cut);
  EG_TRY(bound_meeting(p, competition, &cut));
  for (int m = 0; m < EG_MATES; m++)
    if (out->mates.has[m])
      eg_unit_axes_restore(&out->mates.plan[m].plan, &input->mesh->mesh);
  return EGRAPH_OK;
}

/// Searches, beginning with the known plan's strategies, and bounds the whole step.
static egraph_status search_and_cut(eg_planner *p, const eg_competition *competition,
                                    const eg_u32s *known) {
  eg_competition own = *competition;
  eg_layout_options *layout = &own.layout;
  bool is_unfit = p->is_lifted && !eg_planner_fits(p);
  bool is_all = p->input->baseline != NULL && !p->input->compares;
  layout->time_limit_seconds = eg_planner_remaining(p).time_limit_seconds;
  if (!is_all) layout->time_limit_seconds *= SEARCH_TIME;
  if (known->len != 0) layout->incumbent = known->data;
  if (has_variants(p) && !p->input->is_alone)
    layout->work_limit = eg_work_share(p->budget.work_limit, VARIANTS_WORK);
  if (is_unfit) {
    layout->time_limit_seconds *= 1 - LIMITED_SHARE;
    layout->work_limit = eg_work_share(layout->work_limit, 1 - LIMITED_SHARE);
  }
  own.seed = &p->seed;
  EG_TRY(search_layouts(p, &own));
  if (p->is_lifted && !eg_planner_fits(p)) return EGRAPH_OK;
  return cut_folded(p, competition);
}

// ---- within the limit of memory -----------------------------------------------------

/// Notes the graph of the plan that exceeds the memory limit, if rules made variants.
static egraph_status note_loose(eg_planner *p, const eg_plan_space *space) {
  EG_LOCAL(eg_u32s, ignored, p->alloc);
  const eg_planner_input *input = p->input;
  bool is_set = input->baseline != NULL || input->is_alone || input->algebra_first;
  if (is_set || !has_variants(p) || p->seed.len == 0) return EGRAPH_OK;
  return eg_plan_algebra_of(&p->loose, p->alloc, space, &p->seed, &ignored);
}

/// True when values may be made again where the limit of memory binds.
static bool may_make_again(const eg_planner *p) {
  const eg_planner_input *input = p->input;
  return input->context->makes_again && input->info->phases != NULL &&
         input->baseline == NULL && input->searcher == NULL &&
         isfinite(input->info->memory_limit);
}

/// Lets values be made again, in the models from now on; finds the choices of the plan
/// that exceeds the limit, and of the known plan, in them.
static egraph_status make_again(eg_planner *p, const eg_plan_space *space,
                                eg_u32s *known) {
  EG_LOCAL(eg_u32s, ignored, p->alloc);
  p->info.makes_again = true;
  eg_memory_prices_deinit(&p->prices);
  eg_memory_prices_init(&p->prices, p->alloc);
  bool has_seed = p->seed.len != 0 && p->out->has_plan;
  p->seed.len = known->len = 0;
  if (has_seed)
    EG_TRY(eg_plan_choices_recall(&p->seed, p->alloc, space, &p->out->emitted.plan,
                                  &ignored));
  EG_LOCAL(eg_plan_choices, of_known, p->alloc);
  if (p->input->known == NULL) return EGRAPH_OK;
  return eg_plan_choices_recall(&of_known, p->alloc, space, p->input->known, known);
}

/// Restarts the search within the limit of memory, with the bounds found without it.
static egraph_status begin_within(eg_planner *p, eg_competition *competition,
                                  eg_u32s *known) {
  eg_planning *out = p->out;
  eg_layout_options *budget = &p->budget;
  EG_TRY(note_loose(p, competition->space));
  if (may_make_again(p)) EG_TRY(make_again(p, competition->space, known));
  double spent = eg_clock_seconds() - p->start;
  if (out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  out->has_plan = false;
  out->cost = p->known_cost;
  out->exceeds = true;
  p->floor = out->bound;
  p->tries = 0;
  p->start += spent;
  budget->time_limit_seconds = fmax(budget->time_limit_seconds - spent, EG_LEAST_SECONDS);
  uint64_t least = eg_work_share(budget->work_limit, LIMITED_SHARE);
  bool is_more = budget->work_limit > p->done + least;
  budget->work_limit = is_more ? budget->work_limit - p->done : least;
  competition->layout.work_limit = budget->work_limit;
  return EGRAPH_OK;
}

/// Takes over the results of an earlier search without the limit of memory.
static egraph_status recall_loose(eg_planner *p, const eg_plan_space *space) {
  EG_LOCAL(eg_u32s, strategy, p->alloc);
  p->floor = p->out->bound = p->input->floor;
  if (p->input->loose == NULL) return EGRAPH_OK;
  p->seed.len = 0; // the known plan's choices, which the search has as strategies
  EG_TRY(eg_plan_choices_recall(&p->seed, p->alloc, space, p->input->loose, &strategy));
  return strategy.len != 0 ? note_loose(p, space) : EGRAPH_OK;
}

/// Searches without the limit of memory, then, if the plan does not fit, within it.
static egraph_status search_all(eg_planner *p, eg_competition *competition) {
  EG_LOCAL(eg_u32s, known, p->alloc);
  if (p->input->cut_only) return cut_folded(p, competition);
  EG_TRY(eg_contest_list(p));
  EG_TRY(recall_known(p, competition->space, &known));
  bool is_known = known.len != 0;
  // The known plan has no groups: the best groups in its layouts are soon found.
  bool wants_seed = !is_known || eg_planner_has_groups(p->input);
  p->is_lifted = isfinite(p->info.memory_limit) && !p->input->binds;
  if (p->is_lifted) {
    p->info.memory_limit = INFINITY;
    if (wants_seed) EG_TRY(find_seed(p, competition, &known));
    EG_TRY(search_and_cut(p, competition, &known));
    p->info.memory_limit = p->input->info->memory_limit;
    p->is_lifted = false;
    bool is_over =
        eg_planner_fits(p) || p->out->status == EG_LAYOUT_INFEASIBLE || p->is_cancelled;
    eg_contest_forget(p, !is_over);
    if (is_over) return eg_contest_close(p, competition);
    EG_TRY(begin_within(p, competition, &known));
    if (!is_known) known.len = 0;
  } else if (p->input->binds) {
    EG_TRY(recall_loose(p, competition->space));
  }
  if (p->loose.is_found) {
    eg_competition own = *competition;
    own.algebra = &p->loose;
    EG_TRY(plan_graph(p, &own));
  }
  if (p->out->has_plan) known.len = 0; // the plan is cheaper
  if (wants_seed) EG_TRY(find_seed(p, competition, &known));
  EG_TRY(search_and_cut(p, competition, &known));
  return eg_contest_close(p, competition);
}

// ---- ways to a plan -----------------------------------------------------------------

static eg_competition competition_of(const eg_planner *p, const eg_plan_space *space,
                                     const eg_plan_algebra *algebra) {
  return (eg_competition){.alloc = p->alloc,
                          .space = space,
                          .constraints = p->input->constraints,
                          .algebra = algebra,
                          .layout = p->budget,
                          .mesh = &p->input->mesh->mesh};
}

/// Sets `is_beaten` if a bound shows that every plan costs at least the caller's ceiling.
static egraph_status probe_ceiling(eg_planner *p, const eg_competition *competition) {
  const eg_planner_input *input = p->input;
  double bound;
  if (!(input->ceiling > 0) || input->is_alone || input->baseline != NULL)
    return EGRAPH_OK;
  EG_TRY(eg_compete_probe(competition, input->ceiling, input->cut_seconds > 0, &bound));
  p->out->is_beaten = bound >= input->ceiling;
  if (p->out->is_beaten) p->out->bound = p->out->cut_bound = bound;
  return EGRAPH_OK;
}

/// Runs the product's own search, not the search of another algorithm.
static egraph_status solve_layouts(eg_planner *p, const eg_plan_space *space,
                                   const eg_plan_algebra *algebra) {
  eg_competition competition = competition_of(p, space, algebra);
  competition.layout.progress = eg_planner_progress;
  competition.layout.user = p;
  EG_TRY(probe_ceiling(p, &competition));
  if (!p->out->is_beaten) EG_TRY(search_all(p, &competition));
  bool is_memory = !p->out->has_plan && p->least > p->input->info->memory_limit;
  if (is_memory) p->out->least_memory = p->least;
  return EGRAPH_OK;
}

/// Runs the search of another algorithm and takes its plan unchanged.
static egraph_status solve_by(eg_planner *p, const eg_plan_space *space,
                              const eg_plan_algebra *algebra) {
  EG_LOCAL(eg_fitted_plan, found, p->alloc);
  const eg_machine_mesh mesh = eg_unit_axes_drop(p->input->mesh);
  const eg_competition competition = competition_of(p, space, algebra);
  eg_plan_question question = {.alloc = p->alloc,
                               .mesh = &mesh,
                               .memory_limit = p->info.memory_limit,
                               .layout = eg_planner_remaining(p),
                               .seed = p->input->seed};
  p->stage = EG_PLANNER_SEARCHING;
  question.layout.progress = eg_planner_progress;
  question.layout.user = p;
  EG_TRY(eg_compete_by(&competition, p->input->searcher, &question, &found,
                       &p->out->searched));
  p->out->status = found.status;
  eg_planner_take(p, &found);
  p->out->gap = 1;
  return EGRAPH_OK;
}

/// A task without a search: a mixture of plans, or a certificate of a plan.
typedef struct planner_task {
  const eg_plan *const *kind; // to be mixed
  uint32_t kinds;             // 0: none
  const eg_plan_claim *claim; // to be certified; NULL: none
  eg_plan_certificate *certificate;
} planner_task;

static egraph_status mix_kinds(eg_planner *p, const planner_task *task,
                               const eg_plan_space *space) {
  eg_mix_input input = {.kinds = task->kinds,
                        .memory_limit = p->info.memory_limit,
                        .deadline = p->start + p->budget.time_limit_seconds};
  assert(task->kinds <= EG_MIX_KINDS);
  memcpy(input.kind, task->kind, task->kinds * sizeof *task->kind);
  return eg_planning_mix(p->out, p->alloc, space, &input, &p->input->mesh->mesh);
}

static egraph_status certify_claim(eg_planner *p, const planner_task *task,
                                   const eg_plan_space *space,
                                   const eg_plan_algebra *algebra) {
  eg_competition competition = competition_of(p, space, algebra);
  competition.layout = eg_planner_remaining(p);
  eg_axis_roles roles;
  const char *baseline = p->input->baseline;
  if (baseline != NULL)
    EG_TRY(eg_axis_roles_parse(baseline, &p->input->mesh->mesh, &roles));
  task->certificate->is_all = p->out->stop == EG_STOP_SATURATED;
  return eg_compete_certify(&competition, baseline != NULL ? &roles : NULL, task->claim,
                            task->certificate);
}

// ---- the whole ----------------------------------------------------------------------

static egraph_status plan_with(eg_planner *p, const planner_task *task,
                               eg_machine_costs *costs, const eg_plan_algebra *algebra) {
  eg_plan_costs prices = eg_machine_plan_costs(costs);
  EG_OWNED(eg_plan_space, space);
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_space_init(&space, p->alloc, p->egraph, &p->info, &costs->mesh->mesh,
                            &prices));
  p->out->space_seconds = eg_clock_seconds() - start;
  p->out->is_exact = space.is_exact;
  for (size_t s = 0; s < space.strategies.len; s++)
    p->out->compared[space.strategies.data[s].basis]++;
  if (task->claim != NULL) return certify_claim(p, task, &space, algebra);
  start = eg_clock_seconds();
  egraph_status status = task->kinds != 0             ? mix_kinds(p, task, &space)
                         : p->input->searcher != NULL ? solve_by(p, &space, algebra)
                                                      : solve_layouts(p, &space, algebra);
  p->out->solve_seconds = eg_clock_seconds() - start;
  return status;
}

static egraph_status plan_step(eg_planner *p, const planner_task *task) {
  eg_machine_mesh mesh = eg_unit_axes_drop(p->input->mesh);
  eg_machine_costs costs;
  p->mesh = mesh.mesh;
  EG_TRY(eg_planner_costs(p->input, &mesh, &costs));
  EG_TRY(eg_planning_saturate(p->out, p->alloc, p->input, &p->info, &p->egraph,
                              &p->given_nodes));
  p->out->saturate_seconds = eg_clock_seconds() - p->start;
  if (!p->input->algebra_first) return plan_with(p, task, &costs, NULL);
  EG_OWNED(eg_plan_algebra, algebra);
  eg_layout_options options = eg_planner_remaining(p);
  EG_TRY(eg_plan_algebra_cheapest(&algebra, p->alloc, p->egraph, &p->info, &costs.device,
                                  &options));
  return algebra.is_found ? plan_with(p, task, &costs, &algebra) : EGRAPH_OK;
}

static egraph_status run_planner(egraph_allocator alloc, const eg_planner_input *input,
                                 const planner_task *task, eg_planning *out) {
  assert(input->context != NULL && input->graph != NULL && input->info != NULL &&
         input->mesh != NULL && input->budget.time_limit_seconds > 0);
  eg_planner p = {.alloc = alloc,
                  .input = input,
                  .info = *input->info,
                  .budget = input->budget,
                  .known_cost = INFINITY,
                  .out = out,
                  .start = eg_clock_seconds()};
  p.budget.done = &p.done;
  p.info.makes_again = may_make_again(&p) && (input->binds || task->kinds != 0);
  *out = (eg_planning){.status = EG_LAYOUT_UNKNOWN, .cost = INFINITY};
  eg_plan_choices_init(&p.seed, alloc);
  eg_contenders_init(&p.contenders, alloc);
  eg_memory_prices_init(&p.prices, alloc);
  egraph_status status = plan_step(&p, task);
  if (input->budget.done != NULL) *input->budget.done += p.done;
  out->makes_again = p.info.makes_again;
  eg_contenders_deinit(&p.contenders);
  eg_memory_prices_deinit(&p.prices);
  eg_plan_choices_deinit(&p.seed);
  eg_plan_algebra_deinit(&p.loose);
  eg_tensor_egraph_destroy(p.egraph);
  EG_RETURN_FILLED(status, eg_planning, out);
}

egraph_status eg_planner_run(egraph_allocator alloc, const eg_planner_input *input,
                             eg_planning *out) {
  const planner_task search = {.kinds = 0};
  return run_planner(alloc, input, &search, out);
}

egraph_status eg_planner_mix(egraph_allocator alloc, const eg_planner_input *input,
                             const eg_plan *const *kind, uint32_t kinds,
                             eg_planning *out) {
  const planner_task task = {.kind = kind, .kinds = kinds};
  return run_planner(alloc, input, &task, out);
}

egraph_status eg_planner_certify(egraph_allocator alloc, const eg_planner_input *input,
                                 const eg_plan_claim *claim, eg_plan_certificate *out) {
  EG_OWNED(eg_planning, ignored);
  const planner_task task = {.claim = claim, .certificate = out};
  return run_planner(alloc, input, &task, &ignored);
}
