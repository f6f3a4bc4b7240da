// Copies of models in files with other values in their tensors: initializers, constants,
// copies of initializers, data beside the model; and what does not fit.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/file.h"
#include "tests/unit/onnx_kit.h"

static const char MODEL[] = "test_onnx_weights.onnx", COPY[] = "test_onnx_weights_2.onnx";
static const char DATA[] = "test_onnx_weights.onnx.data",
                  COPY_DATA[] = "test_onnx_weights_2.onnx.data";

static void remove_files(void) {
  (void)unlink(MODEL);
  (void)unlink(COPY);
  (void)unlink(DATA);
  (void)unlink(COPY_DATA);
}

static eg_graph *graph_of(const char *text) {
  eg_graph *graph;
  assert_ok(eg_graph_parse(NULL, "model", text, strlen(text), &graph));
  return graph;
}

/// An array with `first`, `first` + 1, ...
static void add_counting(eg_arrays *arrays, const char *name, uint32_t rank,
                         const int64_t *dims, float first) {
  eg_type type = eg_type_of(EGRAPH_FLOAT32, rank, dims);
  assert_ok(eg_arrays_add(arrays, name, &type, NULL));
  float *data = arrays->rows.data[arrays->rows.len - 1].tensor.data;
  for (int64_t i = 0; i < eg_type_elements(&type); i++)
    data[i] = first + (float)i;
}

static const float *weight_in(const eg_graph *graph, const char *name) {
  eg_value value;
  assert_true(eg_graph_find_value(graph, name, &value));
  assert_non_null(eg_graph_value(graph, value)->data);
  return eg_buffer_data(eg_graph_value(graph, value)->data);
}

static void values_are_replaced_and_all_else_stays(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-graph 1)(input x \"float32[1,2]\")(weight w \"float32[2,2]\" [1 2 3 4])"
      "(weight b \"float32[2]\" [5 6])(let m (matmul x w))(let y (add m b))(output y)";
  eg_graph *graph = graph_of(text), *copy;
  eg_arrays arrays;
  eg_arrays_init(&arrays, eg_allocator_heap());
  assert_ok(eg_onnx_save(graph, MODEL, NULL));
  // No array: the same bytes but for what packing may order anew, the same graph.
  assert_ok(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, COPY));
  assert_ok(eg_onnx_load(NULL, COPY, NULL, &copy));
  assert_true(weight_in(copy, "w")[3] == 4 && weight_in(copy, "b")[1] == 6);
  eg_graph_destroy(copy);
  add_counting(&arrays, "w", 2, (int64_t[]){2, 2}, 10);
  assert_ok(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, COPY));
  assert_ok(eg_onnx_load(NULL, COPY, NULL, &copy));
  for (int i = 0; i < 4; i++)
    assert_true(weight_in(copy, "w")[i] == 10 + (float)i);
  assert_true(weight_in(copy, "b")[0] == 5);
  assert_int_equal(eg_graph_node_count(copy), eg_graph_node_count(graph));
  eg_graph_destroy(copy);
  // The model may be written over itself.
  assert_ok(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, MODEL));
  assert_ok(eg_onnx_load(NULL, MODEL, NULL, &copy));
  assert_true(weight_in(copy, "w")[0] == 10);
  eg_graph_destroy(copy);
  eg_arrays_deinit(&arrays);
  eg_graph_destroy(graph);
  remove_files();
}

