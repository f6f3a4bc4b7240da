// Clones of engines, and the stack of states, beside a control engine that makes the same
// calls and was never pushed.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine.h"
#include "tests/unit/engine_steps.h"

static eg_engine *create(egraph_allocator alloc, bool analysis, bool record) {
  eg_engine *e;
  eg_engine_options options = {.analysis = analysis ? &step_sizes : NULL,
                               .record = record};
  assert_ok(eg_engine_create(&alloc, &options, &e));
  return e;
}

/// Pushes, changes things, perhaps pushes again, and pops all of it.
static void make_a_detour(eg_engine *e, eg_rng *rng, uint32_t depth) {
  uint32_t pushed = pushed_states(e);
  assert_ok(eg_engine_push(e));
  steps_random(e, rng, eg_rng_below(rng, 60));
  if (depth > 0) make_a_detour(e, rng, depth - 1);
  steps_random(e, rng, eg_rng_below(rng, 60));
  assert_ok(eg_engine_pop(e));
  assert_int_equal(pushed_states(e), pushed);
}

static void run_round(uint64_t seed, egraph_allocator alloc) {
  eg_rng rng = {seed}, detours = {seed + 1000};
  bool analysis = eg_rng_below(&rng, 2) == 0, record = eg_rng_below(&rng, 2) == 0;
  eg_engine *control = create(alloc, analysis, record);
  eg_engine *e = create(alloc, analysis, record);
  for (int turn = 0; turn < 6; turn++) {
    eg_rng same = rng;
    uint64_t count = eg_rng_below(&detours, 60);
    steps_random(control, &rng, count);
    steps_random(e, &same, count);
    make_a_detour(e, &detours, (uint32_t)eg_rng_below(&detours, 3));
    assert_same_state(control, e);
    assert_ok(eg_engine_check(e));
  }
  assert_ok(eg_engine_rebuild(control));
  assert_ok(eg_engine_rebuild(e));
  assert_same_state(control, e);
  assert_ok(eg_engine_check(e));
  eg_engine_destroy(control);
  eg_engine_destroy(e);
}

static void a_popped_engine_goes_on_as_if_nothing_had_happened(void **state) {
  (void)state;
  run_rounds(run_round);
}

static void a_clone_is_independent_and_goes_on_the_same_way(void **state) {
  (void)state;
  eg_rng rng = {test_seed(2)};
  eg_engine *e = create(eg_allocator_heap(), true, true), *clone;
  steps_random(e, &rng, 200);
  assert_ok(eg_engine_push(e));
  assert_ok(eg_engine_clone(e, &clone));
  assert_int_equal(pushed_states(clone), 0);
  eg_rng same = rng;
  steps_random(e, &rng, 200);
  steps_random(clone, &same, 200);
  assert_same_state(e, clone);
  eg_engine_destroy(e);
  assert_ok(eg_engine_rebuild(clone));
  assert_ok(eg_engine_check(clone));
  eg_engine_destroy(clone);
}

static void dropping_keeps_the_present_state(void **state) {
  (void)state;
  eg_rng rng = {test_seed(3)};
  eg_engine *e = create(eg_allocator_heap(), false, false), *clone;
  steps_random(e, &rng, 100);
  size_t before = eg_engine_bytes(e);
  assert_ok(eg_engine_push(e));
  assert_true(eg_engine_bytes(e) > before + before / 4); // both count
  steps_random(e, &rng, 100);
  assert_ok(eg_engine_clone(e, &clone));
  assert_ok(eg_engine_drop(e));
  assert_same_state(e, clone);
  assert_int_equal(pushed_states(e), 0);
  assert_fails(eg_engine_drop(e), EGRAPH_E_ARGUMENT, "no state");
  assert_fails(eg_engine_pop(e), EGRAPH_E_ARGUMENT, "no state");
  eg_engine_destroy(clone);
  eg_engine_destroy(e);
}

static void an_engine_with_pushed_states_can_be_destroyed(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_rng rng = {test_seed(4)};
  eg_engine *e = create(test_heap_allocator(&heap), true, true);
  for (int i = 0; i < 4; i++) {
    steps_random(e, &rng, 50);
    assert_ok(eg_engine_push(e));
  }
  assert_int_equal(pushed_states(e), 4);
  eg_engine_destroy(e);
  assert_int_equal(heap.live_bytes, 0);
}

static egraph_status push_and_pop(egraph_allocator alloc, void *user) {
  const eg_engine *model = user;
  eg_engine *e;
  eg_engine_options options = {.analysis = &step_sizes, .record = true};
  EG_TRY(eg_engine_create(&alloc, &options, &e));
  eg_rng rng = {7};
  egraph_status status = EGRAPH_OK;
  for (int i = 0; i < 60 && status == EGRAPH_OK; i++)
    status = step_random(e, &rng);
  bool is_built = status == EGRAPH_OK;
  if (is_built) status = eg_engine_push(e);
  if (is_built) {
    assert_same_state(e, model);
    assert_int_equal(pushed_states(e), status == EGRAPH_OK);
  }
  if (status == EGRAPH_OK) status = eg_engine_pop(e);
  eg_engine_destroy(e);
  return status;
}

static void a_push_that_fails_changes_nothing(void **state) {
  (void)state;
  eg_engine *model = create(eg_allocator_heap(), true, true);
  eg_rng rng = {7};
  steps_random(model, &rng, 60);
  test_every_allocation_failing(push_and_pop, model);
  eg_engine_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_popped_engine_goes_on_as_if_nothing_had_happened),
      cmocka_unit_test(a_clone_is_independent_and_goes_on_the_same_way),
      cmocka_unit_test(dropping_keeps_the_present_state),
      cmocka_unit_test(an_engine_with_pushed_states_can_be_destroyed),
      cmocka_unit_test(a_push_that_fails_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
