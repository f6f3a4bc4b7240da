// Stages: baselines of the graph as it was given, roughly, then finely; its cheapest
// plan; with what rules have made, fewer devices and the best baseline, algebra and
// layouts in turn; the search; what a folded step tells of the whole one; and, after a
// search without a proof, the baselines that may still be cheaper.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "base/work.h"
#include "optimize/model/plan_recall.h"
#include "optimize/search/plan_algebra.h"
#include "optimize/space/layout_graph.h"

static const double LEAST_SECONDS = 0.01;
static const double IMPROVING_SHARE = 0.9;
// Of the work, where rules have made variants: for these stages, and for the search then.
static const double GIVEN_WORK = 0.3, IMPROVING_WORK = 0.2, VARIANTS_WORK = 0.5;

// ---- planning -----------------------------------------------------------------------

/// A baseline of the mesh at work.
typedef struct contender {
  eg_axis_roles roles;
  bool is_fewer;           // planning for fewer devices
  uint32_t number;         // in the order of eg_baselines_of_mesh
  uint32_t outcome;        // its place in eg_planning.baseline
  double cost, bound;      // of its plans; INFINITY, 0: none is known
  bool is_large;           // its last plan exceeds the limit of memory
  eg_layout_status status; // of the last time that it was planned
} contender;
EG_VEC_DEFINE(contenders, contender);

/// What is at work. Baselines that may be cheaper than the plan are planned in the stages
/// of SEEDING and in CONTESTING; in COMPARING those that the user asked for alone.
typedef enum planner_stage {
  SEEDING,     // of the graph as it was given
  GIVEN_GRAPH, // its cheapest plan
  SEEDING_VARIANTS,
  SEARCHING,
  CUTTING,
  CONTESTING, // after a search without a proof
  COMPARING   // after one with a proof
} planner_stage;

typedef struct planner {
  egraph_allocator alloc;
  const eg_planner_input *input;
  eg_step_info info;       // the input's, with the limit of memory that is at work
  eg_layout_options asked; // likewise, with what is left of time and work
  uint64_t done;           // steps
  bool is_lifted;          // the limit of memory, which is first tried without
  double floor;            // bound of plans of any memory
  double known_cost;       // of the plan that is recalled; INFINITY: none is
  eg_planning *out;
  eg_tensor_egraph *egraph;
  eg_mesh mesh; // without axes of one device
  planner_stage stage;
  const contender *at_work; // the baseline that is being planned, or NULL
  bool is_cancelled;
  uint32_t given_nodes; // of the e-graph, before rules
  uint32_t tries;       // plans of baselines
  double least;         // peak of all plans that were seen; 0: there are none
  contenders contenders;
  eg_plan_choices seed;  // of the cheapest plan before the search
  eg_plan_algebra loose; // the graph of the plan that exceeds the limit; is_found or not
  double price[EG_LAYOUT_MEMORY_ROWS]; // of memory, of the search
  const eg_plan *const *kind;          // to be mixed, no search
  uint32_t kinds;                      // 0: none
  const eg_plan_claim *claim;          // to be certified, no search; NULL: none
  eg_plan_certificate *certificate;
  double start;
} planner;

// ---- rules --------------------------------------------------------------------------

static bool has_variants(const planner *p) { return p->out->nodes != p->given_nodes; }

static egraph_status saturate_step(planner *p) {
  EG_TRY(eg_planning_saturate(p->out, p->alloc, p->input, &p->info, &p->egraph,
                              &p->given_nodes));
  p->out->is_as_given = !has_variants(p) && p->out->stop == EG_STOP_SATURATED;
  p->out->saturate_seconds = eg_clock_seconds() - p->start;
  return EGRAPH_OK;
}

/// Options of a solution in the time that is left.
static eg_layout_options remaining(const planner *p) {
  eg_layout_options options = p->asked;
  options.time_limit_seconds =
      fmax(options.time_limit_seconds - (eg_clock_seconds() - p->start), LEAST_SECONDS);
  return options;
}

// ---- without the limit of memory ------------------------------------------------------

// A limit that does not bind changes nothing: first all is done without it, and where the
// plan fits that is the answer. Otherwise what was proven holds within the limit, too,
// and the search within it has what is left of work and time: at least this share.
static const double LIMITED_SHARE = 0.5;

static bool plan_fits_memory(const planner *p) {
  return p->out->has_plan && p->out->memory <= p->input->info->memory_limit;
}

/// Whether what is done without the limit has lasted long, and nothing has fitted.
static bool is_given_up(const planner *p) {
  double spent = eg_clock_seconds() - p->start;
  return p->is_lifted && !plan_fits_memory(p) &&
         spent > (1 - LIMITED_SHARE) * p->asked.time_limit_seconds;
}

// ---- baselines ----------------------------------------------------------------------

