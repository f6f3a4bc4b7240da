// Normalizations, softmax and reductions against hand-computed values and direct
// formulas.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

static void batch_normalization_uses_the_given_statistics(void **state) {
  BOX;
  RUN(EG_OP_BATCH_NORM, "epsilon 0.0", T("float32[2,2,2]", 1, 2, 3, 4, 5, 6, 7, 8),
      T("float32[2]", 1, 2), T("float32[2]", 0, 10), T("float32[2]", 1, 3),
      T("float32[2]", 4, 0.25));
  EXPECT("float32[2,2,2]", 0, 0.5, 10, 14, 2, 2.5, 26, 30);
  RUN(EG_OP_BATCH_NORM, "epsilon 1", T("float64[1,1,1]", 4), T("float64[1]", 3),
      T("float64[1]", 2), T("float64[1]", 1), T("float64[1]", 8));
  EXPECT("float64[1,1,1]", 5);
}

// The statistics of [1, 3] are 2 and 1, of [2, 2, 8, 8] 5 and 9.
static void layer_normalization_covers_the_trailing_dimensions(void **state) {
  BOX;
  RUN(EG_OP_LAYER_NORM, "epsilon 0.0", T("float32[2,2]", 1, 3, 30, 10),
      T("float32[2]", 1, 2), T("float32[2]", 0, 10));
  EXPECT("float32[2,2]", -1, 12, 1, 8);
  RUN(EG_OP_LAYER_NORM, "epsilon 0.0; axis 1", T("float64[1,2,2]", 2, 2, 8, 8),
      T("float64[2,2]", 1, 2, 3, 4));
  EXPECT("float64[1,2,2]", -1, -2, 3, 4);
  RUN(EG_OP_LAYER_NORM, "epsilon 3", T("float64[1,2]", 1, 3), T("float64[2]", 1, 1));
  EXPECT("float64[1,2]", -0.5, 0.5);
  RUN(EG_OP_RMS_NORM, "epsilon 0.0", T("float64[1,2]", 1, 7), T("float64[2]", 1, 10));
  EXPECT("float64[1,2]", 0.2, 14);
}

static void group_and_instance_normalization(void **state) {
  BOX;
  RUN(EG_OP_GROUP_NORM, "num_groups 1; epsilon 0.0", T("float32[1,2,2]", 2, 2, 8, 8),
      T("float32[2]", 1, 2), T("float32[2]", 0, 1));
  EXPECT("float32[1,2,2]", -1, -1, 3, 3);
  RUN(EG_OP_INSTANCE_NORM, "epsilon 0.0", T("float32[2,2,2]", 1, 3, 30, 10, 0, 2, 8, 4),
      T("float32[2]", 1, 2), T("float32[2]", 0, 1));
  EXPECT("float32[2,2,2]", -1, 1, 3, -1, -1, 1, 3, -1);
}

static void softmax_is_stable_and_works_on_any_axis(void **state) {
  BOX;
  double e1 = 0.7310585786300049, e0 = 0.2689414213699951;
  RUN(EG_OP_SOFTMAX, "", T("float32[2,2]", 1000, 1001, -1000, -1001));
  EXPECT_NEAR(1e-7, "float32[2,2]", e0, e1, e1, e0);
  RUN(EG_OP_SOFTMAX, "axis 0", T("float64[2,2]", 0, 3, 1, 2));
  EXPECT_NEAR(1e-15, "float64[2,2]", e0, e1, e1, e0);
  RUN(EG_OP_LOG_SOFTMAX, "axis 0", T("float64[2,2]", 0, 3, 1, 2));
  EXPECT_NEAR(1e-15, "float64[2,2]", log(e0), log(e1), log(e1), log(e0));
  RUN(EG_OP_LOG_SOFTMAX, "", T("float32[1,2]", 0, 500));
  EXPECT("float32[1,2]", -500, 0);
  RUN(EG_OP_SOFTMAX, "", T("float32[1,3]", -INFINITY, 0, 1));
  EXPECT_NEAR(1e-7, "float32[1,3]", 0, e0, e1);
}

