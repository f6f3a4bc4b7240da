// The front end: check, greedy bounds, an exact solver if asked for, the certificate.
// SPDX-License-Identifier: Apache-2.0
#include "extract/extract.h"

#include <math.h>

#include "base/clock.h"
#include "base/proof.h"
#include "extract/cost_shift.h"
#include "extract/exact.h"
#include "extract/greedy.h"
#include "extract/incumbent.h"
#include "extract/perturb.h"
#include "extract/plain_certificate.h"
#include "extract/plain_ilp.h"

enum { DAG_MEMORY_BYTES = 256 << 20, PERTURB_ROUNDS = 12 };

// What is left to do when time is up (a last choice, its certificate) takes about as long
// as this many certificates.
static const double RESERVE = 2;

void eg_extract_result_init(eg_extract_result *result, egraph_allocator alloc) {
  *result = (eg_extract_result){.status = EG_EXTRACT_INFEASIBLE,
                                .cost = INFINITY,
                                .bound = -INFINITY,
                                .gap = INFINITY,
                                .tree_cost = INFINITY,
                                .dag_cost = INFINITY,
                                .certified = -INFINITY};
  eg_u32s_init(&result->choice, alloc);
}

void eg_extract_result_deinit(eg_extract_result *result) {
  eg_u32s_deinit(&result->choice);
}

