// Pointwise kernels against hand-computed values: every formula, every kind of element,
// broadcasting, and the corners where C would be undefined.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

static void float_formulas_of_one_operand(void **state) {
  BOX;
  static const struct {
    eg_op op;
    const char *attrs;
    double at_minus_2, at_half;
  } rows[] = {
      {EG_OP_IDENTITY, "", -2, 0.5},
      {EG_OP_RELU, "", 0, 0.5},
      {EG_OP_SIGMOID, "", 0.11920292202211755, 0.62245933120185457},
      {EG_OP_TANH, "", -0.96402758007581688, 0.46211715726000976},
      {EG_OP_EXP, "", 0.1353352832366127, 1.6487212707001282},
      {EG_OP_LOG, "", NAN, -0.69314718055994529},
      {EG_OP_SQRT, "", NAN, 0.70710678118654757},
      {EG_OP_RSQRT, "", NAN, 1.4142135623730951},
      {EG_OP_RECIPROCAL, "", -0.5, 2},
      {EG_OP_SQUARE, "", 4, 0.25},
      {EG_OP_NEG, "", 2, -0.5},
      {EG_OP_ABS, "", 2, 0.5},
      {EG_OP_SIGN, "", -1, 1},
      {EG_OP_FLOOR, "", -2, 0},
      {EG_OP_CEIL, "", -2, 1},
      {EG_OP_ROUND, "", -2, 0},
      {EG_OP_SIN, "", -0.90929742682568171, 0.47942553860420301},
      {EG_OP_COS, "", -0.41614683654714241, 0.87758256189037276},
      {EG_OP_ERF, "", -0.99532226501895273, 0.52049987781304652},
      {EG_OP_GELU, "", -0.045500263896358417, 0.34573123063700656},
      {EG_OP_GELU, "approximate tanh", -0.045402305912224981, 0.34571400982514394},
      {EG_OP_SILU, "", -0.23840584404423515, 0.31122966560092729},
      {EG_OP_SOFTPLUS, "", 0.1269280110429725, 0.97407698418010669},
      {EG_OP_SOFTSIGN, "", -0.66666666666666663, 0.33333333333333331},
      {EG_OP_HARD_SWISH, "", -0.33333333333333331, 0.29166666666666669},
      {EG_OP_HARD_SIGMOID, "alpha 0.2", 0.099999999999999978, 0.6},
      {EG_OP_LEAKY_RELU, "alpha 0.25", -0.5, 0.5},
      {EG_OP_ELU, "alpha 2", -1.7293294335267746, 0.5},
      {EG_OP_SELU, "", -1.5201664733475926, 0.52535051107406616},
      {EG_OP_CELU, "alpha 2", -1.2642411176571153, 0.5},
      {EG_OP_CLIP, "min -1; max 0.25", -1, 0.25},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    RUN(rows[i].op, rows[i].attrs, T("float64[2]", -2, 0.5));
    EXPECT_NEAR(1e-14, "float64[2]", rows[i].at_minus_2, rows[i].at_half);
    RUN(rows[i].op, rows[i].attrs, T("float32[2]", -2, 0.5));
    EXPECT_NEAR(2e-7, "float32[2]", rows[i].at_minus_2, rows[i].at_half);
    RUN(rows[i].op, rows[i].attrs, T("float16[2]", -2, 0.5));
    EXPECT_NEAR(6e-4, "float16[2]", rows[i].at_minus_2, rows[i].at_half);
    RUN(rows[i].op, rows[i].attrs, T("bfloat16[2]", -2, 0.5));
    EXPECT_NEAR(5e-3, "bfloat16[2]", rows[i].at_minus_2, rows[i].at_half);
  }
}

