// Import of whole ONNX models: order, names, constants, what is unknown, and what is
// broken or hostile.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/graph_copy.h"
#include "tests/unit/onnx_kit.h"

#include <stdlib.h>

// ---- order and names -----------------------------------------------------------------

static void nodes_may_stand_in_any_order(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_output(&kit, "d");
  kit_input(&kit, "x", "float32[2]");
  (void)kit_node(&kit, "Add", "b,c", "d");
  (void)kit_node(&kit, "Exp", "a", "c");
  (void)kit_node(&kit, "Relu", "x", "a");
  (void)kit_node(&kit, "Tanh", "a", "b");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let a (relu x))\n(let c (exp a))\n"
                   "(let b (tanh a))\n(let d (add b c))\n(output d)\n");
}

static void broken_references_name_the_node(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_node(&kit, "Add", "x,b", "a")->name = kit_string_copy(&kit, "first");
  (void)kit_node(&kit, "Exp", "a", "b");
  kit_refuse(&kit, EGRAPH_E_PARSE, "m.onnx: node Add 'first': it is on a cycle");
  kit_begin(&kit, 13);
  (void)kit_node(&kit, "Exp", "nowhere", "b");
  kit_refuse(&kit, EGRAPH_E_PARSE, "node Exp (node 0): its operand 'nowhere'");
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  (void)kit_node(&kit, "Exp", "x", "a");
  (void)kit_node(&kit, "Log", "x", "a");
  kit_refuse(&kit, EGRAPH_E_PARSE, "node Log (node 1): its result 'a'");
  kit_begin(&kit, 13);
  kit_output(&kit, "y");
  kit_refuse(&kit, EGRAPH_E_PARSE, "output 'y' is made by no node");
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_input(&kit, "x", "float32[2]");
  kit_refuse(&kit, EGRAPH_E_PARSE, "input 'x': there are two");
  kit_begin(&kit, 13);
  (void)kit_weight(&kit, "w", "float32[1]", "abcd");
  (void)kit_weight(&kit, "w", "float32[1]", "abcd");
  kit_refuse(&kit, EGRAPH_E_PARSE, "initializer 'w': there are two");
  kit_begin(&kit, 13);
  kit_input(&kit, "", "float32[2]");
  kit_refuse(&kit, EGRAPH_E_PARSE, "it has no name");
}

static void made_up_names_leave_those_of_the_file_alone(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_output(&kit, "y.1");
  (void)kit_node(&kit, "Sum", "x,x,x", "y");
  (void)kit_node(&kit, "Relu", "y", "y.1");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y.2 (add x x))\n(let y (add y.2 x))\n"
                   "(let y.1 (relu y))\n(output y.1)\n");
}

// A mask that only dead nodes read does not make the dropout one that trains; the dead
// nodes that lack it are left out, the others are read, and refused where they are wrong.
static void results_that_no_output_depends_on_are_not_made(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_output(&kit, "y");
  (void)kit_node(&kit, "Dropout", "x", "d,mask");
  (void)kit_node(&kit, "Not", "mask", "others");
  (void)kit_node(&kit, "Not", "others", "again");
  (void)kit_node(&kit, "Exp", "d", "dead");
  (void)kit_node(&kit, "Relu", "d", "y");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let d (identity x))\n(let dead (exp d))\n"
                   "(let y (relu d))\n(output y)\n");
}

static void ill_typed_models_are_refused(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2,3]");
  kit_input(&kit, "z", "float32[2,4]");
  kit_node(&kit, "MatMul", "x,z", "y")->name = kit_string_copy(&kit, "m");
  kit_refuse(&kit, EGRAPH_E_PARSE, "m.onnx: node MatMul 'm': matmul");
}

// ---- inputs and weights --------------------------------------------------------------

