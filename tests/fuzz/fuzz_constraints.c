// Constraints on plans: any bytes give an error, or statements that print as text that
// reads back as the same statements.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "optimize/model/plan_constraints.h"
#include "tests/fuzz/fuzz.h"

static void print_all(const eg_plan_constraints *constraints, eg_text *out) {
  for (size_t i = 0; i < constraints->rows.len; i++) {
    FUZZ_CHECK(eg_plan_constraint_print(out, &constraints->rows.data[i]) == EGRAPH_OK);
    FUZZ_CHECK(eg_text_append(out, "\n") == EGRAPH_OK);
  }
}

static void check_round_trip(const eg_plan_constraints *constraints) {
  eg_plan_constraints again;
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  eg_plan_constraints_init(&again, eg_allocator_heap());
  print_all(constraints, &first);
  FUZZ_CHECK(eg_plan_constraints_parse(&again, "f", eg_text_of(&first), first.chars.len,
                                       false) == EGRAPH_OK);
  FUZZ_CHECK(again.rows.len == constraints->rows.len);
  print_all(&again, &second);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_plan_constraints_deinit(&again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const eg_mesh mesh = {.axis_count = 1, .axes = {{"gpu", 8}}};
  eg_plan_constraints constraints;
  eg_plan_constraints_init(&constraints, eg_allocator_heap());
  egraph_status status =
      eg_plan_constraints_parse(&constraints, "f", (const char *)data, size, true);
  if (status == EGRAPH_OK) {
    (void)eg_plan_constraints_strange(&constraints, &mesh);
    check_round_trip(&constraints);
  } else {
    FUZZ_CHECK(constraints.rows.len == 0);
    fuzz_check_failure(status);
  }
  eg_plan_constraints_deinit(&constraints);
  return 0;
}
