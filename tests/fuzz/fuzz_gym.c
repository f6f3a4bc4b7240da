// Extraction-gym files: any bytes are read or refused with a reason; what is read is a
// sound problem, and what the greedy extractors choose in it passes the certificate.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "extract/problem.h"
#include "extract/search/extract.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_SOLVED_NODES = 40 };

static void check_names(const eg_extract_problem *problem, const eg_gym_names *names) {
  FUZZ_CHECK(names->class_.len == problem->class_count);
  FUZZ_CHECK(names->node.len == eg_extract_node_count(problem));
  for (uint32_t class = 1; class < problem->class_count; class ++)
    FUZZ_CHECK(strcmp(eg_gym_class_name(names, class - 1),
                      eg_gym_class_name(names, class)) != 0);
}

static void check_extraction(const eg_extract_problem *problem, eg_extract_method method,
                             double *inout_best) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = method;
  options.time_limit_seconds = 5;
  eg_extract_result result;
  eg_extract_result_init(&result, eg_allocator_heap());
  egraph_status status =
      eg_extract_solve(eg_allocator_heap(), problem, &options, &result);
  FUZZ_CHECK(status == EGRAPH_OK);
  // Costs near the largest double may overflow to an infinite sum.
  if (result.status != EG_EXTRACT_INFEASIBLE && isfinite(result.cost)) {
    double slack = 1e-6 * fabs(result.cost);
    FUZZ_CHECK(result.bound <= result.cost + slack);
    if (method != EG_EXTRACT_ILP && result.cost < *inout_best) *inout_best = result.cost;
    if (method == EG_EXTRACT_ILP) FUZZ_CHECK(result.cost <= *inout_best + slack);
  }
  eg_extract_result_deinit(&result);
}

static bool is_tame(const eg_extract_problem *problem) {
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (!(fabs(problem->cost.data[n]) < 1e100)) return false;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_extract_problem problem;
  eg_gym_names names;
  FUZZ_CHECK(eg_extract_problem_init(&problem, eg_allocator_heap()) == EGRAPH_OK);
  eg_gym_names_init(&names, eg_allocator_heap());
  egraph_status status =
      eg_gym_json_parse("f", (const char *)data, size, &problem, &names);
  if (status == EGRAPH_OK) {
    double best = INFINITY;
    FUZZ_CHECK(eg_extract_problem_check(&problem) == EGRAPH_OK);
    check_names(&problem, &names);
    if (is_tame(&problem)) {
      check_extraction(&problem, EG_EXTRACT_TREE, &best);
      check_extraction(&problem, EG_EXTRACT_DAG, &best);
      if (eg_extract_node_count(&problem) <= MAX_SOLVED_NODES)
        check_extraction(&problem, EG_EXTRACT_ILP, &best);
    }
  } else {
    fuzz_check_failure(status);
  }
  eg_gym_names_deinit(&names);
  eg_extract_problem_deinit(&problem);
  return 0;
}