static void inputs_with_initializers_are_weights(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_input(&kit, "w", "float32[2]");
  (void)kit_weight(&kit, "w", "float32[2]", (const float[]){1.0F, 2.0F});
  (void)kit_weight(&kit, "unused", "float32[2]", (const float[]){1.0F, 2.0F});
  kit_output(&kit, "y");
  (void)kit_node(&kit, "Add", "x,w", "y");
  kit_expect(&kit, "(input x \"float32[2]\")\n(weight w \"float32[2]\" [1.0 2.0])\n"
                   "(let y (add x w))\n(output y)\n");
}

static void outputs_may_be_inputs_and_weights(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  (void)kit_weight(&kit, "w", "float32[1]", (const float[]){1.0F});
  kit_output(&kit, "x");
  kit_output(&kit, "w");
  kit_expect(&kit, "(input x \"float32[2]\")\n(weight w \"float32[1]\" [1.0])\n"
                   "(output x)\n(output w)\n");
}

static void symbolic_dimensions_need_a_value(void **state) {
  (void)state;
  onnx_kit kit;
  for (int given = 0; given < 2; given++) {
    kit_begin(&kit, 13);
    Onnx__ValueInfoProto *info = kit_input(&kit, "x", "float32[7,3]");
    Onnx__TensorShapeProto__Dimension *dim = info->type->tensor_type->shape->dim[0];
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    dim->dim_param = kit_string_copy(&kit, "N");
    kit_output(&kit, "x");
    if (given == 0) {
      kit_refuse(&kit, EGRAPH_E_PARSE, "input 'x': dimension 0 is symbolic ('N')");
      continue;
    }
    size_t size;
    uint8_t *bytes = kit_bytes(&kit, &size);
    eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
    options.batch = 5;
    eg_graph *graph;
    assert_ok(eg_onnx_parse(NULL, "m", bytes, size, NULL, &options, &graph));
    assert_int_equal(eg_graph_value(graph, eg_graph_input(graph, 0))->type.dims[0], 5);
    eg_graph_destroy(graph);
    kit_end(&kit);
  }
}

static void hostile_shapes_are_refused(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  Onnx__ValueInfoProto *info = kit_input(&kit, "x", "float32[7,3]");
  info->type->tensor_type->shape->dim[1]->dim_value = -3;
  kit_refuse(&kit, EGRAPH_E_PARSE, "dimension 1 is -3");
  kit_begin(&kit, 13);
  info = kit_input(&kit, "x", "float32[7,3]");
  info->type->tensor_type->shape->dim[0]->dim_value = INT64_MAX;
  kit_refuse(&kit, EGRAPH_E_PARSE, "overflows");
  kit_begin(&kit, 13);
  info = kit_input(&kit, "x", "float32[7,3]");
  info->type->tensor_type->shape = NULL;
  kit_refuse(&kit, EGRAPH_E_PARSE, "no shape");
  kit_begin(&kit, 13);
  Onnx__TensorProto *tensor = kit_weight(&kit, "w", "float32[2]", "12345678");
  tensor->dims[0] = 3;
  kit_refuse(&kit, EGRAPH_E_PARSE, "initializer 'w': the tensor has 8 bytes");
  kit_begin(&kit, 13);
  tensor = kit_weight(&kit, "w", "float32[2]", "12345678");
  tensor->dims[0] = -2;
  kit_refuse(&kit, EGRAPH_E_PARSE, "initializer 'w'");
  kit_begin(&kit, 13);
  tensor = kit_weight(&kit, "w", "float32[2]", NULL);
  kit_refuse(&kit, EGRAPH_E_PARSE, "has 0 elements but its shape asks for 2");
}