static void formulas_saturate_instead_of_overflowing(void **state) {
  BOX;
  RUN(EG_OP_SIGMOID, "", T("float32[3]", -200, 200, NAN));
  EXPECT("float32[3]", 0, 1, NAN);
  RUN(EG_OP_SOFTPLUS, "", T("float32[3]", -200, 200, NAN));
  EXPECT("float32[3]", 0, 200, NAN);
  RUN(EG_OP_TANH, "", T("float32[2]", -100, 100));
  EXPECT("float32[2]", -1, 1);
  RUN(EG_OP_ERF, "", T("float32[4]", -100, 100, -INFINITY, INFINITY));
  EXPECT("float32[4]", -1, 1, -1, 1);
  RUN(EG_OP_EXP, "", T("float32[4]", -200, 200, -INFINITY, INFINITY));
  EXPECT("float32[4]", 0, INFINITY, 0, INFINITY);
}

static void nan_passes_through(void **state) {
  BOX;
  static const eg_op ops[] = {EG_OP_RELU, EG_OP_CLIP,       EG_OP_ABS,  EG_OP_EXP,
                              EG_OP_ERF,  EG_OP_LEAKY_RELU, EG_OP_GELU, EG_OP_TANH};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    RUN(ops[i], "", T("float32[1]", NAN));
    EXPECT("float32[1]", NAN);
  }
  RUN(EG_OP_MAX, "", T("float32[3]", NAN, 1, 2), T("float32[3]", 1, NAN, 1));
  EXPECT("float32[3]", NAN, NAN, 2);
  RUN(EG_OP_MIN, "", T("float64[3]", NAN, 1, 2), T("float64[3]", 1, NAN, 1));
  EXPECT("float64[3]", NAN, NAN, 1);
}

static void round_takes_halves_to_even(void **state) {
  BOX;
  RUN(EG_OP_ROUND, "", T("float32[8]", 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4, -2.6));
  EXPECT("float32[8]", 0, 2, 2, 0, -2, -2, 2, -3);
}

static void integers_of_one_operand_wrap(void **state) {
  BOX;
  RUN(EG_OP_NEG, "", T("int8[3]", -128, 5, 0));
  EXPECT("int8[3]", -128, -5, 0);
  RUN(EG_OP_ABS, "", T("int8[3]", -128, -5, 7));
  EXPECT("int8[3]", -128, 5, 7);
  RUN(EG_OP_ABS, "", T("int64[2]", (double)INT64_MIN, -5));
  EXPECT("int64[2]", (double)INT64_MIN, 5);
  RUN(EG_OP_SIGN, "", T("int32[3]", -9, 0, 4));
  EXPECT("int32[3]", -1, 0, 1);
  RUN(EG_OP_SIGN, "", T("uint8[2]", 0, 200));
  EXPECT("uint8[2]", 0, 1);
  RUN(EG_OP_CLIP, "min -3; max 2", T("int32[3]", -9, 0, 4));
  EXPECT("int32[3]", -3, 0, 2);
  RUN(EG_OP_CLIP, "max 100", T("uint64[2]", 1e18, 4));
  EXPECT("uint64[2]", 100, 4);
  RUN(EG_OP_CLIP, "min 3; max 1", T("float32[3]", 0, 2, 4));
  EXPECT("float32[3]", 1, 1, 1);
  RUN(EG_OP_RELU, "", T("int16[2]", -9, 9));
  EXPECT("int16[2]", 0, 9);
  RUN(EG_OP_NOT, "", T("bool[2]", 0, 1));
  EXPECT("bool[2]", 1, 0);
}

static void arithmetic_of_two_operands(void **state) {
  BOX;
  RUN(EG_OP_ADD, "", T("float32[2]", 1, 2), T("float32[2]", 10, 0.5));
  EXPECT("float32[2]", 11, 2.5);
  RUN(EG_OP_SUB, "", T("int8[2]", -128, 2), T("int8[2]", 1, 4));
  EXPECT("int8[2]", 127, -2);
  RUN(EG_OP_MUL, "", T("uint8[2]", 16, 3), T("uint8[2]", 17, 4));
  EXPECT("uint8[2]", 16, 12);
  RUN(EG_OP_DIV, "", T("int32[4]", -7, 7, 5, INT32_MIN), T("int32[4]", 2, -2, 0, -1));
  EXPECT("int32[4]", -3, -3, 0, INT32_MIN);
  RUN(EG_OP_DIV, "", T("int64[2]", (double)INT64_MIN, 9), T("int64[2]", -1, 2));
  EXPECT("int64[2]", (double)INT64_MIN, 4);
  RUN(EG_OP_DIV, "", T("uint32[2]", 4e9, 9), T("uint32[2]", 2, 0));
  EXPECT("uint32[2]", 2e9, 0);
  RUN(EG_OP_DIV, "", T("float32[3]", 1, -1, 0), T("float32[3]", 0, 0, 0));
  EXPECT("float32[3]", INFINITY, -INFINITY, NAN);
  RUN(EG_OP_PRELU, "", T("float32[2,2]", -1, -2, 3, -4), T("float32[2]", 0.5, 0.25));
  EXPECT("float32[2,2]", -0.5, -0.5, 3, -1);
}

