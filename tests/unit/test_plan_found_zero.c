// ZeRO (Rajbhandari et al., 2020) is found, stage by stage, as memory gets tighter:
//
//   stage 1   the optimizer's states are split: gradients are summed over devices and
//             scattered, weights gathered, once a step
//   stage 2   sums of gradients as well: scattered in every micro-batch
//   stage 3   weights as well: gathered in every micro-batch where they are read, in
//             forward and in backward
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

enum { FLOAT32 = 4, MICRO_BATCHES = 8, WIDTH = 1024, HIDDEN = 4096 };
// More tokens than columns: activations are dearer to send than weights.
static const mlp_model perceptron = {
    .layers = 2, .batch = 32768, .width = WIDTH, .hidden = HIDDEN};
static const double weight = FLOAT32 * WIDTH * HIDDEN;

/// Bytes of a device that are kept: input, target, the hidden activation and the
/// difference of the loss, split by tokens; two states of each weight, split; learning
/// rate and count of steps; weights and sums of gradients, of which so many are split.
static double memory_of(uint32_t split) {
  const double tokens = FLOAT32 * 32768.0 / 8;
  return tokens * (3 * WIDTH + HIDDEN) + 4 * weight / 8 + 2 * sizeof(double) +
         (4 - split) * weight + split * weight / 8;
}

static void setup(planned *p) {
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = EG_OPTIMIZER_ADAM;
  options.micro_batches = MICRO_BATCHES;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &perceptron);
  planned_init(p, &model, "dgx-h100*1", "gpu=8", &options);
  eg_text_deinit(&model);
}

/// The collectives of weights and their gradients in a plan. Of two weights: the first is
/// not read in backward, where nothing asks for the gradient of the input.
typedef struct stage {
  uint32_t gathered_forward, gathered_backward, scattered_backward, scattered_update,
      gathered_update, weights_split, sums_split;
} stage;

static stage stage_of(const planned *p) {
  static const char *const weights[] = {"w0", "w1"}, *const sums[] = {"w0.sum", "w1.sum"};
  stage s = {
      .gathered_forward = planned_count(p, &(collectives){F, 0, ALL_GATHER, 0, weight}),
      .gathered_backward = planned_count(p, &(collectives){B, 0, ALL_GATHER, 0, weight}),
      .scattered_backward =
          planned_count(p, &(collectives){B, 0, REDUCE_SCATTER, 0, weight}),
      .scattered_update =
          planned_count(p, &(collectives){U, 0, REDUCE_SCATTER, 0, weight}),
      .gathered_update = planned_count(p, &(collectives){U, 0, ALL_GATHER, 0, weight})};
  for (int w = 0; w < 2; w++) {
    s.weights_split += eg_digit_is_shard(planned_digit(p, weights[w], 0));
    s.sums_split += eg_digit_is_shard(planned_digit(p, sums[w], 0));
  }
  return s;
}

/// Every stage, and the mixtures in between. From one to the next a weight or a sum of
/// gradients is split more, which frees 7 of 8 parts of it: the limits lie a little lower
/// than each peak.
static void stages_follow_each_other_as_memory_gets_tight(void **state) {
  (void)state;
  static const struct {
    stage stage;
    double volume; // in weights, all micro-batches together
  } steps[] = {
      {{0, 0, 0, 2, 2, 0, 0}, 2 + 2},           {{0, 0, 1, 1, 2, 0, 1}, 8 + 1 + 2},
      {{0, 0, 2, 0, 2, 0, 2}, 8 * 2 + 2},       {{1, 0, 2, 0, 1, 1, 2}, 8 * (2 + 1) + 1},
      {{2, 1, 2, 0, 0, 2, 2}, 8 * (2 + 2 + 1)},
  };
  planned p;
  setup(&p);
  double limit = (double)INFINITY, cost = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    planned_run(&p, limit);
    assert_true(p.planning.has_plan);
    if (i == 0) // later ones give way where the peak is
      assert_true(p.planning.kept <= memory_of(0) + 1024);
    assert_true(p.planning.memory <= limit);
    assert_true(p.planning.cost > cost && p.planning.bound <= p.planning.cost);
    // Under the last limit a plan is found that gives way where the peak is, and moves
    // less than the stage that splits everything.
    assert_true(planned_volume(&p, FLOAT32) <= steps[i].volume * weight);
    if (i + 1 == sizeof steps / sizeof *steps) break;
    assert_true(planned_volume(&p, FLOAT32) == steps[i].volume * weight);
    stage found = stage_of(&p);
    assert_memory_equal(&found, &steps[i].stage, sizeof found);
    limit = p.planning.memory - weight / 8;
    cost = p.planning.cost;
  }
  planned_deinit(&p);
}

/// Too little memory is refused with what would do; that does, and a thousandth
/// less does not.
static void the_least_memory_that_would_do_is_named_and_does(void **state) {
  (void)state;
  planned p;
  setup(&p);
  planned_run(&p, 1);
  assert_int_equal(p.planning.status, EG_LAYOUT_NO_MEMORY);
  assert_false(p.planning.has_plan);
  double least = p.planning.least_memory;
  planned_run(&p, least);
  assert_true(p.planning.has_plan && p.planning.memory <= least);
  planned_run(&p, least * 0.999);
  assert_false(p.planning.has_plan);
  assert_true(p.planning.least_memory == least);
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_follow_each_other_as_memory_gets_tight),
      cmocka_unit_test(the_least_memory_that_would_do_is_named_and_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
