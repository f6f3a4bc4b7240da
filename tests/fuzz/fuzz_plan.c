// Plans as JSON: any bytes give an error, or a plan that passes its checker, survives a
// round trip, and can be printed, summed up and compared with itself.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "pcg/plan/plan_analysis.h"
#include "pcg/plan/plan_diff.h"
#include "pcg/plan/plan_json.h"
#include "pcg/plan/plan_report.h"
#include "tests/fuzz/fuzz.h"

static void check_round_trip(const eg_plan *plan) {
  eg_text first, second;
  eg_loaded_plan again;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  FUZZ_CHECK(eg_plan_write_json(plan, &first) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_parse_json(eg_allocator_heap(), "f", eg_text_of(&first),
                                first.chars.len, &again) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_write_json(&again.plan, &second) == EGRAPH_OK);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_loaded_plan_deinit(&again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

static void check_texts(const eg_plan *plan) {
  eg_text text;
  eg_plan_diff diff;
  eg_text_init(&text, eg_allocator_heap());
  FUZZ_CHECK(eg_plan_print(plan, EG_PLAN_COLLECTIVES, &text) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_print(plan, EG_PLAN_UNITY, &text) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_diff_make(plan, plan, eg_allocator_heap(), &diff) == EGRAPH_OK);
  FUZZ_CHECK(diff.layouts.len == 0 && diff.moves.len == 0);
  FUZZ_CHECK(eg_plan_diff_print(&text, &diff) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_answer_print(&text, plan, &diff.before, 1e9) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_remarks_print(&text, plan, &diff.before) == EGRAPH_OK);
  double sum = 0;
  for (int s = 0; s < EG_STORES; s++)
    sum += diff.before.at_peak[s];
  FUZZ_CHECK(!(sum < diff.before.peak) && !(sum > diff.before.peak));
  eg_plan_diff_deinit(&diff);
  eg_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_loaded_plan loaded;
  egraph_status status =
      eg_plan_parse_json(eg_allocator_heap(), "f", (const char *)data, size, &loaded);
  if (status == EGRAPH_OK) {
    FUZZ_CHECK(eg_plan_check(&loaded.plan, eg_allocator_heap()) == EGRAPH_OK);
    check_round_trip(&loaded.plan);
    check_texts(&loaded.plan);
    eg_loaded_plan_deinit(&loaded);
  } else {
    fuzz_check_failure(status);
  }
  return 0;
}
