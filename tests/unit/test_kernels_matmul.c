// matmul, gemm and einsum against a naive triple loop and hand-computed values.
// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum.h"
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

static void products_of_small_matrices(void **state) {
  BOX;
  RUN(EG_OP_MATMUL, "", T("float32[2,3]", 1, 2, 3, 4, 5, 6),
      T("float32[3,1]", 1, 10, 100));
  EXPECT("float32[2,1]", 321, 654);
  RUN(EG_OP_MATMUL, "", T("int32[3]", 1, 2, 3), T("int32[3]", 4, 5, 6));
  EXPECT("int32[]", 32);
  RUN(EG_OP_MATMUL, "", T("float32[2]", 1, 2),
      T("float32[2,2,2]", 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT("float32[2,2]", 7, 10, 19, 22);
  RUN(EG_OP_MATMUL, "", T("float32[2,2,2]", 1, 2, 3, 4, 5, 6, 7, 8),
      T("float32[2]", 1, 2));
  EXPECT("float32[2,2]", 5, 11, 17, 23);
  RUN(EG_OP_MATMUL, "", T("uint8[1,2]", 200, 100), T("uint8[2,1]", 2, 3));
  EXPECT("uint8[1,1]", (200 * 2 + 100 * 3) % 256);
  RUN(EG_OP_MATMUL, "", T("float32[2,0]", 0), T("float32[0,2]", 0));
  EXPECT("float32[2,2]", 0, 0, 0, 0);
}

static void bias_z_and_activation_are_fused_in_this_order(void **state) {
  BOX;
  RUN(EG_OP_MATMUL, "act relu", T("float32[2,1]", 1, -1), T("float32[1,2]", 1, 2),
      T("float32[2]", 10, -1.5), T("float32[2,2]", -20, 0, 0, 5));
  EXPECT("float32[2,2]", 0, 0.5, 9, 1.5);
  RUN(EG_OP_MATMUL, "act clip; act_alpha -1; act_beta 2.5", T("float64[2,1]", 1, -2),
      T("float64[1,2]", 3, 2));
  EXPECT("float64[2,2]", 2.5, 2, -1, -1);
  RUN(EG_OP_MATMUL, "act gelu-tanh", T("float64[1,1]", -2), T("float64[1,1]", 1));
  EXPECT_NEAR(1e-15, "float64[1,1]", -0.045402305912224981);
  RUN(EG_OP_MATMUL, "act gelu", T("float64[1,1]", -2), T("float64[1,1]", 1));
  EXPECT_NEAR(1e-15, "float64[1,1]", -0.045500263896358417);
  RUN(EG_OP_MATMUL, "act leaky-relu; act_alpha 0.5", T("float32[2,1]", -2, 4),
      T("float32[1,1]", 3));
  EXPECT("float32[2,1]", -3, 12);
  RUN_FAILS(EGRAPH_E_TYPE, "needs floating point", EG_OP_MATMUL, "act relu",
            T("int32[2,1]", 1, -1), T("int32[1,1]", 7));
  RUN_FAILS(EGRAPH_E_TYPE, "activation", EG_OP_MATMUL, "act tanh", T("int32[1,1]", 1),
            T("int32[1,1]", 7));
}

static void gemm_scales_and_broadcasts_its_bias(void **state) {
  BOX;
  RUN(EG_OP_GEMM, "alpha 0.5; beta 2", T("float32[2,2]", 2, 4, 6, 8),
      T("float32[2,2]", 1, 0, 0, 1), T("float32[2,1]", 1, 10));
  EXPECT("float32[2,2]", 3, 4, 23, 24);
  RUN(EG_OP_GEMM, "transA 1; transB 1", T("float32[2,1]", 1, 2),
      T("float32[3,2]", 1, 2, 3, 4, 5, 6), T("float32[]", 100));
  EXPECT("float32[1,3]", 105, 111, 117);
  RUN(EG_OP_GEMM, "alpha 2; beta -1", T("int64[1,1]", 3), T("int64[1,1]", 5),
      T("int64[1]", 4));
  EXPECT("int64[1,1]", 26);
  RUN_FAILS(EGRAPH_E_UNSUPPORTED, "alpha", EG_OP_GEMM, "alpha 0.5", T("int64[1,1]", 3),
            T("int64[1,1]", 5));
}

typedef struct product_case {
  const char *a, *b, *result, *attrs;
  bool trans_a, trans_b;
  const char *bias;
} product_case;

// Offset of a right-aligned broadcast index; `skip` dimensions at the end are the matrix.
static int64_t batch_offset(const eg_type *type, int64_t batch, const eg_type *result) {
  int64_t offset = 0, stride = type->dims[type->rank - 1] * type->dims[type->rank - 2];
  for (uint32_t d = result->rank - 2; d-- > 0; batch /= result->dims[d]) {
    uint32_t lead = result->rank - type->rank;
    if (d < lead) continue;
    offset += batch % result->dims[d] % type->dims[d - lead] * stride;
    stride *= type->dims[d - lead];
  }
  return offset;
}

static void expect_product(kernel_box *box, const product_case *test,
                           const eg_tensor *in) {
  eg_type type;
  assert_ok(eg_type_parse("test", test->result, &type));
  int64_t m = type.dims[type.rank - 2], n = type.dims[type.rank - 1];
  int64_t k = in[0].type.dims[in[0].type.rank - (test->trans_a ? 2 : 1)];
  int64_t count = eg_type_elements(&type);
  double *want = calloc((size_t)count, sizeof *want);
  for (int64_t at = 0; at < count; at++) {
    int64_t i = at / n % m, j = at % n;
    int64_t a = batch_offset(&in[0].type, at / (m * n), &type);
    int64_t b = batch_offset(&in[1].type, at / (m * n), &type);
    for (int64_t p = 0; p < k; p++)
      want[at] +=
          eg_tensor_get_double(&in[0], a + (test->trans_a ? p * m + i : i * k + p)) *
          eg_tensor_get_double(&in[1], b + (test->trans_b ? j * k + p : p * n + j));
    if (test->bias != NULL) want[at] += eg_tensor_get_double(&in[2], j);
  }
  box_expect(box, 0, test->result, 0.0, (size_t)count, want);
  free(want);
}

// Sizes on both sides of the kernel's blocks, whole numbers so that the comparison is
// exact.
static void products_match_a_triple_loop(void **state) {
  BOX;
  static const product_case cases[] = {
      {"float32[5,7]", "float32[7,67]", "float32[5,67]", "", false, false, NULL},
      {"float32[7,5]", "float32[7,64]", "float32[5,64]", "transA 1", true, false, NULL},
      {"float64[4,9]", "float64[130,9]", "float64[4,130]", "transB 1", false, true,
       "float64[130]"},
      {"float32[2,3,5,4]", "float32[4,6]", "float32[2,3,5,6]", "", false, false,
       "float32[6]"},
      {"float32[2,1,5,4]", "float32[3,4,6]", "float32[2,3,5,6]", "", false, false, NULL},
      {"int32[3,4,5]", "int32[3,6,4]", "int32[3,5,6]", "transA 1; transB 1", true, true,
       NULL},
      {"float16[3,4]", "float16[4,2]", "float16[3,2]", "", false, false, NULL},
  };
  eg_rng rng = {.state = test_seed(2)};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const product_case *test = &cases[i];
    uint32_t count = test->bias != NULL ? 3 : 2;
    eg_tensor in[3] = {box_random(box, test->a, &rng, 9),
                       box_random(box, test->b, &rng, 9)};
    if (count == 3) in[2] = box_random(box, test->bias, &rng, 9);
    eg_attrs attrs = box_attrs(box, EG_OP_MATMUL, test->attrs);
    assert_ok(box_try(box, &attrs, in, count));
    expect_product(box, test, in);
    for (uint32_t k = 0; k < count; k++)
      box_free(box, &in[k]);
  }
}

// A full-rank bias and z broadcast over the batch as over the rows.
static void addends_broadcast_over_batches(void **state) {
  BOX;
  RUN(EG_OP_MATMUL, "", T("float32[2,2,1]", 1, 2, 3, 4), T("float32[1,1]", 1),
      T("float32[2,1,1]", 10, 20), T("float32[2,2,1]", 100, 200, 300, 400));
  EXPECT("float32[2,2,1]", 111, 212, 323, 424);
}

static void einsum_equations(void **state) {
  BOX;
  RUN(EG_OP_EINSUM, "equation \"ij,jk->ik\"", T("float32[2,2]", 1, 2, 3, 4),
      T("float32[2,1]", 10, 1));
  EXPECT("float32[2,1]", 12, 34);
  RUN(EG_OP_EINSUM, "equation \"ij->ji\"", T("int8[2,3]", 1, 2, 3, 4, 5, 6));
  EXPECT("int8[3,2]", 1, 4, 2, 5, 3, 6);
  RUN(EG_OP_EINSUM, "equation \"ii\"", T("float64[2,2]", 1, 2, 3, 4));
  EXPECT("float64[]", 5);
  RUN(EG_OP_EINSUM, "equation \"ii->i\"", T("float64[2,2]", 1, 2, 3, 4));
  EXPECT("float64[2]", 1, 4);
  RUN(EG_OP_EINSUM, "equation \"...j,j -> ...\"",
      T("float32[2,2,2]", 1, 2, 3, 4, 5, 6, 7, 8), T("float32[2]", 1, 10));
  EXPECT("float32[2,2]", 21, 43, 65, 87);
  RUN(EG_OP_EINSUM, "equation \"i,j,k->kji\"", T("int32[2]", 1, 2), T("int32[1]", 3),
      T("int32[2]", 5, 7));
  EXPECT("int32[2,1,2]", 15, 30, 21, 42);
  RUN(EG_OP_EINSUM, "equation \"ij->i\"", T("float32[2,0]", 0));
  EXPECT("float32[2]", 0, 0);
  RUN(EG_OP_EINSUM, "equation \"ba,cb\"", T("float32[2,1]", 1, 2),
      T("float32[1,2]", 3, 4));
  EXPECT("float32[1,1]", 11);
}

/// Indices are renamed in the order in which they appear, and the result is written down.
static void equations_that_differ_in_names_have_one_text(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"ij,jk->ik", "ab,bc->ac"},
      {" b h i d , b h j d -> b h i j ", "abcd,abed->abce"},
      {"ba,cb", "ab,ca->bc"}, // the result is in the order of the alphabet: a c
      {"Zz,za->aZ", "ab,bc->ca"},
      {"...j,j -> ...", "...a,a->..."},
      {"ii", "aa->"},
      {"i...,i", "a...,a->..."},
      {",->", ",->"},
      {"", "->"}};
  static const char *const malformed[] = {"i-j", "ij->i->j", "i,j->i,j",
                                          "i..", "i1",       "i>j"};
  char text[EG_EINSUM_TEXT], again[EG_EINSUM_TEXT], longest[2 * EG_EINSUM_TEXT];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_true(eg_einsum_canonical(texts[i][0], text));
    assert_string_equal(text, texts[i][1]);
    assert_true(eg_einsum_canonical(text, again));
    assert_string_equal(again, text);
  }
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
    assert_false(eg_einsum_canonical(malformed[i], text));
  memset(longest, 'i', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_false(eg_einsum_canonical(longest, text));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(products_of_small_matrices),
      TEST(bias_z_and_activation_are_fused_in_this_order),
      TEST(gemm_scales_and_broadcasts_its_bias),
      TEST(products_match_a_triple_loop),
      TEST(addends_broadcast_over_batches),
      TEST(einsum_equations),
      TEST(equations_that_differ_in_names_have_one_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
