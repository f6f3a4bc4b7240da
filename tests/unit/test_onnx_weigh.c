// Bytes of nodes that the table does not know: of foreign types, and of what loops and
// branches compute.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx.h"
#include "pcg/graph/graph_copy.h"
#include "tests/unit/onnx_kit.h"

static onnx_kit model, first, second;
static eg_graph *graph;

// Where nothing else is said: x is float32[2,4], 32 bytes, c is a condition of 1 byte.
enum { X = 32, RECORD_LESS = 1 };

static void begin(int64_t opset) {
  kit_begin(&model, opset);
  kit_begin(&first, opset);
  kit_begin(&second, opset);
  kit_input(&model, "x", "float32[2,4]");
}

static void put_graph(Onnx__NodeProto *node, const char *name, onnx_kit *graph_kit) {
  kit_attr(&model, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
      &graph_kit->graph;
}

static void import_model(void) {
  assert_ok(kit_import(&model, NULL, &graph));
  assert_ok(eg_graph_check(graph));
}

static void end(void) {
  eg_graph_destroy(graph);
  kit_end(&model);
  kit_end(&first);
  kit_end(&second);
}

static eg_opaque_estimate estimate_of(const eg_graph *of, const char *op_type) {
  for (uint32_t n = 0; n < eg_graph_node_count(of); n++)
    if (eg_graph_node_at(of, (eg_graph_node){n}).attrs->op == EG_OP_OPAQUE &&
        strcmp(eg_graph_opaque_type(of, (eg_graph_node){n}), op_type) == 0)
      return eg_graph_opaque_estimate(of, (eg_graph_node){n});
  fail_msg("there is no %s", op_type);
  return (eg_opaque_estimate){.bytes = 0};
}

/// Bytes are whole numbers.
static void assert_bytes(double bytes, double wanted) {
  assert_int_equal((int64_t)bytes, (int64_t)wanted);
}

static void expect_bytes(const char *op_type, double bytes) {
  const eg_opaque_estimate estimate = estimate_of(graph, op_type);
  assert_bytes(estimate.bytes, bytes);
  assert_int_equal(estimate.unsized, 0);
  assert_null(estimate.unsized_value);
  assert_int_equal(estimate.unknown_trips, 0);
}

// ---- branches -----------------------------------------------------------------------

/// An If whose branches make y of x by one and by two nodes.
static void build_if(void) {
  kit_input(&model, "c", "bool[]");
  kit_output(&model, "y");
  (void)kit_node(&first, "Relu", "x", "r");
  kit_output(&first, "r");
  (void)kit_node(&second, "Exp", "x", "e");
  (void)kit_node(&second, "Tanh", "e", "t");
  kit_output(&second, "t");
  Onnx__NodeProto *node = kit_node(&model, "If", "c", "y");
  put_graph(node, "then_branch", &first);
  put_graph(node, "else_branch", &second);
}

static void the_dearer_branch_is_taken(void **state) {
  (void)state;
  begin(13);
  build_if();
  import_model();
  // The condition, the result, whose type only the branches tell, and two nodes.
  expect_bytes("If", RECORD_LESS + 1 + X + 4 * X);
  eg_graph *copy;
  assert_ok(eg_graph_pruned(graph, &copy));
  assert_bytes(estimate_of(copy, "If").bytes, RECORD_LESS + 1 + X + 4 * X);
  eg_graph_destroy(copy);
  end();
}

static void texts_are_weighed_as_files(void **state) {
  (void)state;
  eg_text text;
  begin(13);
  build_if();
  import_model();
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_graph_print(graph, &text));
  eg_graph_destroy(graph);
  assert_ok(eg_graph_parse(NULL, "text", eg_text_of(&text), text.chars.len, &graph));
  assert_ok(eg_onnx_weigh(graph));
  expect_bytes("If", RECORD_LESS + 1 + X + 4 * X);
  eg_text_deinit(&text);
  end();
}

/// Data of a graph's own weights is read in every run, as outside.
static void weights_within_are_read(void **state) {
  static const float square[16] = {1};
  static const float large[4 * 32] = {1};
  (void)state;
  begin(13);
  kit_input(&model, "c", "bool[]");
  kit_output(&model, "y");
  (void)kit_weight(&model, "w", "float32[32,4]", large);
  (void)kit_weight(&first, "square", "float32[4,4]", square);
  (void)kit_node(&first, "MatMul", "x,square", "m");
  kit_output(&first, "m");
  (void)kit_weight(&second, "large", "float32[4,32]", large);
  (void)kit_node(&second, "MatMul", "x,large", "n");
  (void)kit_node(&second, "MatMul", "n,w", "m");
  kit_output(&second, "m");
  Onnx__NodeProto *node = kit_node(&model, "If", "c", "y");
  put_graph(node, "then_branch", &first);
  put_graph(node, "else_branch", &second);
  import_model();
  const double wide = 4.0 * 2 * 32, weights = 4.0 * 4 * 32;
  expect_bytes("If", RECORD_LESS + 1 + X + (X + weights + wide) + (wide + weights + X));
  end();
}

