// Wrong ONNX files: a right model of four nodes with one thing changed at a time, cut
// short at each byte, and with single bits flipped. Each change fails with an error that
// names the file and what is wrong in it.
// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include "tests/unit/onnx_kit.h"

enum { CONV, RELU, RESHAPE, MATMUL }; // nodes
enum { FILTERS, SHAPE, MATRIX };      // tensors

static void build(onnx_kit *kit) {
  static const int64_t shape[] = {1, 512}, pads[] = {1, 1, 1, 1};
  static const float filters[8 * 4 * 3 * 3] = {0}, matrix[512 * 2] = {0};
  kit_begin(kit, 13);
  (void)kit_input(kit, "x", "float32[1,4,8,8]");
  (void)kit_weight(kit, "filters", "float32[8,4,3,3]", filters);
  kit_vector(kit, "shape", 2, shape);
  (void)kit_weight(kit, "matrix", "float32[512,2]", matrix);
  kit_ints(kit, kit_node(kit, "Conv", "x,filters", "c"), "pads", 4, pads);
  (void)kit_node(kit, "Relu", "c", "r");
  (void)kit_node(kit, "Reshape", "r,shape", "s");
  (void)kit_node(kit, "MatMul", "s,matrix", "y");
  kit_output(kit, "y");
}

// ---- changes --------------------------------------------------------------------------

static void no_graph(onnx_kit *k) { k->model.graph = NULL; }
static void no_operator_set(onnx_kit *k) { k->model.n_opset_import = 0; }
static void old_operator_set(onnx_kit *k) { k->opset.version = 0; }
static void late_operator_set(onnx_kit *k) { k->opset.version = 99999; }
static void operator_set_below_zero(onnx_kit *k) { k->opset.version = -1; }
static void input_twice(onnx_kit *k) { (void)kit_input(k, "x", "float32[1,4,8,8]"); }
static void input_without_type(onnx_kit *k) { k->inputs[0]->type = NULL; }
static void input_of_no_type(onnx_kit *k) {
  k->inputs[0]->type->tensor_type->elem_type = 77;
}
static void input_of_strings(onnx_kit *k) {
  k->inputs[0]->type->tensor_type->elem_type = 8;
}
static void input_of_no_rank(onnx_kit *k) {
  k->inputs[0]->type->tensor_type->shape = NULL;
}
static Onnx__TensorShapeProto__Dimension *first_dim(onnx_kit *k) {
  return k->inputs[0]->type->tensor_type->shape->dim[0];
}
static void input_below_zero(onnx_kit *k) { first_dim(k)->dim_value = -8; }
static void input_of_huge_size(onnx_kit *k) { first_dim(k)->dim_value = INT64_MAX; }
static void input_of_other_channels(onnx_kit *k) {
  k->inputs[0]->type->tensor_type->shape->dim[1]->dim_value = 5;
}
static void operand_that_is_nowhere(onnx_kit *k) {
  k->nodes[RELU]->input[0] = kit_string_copy(k, "nobody");
}
static void operand_that_comes_later(onnx_kit *k) {
  k->nodes[RELU]->input[0] = kit_string_copy(k, "s");
}
static void operand_of_itself(onnx_kit *k) {
  k->nodes[RELU]->input[0] = kit_string_copy(k, "r");
}
static void operand_that_lacks(onnx_kit *k) { k->nodes[MATMUL]->n_input = 1; }
static void operands_that_lack(onnx_kit *k) { k->nodes[CONV]->n_input = 0; }
static void operand_left_out(onnx_kit *k) { k->nodes[RELU]->input[0][0] = '\0'; }
static void operands_too_many(onnx_kit *k) {
  k->nodes[RELU]->n_input = 2;
  k->nodes[RELU]->input[1] = kit_string_copy(k, "x");
}
static void results_too_many(onnx_kit *k) {
  k->nodes[RELU]->n_output = 2;
  k->nodes[RELU]->output[1] = kit_string_copy(k, "more");
}
static void result_that_lacks(onnx_kit *k) { k->nodes[RELU]->n_output = 0; }
static void result_twice(onnx_kit *k) {
  k->nodes[RELU]->output[0] = kit_string_copy(k, "c");
}
static void result_of_an_input(onnx_kit *k) {
  k->nodes[CONV]->output[0] = kit_string_copy(k, "x");
}
static void output_that_is_nowhere(onnx_kit *k) {
  k->outputs[0]->name = kit_string_copy(k, "nobody");
}
static void output_twice(onnx_kit *k) { kit_output(k, "y"); }
static void no_outputs(onnx_kit *k) { k->graph.n_output = 0; }
static void tensor_twice(onnx_kit *k) {
  k->tensors[MATRIX]->name = kit_string_copy(k, "filters");
}
static void tensor_without_name(onnx_kit *k) { k->tensors[MATRIX]->name[0] = '\0'; }
static void tensor_of_no_type(onnx_kit *k) { k->tensors[MATRIX]->data_type = 99; }
static void tensor_with_less_data(onnx_kit *k) { k->tensors[MATRIX]->raw_data.len -= 4; }
static void tensor_without_data(onnx_kit *k) { k->tensors[MATRIX]->has_raw_data = false; }
static void tensor_with_part_of_a_number(onnx_kit *k) {
  k->tensors[MATRIX]->raw_data.len -= 1;
}
static void tensor_below_zero(onnx_kit *k) { k->tensors[MATRIX]->dims[0] = -512; }
static void tensor_of_huge_size(onnx_kit *k) {
  k->tensors[MATRIX]->dims[0] = k->tensors[MATRIX]->dims[1] = INT64_MAX;
}
static void tensor_of_other_sizes(onnx_kit *k) {
  k->tensors[MATRIX]->dims[0] = 2;
  k->tensors[MATRIX]->dims[1] = 512;
}
static int64_t *shape_data(onnx_kit *k) {
  return (int64_t *)(void *)k->tensors[SHAPE]->raw_data.data;
}
static void shape_of_other_elements(onnx_kit *k) { shape_data(k)[1] = 511; }
static void shape_below_zero(onnx_kit *k) { shape_data(k)[0] = -7; }
static void shape_that_overflows(onnx_kit *k) {
  shape_data(k)[0] = shape_data(k)[1] = INT64_MAX;
}
static void shape_with_two_unknowns(onnx_kit *k) {
  shape_data(k)[0] = shape_data(k)[1] = -1;
}
static void pads_too_few(onnx_kit *k) { k->nodes[CONV]->attribute[0]->n_ints = 3; }
static void pads_without_kind(onnx_kit *k) {
  k->nodes[CONV]->attribute[0]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
}
static void pads_below_zero(onnx_kit *k) { k->nodes[CONV]->attribute[0]->ints[0] = -99; }
static void ints(onnx_kit *k, const char *name, int64_t first) {
  const int64_t data[] = {first, 1};
  kit_ints(k, k->nodes[CONV], name, 2, data);
}
static void strides_of_zero(onnx_kit *k) { ints(k, "strides", 0); }
static void strides_that_overflow(onnx_kit *k) { ints(k, "dilations", INT64_MAX); }
static void kernel_of_other_size(onnx_kit *k) { ints(k, "kernel_shape", 7); }
static void groups_that_do_not_divide(onnx_kit *k) {
  kit_int(k, k->nodes[CONV], "group", 3);
}
static void groups_of_zero(onnx_kit *k) { kit_int(k, k->nodes[CONV], "group", 0); }
static void padding_of_no_kind(onnx_kit *k) {
  kit_string(k, k->nodes[CONV], "auto_pad", "SIDEWAYS");
}
static void attribute_twice(onnx_kit *k) {
  kit_int(k, k->nodes[RESHAPE], "allowzero", 0);
  kit_int(k, k->nodes[RESHAPE], "allowzero", 1);
}

