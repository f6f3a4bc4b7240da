// Convolution, transposed convolution and pooling against loops that follow the
// definition position by position, over many geometries, and hand-computed corners.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"

#define BOX kernel_box *box = *state

enum { MAX_SPATIAL = 3 };

typedef struct geometry {
  const char *x, *w; // pooling: w is "float32[1,1,kernel]"
  const char *attrs;
  int64_t stride[MAX_SPATIAL], pad[MAX_SPATIAL], dilation[MAX_SPATIAL];
  int64_t group;
} geometry;

// Decomposes a flat index over dims.
static void split_index(int64_t at, uint32_t rank, const int64_t *dims, int64_t *out) {
  for (uint32_t d = rank; d-- > 0; at /= dims[d])
    out[d] = at % dims[d];
}

static int64_t product(const int64_t *dims, uint32_t rank) {
  int64_t all = 1;
  for (uint32_t d = 0; d < rank; d++)
    all *= dims[d];
  return all;
}

// Flat input position under a window's tap, or -1 in the padding.
static int64_t input_at(const geometry *g, const eg_type *x, const int64_t *place,
                        const int64_t *tap) {
  int64_t at = 0;
  for (uint32_t d = 0; d + 2 < x->rank; d++) {
    int64_t i = place[d] * g->stride[d] - g->pad[d] + tap[d] * g->dilation[d];
    if (i < 0 || i >= x->dims[d + 2]) return -1;
    at = at * x->dims[d + 2] + i;
  }
  return at;
}

static const geometry convolutions[] = {
    {"float32[1,1,5]",
     "float32[1,1,3]",
     "strides [1]; pads [0 0]; dilations [1]",
     {1},
     {0},
     {1},
     1},
    {"float32[2,3,5,6]",
     "float32[4,3,3,3]",
     "strides [1 1]; pads [1 1 1 1]; dilations [1 1]",
     {1, 1},
     {1, 1},
     {1, 1},
     1},
    {"float64[1,4,7,8]",
     "float64[6,2,3,2]",
     "strides [2 3]; pads [1 0 2 1]; dilations [1 2]; group 2",
     {2, 3},
     {1, 0},
     {1, 2},
     2},
    {"int32[1,4,6,5]",
     "int32[4,1,2,3]",
     "strides [1 2]; pads [2 3 0 0]; dilations [2 1]; group 4",
     {1, 2},
     {2, 3},
     {2, 1},
     4},
    {"float32[2,3,4,5]",
     "float32[5,3,1,1]",
     "strides [1 1]; pads [0 0 0 0]; dilations [1 1]",
     {1, 1},
     {0, 0},
     {1, 1},
     1},
    {"float32[1,2,4,3,5]",
     "float32[2,2,2,3,2]",
     "strides [2 1 1]; pads [0 1 0 1 1 1]; dilations [1 1 3]",
     {2, 1, 1},
     {0, 1, 0},
     {1, 1, 3},
     1},
    {"float32[1,1,2,2]",
     "float32[1,1,5,5]",
     "strides [1 1]; pads [4 4 4 4]; dilations [1 1]",
     {1, 1},
     {4, 4},
     {1, 1},
     1},
    {"float16[1,2,3,3]",
     "float16[2,2,2,2]",
     "strides [1 1]; pads [0 0 0 0]; dilations [1 1]",
     {1, 1},
     {0, 0},
     {1, 1},
     1},
};

static void expect_conv(kernel_box *box, const geometry *g, const eg_tensor *x,
                        const eg_tensor *w) {
  const eg_type y = box->results[0].type;
  uint32_t spatial = y.rank - 2;
  int64_t pixels = product(y.dims + 2, spatial),
          taps = product(w->type.dims + 2, spatial);
  int64_t plane = product(x->type.dims + 2, spatial), inputs = w->type.dims[1];
  for (int64_t at = 0; at < eg_type_elements(&y); at++) {
    int64_t o = at / pixels % y.dims[1], n = at / pixels / y.dims[1];
    int64_t first = o / (y.dims[1] / g->group) * inputs, place[MAX_SPATIAL],
            tap[MAX_SPATIAL];
    split_index(at % pixels, spatial, y.dims + 2, place);
    double want = 0;
    for (int64_t c = 0; c < inputs; c++)
      for (int64_t t = 0; t < taps; t++) {
        split_index(t, spatial, w->type.dims + 2, tap);
        int64_t i = input_at(g, &x->type, place, tap);
        if (i >= 0)
          want += eg_tensor_get_double(x, (n * x->type.dims[1] + first + c) * plane + i) *
                  eg_tensor_get_double(w, (o * inputs + c) * taps + t);
      }
    double got = eg_tensor_get_double(&box->results[0], at);
    if (got != want)
      fail_msg("%s: element %lld is %g instead of %g", g->x, (long long)at, got, want);
  }
}