static void graphs_that_cannot_be_read_are_of_unknown_size(void **state) {
  (void)state;
  begin(13);
  build_if();
  (void)kit_node(&first, "MatMul", "x,x", "wrong"); // 4 is not 2
  kit_output(&first, "wrong");
  import_model();
  const eg_opaque_estimate estimate = estimate_of(graph, "If");
  assert_bytes(estimate.bytes, RECORD_LESS + 1 + 4 * X);
  assert_int_equal(estimate.unsized, 3); // y, and two outputs of the first branch
  assert_string_equal(estimate.unsized_value, "y");
  end();
}

// ---- loops --------------------------------------------------------------------------

/// A body that computes Tanh of its state; it goes on while `condition`.
static void build_body(const char *condition_op) {
  (void)kit_input(&first, "i", NULL);
  (void)kit_input(&first, "go", NULL);
  (void)kit_input(&first, "s", NULL);
  (void)kit_node(&first, condition_op, "go", "on");
  (void)kit_node(&first, "Tanh", "s", "t");
  kit_output(&first, "on");
  kit_output(&first, "t");
}

static Onnx__NodeProto *add_loop(const char *operands, const char *results) {
  Onnx__NodeProto *node = kit_node(&model, "Loop", operands, results);
  put_graph(node, "body", &first);
  kit_output(&model, "y");
  return node;
}

/// A limit of 5,000 trips: too many to be written out.
static void add_limit(int64_t limit) { (void)kit_weight(&model, "n", "int64[]", &limit); }

static void trips_that_are_known_are_counted(void **state) {
  (void)state;
  begin(13);
  build_body("Identity");
  kit_output(&first, "s"); // rows of 32 bytes: 5,000 are stacked
  add_limit(5000);
  (void)add_loop("n,,x", "y,z");
  kit_output(&model, "z");
  import_model();
  // The limit, the state as it enters and leaves, the stack; a node in each trip.
  expect_bytes("Loop", RECORD_LESS + 8 + X + (X + 5000.0 * X) + 5000 * 2.0 * X);
  end();
}

static void trips_that_are_not_known_count_as_one(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    begin(13);
    build_body(i == 2 ? "Not" : "Identity");
    if (i == 3) // the state says whether it goes on
      first.graph.node[0]->op_type = kit_string_copy(&first, "Fancy");
    if (i == 0)
      kit_input(&model, "n", "int64[]");
    else
      add_limit(i == 1 ? INT64_MAX : 5000);
    if (i == 2) kit_input(&model, "c", "bool[]");
    (void)add_loop(i == 2 ? "n,c,x" : "n,,x", "y");
    import_model();
    const eg_opaque_estimate estimate = estimate_of(graph, "Loop");
    assert_true(estimate.bytes >= RECORD_LESS + 8 + X + X + 2 * X);
    assert_true(estimate.bytes <= RECORD_LESS + 9 + X + X + 3 * X);
    assert_int_equal(estimate.unknown_trips, 1);
    end();
  }
}

static void states_that_grow_are_of_unknown_size(void **state) {
  (void)state;
  begin(13);
  build_body("Identity");
  kit_int(&first, kit_node(&first, "Concat", "t,x", "grown"), "axis", 0);
  first.graph.output[1]->name = kit_string_copy(&first, "grown");
  add_limit(5000);
  (void)add_loop("n,,x", "y");
  import_model();
  const eg_opaque_estimate estimate = estimate_of(graph, "Loop");
  assert_int_equal(estimate.unsized, 2); // in the body, and what leaves
  assert_string_equal(estimate.unsized_value, "y");
  assert_bytes(estimate.bytes, RECORD_LESS + 8 + X + 5000 * (2.0 * X + 4 * X));
  end();
}

static void loops_in_branches_are_counted(void **state) {
  (void)state;
  begin(13);
  build_body("Identity");
  build_if();
  add_limit(5000);
  model.graph.node[0]->attribute[0]->g = &second.graph;
  Onnx__NodeProto *node = kit_node(&second, "Loop", "n,,t", "l");
  put_graph(node, "body", &first);
  second.graph.output[0]->name = kit_string_copy(&second, "l");
  first.graph.n_node = 0, first.graph.n_output = 0, first.graph.n_input = 0;
  build_body("Identity");
  import_model();
  expect_bytes("If",
               RECORD_LESS + 1 + X + 4 * X + (RECORD_LESS + 8 + X + X + 5000 * 2.0 * X));
  end();
}