// Shares of the work of all stages. Before the search each baseline gets an equal part of
// the first for a rough plan; searches for fewer devices get the second each; then those
// that may be the cheapest equal parts of the third for a better plan, but no more than
// the fourth each; after a search without a proof those that may still be cheaper get
// equal parts of the fifth, those that were cheapest before it first. Where the work is
// ample, none gets less than a number of steps; where it is less, in proportion. Where
// only the clock limits, a second counts as a billion steps.
static const double ROUGH_SHARE = 0.15, FEWER_SHARE = 0.1, FINE_SHARE = 0.4,
                    MOST_FINE_SHARE = 0.04, KEPT_SHARE = 0.1;
static const double ROUGH_GAP = 0.01;
static const double STEPS_PER_SECOND = 1e9, AMPLE_STEPS = 4e9, LEAST_ROUGH_STEPS = 1e8,
                    LEAST_STEPS = 2.5e8, LEAST_FEWER_STEPS = 1e9;
static const double PATIENCE = 20.0; // seconds for the steps of one, where others compute
static const double GIVEN_SHARE = 0.3; // of the graph as it was given
// Of the time, up to which baselines are planned: where a step takes much longer.
static const double CLOCK_SHARE[] = {
    [SEEDING] = 0.4, [SEEDING_VARIANTS] = 0.6, [CONTESTING] = 1.0, [COMPARING] = 1.0};
enum { FIRST = 3 }; // baselines, planned whatever the time while there is no plan

static bool is_after_search(const planner *p) { return p->stage >= CONTESTING; }

/// Whether the plan may be dearer than a baseline.
static bool may_be_dearer(const planner *p) {
  return p->stage <= SEEDING_VARIANTS || p->stage == CONTESTING;
}

/// Whether the user asked for the cost of a baseline, not only for a cheaper plan.
static bool is_asked(const planner *p, const contender *c) {
  return p->input->compares && c->outcome != EG_BASELINE_OTHER;
}

/// While baselines are planned, progress reports only the best cost so far; and a
/// baseline that matters only if it is cheaper ends when its bound shows that it is not.
static bool report_planner_progress(void *user, double cost, double bound,
                                    double seconds) {
  planner *p = user;
  const eg_layout_options *asked = &p->asked;
  bool may_lose = p->at_work != NULL && may_be_dearer(p) &&
                  !(is_after_search(p) && is_asked(p, p->at_work));
  bool is_beaten =
      p->stage == SEARCHING && p->input->ceiling > 0 && bound >= p->input->ceiling;
  bool has_lost = is_beaten || (may_lose && bound >= p->out->cost);
  if (p->is_cancelled || asked->progress == NULL) return p->is_cancelled || has_lost;
  if (p->stage != SEARCHING) bound = p->out->bound;
  cost = p->stage == SEARCHING ? fmin(cost, p->out->cost) : p->out->cost;
  p->is_cancelled = asked->progress(asked->user, cost, bound, seconds);
  return p->is_cancelled || has_lost;
}

static void note_least(planner *p, const eg_fitted_plan *plan) {
  double least = plan->has_plan ? plan->memory : plan->least_memory;
  if (!(least > 0)) return;
  if (!(p->least > 0 && p->least <= least)) p->least = least;
}