static void conv_matches_its_definition(void **state) {
  BOX;
  eg_rng rng = {.state = test_seed(3)};
  for (size_t i = 0; i < sizeof convolutions / sizeof convolutions[0]; i++) {
    const geometry *g = &convolutions[i];
    eg_tensor in[2] = {box_random(box, g->x, &rng, 6), box_random(box, g->w, &rng, 6)};
    eg_attrs attrs = box_attrs(box, EG_OP_CONV, g->attrs);
    assert_ok(box_try(box, &attrs, in, 2));
    expect_conv(box, g, &in[0], &in[1]);
    box_free(box, &in[0]);
    box_free(box, &in[1]);
  }
}

static void conv_adds_bias_and_z_before_the_activation(void **state) {
  BOX;
  const char *attrs = "strides [1]; pads [0 0]; dilations [1]; act relu";
  RUN(EG_OP_CONV, attrs, T("float32[1,1,3]", 1, 2, 3), T("float32[2,1,1]", 1, -1),
      T("float32[2]", 10, 2.5), T("float32[1,2,3]", 0, -12, -20, 0, 0, 1));
  EXPECT("float32[1,2,3]", 11, 0, 0, 1.5, 0.5, 0.5);
  RUN_FAILS(EGRAPH_E_TYPE, "needs floating point", EG_OP_CONV, attrs,
            T("int32[1,1,2]", 1, -2), T("int32[1,1,1]", 3), T("int32[1]", 1));
}

// <conv(x, w), y> = <x, conv-transpose(y, w)>: with whole numbers the two sums are equal.
static void conv_transpose_is_the_adjoint_of_conv(void **state) {
  BOX;
  static const struct {
    const char *x, *w, *y, *attrs, *transpose_attrs;
  } cases[] = {
      {"float64[2,3,5,6]", "float64[4,3,3,3]", "float64[2,4,5,6]",
       "strides [1 1]; pads [1 1 1 1]; dilations [1 1]",
       "strides [1 1]; pads [1 1 1 1]; dilations [1 1]; output_padding [0 0]"},
      {"float64[1,4,8,9]", "float64[6,2,3,2]", "float64[1,6,4,3]",
       "strides [2 3]; pads [1 0 0 0]; dilations [1 2]; group 2",
       "strides [2 3]; pads [1 0 0 0]; dilations [1 2]; output_padding [0 0]; group 2"},
      {"float64[1,1,6]", "float64[2,1,2]", "float64[1,2,3]",
       "strides [2]; pads [0 0]; dilations [1]",
       "strides [2]; pads [0 0]; dilations [1]; output_padding [0]"},
  };
  eg_rng rng = {.state = test_seed(4)};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    eg_tensor x = box_random(box, cases[i].x, &rng, 9),
              w = box_random(box, cases[i].w, &rng, 9);
    eg_tensor y = box_random(box, cases[i].y, &rng, 9);
    double forward = 0, backward = 0;
    eg_attrs attrs = box_attrs(box, EG_OP_CONV, cases[i].attrs);
    assert_ok(box_try(box, &attrs, (eg_tensor[]){x, w}, 2));
    assert_true(eg_type_same(&box->results[0].type, &y.type));
    for (int64_t k = 0; k < eg_type_elements(&y.type); k++)
      forward += eg_tensor_get_double(&box->results[0], k) * eg_tensor_get_double(&y, k);
    attrs = box_attrs(box, EG_OP_CONV_TRANSPOSE, cases[i].transpose_attrs);
    assert_ok(box_try(box, &attrs, (eg_tensor[]){y, w}, 2));
    assert_true(eg_type_same(&box->results[0].type, &x.type));
    for (int64_t k = 0; k < eg_type_elements(&x.type); k++)
      backward += eg_tensor_get_double(&box->results[0], k) * eg_tensor_get_double(&x, k);
    assert_true(forward == backward);
    box_free(box, &x);
    box_free(box, &w);
    box_free(box, &y);
  }
  RUN(EG_OP_CONV_TRANSPOSE, "strides [2]; pads [0 0]; dilations [1]; output_padding [1]",
      T("float32[1,1,2]", 1, 2), T("float32[1,2,2]", 1, 10, 3, 5),
      T("float32[2]", 0, 100));
  EXPECT("float32[1,2,5]", 1, 10, 2, 20, 0, 103, 105, 106, 110, 100);
}

static const geometry pools[] = {
    {"float32[1,2,6]",
     "float32[1,1,3]",
     "kernel_shape [3]; strides [2]; pads [1 1]",
     {2},
     {1},
     {1},
     1},
    {"float32[2,2,5,6]",
     "float32[1,1,3,2]",
     "kernel_shape [3 2]; strides [2 1]; pads [1 0 1 1]",
     {2, 1},
     {1, 0},
     {1, 1},
     1},
    {"float64[1,1,4,4]",
     "float64[1,1,3,3]",
     "kernel_shape [3 3]; strides [2 2]; pads [0 0 0 0]; ceil_mode 1",
     {2, 2},
     {0, 0},
     {1, 1},
     1},
    {"float32[1,2,3,4,5]",
     "float32[1,1,2,2,2]",
     "kernel_shape [2 2 2]; strides [1 2 2]; pads [1 0 0 0 1 1]",
     {1, 2, 2},
     {1, 0, 0},
     {1, 1, 1},
     1},
};

