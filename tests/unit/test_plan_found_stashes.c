// What forward keeps for backward is kept in parts as memory gets tight, and gathered
// again where backward reads it: as Korthikanti et al. (2022) keep the operands of split
// products, and ZeRO its activations. DGX H100 as it is shipped.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

enum { FLOAT32 = 4, LAYERS = 1, SEQUENCE = 2048, HIDDEN = 12288 };
static const double activation = FLOAT32 * (double)SEQUENCE * HIDDEN;

/// One long sequence: tensor and sequence parallelism.
static void setup(planned *p) {
  const transformer_model m = {.layers = LAYERS,
                               .batch = 1,
                               .sequence = SEQUENCE,
                               .hidden = HIDDEN,
                               .heads = 96,
                               .dtype = "float32"};
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = EG_OPTIMIZER_ADAM;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_transformer(&model, &m);
  planned_init(p, &model, "dgx-h100*1", "gpu=8", &options);
  eg_text_deinit(&model);
}

/// The limits lie half an activation below the peak of each plan: every one is kept, and
/// costs more than the one before. Of the activations that a device holds whole (the
/// input and what both norms make) backward gathers more in the end than at first.
static void what_is_kept_is_split_as_memory_gets_tight(void **state) {
  (void)state;
  enum { LIMITS = 2 };
  planned p;
  setup(&p);
  planned_run(&p, INFINITY);
  for (uint32_t i = 0; i < LIMITS; i++) {
    double limit = p.planning.memory - activation / 2, cost = p.planning.cost;
    planned_run(&p, limit);
    assert_true(p.planning.has_plan);
    assert_true(p.planning.memory <= limit);
    assert_true(p.planning.cost > cost);
    assert_true(p.planning.bound <= p.planning.cost * (1 + 1e-9));
  }
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_kept_is_split_as_memory_gets_tight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
