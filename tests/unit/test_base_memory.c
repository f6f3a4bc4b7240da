// Unit tests of base/memory: sized allocation, overflow, arenas.
// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "tests/testing.h"

static void an_allocation_is_zeroed_and_counted(void **state) {
  (void)state;
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  uint32_t *data;
  assert_ok(eg_alloc(alloc, 100, sizeof *data, &data));
  for (int i = 0; i < 100; i++)
    assert_int_equal(data[i], 0);
  assert_int_equal(heap.live_bytes, 400);
  data[99] = 7;
  assert_ok(eg_resize(alloc, 100, 200, sizeof *data, &data));
  assert_int_equal(data[99], 7);
  assert_int_equal(heap.live_bytes, 800);
  eg_free(alloc, data, 200, sizeof *data);
  assert_int_equal(heap.live_bytes, 0);
}

static void an_empty_allocation_is_null(void **state) {
  (void)state;
  void *pointer = &pointer;
  assert_ok(eg_alloc(eg_allocator_heap(), 0, 8, &pointer));
  assert_null(pointer);
  eg_free(eg_allocator_heap(), pointer, 0, 8);
}

static void sizes_that_overflow_are_out_of_memory(void **state) {
  (void)state;
  int mark = 0;
  void *pointer = &mark;
  egraph_allocator alloc = eg_allocator_heap();
  assert_fails(eg_alloc(alloc, SIZE_MAX / 2, 4, &pointer), EGRAPH_E_MEMORY, "x 4 bytes");
  assert_fails(eg_alloc(alloc, SIZE_MAX, SIZE_MAX, &pointer), EGRAPH_E_MEMORY, "memory");
  assert_fails(eg_alloc(alloc, (size_t)PTRDIFF_MAX + 1, 1, &pointer), EGRAPH_E_MEMORY,
               "memory");
  assert_ptr_equal(pointer, &mark);
}

static void the_callers_allocator_is_used_or_the_heap(void **state) {
  (void)state;
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  assert_ptr_equal(eg_allocator_or_heap(&alloc).self, &heap);
  assert_ptr_equal(eg_allocator_or_heap(NULL).resize, eg_allocator_heap().resize);
}

static void strings_are_copied(void **state) {
  (void)state;
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  char *copy;
  assert_ok(eg_string_copy(alloc, "graph", &copy));
  assert_string_equal(copy, "graph");
  assert_int_equal(heap.live_bytes, 6);
  eg_string_free(alloc, copy);
  eg_string_free(alloc, NULL);
  assert_int_equal(heap.live_bytes, 0);
}

static void arena_memory_is_zeroed_aligned_and_distinct(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_arena arena;
  eg_arena_init(&arena, test_heap_allocator(&heap));
  eg_rng rng = {test_seed(1)};
  unsigned char *blocks[300];
  size_t sizes[300];
  for (size_t i = 0; i < 300; i++) {
    sizes[i] = 1 + eg_rng_below(&rng, i % 20 == 0 ? 200000 : 500);
    assert_ok(eg_arena_alloc(&arena, sizes[i], 1, &blocks[i]));
    assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
    for (size_t k = 0; k < sizes[i]; k++)
      assert_int_equal(blocks[i][k], 0);
    memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
  }
  for (size_t i = 0; i < 300; i++)
    for (size_t k = 0; k < sizes[i]; k++)
      assert_int_equal(blocks[i][k], i % 251 + 1);
  assert_int_equal(arena.bytes, heap.live_bytes);
  eg_arena_deinit(&arena);
  assert_int_equal(heap.live_bytes, 0);
  assert_int_equal(arena.bytes, 0);
}