static void lrn_sums_over_neighbouring_channels(void **state) {
  BOX;
  RUN(EG_OP_LRN, "size 3; alpha 3; beta 1; bias 1", T("float32[1,3,1]", 1, 2, 3));
  EXPECT_NEAR(1e-7, "float32[1,3,1]", 1.0 / 6, 2.0 / 15, 3.0 / 14);
  // An even size reaches further up than down.
  RUN(EG_OP_LRN, "size 2; alpha 2; beta 1; bias 1", T("float64[1,3,1]", 1, 2, 3));
  EXPECT_NEAR(1e-15, "float64[1,3,1]", 1.0 / 6, 2.0 / 14, 3.0 / 10);
}

static void reductions_over_any_axes(void **state) {
  BOX;
#define X T("float32[2,3,2]", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
  RUN(EG_OP_REDUCE_SUM, "axes [1]; keepdims 0", X);
  EXPECT("float32[2,2]", 9, 12, 27, 30);
  RUN(EG_OP_REDUCE_SUM, "axes [0 2]", X);
  EXPECT("float32[1,3,1]", 18, 26, 34);
  RUN(EG_OP_REDUCE_SUM, "axes [0 1 2]; keepdims 0", X);
  EXPECT("float32[]", 78);
  RUN(EG_OP_REDUCE_SUM, "axes []", T("float32[2]", 4, 5));
  EXPECT("float32[2]", 4, 5);
  RUN(EG_OP_REDUCE_MEAN, "axes [2]", X);
  EXPECT("float32[2,3,1]", 1.5, 3.5, 5.5, 7.5, 9.5, 11.5);
  RUN(EG_OP_REDUCE_MEAN, "axes [2]; count 4", X); // two of four
  EXPECT("float32[2,3,1]", 0.75, 1.75, 2.75, 3.75, 4.75, 5.75);
  RUN(EG_OP_REDUCE_MAX, "axes [0]; keepdims 0", X);
  EXPECT("float32[3,2]", 7, 8, 9, 10, 11, 12);
  RUN(EG_OP_REDUCE_MIN, "axes [1 2]; keepdims 0", X);
  EXPECT("float32[2]", 1, 7);
  RUN(EG_OP_REDUCE_PROD, "axes [1]; keepdims 0", X);
  EXPECT("float32[2,2]", 15, 48, 693, 960);
#undef X
}

static void reductions_of_integers_and_special_values(void **state) {
  BOX;
  RUN(EG_OP_REDUCE_SUM, "axes [0]; keepdims 0", T("int8[3]", 100, 100, 1));
  EXPECT("int8[]", -55);
  RUN(EG_OP_REDUCE_MEAN, "axes [0]; keepdims 0", T("int32[2]", -3, -4));
  EXPECT("int32[]", -3);
  RUN(EG_OP_REDUCE_MAX, "axes [0]; keepdims 0", T("int64[3]", -5, -3, -9));
  EXPECT("int64[]", -3);
  RUN(EG_OP_REDUCE_MIN, "axes [0]; keepdims 0", T("uint8[3]", 200, 100, 255));
  EXPECT("uint8[]", 100);
  RUN(EG_OP_REDUCE_PROD, "axes [0]; keepdims 0", T("uint16[3]", 256, 256, 3));
  EXPECT("uint16[]", 0);
  RUN(EG_OP_REDUCE_MAX, "axes [0]; keepdims 0", T("float32[3]", 1, NAN, 2));
  EXPECT("float32[]", NAN);
  RUN(EG_OP_REDUCE_SUM, "axes [1]; keepdims 0", T("float32[2,0]", 0));
  EXPECT("float32[2]", 0, 0);
  RUN(EG_OP_REDUCE_PROD, "axes [1]; keepdims 0", T("int32[2,0]", 0));
  EXPECT("int32[2]", 1, 1);
  // Float32 sums do not lose small terms.
  double big[3] = {1e8, 1, -1e8};
  eg_tensor x = box_tensor(box, "float32[3]", big);
  assert_ok(box_call(box, EG_OP_REDUCE_SUM, "axes [0]; keepdims 0", &x, 1));
  EXPECT("float32[]", 1);
}