static void mod_has_the_sign_of_divisor_and_fmod_of_dividend(void **state) {
  BOX;
  RUN(EG_OP_MOD, "", T("int32[6]", -4, 7, 5, 4, -7, 8),
      T("int32[6]", 2, -3, 8, -2, 3, 5));
  EXPECT("int32[6]", 0, -2, 5, 0, 2, 3);
  RUN(EG_OP_MOD, "fmod 1", T("int64[6]", -4, 7, 5, 4, -7, 8),
      T("int64[6]", 2, -3, 8, -2, 3, 5));
  EXPECT("int64[6]", 0, 1, 5, 0, -1, 3);
  RUN(EG_OP_MOD, "fmod 1", T("float32[3]", -4.5, 7.5, 5.25), T("float32[3]", 2, -3, 8));
  EXPECT("float32[3]", -0.5, 1.5, 5.25);
  RUN(EG_OP_MOD, "", T("int64[3]", 5, (double)INT64_MIN, -5), T("int64[3]", 0, -1, 0));
  EXPECT("int64[3]", 0, 0, 0);
  RUN(EG_OP_MOD, "", T("uint8[2]", 200, 7), T("uint8[2]", 7, 0));
  EXPECT("uint8[2]", 4, 0);
}

static void pow_of_all_mixtures(void **state) {
  BOX;
  RUN(EG_OP_POW, "", T("float32[3]", 1, 2, 3), T("float32[3]", 4, 5, 6));
  EXPECT("float32[3]", 1, 32, 729);
  RUN(EG_OP_POW, "", T("float32[3]", -3, 2, 0.5), T("float32[]", 2));
  EXPECT("float32[3]", 9, 4, 0.25);
  RUN(EG_OP_POW, "", T("float64[4]", -INFINITY, 4, -1, 2), T("float64[]", 0.5));
  EXPECT_NEAR(1e-15, "float64[4]", INFINITY, 2, NAN, sqrt(2));
  RUN(EG_OP_POW, "", T("float32[2]", 3, -7), T("float32[]", 1));
  EXPECT("float32[2]", 3, -7);
  RUN(EG_OP_POW, "", T("float32[2]", NAN, 0), T("float32[]", 0));
  EXPECT("float32[2]", 1, 1);
  RUN(EG_OP_POW, "", T("float32[3]", 1, 2, 3), T("int64[3]", 4, 5, -1));
  EXPECT_NEAR(1e-7, "float32[3]", 1, 32, 1.0 / 3);
  RUN(EG_OP_POW, "", T("int64[3]", 1, 2, 3), T("float32[3]", 4, 0.5, 1e9));
  EXPECT("int64[3]", 1, 1, (double)INT64_MAX);
  RUN(EG_OP_POW, "", T("int32[6]", 3, -2, 1, -1, 2, 7),
      T("int32[6]", 4, 3, -5, -3, -1, 0));
  EXPECT("int32[6]", 81, -8, 1, -1, 0, 1);
  RUN(EG_OP_POW, "", T("uint8[2]", 3, 2), T("uint8[2]", 5, 8));
  EXPECT("uint8[2]", 243, 0);
}