static void typed_lists_are_read(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  float floats[2] = {0.5F, -1.5F};
  int32_t halves[2] = {0x3c00, 0xc000}, bytes[2] = {1, 7};
  int64_t longs[2] = {INT64_MIN, 3};
  uint64_t unsigneds[2] = {7, 4000000000};
  double doubles[2] = {0.1, 1e300};
  Onnx__TensorProto *tensor = kit_weight(&kit, "f", "float32[2]", NULL);
  tensor->n_float_data = 2, tensor->float_data = floats;
  tensor = kit_weight(&kit, "h", "float16[2]", NULL);
  tensor->n_int32_data = 2, tensor->int32_data = halves;
  tensor = kit_weight(&kit, "b", "bool[2]", NULL);
  tensor->n_int32_data = 2, tensor->int32_data = bytes;
  tensor = kit_weight(&kit, "l", "int64[2]", NULL);
  tensor->n_int64_data = 2, tensor->int64_data = longs;
  tensor = kit_weight(&kit, "u", "uint32[2]", NULL);
  tensor->n_uint64_data = 2, tensor->uint64_data = unsigneds;
  tensor = kit_weight(&kit, "d", "float64[2]", NULL);
  tensor->n_double_data = 2, tensor->double_data = doubles;
  for (const char *name = "fhblud"; *name != '\0'; name++)
    kit_output(&kit, (const char[]){*name, '\0'});
  kit_expect(&kit,
             "(weight f \"float32[2]\" [0.5 -1.5])\n"
             "(weight h \"float16[2]\" [1.0 -2.0])\n(weight b \"bool[2]\" [1 1])\n"
             "(weight l \"int64[2]\" [-9223372036854775808 3])\n"
             "(weight u \"uint32[2]\" [7 4000000000])\n"
             "(weight d \"float64[2]\" [0.1 1e+300])\n"
             "(output f)\n(output h)\n(output b)\n(output l)\n(output u)\n(output d)\n");
}

/// y = x + w, where w of [2,2] has two values at these places.
static void begin_sparse(onnx_kit *kit, Onnx__SparseTensorProto *sparse,
                         const char *index_type, const int64_t *indices) {
  static Onnx__SparseTensorProto *list[1];
  static int64_t dims[] = {2, 2};
  kit_begin(kit, 13);
  (void)kit_input(kit, "x", "float32[2,2]");
  (void)kit_node(kit, "Add", "x,w", "y");
  kit_output(kit, "y");
  *sparse = (Onnx__SparseTensorProto)ONNX__SPARSE_TENSOR_PROTO__INIT;
  sparse->values = kit_tensor(kit, "w", "float32[2]", (const float[]){5.0F, -1.0F});
  sparse->indices = kit_tensor(kit, "", index_type, indices);
  sparse->n_dims = 2;
  sparse->dims = dims;
  list[0] = sparse;
  kit->graph.n_sparse_initializer = 1;
  kit->graph.sparse_initializer = list;
}

static void sparse_initializers_are_dense(void **state) {
  (void)state;
  static const char wanted[] =
      "(input x \"float32[2,2]\")\n(weight w \"float32[2,2]\" [0.0 5.0 -1.0 0.0])\n"
      "(let y (add x w))\n(output y)\n";
  static const struct {
    const char *type, *message;
    int64_t indices[4];
  } wrong[] = {{"int64[2]", "index 1 is outside of its shape", {1, 4}},
               {"int64[2]", "index 0 is outside of its shape", {-1, 2}},
               {"int64[2,2]", "index 1 is outside of its shape", {0, 1, 1, 2}},
               {"int64[2]", "its indices do not ascend at 1", {2, 2}},
               {"int64[1]", "its values and indices do not fit", {1}},
               {"float64[2]", "its values and indices do not fit", {1, 2}},
               {"int64[1,2]", "its values and indices do not fit", {0, 1}}};
  Onnx__SparseTensorProto sparse;
  onnx_kit kit;
  begin_sparse(&kit, &sparse, "int64[2]", (const int64_t[]){1, 2});
  kit_expect(&kit, wanted);
  begin_sparse(&kit, &sparse, "int64[2,2]", (const int64_t[]){0, 1, 1, 0});
  kit_expect(&kit, wanted);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    begin_sparse(&kit, &sparse, wrong[i].type, wrong[i].indices);
    kit_refuse(&kit, EGRAPH_E_PARSE, wrong[i].message);
  }
  begin_sparse(&kit, &sparse, "int64[2]", (const int64_t[]){1, 2});
  sparse.dims = (int64_t[]){INT64_C(1) << 20, INT64_C(1) << 20};
  kit_refuse(&kit, EGRAPH_E_UNSUPPORTED, "bytes when dense");
  begin_sparse(&kit, &sparse, "int64[2]", (const int64_t[]){1, 2});
  sparse.values = NULL;
  kit_refuse(&kit, EGRAPH_E_PARSE, "it has no values or no indices");
}

