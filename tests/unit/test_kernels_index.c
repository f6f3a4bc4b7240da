// Elements at indices, triangles, running sums, bits, and what is not finite.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#include <math.h>

#define BOX kernel_box *box = *state

static void triangles_keep_a_diagonal_and_beyond(void **state) {
  BOX;
#define X T("int8[2,3]", 1, 2, 3, 4, 5, 6)
  RUN(EG_OP_TRILU, "", X);
  EXPECT("int8[2,3]", 1, 2, 3, 0, 5, 6);
  RUN(EG_OP_TRILU, "upper 0", X);
  EXPECT("int8[2,3]", 1, 0, 0, 4, 5, 0);
  RUN(EG_OP_TRILU, "k 2", X);
  EXPECT("int8[2,3]", 0, 0, 3, 0, 0, 0);
  RUN(EG_OP_TRILU, "upper 0; k -1", X);
  EXPECT("int8[2,3]", 0, 0, 0, 4, 0, 0);
  RUN(EG_OP_TRILU, "k -9223372036854775807", X);
  EXPECT("int8[2,3]", 1, 2, 3, 4, 5, 6);
  RUN(EG_OP_TRILU, "k 9223372036854775807", X);
  EXPECT("int8[2,3]", 0, 0, 0, 0, 0, 0);
  RUN(EG_OP_TRILU, "upper 0; k 9223372036854775807", X);
  EXPECT("int8[2,3]", 1, 2, 3, 4, 5, 6);
#undef X
}

static void elements_are_gathered_and_put_along_an_axis(void **state) {
  BOX;
#define X T("float32[3,2]", 1, 2, 3, 4, 5, 6)
  RUN(EG_OP_GATHER_ELEMENTS, "axis 0", X, T("int64[2,2]", 2, -3, 0, 1));
  EXPECT("float32[2,2]", 5, 2, 1, 4);
  RUN(EG_OP_GATHER_ELEMENTS, "axis -1", X, T("int32[1,3]", 1, 0, 1));
  EXPECT("float32[1,3]", 2, 1, 2);
  RUN_FAILS(EGRAPH_E_ARGUMENT, "gather-elements: index 3", EG_OP_GATHER_ELEMENTS,
            "axis 0", X, T("int64[1,1]", 3));
  RUN(EG_OP_SCATTER_ELEMENTS, "axis 1", X, T("int64[2,1]", 1, -2),
      T("float32[2,1]", 7, 8));
  EXPECT("float32[3,2]", 1, 7, 8, 4, 5, 6);
  // In order: the second update of an element meets what the first one left.
  RUN(EG_OP_SCATTER_ELEMENTS, "reduction add", T("int8[2]", 100, 1), T("int64[2]", 0, 0),
      T("int8[2]", 100, 3));
  EXPECT("int8[2]", -53, 1);
  RUN(EG_OP_SCATTER_ELEMENTS, "reduction min", T("uint64[2]", 5, 9), T("int64[2]", 0, 1),
      T("uint64[2]", 7, 3));
  EXPECT("uint64[2]", 5, 3);
  RUN_FAILS(EGRAPH_E_ARGUMENT, "scatter-elements: index -4", EG_OP_SCATTER_ELEMENTS,
            "axis 0", X, T("int64[1,1]", -4), T("float32[1,1]", 0));
#undef X
}

static void tuples_of_indices_point_to_blocks(void **state) {
  BOX;
#define X T("float32[2,2,2]", 0, 1, 2, 3, 4, 5, 6, 7)
  RUN(EG_OP_GATHER_ND, "", X, T("int64[2,2]", 0, 1, -1, 0));
  EXPECT("float32[2,2]", 2, 3, 4, 5);
  RUN(EG_OP_GATHER_ND, "", X, T("int64[1,3]", 1, 0, 1));
  EXPECT("float32[1]", 5);
  RUN(EG_OP_GATHER_ND, "batch_dims 1", X, T("int64[2,1]", 1, 0));
  EXPECT("float32[2,2]", 2, 3, 4, 5);
  RUN_FAILS(EGRAPH_E_ARGUMENT, "gather-nd: index 2", EG_OP_GATHER_ND, "", X,
            T("int64[1,1]", 2));
  RUN(EG_OP_SCATTER_ND, "", X, T("int64[2,2]", 0, 1, 1, 1),
      T("float32[2,2]", 9, 8, 7, 6));
  EXPECT("float32[2,2,2]", 0, 1, 9, 8, 4, 5, 7, 6);
  RUN(EG_OP_SCATTER_ND, "reduction mul", T("float16[2]", 2, 3), T("int64[2,1]", 1, 1),
      T("float16[2]", 4, 0.5));
  EXPECT("float16[2]", 2, 6);
  RUN(EG_OP_SCATTER_ND, "reduction max", T("float32[2]", NAN, 3), T("int64[2,1]", 0, 1),
      T("float32[2]", 4, NAN));
  EXPECT("float32[2]", NAN, NAN);
#undef X
}

static void one_hot_has_an_axis_of_its_depth(void **state) {
  BOX;
  RUN(EG_OP_ONE_HOT, "depth 3", T("int64[4]", 0, -1, 3, -4), T("int32[2]", 5, 9));
  EXPECT("int32[4,3]", 9, 5, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5);
  RUN(EG_OP_ONE_HOT, "depth 2; axis 0", T("float32[3]", 1.5, NAN, INFINITY),
      T("bool[2]", 0, 1));
  EXPECT("bool[2,3]", 0, 0, 0, 1, 0, 0);
}

