// Updates of optimizers and fused gradients against values worked out by hand and the
// formulas of papers.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

// 1 - beta^2 is 3/4 for both; the corrected moments are 2 and 4, so the slope is 1.
static void adam_by_hand(void **state) {
  BOX;
  RUN(EG_OP_ADAM_UPDATE, "beta1 0.5; beta2 0.5; epsilon 0.0", T("float64[1]", 10),
      T("float64[1]", 1), T("float64[1]", 2), T("float64[1]", 2), T("float64[]", 0.25),
      T("float64[]", 2));
  EXPECT_NEAR(1e-15, "float64[1]", 9.75);
  EXPECT_RESULT(1, "float64[1]", 1.5);
  EXPECT_RESULT(2, "float64[1]", 3);
  // Decay 0.5 in the gradient: -3 + 5; beside it: the weight loses an eighth.
  RUN(EG_OP_ADAM_UPDATE, "beta1 0.5; beta2 0.5; epsilon 0.0; weight_decay 0.5",
      T("float64[1]", 10), T("float64[1]", 1), T("float64[1]", 2), T("float64[1]", -3),
      T("float64[]", 0.25), T("float64[]", 2));
  EXPECT_NEAR(1e-15, "float64[1]", 9.75);
  RUN(EG_OP_ADAM_UPDATE,
      "beta1 0.5; beta2 0.5; epsilon 0.0; weight_decay 0.5; decoupled 1",
      T("float64[1]", 10), T("float64[1]", 1), T("float64[1]", 2), T("float64[1]", 2),
      T("float64[]", 0.25), T("float64[]", 2));
  EXPECT_NEAR(1e-15, "float64[1]", 8.5);
}

enum { COUNT = 37 };
static const double beta1 = 0.8, beta2 = 0.95, epsilon = 1e-3, decay = 0.3, rate = 0.01;

// Kingma and Ba, algorithm 1; Loshchilov and Hutter, algorithm 2.
static void adam_of(double x[4], int step, bool decoupled) {
  double g = decoupled ? x[3] : x[3] + decay * x[0], before = x[0];
  x[1] = beta1 * x[1] + (1 - beta1) * g;
  x[2] = beta2 * x[2] + (1 - beta2) * g * g;
  double mean = x[1] / (1 - pow(beta1, step)), square = x[2] / (1 - pow(beta2, step));
  x[0] -= rate * (mean / (sqrt(square) + epsilon));
  if (decoupled) x[0] -= rate * decay * before;
}

static void check_adam(kernel_box *box, const char *type, double tolerance, int step,
                       bool decoupled) {
  eg_rng rng = {.state = test_seed(5) + (uint64_t)step};
  const double numbers[] = {rate, step};
  double wanted[3][COUNT];
  eg_tensor inputs[6];
  for (int k = 0; k < 4; k++)
    inputs[k] = box_tensor(box, type, NULL);
  for (int k = 4; k < 6; k++)
    inputs[k] = box_tensor(box, "float64[]", &numbers[k - 4]);
  for (int i = 0; i < COUNT; i++) {
    double x[4];
    for (int k = 0; k < 4; k++) {
      x[k] = 2 * eg_rng_unit(&rng) - (k == 2 ? 0 : 1);
      eg_tensor_set_double(&inputs[k], i, x[k]);
    }
    adam_of(x, step, decoupled);
    for (int k = 0; k < 3; k++)
      wanted[k][i] = x[k];
  }
  assert_ok(box_call(box, EG_OP_ADAM_UPDATE,
                     decoupled ? "beta1 0.8; beta2 0.95; epsilon 0.001; weight_decay 0.3;"
                                 " decoupled 1"
                               : "beta1 0.8; beta2 0.95; epsilon 0.001; weight_decay 0.3",
                     inputs, 6));
  for (uint32_t k = 0; k < 3; k++)
    box_expect(box, k, type, tolerance, COUNT, wanted[k]);
}

static void adam_agrees_with_its_paper(void **state) {
  BOX;
  for (int step = 1; step < 1000; step = 3 * step + 1)
    for (int decoupled = 0; decoupled < 2; decoupled++) {
      check_adam(box, "float64[37]", 1e-14, step, decoupled != 0);
      check_adam(box, "float32[37,1]", 1e-6, step, decoupled != 0);
      check_adam(box, "float16[37]", 4e-3, step, decoupled != 0);
    }
}

// More elements than are updated at a time.
static void adam_may_write_over_its_operands(void **state) {
  BOX;
  eg_rng rng = {.state = test_seed(6)};
  eg_attrs attrs = box_attrs(box, EG_OP_ADAM_UPDATE, "weight_decay 0.3");
  eg_tensor inputs[6];
  for (int k = 0; k < 4; k++)
    inputs[k] = box_random(box, "float32[5000]", &rng, 9);
  for (int k = 4; k < 6; k++)
    inputs[k] = T("float64[]", 2);
  for (int i = 0; i < 5000; i++) // squares
    ((float *)inputs[2].data)[i] += 9;
  assert_ok(box_try(box, &attrs, inputs, 6));
  assert_ok(eg_op_run(&(eg_kernel_call){.attrs = &attrs,
                                        .inputs = inputs,
                                        .input_count = 6,
                                        .outputs = inputs,
                                        .output_count = 3,
                                        .alloc = box->arena.alloc}));
  for (int k = 0; k < 3; k++)
    assert_memory_equal(inputs[k].data, box->results[k].data, 5000 * sizeof(float));
  for (int k = 0; k < 6; k++)
    box_free(box, &inputs[k]);
}

// [1, 3] has mean 2 and variance 1; epsilon 3 halves what is normalized.
static void gradients_of_normalizations_by_hand(void **state) {
  BOX;
  RUN(EG_OP_LAYER_NORM_GRAD, "epsilon 3", T("float32[1,2]", 1, 2),
      T("float32[1,2]", 1, 3), T("float32[2]", 2, 5));
  // h = [2, 10], mean 6, n = [-1/2, 1/2], mean(h n) = 2: ([-4, 4] - [-1, 1]) / 2
  EXPECT("float32[1,2]", -1.5, 1.5);
  RUN(EG_OP_RMS_NORM_GRAD, "epsilon 0.0", T("float64[1,2]", 10, 5),
      T("float64[1,2]", 1, 7), T("float64[2]", 1, 4));
  // h = [10, 20], r = 1/5, n = [1/5, 7/5], mean(h n) = 15: (h - [3, 21]) / 5
  EXPECT_NEAR(1e-15, "float64[1,2]", 1.4, -0.2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(adam_by_hand),
      TEST(adam_agrees_with_its_paper),
      TEST(adam_may_write_over_its_operands),
      TEST(gradients_of_normalizations_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