static void constants_are_weights_or_vanish(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_output(&kit, "y");
  kit_output(&kit, "z");
  kit_float(&kit, kit_node(&kit, "Constant", "", "c"), "value_float", 0.5F);
  (void)kit_node(&kit, "Mul", "x,c", "y");
  kit_ints(&kit, kit_node(&kit, "Constant", "", "s"), "value_ints", 2,
           (const int64_t[]){1, 2});
  (void)kit_node(&kit, "Reshape", "x,s", "z");
  kit_expect(&kit, "(input x \"float32[2]\")\n(weight c \"float32[]\" [0.5])\n"
                   "(let y (mul x c))\n(let z (reshape :shape [1 2] x))\n(output y)\n"
                   "(output z)\n");
}

// What exporters write for x.view(x.shape[0], -1): all of it is known.
static void computed_shapes_disappear(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2,3,4]");
  kit_output(&kit, "y");
  kit_vector(&kit, "axis", 1, (const int64_t[]){0});
  kit_vector(&kit, "rest", 1, (const int64_t[]){-1});
  (void)kit_weight(&kit, "zero", "int64[]", &(int64_t){0});
  (void)kit_node(&kit, "Shape", "x", "shape");
  kit_int(&kit, kit_node(&kit, "Gather", "shape,zero", "first"), "axis", 0);
  (void)kit_node(&kit, "Unsqueeze", "first,axis", "n");
  (void)kit_node(&kit, "Mul", "n,n", "nn");
  (void)kit_node(&kit, "Div", "nn,n", "m");
  kit_int(&kit, kit_node(&kit, "Concat", "m,rest", "to"), "axis", 0);
  (void)kit_node(&kit, "Reshape", "x,to", "y");
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n(let y (reshape :shape [2 12] x))\n"
                   "(output y)\n");
}

