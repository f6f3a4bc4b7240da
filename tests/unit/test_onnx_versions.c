// The operator set of a written model: every node that is kept means what it meant, every
// other one has the form of the set.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/sets/versions.h"
#include "onnx/write/writer.h"
#include "tests/unit/onnx_kit.h"

// ---- the table ------------------------------------------------------------------------

static void expect_sets(const char *op, int64_t opset, int64_t first, int64_t last) {
  eg_onnx_sets sets = eg_onnx_sets_of(op, opset);
  if (sets.first != first || sets.last != last)
    fail_msg("%s of set %d: %d to %d", op, (int)opset, (int)sets.first, (int)sets.last);
}

static void meanings_have_their_sets(void **state) {
  (void)state;
  const int64_t newest = eg_onnx_newest_opset();
  assert_true(newest >= 23);
  expect_sets("Hardmax", 11, 11, 12); // the default axis changed
  expect_sets("Hardmax", 13, 13, newest);
  expect_sets("Relu", 6, 6, newest); // more types only
  expect_sets("Relu", 13, 13, newest);
  expect_sets("RoiAlign", 10, 10, 15);
  expect_sets("GroupNormalization", 18, 18, 20);
  expect_sets("Upsample", 9, 9, 9); // then deprecated
  expect_sets("Fancy", 9, 1, newest);
}

static const char *fault(const char *op, size_t inputs, const char *attribute, int dtype,
                         int64_t opset) {
  static char x[] = "x";
  char *names[] = {x, x, x, x};
  int dtypes[] = {dtype, 0, 0, 0};
  Onnx__AttributeProto attr = ONNX__ATTRIBUTE_PROTO__INIT, *attrs[] = {&attr};
  Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
  node.op_type = (char *)(uintptr_t)op;
  node.n_input = inputs;
  node.input = names;
  attr.name = (char *)(uintptr_t)attribute;
  node.n_attribute = attribute != NULL;
  node.attribute = attrs;
  return eg_onnx_fault(&node, dtypes, opset);
}

static void a_set_allows_what_it_has(void **state) {
  (void)state;
  assert_null(fault("ReduceMean", 1, "axes", 1, 17));
  assert_non_null(fault("ReduceMean", 1, "axes", 1, 18));
  assert_null(fault("ReduceMean", 2, "keepdims", 1, 18));
  assert_non_null(fault("ReduceMean", 2, NULL, 1, 17));
  assert_non_null(fault("LayerNormalization", 2, NULL, 1, 16));
  assert_null(fault("LayerNormalization", 2, NULL, 1, 17));
  assert_non_null(fault("Relu", 1, NULL, eg_dtype_onnx(EGRAPH_INT32), 13));
  assert_null(fault("Relu", 1, NULL, eg_dtype_onnx(EGRAPH_INT32), 14));
  assert_non_null(fault("Relu", 1, NULL, eg_dtype_onnx(EGRAPH_UINT8), 14));
  assert_non_null(fault("Upsample", 2, NULL, 1, 10));
  assert_null(fault("Concat", 4, "axis", 1, 13));
  assert_null(fault("Fancy", 4, "axis", 1, 13));
}

// ---- models ---------------------------------------------------------------------------

/// Imports the kit's model and writes it; *out is to be freed with free_unpacked.
static Onnx__ModelProto *written(onnx_kit *kit) {
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  assert_ok(kit_import(kit, NULL, &graph));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  eg_graph_destroy(graph);
  kit_end(kit);
  return model;
}

static const Onnx__NodeProto *node_of(const Onnx__ModelProto *model, const char *op) {
  for (size_t i = 0; i < model->graph->n_node; i++)
    if (strcmp(model->graph->node[i]->op_type, op) == 0) return model->graph->node[i];
  fail_msg("there is no %s", op);
  return NULL;
}

static int64_t opset_of(const Onnx__ModelProto *model) {
  return model->opset_import[0]->version;
}

/// x: a sum over axis 1 and a node that is kept, both outputs.
static void begin_with_sum(onnx_kit *kit, int64_t opset, const char *kept,
                           const char *operands) {
  kit_begin(kit, opset);
  (void)kit_input(kit, "x", "float32[2,3]");
  Onnx__NodeProto *sum = kit_node(kit, "ReduceMean", "x", "s");
  kit_ints(kit, sum, "axes", 1, (const int64_t[]){1});
  (void)kit_node(kit, kept, operands, "y");
  kit_output(kit, "s");
  kit_output(kit, "y");
}