static void a_large_request_leaves_the_current_block_in_use(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_arena arena;
  eg_arena_init(&arena, test_heap_allocator(&heap));
  char *small, *large, *next;
  assert_ok(eg_arena_alloc(&arena, 16, 1, &small));
  assert_ok(eg_arena_alloc(&arena, 1, 1 << 20, &large));
  assert_ok(eg_arena_alloc(&arena, 16, 1, &next));
  assert_ptr_equal(next, small + 16);
  assert_int_equal(heap.live_blocks, 2);
  eg_arena_deinit(&arena);

  // A large request that comes first does not hide its block from later small ones.
  assert_ok(eg_arena_alloc(&arena, 1, 1 << 20, &large));
  assert_ok(eg_arena_alloc(&arena, 16, 1, &small));
  memset(large, 1, 1 << 20);
  assert_int_equal(small[0], 0);
  eg_arena_deinit(&arena);
  assert_int_equal(heap.live_bytes, 0);
}

static void a_cleared_arena_keeps_one_block_and_gives_zeros(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_arena arena;
  unsigned char *bytes;
  eg_arena_init(&arena, test_heap_allocator(&heap));
  eg_arena_clear(&arena);
  assert_int_equal(heap.live_blocks, 0);
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < 100; i++) {
      assert_ok(eg_arena_alloc(&arena, 1000, 1, &bytes));
      for (size_t k = 0; k < 1000; k++)
        assert_int_equal(bytes[k], 0);
      memset(bytes, 1, 1000);
    }
    eg_arena_clear(&arena);
    assert_int_equal(heap.live_blocks, 1);
    assert_int_equal(arena.bytes, heap.live_bytes);
  }
  eg_arena_deinit(&arena);
  assert_int_equal(heap.live_bytes, 0);
}

static void oversize_arena_requests_are_out_of_memory(void **state) {
  (void)state;
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  void *pointer = NULL;
  const char *text = NULL;
  assert_fails(eg_arena_alloc(&arena, SIZE_MAX, 1, &pointer), EGRAPH_E_MEMORY, "memory");
  assert_fails(eg_arena_alloc(&arena, SIZE_MAX / 2, 3, &pointer), EGRAPH_E_MEMORY, "");
  assert_fails(eg_arena_alloc(&arena, PTRDIFF_MAX - 20, 1, &pointer), EGRAPH_E_MEMORY,
               "memory");
  assert_fails(eg_arena_alloc(&arena, PTRDIFF_MAX, 1, &pointer), EGRAPH_E_MEMORY, "");
  assert_fails(eg_arena_string(&arena, "", SIZE_MAX, &text), EGRAPH_E_MEMORY, "");
  assert_null(pointer);
  assert_int_equal(arena.bytes, 0);
  eg_arena_deinit(&arena);
}

static void arena_strings_end_with_a_nul(void **state) {
  (void)state;
  eg_arena arena;
  eg_arena_init(&arena, eg_allocator_heap());
  const char *text;
  assert_ok(eg_arena_string(&arena, "matmul x", 6, &text));
  assert_string_equal(text, "matmul");
  assert_ok(eg_arena_string(&arena, NULL, 0, &text));
  assert_string_equal(text, "");
  eg_arena_deinit(&arena);
}

static egraph_status fill_arena(egraph_allocator alloc, void *user) {
  (void)user;
  eg_arena arena;
  eg_arena_init(&arena, alloc);
  egraph_status status = EGRAPH_OK;
  void *pointer;
  for (int i = 0; i < 10 && status == EGRAPH_OK; i++)
    status = eg_arena_alloc(&arena, 1, i % 3 == 0 ? 100000 : 30000, &pointer);
  eg_arena_deinit(&arena);
  return status;
}

static void an_arena_survives_each_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(fill_arena, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_allocation_is_zeroed_and_counted),
      cmocka_unit_test(an_empty_allocation_is_null),
      cmocka_unit_test(sizes_that_overflow_are_out_of_memory),
      cmocka_unit_test(the_callers_allocator_is_used_or_the_heap),
      cmocka_unit_test(strings_are_copied),
      cmocka_unit_test(arena_memory_is_zeroed_aligned_and_distinct),
      cmocka_unit_test(a_large_request_leaves_the_current_block_in_use),
      cmocka_unit_test(a_cleared_arena_keeps_one_block_and_gives_zeros),
      cmocka_unit_test(oversize_arena_requests_are_out_of_memory),
      cmocka_unit_test(arena_strings_end_with_a_nul),
      cmocka_unit_test(an_arena_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
