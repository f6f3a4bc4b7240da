// Plans that are broken in memory in ways that no file can be.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_kit.h"

typedef struct breaking {
  void (*breaks)(eg_plan *plan);
  const char *message;
  uint32_t plan; // of PLAN_CASES
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

static void carries_a_result(eg_plan *plan) {
  plan->carried.data[1] = eg_graph_output(plan->graph, 0, NULL).id;
}

static void carries_twice(eg_plan *plan) {
  const uint32_t again[] = {plan->carried.data[0], plan->carried.data[1]};
  assert_ok(eg_u32s_append(&plan->carried, again, 2));
}

/// As x, which has another shape.
static void carries_another_type(eg_plan *plan) {
  eg_value x;
  assert_true(eg_graph_find_value(plan->graph, "x", &x));
  plan->carried.data[1] = x.id;
}

static void has_blocks_of_its_own(eg_plan *plan) {
  plan->states.data[plan->steps.data[first_move(plan)].to].more_blocks = 3;
}

static void has_blocks_of_one_result(eg_plan *plan) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (step->is_move) continue;
    eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
    if (info.result_count == 1) continue;
    uint32_t last = step->operands + info.input_count + info.result_count - 1;
    plan->states.data[plan->operands.data[last]].more_blocks = 3;
  }
}

static void leaves_for_other_blocks(eg_plan *plan) {
  for (uint32_t i = 0; i < plan->states.len; i++)
    if (plan->states.data[i].value.id == plan->carried.data[1])
      plan->states.data[i].more_blocks = 3;
}

static void goes_back(eg_plan *plan) {
  plan->steps.data[plan->steps.len - 1].phase = EG_PHASE_FORWARD;
}

static void has_a_format_of_images(eg_plan *plan) {
  plan->states.data[0].layout.format = EG_FORMAT_NHWC;
}

static void every_broken_plan_is_found(void **state) {
  (void)state;
  static const breaking ROWS[] = {
      {says_another_step, "a state that its step does not make", 0},
      {comes_from_nowhere, "a state that nothing makes", 0},
      {is_of_no_value, "a state of no value", 0},
      {moves_otherwise, "a move that is no single transition", 0},
      {moves_from_later, "an operand is made later", 0},
      {has_no_operands, "operands are missing", 0},
      {has_no_node, "no such node", 0},
      {carries_no_output, "carries no output", 0},
      {carries_no_value, "carries no value that enters", 0},
      {carries_a_result, "carries no value that enters", 0},
      {carries_twice, "two values leave the step for one that enters", 0},
      {carries_another_type, "in another type than it entered", 0},
      {has_blocks_of_its_own, "a value that stands for several numbers of blocks", 0},
      {has_blocks_of_one_result, "results of a node that stand for several", 5},
      {leaves_for_other_blocks, "for another number of blocks", 0},
      {goes_back, "a phase that was over", 0},
      {has_a_format_of_images, "a state whose layout does not fit its value", 0},
  };
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    eg_emitted_plan made;
    plan_make(&PLAN_CASES[ROWS[i].plan], &made);
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
