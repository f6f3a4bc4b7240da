// Public functions of graphs: building, asking, reading, writing, and every way to get
// them wrong.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/api_kit.h"

// ---- names and tensors -----------------------------------------------------------

/// Of symbolic dimensions.
static const egraph_load_options one = {.size = sizeof one, .batch = 1};

static void every_status_and_element_type_has_its_name(void **state) {
  (void)state;
#define CHECK(id, name) assert_string_equal(egraph_status_name(id), name);
  EGRAPH_STATUS_LIST(CHECK)
#undef CHECK
  assert_non_null(egraph_status_name((egraph_status)99));
#define CHECK(id, name, bytes, onnx)                                                     \
  do {                                                                                   \
    egraph_tensor three = {.dtype = id, .rank = 1, .dims = {3}};                         \
    assert_string_equal(egraph_dtype_name(id), name);                                    \
    assert_int_equal(egraph_tensor_bytes(&three), 3 * (bytes));                          \
  } while (0);
  EGRAPH_DTYPE_LIST(CHECK)
#undef CHECK
  assert_string_equal(egraph_version(), "0.2.0");
}

static void bytes_of_an_impossible_tensor_are_zero(void **state) {
  (void)state;
  egraph_tensor negative = {.dtype = EGRAPH_FLOAT32, .rank = 2, .dims = {2, -1}};
  egraph_tensor huge = {
      .dtype = EGRAPH_FLOAT64, .rank = 3, .dims = {1 << 30, 1 << 30, 1 << 30}};
  egraph_tensor deep = {.dtype = EGRAPH_FLOAT32, .rank = EGRAPH_MAX_RANK + 1};
  egraph_tensor unknown = {.dtype = EGRAPH_DTYPE_COUNT, .rank = 0};
  egraph_tensor scalar = {.dtype = EGRAPH_FLOAT64, .rank = 0};
  assert_int_equal(egraph_tensor_bytes(&negative), 0);
  assert_int_equal(egraph_tensor_bytes(&huge), 0);
  assert_int_equal(egraph_tensor_bytes(&deep), 0);
  assert_int_equal(egraph_tensor_bytes(&unknown), 0);
  assert_int_equal(egraph_tensor_bytes(&scalar), 8);
}

static void the_operator_table_is_listed(void **state) {
  api_kit *kit = *state;
  char *text;
  assert_ok(egraph_operators_text(&kit->alloc, &text));
  assert_non_null(strstr(text, "conv "));
  assert_non_null(strstr(text, ":strides"));
  assert_non_null(strstr(text, "; ONNX Relu"));
  assert_null(strstr(text, "opaque"));
  egraph_string_free(&kit->alloc, text);
  egraph_string_free(&kit->alloc, NULL);
}

// ---- building --------------------------------------------------------------------

static void a_graph_says_what_it_holds(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_graph_info info = egraph_graph_info_of(graph);
  assert_int_equal(info.nodes, 2);
  assert_int_equal(info.opaque_nodes, 0);
  assert_int_equal(info.inputs, 1);
  assert_int_equal(info.outputs, 1);
  assert_int_equal(info.weights, 1);
  assert_int_equal(info.absent_weights, 1);
  assert_int_equal(info.weight_bytes, 8 * 6 * 4);
  assert_true(info.flops >= 2 * 4 * 8 * 6);
  const char *name;
  egraph_tensor type;
  assert_ok(egraph_graph_input(graph, 0, &name, &type));
  assert_string_equal(name, "x");
  assert_int_equal(type.rank, 2);
  assert_int_equal(type.dims[1], 8);
  assert_null(type.data);
  assert_ok(egraph_graph_output(graph, 0, &name, &type));
  assert_string_equal(name, "y");
  assert_int_equal(type.dims[1], 6);
  assert_fails(egraph_graph_input(graph, 1, &name, &type), EGRAPH_E_ARGUMENT,
               "there is no input 1");
  assert_fails(egraph_graph_output(graph, 7, &name, &type), EGRAPH_E_ARGUMENT,
               "there is no output 7");
  egraph_graph_destroy(graph);
  egraph_graph_destroy(NULL);
}

static void a_null_allocator_means_the_heap(void **state) {
  (void)state;
  egraph_graph *graph = api_layer(NULL);
  char *text;
  assert_ok(egraph_graph_text(NULL, graph, &text));
  assert_non_null(strstr(text, "(relu "));
  egraph_string_free(NULL, text);
  egraph_graph_destroy(graph);
}