static void data_beside_the_model_comes_along(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-graph 1)(input x \"float32[1,32]\")(weight w \"float32[32,32]\")"
      "(weight v \"float32[32,32]\")(let m (matmul x w))(let y (matmul m v))(output y)";
  eg_graph *graph = graph_of(text), *copy;
  eg_value value;
  static const char *const names[] = {"w", "v"};
  for (int n = 0; n < 2; n++) {
    eg_buffer *data;
    egraph_allocator heap = eg_allocator_heap();
    assert_ok(eg_buffer_create(&heap, 4096, &data));
    float *to = eg_buffer_writable(data);
    for (int i = 0; i < 1024; i++)
      to[i] = (float)(n + 1);
    assert_true(eg_graph_find_value(graph, names[n], &value));
    eg_graph_set_data(graph, value, data);
    eg_buffer_release(data);
  }
  assert_ok(eg_onnx_save(graph, MODEL, &(eg_onnx_export_options){.external = true}));
  assert_int_equal(access(DATA, F_OK), 0);
  eg_arrays arrays;
  eg_arrays_init(&arrays, eg_allocator_heap());
  add_counting(&arrays, "w", 2, (int64_t[]){32, 32}, 7);
  assert_ok(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, COPY));
  assert_int_not_equal(access(COPY_DATA, F_OK), 0);
  (void)unlink(DATA);
  assert_ok(eg_onnx_load(NULL, COPY, NULL, &copy)); // stands alone
  assert_true(weight_in(copy, "w")[1023] == 7 + 1023);
  assert_true(weight_in(copy, "v")[1023] == 2);
  eg_graph_destroy(copy);
  assert_fails(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, COPY),
               EGRAPH_E_IO, "the data of 'v' is not there");
  eg_arrays_deinit(&arrays);
  eg_graph_destroy(graph);
  remove_files();
}

/// y = x + w + c1: c1 a copy of the initializer w.
static void write_with_copies(void) {
  onnx_kit kit;
  kit_begin(&kit, 17);
  kit_input(&kit, "x", "float32[2]");
  const float one[] = {1, 1};
  (void)kit_weight(&kit, "w", "float32[2]", one);
  (void)kit_node(&kit, "Identity", "w", "c1");
  (void)kit_node(&kit, "Add", "x,w", "a");
  (void)kit_node(&kit, "Add", "a,c1", "y");
  kit_output(&kit, "y");
  size_t size;
  const uint8_t *bytes = kit_bytes(&kit, &size);
  assert_ok(eg_file_write(MODEL, bytes, size));
  kit_end(&kit);
}

static void copies_of_initializers_become_constants(void **state) {
  (void)state;
  write_with_copies();
  eg_arrays arrays;
  eg_graph *copy;
  eg_arrays_init(&arrays, eg_allocator_heap());
  add_counting(&arrays, "c1", 1, (int64_t[]){2}, 20);
  assert_ok(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, COPY));
  assert_ok(eg_onnx_load(NULL, COPY, NULL, &copy));
  assert_true(weight_in(copy, "w")[1] == 1);
  assert_true(weight_in(copy, "c1")[1] == 21);
  eg_graph_destroy(copy);
  eg_arrays_deinit(&arrays);
  remove_files();
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  write_with_copies();
  static const struct {
    const char *name;
    int64_t size;
    const char *message;
  } rows[] = {{"q", 2, "has no initializer, and no value, 'q'"},
              {"w", 3, "'w' is float32[2] there, and the values given are float32[3]"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    eg_arrays arrays;
    eg_arrays_init(&arrays, eg_allocator_heap());
    add_counting(&arrays, rows[i].name, 1, &rows[i].size, 0);
    assert_fails(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &arrays, COPY),
                 EGRAPH_E_ARGUMENT, rows[i].message);
    assert_int_not_equal(access(COPY, F_OK), 0);
    eg_arrays_deinit(&arrays);
  }
  eg_arrays none;
  eg_arrays_init(&none, eg_allocator_heap());
  assert_ok(eg_file_write(MODEL, "no model", 8));
  assert_fails(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &none, COPY),
               EGRAPH_E_PARSE, "this is no ONNX model");
  remove_files();
  assert_fails(eg_onnx_replace_weights(eg_allocator_heap(), MODEL, &none, COPY),
               EGRAPH_E_IO, MODEL);
  eg_arrays_deinit(&none);
}

static egraph_status replace(egraph_allocator alloc, void *user) {
  return eg_onnx_replace_weights(alloc, MODEL, user, COPY);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  write_with_copies();
  eg_arrays arrays;
  eg_arrays_init(&arrays, eg_allocator_heap());
  add_counting(&arrays, "c1", 1, (int64_t[]){2}, 20);
  add_counting(&arrays, "w", 1, (int64_t[]){2}, 30);
  test_every_allocation_failing(replace, &arrays);
  eg_arrays_deinit(&arrays);
  remove_files();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_replaced_and_all_else_stays),
      cmocka_unit_test(data_beside_the_model_comes_along),
      cmocka_unit_test(copies_of_initializers_become_constants),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
