// The memory plan: examples, the bound, random lifetimes against the overlap check.
// SPDX-License-Identifier: Apache-2.0
#include "exec/regions.h"
#include "tests/testing.h"

// The most bytes that are alive in one step: no plan can be smaller.
static size_t bound_of(const eg_plan_buffer *buffers, uint32_t count) {
  size_t most = 0;
  for (uint32_t i = 0; i < count; i++) { // the peak is at the start of some buffer
    size_t alive = 0;
    for (uint32_t j = 0; j < count; j++)
      if (buffers[j].first <= buffers[i].first && buffers[i].first <= buffers[j].last)
        alive += buffers[j].bytes;
    if (alive > most) most = alive;
  }
  return most;
}

static size_t plan(eg_plan_buffer *buffers, uint32_t count) {
  size_t bytes;
  assert_ok(eg_memory_plan(eg_allocator_heap(), buffers, count, 64, &bytes));
  assert_ok(eg_memory_plan_check(buffers, count, 64, bytes));
  return bytes;
}

static void buffers_that_never_meet_share_memory(void **state) {
  (void)state;
  eg_plan_buffer buffers[] = {{.bytes = 640, .first = 0, .last = 1},
                              {.bytes = 320, .first = 1, .last = 2},
                              {.bytes = 640, .first = 2, .last = 3}};
  assert_int_equal(plan(buffers, 3), 960);
  assert_int_equal(buffers[0].offset, buffers[2].offset);
}

static void a_small_buffer_takes_the_tightest_gap(void **state) {
  (void)state;
  eg_plan_buffer buffers[] = {
      {.bytes = 1024, .first = 0, .last = 9}, {.bytes = 512, .first = 0, .last = 4},
      {.bytes = 448, .first = 0, .last = 9},  {.bytes = 128, .first = 0, .last = 4},
      {.bytes = 64, .first = 0, .last = 9},   {.bytes = 60, .first = 5, .last = 6}};
  size_t bytes = plan(buffers, 6);
  assert_int_equal(buffers[5].offset, buffers[3].offset);
  assert_int_equal(bytes, 1024 + 512 + 448 + 128 + 64);
}

static void nothing_and_empty_buffers_need_no_memory(void **state) {
  (void)state;
  eg_plan_buffer empty = {.bytes = 0, .first = 3, .last = 3};
  assert_int_equal(plan(NULL, 0), 0);
  assert_int_equal(plan(&empty, 1), 0);
}

static void a_block_beyond_the_address_space_is_refused(void **state) {
  (void)state;
  const size_t quarter = (size_t)1 << 61;
  eg_plan_buffer buffers[9];
  for (uint32_t i = 0; i < 9; i++)
    buffers[i] = (eg_plan_buffer){.bytes = quarter, .first = 0, .last = 1};
  size_t bytes = 7;
  assert_fails(eg_memory_plan(eg_allocator_heap(), buffers, 9, 64, &bytes),
               EGRAPH_E_MEMORY, "do not fit the address space");
  assert_int_equal(bytes, 7);
  assert_int_equal(plan(buffers, 3), 3 * quarter);
}

static void an_overlap_is_reported(void **state) {
  (void)state;
  eg_plan_buffer buffers[] = {{.bytes = 100, .first = 0, .last = 2, .offset = 0},
                              {.bytes = 10, .first = 2, .last = 3, .offset = 64}};
  assert_fails(eg_memory_plan_check(buffers, 2, 64, 256), EGRAPH_E_INTERNAL,
               "buffers 0 and 1 overlap");
  buffers[0].offset = 1;
  assert_fails(eg_memory_plan_check(buffers, 2, 64, 256), EGRAPH_E_INTERNAL,
               "buffer 0 is misplaced");
}

