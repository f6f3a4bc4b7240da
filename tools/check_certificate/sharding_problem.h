// A sharding problem of an IOPDDL file, and the cost of a choice in it.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_SHARDING_PROBLEM_H
#define CHECK_SHARDING_PROBLEM_H

#include "tools/check_certificate/problem_json.h"

/// Costs from this value on are forbidden.
#define FORBIDDEN INT64_C(1000000000000000000)

__extension__ typedef __int128 wide;

typedef struct numbers {
  int64_t *at;
  size_t count, capacity;
} numbers;

/// The problem. Node n has strategies begin[n] .. begin[n + 1]; it is alive in slots
/// first[n] .. last[n], where slot s lasts from time[s] to time[s + 1].
typedef struct sharding_problem {
  uint32_t nodes, edges, slots;
  uint32_t *begin;        // [nodes + 1]
  uint32_t *first, *last; // [nodes]
  int64_t *time;          // [slots + 1] ascending
  numbers cost, usage;    // [strategies]
  uint32_t *ends;         // [2 * edges]
  size_t *table_begin;    // [edges + 1]
  numbers table;
  int64_t limit; // INT64_MAX: none
} sharding_problem;

/// Reads the file. Memory belongs to `json`, except the numbers, which
/// sharding_close frees.
bool sharding_read(problem_json *json, sharding_problem *out);
void sharding_close(sharding_problem *problem);
/// Finds the slot (interval between events) that contains a time; there must be one.
uint32_t sharding_slot(const sharding_problem *problem, int64_t time);
/// Computes the cost and the peak memory of a choice of one strategy for each node;
/// FORBIDDEN and INT64_MAX stand for larger values.
bool sharding_evaluate(problem_json *json, const sharding_problem *problem,
                       const uint32_t *choice, int64_t *out_cost, int64_t *out_peak);
/// Returns a cost that no choice of finite costs exceeds; FORBIDDEN beyond 2^58.
int64_t sharding_most(const sharding_problem *problem);

#endif
