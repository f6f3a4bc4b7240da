// The certificate of a choice.
//
// Cost: every term is below EG_SHARD_INFINITE or makes the sum infinite, and the sum
// stops there, so that no addition can overflow. Peak: nodes enter and leave in the order
// of time; at one time leaving comes first, because lifetimes are half open. Up to 2^32
// usages of 63 bits are in use at once: their halves of 32 bits are summed apart.
//
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "extract/shard/shard_problem.h"

typedef struct change {
  int64_t time;
  uint64_t usage;
  bool enters;
} change;

EG_VEC_DEFINE(changes, change);

static egraph_status check_choice(const eg_shard_problem *problem,
                                  const uint32_t *choice) {
  const uint32_t *begin = problem->strategy_begin.data;
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++)
    if (choice[node] >= begin[node + 1] - begin[node])
      return EG_FAIL(EGRAPH_E_INTERNAL, "node %u has strategy %u of %u", node,
                     choice[node], begin[node + 1] - begin[node]);
  return EGRAPH_OK;
}

static int64_t add_cost(int64_t sum, int64_t cost) {
  if (sum >= EG_SHARD_INFINITE || cost >= EG_SHARD_INFINITE - sum)
    return EG_SHARD_INFINITE;
  return sum + cost;
}

static int64_t cost_of(const eg_shard_problem *problem, const uint32_t *choice) {
  const uint32_t *begin = problem->strategy_begin.data;
  int64_t sum = 0;
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++)
    sum = add_cost(sum, problem->cost.data[begin[node] + choice[node]]);
  for (uint32_t edge = 0; edge < eg_shard_edge_count(problem); edge++) {
    uint32_t a = problem->edge_ends.data[2 * (size_t)edge];
    uint32_t b = problem->edge_ends.data[2 * (size_t)edge + 1];
    size_t entry = (size_t)choice[a] * (begin[b + 1] - begin[b]) + choice[b];
    sum = add_cost(sum, problem->table.data[problem->table_begin.data[edge] + entry]);
  }
  return sum;
}

static egraph_status list_changes(const eg_shard_problem *problem, const uint32_t *choice,
                                  changes *list) {
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++) {
    int64_t first = problem->first.data[node], last = problem->last.data[node];
    int64_t usage =
        problem->usage.data[problem->strategy_begin.data[node] + choice[node]];
    if (first >= last || usage == 0) continue;
    EG_TRY(changes_push(list, (change){first, (uint64_t)usage, true}));
    EG_TRY(changes_push(list, (change){last, (uint64_t)usage, false}));
  }
  return EGRAPH_OK;
}

static int compare_changes(const void *left, const void *right) {
  const change *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (int)a->enters - (int)b->enters;
}

static int64_t sweep(const changes *list) {
  uint64_t low = 0, high = 0, peak_low = 0, peak_high = 0;
  for (size_t i = 0; i < list->len; i++) {
    const change *c = &list->data[i];
    low += c->enters ? c->usage & UINT32_MAX : 0 - (c->usage & UINT32_MAX);
    high += c->enters ? c->usage >> 32 : 0 - (c->usage >> 32);
    uint64_t carried = high + (low >> 32), rest = low & UINT32_MAX;
    if (carried < peak_high || (carried == peak_high && rest <= peak_low)) continue;
    peak_high = carried;
    peak_low = rest;
  }
  if (peak_high > (uint64_t)INT64_MAX >> 32) return INT64_MAX;
  return (int64_t)(peak_high << 32 | peak_low);
}

egraph_status eg_shard_certify(egraph_allocator alloc, const eg_shard_problem *problem,
                               const uint32_t *choice, int64_t *out_cost,
                               int64_t *out_peak) {
  EG_TRY(check_choice(problem, choice));
  changes list;
  changes_init(&list, alloc);
  egraph_status status = list_changes(problem, choice, &list);
  if (status == EGRAPH_OK) {
    if (list.len > 1) qsort(list.data, list.len, sizeof *list.data, compare_changes);
    *out_cost = cost_of(problem, choice);
    *out_peak = sweep(&list);
  }
  changes_deinit(&list);
  return status;
}