static void old_nodes_keep_old_sets(void **state) {
  (void)state;
  onnx_kit kit;
  begin_with_sum(&kit, 11, "Hardmax", "t");
  (void)kit_input(&kit, "t", NULL); // without a type, the node is kept
  Onnx__ModelProto *model = written(&kit);
  assert_int_equal(opset_of(model), 12); // the nearest to the usual set
  const Onnx__NodeProto *sum = node_of(model, "ReduceMean");
  assert_int_equal(sum->n_input, 1);
  assert_string_equal(sum->attribute[0]->name, "axes");
  onnx__model_proto__free_unpacked(model, NULL);
}

static void new_nodes_want_new_sets(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 20);
  (void)kit_input(&kit, "x", "float32[2,3]");
  kit_vector(&kit, "axes", 1, (const int64_t[]){1});
  (void)kit_node(&kit, "ReduceMean", "x,axes", "s");
  (void)kit_node(&kit, "StringConcat", "t,t", "y");
  (void)kit_input(&kit, "t", NULL);
  kit_output(&kit, "s");
  kit_output(&kit, "y");
  Onnx__ModelProto *model = written(&kit);
  assert_int_equal(opset_of(model), 20);
  assert_int_equal(model->ir_version, 9);
  assert_int_equal(node_of(model, "ReduceMean")->n_input, 2);
  onnx__model_proto__free_unpacked(model, NULL);
}

static void other_models_have_the_usual_set(void **state) {
  (void)state;
  onnx_kit kit;
  begin_with_sum(&kit, 17, "Relu", "x");
  Onnx__ModelProto *model = written(&kit);
  assert_int_equal(opset_of(model), 13);
  onnx__model_proto__free_unpacked(model, NULL);
  kit_begin(&kit, 17);
  (void)kit_input(&kit, "x", "int32[2,3]");
  (void)kit_node(&kit, "Relu", "x", "y");
  kit_output(&kit, "y");
  model = written(&kit);
  assert_int_equal(opset_of(model), 14); // the first with integers
  onnx__model_proto__free_unpacked(model, NULL);
}

static void begin_with_swish(onnx_kit *kit) {
  kit_begin(kit, 24);
  (void)kit_input(kit, "x", "float32[2,3]");
  kit_float(kit, kit_node(kit, "Swish", "x", "s"), "alpha", 1.5F);
  kit_output(kit, "s");
}

static void young_operators_are_formulas_in_older_sets(void **state) {
  (void)state;
  static const char *const formula[] = {"Constant", "Mul", "Sigmoid", "Mul"};
  onnx_kit kit;
  begin_with_swish(&kit);
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(let s (swish :alpha 1.5 x))\n"
                   "(output s)\n");
  begin_with_swish(&kit);
  Onnx__ModelProto *model = written(&kit);
  assert_int_equal(opset_of(model), 13);
  assert_int_equal(model->n_functions, 1);
  assert_int_equal(model->functions[0]->n_node, 4);
  for (size_t i = 0; i < 4; i++)
    assert_string_equal(model->functions[0]->node[i]->op_type, formula[i]);
  assert_non_null(node_of(model, "swish.1"));
  onnx__model_proto__free_unpacked(model, NULL);
  begin_with_swish(&kit);
  (void)kit_node(&kit, "TensorScatter", "t,t", "y");
  (void)kit_input(&kit, "t", NULL); // without a type, the node is kept
  kit_output(&kit, "y");
  model = written(&kit);
  assert_int_equal(opset_of(model), 24);
  assert_int_equal(model->n_functions, 0);
  assert_true(node_of(model, "Swish")->attribute[0]->f == 1.5F);
  onnx__model_proto__free_unpacked(model, NULL);
}

static bool is_loaded(const char *op, int dtype, int64_t opset) {
  static char x[] = "x";
  char *names[] = {x, x, x};
  const int dtypes[] = {op[0] == 'W' ? eg_dtype_onnx(EGRAPH_BOOL) : dtype, dtype, dtype};
  Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
  node.op_type = (char *)(uintptr_t)op;
  node.n_input = 3;
  node.input = names;
  return eg_onnx_is_loaded(&node, dtypes, opset);
}

