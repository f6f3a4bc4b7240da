// IOPDDL files: any bytes are read or refused with a reason; what is read is a sound
// problem, and every certificate in it is the same twice and within its range.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "extract/shard/iopddl_json.h"
#include "tests/fuzz/fuzz.h"

static void check_certificate(const eg_shard_problem *problem, eg_rng *rng,
                              uint32_t *choice) {
  const uint32_t *begin = problem->strategy_begin.data;
  int64_t cost = -1, peak = -1, cost_again = -1, peak_again = -1;
  for (uint32_t n = 0; n < eg_shard_node_count(problem); n++)
    choice[n] = (uint32_t)eg_rng_below(rng, begin[n + 1] - begin[n]);
  FUZZ_CHECK(eg_shard_certify(eg_allocator_heap(), problem, choice, &cost, &peak) ==
             EGRAPH_OK);
  FUZZ_CHECK(cost >= 0 && cost <= EG_SHARD_INFINITE && peak >= 0);
  FUZZ_CHECK(eg_shard_certify(eg_allocator_heap(), problem, choice, &cost_again,
                              &peak_again) == EGRAPH_OK);
  FUZZ_CHECK(cost == cost_again && peak == peak_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_shard_problem problem;
  eg_u32s choice;
  eg_rng rng = {1};
  eg_u32s_init(&choice, eg_allocator_heap());
  FUZZ_CHECK(eg_shard_problem_init(&problem, eg_allocator_heap()) == EGRAPH_OK);
  egraph_status status = eg_iopddl_parse("f", (const char *)data, size, &problem);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(eg_shard_problem_check(&problem) == EGRAPH_OK);
    FUZZ_CHECK(eg_u32s_resize(&choice, eg_shard_node_count(&problem)) == EGRAPH_OK);
    for (int i = 0; i < 4; i++)
      check_certificate(&problem, &rng, choice.data);
  } else {
    fuzz_check_failure(status);
  }
  eg_u32s_deinit(&choice);
  eg_shard_problem_deinit(&problem);
  return 0;
}