static void ranges_and_fills_of_integers_are_known(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_output(&kit, "y");
  kit_output(&kit, "f");
  (void)kit_weight(&kit, "a", "int64[]", &(int64_t){5});
  (void)kit_weight(&kit, "b", "int64[]", &(int64_t){0});
  (void)kit_weight(&kit, "c", "int64[]", &(int64_t){-2});
  kit_vector(&kit, "two", 1, (const int64_t[]){2});
  (void)kit_node(&kit, "Range", "a,b,c", "y");
  Onnx__NodeProto *node = kit_node(&kit, "ConstantOfShape", "two", "f");
  kit_attr(&kit, node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t =
      kit_tensor(&kit, "", "int64[1]", &(int64_t){9});
  kit_expect(&kit, "(weight y \"int64[3]\" [5 3 1])\n(weight f \"int64[2]\" [9 9])\n"
                   "(output y)\n(output f)\n");
}

static void fixed_inputs_become_weights(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[6]");
  kit_input(&kit, "shape", "int64[2]");
  kit_output(&kit, "y");
  (void)kit_node(&kit, "Reshape", "x,shape", "y");
  size_t size;
  uint8_t *bytes = kit_bytes(&kit, &size);
  eg_onnx_fixed_input fixed = {.name = "shape",
                               .type = eg_type_of(EGRAPH_INT64, 1, (const int64_t[]){2})};
  assert_ok(eg_buffer_create(NULL, 16, &fixed.data));
  int64_t *shape = eg_buffer_writable(fixed.data);
  shape[0] = 2, shape[1] = 3;
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.fixed = &fixed;
  options.fixed_count = 1;
  eg_graph *graph;
  assert_ok(eg_onnx_parse(NULL, "m", bytes, size, NULL, &options, &graph));
  kit_expect_graph(graph, "(egraph-graph 1)\n(input x \"float32[6]\")\n"
                          "(let y (reshape :shape [2 3] x))\n(output y)\n");
  eg_graph_destroy(graph);
  fixed.type.dtype = EGRAPH_FLOAT64;
  assert_fails(eg_onnx_parse(NULL, "m", bytes, size, NULL, &options, &graph),
               EGRAPH_E_PARSE, "fixed value is not of the declared type");
  eg_buffer_release(fixed.data);
  kit_end(&kit);
}

// ---- what is unknown -----------------------------------------------------------------

static eg_graph_node_info only_node(const eg_graph *graph) {
  assert_int_equal(eg_graph_node_count(graph), 1);
  return eg_graph_node_at(graph, (eg_graph_node){0});
}

static void round_trip_is_identical(const eg_graph *graph) {
  eg_text text;
  unsigned char *bytes;
  size_t size;
  eg_graph *again;
  egraph_allocator alloc = eg_graph_allocator(graph);
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_graph_print(graph, &text));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  assert_ok(eg_onnx_parse(NULL, "again", bytes, size, NULL, NULL, &again));
  kit_expect_graph(again, eg_text_of(&text));
  eg_free(alloc, bytes, size, 1);
  eg_graph_destroy(again);
  eg_text_deinit(&text);
}

// Operators that take integers in ONNX and none here.
static void operators_of_other_types_are_kept(void **state) {
  (void)state;
  static const char *const ops[] = {"Erf", "ReduceL2", "ReduceLogSum"};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    onnx_kit kit;
    eg_graph *graph;
    kit_begin(&kit, 12); // Erf takes no integers later
    kit_input(&kit, "x", "int64[2]");
    kit_output(&kit, "y");
    (void)kit_node(&kit, ops[i], "x", "y");
    assert_ok(kit_import(&kit, NULL, &graph));
    assert_string_equal(eg_graph_opaque_type(graph, (eg_graph_node){0}), ops[i]);
    eg_graph_destroy(graph);
    kit_end(&kit);
  }
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "int64[2]");
  kit_output(&kit, "y");
  (void)kit_node(&kit, "Exp", "x", "y");
  kit_refuse(&kit, EGRAPH_E_PARSE, "it must be floating point");
}

static void unknown_operators_are_kept(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_declare(&kit, "a", "float32[5]");
  kit_output(&kit, "r");
  kit_output(&kit, "b");
  Onnx__NodeProto *node = kit_node(&kit, "Fancy", "x,,x", "a,,b");
  node->domain = kit_string_copy(&kit, "com.example");
  node->name = kit_string_copy(&kit, "f1");
  kit_string(&kit, node, "mode", "odd");
  (void)kit_node(&kit, "Relu", "a", "r");
  kit.opsets[1] = &(Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
  kit.opsets[1]->domain = kit_string_copy(&kit, "com.example");
  kit.opsets[1]->has_version = true;
  kit.opsets[1]->version = 3;
  kit.model.n_opset_import = 2;
  eg_graph *graph;
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_ok(eg_graph_check(graph));
  assert_int_equal(eg_graph_node_count(graph), 2);
  assert_string_equal(eg_graph_opaque_type(graph, (eg_graph_node){0}), "Fancy");
  eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){0});
  assert_int_equal(info.input_count, 2);
  assert_int_equal(info.result_count, 2);
  assert_true(eg_graph_value(graph, info.results[0])->typed);
  assert_false(eg_graph_value(graph, info.results[1])->typed);
  round_trip_is_identical(graph);
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  assert_int_equal(model->n_opset_import, 2);
  assert_string_equal(model->opset_import[1]->domain, "com.example");
  assert_int_equal(model->opset_import[1]->version, 3);
  assert_int_equal(model->graph->node[0]->n_input, 3);
  assert_string_equal(model->graph->node[0]->input[1], "");
  onnx__model_proto__free_unpacked(model, NULL);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  eg_graph_destroy(graph);
  kit_end(&kit);
}