static void comparisons_and_logic(void **state) {
  BOX;
  RUN(EG_OP_EQUAL, "", T("float32[3]", 1, 2, NAN), T("float32[3]", 1, 3, NAN));
  EXPECT("bool[3]", 1, 0, 0);
  RUN(EG_OP_EQUAL, "", T("bool[4]", 0, 0, 1, 1), T("bool[4]", 0, 1, 0, 1));
  EXPECT("bool[4]", 1, 0, 0, 1);
  RUN(EG_OP_GREATER, "", T("int8[3]", 1, -2, 3), T("int8[]", 1));
  EXPECT("bool[3]", 0, 0, 1);
  RUN(EG_OP_LESS, "", T("uint64[3]", 1, 1e19, 3), T("uint64[]", 2));
  EXPECT("bool[3]", 1, 0, 0);
  RUN(EG_OP_GREATER_OR_EQUAL, "", T("float16[3]", 1, 2, 3), T("float16[]", 2));
  EXPECT("bool[3]", 0, 1, 1);
  RUN(EG_OP_LESS_OR_EQUAL, "", T("float64[3]", 1, 2, NAN), T("float64[]", 2));
  EXPECT("bool[3]", 1, 1, 0);
  RUN(EG_OP_AND, "", T("bool[2,1]", 0, 1), T("bool[2]", 0, 1));
  EXPECT("bool[2,2]", 0, 0, 0, 1);
  RUN(EG_OP_OR, "", T("bool[2,1]", 0, 1), T("bool[2]", 0, 1));
  EXPECT("bool[2,2]", 0, 1, 1, 1);
  RUN(EG_OP_XOR, "", T("bool[2,1]", 0, 1), T("bool[2]", 0, 1));
  EXPECT("bool[2,2]", 0, 1, 1, 0);
}

static void where_picks_elements_of_any_type(void **state) {
  BOX;
  static const char *const types[] = {"float32[2,2]", "float64[2,2]", "float16[2,2]",
                                      "int8[2,2]",    "int64[2,2]",   "uint16[2,2]"};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    RUN(EG_OP_WHERE, "", T("bool[2,1]", 1, 0), T(types[i], 1, 2, 3, 4),
        T(types[i], 5, 6, 7, 8));
    EXPECT(types[i], 1, 2, 7, 8);
  }
  RUN(EG_OP_WHERE, "", T("bool[2,2]", 1, 0, 0, 1), T("float32[]", 1),
      T("float32[2]", 5, 6));
  EXPECT("float32[2,2]", 1, 6, 5, 1);
}

static void casts_saturate_truncate_and_wrap(void **state) {
  BOX;
  RUN(EG_OP_CAST, "to int8", T("float32[6]", 1.9, -1.9, 300, -300, NAN, INFINITY));
  EXPECT("int8[6]", 1, -1, 127, -128, 0, 127);
  RUN(EG_OP_CAST, "to int64", T("float64[3]", 1e300, -1e300, NAN));
  EXPECT("int64[3]", (double)INT64_MAX, (double)INT64_MIN, 0);
  RUN(EG_OP_CAST, "to uint64", T("float64[3]", 1e300, -3, 0x1p63));
  EXPECT("uint64[3]", (double)UINT64_MAX, 0, 0x1p63);
  RUN(EG_OP_CAST, "to uint8", T("int32[3]", 257, -1, 5));
  EXPECT("uint8[3]", 1, 255, 5);
  RUN(EG_OP_CAST, "to bool", T("float32[3]", 0, -0.25, NAN));
  EXPECT("bool[3]", 0, 1, 1);
  RUN(EG_OP_CAST, "to float32", T("bool[2]", 0, 1));
  EXPECT("float32[2]", 0, 1);
  RUN(EG_OP_CAST, "to float16", T("float32[3]", 1e6, 1.0 / 3, 65504));
  EXPECT("float16[3]", INFINITY, 0.333251953125, 65504);
  RUN(EG_OP_CAST, "to bfloat16", T("float32[2]", 1.0 / 3, 3.14159));
  EXPECT("bfloat16[2]", 0.333984375, 3.140625);
  RUN(EG_OP_CAST, "to int32", T("float16[2]", 2.5, -7.75));
  EXPECT("int32[2]", 2, -7);
  RUN(EG_OP_CAST, "to float32", T("int64[1]", 16777217));
  EXPECT("float32[1]", 16777216);
}