static void ties_of_arg_max_go_to_the_first_or_the_last(void **state) {
  BOX;
#define X T("float32[2,3]", 5, 7, 7, 2, 2, 1)
  RUN(EG_OP_ARG_MAX, "axis 1; keepdims 0", X);
  EXPECT("int64[2]", 1, 0);
  RUN(EG_OP_ARG_MAX, "axis 1; select_last_index 1", X);
  EXPECT("int64[2,1]", 2, 1);
  RUN(EG_OP_ARG_MIN, "axis 0; keepdims 0", X);
  EXPECT("int64[3]", 1, 1, 1);
#undef X
  RUN(EG_OP_ARG_MIN, "axis -1; keepdims 0", T("int32[1,4]", 3, 1, 1, 2));
  EXPECT("int64[1]", 1);
  RUN(EG_OP_ARG_MAX, "axis 0; keepdims 0", T("float32[4]", 9, NAN, 10, NAN));
  EXPECT("int64[]", 1);
  RUN(EG_OP_ARG_MIN, "axis 0; keepdims 0; select_last_index 1",
      T("float32[4]", 9, NAN, 1, NAN));
  EXPECT("int64[]", 1);
  for (int last = 0; last < 2; last++) { // of nothing but NaN the first one
    const char *attrs =
        last == 0 ? "axis 0; keepdims 0" : "axis 0; keepdims 0; select_last_index 1";
    RUN(EG_OP_ARG_MAX, attrs, T("float32[3]", NAN, NAN, NAN));
    EXPECT("int64[]", 0);
    RUN(EG_OP_ARG_MIN, attrs, T("float64[3]", NAN, NAN, NAN));
    EXPECT("int64[]", 0);
  }
}

static void top_k_is_stable(void **state) {
  BOX;
  RUN(EG_OP_TOP_K, "k 3", T("float32[1,5]", 2, 9, 2, 9, 1));
  EXPECT("float32[1,3]", 9, 9, 2);
  EXPECT_RESULT(1, "int64[1,3]", 1, 3, 0);
  RUN(EG_OP_TOP_K, "k 2; axis 0; largest 0", T("int32[3,2]", 5, 6, 4, 6, 5, 9));
  EXPECT("int32[2,2]", 4, 6, 5, 6);
  EXPECT_RESULT(1, "int64[2,2]", 1, 0, 0, 1);
  RUN(EG_OP_TOP_K, "k 2", T("float64[3]", 1, NAN, 2));
  EXPECT("float64[2]", NAN, 2);
  EXPECT_RESULT(1, "int64[2]", 1, 2);
  RUN(EG_OP_TOP_K, "k 2; largest 0", T("float64[3]", 1, NAN, 2));
  EXPECT("float64[2]", 1, 2);
}

static void top_k_of_everything_sorts(void **state) {
  BOX;
  enum { COUNT = 1000 };
  eg_rng rng = {.state = test_seed(6)};
  eg_tensor x = box_random(box, "int16[1000]", &rng, 60);
  eg_attrs attrs = box_attrs(box, EG_OP_TOP_K, "k 1000");
  assert_ok(box_try(box, &attrs, &x, 1));
  bool seen[COUNT] = {false};
  for (int64_t i = 0; i < COUNT; i++) {
    int64_t at = eg_tensor_get_int(&box->results[1], i);
    assert_in_range(at, 0, COUNT - 1);
    assert_false(seen[at]);
    seen[at] = true;
    int64_t now = eg_tensor_get_int(&box->results[0], i);
    assert_int_equal(now, eg_tensor_get_int(&x, at));
    if (i == 0) continue;
    int64_t before = eg_tensor_get_int(&box->results[0], i - 1);
    assert_true(before > now ||
                (before == now && eg_tensor_get_int(&box->results[1], i - 1) < at));
  }
  box_free(box, &x);
}

static void cum_sum_runs_along_its_axis(void **state) {
  BOX;
  RUN(EG_OP_CUM_SUM, "axis 0", T("float32[2,2]", 1, 2, 3, 4));
  EXPECT("float32[2,2]", 1, 2, 4, 6);
  RUN(EG_OP_CUM_SUM, "axis -1", T("int8[2,2]", 100, 100, 3, 4));
  EXPECT("int8[2,2]", 100, -56, 3, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(batch_normalization_uses_the_given_statistics),
      TEST(layer_normalization_covers_the_trailing_dimensions),
      TEST(group_and_instance_normalization),
      TEST(softmax_is_stable_and_works_on_any_axis),
      TEST(lrn_sums_over_neighbouring_channels),
      TEST(reductions_over_any_axes),
      TEST(reductions_of_integers_and_special_values),
      TEST(ties_of_arg_max_go_to_the_first_or_the_last),
      TEST(top_k_is_stable),
      TEST(top_k_of_everything_sorts),
      TEST(cum_sum_runs_along_its_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
