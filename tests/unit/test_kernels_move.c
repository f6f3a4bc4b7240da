// Data movement, fills, resize and memory formats.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

static void views_copy(void **state) {
  BOX;
  RUN(EG_OP_RESHAPE, "shape [3 2]", T("int16[2,3]", 1, 2, 3, 4, 5, 6));
  EXPECT("int16[3,2]", 1, 2, 3, 4, 5, 6);
  RUN(EG_OP_SQUEEZE, "axes [0]", T("bool[1,2]", 1, 0));
  EXPECT("bool[2]", 1, 0);
  RUN(EG_OP_UNSQUEEZE, "axes [0 2]", T("float64[2]", 1, 0));
  EXPECT("float64[1,2,1]", 1, 0);
  RUN(EG_OP_FLATTEN, "axis 1", T("float32[2,1,2]", 1, 2, 3, 4));
  EXPECT("float32[2,2]", 1, 2, 3, 4);
  RUN(EG_OP_IDENTITY, "", T("float16[2]", 1, 0.5));
  EXPECT("float16[2]", 1, 0.5);
}

// Every permutation of four dimensions and a large matrix, for each size of element.
static void transposes_match_indexing(void **state) {
  BOX;
  static const char *const types[] = {"int8[2,3,4,5]",      "float16[2,3,4,5]",
                                      "float32[2,3,4,5]",   "int64[2,3,4,5]",
                                      "float32[1,1,70,45]", "float32[3,33,2,64]"};
  eg_rng rng = {.state = test_seed(7)};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
    for (int code = 0; code < 256; code++) {
      int perm[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
      if (((1 << perm[0]) | (1 << perm[1]) | (1 << perm[2]) | (1 << perm[3])) != 15)
        continue;
      char attrs[64];
      snprintf(attrs, sizeof attrs, "perm [%d %d %d %d]", perm[0], perm[1], perm[2],
               perm[3]);
      eg_tensor x = box_random(box, types[t], &rng, 100);
      eg_attrs parsed = box_attrs(box, EG_OP_TRANSPOSE, attrs);
      assert_ok(box_try(box, &parsed, &x, 1));
      const eg_tensor *y = &box->results[0];
      for (int64_t i = 0; i < eg_type_elements(&y->type); i++) {
        int64_t from[4], rest = i, at = 0;
        for (int d = 3; d >= 0; rest /= y->type.dims[d], d--)
          from[perm[d]] = rest % y->type.dims[d];
        for (int d = 0; d < 4; d++)
          at = at * x.type.dims[d] + from[d];
        assert_true(eg_tensor_get_double(y, i) == eg_tensor_get_double(&x, at));
      }
      box_free(box, &x);
    }
}

static void concat_and_split_are_inverse(void **state) {
  BOX;
  RUN(EG_OP_CONCAT, "axis 1", T("float32[2,1]", 1, 2), T("float32[2,0]", 0),
      T("float32[2,2]", 3, 4, 5, 6));
  EXPECT("float32[2,3]", 1, 3, 4, 2, 5, 6);
  RUN(EG_OP_CONCAT, "axis -2", T("int8[1,2]", 1, 2), T("int8[1,2]", 3, 4));
  EXPECT("int8[2,2]", 1, 2, 3, 4);
  RUN(EG_OP_SPLIT, "axis 1; sizes [1 0 2]", T("float32[2,3]", 1, 3, 4, 2, 5, 6));
  EXPECT_RESULT(0, "float32[2,1]", 1, 2);
  assert_int_equal(box->results[1].type.dims[1], 0);
  EXPECT_RESULT(2, "float32[2,2]", 3, 4, 5, 6);
}

static void slices_step_both_ways(void **state) {
  BOX;
#define X T("float32[3,4]", 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23)
  RUN(EG_OP_SLICE, "starts [1 0]; ends [3 4]; steps [1 2]", X);
  EXPECT("float32[2,2]", 10, 12, 20, 22);
  RUN(EG_OP_SLICE, "starts [2 3]; ends [-1 0]; steps [-2 -1]", X);
  EXPECT("float32[2,3]", 23, 22, 21, 3, 2, 1);
  RUN(EG_OP_SLICE, "starts [0 1]; ends [3 3]; steps [1 1]", X);
  EXPECT("float32[3,2]", 1, 2, 11, 12, 21, 22);
#undef X
}

static void pads_of_all_modes(void **state) {
  BOX;
  RUN(EG_OP_PAD, "pads [1 0 0 2]; value 7.5", T("float32[1,2]", 1, 2));
  EXPECT("float32[2,4]", 7.5, 7.5, 7.5, 7.5, 1, 2, 7.5, 7.5);
  RUN(EG_OP_PAD, "pads [2 1]; mode reflect", T("int32[3]", 1, 2, 3));
  EXPECT("int32[6]", 3, 2, 1, 2, 3, 2);
  RUN(EG_OP_PAD, "pads [1 0 0 1]; mode edge", T("uint8[2,2]", 1, 2, 3, 4));
  EXPECT("uint8[3,3]", 1, 2, 2, 1, 2, 2, 3, 4, 4);
  RUN(EG_OP_PAD, "pads [1 0 0 0 0 1]; value -1", T("int8[1,2,1]", 5, 6));
  EXPECT("int8[2,2,2]", -1, -1, -1, -1, 5, -1, 6, -1);
  RUN(EG_OP_PAD, "pads [2 1]; value 3", T("float16[0]", 0));
  EXPECT("float16[3]", 3, 3, 3);
}

static void expand_and_tile_repeat(void **state) {
  BOX;
  RUN(EG_OP_EXPAND, "shape [2 2 2]", T("float32[2,1]", 1, 2));
  EXPECT("float32[2,2,2]", 1, 1, 2, 2, 1, 1, 2, 2);
  RUN(EG_OP_TILE, "repeats [2 2]", T("int64[1,2]", 1, 2));
  EXPECT("int64[2,4]", 1, 2, 1, 2, 1, 2, 1, 2);
}

static void gather_counts_from_the_end_and_checks_its_indices(void **state) {
  BOX;
#define X T("float32[3,2]", 0, 1, 10, 11, 20, 21)
  RUN(EG_OP_GATHER, "axis 0", X, T("int64[2,2]", 0, -1, 1, 1));
  EXPECT("float32[2,2,2]", 0, 1, 20, 21, 10, 11, 10, 11);
  RUN(EG_OP_GATHER, "axis 1", X, T("int32[]", -2));
  EXPECT("float32[3]", 0, 10, 20);
  // Entries 2, 3 and 4 of 6.
  RUN(EG_OP_GATHER, "axis 0; whole 6; first 2", X, T("int64[4]", 1, 2, -2, 5));
  EXPECT("float32[4,2]", 0, 0, 0, 1, 20, 21, 0, 0);
  RUN_FAILS(EGRAPH_E_ARGUMENT, "index 6", EG_OP_GATHER, "axis 0; whole 6; first 2", X,
            T("int64[1]", 6));
  RUN_FAILS(EGRAPH_E_ARGUMENT, "index 3", EG_OP_GATHER, "axis 0", X, T("int64[1]", 3));
  RUN_FAILS(EGRAPH_E_ARGUMENT, "index -4", EG_OP_GATHER, "axis 0", X, T("int64[1]", -4));
#undef X
}

static void fills_have_a_formula(void **state) {
  BOX;
  static const struct {
    eg_op op;
    const char *attrs, *type;
    double values[18];
  } rows[] = {
      {EG_OP_FILL, "shape [2]; value 2.5", "float32[2]", {2.5, 2.5}},
      {EG_OP_FILL, "dtype int8; shape [1 2]; value -3", "int8[1,2]", {-3, -3}},
      {EG_OP_EYE, "n 2", "float32[2,2]", {1, 0, 0, 1}},
      {EG_OP_POOL_KERNEL,
       "channels 2; kernel_shape [1 2]",
       "float32[2,1,1,2]",
       {.5, .5, .5, .5}},
      {EG_OP_CONV_IDENTITY,
       "channels 2; kernel_shape [1 3]",
       "float32[2,2,1,3]",
       {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}},
      {EG_OP_CONV_IDENTITY,
       "channels 4; kernel_shape [1 1]; group 2",
       "float32[4,2,1,1]",
       {1, 0, 0, 1, 1, 0, 0, 1}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    eg_type type;
    assert_ok(eg_type_parse("test", rows[i].type, &type));
    assert_ok(box_call(box, rows[i].op, rows[i].attrs, NULL, 0));
    box_expect(box, 0, rows[i].type, 0.0, (size_t)eg_type_elements(&type),
               rows[i].values);
  }
}

static void shapes_are_values(void **state) {
  BOX;
  RUN(EG_OP_SHAPE, "start 0; end 3", T("bool[2,0,3]", 0));
  EXPECT("int64[3]", 2, 0, 3);
  RUN(EG_OP_SHAPE, "start 1; end 2", T("bool[2,1]", 0, 0));
  EXPECT("int64[1]", 1);
  RUN(EG_OP_SIZE, "", T("float16[2,3]", 0, 0, 0, 0, 0, 0));
  EXPECT("int64[]", 6);
}

static void resizes(void **state) {
  BOX;
  RUN(EG_OP_RESIZE, "shape [4]; coordinates asymmetric", T("uint8[2]", 1, 2));
  EXPECT("uint8[4]", 1, 1, 2, 2);
  RUN(EG_OP_RESIZE, "shape [1 4]", T("float32[1,2]", 1, 2));
  EXPECT("float32[1,4]", 1, 1, 2, 2);
  RUN(EG_OP_RESIZE, "shape [5]; mode linear; coordinates align-corners",
      T("float32[3]", 0, 4, 2));
  EXPECT("float32[5]", 0, 2, 4, 3, 2);
  RUN(EG_OP_RESIZE, "shape [4]; mode linear", T("float32[2]", 0, 4));
  EXPECT("float32[4]", 0, 1, 3, 4);
  RUN(EG_OP_RESIZE, "shape [1 1 2 2]; mode linear; coordinates asymmetric",
      T("float64[1,1,4,4]", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT("float64[1,1,2,2]", 0, 2, 8, 10);
}

static void weights_are_enlarged_and_merged(void **state) {
  BOX;
  RUN(EG_OP_ENLARGE, "kernel_shape [3 3]", T("float32[1,1,1,3]", 1, 2, 3));
  EXPECT("float32[1,1,3,3]", 0, 0, 0, 1, 2, 3, 0, 0, 0);
  RUN(EG_OP_MERGE_GCONV, "group 4; count 2", T("float32[4,1,1,1]", 1, 2, 3, 4));
  EXPECT("float32[4,2,1,1]", 1, 0, 0, 2, 3, 0, 0, 4);
}

// A grouped convolution equals the one with merged groups.
static void merged_groups_convolve_alike(void **state) {
  BOX;
  eg_rng rng = {.state = test_seed(8)};
  eg_tensor x = box_random(box, "float64[1,8,3,3]", &rng, 9);
  eg_tensor w = box_random(box, "float64[12,2,2,2]", &rng, 9);
  const char *geometry = "strides [1 1]; pads [0 0 0 0]; dilations [1 1]; group %d";
  char text[128];
  snprintf(text, sizeof text, geometry, 4);
  eg_attrs attrs = box_attrs(box, EG_OP_CONV, text);
  assert_ok(box_try(box, &attrs, (eg_tensor[]){x, w}, 2));
  eg_tensor grouped = box->results[0];
  box->result_count = 0;
  attrs = box_attrs(box, EG_OP_MERGE_GCONV, "group 4; count 2");
  assert_ok(box_try(box, &attrs, &w, 1));
  eg_tensor merged = box->results[0];
  box->result_count = 0;
  snprintf(text, sizeof text, geometry, 2);
  attrs = box_attrs(box, EG_OP_CONV, text);
  assert_ok(box_try(box, &attrs, (eg_tensor[]){x, merged}, 2));
  assert_true(eg_type_same(&grouped.type, &box->results[0].type));
  assert_memory_equal(grouped.data, box->results[0].data, eg_type_bytes(&grouped.type));
  eg_tensor *all[] = {&x, &w, &grouped, &merged};
  for (size_t i = 0; i < 4; i++)
    box_free(box, all[i]);
}

// Every pair of formats and back; channels that fill no block, planes larger than a tile.
static void reorders_round_trip_and_pad_with_zeros(void **state) {
  BOX;
  static const char *const shapes[] = {"float32[2,8,3,3]", "float32[1,3,5,4]",
                                       "float32[2,20,9,8]", "float32[1,16,1,1]"};
  eg_rng rng = {.state = test_seed(9)};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int a = 0; a < EG_FORMAT_COUNT; a++)
      for (int b = 0; b < EG_FORMAT_COUNT; b++) {
        eg_tensor x = box_random(box, shapes[s], &rng, 1000);
        eg_type types[3] = {x.type, x.type, x.type};
        types[0].layout.format = (uint8_t)a;
        types[1].layout.format = (uint8_t)b;
        eg_tensor y[3];
        for (size_t i = 0; i < 3; i++) {
          y[i] = box_empty(box, &types[i]);
          memset(y[i].data, 0x5a, eg_type_bytes(&types[i]));
          assert_ok(eg_tensor_reorder(i == 0 ? &x : &y[i - 1], &y[i]));
        }
        assert_memory_equal(x.data, y[2].data, eg_type_bytes(&x.type));
        // Sums of all bytes' elements agree only when the padding is zero.
        double sum = 0, padded = 0;
        for (int64_t i = 0; i < eg_type_elements(&x.type); i++)
          sum += eg_tensor_get_double(&x, i);
        for (size_t i = 0; i < eg_type_bytes(&types[1]) / sizeof(float); i++)
          padded += (double)((const float *)y[1].data)[i];
        assert_true(sum == padded);
        for (size_t i = 0; i < 3; i++)
          box_free(box, &y[i]);
        box_free(box, &x);
      }
}

static void reorders_place_elements(void **state) {
  BOX;
  eg_tensor x = T("float32[1,3,1,2]", 1, 2, 3, 4, 5, 6);
  eg_type type = x.type;
  type.layout.format = EG_FORMAT_NHWC;
  eg_tensor nhwc = box_empty(box, &type);
  assert_ok(eg_tensor_reorder(&x, &nhwc));
  assert_memory_equal(nhwc.data, ((const float[]){1, 3, 5, 2, 4, 6}), 24);
  type.layout.format = EG_FORMAT_NCHW8C;
  eg_tensor blocked = box_empty(box, &type);
  assert_ok(eg_tensor_reorder(&nhwc, &blocked));
  assert_memory_equal(blocked.data,
                      ((const float[]){1, 3, 5, 0, 0, 0, 0, 0, 2, 4, 6, 0, 0, 0, 0, 0}),
                      64);
  eg_tensor other = T("float32[1,3,2,1]", 1, 2, 3, 4, 5, 6);
  assert_fails(eg_tensor_reorder(&x, &other), EGRAPH_E_ARGUMENT, "shape");
  eg_tensor *all[] = {&x, &nhwc, &blocked, &other};
  for (size_t i = 0; i < 4; i++)
    box_free(box, all[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(views_copy),
      TEST(transposes_match_indexing),
      TEST(concat_and_split_are_inverse),
      TEST(slices_step_both_ways),
      TEST(pads_of_all_modes),
      TEST(expand_and_tile_repeat),
      TEST(gather_counts_from_the_end_and_checks_its_indices),
      TEST(fills_have_a_formula),
      TEST(shapes_are_values),
      TEST(resizes),
      TEST(weights_are_enlarged_and_merged),
      TEST(merged_groups_convolve_alike),
      TEST(reorders_round_trip_and_pad_with_zeros),
      TEST(reorders_place_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
