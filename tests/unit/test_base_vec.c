// Unit tests of base/vec: growth, zeroing, failure.
// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include "tests/testing.h"

static void pushed_elements_stay_in_order(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_u32s vec;
  eg_u32s_init(&vec, test_heap_allocator(&heap));
  for (uint32_t i = 0; i < 1000; i++)
    assert_ok(eg_u32s_push(&vec, i * i));
  assert_int_equal(vec.len, 1000);
  for (uint32_t i = 0; i < 1000; i++)
    assert_int_equal(*eg_u32s_at(&vec, i), i * i);
  assert_true(heap.requests < 20);
  assert_int_equal(eg_u32s_pop(&vec), 999 * 999);
  assert_int_equal(vec.len, 999);
  eg_u32s_deinit(&vec);
  assert_int_equal(heap.live_bytes, 0);
  assert_int_equal(vec.cap, 0);
}

static void resizing_zeroes_what_is_new(void **state) {
  (void)state;
  eg_sizes vec;
  eg_sizes_init(&vec, eg_allocator_heap());
  assert_ok(eg_sizes_push(&vec, 5));
  assert_ok(eg_sizes_push(&vec, 6));
  assert_ok(eg_sizes_resize(&vec, 1));
  assert_ok(eg_sizes_resize(&vec, 50));
  assert_int_equal(vec.data[0], 5);
  for (size_t i = 1; i < 50; i++)
    assert_int_equal(vec.data[i], 0);
  eg_sizes_deinit(&vec);
}

static void arrays_are_appended(void **state) {
  (void)state;
  eg_doubles vec;
  eg_doubles_init(&vec, eg_allocator_heap());
  const double values[] = {1, 2, 3};
  assert_ok(eg_doubles_append(&vec, NULL, 0));
  assert_ok(eg_doubles_append(&vec, values, 3));
  assert_ok(eg_doubles_append(&vec, values + 1, 2));
  assert_int_equal(vec.len, 5);
  assert_true(vec.data[4] == 3 && vec.data[3] == 2);
  eg_doubles_deinit(&vec);
}

static void a_failed_growth_leaves_the_elements(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_u32s vec;
  eg_u32s_init(&vec, test_heap_allocator(&heap));
  for (uint32_t i = 0; i < 8; i++)
    assert_ok(eg_u32s_push(&vec, i));
  heap.fail_at = heap.requests + 1;
  assert_fails(eg_u32s_push(&vec, 8), EGRAPH_E_MEMORY, "out of memory");
  assert_fails(eg_u32s_reserve(&vec, SIZE_MAX / 2), EGRAPH_E_MEMORY, "out of memory");
  assert_int_equal(vec.len, 8);
  for (uint32_t i = 0; i < 8; i++)
    assert_int_equal(vec.data[i], i);
  heap.fail_at = 0;
  assert_ok(eg_u32s_push(&vec, 8));
  eg_u32s_deinit(&vec);
  assert_int_equal(heap.live_bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pushed_elements_stay_in_order),
      cmocka_unit_test(resizing_zeroes_what_is_new),
      cmocka_unit_test(arrays_are_appended),
      cmocka_unit_test(a_failed_growth_leaves_the_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