/// A change, and what the error names beside the file.
typedef struct change {
  void (*make)(onnx_kit *kit);
  const char *what, *named;
} change;

#define CHANGE(name, named)                                                              \
  { name, #name, named }
static const change changes[] = {
    CHANGE(no_graph, "graph"),
    CHANGE(no_operator_set, "operator set"),
    CHANGE(old_operator_set, "operator set"),
    CHANGE(late_operator_set, "operator set"),
    CHANGE(operator_set_below_zero, "operator set"),
    CHANGE(input_twice, "'x'"),
    CHANGE(input_of_no_rank, "'x'"),
    CHANGE(input_below_zero, "'x'"),
    CHANGE(input_of_huge_size, "'x'"),
    CHANGE(input_of_other_channels, "Conv"),
    CHANGE(operand_that_is_nowhere, "'nobody'"),
    CHANGE(operand_that_comes_later, "Relu"),
    CHANGE(operand_of_itself, "Relu"),
    CHANGE(operand_that_lacks, "MatMul"),
    CHANGE(operands_that_lack, "Conv"),
    CHANGE(operand_left_out, "Relu"),
    CHANGE(operands_too_many, "Relu"),
    CHANGE(result_that_lacks, "'r'"),
    CHANGE(result_twice, "'c'"),
    CHANGE(result_of_an_input, "'x'"),
    CHANGE(output_that_is_nowhere, "'nobody'"),
    CHANGE(output_twice, "'y'"),
    CHANGE(tensor_twice, "'filters'"),
    CHANGE(tensor_without_name, "name"),
    CHANGE(tensor_with_less_data, "'matrix'"),
    CHANGE(tensor_without_data, "'matrix'"),
    CHANGE(tensor_with_part_of_a_number, "'matrix'"),
    CHANGE(tensor_below_zero, "'matrix'"),
    CHANGE(tensor_of_huge_size, "'matrix'"),
    CHANGE(tensor_of_other_sizes, "MatMul"),
    CHANGE(shape_of_other_elements, "Reshape"),
    CHANGE(shape_below_zero, "Reshape"),
    CHANGE(shape_that_overflows, "Reshape"),
    CHANGE(shape_with_two_unknowns, "Reshape"),
    CHANGE(pads_too_few, "Conv"),
    CHANGE(pads_without_kind, "Conv"),
    CHANGE(pads_below_zero, "Conv"),
    CHANGE(strides_of_zero, "Conv"),
    CHANGE(strides_that_overflow, "Conv"),
    CHANGE(kernel_of_other_size, "Conv"),
    CHANGE(groups_that_do_not_divide, "Conv"),
    CHANGE(groups_of_zero, "Conv"),
    CHANGE(padding_of_no_kind, "Conv"),
    CHANGE(attribute_twice, "Reshape"),
};

// What the library does not know, it keeps as it is: types, values without a type, a
// result more that nobody reads.
static const change kept[] = {
    CHANGE(input_without_type, ""), CHANGE(input_of_no_type, ""),
    CHANGE(input_of_strings, ""),   CHANGE(results_too_many, ""),
    CHANGE(no_outputs, ""),         CHANGE(tensor_of_no_type, ""),
};

// ---- tests ----------------------------------------------------------------------------

static void expect_taken(void (*make)(onnx_kit *kit)) {
  onnx_kit kit;
  eg_graph *graph;
  build(&kit);
  if (make != NULL) make(&kit);
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_ok(eg_graph_check(graph));
  eg_graph_destroy(graph);
  kit_end(&kit);
}

static void what_is_right_or_not_known_is_taken(void **state) {
  (void)state;
  expect_taken(NULL);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    expect_taken(kept[i].make);
}

/// Whether a changed model fails as a user would expect, without a leak.
static bool is_refused(const change *c) {
  onnx_kit kit;
  eg_graph *graph = NULL;
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  build(&kit);
  c->make(&kit);
  egraph_status status = kit_import(&kit, &alloc, &graph);
  const char *message = status == EGRAPH_OK ? "taken" : egraph_last_error();
  bool is_told = status != EGRAPH_OK && status != EGRAPH_E_INTERNAL &&
                 strncmp(message, "m.onnx:", 7) == 0 && strstr(message, c->named) != NULL;
  if (!is_told) print_message("%s: %s\n", c->what, message);
  if (status == EGRAPH_OK) eg_graph_destroy(graph);
  assert_int_equal(heap.live_bytes, 0);
  kit_end(&kit);
  return is_told;
}

static void changed_models_are_refused(void **state) {
  (void)state;
  uint32_t taken = 0;
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
    taken += !is_refused(&changes[i]);
  assert_int_equal(taken, 0);
}

/// Bytes of the right model. Ends the kit.
static size_t right_bytes(uint8_t **out) {
  onnx_kit kit;
  size_t size;
  build(&kit);
  const uint8_t *bytes = kit_bytes(&kit, &size);
  *out = test_malloc(size);
  memcpy(*out, bytes, size);
  kit_end(&kit);
  return size;
}

static egraph_status parse(const uint8_t *bytes, size_t size) {
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  eg_graph *graph;
  egraph_status status = eg_onnx_parse(&alloc, "m.onnx", bytes, size, NULL, NULL, &graph);
  if (status == EGRAPH_OK) {
    assert_ok(eg_graph_check(graph));
    eg_graph_destroy(graph);
  } else {
    assert_int_not_equal(status, EGRAPH_E_INTERNAL);
    assert_memory_equal(egraph_last_error(), "m.onnx:", 7);
  }
  assert_int_equal(heap.live_bytes, 0);
  return status;
}

static void models_that_are_cut_short_are_refused(void **state) {
  (void)state;
  uint8_t *bytes;
  size_t size = right_bytes(&bytes);
  for (size_t end = 0; end < size; end += end < 64 || size - end < 256 ? 1 : 61)
    assert_int_not_equal(parse(bytes, end), EGRAPH_OK);
  test_free(bytes);
}

/// A bit may be of a number or of a name that does not matter: then the model is taken,
/// and right in itself.
static void flipped_bits_are_refused_or_harmless(void **state) {
  (void)state;
  uint8_t *bytes;
  uint32_t refused = 0;
  size_t size = right_bytes(&bytes);
  // The data of the tensors, mostly zeros, is left out but for a few bytes.
  for (size_t at = 0; at < size; at += bytes[at] != 0 ? 1 : 97)
    for (int bit = 0; bit < 8; bit++) {
      bytes[at] ^= (uint8_t)(1u << bit);
      refused += parse(bytes, size) != EGRAPH_OK;
      bytes[at] ^= (uint8_t)(1u << bit);
    }
  assert_true(refused > 500);
  test_free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_right_or_not_known_is_taken),
      cmocka_unit_test(changed_models_are_refused),
      cmocka_unit_test(models_that_are_cut_short_are_refused),
      cmocka_unit_test(flipped_bits_are_refused_or_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