// count_include_pad is the end of the padded input, begin pad + size + end pad.
static void expect_pool(kernel_box *box, const geometry *g, const eg_tensor *x,
                        const eg_type *kernel, bool is_max, const int64_t *pad_ends) {
  const eg_type y = box->results[0].type;
  uint32_t spatial = y.rank - 2;
  int64_t pixels = product(y.dims + 2, spatial),
          taps = product(kernel->dims + 2, spatial);
  int64_t plane = product(x->type.dims + 2, spatial);
  for (int64_t at = 0; at < eg_type_elements(&y); at++) {
    int64_t place[MAX_SPATIAL], tap[MAX_SPATIAL];
    split_index(at % pixels, spatial, y.dims + 2, place);
    double best = -INFINITY, sum = 0, count = 0;
    for (int64_t t = 0; t < taps; t++) {
      split_index(t, spatial, kernel->dims + 2, tap);
      bool counts = true;
      for (uint32_t d = 0; d < spatial && pad_ends != NULL; d++)
        counts = counts && place[d] * g->stride[d] - g->pad[d] + tap[d] * g->dilation[d] <
                               x->type.dims[d + 2] + pad_ends[d];
      int64_t i = input_at(g, &x->type, place, tap);
      if (pad_ends != NULL ? counts : i >= 0) count++;
      if (i < 0) continue;
      double value = eg_tensor_get_double(x, at / pixels * plane + i);
      best = value > best ? value : best;
      sum += value;
    }
    double got = eg_tensor_get_double(&box->results[0], at);
    double want = is_max ? best : sum / count;
    if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want))))
      fail_msg("%s: element %lld is %g instead of %g", g->x, (long long)at, got, want);
  }
}

static void pools_match_their_definition(void **state) {
  BOX;
  eg_rng rng = {.state = test_seed(5)};
  for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
    const geometry *g = &pools[i];
    eg_tensor x = box_random(box, g->x, &rng, 50);
    eg_type kernel;
    assert_ok(eg_type_parse("test", g->w, &kernel));
    char attrs[256];
    snprintf(attrs, sizeof attrs, "%s; dilations [1%s]", g->attrs,
             kernel.rank == 3   ? ""
             : kernel.rank == 4 ? " 1"
                                : " 1 1");
    eg_attrs parsed = box_attrs(box, EG_OP_MAX_POOL, attrs);
    assert_ok(box_try(box, &parsed, &x, 1));
    expect_pool(box, g, &x, &kernel, true, NULL);
    parsed = box_attrs(box, EG_OP_AVERAGE_POOL, g->attrs);
    assert_ok(box_try(box, &parsed, &x, 1));
    expect_pool(box, g, &x, &kernel, false, NULL);
    snprintf(attrs, sizeof attrs, "%s; count_include_pad 1", g->attrs);
    parsed = box_attrs(box, EG_OP_AVERAGE_POOL, attrs);
    assert_ok(box_try(box, &parsed, &x, 1));
    const eg_ints pads = eg_attr_at(&parsed, EG_A_AVERAGE_POOL_PADS)->ints;
    expect_pool(box, g, &x, &kernel, false, pads.data + pads.len / 2);
    box_free(box, &x);
  }
}

static void pooling_corners(void **state) {
  BOX;
  const char *attrs = "kernel_shape [2]; strides [1]; pads [0 0]; dilations [2]";
  RUN(EG_OP_MAX_POOL, attrs, T("uint8[1,1,5]", 1, 200, 3, 4, 250));
  EXPECT("uint8[1,1,3]", 3, 200, 250);
  RUN(EG_OP_MAX_POOL, "kernel_shape [2]; strides [2]; pads [1 1]; dilations [1]",
      T("int8[1,1,2]", -5, -7));
  EXPECT("int8[1,1,2]", -5, -7);
  RUN(EG_OP_MAX_POOL, "kernel_shape [2]; strides [1]; pads [0 0]; dilations [1]",
      T("float32[1,1,3]", 1, NAN, 0));
  EXPECT("float32[1,1,2]", NAN, NAN);
  RUN(EG_OP_AVERAGE_POOL,
      "kernel_shape [2]; strides [2]; pads [0 0]; ceil_mode 1; count_include_pad 1",
      T("float32[1,1,3]", 1, 3, 8));
  EXPECT("float32[1,1,2]", 2, 8);
  RUN(EG_OP_GLOBAL_AVERAGE_POOL, "", T("float32[1,2,2,2]", 1, 2, 3, 4, -1, -2, -3, -6));
  EXPECT("float32[1,2,1,1]", 2.5, -3);
  RUN(EG_OP_GLOBAL_MAX_POOL, "", T("float64[1,2,2,2]", 1, 2, 3, 4, -1, -2, -3, -6));
  EXPECT("float64[1,2,1,1]", 4, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(conv_matches_its_definition),
      TEST(conv_adds_bias_and_z_before_the_activation),
      TEST(conv_transpose_is_the_adjoint_of_conv),
      TEST(pools_match_their_definition),
      TEST(pooling_corners),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