// Best fit on random lifetimes stays below twice the lower bound; what matters is that no
// two buffers overlap.
static void random_plans_are_valid_and_near_the_bound(void **state) {
  (void)state;
  enum { MOST = 200 };
  eg_rng rng = {test_seed(3)};
  for (size_t round = 0; round < test_rounds(100); round++) {
    eg_plan_buffer buffers[MOST];
    uint32_t count = 1 + (uint32_t)eg_rng_below(&rng, MOST);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t first = (uint32_t)eg_rng_below(&rng, 100);
      buffers[i] = (eg_plan_buffer){.bytes = 64 * (1 + eg_rng_below(&rng, 50)),
                                    .first = first,
                                    .last = first + (uint32_t)eg_rng_below(&rng, 12)};
    }
    size_t bytes = plan(buffers, count);
    assert_true(bytes >= bound_of(buffers, count));
    assert_true(bytes <= 2 * bound_of(buffers, count));
  }
}

static egraph_status plan_with(egraph_allocator alloc, void *user) {
  (void)user;
  eg_plan_buffer buffers[] = {{.bytes = 64, .first = 0, .last = 1},
                              {.bytes = 64, .first = 1, .last = 1}};
  size_t bytes;
  return eg_memory_plan(alloc, buffers, 2, 64, &bytes);
}

static void planning_survives_failing_allocations(void **state) {
  (void)state;
  test_every_allocation_failing(plan_with, NULL);
}

// ---- regions --------------------------------------------------------------------

static void regions_nest_with_offsets_and_lifetimes(void **state) {
  (void)state;
  eg_regions regions;
  eg_regions_init(&regions, eg_allocator_heap());
  assert_ok(eg_regions_add(&regions, 300, 5, 6)); // 0: outer
  assert_ok(eg_regions_add(&regions, 100, 2, 5)); // 1: part of 0
  assert_ok(eg_regions_add(&regions, 40, 1, 3));  // 2: part of 1
  assert_true(eg_regions_join(&regions, 2, 1, 60));
  assert_true(eg_regions_join(&regions, 1, 0, 200));
  eg_region_place place = eg_regions_find(&regions, 2);
  assert_int_equal(place.root, 0);
  assert_int_equal(place.offset, 260);
  assert_int_equal(regions.data[0].first, 1);
  assert_int_equal(regions.data[0].last, 6);
  assert_false(eg_regions_is_whole(&regions, 1));
  assert_false(eg_regions_join(&regions, 1, 0, 0)); // already together
  eg_regions_deinit(&regions);
}

static void a_result_takes_over_its_operand_in_either_direction(void **state) {
  (void)state;
  eg_regions regions;
  eg_regions_init(&regions, eg_allocator_heap());
  for (uint32_t i = 0; i < 2; i++)
    assert_ok(eg_regions_add(&regions, 200, i, i));
  for (uint32_t i = 0; i < 3; i++)
    assert_ok(eg_regions_add(&regions, 100, i, i));
  assert_true(eg_regions_join(&regions, 2, 0, 100)); // result inside a concatenation
  assert_true(eg_regions_join(&regions, 2, 3, 0));   // laid over operand 3: that moves
  assert_int_equal(eg_regions_find(&regions, 3).root, 0);
  assert_int_equal(eg_regions_find(&regions, 3).offset, 100);
  assert_true(eg_regions_join(&regions, 4, 1, 0));
  assert_false(eg_regions_join(&regions, 4, 3, 0)); // both are parts of something
  eg_regions_deinit(&regions);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_that_never_meet_share_memory),
      cmocka_unit_test(a_small_buffer_takes_the_tightest_gap),
      cmocka_unit_test(nothing_and_empty_buffers_need_no_memory),
      cmocka_unit_test(a_block_beyond_the_address_space_is_refused),
      cmocka_unit_test(an_overlap_is_reported),
      cmocka_unit_test(random_plans_are_valid_and_near_the_bound),
      cmocka_unit_test(planning_survives_failing_allocations),
      cmocka_unit_test(regions_nest_with_offsets_and_lifetimes),
      cmocka_unit_test(a_result_takes_over_its_operand_in_either_direction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
