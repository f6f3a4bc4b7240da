// Public functions of intra-operator sharding.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "api/arguments.h"
#include "base/file.h"
#include "base/owner.h"
#include "base/work.h"
#include "extract/shard/shard_problem.h"
#include "extract/shard/shard_solve.h"

EG_HOLDER_DEFINE(egraph_shard)
EG_HOLDER_DEFINE(egraph_shard_plan)

static_assert(EGRAPH_SHARD_INFINITE == EG_SHARD_INFINITE, "one infinity");

static const double MOST_SECONDS = 1e6;     // used when only work is limited
static const uint64_t DEFAULT_WORK = 60000; // million steps
static const uint64_t MILLION = 1000000;

struct egraph_shard {
  egraph_allocator alloc;
  eg_shard_problem problem;
};

struct egraph_shard_plan {
  egraph_allocator alloc;
  eg_shard_result result;
  egraph_shard_report report;
};

// ---- problems -------------------------------------------------------------------

egraph_status egraph_shard_create(const egraph_allocator *alloc, egraph_shard **out) {
  EG_REQUIRE(out);
  EG_HELD(egraph_shard, shard);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *shard, &shard));
  shard->alloc = heap;
  EG_HAND_OVER(eg_shard_problem_init(&shard->problem, heap), shard, out);
}

void egraph_shard_destroy(egraph_shard *shard) {
  if (shard == NULL) return;
  eg_shard_problem_deinit(&shard->problem);
  eg_free(shard->alloc, shard, 1, sizeof *shard);
}

egraph_status egraph_shard_load(const egraph_allocator *alloc, const char *path,
                                egraph_shard **out) {
  EG_REQUIRE(path, out);
  EG_HELD(egraph_shard, shard);
  EG_TRY(egraph_shard_create(alloc, &shard));
  EG_HAND_OVER(eg_iopddl_read(path, &shard->problem), shard, out);
}

static egraph_status check_amounts(const char *what, const int64_t *amounts,
                                   size_t count) {
  for (size_t i = 0; i < count; i++)
    if (amounts[i] < 0)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "%s %zu is %lld; add a constant so that none is negative", what, i,
                     (long long)amounts[i]);
  return EGRAPH_OK;
}

egraph_status egraph_shard_add_node(egraph_shard *shard, int64_t first, int64_t last,
                                    const int64_t *cost, const int64_t *usage,
                                    uint32_t count, uint32_t *out_node) {
  EG_REQUIRE(shard);
  EG_REQUIRE_ARRAY(cost, count);
  EG_REQUIRE_ARRAY(usage, count);
  if (count == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a node has at least one strategy; if it has no "
                                      "choice, give it one of cost 0");
  EG_TRY(check_amounts("cost", cost, count));
  EG_TRY(check_amounts("usage", usage, count));
  uint32_t node = eg_shard_node_count(&shard->problem);
  EG_TRY(eg_shard_problem_add_node(&shard->problem, first, last, cost, usage, count));
  if (out_node != NULL) *out_node = node;
  return EGRAPH_OK;
}

static size_t strategies_of(const eg_shard_problem *problem, uint32_t node) {
  return problem->strategy_begin.data[node + 1] - problem->strategy_begin.data[node];
}

egraph_status egraph_shard_add_edge(egraph_shard *shard, uint32_t a, uint32_t b,
                                    const int64_t *table) {
  EG_REQUIRE(shard, table);
  const eg_shard_problem *problem = &shard->problem;
  uint32_t nodes = eg_shard_node_count(problem);
  if (a >= nodes || b >= nodes)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "an edge between nodes %u and %u, of %u nodes", a,
                   b, nodes);
  if (a == b)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "an edge of node %u with itself; add the diagonal of its table to the "
                   "costs of the node",
                   a);
  EG_TRY(check_amounts("entry", table,
                       strategies_of(problem, a) * strategies_of(problem, b)));
  return eg_shard_problem_add_edge(&shard->problem, a, b, table);
}

egraph_status egraph_shard_set_limit(egraph_shard *shard, int64_t limit) {
  EG_REQUIRE(shard);
  if (limit < 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the limit is %lld; it cannot be negative",
                   (long long)limit);
  shard->problem.limit = limit;
  return EGRAPH_OK;
}

