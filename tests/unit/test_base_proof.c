// SPDX-License-Identifier: Apache-2.0
#include "base/proof.h"

#include <math.h>
#include <string.h>

#include "base/work.h"
#include "tests/testing.h"

static void a_bound_above_a_cost_is_an_error_with_both_numbers(void **state) {
  (void)state;
  assert_int_equal(eg_proof_check_bound("chain", 1.001, 1.0), EGRAPH_E_INTERNAL);
  assert_non_null(strstr(egraph_last_error(), "chain"));
  assert_non_null(strstr(egraph_last_error(), "1.0009999999999999"));
}

static void rounding_is_no_contradiction(void **state) {
  (void)state;
  assert_ok(eg_proof_check_bound("chain", 1.0 + 1e-12, 1.0));
  assert_ok(eg_proof_check_bound("chain", -5.0, -4.0));
  assert_ok(eg_proof_check_bound("chain", 7.0, INFINITY));
  assert_ok(eg_proof_check_equal("chain", 0.0, 0.0));
  assert_ok(eg_proof_check_equal("chain", INFINITY, INFINITY));
}

static void numbers_that_differ_are_an_error(void **state) {
  (void)state;
  assert_int_equal(eg_proof_check_equal("chain", 2.0, 2.0 + 1e-6), EGRAPH_E_INTERNAL);
  assert_int_equal(eg_proof_check_equal("chain", NAN, 2.0), EGRAPH_E_INTERNAL);
  assert_int_equal(eg_proof_check_bound("chain", NAN, 2.0), EGRAPH_E_INTERNAL);
}

static void work_is_spent_at_its_limit_and_never_wraps(void **state) {
  (void)state;
  eg_work work = {.limit = 10};
  eg_work_add(&work, 9);
  assert_false(eg_work_is_spent(&work));
  assert_int_equal(eg_work_left(&work), 1);
  eg_work_add(&work, UINT64_MAX);
  assert_true(eg_work_is_spent(&work));
  assert_int_equal(eg_work_left(&work), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bound_above_a_cost_is_an_error_with_both_numbers),
      cmocka_unit_test(rounding_is_no_contradiction),
      cmocka_unit_test(numbers_that_differ_are_an_error),
      cmocka_unit_test(work_is_spent_at_its_limit_and_never_wraps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
