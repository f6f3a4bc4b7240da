// Plans of stacks of equal blocks, made with one block standing for many and then
// unfolded: they pass the check, cost what the folded ones do, and give on ranks what one
// device gives.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_report.h"
#include "tests/unit/unfold_kit.h"

static void unfolded_plans_give_what_one_device_gives(void **state) {
  (void)state;
  eg_rng rng = {test_seed(5)};
  for (size_t round = 0; round < 9; round++)
    (void)run_round(&rng, unfold_meshes[round % 3], NULL);
}

static void forward_graphs_are_unfolded_too(void **state) {
  (void)state;
  eg_rng rng = {test_seed(6)};
  uint32_t ahead = 0;
  for (size_t round = 0; round < 12; round++)
    ahead += run_forward_round(&rng, unfold_meshes[round % 3], NULL);
  print_message("%u nodes computed ahead\n", ahead);
  assert_true(ahead >= 12);
}

/// Casts of weights, which have no place of their own in a block, and attention.
static void transformers_in_two_precisions_are_unfolded(void **state) {
  (void)state;
  const transformer_model m = {.layers = 7,
                               .batch = 4,
                               .sequence = 8,
                               .hidden = 16,
                               .heads = 4,
                               .dtype = "float32"};
  const prices p = {
      .per_flop = 0.1, .per_node = 1, .per_byte = 0.2, .latency = 50, .slow = 2};
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  for (int mixed = 0; mixed < 2; mixed++) {
    eg_text text;
    eg_training whole;
    unfold_case c;
    eg_emitted_plan plan;
    options.precision = (eg_precision)mixed;
    options.micro_batches = mixed != 0 ? 2 : 1;
    eg_text_init(&text, eg_allocator_heap());
    model_transformer(&text, &m);
    unfold_case_init(&c, eg_text_of(&text), "gpu=4", &p, NULL, &options);
    assert_ok(eg_training_step(c.forward, &options, &whole));
    unfold(&c, &whole, &plan);
    eg_text_clear(&text);
    assert_ok(eg_plan_print(&plan.plan, EG_PLAN_COLLECTIVES, &text));
    assert_non_null(strstr(eg_text_of(&text), " times more the same as the last "));
    eg_emitted_plan_deinit(&plan);
    eg_training_deinit(&whole);
    unfold_case_deinit(&c);
    eg_text_deinit(&text);
  }
}

static egraph_status unfold_body(egraph_allocator alloc, void *user) {
  const unfold_case *c = user;
  const eg_unfold_steps steps = {.forward = c->forward,
                                 .blocks = &c->blocks,
                                 .ends = unfold_ends,
                                 .folded = &c->folded};
  eg_emitted_plan plan;
  EG_TRY(eg_plan_unfold(alloc, &steps, &c->plan, &c->costs, &plan));
  eg_emitted_plan_deinit(&plan);
  return EGRAPH_OK;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_rng rng = {3};
  eg_text text;
  prices p;
  unfold_case c;
  eg_text_init(&text, eg_allocator_heap());
  draw_stack(&rng, &text);
  draw_prices(&rng, &p);
  unfold_case_init(&c, eg_text_of(&text), "gpu=2", &p, NULL, NULL);
  test_every_allocation_failing(unfold_body, &c);
  unfold_case_deinit(&c);
  eg_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unfolded_plans_give_what_one_device_gives),
      cmocka_unit_test(forward_graphs_are_unfolded_too),
      cmocka_unit_test(transformers_in_two_precisions_are_unfolded),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
