// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/planner_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "optimize/space/layout_graph.h"

// ---- the planner's plan -------------------------------------------------------------

eg_layout_options eg_planner_remaining(const eg_planner *p) {
  eg_layout_options options = p->budget;
  options.time_limit_seconds = fmax(
      options.time_limit_seconds - (eg_clock_seconds() - p->start), EG_LEAST_SECONDS);
  return options;
}

static bool is_after_search(const eg_planner *p) {
  return p->stage >= EG_PLANNER_CONTESTING;
}

/// True in stages of the planner in which its plan may still be dearer than a baseline.
static bool may_be_dearer(const eg_planner *p) {
  return p->stage <= EG_PLANNER_SEEDING_VARIANTS || p->stage == EG_PLANNER_CONTESTING;
}

/// True when the user asked for the cost of a baseline, not only for a cheaper plan.
static bool is_compared(const eg_planner *p, const eg_contender *c) {
  return p->input->compares && c->outcome != EG_BASELINE_OTHER;
}

bool eg_planner_progress(void *planner, double cost, double bound, double seconds) {
  eg_planner *p = planner;
  const eg_layout_options *budget = &p->budget;
  bool is_searching = p->stage == EG_PLANNER_SEARCHING;
  bool may_lose = p->current != NULL && may_be_dearer(p) &&
                  !(is_after_search(p) && is_compared(p, p->current));
  bool is_beaten = is_searching && p->input->ceiling > 0 && bound >= p->input->ceiling;
  bool has_lost = is_beaten || (may_lose && bound >= p->out->cost);
  if (p->is_cancelled || budget->progress == NULL) return p->is_cancelled || has_lost;
  if (!is_searching) bound = p->out->bound;
  cost = is_searching ? fmin(cost, p->out->cost) : p->out->cost;
  p->is_cancelled = budget->progress(budget->user, cost, bound, seconds);
  return p->is_cancelled || has_lost;
}

bool eg_planner_fits(const eg_planner *p) {
  return p->out->has_plan && p->out->memory <= p->input->info->memory_limit;
}

bool eg_planner_is_free(const eg_planner *p) {
  return p->input->constraints == NULL || p->input->constraints->rows.len == 0;
}

void eg_planner_note_least(eg_planner *p, const eg_fitted_plan *plan) {
  double least = plan->has_plan ? plan->memory : plan->least_memory;
  if (!(least > 0)) return;
  if (!(p->least > 0 && p->least <= least)) p->least = least;
}

