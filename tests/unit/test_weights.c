// Drawn weights and inputs, and node specifications.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include <math.h>

#include "pcg/graph/attr_list.h"
#include "pcg/graph/node_spec.h"
#include "pcg/graph/weights.h"

static void equal_names_draw_equal_data(void **state) {
  (void)state;
  float a[64], b[64], c[64], d[64];
  eg_type type = eg_type_of(EGRAPH_FLOAT32, 2, (const int64_t[]){8, 8});
  eg_weight_draw("w", 1, &(eg_tensor){.type = type, .data = a});
  eg_weight_draw("w", 1, &(eg_tensor){.type = type, .data = b});
  eg_weight_draw("w", 2, &(eg_tensor){.type = type, .data = c});
  eg_weight_draw("v", 1, &(eg_tensor){.type = type, .data = d});
  assert_memory_equal(a, b, sizeof a);
  assert_memory_not_equal(a, c, sizeof a);
  assert_memory_not_equal(a, d, sizeof a);
}

static void ranges_are_as_documented(void **state) {
  (void)state;
  enum { COUNT = 4096 };
  static double data[COUNT];
  static float small[COUNT];
  eg_type vector = eg_type_of(EGRAPH_FLOAT64, 1, (const int64_t[]){COUNT});
  eg_weight_draw("scale", 7, &(eg_tensor){.type = vector, .data = data});
  double sum = 0.0;
  for (int i = 0; i < COUNT; i++) {
    assert_true(data[i] >= 0.5 && data[i] < 1.5);
    sum += data[i];
  }
  // Five standard deviations of the mean of uniform numbers.
  assert_true(fabs(sum / COUNT - 1.0) < 5.0 * 0.2887 / 64.0);
  eg_type kernel = eg_type_of(EGRAPH_FLOAT32, 4, (const int64_t[]){16, 64, 2, 2});
  double bound = sqrt(3.0 / 256.0);
  eg_weight_draw("kernel", 7, &(eg_tensor){.type = kernel, .data = small});
  for (int i = 0; i < COUNT; i++)
    assert_true(fabs((double)small[i]) <= bound + 1e-7);
  eg_type image = eg_type_of(EGRAPH_FLOAT32, 2, (const int64_t[]){64, 64});
  eg_input_draw("x", 7, &(eg_tensor){.type = image, .data = small});
  double largest = 0.0;
  for (int i = 0; i < COUNT; i++)
    largest = fmax(largest, fabs((double)small[i]));
  assert_true(largest > 0.99 && largest <= 1.0);
}

static void integers_are_zero_or_one(void **state) {
  (void)state;
  int64_t data[256];
  int ones = 0;
  eg_type type = eg_type_of(EGRAPH_INT64, 1, (const int64_t[]){256});
  eg_input_draw("ids", 3, &(eg_tensor){.type = type, .data = data});
  for (int i = 0; i < 256; i++) {
    assert_true(data[i] == 0 || data[i] == 1);
    ones += (int)data[i];
  }
  assert_true(ones > 64 && ones < 192);
  eg_type empty = eg_type_of(EGRAPH_FLOAT32, 3, (const int64_t[]){0, 4, 4});
  eg_weight_draw("none", 3, &(eg_tensor){.type = empty, .data = data});
}

static void specs_print_types_formats_and_weights(void **state) {
  (void)state;
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_CONV);
  eg_attr_list_set_ints(&list, EG_A_CONV_STRIDES, (const int64_t[]){1, 1}, 2);
  eg_attr_list_set_ints(&list, EG_A_CONV_PADS, (const int64_t[]){1, 1, 1, 1}, 4);
  eg_attr_list_set_ints(&list, EG_A_CONV_DILATIONS, (const int64_t[]){1, 1}, 2);
  eg_attr_list_set_symbol(&list, EG_A_CONV_ACT, "relu");
  eg_attrs attrs = eg_attr_list_attrs(&list);
  eg_type x = eg_type_of(EGRAPH_FLOAT32, 4, (const int64_t[]){1, 16, 8, 8}), y = x;
  y.layout.format = EG_FORMAT_NHWC;
  eg_type operands[2] = {x,
                         eg_type_of(EGRAPH_FLOAT32, 4, (const int64_t[]){16, 16, 3, 3})};
  eg_node_spec spec = {.attrs = &attrs,
                       .inputs = operands,
                       .input_count = 2,
                       .results = &y,
                       .result_count = 1,
                       .weight_mask = 2};
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_node_spec_print(&text, &spec));
  assert_string_equal(
      eg_text_of(&text),
      "conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :act relu (float32[1,16,8,8] "
      "weight:float32[16,16,3,3]) -> float32[1,16,8,8]@nhwc");
  eg_text_deinit(&text);
  // Two operations per multiply-add; activation and nothing else on top.
  double multiply_adds = 2.0 * 16 * 8 * 8 * 16 * 9;
  assert_true(eg_node_spec_flops(&spec) >= multiply_adds &&
              eg_node_spec_flops(&spec) <= 1.05 * multiply_adds);
  assert_false(eg_node_spec_is_reorder(&spec));
}

static void a_reorder_moves_its_bytes(void **state) {
  (void)state;
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_IDENTITY);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  eg_type x = eg_type_of(EGRAPH_FLOAT32, 4, (const int64_t[]){1, 12, 2, 2}), y = x;
  y.layout.format = EG_FORMAT_NCHW8C;
  eg_node_spec spec = {
      .attrs = &attrs, .inputs = &x, .input_count = 1, .results = &y, .result_count = 1};
  assert_true(eg_node_spec_is_reorder(&spec));
  assert_true(eg_node_spec_bytes(&spec) == 12 * 4 * 4 + 16 * 4 * 4);
  spec.results = &x;
  assert_false(eg_node_spec_is_reorder(&spec));
  assert_true(eg_node_spec_bytes(&spec) == 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_names_draw_equal_data),
      cmocka_unit_test(ranges_are_as_documented),
      cmocka_unit_test(integers_are_zero_or_one),
      cmocka_unit_test(specs_print_types_formats_and_weights),
      cmocka_unit_test(a_reorder_moves_its_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