/// As ONNX Runtime 1.32 loads models of one node (tools/onnx_runtime.py).
static void the_runtime_loads_what_it_has(void **state) {
  (void)state;
  const int f32 = eg_dtype_onnx(EGRAPH_FLOAT32), f64 = eg_dtype_onnx(EGRAPH_FLOAT64),
            i64 = eg_dtype_onnx(EGRAPH_INT64);
  assert_true(is_loaded("Elu", f32, 13));
  assert_false(is_loaded("Elu", f64, 13));
  assert_true(is_loaded("Elu", f64, 18)); // by the body that the standard has there
  assert_false(is_loaded("Relu", i64, 14));
  assert_true(is_loaded("Where", f32, 13)); // its second operand
  assert_false(is_loaded("Where", eg_dtype_onnx(EGRAPH_INT16), 13));
  assert_true(is_loaded("Fancy", f32, 13));
  assert_true(is_loaded("Elu", 0, 13));
}

/// Integers are loaded in the one set in which ONNX Runtime expands the standard's body.
static void operators_are_loaded_in_sets(void **state) {
  (void)state;
  assert_true(eg_onnx_is_op_loaded(EG_OP_RELU, EGRAPH_INT64, (eg_onnx_sets){7, 28}));
  assert_true(eg_onnx_is_op_loaded(EG_OP_RELU, EGRAPH_INT64, (eg_onnx_sets){15, 18}));
  assert_false(eg_onnx_is_op_loaded(EG_OP_RELU, EGRAPH_INT64, (eg_onnx_sets){19, 28}));
  assert_false(eg_onnx_is_op_loaded(EG_OP_RELU, EGRAPH_INT64, (eg_onnx_sets){13, 17}));
  assert_true(eg_onnx_is_op_loaded(EG_OP_RELU, EGRAPH_FLOAT32, (eg_onnx_sets){19, 28}));
  assert_false(eg_onnx_is_op_loaded(EG_OP_ELU, EGRAPH_FLOAT64, (eg_onnx_sets){19, 21}));
  assert_true(eg_onnx_is_op_loaded(EG_OP_RMS_NORM, EGRAPH_FLOAT32, (eg_onnx_sets){7, 9}));
}

static int64_t set_of_elu(const char *type) {
  onnx_kit kit;
  kit_begin(&kit, 18);
  (void)kit_input(&kit, "x", type);
  (void)kit_node(&kit, "Elu", "x", "y");
  kit_output(&kit, "y");
  Onnx__ModelProto *model = written(&kit);
  int64_t opset = opset_of(model);
  onnx__model_proto__free_unpacked(model, NULL);
  return opset;
}

static void sets_are_chosen_that_the_runtime_loads(void **state) {
  (void)state;
  assert_int_equal(set_of_elu("float32[2]"), 13);
  assert_int_equal(set_of_elu("float64[2]"), 18);
  assert_int_equal(set_of_elu("float16[2]"), 13); // by casts that it inserts
}

/// The set of a product with this activation, and whether its function is in it.
static int64_t set_of_product(const char *type, const char *act) {
  char text[256];
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  (void)snprintf(text, sizeof text,
                 "(egraph-graph 1)\n(input x \"%s[2,2]\")\n"
                 "(let y (matmul :act %s :act_alpha 0.5 :act_beta 2.0 x x))\n(output y)",
                 type, act);
  assert_ok(eg_graph_parse(NULL, "text", text, strlen(text), &graph));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  eg_graph_destroy(graph);
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  assert_non_null(model);
  assert_int_equal(model->n_functions, 1);
  int64_t opset = opset_of(model);
  onnx__model_proto__free_unpacked(model, NULL);
  return opset;
}

/// What a function computes on the way is of an element type, too.
static void what_functions_have_within_counts(void **state) {
  (void)state;
  assert_int_equal(set_of_product("float32", "leaky-relu"), 13);
  assert_int_equal(set_of_product("float64", "leaky-relu"), 16);
  assert_int_equal(set_of_product("bfloat16", "leaky-relu"), 16);
  assert_int_equal(set_of_product("float64", "elu"), 18);
  assert_int_equal(set_of_product("float64", "hard-swish"), 18);
  assert_int_equal(set_of_product("bfloat16", "elu"), 22);
  assert_int_equal(set_of_product("bfloat16", "hard-swish"), 22);
}