static void scans_run_once_for_each_row(void **state) {
  (void)state;
  begin(13);
  kit_input(&model, "s", "float32[2]");
  (void)kit_input(&first, "before", NULL);
  (void)kit_input(&first, "row", NULL);
  (void)kit_node(&first, "Add", "before,row", "after");
  kit_output(&first, "after");
  kit_output(&first, "after"); // the same once more, as a row
  Onnx__NodeProto *node = kit_node(&model, "Scan", "s,x", "y,z");
  put_graph(node, "body", &first);
  kit_int(&model, node, "num_scan_inputs", 1);
  kit_ints(&model, node, "scan_input_axes", 1, (const int64_t[]){-1});
  kit_output(&model, "y");
  kit_output(&model, "z");
  import_model();
  expect_bytes("Scan", RECORD_LESS + (8 + X) + (8 + 4 * 8) + 4 * 24);
  end();
}

/// An operator of which nobody knows how often it runs its graphs.
static void graphs_of_other_operators_count_once(void **state) {
  (void)state;
  begin(13);
  (void)kit_input(&first, "row", "float32[4]");
  (void)kit_node(&first, "Exp", "row", "e");
  kit_output(&first, "e");
  Onnx__NodeProto *node = kit_node(&model, "Fancy", "x", "y");
  node->domain = kit_string_copy(&model, "com.example");
  put_graph(node, "decoder", &first);
  kit_declare(&model, "y", "float32[2,4]");
  kit_output(&model, "y");
  model.opsets[1] = &(Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
  model.opsets[1]->domain = kit_string_copy(&model, "com.example");
  model.opsets[1]->has_version = true;
  model.opsets[1]->version = 1;
  model.model.n_opset_import = 2;
  import_model();
  const eg_opaque_estimate estimate = estimate_of(graph, "Fancy");
  assert_bytes(estimate.bytes, RECORD_LESS + 2 * X + 32);
  assert_int_equal(estimate.unknown_trips, 1);
  end();
}

// ---- foreign types ------------------------------------------------------------------

static void sizes_of_foreign_types_are_known(void **state) {
  static const struct {
    int element;
    double bytes; // of 2 x 5 elements; below 0: not known
  } cases[] = {{ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FN, 10},
               {ONNX__TENSOR_PROTO__DATA_TYPE__INT4, 5},
               {ONNX__TENSOR_PROTO__DATA_TYPE__UINT2, 3},
               {ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64, 80},
               {ONNX__TENSOR_PROTO__DATA_TYPE__STRING, -1}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin(13);
    kit_input(&model, "a", "float32[2,5]")->type->tensor_type->elem_type =
        cases[i].element;
    kit_declare(&model, "y", "float32[2,5]");
    model.graph.value_info[0]->type->tensor_type->elem_type = cases[i].element;
    (void)kit_node(&model, "Fancy", "a", "y");
    kit_output(&model, "y");
    import_model();
    const eg_opaque_estimate leaf = estimate_of(graph, EG_OPAQUE_LEAF "Input"),
                             estimate = estimate_of(graph, "Fancy");
    size_t record;
    (void)eg_graph_opaque_record(graph, (eg_graph_node){1}, &record);
    bool is_known = cases[i].bytes >= 0;
    assert_bytes(leaf.bytes, 0);
    assert_int_equal(leaf.unsized, !is_known);
    assert_int_equal(estimate.unsized, !is_known);
    assert_bytes(estimate.bytes,
                 RECORD_LESS + (double)record + (is_known ? 2 * cases[i].bytes : 0));
    end();
  }
}

static egraph_status import_once(egraph_allocator alloc, void *user) {
  eg_graph *made;
  (void)user;
  EG_TRY(kit_import(&model, &alloc, &made));
  eg_graph_destroy(made);
  return EGRAPH_OK;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  begin(13);
  build_body("Identity");
  add_limit(5000);
  (void)add_loop("n,,x", "y");
  kit_input(&model, "c", "bool[]");
  (void)kit_node(&second, "Mul", "x,y", "m");
  kit_output(&second, "m");
  Onnx__NodeProto *node = kit_node(&model, "If", "c", "z");
  put_graph(node, "then_branch", &second);
  put_graph(node, "else_branch", &second);
  kit_output(&model, "z");
  test_every_allocation_failing(import_once, NULL);
  import_model();
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_dearer_branch_is_taken),
      cmocka_unit_test(texts_are_weighed_as_files),
      cmocka_unit_test(weights_within_are_read),
      cmocka_unit_test(graphs_that_cannot_be_read_are_of_unknown_size),
      cmocka_unit_test(trips_that_are_known_are_counted),
      cmocka_unit_test(trips_that_are_not_known_count_as_one),
      cmocka_unit_test(states_that_grow_are_of_unknown_size),
      cmocka_unit_test(loops_in_branches_are_counted),
      cmocka_unit_test(scans_run_once_for_each_row),
      cmocka_unit_test(graphs_of_other_operators_count_once),
      cmocka_unit_test(sizes_of_foreign_types_are_known),
      cmocka_unit_test(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
