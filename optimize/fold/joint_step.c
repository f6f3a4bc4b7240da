// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/joint_step.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/owner.h"
#include "base/proof.h"
#include "optimize/search/budget.h"

// Shares of the time limit: without the memory limit, and without rules. Work is whole.
static const double FREE_SHARE = 0.5, GIVEN_SHARE = 0.5;
static const double PRICED_SHARE = 0.8; // also of work, for a bound of another mesh
// If the bound without rules and groups is this many times the ceiling or more, rules
// cannot help, or groups cannot.
static const double BEYOND_RULES = 1.5, BEYOND_GROUPS = 4;

egraph_status eg_joint_step_init(eg_joint_step *joint, egraph_allocator alloc,
                                 const eg_whole_input *input, bool has_rules,
                                 bool has_groups) {
  *joint = (eg_joint_step){.memory = input->memory_limit};
  egraph_status status = eg_whole_step_create(alloc, input, has_rules, &joint->step);
  if (status != EGRAPH_OK || !(has_rules || has_groups)) return status;
  status = eg_whole_step_create(alloc, input, false, &joint->given);
  EG_RETURN_FILLED(status, eg_joint_step, joint);
}

void eg_joint_step_deinit(eg_joint_step *joint) {
  eg_whole_step_destroy(joint->given);
  eg_whole_step_destroy(joint->step);
  *joint = (eg_joint_step){.given = NULL};
}

static void limit_searches(eg_joint_step *joint, double bytes) {
  eg_whole_step_limit_memory(joint->step, bytes);
  if (joint->given != NULL) eg_whole_step_limit_memory(joint->given, bytes);
}

void eg_joint_step_limit_memory(eg_joint_step *joint, double bytes) {
  joint->memory = bytes;
  limit_searches(joint, bytes);
}

static bool outcome_fits(const eg_baseline_outcome *outcome) {
  return outcome->status == EG_LAYOUT_OPTIMAL || outcome->status == EG_LAYOUT_FEASIBLE;
}

/// Returns the smaller of two peaks, of those that are known (> 0).
static double smaller_peak(double a, double b) {
  if (a > 0 && b > 0) return fmin(a, b);
  return fmax(a, b);
}

/// Keeps, for each baseline (data parallel, ZeRO, ...), the cheaper of its two plans, and
/// the least peak of both searches.
static void join_outcomes(eg_planning *out, const eg_planning *given) {
  for (int b = 0; b < EG_BASELINE_OUTCOMES; b++) {
    const eg_baseline_outcome *with = &out->baseline[b], *without = &given->baseline[b];
    double least = smaller_peak(with->least_memory, without->least_memory);
    bool is_cheaper =
        outcome_fits(without) && !(outcome_fits(with) && with->cost <= without->cost);
    if (without->is_tried && (!with->is_tried || is_cheaper)) out->baseline[b] = *without;
    out->baseline[b].least_memory = least;
  }
  if (out->single_seconds == 0) out->single_seconds = given->single_seconds;
}