static int result_type(const char *op, const int *dtype, size_t inputs, size_t result) {
  static char x[] = "x";
  char *names[] = {x, x, x};
  Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
  Onnx__AttributeProto to = ONNX__ATTRIBUTE_PROTO__INIT, *attrs[] = {&to};
  char name[] = "to";
  node.op_type = (char *)(uintptr_t)op;
  node.n_input = inputs;
  node.input = names;
  to.name = name;
  to.i = eg_dtype_onnx(EGRAPH_FLOAT16);
  node.n_attribute = 1;
  node.attribute = attrs;
  return eg_onnx_result_type(&node, dtype, result, 13);
}

static void results_have_their_element_types(void **state) {
  (void)state;
  const int f64 = eg_dtype_onnx(EGRAPH_FLOAT64), i64 = eg_dtype_onnx(EGRAPH_INT64),
            yes = eg_dtype_onnx(EGRAPH_BOOL);
  assert_int_equal(result_type("Add", (const int[]){f64, f64}, 2, 0), f64);
  assert_int_equal(result_type("Where", (const int[]){yes, f64, f64}, 3, 0), f64);
  assert_int_equal(result_type("Less", (const int[]){f64, f64}, 2, 0), yes);
  assert_int_equal(result_type("TopK", (const int[]){f64, i64}, 2, 0), f64);
  assert_int_equal(result_type("TopK", (const int[]){f64, i64}, 2, 1), i64);
  assert_int_equal(result_type("Split", (const int[]){f64}, 1, 2), f64);
  assert_int_equal(result_type("Cast", (const int[]){f64}, 1, 0),
                   eg_dtype_onnx(EGRAPH_FLOAT16));
  assert_int_equal(result_type("Loop", (const int[]){i64, yes, f64}, 3, 0), 0);
  assert_int_equal(result_type("Fancy", (const int[]){f64}, 1, 0), 0);
}

/// What a sub-graph has counts.
static void graphs_within_nodes_count(void **state) {
  (void)state;
  onnx_kit kit, branch;
  kit_begin(&branch, 11);
  (void)kit_node(&branch, "Softmax", "x", "b");
  kit_output(&branch, "b");
  kit_begin(&kit, 11);
  (void)kit_input(&kit, "x", "float32[2,3,4]");
  (void)kit_input(&kit, "c", "bool[]");
  Onnx__NodeProto *node = kit_node(&kit, "If", "c", "y");
  static const char *const names[] = {"then_branch", "else_branch"};
  for (size_t i = 0; i < 2; i++) {
    Onnx__AttributeProto *attr =
        kit_attr(&kit, node, names[i], ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    attr->g = &branch.graph;
  }
  kit_output(&kit, "y");
  Onnx__ModelProto *model = written(&kit);
  assert_true(opset_of(model) >= 11 && opset_of(model) <= 12);
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&branch);
}