egraph_shard_info egraph_shard_info_of(const egraph_shard *shard) {
  if (shard == NULL) return (egraph_shard_info){.nodes = 0};
  const eg_shard_problem *problem = &shard->problem;
  return (egraph_shard_info){.nodes = eg_shard_node_count(problem),
                             .edges = eg_shard_edge_count(problem),
                             .strategies = (uint32_t)problem->cost.len,
                             .entries = problem->table.len,
                             .limit = problem->limit};
}

egraph_status egraph_shard_evaluate(const egraph_shard *shard, const uint32_t *choice,
                                    uint32_t count, int64_t *out_cost,
                                    int64_t *out_peak) {
  EG_REQUIRE(shard, out_cost, out_peak);
  EG_REQUIRE_ARRAY(choice, count);
  const eg_shard_problem *problem = &shard->problem;
  if (count != eg_shard_node_count(problem))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a choice for %u nodes, but the problem has %u",
                   count, eg_shard_node_count(problem));
  for (uint32_t node = 0; node < count; node++)
    if (choice[node] >= strategies_of(problem, node))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "node %u has strategy %u of %zu; count from 0",
                     node, choice[node], strategies_of(problem, node));
  return eg_shard_certify(shard->alloc, problem, choice, out_cost, out_peak);
}

// ---- plans ----------------------------------------------------------------------

static const char *status_name(const eg_shard_result *result) {
  switch (result->status) {
  case EG_EXTRACT_OPTIMAL: return "optimal";
  case EG_EXTRACT_INFEASIBLE: return "infeasible";
  case EG_EXTRACT_FEASIBLE: break;
  }
  return result->cost >= EG_SHARD_INFINITE ? "unknown" : "feasible";
}

static egraph_status solve(const egraph_shard *shard, const egraph_shard_options *o,
                           egraph_shard_plan *plan) {
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  bool timed = o->time_limit != 0, counted = o->work_limit != 0;
  uint64_t work = counted ? o->work_limit : timed ? 0 : DEFAULT_WORK;
  options.work_limit =
      work > EG_WORK_UNLIMITED / MILLION ? EG_WORK_UNLIMITED : work * MILLION;
  options.time_limit_seconds = timed ? o->time_limit : MOST_SECONDS;
  options.certificate = o->certificate;
  if (o->certificate != NULL) EG_TRY(eg_file_remove(o->certificate));
  options.seed = o->seed;
  options.incumbent = o->incumbent;
  options.progress = o->progress;
  options.user = o->user;
  EG_TRY(eg_shard_solve(plan->alloc, &shard->problem, &options, &plan->result));
  const eg_shard_result *r = &plan->result;
  plan->report = (egraph_shard_report){.status = status_name(r),
                                       .cost = r->cost,
                                       .bound = r->bound,
                                       .peak = r->peak,
                                       .limit = shard->problem.limit,
                                       .gap = r->gap,
                                       .seconds = r->seconds,
                                       .best_seconds = r->best_seconds,
                                       .work = r->work / MILLION,
                                       .checked = r->checked};
  return EGRAPH_OK;
}

egraph_status egraph_shard_solve(const egraph_allocator *alloc, const egraph_shard *shard,
                                 const egraph_shard_options *options,
                                 egraph_shard_plan **out) {
  EG_REQUIRE(shard, out);
  EG_HELD(egraph_shard_plan, plan);
  egraph_shard_options own;
  EG_TRY(eg_options_take(EGRAPH_SHARD_OPTIONS, options, &own));
  if (!(own.time_limit >= 0) || isinf(own.time_limit))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "time_limit is %g; give seconds, or 0 for none",
                   own.time_limit);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *plan, &plan));
  plan->alloc = heap;
  eg_shard_result_init(&plan->result, heap);
  EG_HAND_OVER(solve(shard, &own, plan), plan, out);
}

void egraph_shard_plan_destroy(egraph_shard_plan *plan) {
  if (plan == NULL) return;
  eg_shard_result_deinit(&plan->result);
  eg_free(plan->alloc, plan, 1, sizeof *plan);
}

const egraph_shard_report *egraph_shard_plan_report(const egraph_shard_plan *plan) {
  return plan != NULL ? &plan->report : NULL;
}

const uint32_t *egraph_shard_plan_choice(const egraph_shard_plan *plan) {
  bool has_choice = plan != NULL && plan->report.cost < EG_SHARD_INFINITE;
  return has_choice ? plan->result.choice.data : NULL;
}
