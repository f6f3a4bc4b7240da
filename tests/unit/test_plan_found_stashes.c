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

/// The limits lie a little below the peak of each plan. Whole activations that a device
/// holds are the input and what both norms make; of each it can give up 7 of 8 parts. The
/// input is gathered in forward then, where its gradient is scattered; of norms one after
/// the other is gathered again in backward.
static void what_is_kept_is_split_as_memory_gets_tight(void **state) {
  (void)state;
  enum { KEPT = 2 * LAYERS };
  planned p;
  setup(&p);
  p.layout.least_memory = true;
  planned_run(&p, INFINITY);
  p.layout.least_memory = false;
  double cost = p.planning.cost, kept = p.planning.kept;
  for (uint32_t split = 0; split <= KEPT; split++) {
    double limit = p.planning.memory - activation / 256;
    planned_run(&p, limit);
    assert_true(p.planning.has_plan);
    assert_true(p.planning.memory <= limit);
    assert_true(p.planning.cost > cost && p.planning.kept < kept - activation / 2);
    EXPECT(&p, FLOAT32 * HIDDEN, {F, KEPT, ALL_GATHER, 0, activation},
           {F, KEPT, REDUCE_SCATTER, 0, activation},
           {B, KEPT + split, ALL_GATHER, 0, activation},
           {B, KEPT, REDUCE_SCATTER, 0, activation});
    cost = p.planning.cost;
    kept = p.planning.kept;
  }
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_kept_is_split_as_memory_gets_tight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
