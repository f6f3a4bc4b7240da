// Intra-operator sharding (the model of the IOPDDL contest): every node takes one of its
// strategies; the choice pays a cost per node and per edge, in exact integers, and the
// memory in use must stay within a limit at every time.
//
//   minimize   sum over nodes of cost[s(n)]  +  sum over edges of table[s(a)][s(b)]
//   subject to, for every time t:  sum of usage[s(n)] over nodes alive at t  <=  limit
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_PROBLEM_H
#define EG_EXTRACT_SHARD_SHARD_PROBLEM_H

#include <stdint.h>

#include "base/owner.h"
#include "base/vec.h"

EG_VEC_DEFINE(eg_i64s, int64_t);

/// Costs of this value or more are forbidden; sums saturate at this value.
#define EG_SHARD_INFINITE INT64_C(1000000000000000000)

/// Strategies of node n: strategy_begin[n] .. strategy_begin[n + 1], at least one. The
/// table of edge e has a row per strategy of its first end and a column per strategy of
/// the second; several edges between two nodes add up.
typedef struct eg_shard_problem {
  eg_u32s strategy_begin; // [nodes + 1]
  eg_i64s cost, usage;    // [strategies], 0 <= both
  eg_i64s first, last;    // [nodes] alive in [first, last); empty: takes no memory
  eg_u32s edge_ends;      // [2 * edges] nodes, the two of an edge differ
  eg_sizes table_begin;   // [edges + 1]
  eg_i64s table;
  int64_t limit; // INT64_MAX: none
} eg_shard_problem;
EG_OWNER_DEFINE_MEMBERS(eg_shard_problem, (eg_u32s, strategy_begin, edge_ends),
                        (eg_i64s, cost, usage, first, last, table),
                        (eg_sizes, table_begin))

egraph_status eg_shard_problem_init(eg_shard_problem *problem, egraph_allocator alloc);
static inline uint32_t eg_shard_node_count(const eg_shard_problem *problem) {
  return (uint32_t)problem->strategy_begin.len - 1;
}
static inline uint32_t eg_shard_edge_count(const eg_shard_problem *problem) {
  return (uint32_t)problem->table_begin.len - 1;
}
/// Adds a node of `count` strategies. Fails with EGRAPH_E_MEMORY, or with
/// EGRAPH_E_ARGUMENT if the problem would have more than UINT32_MAX - 1 nodes, or more
/// than UINT32_MAX - 1 strategies of all nodes together.
egraph_status eg_shard_problem_add_node(eg_shard_problem *problem, int64_t first,
                                        int64_t last, const int64_t *cost,
                                        const int64_t *usage, uint32_t count);
/// Adds an edge with its table in row-major order (a, b: nodes that exist, a != b).
egraph_status eg_shard_problem_add_edge(eg_shard_problem *problem, uint32_t a, uint32_t b,
                                        const int64_t *table);
/// Checks a problem: fails with EGRAPH_E_ARGUMENT when an index is out of range, a node
/// has no strategy, or a cost, a usage or the limit is negative.
egraph_status eg_shard_problem_check(const eg_shard_problem *problem);

/// Checks independently: computes cost and peak memory of a choice ([node] index of its
/// strategy, from 0), in exact integers. Shares no code with the solver. *out_cost is
/// EG_SHARD_INFINITE when a forbidden entry is chosen; a peak that overflows becomes
/// INT64_MAX. The problem must pass eg_shard_problem_check. Fails with EGRAPH_E_INTERNAL
/// when the choice has an index out of range.
egraph_status eg_shard_certify(egraph_allocator alloc, const eg_shard_problem *problem,
                               const uint32_t *choice, int64_t *out_cost,
                               int64_t *out_peak);

// ---- files --------------------------------------------------------------------------
// Reader of the problems of the IOPDDL contest (ASPLOS/EuroSys 2025).
//
//   {"problem": {"name": "...", "usage_limit": 50,
//     "nodes": {"intervals": [[30, 70], ...], "costs": [[15], ...], "usages": [[10],
//     ...]}, "edges": {"nodes": [[0, 1], ...], "costs": [[30, 40], ...]}}}
//
// Keys come in any order, unknown keys are skipped; without "usage_limit" memory is
// unlimited.

/// Reads a file, plain or gzip, into an initialized, empty problem, which passes
/// eg_shard_problem_check. Numbers must be integers. Fails with EGRAPH_E_IO, or with
/// EGRAPH_E_PARSE naming the file and the mistake; the problem then needs only its
/// deinit. Memory: the problem and 16 bytes per node and edge.
egraph_status eg_iopddl_read(const char *path, eg_shard_problem *problem);
/// As eg_iopddl_read, from `size` bytes of text; `name` names the text in messages.
egraph_status eg_iopddl_parse(const char *name, const char *text, size_t size,
                              eg_shard_problem *problem);

#endif