static void impossible_tensors_are_refused(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph;
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  egraph_value v = {77};
  int64_t dims[EGRAPH_MAX_RANK + 1] = {-1, 2};
  assert_fails(egraph_graph_add_input(graph, "a", EGRAPH_FLOAT32, 13, dims, &v),
               EGRAPH_E_ARGUMENT, "rank 13 exceeds the limit of 12");
  assert_fails(egraph_graph_add_input(graph, "a", (egraph_dtype)40, 1, dims, &v),
               EGRAPH_E_ARGUMENT, "unknown element type 40");
  assert_fails(egraph_graph_add_input(graph, "a", EGRAPH_FLOAT32, 2, dims, &v),
               EGRAPH_E_TYPE, "-1");
  assert_fails(egraph_graph_add_input(graph, "a", EGRAPH_FLOAT32, 2, NULL, &v),
               EGRAPH_E_ARGUMENT, "dims is NULL");
  dims[0] = dims[1] = INT64_MAX;
  assert_fails(egraph_graph_add_weight(graph, "w", EGRAPH_FLOAT64, 2, dims, dims, &v),
               EGRAPH_E_TYPE, "");
  assert_int_equal(v.id, 77);
  assert_ok(egraph_graph_add_input(graph, "a", EGRAPH_FLOAT32, 0, NULL, &v));
  assert_fails(egraph_graph_add_input(graph, "a", EGRAPH_FLOAT32, 0, NULL, &v),
               EGRAPH_E_ARGUMENT, "'a' is taken");
  egraph_graph_destroy(graph);
}

static void operators_are_checked_as_they_are_added(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_value x = {0}, foreign = {1000}, out = {77};
  struct {
    const char *op, *attributes;
    egraph_value inputs[2];
    uint32_t count;
    egraph_status code;
    const char *part;
  } cases[] = {
      {"rellu", NULL, {x}, 1, EGRAPH_E_ARGUMENT, "did you mean 'relu'?"},
      {"input", NULL, {x}, 0, EGRAPH_E_ARGUMENT, "no node of a graph"},
      {"relu", NULL, {foreign}, 1, EGRAPH_E_ARGUMENT, "operand 0 is not a value"},
      {"relu", NULL, {x, x}, 2, EGRAPH_E_TYPE, "relu does not take 2 operands"},
      {"matmul", NULL, {x, x}, 2, EGRAPH_E_TYPE, "matmul"},
      {"softmax", ":axes 1", {x}, 1, EGRAPH_E_PARSE, "did you mean ':axis'?"},
      {"softmax", "axis 1", {x}, 1, EGRAPH_E_PARSE, "'axis' is not an attribute"},
      {"softmax", "(:axis 1)", {x}, 1, EGRAPH_E_PARSE, "'(...)' is not an attribute"},
      {"softmax", ":axis", {x}, 1, EGRAPH_E_PARSE, ":axis has no value"},
      {"softmax", ":axis one", {x}, 1, EGRAPH_E_PARSE, "axis"},
      {"softmax", ":axis (", {x}, 1, EGRAPH_E_PARSE, "attributes"},
      {"softmax", ":axis 5", {x}, 1, EGRAPH_E_TYPE, "softmax"},
      {"conv", NULL, {x, x}, 2, EGRAPH_E_PARSE, "conv needs the attribute :strides"},
      {"conv",
       ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
       {x, x},
       2,
       EGRAPH_E_TYPE,
       "conv"},
      {"transpose", ":perm [0 0]", {x}, 1, EGRAPH_E_TYPE, "transpose"},
      {"reshape", ":shape [5 5]", {x}, 1, EGRAPH_E_TYPE, "reshape"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_fails(egraph_graph_add(graph, "bad", cases[i].op, cases[i].attributes,
                                  cases[i].inputs, cases[i].count, &out),
                 cases[i].code, cases[i].part);
  assert_int_equal(out.id, 77);
  assert_int_equal(egraph_graph_info_of(graph).nodes, 2);
  assert_fails(egraph_graph_add_output(graph, "z", foreign), EGRAPH_E_ARGUMENT,
               "output 'z' is not a value");
  assert_fails(egraph_graph_add_output(graph, NULL, foreign), EGRAPH_E_ARGUMENT,
               "is not a value");
  assert_fails(egraph_graph_add_output(graph, "y", x), EGRAPH_E_ARGUMENT,
               "two outputs named 'y'");
  egraph_graph_destroy(graph);
}

static void an_operator_with_several_results_fills_them_all(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph;
  egraph_value x, parts[3] = {{0}};
  assert_ok(egraph_graph_create(&kit->alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){2, 6}, &x));
  assert_ok(
      egraph_graph_add(graph, NULL, "split", ":axis 1 :sizes [1 2 3]", &x, 1, parts));
  for (uint32_t i = 0; i < 3; i++)
    assert_ok(egraph_graph_add_output(graph, NULL, parts[i]));
  const char *name;
  egraph_tensor type;
  for (uint32_t i = 0; i < 3; i++) {
    assert_ok(egraph_graph_output(graph, i, &name, &type));
    assert_int_equal(type.dims[1], i + 1);
  }
  egraph_graph_destroy(graph);
}

// ---- files -----------------------------------------------------------------------

static void round_trip(api_kit *kit, const char *path) {
  float data[48];
  for (int i = 0; i < 48; i++)
    data[i] = (float)i / 7.0f;
  egraph_graph *graph = api_layer(&kit->alloc), *again;
  egraph_value w;
  assert_ok(egraph_graph_add_weight(graph, "unused", EGRAPH_FLOAT32, 2, (int64_t[]){8, 6},
                                    data, &w));
  assert_ok(
      egraph_graph_add(graph, NULL, "matmul", NULL, (egraph_value[]){{0}, w}, 2, &w));
  assert_ok(egraph_graph_add_output(graph, "z", w));
  (void)snprintf(kit->path, sizeof kit->path, "%s", path);
  assert_ok(egraph_graph_save(graph, path));
  assert_ok(egraph_graph_load(&kit->alloc, path, NULL, &again));
  egraph_graph_info a = egraph_graph_info_of(graph), b = egraph_graph_info_of(again);
  assert_int_equal(a.nodes, b.nodes);
  assert_int_equal(a.weights, b.weights);
  assert_int_equal(a.weight_bytes, b.weight_bytes);
  assert_int_equal(a.absent_weights, b.absent_weights);
  egraph_comparison c;
  egraph_compare_options options = {.size = sizeof options, .repeats = 1, .seed = 3};
  assert_ok(egraph_compare(&kit->alloc, graph, again, &options, &c));
  assert_true(c.max_error == 0);
  egraph_graph_destroy(again);
  egraph_graph_destroy(graph);
}

static void text_files_hold_the_graph(void **state) {
  round_trip(*state, "test_api_graph.egraph");
}

static void onnx_files_hold_the_graph(void **state) {
  round_trip(*state, "test_api_graph.onnx");
}

static void a_text_that_is_printed_reads_back_as_the_same_text(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc), *again;
  char *text, *second;
  assert_ok(egraph_graph_text(&kit->alloc, graph, &text));
  (void)snprintf(kit->path, sizeof kit->path, "test_api_text.egraph");
  api_write_file(kit->path, text, strlen(text));
  assert_ok(egraph_graph_load(&kit->alloc, kit->path, NULL, &again));
  assert_ok(egraph_graph_text(&kit->alloc, again, &second));
  assert_string_equal(text, second);
  egraph_string_free(&kit->alloc, text);
  egraph_string_free(&kit->alloc, second);
  egraph_graph_destroy(again);
  egraph_graph_destroy(graph);
}

