// Splits of dimensions that are no batch are found where they pay: the classes of a loss,
// the rows of an image. DGX H100 as it is shipped.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_cost.h"
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

enum { FLOAT32 = 4 }; // bytes
static const char node[] = "dgx-h100*1";

/// Plans to the proven end. `options` NULL: the forward graph.
static void find(planned *p, eg_text *model, const eg_training_options *options) {
  planned_init(p, model, node, "gpu=8", options);
  planned_run(p, INFINITY);
  assert_int_equal(p->planning.status, EG_LAYOUT_OPTIMAL);
  eg_text_deinit(model);
}

/// Cross entropy over classes that are split (Megatron-LM, Shoeybi et al., 2019): rows
/// send their maximum and their sum of exponentials, never the classes. What is at the
/// label stays a partial sum until the loss is one.
static void classes_of_a_loss_are_split_with_the_last_matrix(void **state) {
  (void)state;
  enum { ROWS = 512, WIDTH = 1024, CLASSES = 51200 };
  const mlp_model m = {.layers = 1, .batch = ROWS, .width = WIDTH, .hidden = CLASSES};
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_CROSS_ENTROPY;
  options.optimizer = EG_OPTIMIZER_ADAM;
  planned p;
  eg_text model;
  eg_text_init(&model, eg_allocator_heap());
  model_mlp(&model, &m);
  find(&p, &model, &options);
  EXPECT(&p, 0, {F, 2, ALL_REDUCE, 0, FLOAT32 * ROWS}, {F, 1, ALL_REDUCE, 0, FLOAT32});
  assert_int_equal(planned_digit(&p, "w0", 0), S1);
  assert_int_equal(planned_digit(&p, "x1", 0), S1);
  planned_deinit(&p);
}

/// One image through convolutions 3x3, and the maximum of each channel of what they make.
static void model_image(eg_text *text, int layers) {
  model_begin(text);
  model_add(text, "(input x0 \"float32[1,64,1024,1024]\")\n");
  for (int i = 0; i < layers; i++) {
    model_add(text, "(weight w%d \"float32[64,64,3,3]\")\n", i);
    model_add(
        text,
        "(let x%d (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x%d w%d))\n",
        i + 1, i, i);
  }
  model_add(text, "(let y (global-max-pool x%d))(output y)\n", layers);
}

/// Each convolution wants a row of each neighbour, and what is left of the image is a
/// maximum over devices. Channels would have to be summed between convolutions.
static void one_large_image_is_split_by_rows(void **state) {
  (void)state;
  enum { LAYERS = 3 };
  planned p;
  eg_text model;
  eg_plan_summary summary;
  eg_text_init(&model, eg_allocator_heap());
  model_image(&model, LAYERS);
  find(&p, &model, NULL);
  EXPECT(&p, 0, {F, 1, ALL_REDUCE, 0, FLOAT32 * 64});
  uint8_t rows = planned_digit(&p, "x1", 0);
  assert_true(rows == S2 || rows == S2 + 1); // columns are as good
  assert_int_equal(planned_digit(&p, "x2", 0), rows);
  assert_int_equal(planned_digit(&p, "x3", 0), rows);
  assert_int_equal(planned_digit(&p, "y", 0), EG_SHARD_P_MAX);
  assert_ok(
      eg_plan_summary_make(&p.planning.emitted.plan, eg_allocator_heap(), &summary));
  assert_int_equal(summary.exchange[F][0][EG_EXCHANGE_HALO].count, LAYERS);
  planned_deinit(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_of_a_loss_are_split_with_the_last_matrix),
      cmocka_unit_test(one_large_image_is_split_by_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