static void take_plan(planner *p, eg_fitted_plan *plan) {
  eg_planning *out = p->out;
  if (out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  out->cost = plan->cost;
  out->memory = plan->memory;
  out->kept = plan->kept;
  out->has_plan = plan->has_plan;
  out->emitted = plan->emitted;
  out->seed[0] = '\0';
  if (plan->has_plan) eg_unit_axes_restore(&out->emitted.plan, &p->input->mesh->mesh);
  plan->has_plan = false;
}

/// A plan that fits and is cheaper than the planner's becomes the plan, and what the
/// search begins with.
static egraph_status let_win(planner *p, const char *name, eg_fitted_plan *plan) {
  eg_planning *out = p->out;
  bool is_in = plan->has_plan && plan->memory <= p->info.memory_limit;
  if (!is_in || plan->cost >= out->cost) return EGRAPH_OK;
  EG_TRY(eg_proof_check_bound(name, out->bound, plan->cost));
  take_plan(p, plan);
  eg_plan_choices_deinit(&p->seed);
  p->seed = plan->choices;
  eg_plan_choices_init(&plan->choices, p->alloc);
  memcpy(out->seed, name, strlen(name) + 1);
  out->status = EG_LAYOUT_FEASIBLE;
  out->gap = out->cost > 0 ? (out->cost - out->bound) / out->cost : 0;
  return EGRAPH_OK;
}

static bool has_no_constraints(const planner *p) {
  return p->input->constraints == NULL || p->input->constraints->rows.len == 0;
}

static egraph_status note_outcome(planner *p, const contender *c, const char *name,
                                  const eg_baseline_obstacle *obstacle,
                                  const eg_fitted_plan *plan) {
  eg_baseline_outcome *outcome = &p->out->baseline[c->outcome];
  bool is_news = c->outcome != EG_BASELINE_OTHER && !outcome->has_summary;
  if (!is_news && !(plan->cost < outcome->cost)) return EGRAPH_OK;
  if (plan->has_plan && c->outcome == EG_BASELINE_SINGLE && has_no_constraints(p))
    p->out->single_seconds = plan->cost;
  return eg_baseline_outcome_note(outcome, p->input, p->alloc, name, obstacle, plan);
}

/// Nothing more is to be found out about a baseline.
static bool is_settled(const planner *p, const contender *c) {
  bool is_proven = c->status == EG_LAYOUT_OPTIMAL || c->status == EG_LAYOUT_INFEASIBLE ||
                   (c->status == EG_LAYOUT_NO_MEMORY && !is_asked(p, c));
  bool is_wanted = is_asked(p, c) || (may_be_dearer(p) && c->bound < p->out->cost) ||
                   (c->outcome == EG_BASELINE_SINGLE && c->status == EG_LAYOUT_UNKNOWN);
  return is_proven || !is_wanted;
}

/// A share of the steps of all stages, at least so many where there is ample work.
static double share_of_steps(const planner *p, double share, double least) {
  const eg_layout_options *asked = &p->asked;
  double all = asked->work_limit != 0 ? (double)asked->work_limit
                                      : STEPS_PER_SECOND * asked->time_limit_seconds;
  return fmax(share * all, least * fmin(all / AMPLE_STEPS, 1));
}

/// Whether a baseline is to be planned however late it is: where there is no plan, the
/// first ones.
static bool is_first(const planner *p) { return isinf(p->out->cost) && p->tries < FIRST; }

static egraph_status try_baseline(planner *p, eg_competition *competition, contender *c,
                                  double steps) {
  eg_fitted_plan plan;
  eg_baseline_obstacle obstacle;
  char name[EG_RIVAL_NAME_SIZE];
  EG_TRY(eg_axis_roles_name(p->alloc, &c->roles, &p->mesh, sizeof name, name));
  uint64_t work = competition->layout.work_limit;
  competition->layout.work_limit = (uint64_t)fmin(fmax(steps, 1), 1e18);
  double patience = p->asked.by_work ? remaining(p).time_limit_seconds
                                     : PATIENCE * steps / STEPS_PER_SECOND;
  competition->layout.time_limit_seconds =
      is_first(p) ? patience : fmin(patience, remaining(p).time_limit_seconds);
  p->tries++;
  p->at_work = c;
  competition->seed = &p->seed; // where it keeps to the roles
  EG_TRY(eg_compete_baseline(competition, &c->roles, &obstacle, &plan));
  competition->seed = NULL;
  competition->layout.work_limit = work;
  p->at_work = NULL;
  egraph_status status = note_outcome(p, c, name, &obstacle, &plan);
  note_least(p, &plan);
  if (plan.has_plan) c->cost = fmin(c->cost, plan.cost);
  c->is_large = plan.has_plan && plan.memory > p->input->info->memory_limit;
  if (status == EGRAPH_OK && may_be_dearer(p)) status = let_win(p, name, &plan);
  c->status = plan.status;
  c->bound = fmax(c->bound, plan.bound);
  eg_fitted_plan_deinit(&plan);
  return status;
}

static egraph_status list_contenders(planner *p) {
  eg_axis_roles_list all;
  const eg_step_info *info = &p->info;
  eg_axis_roles_list_init(&all, p->alloc);
  egraph_status status = eg_baselines_of_mesh(&p->mesh, info->gradient_count != 0,
                                              info->micro_batches, &all);
  for (size_t i = 0; status == EGRAPH_OK && i < all.len; i++) {
    contender mine = {.roles = all.data[i],
                      .is_fewer = eg_axis_roles_are_free(&all.data[i]),
                      .number = (uint32_t)i,
                      .outcome = eg_axis_roles_baseline(&all.data[i], &p->mesh),
                      .cost = INFINITY,
                      .status = EG_LAYOUT_UNKNOWN};
    status = contenders_push(&p->contenders, mine);
  }
  eg_axis_roles_list_deinit(&all);
  return status;
}

static int cheapest_first(const void *a, const void *b) {
  const contender *first = a, *second = b;
  if (first->cost != second->cost) return first->cost < second->cost ? -1 : 1;
  return (first->number > second->number) - (first->number < second->number);
}

/// Plans a baseline in so many steps, unless it is settled or the time is over.
static egraph_status try_open(planner *p, eg_competition *competition, contender *c,
                              double steps) {
  if (is_settled(p, c) || p->is_cancelled || is_given_up(p)) return EGRAPH_OK;
  double spent = eg_clock_seconds() - p->start;
  double share = p->out->has_plan ? CLOCK_SHARE[p->stage] : 1;
  bool is_late = !is_first(p) && spent > share * p->asked.time_limit_seconds;
  if (is_late && !is_asked(p, c)) {
    p->out->untried += is_after_search(p);
    return EGRAPH_OK;
  }
  // One device has one layout: what it takes is always known.
  bool beyond = competition->beyond_memory;
  competition->beyond_memory = beyond || c->outcome == EG_BASELINE_SINGLE;
  competition->only_fitting = !competition->beyond_memory;
  egraph_status status = try_baseline(p, competition, c, steps);
  competition->beyond_memory = beyond;
  competition->only_fitting = false;
  return status;
}

/// Plans each baseline that is not settled in an equal part of a share of all steps,
/// which is at most `most` and at least so many.
static egraph_status try_baselines(planner *p, eg_competition *competition, double share,
                                   double most, double least) {
  size_t open = 0;
  for (size_t i = 0; i < p->contenders.len; i++)
    open += !is_settled(p, &p->contenders.data[i]);
  double part = fmin(share / (double)(open != 0 ? open : 1), most);
  double steps = share_of_steps(p, part, least);
  for (size_t i = 0; i < p->contenders.len; i++)
    EG_TRY(try_open(p, competition, &p->contenders.data[i], steps));
  return EGRAPH_OK;
}

/// Searches for fewer devices.
static egraph_status try_fewer(planner *p, eg_competition *competition) {
  double steps = share_of_steps(p, FEWER_SHARE, LEAST_FEWER_STEPS);
  for (size_t i = 0; i < p->contenders.len; i++)
    if (p->contenders.data[i].is_fewer)
      EG_TRY(try_open(p, competition, &p->contenders.data[i], steps));
  return EGRAPH_OK;
}

// ---- before the search --------------------------------------------------------------

/// Baselines of the graph as it was given.
static egraph_status seed_baselines(planner *p, eg_competition *competition) {
  p->stage = SEEDING;
  competition->layout.relative_gap = fmax(p->asked.relative_gap, ROUGH_GAP);
  EG_TRY(try_baselines(p, competition, ROUGH_SHARE, 1, LEAST_ROUGH_STEPS));
  competition->layout.relative_gap = p->asked.relative_gap;
  EG_TRY(try_fewer(p, competition));
  EG_TRY(try_baselines(p, competition, FINE_SHARE, MOST_FINE_SHARE, 0));
  if (p->contenders.len > 1)
    qsort(p->contenders.data, p->contenders.len, sizeof *p->contenders.data,
          cheapest_first);
  return EGRAPH_OK;
}

/// The cheapest plan of one graph, which the competition holds.
static egraph_status plan_graph(planner *p, eg_competition *competition) {
  eg_fitted_plan plan;
  p->stage = GIVEN_GRAPH;
  competition->layout.time_limit_seconds = GIVEN_SHARE * remaining(p).time_limit_seconds;
  competition->layout.work_limit = eg_work_share(p->asked.work_limit, GIVEN_WORK);
  competition->seed = &p->seed;
  EG_TRY(eg_compete_given(competition, &plan));
  competition->seed = NULL;
  competition->layout.work_limit = p->asked.work_limit;
  note_least(p, &plan);
  egraph_status status = let_win(p, "", &plan);
  eg_fitted_plan_deinit(&plan);
  return status;
}

/// With what rules have made, the baseline that is cheapest without, and fewer devices.
static egraph_status seed_variants(planner *p, eg_competition *competition) {
  p->stage = SEEDING_VARIANTS;
  for (size_t i = 0; i < p->contenders.len; i++) { // variants may be cheaper
    p->contenders.data[i].status = EG_LAYOUT_UNKNOWN;
    p->contenders.data[i].bound = 0;
  }
  if (p->contenders.len == 0) return EGRAPH_OK;
  EG_TRY(try_fewer(p, competition));
  return try_open(p, competition, &p->contenders.data[0],
                  share_of_steps(p, MOST_FINE_SHARE, 0));
}

/// The cheapest plan of the graph as it was given: none with what rules made is dearer.
static egraph_status seed_given(planner *p, eg_competition *competition) {
  eg_plan_algebra given;
  EG_TRY(eg_plan_algebra_original(&given, p->alloc, p->egraph));
  competition->algebra = &given;
  egraph_status status = seed_baselines(p, competition);
  if (status == EGRAPH_OK && !p->is_cancelled) status = plan_graph(p, competition);
  competition->algebra = NULL;
  eg_plan_algebra_deinit(&given);
  EG_TRY(status);
  return seed_variants(p, competition);
}

/// Plans for the search to begin with. Where rules have made variants, the graph is held
/// as it was given, then improved in turn with its layouts (plan_algebra.h).
static egraph_status find_seed(planner *p, eg_competition *competition, eg_u32s *known) {
  bool is_known = known->len != 0;
  if (p->input->baseline != NULL || p->input->is_alone) return EGRAPH_OK;
  if (!has_variants(p) || competition->algebra != NULL)
    return is_known ? EGRAPH_OK : seed_baselines(p, competition);
  if (!is_known) EG_TRY(seed_given(p, competition));
  if (!has_no_constraints(p) || p->is_cancelled) return EGRAPH_OK;
  eg_layout_options options = remaining(p);
  options.time_limit_seconds *= IMPROVING_SHARE;
  options.work_limit = eg_work_share(options.work_limit, IMPROVING_WORK);
  options.progress = report_planner_progress;
  options.user = p;
  known->len = 0;
  return eg_plan_improve(p->alloc, competition->space, &options, &p->seed, p->out->cost,
                         known);
}

/// The known plan among the choices of the space, if it is all there.
static egraph_status recall_known(planner *p, const eg_plan_space *space,
                                  eg_u32s *known) {
  if (p->input->known == NULL) return EGRAPH_OK;
  EG_TRY(eg_plan_choices_recall(&p->seed, p->alloc, space, p->input->known, known));
  if (known->len != 0) p->out->cost = p->known_cost = p->input->known_cost;
  return EGRAPH_OK;
}

// ---- the search ---------------------------------------------------------------------

/// What the search has found, and its proofs; a plan from before that is cheaper stays.
static egraph_status conclude_search(planner *p, eg_fitted_plan *found) {
  eg_planning *out = p->out;
  bool stays = out->has_plan && !(found->has_plan && found->cost <= out->cost);
  out->status = found->status;
  out->bound = fmax(found->bound, p->floor);
  out->gap = found->gap;
  note_least(p, found);
  bool is_large = found->has_plan && found->memory > p->input->info->memory_limit;
  if (p->is_lifted && !stays && is_large) {
    eg_plan_choices_deinit(&p->seed);
    p->seed = found->choices;
    eg_plan_choices_init(&found->choices, p->alloc);
  }
  out->places = found->places;
  out->arcs = found->arcs;
  if (!stays) take_plan(p, found);
  if (!out->has_plan) return EGRAPH_OK;
  EG_TRY(eg_proof_check_bound("plan of a mesh", out->bound, out->cost));
  eg_planning_judge(out);
  return EGRAPH_OK;
}

static egraph_status search_layouts(planner *p, const eg_competition *competition) {
  eg_fitted_plan found;
  p->stage = SEARCHING;
  memset(found.price, 0, sizeof found.price);
  EG_TRY(p->input->baseline != NULL
             ? eg_compete_named(competition, p->input->baseline, &found)
             : eg_compete_search(competition, &found));
  memcpy(p->price, found.price, sizeof p->price);
  egraph_status status = conclude_search(p, &found);
  eg_fitted_plan_deinit(&found);
  return status;
}

// Of what is wanted for the whole step: the time for each mate; how near to the cheapest
// they must be.
static const double MATE_SHARE = 0.3, MATE_GAP = 1e-3;
static const double NEAR_LIMIT = 0.5; // of memory: from there on a limit may bind

/// What tells of the whole step that this one is the folded one of.
static egraph_status cut_folded(planner *p, eg_competition *competition) {
  double seconds = p->input->cut_seconds, limit = competition->layout.time_limit_seconds;
  uint64_t work = p->input->cut_work;
  eg_cut result;
  if (!(seconds > 0) || p->is_cancelled || p->input->baseline != NULL ||
      competition->algebra != NULL)
    return EGRAPH_OK;
  p->stage = CUTTING;
  double memory = p->out->has_plan ? p->out->memory : INFINITY;
  bool may_bind =
      memory > NEAR_LIMIT * p->info.memory_limit && !(p->out->gap <= MATE_GAP);
  double share = may_bind ? 1 - 2 * MATE_SHARE : 1;
  competition->layout.time_limit_seconds = share * seconds;
  competition->layout.work_limit = eg_work_share(work, share);
  double cost = p->out->has_plan ? p->out->cost : INFINITY;
  EG_TRY(eg_compete_cut(competition, p->price, cost, may_bind, &result));
  p->out->cut_bound = fmax(p->out->cut_bound, result.bound);
  competition->layout.time_limit_seconds = MATE_SHARE * seconds;
  competition->layout.work_limit = eg_work_share(work, MATE_SHARE);
  competition->layout.relative_gap = fmax(p->asked.relative_gap, MATE_GAP);
  if (may_bind)
    EG_TRY(
        eg_compete_mates(competition, result.price, p->out->mates, &p->out->has_mates));
  for (int m = 0; m < EG_MATES && p->out->has_mates; m++)
    eg_unit_axes_restore(&p->out->mates[m].plan, &p->input->mesh->mesh);
  competition->layout.relative_gap = p->asked.relative_gap;
  competition->layout.time_limit_seconds = limit;
  competition->layout.work_limit = p->asked.work_limit;
  return EGRAPH_OK;
}

/// The search, from the plans on that are known, and what it tells of the whole step.
static egraph_status search_and_cut(planner *p, eg_competition *competition,
                                    const eg_u32s *known) {
  double limit = remaining(p).time_limit_seconds;
  bool is_alone = p->input->baseline != NULL && !p->input->compares;
  competition->layout.time_limit_seconds = is_alone ? limit : limit * (1 - KEPT_SHARE);
  if (known->len != 0) competition->layout.incumbent = known->data;
  if (has_variants(p) && !p->input->is_alone)
    competition->layout.work_limit = eg_work_share(p->asked.work_limit, VARIANTS_WORK);
  if (p->is_lifted && !plan_fits_memory(p)) {
    competition->layout.time_limit_seconds *= 1 - LIMITED_SHARE;
    competition->layout.work_limit =
        eg_work_share(competition->layout.work_limit, 1 - LIMITED_SHARE);
  }
  competition->seed = &p->seed;
  EG_TRY(search_layouts(p, competition));
  competition->layout.incumbent = NULL;
  competition->layout.work_limit = p->asked.work_limit;
  competition->seed = NULL;
  return p->is_lifted && !plan_fits_memory(p) ? EGRAPH_OK : cut_folded(p, competition);
}

/// Baselines that may be cheaper than the plan, and those that the user asked for.
static egraph_status compare_baselines(planner *p, eg_competition *competition) {
  bool is_proven = p->out->has_plan ? p->out->status == EG_LAYOUT_OPTIMAL
                                    : p->out->status != EG_LAYOUT_UNKNOWN;
  p->stage = p->input->baseline != NULL || is_proven ? COMPARING : CONTESTING;
  competition->beyond_memory = p->input->compares;
  if (p->input->is_alone) return EGRAPH_OK;
  return try_baselines(p, competition, KEPT_SHARE, 1, LEAST_STEPS);
}

/// Of baselines that were planned without the limit, those have to be planned again that
/// exceed it, or all. One device has no plan that holds less.
static void forget_plans(planner *p, bool all) {
  for (size_t i = 0; i < p->contenders.len; i++) {
    contender *c = &p->contenders.data[i];
    bool is_large = c->is_large && c->outcome != EG_BASELINE_SINGLE;
    if (!(all || is_large) || c->status == EG_LAYOUT_INFEASIBLE) continue;
    c->status = EG_LAYOUT_UNKNOWN;
    c->cost = INFINITY;
    p->out->baseline[c->outcome] = (eg_baseline_outcome){.is_tried = false};
  }
}

/// The graph of the plan that exceeds the limit, which differs from the given one.
static egraph_status note_loose(planner *p, const eg_plan_space *space) {
  eg_u32s ignored;
  bool is_asked =
      p->input->baseline != NULL || p->input->is_alone || p->input->algebra_first;
  if (is_asked || !has_variants(p) || p->seed.len == 0) return EGRAPH_OK;
  eg_u32s_init(&ignored, p->alloc);
  egraph_status s = eg_plan_algebra_of(&p->loose, p->alloc, space, &p->seed, &ignored);
  eg_u32s_deinit(&ignored);
  return s;
}

/// The cheapest plan of that graph within the limit.
static egraph_status plan_loose(planner *p, eg_competition *competition) {
  competition->algebra = &p->loose;
  egraph_status status = plan_graph(p, competition);
  competition->algebra = NULL;
  return status;
}

/// Begins anew within the limit, with the bounds that are known.
static egraph_status begin_within(planner *p, eg_competition *competition) {
  eg_planning *out = p->out;
  EG_TRY(note_loose(p, competition->space));
  double spent = eg_clock_seconds() - p->start;
  if (out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  out->has_plan = false;
  out->cost = p->known_cost;
  out->exceeds = true;
  p->floor = out->bound;
  p->tries = 0;
  p->start += spent;
  p->asked.time_limit_seconds = fmax(p->asked.time_limit_seconds - spent, LEAST_SECONDS);
  uint64_t least = eg_work_share(p->asked.work_limit, LIMITED_SHARE);
  bool is_more = p->asked.work_limit > p->done + least;
  p->asked.work_limit = is_more ? p->asked.work_limit - p->done : least;
  competition->layout.work_limit = p->asked.work_limit;
  return EGRAPH_OK;
}

/// What others have found without the limit, as if it had been found here.
static egraph_status recall_loose(planner *p, const eg_plan_space *space) {
  eg_u32s ignored;
  p->floor = p->out->bound = p->input->floor;
  if (p->input->loose == NULL) return EGRAPH_OK;
  eg_u32s_init(&ignored, p->alloc);
  p->seed.len = 0; // of the known plan, which the search has as strategies
  egraph_status status =
      eg_plan_choices_recall(&p->seed, p->alloc, space, p->input->loose, &ignored);
  if (status == EGRAPH_OK && ignored.len != 0) status = note_loose(p, space);
  eg_u32s_deinit(&ignored);
  return status;
}

/// Without the limit of memory, then, where the plan does not fit, within it.
static egraph_status search_all(planner *p, eg_competition *competition, eg_u32s *known) {
  EG_TRY(list_contenders(p));
  EG_TRY(recall_known(p, competition->space, known));
  bool is_known = known->len != 0;
  p->is_lifted = isfinite(p->info.memory_limit) && !p->input->binds;
  if (p->is_lifted) {
    p->info.memory_limit = INFINITY;
    if (!is_known) EG_TRY(find_seed(p, competition, known));
    EG_TRY(search_and_cut(p, competition, known));
    p->info.memory_limit = p->input->info->memory_limit;
    p->is_lifted = false;
    bool is_over =
        plan_fits_memory(p) || p->out->status == EG_LAYOUT_INFEASIBLE || p->is_cancelled;
    forget_plans(p, !is_over);
    if (is_over) return compare_baselines(p, competition);
    EG_TRY(begin_within(p, competition));
    if (!is_known) known->len = 0;
  } else if (p->input->binds) {
    EG_TRY(recall_loose(p, competition->space));
  }
  if (p->loose.is_found) EG_TRY(plan_loose(p, competition));
  if (p->out->has_plan) known->len = 0; // it is cheaper
  if (!is_known) EG_TRY(find_seed(p, competition, known));
  EG_TRY(search_and_cut(p, competition, known));
  return compare_baselines(p, competition);
}

/// Whether a bound of the whole step shows that every plan is at the ceiling or above.
static egraph_status probe_ceiling(planner *p, const eg_competition *competition) {
  const eg_planner_input *input = p->input;
  double bound;
  if (!(input->ceiling > 0) || input->is_alone || input->baseline != NULL)
    return EGRAPH_OK;
  EG_TRY(eg_compete_probe(competition, input->ceiling, input->cut_seconds > 0, &bound));
  p->out->is_beaten = bound >= input->ceiling;
  if (p->out->is_beaten) p->out->bound = p->out->cut_bound = bound;
  return EGRAPH_OK;
}

static eg_competition competition_of(const planner *p, const eg_plan_space *space,
                                     const eg_plan_algebra *algebra) {
  return (eg_competition){.alloc = p->alloc,
                          .space = space,
                          .constraints = p->input->constraints,
                          .algebra = algebra,
                          .layout = p->asked,
                          .mesh = &p->input->mesh->mesh};
}

static egraph_status solve_layouts(planner *p, const eg_plan_space *space,
                                   const eg_plan_algebra *algebra) {
  eg_competition competition = competition_of(p, space, algebra);
  eg_u32s known;
  double start = eg_clock_seconds();
  competition.layout.progress = report_planner_progress;
  competition.layout.user = p;
  eg_u32s_init(&known, p->alloc);
  eg_plan_choices_init(&p->seed, p->alloc);
  contenders_init(&p->contenders, p->alloc);
  egraph_status status = probe_ceiling(p, &competition);
  if (status == EGRAPH_OK && !p->out->is_beaten)
    status = search_all(p, &competition, &known);
  bool is_memory = !p->out->has_plan && p->least > p->input->info->memory_limit;
  if (is_memory) p->out->least_memory = p->least;
  contenders_deinit(&p->contenders);
  eg_plan_choices_deinit(&p->seed);
  if (p->loose.is_found) eg_plan_algebra_deinit(&p->loose);
  eg_u32s_deinit(&known);
  p->out->solve_seconds = eg_clock_seconds() - start;
  return status;
}

/// The plan of another search, as it is.
static egraph_status solve_by(planner *p, const eg_plan_space *space,
                              const eg_plan_algebra *algebra) {
  const eg_machine_mesh mesh = eg_unit_axes_drop(p->input->mesh);
  const eg_competition competition = competition_of(p, space, algebra);
  eg_plan_question question = {.alloc = p->alloc,
                               .mesh = &mesh,
                               .memory_limit = p->info.memory_limit,
                               .layout = remaining(p),
                               .seed = p->input->seed};
  eg_fitted_plan found;
  double start = eg_clock_seconds();
  p->stage = SEARCHING;
  question.layout.progress = report_planner_progress;
  question.layout.user = p;
  egraph_status status = eg_compete_by(&competition, p->input->searcher, &question,
                                       &found, &p->out->searched);
  if (status == EGRAPH_OK) {
    p->out->status = found.status;
    take_plan(p, &found);
    p->out->gap = 1;
  }
  eg_fitted_plan_deinit(&found);
  p->out->solve_seconds = eg_clock_seconds() - start;
  return status;
}

static egraph_status mix(planner *p, const eg_plan_space *space) {
  double start = eg_clock_seconds();
  eg_mix_input input = {.kinds = p->kinds,
                        .memory_limit = p->info.memory_limit,
                        .deadline = p->start + p->asked.time_limit_seconds};
  memcpy(input.kind, p->kind, p->kinds * sizeof *p->kind);
  EG_TRY(eg_planning_mix(p->out, p->alloc, space, &input, &p->input->mesh->mesh));
  p->out->solve_seconds = eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static egraph_status certify_claim(planner *p, const eg_plan_space *space,
                                   const eg_plan_algebra *algebra) {
  eg_competition competition = competition_of(p, space, algebra);
  competition.layout = remaining(p);
  eg_axis_roles roles;
  const char *baseline = p->input->baseline;
  if (baseline != NULL)
    EG_TRY(eg_axis_roles_parse(baseline, &p->input->mesh->mesh, &roles));
  p->certificate->is_all = p->out->stop == EG_STOP_SATURATED;
  return eg_compete_certify(&competition, baseline != NULL ? &roles : NULL, p->claim,
                            p->certificate);
}

static egraph_status plan_with(planner *p, eg_machine_costs *costs,
                               const eg_plan_algebra *algebra) {
  eg_plan_costs asked = eg_machine_plan_costs(costs);
  eg_plan_space space;
  double start = eg_clock_seconds();
  EG_TRY(eg_plan_space_init(&space, p->alloc, p->egraph, &p->info, &costs->mesh->mesh,
                            &asked));
  p->out->space_seconds = eg_clock_seconds() - start;
  p->out->is_exact = space.is_exact;
  for (size_t s = 0; s < space.strategies.len; s++)
    p->out->compared[space.strategies.data[s].basis]++;
  egraph_status status = p->claim != NULL             ? certify_claim(p, &space, algebra)
                         : p->kinds != 0              ? mix(p, &space)
                         : p->input->searcher != NULL ? solve_by(p, &space, algebra)
                                                      : solve_layouts(p, &space, algebra);
  eg_plan_space_deinit(&space);
  return status;
}

static egraph_status plan(planner *p) {
  eg_machine_mesh mesh = eg_unit_axes_drop(p->input->mesh);
  eg_machine_costs costs = {.mesh = &mesh, .weights = p->input->weights};
  p->mesh = mesh.mesh;
  EG_TRY(eg_device_cost_init(&costs.device, p->input->machine, p->input->costs));
  costs.device.plain_only = p->input->plain_only;
  EG_TRY(saturate_step(p));
  if (!p->input->algebra_first) return plan_with(p, &costs, NULL);
  eg_plan_algebra algebra;
  eg_layout_options options = remaining(p);
  EG_TRY(eg_plan_algebra_cheapest(&algebra, p->alloc, p->egraph, &p->info, &costs.device,
                                  &options));
  egraph_status status = algebra.is_found ? plan_with(p, &costs, &algebra) : EGRAPH_OK;
  eg_plan_algebra_deinit(&algebra);
  return status;
}

static egraph_status run_planner(planner *p) {
  p->start = eg_clock_seconds();
  p->info = *p->input->info;
  p->known_cost = INFINITY;
  p->asked = p->input->layout;
  p->asked.done = &p->done;
  *p->out = (eg_planning){.status = EG_LAYOUT_UNKNOWN, .cost = INFINITY};
  egraph_status status = plan(p);
  if (p->input->layout.done != NULL) *p->input->layout.done += p->done;
  eg_tensor_egraph_destroy(p->egraph);
  if (status != EGRAPH_OK) eg_planning_deinit(p->out);
  return status;
}

egraph_status eg_planner_run(egraph_allocator alloc, const eg_planner_input *input,
                             eg_planning *out) {
  planner p = {.alloc = alloc, .input = input, .out = out};
  return run_planner(&p);
}

egraph_status eg_planner_mix(egraph_allocator alloc, const eg_planner_input *input,
                             const eg_plan *const *kind, uint32_t kinds,
                             eg_planning *out) {
  planner p = {.alloc = alloc, .input = input, .out = out, .kind = kind, .kinds = kinds};
  return run_planner(&p);
}

egraph_status eg_planner_certify(egraph_allocator alloc, const eg_planner_input *input,
                                 const eg_plan_claim *claim, eg_plan_certificate *out) {
  eg_planning ignored;
  planner p = {.alloc = alloc,
               .input = input,
               .out = &ignored,
               .claim = claim,
               .certificate = out};
  return run_planner(&p);
}
