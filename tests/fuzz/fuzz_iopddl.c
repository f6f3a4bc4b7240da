// IOPDDL files: any bytes are read or refused with a reason. What is read is a sound
// problem; a small one is solved, and the result compared with all of its choices.
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_problem.h"
#include "extract/shard/shard_solve.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_SOLVED_CHOICES = 2000, MAX_SOLVED_NODES = 200 };

static uint32_t strategies_of(const eg_shard_problem *problem, uint32_t node) {
  return problem->strategy_begin.data[node + 1] - problem->strategy_begin.data[node];
}

static bool next_choice(const eg_shard_problem *problem, uint32_t *choice) {
  for (uint32_t node = 0; node < eg_shard_node_count(problem); node++) {
    if (++choice[node] < strategies_of(problem, node)) return true;
    choice[node] = 0;
  }
  return false;
}

static int64_t exhaustive(const eg_shard_problem *problem, uint32_t *choice) {
  int64_t best = EG_SHARD_INFINITE;
  do {
    int64_t cost = -1, peak = -1;
    FUZZ_CHECK(eg_shard_certify(eg_allocator_heap(), problem, choice, &cost, &peak) ==
               EGRAPH_OK);
    FUZZ_CHECK(cost >= 0 && cost <= EG_SHARD_INFINITE && peak >= 0);
    if (peak <= problem->limit && cost < best) best = cost;
  } while (next_choice(problem, choice));
  return best;
}

static bool is_small(const eg_shard_problem *problem) {
  uint64_t choices = 1;
  if (eg_shard_node_count(problem) > MAX_SOLVED_NODES) return false;
  for (uint32_t n = 0; n < eg_shard_node_count(problem); n++) {
    choices *= strategies_of(problem, n);
    if (choices > MAX_SOLVED_CHOICES) return false;
  }
  return true;
}

static void check_solution(const eg_shard_problem *problem, int64_t best) {
  eg_shard_options options = EG_SHARD_OPTIONS_DEFAULT;
  eg_shard_result result;
  options.time_limit_seconds = 5;
  eg_shard_result_init(&result, eg_allocator_heap());
  egraph_status status = eg_shard_solve(eg_allocator_heap(), problem, &options, &result);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(result.cost == best && result.bound == best);
    FUZZ_CHECK(result.status ==
               (best < EG_SHARD_INFINITE ? EG_EXTRACT_OPTIMAL : EG_EXTRACT_INFEASIBLE));
  } else {
    fuzz_check_failure(status); // usages beyond what the solver adds up
  }
  eg_shard_result_deinit(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_shard_problem problem;
  eg_u32s choice;
  eg_u32s_init(&choice, eg_allocator_heap());
  FUZZ_CHECK(eg_shard_problem_init(&problem, eg_allocator_heap()) == EGRAPH_OK);
  egraph_status status = eg_iopddl_parse("f", (const char *)data, size, &problem);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(eg_shard_problem_check(&problem) == EGRAPH_OK);
    FUZZ_CHECK(eg_u32s_resize(&choice, eg_shard_node_count(&problem)) == EGRAPH_OK);
    if (is_small(&problem)) check_solution(&problem, exhaustive(&problem, choice.data));
  } else {
    fuzz_check_failure(status);
  }
  eg_u32s_deinit(&choice);
  eg_shard_problem_deinit(&problem);
  return 0;
}
