// Landmarks of layout problems against exhaustive search: without a value that all
// solutions have, or without the operators of a cut, there is no solution.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "extract/layout/layout_plain.h"
#include "tests/layout_draw.h"
#include "tests/testing.h"

typedef struct instance {
  eg_layout_problem problem;
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_active active;
  eg_layout_landmarks landmarks;
} instance;

static egraph_status find(instance *t, egraph_allocator alloc) {
  EG_TRY(eg_layout_landmarks_init(&t->landmarks, alloc));
  egraph_status status =
      eg_layout_landmarks_find(&t->landmarks, &t->active, &t->task, INFINITY, 0);
  if (status != EGRAPH_OK) eg_layout_landmarks_deinit(&t->landmarks);
  return status;
}

static void open_instance(instance *t, eg_rng *rng) {
  egraph_allocator alloc = eg_allocator_heap();
  draw_problem(rng, &t->problem, draw_below(rng, 2), draw_below(rng, 2));
  t->task = (eg_layout_task){.objective = EG_LAYOUT_COST};
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    t->task.limit[m] = INFINITY;
  assert_ok(eg_layout_view_init(&t->view, alloc, &t->problem));
  assert_ok(eg_layout_active_init(&t->active, alloc, &t->view));
  assert_ok(eg_layout_presolve(&t->active, &t->task));
}

static void close_instance(instance *t) {
  eg_layout_active_deinit(&t->active);
  eg_layout_view_deinit(&t->view);
  eg_layout_problem_deinit(&t->problem);
}

static void forbid(eg_layout_problem *p, uint32_t op) {
  uint32_t begin = p->strategy_begin.data[op], end = p->strategy_begin.data[op + 1];
  for (uint32_t s = 0; s < end - begin; s++)
    assert_ok(eg_layout_problem_forbid_strategy(p, op, s));
}

/// Takes away what is inactive already, so that landmarks of the rest are judged.
static void forbid_inactive(instance *t) {
  eg_layout_problem *p = &t->problem;
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++)
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
      if (!t->active.strategy.data[s])
        assert_ok(
            eg_layout_problem_forbid_strategy(p, op, s - p->strategy_begin.data[op]));
}

static void check_without(instance *t, const uint32_t *ops, size_t count, size_t round) {
  static brute_result exact;
  eg_layout_problem *p = &t->problem;
  eg_bytes kept;
  eg_bytes_init(&kept, eg_allocator_heap());
  assert_ok(eg_bytes_append(&kept, p->forbidden.data, p->forbidden.len));
  for (size_t i = 0; i < count; i++)
    forbid(p, ops[i]);
  brute_force(p, &exact);
  if (exact.any) fail_msg("round %zu: there is a solution without a landmark", round);
  memcpy(p->forbidden.data, kept.data, kept.len);
  eg_bytes_deinit(&kept);
}

static void check_values(instance *t, size_t round, size_t *count) {
  const eg_layout_problem *p = &t->problem;
  for (size_t i = 0; i < t->landmarks.values.len; i++) {
    uint32_t value = t->landmarks.values.data[i], ops[DRAW_OPERATORS + DRAW_VALUES];
    size_t of_value = 0;
    for (uint32_t op = 0; op < eg_layout_operator_count(p); op++)
      if (p->operator_value.data[op] == value) ops[of_value++] = op;
    *count += !t->active.required.data[value];
    check_without(t, ops, of_value, round);
  }
}

static void check_cuts(instance *t, size_t round, size_t *count) {
  const eg_layout_landmarks *l = &t->landmarks;
  for (uint32_t c = 0; c < eg_layout_cut_count(l); c++) {
    uint32_t begin = l->cut_begin.data[c];
    check_without(t, l->cut_ops.data + begin, l->cut_begin.data[c + 1] - begin, round);
    ++*count;
  }
}

static void no_solution_is_without_landmarks(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261122);
  size_t rounds = test_rounds(6000), values = 0, cuts = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    instance t;
    open_instance(&t, &rng);
    if (!t.active.infeasible) {
      assert_ok(find(&t, eg_allocator_heap()));
      forbid_inactive(&t);
      check_values(&t, round, &values);
      check_cuts(&t, round, &cuts);
      eg_layout_landmarks_deinit(&t.landmarks);
    }
    close_instance(&t);
  }
  print_message("beyond what inputs show: %zu values, %zu cuts\n", values, cuts);
  assert_true(values >= rounds / 200 && cuts >= rounds / 100);
}

static void without_time_there_are_none(void **state) {
  (void)state;
  eg_rng rng = {1};
  instance t;
  open_instance(&t, &rng);
  for (; t.active.infeasible; open_instance(&t, &rng))
    close_instance(&t);
  assert_ok(eg_layout_landmarks_init(&t.landmarks, eg_allocator_heap()));
  assert_ok(eg_layout_landmarks_find(&t.landmarks, &t.active, &t.task, 0, 0));
  assert_int_equal(t.landmarks.values.len, 0);
  assert_int_equal(eg_layout_cut_count(&t.landmarks), 0);
  eg_layout_landmarks_deinit(&t.landmarks);
  close_instance(&t);
}

static egraph_status find_and_forget(egraph_allocator alloc, void *user) {
  instance *t = user;
  EG_TRY(find(t, alloc));
  eg_layout_landmarks_deinit(&t->landmarks);
  return EGRAPH_OK;
}

static void any_allocation_may_fail(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    eg_rng rng = {eg_hash_combine(11, seed)};
    instance t;
    open_instance(&t, &rng);
    if (!t.active.infeasible) test_every_allocation_failing(find_and_forget, &t);
    close_instance(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_solution_is_without_landmarks),
      cmocka_unit_test(without_time_there_are_none),
      cmocka_unit_test(any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