/// Replaces the plan found with rules, if any, by the plan found without rules.
static void take_given(eg_planning *out, eg_planning *given) {
  assert(given->has_plan);
  if (out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  out->has_plan = true;
  out->emitted = given->emitted;
  out->cost = given->cost;
  out->memory = given->memory;
  out->kept = given->kept;
  for (size_t i = 0; i < EG_RIVAL_NAME_SIZE; i++)
    out->seed[i] = given->seed[i];
  given->has_plan = false;
}

/// Joins the result of the search without rules to the result of the search with rules.
static egraph_status join_given(eg_planning *out, eg_planning *given) {
  join_outcomes(out, given);
  out->saturate_seconds += given->saturate_seconds;
  out->space_seconds += given->space_seconds;
  out->solve_seconds += given->solve_seconds;
  if (given->has_plan && !(out->has_plan && out->cost <= given->cost))
    take_given(out, given);
  out->least_memory = smaller_peak(out->least_memory, given->least_memory);
  if (out->is_as_given) out->bound = fmax(out->bound, given->bound);
  eg_planning_judge(out);
  return eg_proof_check_bound("plan with rules", out->bound,
                              out->has_plan ? out->cost : INFINITY);
}

/// Begins a search with a plan, unless a cheaper one is known.
static void take_known(eg_planner_input *inout, const eg_planning *found) {
  if (!found->has_plan) return;
  if (!(inout->known != NULL && inout->known_cost <= found->cost)) {
    inout->known = &found->emitted.plan;
    inout->known_cost = found->cost;
  }
  if (!(inout->at_hand > 0 && inout->at_hand <= found->cost))
    inout->at_hand = found->cost;
}

/// Searches with rules, beginning with the plan without rules.
static egraph_status plan_ruled(eg_joint_step *joint, const eg_planner_input *planner,
                                double deadline, eg_planning *given, eg_planning *out) {
  eg_planner_input input = *planner;
  input.budget.time_limit_seconds = fmax(deadline - eg_clock_seconds(), EG_LEAST_SECONDS);
  take_known(&input, given);
  EG_TRY(eg_whole_step_plan(joint->step, &input, out));
  EG_RETURN_FILLED(join_given(out, given), eg_planning, out);
}

/// Plans without rules, then with rules, within the time until the deadline.
static egraph_status plan_in_turn(eg_joint_step *joint, const eg_planner_input *planner,
                                  double deadline, eg_planning *out) {
  eg_planner_input input = *planner;
  EG_OWNED(eg_planning, given);
  input.as_given = true;
  input.ceiling *= eg_planner_has_groups(planner) ? BEYOND_GROUPS : BEYOND_RULES;
  input.budget.time_limit_seconds = GIVEN_SHARE * (deadline - eg_clock_seconds());
  egraph_status status = eg_whole_step_plan(joint->given, &input, &given);
  if (status == EGRAPH_E_ARGUMENT) // the constraints may need a plan that only rules make
    return eg_whole_step_plan(joint->step, planner, out);
  EG_TRY(status);
  if (!given.is_beaten) return plan_ruled(joint, planner, deadline, &given, out);
  *out = given;
  out->is_skipped = true;
  given.has_plan = false; // moved
  given.mates = (eg_mates){.has = {false}};
  return EGRAPH_OK;
}

/// Looks with rules for a bound that proves the plan of another mesh, or for the plans of
/// a price of memory; where this does not suffice and there is time, continues.
static egraph_status plan_priced(eg_joint_step *joint, const eg_planner_input *planner,
                                 double deadline, eg_planning *out) {
  EG_OWNED(eg_planning, priced);
  eg_planner_input input = *planner, known = *planner;
  double start = eg_clock_seconds();
  input.cut_only = true;
  input.budget.time_limit_seconds = PRICED_SHARE * (deadline - start);
  input.budget.work_limit = eg_work_share(input.budget.work_limit, PRICED_SHARE);
  EG_TRY(eg_whole_step_plan(joint->step, &input, &priced));
  double now = eg_clock_seconds();
  take_known(&known, &priced);
  bool is_proven = priced.bound >= eg_planner_enough(&known, 0);
  if (is_proven || priced.is_cancelled || deadline - now < now - start) {
    *out = priced;
    priced.has_plan = false; // moved
    priced.mates = (eg_mates){.has = {false}};
    return EGRAPH_OK;
  }
  known.cut_floor = priced.bound;
  EG_TRY(plan_in_turn(joint, &known, deadline, out));
  EG_RETURN_FILLED(join_given(out, &priced), eg_planning, out);
}

/// Plans without rules, then with rules.
static egraph_status plan_both(eg_joint_step *joint, const eg_planner_input *planner,
                               eg_planning *out) {
  double deadline = eg_clock_seconds() + planner->budget.time_limit_seconds;
  bool is_priced = planner->binds && planner->at_hand > 0 && !planner->compares &&
                   planner->baseline == NULL && eg_whole_step_blocks(joint->step) != 0;
  return is_priced ? plan_priced(joint, planner, deadline, out)
                   : plan_in_turn(joint, planner, deadline, out);
}

/// Plans as if memory had no limit. *out_final: true when the plan fits, so that the
/// limit changes nothing; false: *out holds no result.
static egraph_status plan_free(eg_joint_step *joint, const eg_planner_input *planner,
                               eg_planning *out, bool *out_final) {
  eg_planner_input input = *planner;
  input.budget.time_limit_seconds *= FREE_SHARE;
  limit_searches(joint, INFINITY);
  egraph_status status = plan_both(joint, &input, out);
  limit_searches(joint, joint->memory);
  EG_TRY(status);
  *out_final = out->is_beaten || (out->has_plan && out->memory <= joint->memory);
  if (!*out_final) eg_planning_deinit(out);
  return EGRAPH_OK;
}

egraph_status eg_joint_step_plan(eg_joint_step *joint, const eg_planner_input *planner,
                                 eg_planning *out) {
  assert(joint->step != NULL);
  bool is_other = planner->searcher != NULL || planner->algebra_first, is_final;
  bool is_given = eg_planner_rules(planner) == NULL && !eg_planner_has_groups(planner);
  if (is_given && joint->given != NULL)
    return eg_whole_step_plan(joint->given, planner, out);
  if (joint->given == NULL || is_other)
    return eg_whole_step_plan(joint->step, planner, out);
  if (planner->binds || !isfinite(joint->memory)) return plan_both(joint, planner, out);
  eg_planner_input input = *planner;
  double deadline = eg_clock_seconds() + planner->budget.time_limit_seconds;
  EG_TRY(plan_free(joint, planner, out, &is_final));
  if (is_final) return EGRAPH_OK;
  input.budget.time_limit_seconds = fmax(deadline - eg_clock_seconds(), EG_LEAST_SECONDS);
  return plan_both(joint, &input, out);
}