// A known operator behind an untyped result, or with an attribute that nobody knows, is
// kept as it is, too.
static void what_cannot_be_typed_is_kept(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_output(&kit, "r");
  (void)kit_node(&kit, "NonZero", "x", "a");
  (void)kit_node(&kit, "Sum", "x,x,a", "r");
  eg_graph *graph;
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_int_equal(eg_graph_node_count(graph), 2);
  round_trip_is_identical(graph);
  eg_graph_destroy(graph);
  kit_end(&kit);
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_output(&kit, "r");
  kit_int(&kit, kit_node(&kit, "Relu", "x", "r"), "new_meaning", 1);
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_int_equal(only_node(graph).attrs->op, EG_OP_OPAQUE);
  eg_graph_destroy(graph);
  kit_end(&kit);
}

static void subgraphs_keep_the_tensors_they_use(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_input(&kit, "c", "bool[]");
  kit_output(&kit, "y");
  Onnx__NodeProto *node = kit_node(&kit, "If", "c", "y");
  (void)kit_node(&kit, "Exp", "x", "e"); // stands behind its user, which names it inside
  Onnx__GraphProto branch = ONNX__GRAPH_PROTO__INIT;
  Onnx__NodeProto inner = ONNX__NODE_PROTO__INIT, *inners[1] = {&inner};
  Onnx__ValueInfoProto result = ONNX__VALUE_INFO_PROTO__INIT, *results[1] = {&result};
  inner.op_type = kit_string_copy(&kit, "Relu");
  inner.input = kit_names(&kit, "e", &inner.n_input);
  inner.output = kit_names(&kit, "inside", &inner.n_output);
  result.name = kit_string_copy(&kit, "inside");
  branch.name = kit_string_copy(&kit, "branch");
  branch.n_node = 1, branch.node = inners;
  branch.n_output = 1, branch.output = results;
  kit_attr(&kit, node, "then_branch", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
      &branch;
  kit_attr(&kit, node, "else_branch", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
      &branch;
  eg_graph *graph, *pruned;
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_int_equal(eg_graph_node_count(graph), 2);
  eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){1});
  assert_int_equal(info.input_count, 2);
  assert_string_equal(eg_graph_value(graph, info.inputs[1])->name, "e");
  assert_ok(eg_graph_pruned(graph, &pruned));
  assert_int_equal(eg_graph_node_count(pruned), 2);
  round_trip_is_identical(pruned);
  eg_graph_destroy(pruned);
  eg_graph_destroy(graph);
  kit_end(&kit);
}

static void inputs_that_are_no_tensors_are_kept(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  Onnx__ValueInfoProto *info = kit_input(&kit, "s", "float32[2]");
  info->type->tensor_type->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  kit_input(&kit, "x", "float32[2]");
  Onnx__TensorProto *tensor = kit_weight(&kit, "t", "float32[1]", NULL);
  ProtobufCBinaryData text = {.len = 2, .data = (uint8_t *)kit_string_copy(&kit, "hi")};
  tensor->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  tensor->n_string_data = 1;
  tensor->string_data = &text;
  kit_output(&kit, "y");
  (void)kit_node(&kit, "StringJoin", "s,t,x", "y");
  eg_graph *graph;
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_ok(eg_graph_check(graph));
  assert_int_equal(eg_graph_node_count(graph), 3);
  round_trip_is_identical(graph);
  eg_graph_destroy(graph);
  kit_end(&kit);
}

