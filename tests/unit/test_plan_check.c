// Plans that are broken in memory in ways that no file can be.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_kit.h"

typedef struct breaking {
  void (*breaks)(eg_plan *plan);
  const char *message;
} breaking;

static uint32_t first_move(const eg_plan *plan) {
  uint32_t step = 0;
  while (!plan->steps.data[step].is_move)
    step++;
  return step;
}

static void says_another_step(eg_plan *plan) {
  eg_plan_state state = plan->states.data[plan->output_states.data[0]];
  assert_ok(eg_plan_states_push(&plan->states, state));
}

static void comes_from_nowhere(eg_plan *plan) {
  plan->states.data[plan->output_states.data[0]].step = EG_PLAN_NONE;
}

static void is_of_no_value(eg_plan *plan) { plan->states.data[0].value.id = 1u << 20; }

static void moves_otherwise(eg_plan *plan) {
  eg_plan_step *move = &plan->steps.data[first_move(plan)];
  move->transition.kind = EG_TRANSITION_MASK;
}

static void moves_from_later(eg_plan *plan) {
  plan->steps.data[first_move(plan)].from = plan->output_states.data[0];
}

static void has_no_operands(eg_plan *plan) { plan->operands.len = 1; }

static void has_no_node(eg_plan *plan) { plan->steps.data[0].node.id = 1u << 20; }

static void carries_no_output(eg_plan *plan) { plan->carried.data[0] = 1u << 20; }

static void carries_no_value(eg_plan *plan) { plan->carried.data[1] = 1u << 20; }

static void goes_back(eg_plan *plan) {
  plan->steps.data[plan->steps.len - 1].phase = EG_PHASE_FORWARD;
}

static void every_broken_plan_is_found(void **state) {
  (void)state;
  static const breaking ROWS[] = {
      {says_another_step, "a state that its step does not make"},
      {comes_from_nowhere, "a state that nothing makes"},
      {is_of_no_value, "a state of no value"},
      {moves_otherwise, "a move that is no single transition"},
      {moves_from_later, "an operand is made later"},
      {has_no_operands, "operands are missing"},
      {has_no_node, "no such node"},
      {carries_no_output, "carries no output"},
      {carries_no_value, "carries no value"},
      {goes_back, "a phase that was over"},
  };
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    eg_emitted_plan made;
    plan_make(&PLAN_CASES[0], &made);
    assert_ok(eg_plan_check(&made.plan, eg_allocator_heap()));
    ROWS[i].breaks(&made.plan);
    assert_fails(eg_plan_check(&made.plan, eg_allocator_heap()), EGRAPH_E_INTERNAL,
                 ROWS[i].message);
    eg_emitted_plan_deinit(&made);
  }
}

static egraph_status check(egraph_allocator alloc, void *user) {
  return eg_plan_check(&((eg_emitted_plan *)user)->plan, alloc);
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_emitted_plan made;
  plan_make(&PLAN_CASES[0], &made);
  test_every_allocation_failing(check, &made);
  eg_emitted_plan_deinit(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_broken_plan_is_found),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