static void sequences_turn_round_up_to_their_length(void **state) {
  BOX;
  RUN(EG_OP_REVERSE_SEQUENCE, "time_axis 1; batch_axis 0",
      T("int8[2,4]", 1, 2, 3, 4, 5, 6, 7, 8), T("int64[2]", 3, 0));
  EXPECT("int8[2,4]", 3, 2, 1, 4, 5, 6, 7, 8);
  RUN_FAILS(EGRAPH_E_ARGUMENT, "length 3 of batch 1", EG_OP_REVERSE_SEQUENCE, "",
            T("int8[2,2]", 1, 2, 3, 4), T("int64[2]", 1, 3));
}

static void running_sums_and_products_go_both_ways(void **state) {
  BOX;
#define X T("int32[4]", 1, 2, 3, 4)
  RUN(EG_OP_CUM_SUM, "axis 0; exclusive 1", X);
  EXPECT("int32[4]", 0, 1, 3, 6);
  RUN(EG_OP_CUM_SUM, "axis 0; reverse 1", X);
  EXPECT("int32[4]", 10, 9, 7, 4);
  RUN(EG_OP_CUM_PROD, "axis 0", X);
  EXPECT("int32[4]", 1, 2, 6, 24);
  RUN(EG_OP_CUM_PROD, "axis 0; exclusive 1; reverse 1", X);
  EXPECT("int32[4]", 24, 12, 4, 1);
  RUN(EG_OP_CUM_SUM, "axis 0; exclusive 1", T("float32[3]", INFINITY, 1, 2));
  EXPECT("float32[3]", 0, INFINITY, INFINITY);
#undef X
}

static void bits_are_those_of_the_element_type(void **state) {
  BOX;
  RUN(EG_OP_BITWISE_NOT, "", T("uint8[2]", 0, 5));
  EXPECT("uint8[2]", 255, 250);
  RUN(EG_OP_BITWISE_NOT, "", T("int16[2]", 0, -6));
  EXPECT("int16[2]", -1, 5);
  RUN(EG_OP_BITWISE_AND, "", T("int8[2]", -1, 6), T("int8[]", 3));
  EXPECT("int8[2]", 3, 2);
  RUN(EG_OP_BITWISE_OR, "", T("uint32[1]", 8), T("uint32[1]", 3));
  EXPECT("uint32[1]", 11);
  RUN(EG_OP_BITWISE_XOR, "", T("int64[1]", -1), T("int64[1]", 1));
  EXPECT("int64[1]", -2);
  RUN(EG_OP_BIT_SHIFT, "direction LEFT", T("uint8[3]", 200, 1, 1),
      T("uint8[3]", 1, 8, 255));
  EXPECT("uint8[3]", 144, 0, 0);
  RUN(EG_OP_BIT_SHIFT, "direction RIGHT", T("int8[4]", -128, -128, 64, 1),
      T("int8[4]", 1, 8, -1, 7));
  EXPECT("int8[4]", -64, -1, 0, 0);
  RUN(EG_OP_BIT_SHIFT, "direction LEFT", T("int8[3]", 64, 1, -1), T("int8[3]", 1, -1, 1));
  EXPECT("int8[3]", -128, 0, -2);
  RUN(EG_OP_BIT_CAST, "to int32", T("float32[2]", 1, -0.0));
  EXPECT("int32[2]", 0x3f800000, INT32_MIN);
}

static void what_is_not_finite_is_found(void **state) {
  BOX;
#define X T("float16[4]", NAN, INFINITY, -INFINITY, 0)
  RUN(EG_OP_IS_NAN, "", X);
  EXPECT("bool[4]", 1, 0, 0, 0);
  RUN(EG_OP_IS_INF, "", X);
  EXPECT("bool[4]", 0, 1, 1, 0);
  RUN(EG_OP_IS_INF, "detect_negative 0", X);
  EXPECT("bool[4]", 0, 1, 0, 0);
  RUN(EG_OP_IS_INF, "detect_positive 0", X);
  EXPECT("bool[4]", 0, 0, 1, 0);
#undef X
  RUN(EG_OP_MOD, "", T("float32[6]", -1, 7, -7, 0, 1, INFINITY),
      T("float32[6]", INFINITY, -3, 3, -2, 0, 2));
  EXPECT("float32[6]", INFINITY, -2, 2, -0.0, NAN, NAN);
}

// By the rule of Leibniz, for all permutations of three.
static void determinants_match_their_definition(void **state) {
  BOX;
  eg_rng rng = {.state = test_seed(3)};
  for (int round = 0; round < 50; round++) {
    eg_tensor x = box_random(box, "float64[3,3]", &rng, 4);
    const double *a = x.data;
    double wanted = a[0] * (a[4] * a[8] - a[5] * a[7]) -
                    a[1] * (a[3] * a[8] - a[5] * a[6]) +
                    a[2] * (a[3] * a[7] - a[4] * a[6]);
    eg_attrs attrs = box_attrs(box, EG_OP_DET, "");
    assert_ok(box_try(box, &attrs, &x, 1));
    double got = eg_tensor_get_double(&box->results[0], 0);
    assert_true(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)));
    box_free(box, &x);
  }
  RUN(EG_OP_DET, "", T("float32[2,2,2]", 0, 1, 1, 0, 2, 4, 1, 2));
  EXPECT("float32[2]", -1, 0);
  RUN(EG_OP_DET, "", T("float32[0,0]", 0));
  EXPECT("float32[]", 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(triangles_keep_a_diagonal_and_beyond),
      TEST(elements_are_gathered_and_put_along_an_axis),
      TEST(tuples_of_indices_point_to_blocks),
      TEST(one_hot_has_an_axis_of_its_depth),
      TEST(sequences_turn_round_up_to_their_length),
      TEST(running_sums_and_products_go_both_ways),
      TEST(bits_are_those_of_the_element_type),
      TEST(what_is_not_finite_is_found),
      TEST(determinants_match_their_definition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