static void memory_formats_come_from_metadata(void **state) {
  (void)state;
  onnx_kit kit;
  static const char *const formats[] = {"nhwc", "diagonal"};
  for (int i = 0; i < 2; i++) {
    kit_begin(&kit, 13);
    kit_input(&kit, "x", "float32[1,8,2,2]");
    kit_output(&kit, "y");
    (void)kit_node(&kit, "Relu", "x", "y");
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    entry.key = kit_string_copy(&kit, "egraph.format:y");
    entry.value = kit_string_copy(&kit, formats[i]);
    Onnx__StringStringEntryProto other = entry;
    other.key = kit_string_copy(&kit, "egraph.format:gone");
    kit.entries[0] = &entry, kit.entries[1] = &other;
    kit.model.n_metadata_props = 2;
    if (i == 0)
      kit_expect(&kit,
                 "(input x \"float32[1,8,2,2]\")\n(let y (relu x) :formats [nhwc])\n"
                 "(output y)\n");
    else
      kit_refuse(&kit, EGRAPH_E_PARSE, "tensor 'y' has the unknown memory format");
  }
}

static void operator_sets_out_of_range_are_refused(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 99);
  kit_refuse(&kit, EGRAPH_E_UNSUPPORTED, "operator set 99 is not supported");
  // Only who has standard operators needs a set of them.
  kit_begin(&kit, 13);
  kit.model.n_opset_import = 0;
  kit_input(&kit, "x", "float32[2]");
  (void)kit_node(&kit, "Exp", "x", "y");
  kit_refuse(&kit, EGRAPH_E_UNSUPPORTED, "operator set 0");
  kit_begin(&kit, 13);
  kit.model.n_opset_import = 0;
  kit_input(&kit, "x", "float32[2]");
  kit_node(&kit, "Exp", "x", "y")->domain = kit_string_copy(&kit, "com.example");
  eg_graph *graph;
  assert_ok(kit_import(&kit, NULL, &graph));
  assert_int_equal(only_node(graph).attrs->op, EG_OP_OPAQUE);
  eg_graph_destroy(graph);
  kit_end(&kit);
  kit_begin(&kit, 13);
  kit.model.graph = NULL;
  kit_refuse(&kit, EGRAPH_E_PARSE, "has no graph");
}

// ---- damage --------------------------------------------------------------------------

// A model with a bit of everything, in arena memory of the kit.
static uint8_t *small_model(onnx_kit *kit, size_t *out_size) {
  kit_begin(kit, 13);
  kit_input(kit, "x", "float32[1,2,4,4]");
  kit_output(kit, "y");
  kit_declare(kit, "odd", "float32[1,2,4,4]");
  (void)kit_weight(kit, "w", "float32[2,2,1,1]", (const float[]){1.0F, 2.0F, 3.0F, 4.0F});
  kit_vector(kit, "axes", 1, (const int64_t[]){1});
  (void)kit_node(kit, "Conv", "x,w", "c");
  kit_string(kit, kit_node(kit, "Odd", "c", "odd"), "mode", "m");
  kit_int(kit, kit_node(kit, "ReduceSum", "odd,axes", "s"), "keepdims", 0);
  (void)kit_node(kit, "Shape", "s", "shape");
  (void)kit_node(kit, "Reshape", "s,shape", "r");
  (void)kit_node(kit, "Sum", "r,s,s", "y");
  return kit_bytes(kit, out_size);
}