void eg_planner_take(eg_planner *p, eg_fitted_plan *plan) {
  assert(!plan->has_plan || plan->emitted.graph != NULL);
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

egraph_status eg_planner_let_win(eg_planner *p, const char *name, eg_fitted_plan *plan) {
  eg_planning *out = p->out;
  bool is_in = plan->has_plan && plan->memory <= p->info.memory_limit;
  if (!is_in || plan->cost >= out->cost) return EGRAPH_OK;
  EG_TRY(eg_proof_check_bound(name, out->bound, plan->cost));
  eg_planner_take(p, plan);
  eg_plan_choices_deinit(&p->seed);
  p->seed = plan->choices;
  eg_plan_choices_init(&plan->choices, p->alloc);
  assert(strlen(name) < sizeof out->seed);
  memcpy(out->seed, name, strlen(name) + 1);
  out->status = EG_LAYOUT_FEASIBLE;
  out->gap = out->cost > 0 ? (out->cost - out->bound) / out->cost : 0;
  return EGRAPH_OK;
}

// ---- one baseline -------------------------------------------------------------------

// Shares of the work of all stages: for the baselines together, and at most for each; the
// least work of each if work is ample (otherwise in proportion); and the gap at which
// they stop.
typedef struct contest_budget {
  double together, each, least_steps, gap;
} contest_budget;
static const contest_budget ROUGH = {0.15, 1, 1e8, 0.01},
                            FEWER_DEVICES = {INFINITY, 0.1, 1e9, 0},
                            FINE = {0.4, 0.04, 0, 0},
                            CHEAPEST_AGAIN = {INFINITY, 0.04, 0, 0},
                            AFTER_SEARCH = {0.1, 1, 2.5e8, 0};
// Shares of the time limit, by stage of the planner. After this time no baseline is
// begun, because a baseline may take much longer than expected.
static const double CLOCK_SHARE[] = {[EG_PLANNER_SEEDING] = 0.4,
                                     [EG_PLANNER_SEEDING_VARIANTS] = 0.6,
                                     [EG_PLANNER_CONTESTING] = 1.0,
                                     [EG_PLANNER_COMPARING] = 1.0};
static const double AMPLE_STEPS = 4e9;
static const double PATIENCE = 20.0; // seconds for a second's steps, on a busy machine
enum { FIRST = 3 }; // baselines planned at any time while there is no plan
// Planning without the limit of memory gives up after this share of the time.
static const double LIFTED_SHARE = 0.5;

/// Returns the limit of work for each of `count` baselines.
static double steps_of_each(const eg_planner *p, const contest_budget *budget,
                            size_t count) {
  const eg_layout_options *asked = &p->budget;
  double share = fmin(budget->together / (double)(count != 0 ? count : 1), budget->each);
  double all = asked->work_limit != 0 ? (double)asked->work_limit
                                      : EG_STEPS_PER_SECOND * asked->time_limit_seconds;
  return fmax(share * all, budget->least_steps * fmin(all / AMPLE_STEPS, 1));
}

/// True when no plan has fitted after a long time without the limit of memory.
static bool is_given_up(const eg_planner *p) {
  double spent = eg_clock_seconds() - p->start;
  return p->is_lifted && !eg_planner_fits(p) &&
         spent > LIFTED_SHARE * p->budget.time_limit_seconds;
}

/// True when planning the baseline again would change nothing.
static bool is_settled(const eg_planner *p, const eg_contender *c) {
  bool is_proven = c->status == EG_LAYOUT_OPTIMAL || c->status == EG_LAYOUT_INFEASIBLE ||
                   (c->status == EG_LAYOUT_NO_MEMORY && !is_compared(p, c));
  bool is_wanted = is_compared(p, c) || (may_be_dearer(p) && c->bound < p->out->cost) ||
                   (c->outcome == EG_BASELINE_SINGLE && c->status == EG_LAYOUT_UNKNOWN);
  return is_proven || !is_wanted;
}

/// True when a baseline is planned even if the time is over: none has given a plan yet.
static bool is_first(const eg_planner *p) {
  return isinf(p->out->cost) && p->tries < FIRST;
}

static egraph_status note_outcome(eg_planner *p, const eg_contender *c, const char *name,
                                  const eg_baseline_obstacle *obstacle,
                                  const eg_fitted_plan *plan) {
  eg_baseline_outcome *outcome = &p->out->baseline[c->outcome];
  bool is_news = c->outcome != EG_BASELINE_OTHER && !outcome->has_summary;
  if (!is_news && !(plan->cost < outcome->cost)) return EGRAPH_OK;
  if (plan->has_plan && c->outcome == EG_BASELINE_SINGLE && eg_planner_is_free(p))
    p->out->single_seconds = plan->cost;
  return eg_baseline_outcome_note(outcome, p->alloc, name, obstacle, plan);
}

static egraph_status try_baseline(eg_planner *p, eg_competition *competition,
                                  eg_contender *c, double steps) {
  EG_LOCAL(eg_fitted_plan, plan, p->alloc);
  eg_baseline_obstacle obstacle;
  char name[EG_RIVAL_NAME_SIZE];
  EG_TRY(eg_axis_roles_name(p->alloc, &c->roles, &p->mesh, sizeof name, name));
  double left = eg_planner_remaining(p).time_limit_seconds;
  double patience = p->budget.by_work ? left : PATIENCE * steps / EG_STEPS_PER_SECOND;
  eg_competition own = *competition;
  own.layout.work_limit = (uint64_t)fmin(fmax(steps, 1), 1e18);
  own.layout.time_limit_seconds = is_first(p) ? patience : fmin(patience, left);
  own.seed = &p->seed; // used if it obeys the roles
  p->tries++;
  p->current = c;
  EG_TRY(eg_compete_baseline(&own, &c->roles, &obstacle, &plan));
  p->current = NULL;
  EG_TRY(note_outcome(p, c, name, &obstacle, &plan));
  eg_planner_note_least(p, &plan);
  c->status = plan.status;
  c->bound = fmax(c->bound, plan.bound);
  if (plan.has_plan) c->cost = fmin(c->cost, plan.cost);
  c->is_large = plan.has_plan && plan.memory > p->input->info->memory_limit;
  return may_be_dearer(p) ? eg_planner_let_win(p, name, &plan) : EGRAPH_OK;
}

/// Plans a baseline in `steps` of work, unless its result is final or the time is over.
static egraph_status try_open(eg_planner *p, eg_competition *competition, eg_contender *c,
                              double steps) {
  if (is_settled(p, c) || p->is_cancelled || is_given_up(p)) return EGRAPH_OK;
  double spent = eg_clock_seconds() - p->start;
  double share = p->out->has_plan ? CLOCK_SHARE[p->stage] : 1;
  bool is_late = !is_first(p) && spent > share * p->budget.time_limit_seconds;
  if (is_late && !is_compared(p, c)) {
    p->out->untried += is_after_search(p);
    return EGRAPH_OK;
  }
  // On one device there is one layout: the cost is always known.
  eg_competition own = *competition;
  own.beyond_memory = own.beyond_memory || c->outcome == EG_BASELINE_SINGLE;
  own.only_fitting = !own.beyond_memory;
  return try_baseline(p, &own, c, steps);
}

/// Plans each baseline whose result is not yet final.
static egraph_status try_all(eg_planner *p, eg_competition *competition,
                             const contest_budget *budget) {
  eg_competition own = *competition;
  size_t open = 0;
  own.layout.relative_gap = fmax(own.layout.relative_gap, budget->gap);
  for (size_t i = 0; i < p->contenders.len; i++)
    open += !is_settled(p, &p->contenders.data[i]);
  double steps = steps_of_each(p, budget, open);
  for (size_t i = 0; i < p->contenders.len; i++)
    EG_TRY(try_open(p, &own, &p->contenders.data[i], steps));
  return EGRAPH_OK;
}

static egraph_status try_fewer_devices(eg_planner *p, eg_competition *competition) {
  double steps = steps_of_each(p, &FEWER_DEVICES, 1);
  for (size_t i = 0; i < p->contenders.len; i++)
    if (p->contenders.data[i].is_fewer)
      EG_TRY(try_open(p, competition, &p->contenders.data[i], steps));
  return EGRAPH_OK;
}

// ---- all of them --------------------------------------------------------------------

egraph_status eg_contest_list(eg_planner *p) {
  EG_LOCAL(eg_axis_roles_list, all, p->alloc);
  EG_TRY(eg_baselines_of_mesh(&p->mesh, p->info.gradient_count != 0,
                              p->info.micro_batches, &all));
  for (size_t i = 0; i < all.len; i++) {
    eg_contender mine = {.roles = all.data[i],
                         .is_fewer = eg_axis_roles_are_free(&all.data[i]),
                         .number = (uint32_t)i,
                         .outcome = eg_axis_roles_baseline(&all.data[i], &p->mesh),
                         .cost = INFINITY,
                         .status = EG_LAYOUT_UNKNOWN};
    EG_TRY(eg_contenders_push(&p->contenders, mine));
  }
  return EGRAPH_OK;
}

static int compare_costs(const void *a, const void *b) {
  const eg_contender *first = a, *second = b;
  if (first->cost != second->cost) return first->cost < second->cost ? -1 : 1;
  return (first->number > second->number) - (first->number < second->number);
}

egraph_status eg_contest_seed(eg_planner *p, eg_competition *competition) {
  p->stage = EG_PLANNER_SEEDING;
  EG_TRY(try_all(p, competition, &ROUGH));
  EG_TRY(try_fewer_devices(p, competition));
  EG_TRY(try_all(p, competition, &FINE));
  if (p->contenders.len > 1)
    qsort(p->contenders.data, p->contenders.len, sizeof *p->contenders.data,
          compare_costs);
  return EGRAPH_OK;
}

egraph_status eg_contest_seed_variants(eg_planner *p, eg_competition *competition) {
  assert(competition->algebra == NULL);
  p->stage = EG_PLANNER_SEEDING_VARIANTS;
  for (size_t i = 0; i < p->contenders.len; i++) { // variants may be cheaper
    p->contenders.data[i].status = EG_LAYOUT_UNKNOWN;
    p->contenders.data[i].bound = 0;
  }
  if (p->contenders.len == 0) return EGRAPH_OK;
  EG_TRY(try_fewer_devices(p, competition));
  return try_open(p, competition, &p->contenders.data[0],
                  steps_of_each(p, &CHEAPEST_AGAIN, 1));
}

void eg_contest_forget(eg_planner *p, bool all) {
  for (size_t i = 0; i < p->contenders.len; i++) {
    eg_contender *c = &p->contenders.data[i];
    bool is_large = c->is_large && c->outcome != EG_BASELINE_SINGLE;
    if (!(all || is_large) || c->status == EG_LAYOUT_INFEASIBLE) continue;
    c->status = EG_LAYOUT_UNKNOWN;
    c->cost = INFINITY;
    p->out->baseline[c->outcome] = (eg_baseline_outcome){.is_tried = false};
  }
}

egraph_status eg_contest_close(eg_planner *p, eg_competition *competition) {
  bool is_proven = p->out->has_plan ? p->out->status == EG_LAYOUT_OPTIMAL
                                    : p->out->status != EG_LAYOUT_UNKNOWN;
  p->stage = p->input->baseline != NULL || is_proven ? EG_PLANNER_COMPARING
                                                     : EG_PLANNER_CONTESTING;
  competition->beyond_memory = p->input->compares;
  if (p->input->is_alone) return EGRAPH_OK;
  return try_all(p, competition, &AFTER_SEARCH);
}
