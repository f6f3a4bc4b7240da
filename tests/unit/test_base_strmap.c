// Unit tests of base/strmap and the hash functions below it.
// SPDX-License-Identifier: Apache-2.0
#include "base/strmap.h"
#include "tests/testing.h"

static void names_are_found_with_their_latest_value(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_strmap map;
  eg_strmap_init(&map, test_heap_allocator(&heap));
  char key[32];
  for (uint32_t i = 0; i < 5000; i++) {
    (void)snprintf(key, sizeof key, "name-%u", i % 3000);
    assert_ok(eg_strmap_put(&map, key, i));
  }
  assert_int_equal(eg_strmap_len(&map), 3000);
  for (uint32_t i = 0; i < 3000; i++) {
    uint32_t value;
    (void)snprintf(key, sizeof key, "name-%u", i);
    assert_true(eg_strmap_find(&map, key, &value));
    assert_int_equal(value, i < 2000 ? i + 3000 : i);
  }
  uint32_t untouched = 42;
  assert_false(eg_strmap_find(&map, "name-3000", &untouched));
  assert_int_equal(untouched, 42);
  eg_strmap_deinit(&map);
  assert_int_equal(heap.live_bytes, 0);
}

static void an_empty_map_and_an_empty_name_work(void **state) {
  (void)state;
  eg_strmap map;
  eg_strmap_init(&map, eg_allocator_heap());
  uint32_t value;
  assert_false(eg_strmap_find(&map, "", &value));
  assert_int_equal(eg_strmap_len(&map), 0);
  assert_ok(eg_strmap_put(&map, "", 1));
  assert_true(eg_strmap_find(&map, "", &value));
  assert_int_equal(value, 1);
  eg_strmap_deinit(&map);
  eg_strmap_deinit(&map);
}

static egraph_status put_many(egraph_allocator alloc, void *user) {
  (void)user;
  eg_strmap map;
  eg_strmap_init(&map, alloc);
  egraph_status status = EGRAPH_OK;
  char key[32];
  uint32_t done = 0;
  for (; done < 400 && status == EGRAPH_OK; done++) {
    (void)snprintf(key, sizeof key, "%u", done);
    status = eg_strmap_put(&map, key, done);
  }
  // What was there before the failure is still there.
  uint32_t value, kept = status == EGRAPH_OK ? done : done - 1;
  assert_int_equal(eg_strmap_len(&map), kept);
  for (uint32_t i = 0; i < kept; i++) {
    (void)snprintf(key, sizeof key, "%u", i);
    assert_true(eg_strmap_find(&map, key, &value));
    assert_int_equal(value, i);
  }
  eg_strmap_deinit(&map);
  return status;
}

static void a_map_survives_each_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(put_many, NULL);
}

static void the_generator_is_the_same_everywhere(void **state) {
  (void)state;
  // First outputs of splitmix64 with seed 1234567, as its author publishes them.
  eg_rng rng = {1234567};
  assert_true(eg_rng_next(&rng) == UINT64_C(6457827717110365317));
  assert_true(eg_rng_next(&rng) == UINT64_C(3203168211198807973));
  assert_true(eg_rng_next(&rng) == UINT64_C(9817491932198370423));
  for (int i = 0; i < 10000; i++) {
    double unit = eg_rng_unit(&rng);
    assert_true(unit >= 0 && unit < 1);
    assert_true(eg_rng_below(&rng, 7) < 7);
  }
}

static void hashes_depend_on_content_length_and_seed(void **state) {
  (void)state;
  char here[] = "matmul", there[] = "matmul";
  assert_true(eg_hash_bytes(1, here, 6) == eg_hash_bytes(1, there, 6));
  assert_true(eg_hash_bytes(1, here, 6) != eg_hash_bytes(2, here, 6));
  assert_true(eg_hash_bytes(1, here, 6) != eg_hash_bytes(1, here, 5));
  assert_true(eg_hash_bytes(1, "\0", 1) != eg_hash_bytes(1, "\0\0", 2));
}

static void combined_hashes_of_small_numbers_differ(void **state) {
  (void)state;
  for (uint64_t a = 0; a < 40; a++)
    for (uint64_t b = 0; b < 40; b++)
      for (uint64_t c = 0; c < 40; c++)
        for (uint64_t d = c == a ? b + 1 : 0; c >= a && d < 40; d++)
          assert_true(eg_hash_combine(a, b) != eg_hash_combine(c, d));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_found_with_their_latest_value),
      cmocka_unit_test(an_empty_map_and_an_empty_name_work),
      cmocka_unit_test(a_map_survives_each_allocation_failing),
      cmocka_unit_test(the_generator_is_the_same_everywhere),
      cmocka_unit_test(hashes_depend_on_content_length_and_seed),
      cmocka_unit_test(combined_hashes_of_small_numbers_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