static void every_truncation_fails_or_gives_a_sound_graph(void **state) {
  (void)state;
  onnx_kit kit;
  size_t size;
  uint8_t *bytes = small_model(&kit, &size);
  for (size_t cut = 0; cut < size; cut++) {
    uint8_t *copy = malloc(cut + 1); // sanitizers see reads past the end
    assert_non_null(copy);
    memcpy(copy, bytes, cut);
    test_heap heap = {0};
    egraph_allocator alloc = test_heap_allocator(&heap);
    eg_graph *graph;
    if (eg_onnx_parse(&alloc, "m", copy, cut, NULL, NULL, &graph) == EGRAPH_OK) {
      assert_ok(eg_graph_check(graph));
      eg_graph_destroy(graph);
    }
    assert_int_equal(heap.live_bytes, 0);
    free(copy);
  }
  kit_end(&kit);
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  // AttributeProto.g = 6, GraphProto.node = 1, NodeProto.attribute = 5, over and over;
  // lengths from the inside out.
  enum { LEVELS = 3000, ROOM = LEVELS * 8 };
  static const uint8_t tags[3] = {0x0a, 0x2a, 0x32};
  uint8_t *bytes = malloc(ROOM);
  assert_non_null(bytes);
  size_t at = ROOM;
  for (int level = 0; level < LEVELS; level++) {
    size_t length = ROOM - at;
    uint8_t digits[5];
    size_t count = 0;
    do {
      digits[count++] = (uint8_t)((length & 0x7f) | (length >= 0x80 ? 0x80 : 0));
      length >>= 7;
    } while (length != 0);
    at -= count;
    memcpy(bytes + at, digits, count);
    int depth = LEVELS - 1 - level;
    bytes[--at] = depth == 0 ? 0x3a : tags[(depth - 1) % 3]; // ModelProto.graph = 7
  }
  eg_graph *graph;
  assert_fails(
      eg_onnx_parse(NULL, "deep.onnx", bytes + at, ROOM - at, NULL, NULL, &graph),
      EGRAPH_E_PARSE, "deep.onnx: messages are nested more than");
  free(bytes);
}

typedef struct bytes_of {
  const uint8_t *data;
  size_t size;
} bytes_of;

static egraph_status import_and_export(egraph_allocator alloc, void *user) {
  const bytes_of *model = user;
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  EG_TRY(eg_onnx_parse(&alloc, "m", model->data, model->size, NULL, NULL, &graph));
  egraph_status status = eg_onnx_pack(graph, &bytes, &size);
  if (status == EGRAPH_OK) eg_free(alloc, bytes, size, 1);
  eg_graph_destroy(graph);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  onnx_kit kit;
  bytes_of model;
  model.data = small_model(&kit, &model.size);
  test_every_allocation_failing(import_and_export, &model);
  kit_end(&kit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_may_stand_in_any_order),
      cmocka_unit_test(broken_references_name_the_node),
      cmocka_unit_test(made_up_names_leave_those_of_the_file_alone),
      cmocka_unit_test(results_that_no_output_depends_on_are_not_made),
      cmocka_unit_test(ill_typed_models_are_refused),
      cmocka_unit_test(inputs_with_initializers_are_weights),
      cmocka_unit_test(outputs_may_be_inputs_and_weights),
      cmocka_unit_test(symbolic_dimensions_need_a_value),
      cmocka_unit_test(hostile_shapes_are_refused),
      cmocka_unit_test(typed_lists_are_read),
      cmocka_unit_test(sparse_initializers_are_dense),
      cmocka_unit_test(constants_are_weights_or_vanish),
      cmocka_unit_test(computed_shapes_disappear),
      cmocka_unit_test(ranges_and_fills_of_integers_are_known),
      cmocka_unit_test(fixed_inputs_become_weights),
      cmocka_unit_test(operators_of_other_types_are_kept),
      cmocka_unit_test(unknown_operators_are_kept),
      cmocka_unit_test(what_cannot_be_typed_is_kept),
      cmocka_unit_test(subgraphs_keep_the_tensors_they_use),
      cmocka_unit_test(inputs_that_are_no_tensors_are_kept),
      cmocka_unit_test(memory_formats_come_from_metadata),
      cmocka_unit_test(operator_sets_out_of_range_are_refused),
      cmocka_unit_test(every_truncation_fails_or_gives_a_sound_graph),
      cmocka_unit_test(deep_nesting_is_refused),
      cmocka_unit_test(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