/// Where no set suits all, lists that were attributes become operands.
static void kept_nodes_are_converted(void **state) {
  (void)state;
  onnx_kit kit, branch;
  const int64_t axes[] = {1};
  kit_begin(&branch, 11);
  kit_ints(&branch, kit_node(&branch, "ReduceSum", "x", "b"), "axes", 1, axes);
  kit_output(&branch, "b");
  kit_begin(&kit, 11);
  (void)kit_input(&kit, "x", "float32[2,3,4]");
  (void)kit_input(&kit, "c", "bool[]");
  (void)kit_input(&kit, "n", "int32[2]");
  Onnx__NodeProto *node = kit_node(&kit, "If", "c", "y");
  static const char *const names[] = {"then_branch", "else_branch"};
  for (size_t i = 0; i < 2; i++)
    kit_attr(&kit, node, names[i], ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
        &branch.graph;
  Onnx__NodeProto *parts = kit_node(&kit, "SplitToSequence", "x", "q");
  kit_int(&kit, parts, "axis", 1);
  (void)kit_node(&kit, "Relu", "n", "z"); // from set 14 on
  kit_output(&kit, "y");
  kit_output(&kit, "z");
  Onnx__ModelProto *model = written(&kit);
  assert_int_equal(opset_of(model), 14);
  for (size_t i = 0; i < 2; i++) {
    const Onnx__GraphProto *within = node_of(model, "If")->attribute[i]->g;
    assert_int_equal(within->n_node, 2);
    assert_string_equal(within->node[0]->op_type, "Constant");
    const Onnx__NodeProto *sum = within->node[1];
    assert_int_equal(sum->n_attribute, 0);
    assert_int_equal(sum->n_input, 2);
    assert_string_equal(sum->input[1], within->node[0]->output[0]);
  }
  onnx__model_proto__free_unpacked(model, NULL);
  kit_end(&branch);
}

static eg_onnx_sets reach(const char *op, int64_t opset) {
  return eg_onnx_reach_of(op, opset);
}

static void conversions_reach_as_far_as_they_are_known(void **state) {
  (void)state;
  assert_true(reach("ReduceSum", 11).last >= 27);
  assert_true(reach("ReduceLogSumExp", 13).last >= 27);
  assert_true(reach("Split", 11).last >= 27);
  assert_true(reach("Reshape", 13).last >= 27);
  assert_true(reach("ScatterND", 11).last >= 27);
  assert_int_equal(reach("Softmax", 11).last, 12);
  assert_int_equal(reach("ReduceSum", 13).first, 13); // none goes back
}

static void what_no_set_has_is_refused(void **state) {
  (void)state;
  onnx_kit kit, branch;
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  // The softmax of the branches means another thing from 13 on; the Relu is not
  // before 14.
  kit_begin(&branch, 11);
  (void)kit_node(&branch, "Softmax", "x", "b");
  kit_output(&branch, "b");
  kit_begin(&kit, 11);
  (void)kit_input(&kit, "x", "float32[2,3,4]");
  (void)kit_input(&kit, "c", "bool[]");
  (void)kit_input(&kit, "n", "int32[2]");
  Onnx__NodeProto *node = kit_node(&kit, "If", "c", "y");
  static const char *const names[] = {"then_branch", "else_branch"};
  for (size_t i = 0; i < 2; i++)
    kit_attr(&kit, node, names[i], ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
        &branch.graph;
  (void)kit_node(&kit, "Relu", "n", "z");
  kit_output(&kit, "y");
  kit_output(&kit, "z");
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_fails(eg_onnx_pack(graph, &bytes, &size), EGRAPH_E_UNSUPPORTED,
               "no operator set of those in which the nodes that are kept mean what they "
               "meant (11 to 12) has all other nodes: Relu of 'z' in operator set ");
  eg_graph_destroy(graph);
  kit_end(&branch);
  kit_end(&kit);
}

/// Attention on rotated queries, in a set with both operators, which a kept node wants.
static void attention_and_rope_are_operators_in_new_sets(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 24);
  (void)kit_input(&kit, "x", "float32[2,5,12]");
  (void)kit_input(&kit, "c", "float32[2,5,1]");
  kit_int(&kit, kit_node(&kit, "RotaryEmbedding", "x,c,c", "r"), "num_heads", 6);
  Onnx__NodeProto *node = kit_node(&kit, "Attention", "r,x,x", "s");
  kit_int(&kit, node, "q_num_heads", 4);
  kit_int(&kit, node, "kv_num_heads", 4);
  kit_int(&kit, node, "is_causal", 1);
  kit_float(&kit, node, "softcap", 2);
  (void)kit_node(&kit, "TensorScatter", "t,t", "y");
  (void)kit_input(&kit, "t", NULL); // without a type, the node is kept
  kit_output(&kit, "s");
  kit_output(&kit, "y");
  Onnx__ModelProto *model = written(&kit);
  assert_int_equal(model->n_functions, 0);
  assert_int_equal(node_of(model, "Attention")->n_output, 1);
  assert_int_equal(node_of(model, "RotaryEmbedding")->n_input, 3);
  onnx__model_proto__free_unpacked(model, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(meanings_have_their_sets),
      cmocka_unit_test(a_set_allows_what_it_has),
      cmocka_unit_test(old_nodes_keep_old_sets),
      cmocka_unit_test(new_nodes_want_new_sets),
      cmocka_unit_test(other_models_have_the_usual_set),
      cmocka_unit_test(young_operators_are_formulas_in_older_sets),
      cmocka_unit_test(the_runtime_loads_what_it_has),
      cmocka_unit_test(operators_are_loaded_in_sets),
      cmocka_unit_test(sets_are_chosen_that_the_runtime_loads),
      cmocka_unit_test(what_functions_have_within_counts),
      cmocka_unit_test(results_have_their_element_types),
      cmocka_unit_test(graphs_within_nodes_count),
      cmocka_unit_test(kept_nodes_are_converted),
      cmocka_unit_test(conversions_reach_as_far_as_they_are_known),
      cmocka_unit_test(what_no_set_has_is_refused),
      cmocka_unit_test(attention_and_rope_are_operators_in_new_sets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