static void files_that_are_no_models_are_refused(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = NULL;
  (void)snprintf(kit->path, sizeof kit->path, "test_api_bad.egraph");
  assert_fails(egraph_graph_load(&kit->alloc, "absent.onnx", &one, &graph), EGRAPH_E_IO,
               "absent.onnx");
  assert_fails(egraph_graph_load(&kit->alloc, "absent.egraph", &one, &graph), EGRAPH_E_IO,
               "absent.egraph");
  assert_fails(egraph_graph_load(&kit->alloc, ".", &one, &graph), EGRAPH_E_IO, ".");
  struct {
    const char *text;
    egraph_status code;
    const char *part;
  } cases[] = {
      {"", EGRAPH_E_PARSE, "test_api_bad.egraph:"},
      {"(egraph-graph 9)\n", EGRAPH_E_PARSE, "test_api_bad.egraph:1:"},
      {"(egraph-graph 1)\n(let y (relu x))\n(output y)\n", EGRAPH_E_PARSE, ":2:"},
      {"(egraph-graph 1)\n(input x \"float32[2]\")\n(let y (rellu x))\n(output y)\n",
       EGRAPH_E_PARSE, ":3:"},
      {"(egraph-graph 1)\n(input x \"float32[2,\")\n(output x)\n", EGRAPH_E_PARSE, ":2:"},
      {"(egraph-graph 1)\n(input x \"float32[2,3]\")\n(let y (matmul x x))\n(output y)\n",
       EGRAPH_E_TYPE, ":3:"},
      {"(egraph-graph 1)\n(let a (relu b))\n(let b (relu a))\n(output a)\n",
       EGRAPH_E_PARSE, ":2:"},
      {"(egraph-graph 1)\n(input x \"float32[2]\"\n", EGRAPH_E_PARSE, ":"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    api_write_file(kit->path, cases[i].text, strlen(cases[i].text));
    assert_fails(egraph_graph_load(&kit->alloc, kit->path, &one, &graph), cases[i].code,
                 cases[i].part);
  }
  (void)remove(kit->path);
  (void)snprintf(kit->path, sizeof kit->path, "test_api_bad.onnx");
  api_write_file(kit->path, "no model", 8);
  assert_fails(egraph_graph_load(&kit->alloc, kit->path, &one, &graph), EGRAPH_E_PARSE,
               "test_api_bad.onnx");
  api_write_file(kit->path, "", 0);
  assert_fails(egraph_graph_load(&kit->alloc, kit->path, &one, &graph), EGRAPH_E_PARSE,
               "test_api_bad.onnx");
  assert_null(graph);
}

/// The layer's input is 4 x 8. An ONNX model gets another batch where all of it follows;
/// the text form has its sizes.
static void a_batch_is_changed_in_onnx_only(void **state) {
  api_kit *kit = *state;
  static const char *const names[] = {"test_api_batch.onnx", "test_api_batch.egraph"};
  for (int i = 0; i < 2; i++) {
    egraph_graph *graph = api_layer(&kit->alloc);
    const char *name;
    egraph_tensor type;
    (void)snprintf(kit->path, sizeof kit->path, "%s", names[i]);
    assert_ok(egraph_graph_save(graph, kit->path));
    egraph_graph_destroy(graph);
    assert_ok(egraph_graph_load(
        &kit->alloc, kit->path,
        &(egraph_load_options){.size = sizeof(egraph_load_options), .batch = 4}, &graph));
    egraph_graph_destroy(graph);
    graph = NULL;
    const egraph_load_options eight = {.size = sizeof eight, .batch = 8};
    if (i == 0) {
      assert_ok(egraph_graph_load(&kit->alloc, kit->path, &eight, &graph));
      assert_ok(egraph_graph_output(graph, 0, &name, &type));
      assert_int_equal(type.dims[0], 8);
      egraph_graph_destroy(graph);
    } else {
      assert_fails(egraph_graph_load(&kit->alloc, kit->path, &eight, &graph),
                   EGRAPH_E_ARGUMENT, "the text form of a graph has all its sizes");
      assert_null(graph);
    }
    (void)remove(kit->path);
  }
}

static void every_prefix_of_an_onnx_file_is_refused(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  (void)snprintf(kit->path, sizeof kit->path, "test_api_prefix.onnx");
  assert_ok(egraph_graph_save(graph, kit->path));
  egraph_graph_destroy(graph);
  size_t size;
  char *data = api_read_file(kit->path, &size);
  size_t loaded = 0;
  for (size_t length = 0; length < size; length++) {
    api_write_file(kit->path, data, length);
    graph = NULL;
    if (egraph_graph_load(&kit->alloc, kit->path, &one, &graph) == EGRAPH_OK)
      loaded++; // cut between two fields of the model, it is a model still
    else
      assert_non_null(strstr(egraph_last_error(), "test_api_prefix.onnx"));
    egraph_graph_destroy(graph);
  }
  assert_true(loaded < size / 10);
  free(data);
}

static void a_path_that_cannot_be_written_leaves_nothing(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  assert_fails(egraph_graph_save(graph, "no/such/folder/a.onnx"), EGRAPH_E_IO,
               "no/such/folder/a.onnx");
  assert_fails(egraph_graph_save(graph, "no/such/folder/a.egraph"), EGRAPH_E_IO,
               "no/such/folder/a.egraph");
  egraph_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_and_element_type_has_its_name),
      cmocka_unit_test(bytes_of_an_impossible_tensor_are_zero),
      api_test(the_operator_table_is_listed),
      api_test(a_graph_says_what_it_holds),
      api_test(a_null_allocator_means_the_heap),
      api_test(impossible_tensors_are_refused),
      api_test(operators_are_checked_as_they_are_added),
      api_test(an_operator_with_several_results_fills_them_all),
      api_test(text_files_hold_the_graph),
      api_test(onnx_files_hold_the_graph),
      api_test(a_text_that_is_printed_reads_back_as_the_same_text),
      api_test(files_that_are_no_models_are_refused),
      api_test(a_batch_is_changed_in_onnx_only),
      api_test(every_prefix_of_an_onnx_file_is_refused),
      api_test(a_path_that_cannot_be_written_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