static egraph_status check_options(const eg_extract_problem *problem,
                                   const eg_extract_options *options) {
  EG_TRY(eg_extract_problem_check(problem));
  if (!(options->time_limit_seconds > 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the time limit of extraction must be above 0 s");
  if (!(options->relative_gap >= 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the relative gap of extraction must be >= 0");
  return EGRAPH_OK;
}

static bool has_negative_cost(const eg_extract_problem *problem) {
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (problem->cost.data[n] < 0) return true;
  return false;
}

// Every root needs a node of its own; elsewhere only negative costs count.
static egraph_status trivial_bound(egraph_allocator alloc,
                                   const eg_extract_problem *problem, double *out) {
  eg_doubles least;
  eg_doubles_init(&least, alloc);
  EG_TRY(eg_doubles_resize(&least, problem->class_count));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    least.data[class] = INFINITY;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    double *slot = &least.data[problem->node_class.data[n]];
    if (problem->cost.data[n] < *slot) *slot = problem->cost.data[n];
  }
  double sum = 0;
  for (size_t i = 0; i < problem->roots.len; i++) {
    double *slot = &least.data[problem->roots.data[i]];
    if (*slot > 0) sum += *slot;
    if (*slot > 0) *slot = 0;
  }
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (least.data[class] < 0) sum += least.data[class];
  eg_doubles_deinit(&least);
  *out = sum;
  return EGRAPH_OK;
}

// An incumbent of the caller is only a hint: one that does not fit is ignored, so its
// entries are checked before they are used as indices.
static egraph_status offer_hint(eg_incumbent *incumbent, const uint32_t *hint) {
  const eg_extract_problem *problem = incumbent->problem;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (hint[class] != EG_EXTRACT_NONE &&
        (hint[class] >= eg_extract_node_count(problem) ||
         problem->node_class.data[hint[class]] != class))
      return EGRAPH_OK;
  double cost;
  return eg_incumbent_offer(incumbent, hint, &cost);
}

// Reports the certificate's cost, so that equal choices have equal costs everywhere.
static egraph_status run_greedy(const eg_greedy *greedy, eg_incumbent *incumbent,
                                eg_greedy_kind kind, double *out_cost) {
  eg_u32s choice;
  eg_u32s_init(&choice, greedy->alloc);
  egraph_status status;
  eg_incumbent_count(incumbent, eg_greedy_steps(greedy));
  EG_TRY_GOTO(status, eg_u32s_resize(&choice, greedy->problem->class_count), done);
  EG_TRY_GOTO(status,
              eg_greedy_run_until(greedy, kind, greedy->problem->cost.data,
                                  eg_incumbent_deadline(incumbent), choice.data),
              done);
  EG_TRY_GOTO(status, eg_incumbent_offer(incumbent, choice.data, out_cost), done);
  if (!isfinite(*out_cost)) goto done;
  double start = eg_clock_seconds();
  status = eg_extract_certify(greedy->alloc, greedy->problem, choice.data, out_cost);
  incumbent->reserve = RESERVE * (eg_clock_seconds() - start);
done:
  eg_u32s_deinit(&choice);
  return status;
}

static egraph_status prove(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result) {
  bool done = !has_negative_cost(incumbent->problem);
  if (done) return eg_exact_run(alloc, incumbent, result);
  EG_TRY(eg_cost_shift_run(alloc, incumbent, result, &done));
  return done ? EGRAPH_OK : eg_plain_ilp_run(alloc, incumbent, result);
}

static egraph_status search(egraph_allocator alloc, eg_incumbent *incumbent,
                            const eg_extract_options *options,
                            eg_extract_result *result) {
  const eg_extract_problem *problem = incumbent->problem;
  eg_class_index index;
  eg_class_index_init(&index, alloc);
  eg_greedy greedy = {alloc, problem, &index, DAG_MEMORY_BYTES};
  egraph_status status;
  EG_TRY_GOTO(status, eg_class_index_build(&index, problem), done);
  EG_TRY_GOTO(status, trivial_bound(alloc, problem, &incumbent->bound), done);
  if (options->method != EG_EXTRACT_DAG)
    EG_TRY_GOTO(status,
                run_greedy(&greedy, incumbent, EG_GREEDY_TREE, &result->tree_cost), done);
  // Too large for DAG cost, or out of time: it would be the tree's choice again.
  bool again = options->method == EG_EXTRACT_ILP &&
               (!eg_greedy_fits(&greedy) || eg_incumbent_stop(incumbent));
  if (again) result->dag_cost = result->tree_cost;
  if (options->method != EG_EXTRACT_TREE && !again)
    EG_TRY_GOTO(status, run_greedy(&greedy, incumbent, EG_GREEDY_DAG, &result->dag_cost),
                done);
  if (options->incumbent != NULL)
    EG_TRY_GOTO(status, offer_hint(incumbent, options->incumbent), done);
  if (options->method != EG_EXTRACT_ILP || !isfinite(incumbent->cost)) goto done;
  EG_TRY_GOTO(status, eg_perturb_run(&greedy, incumbent, PERTURB_ROUNDS, options->seed),
              done);
  eg_part_back(incumbent->clock, EGRAPH_PART_SEARCH);
  if (!eg_incumbent_stop(incumbent)) status = prove(alloc, incumbent, result);
done:
  eg_class_index_deinit(&index);
  return status;
}

// Of the chosen nodes; the cost itself unless some are negative. What sums are rounded
// to.
static double magnitude(const eg_extract_problem *problem, const uint32_t *choice) {
  double sum = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (choice[class] != EG_EXTRACT_NONE) sum += fabs(problem->cost.data[choice[class]]);
  return sum;
}

// The solver's opinion of its own cost must be the certificate's. They may differ, and
// the bound be above the cost, by what sums of this size are rounded to.
static egraph_status conclude(egraph_allocator alloc, eg_incumbent *incumbent,
                              eg_extract_result *result) {
  if (!isfinite(incumbent->cost)) {
    result->status = EG_EXTRACT_INFEASIBLE;
    return EGRAPH_OK;
  }
  EG_TRY(eg_u32s_append(&result->choice, incumbent->choice.data,
                        incumbent->problem->class_count));
  EG_TRY(
      eg_extract_certify(alloc, incumbent->problem, result->choice.data, &result->cost));
  double slack = 1e-9 * magnitude(incumbent->problem, result->choice.data);
  if (fabs(result->cost - incumbent->cost) > slack)
    EG_TRY(eg_proof_check_equal("extraction, cost of the choice", incumbent->cost,
                                result->cost));
  if (incumbent->bound - result->cost > 2 * slack)
    EG_TRY(eg_proof_check_bound("extraction", incumbent->bound, result->cost));
  bool closed = result->cost - incumbent->bound <= slack;
  result->status = closed ? EG_EXTRACT_OPTIMAL : EG_EXTRACT_FEASIBLE;
  result->bound = incumbent->bound;
  if (closed && result->bound > result->cost) result->bound = result->cost;
  double scale = fabs(result->cost) > 1e-300 ? fabs(result->cost) : 1e-300;
  result->gap = closed ? 0 : (result->cost - result->bound) / scale;
  return EGRAPH_OK;
}

egraph_status eg_extract_solve(egraph_allocator alloc, const eg_extract_problem *problem,
                               const eg_extract_options *options,
                               eg_extract_result *result) {
  EG_TRY(check_options(problem, options));
  eg_incumbent incumbent;
  EG_TRY(eg_incumbent_init(&incumbent, alloc, problem, options));
  result->choice.len = 0;
  eg_part_clock clock = {.since = 0};
  incumbent.clock = &clock;
  eg_part_clock_start(&clock, EGRAPH_PART_GREEDY);
  egraph_status status = search(alloc, &incumbent, options, result);
  eg_part_back(&clock, EGRAPH_PART_SEARCH);
  if (status == EGRAPH_OK) status = conclude(alloc, &incumbent, result);
  (void)eg_part_clock_stop(&clock);
  result->seconds = eg_clock_seconds() - incumbent.start_seconds;
  result->work = incumbent.work.done;
  memcpy(result->part_seconds, clock.seconds, sizeof clock.seconds);
  eg_incumbent_deinit(&incumbent);
  if (status == EGRAPH_OK && options->certificate != NULL)
    status = eg_plain_certificate_write(alloc, problem, options, result);
  return status;
}