// Every pair of shapes against element-by-element indexing, long rows included.
static void broadcasting_matches_indexing(void **state) {
  BOX;
  static const char *const pairs[][3] = {
      {"float32[2,3,4]", "float32[2,3,4]", "float32[2,3,4]"},
      {"float32[2,3,4]", "float32[4]", "float32[2,3,4]"},
      {"float32[2,3,4]", "float32[3,1]", "float32[2,3,4]"},
      {"float32[2,1,4]", "float32[1,3,1]", "float32[2,3,4]"},
      {"float32[]", "float32[2,3,4]", "float32[2,3,4]"},
      {"float32[1,3,1,1]", "float32[2,3,5,5]", "float32[2,3,5,5]"},
      {"float32[3,1300]", "float32[3,1]", "float32[3,1300]"},
      {"float32[1300]", "float32[3,1]", "float32[3,1300]"},
      {"float32[1]", "float32[1,1]", "float32[1,1]"},
      {"float32[0,3]", "float32[3]", "float32[0,3]"},
  };
  eg_rng rng = {.state = test_seed(1)};
  for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
    eg_tensor in[2] = {box_random(box, pairs[p][0], &rng, 100),
                       box_random(box, pairs[p][1], &rng, 100)};
    eg_type type;
    assert_ok(eg_type_parse("test", pairs[p][2], &type));
    size_t count = (size_t)eg_type_elements(&type);
    double *want = calloc(count + 1, sizeof *want);
    for (size_t i = 0; i < count; i++) {
      int64_t at[2] = {0, 0}, stride[2] = {1, 1}, rest = (int64_t)i;
      for (uint32_t d = type.rank; d-- > 0; rest /= type.dims[d])
        for (size_t k = 0; k < 2; k++) {
          uint32_t lead = type.rank - in[k].type.rank;
          if (d < lead) continue;
          int64_t dim = in[k].type.dims[d - lead];
          at[k] += (rest % type.dims[d]) % dim * stride[k];
          stride[k] *= dim;
        }
      want[i] = eg_tensor_get_double(&in[0], at[0]) - eg_tensor_get_double(&in[1], at[1]);
    }
    assert_ok(box_call(box, EG_OP_SUB, "", in, 2));
    box_expect(box, 0, pairs[p][2], 0.0, count, want);
    free(want);
  }
}

static void element_types_without_meaning_are_refused(void **state) {
  BOX;
  eg_attrs attrs = box_attrs(box, EG_OP_EXP, "");
  eg_tensor in = T("int32[2]", 1, 2), out = T("int32[2]", 0, 0);
  eg_kernel_call call = {.attrs = &attrs,
                         .inputs = &in,
                         .input_count = 1,
                         .outputs = &out,
                         .output_count = 1,
                         .alloc = box->arena.alloc};
  assert_fails(eg_op_run(&call), EGRAPH_E_UNSUPPORTED, "exp");
  in.type.layout.format = EG_FORMAT_NHWC;
  assert_fails(eg_op_run(&call), EGRAPH_E_ARGUMENT, "nhwc");
  in.type.layout.format = EG_FORMAT_PLAIN;
  box_free(box, &in);
  box_free(box, &out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(float_formulas_of_one_operand),
      TEST(formulas_saturate_instead_of_overflowing),
      TEST(nan_passes_through),
      TEST(round_takes_halves_to_even),
      TEST(integers_of_one_operand_wrap),
      TEST(arithmetic_of_two_operands),
      TEST(mod_has_the_sign_of_divisor_and_fmod_of_dividend),
      TEST(pow_of_all_mixtures),
      TEST(comparisons_and_logic),
      TEST(where_picks_elements_of_any_type),
      TEST(casts_saturate_truncate_and_wrap),
      TEST(broadcasting_matches_indexing),
      TEST(element_types_without_meaning_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
