// Solves a sharding problem without a file: strategies of nodes, costs between them, a
// memory limit, and the cheapest choice with its bound.
//
//   12_shard
// SPDX-License-Identifier: Apache-2.0
#include "egraph.h"

#include <inttypes.h>

// Builds a chain of three nodes. Each node is split (strategy 0) or replicated (1): a
// split node costs more and takes half of the memory; neighbours with different
// strategies pay for an exchange.
static egraph_status build_chain(egraph_shard *shard) {
  static const int64_t cost[] = {4, 1}, usage[] = {8, 16}, exchange[] = {0, 5, 5, 0};
  uint32_t node[3];
  egraph_status status = EGRAPH_OK;
  for (int i = 0; status == EGRAPH_OK && i < 3; i++)
    status = egraph_shard_add_node(shard, i, i + 2, cost, usage, 2, &node[i]);
  for (int i = 0; status == EGRAPH_OK && i < 2; i++)
    status = egraph_shard_add_edge(shard, node[i], node[i + 1], exchange);
  return status;
}

static egraph_status solve_within(egraph_shard *shard, int64_t limit) {
  egraph_shard_plan *plan = NULL;
  int64_t cost = 0, peak = 0;
  egraph_status status = egraph_shard_set_limit(shard, limit);
  if (status == EGRAPH_OK) status = egraph_shard_solve(NULL, shard, NULL, &plan);
  const uint32_t *choice = status == EGRAPH_OK ? egraph_shard_plan_choice(plan) : NULL;
  if (choice != NULL)
    status = egraph_shard_evaluate(shard, choice, egraph_shard_info_of(shard).nodes,
                                   &cost, &peak);
  if (status == EGRAPH_OK)
    printf("limit %" PRId64 ": %s, cost %" PRId64 ", bound %" PRId64 ", peak %" PRId64
           "\n",
           limit, egraph_shard_plan_report(plan)->status, cost,
           egraph_shard_plan_report(plan)->bound, peak);
  egraph_shard_plan_destroy(plan);
  return status;
}

int main(void) {
  egraph_shard *shard = NULL;
  egraph_status status = egraph_shard_create(NULL, &shard);
  if (status == EGRAPH_OK) status = build_chain(shard);
  if (status == EGRAPH_OK) status = solve_within(shard, 32);
  if (status == EGRAPH_OK) status = solve_within(shard, 24);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_shard_destroy(shard);
  return status == EGRAPH_OK ? 0 : 1;
}
