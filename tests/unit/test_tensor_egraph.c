// Seeding e-graphs with graphs, and what their classes know.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/sets/versions.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/saturation/saturate.h"

#include "tests/testing.h"
#include "tests/unit/onnx_kit.h"

static eg_graph *graph_of(const char *text) {
  eg_graph *graph;
  assert_ok(eg_graph_parse(NULL, "t.graph", text, strlen(text), &graph));
  return graph;
}

static eg_type type_of(egraph_dtype dtype, uint32_t rank, int64_t a, int64_t b) {
  int64_t dims[2] = {a, b};
  return eg_type_of(dtype, rank, dims);
}

static eg_value add_op(eg_graph *graph, const eg_attrs *attrs, const eg_value *inputs,
                       uint32_t count) {
  eg_value result;
  assert_ok(eg_graph_add_node(graph, NULL, attrs, inputs, count, NULL, &result));
  return result;
}

static eg_value unary(eg_graph *graph, eg_op op, eg_value x) {
  eg_attrs attrs = {.op = (uint16_t)op};
  return add_op(graph, &attrs, &x, 1);
}
static eg_value binary(eg_graph *graph, eg_op op, eg_value x, eg_value y) {
  eg_attrs attrs = {.op = (uint16_t)op};
  eg_value inputs[2] = {x, y};
  return add_op(graph, &attrs, inputs, 2);
}

// A float32 weight whose elements are first, then `rest`.
static eg_value filled(eg_graph *graph, const char *name, int64_t elements, float first,
                       float rest) {
  eg_buffer *data;
  assert_ok(eg_buffer_create(NULL, (size_t)elements * sizeof(float), &data));
  float *values = eg_buffer_writable(data);
  for (int64_t i = 0; i < elements; i++)
    values[i] = i == 0 ? first : rest;
  eg_type type = type_of(EGRAPH_FLOAT32, 1, elements, 0);
  eg_value value;
  assert_ok(eg_graph_add_weight(graph, name, &type, data, &value));
  eg_buffer_release(data);
  return value;
}

static void equal_terms_share_a_class(void **state) {
  (void)state;
  eg_graph *graph;
  eg_value x;
  eg_type type = type_of(EGRAPH_FLOAT32, 2, 2, 3);
  assert_ok(eg_graph_create(NULL, &graph));
  assert_ok(eg_graph_add_input(graph, "x", &type, &x));
  eg_value a = unary(graph, EG_OP_RELU, x), b = unary(graph, EG_OP_RELU, x);
  eg_value sum = binary(graph, EG_OP_ADD, a, b);
  assert_ok(eg_graph_add_output(graph, "y", sum));
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  assert_int_equal(eg_tensor_egraph_value_class(egraph, a).id,
                   eg_tensor_egraph_value_class(egraph, b).id);
  assert_int_equal(eg_engine_node_count(eg_tensor_egraph_engine(egraph)), 3);
  eg_class root = eg_tensor_egraph_root(egraph, 0);
  assert_int_equal(root.id, eg_tensor_egraph_value_class(egraph, sum).id);
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(egraph, root);
  assert_true(fact->typed && eg_type_same(&fact->type, &type));
  assert_false(fact->weight_only || fact->splat || fact->part_count != 0);
  assert_ok(eg_engine_check(eg_tensor_egraph_engine(egraph)));
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static void weight_only_follows_the_operands(void **state) {
  (void)state;
  eg_graph *graph;
  eg_value x, w;
  eg_type type = type_of(EGRAPH_FLOAT32, 2, 2, 3);
  assert_ok(eg_graph_create(NULL, &graph));
  assert_ok(eg_graph_add_input(graph, "x", &type, &x));
  assert_ok(eg_graph_add_weight(graph, "w", &type, NULL, &w));
  eg_value of_weights = unary(graph, EG_OP_EXP, binary(graph, EG_OP_MUL, w, w));
  eg_value mixed = binary(graph, EG_OP_MUL, of_weights, x);
  assert_ok(eg_graph_add_output(graph, "y", mixed));
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  const struct {
    eg_value value;
    bool expected;
  } cases[] = {{x, false}, {w, true}, {of_weights, true}, {mixed, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_class class = eg_tensor_egraph_value_class(egraph, cases[i].value);
    assert_int_equal(eg_tensor_egraph_fact(egraph, class)->weight_only,
                     cases[i].expected);
  }
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

/// ONNX Runtime has no kernel of erf in float64, but one in float32.
static void restricted_egraphs_refuse_what_the_runtime_lacks(void **state) {
  (void)state;
  for (int lacks = 0; lacks < 2; lacks++) {
    eg_graph *graph;
    eg_value x, w;
    eg_type wide = type_of(EGRAPH_FLOAT64, 1, 3, 0),
            type = type_of(EGRAPH_FLOAT32, 1, 3, 0);
    assert_ok(eg_graph_create(NULL, &graph));
    assert_ok(eg_graph_add_input(graph, "x", &type, &x));
    assert_ok(eg_graph_add_input(graph, "w", &wide, &w));
    assert_ok(eg_graph_add_output(graph, "y", unary(graph, EG_OP_EXP, x)));
    assert_ok(
        eg_graph_add_output(graph, "z", unary(graph, lacks ? EG_OP_ERF : EG_OP_EXP, w)));
    eg_tensor_egraph *egraph;
    assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
    const eg_attrs erf = {.op = EG_OP_ERF};
    eg_class of_x = eg_tensor_egraph_value_class(egraph, x),
             of_w = eg_tensor_egraph_value_class(egraph, w), made;
    assert_ok(eg_tensor_egraph_restrict(egraph, eg_onnx_loaded_types));
    assert_ok(eg_tensor_egraph_add(egraph, &erf, &of_x, 1, 1, &made));
    if (lacks) // the model is not loaded as it is
      assert_ok(eg_tensor_egraph_add(egraph, &erf, &of_w, 1, 1, &made));
    else
      assert_fails(eg_tensor_egraph_add(egraph, &erf, &of_w, 1, 1, &made), EGRAPH_E_TYPE,
                   "erf: there is no kernel for the element type");
    eg_tensor_egraph_destroy(egraph);
    eg_graph_destroy(graph);
  }
}

/// Shape keeps what it means in this set: from 19 on there is no kernel of Relu in int64.
static void restricted_egraphs_know_the_sets_of_what_is_kept(void **state) {
  (void)state;
  for (int64_t opset = 18; opset < 20; opset++) {
    onnx_kit kit;
    kit_begin(&kit, opset);
    (void)kit_input(&kit, "x", "int64[3]");
    (void)kit_input(&kit, "t", NULL); // without a type, the node is kept
    (void)kit_node(&kit, "Shape", "t", "y");
    kit_output(&kit, "y");
    eg_graph *graph;
    eg_tensor_egraph *egraph;
    assert_ok(kit_import(&kit, NULL, &graph));
    kit_end(&kit);
    assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
    assert_ok(eg_tensor_egraph_restrict(egraph, eg_onnx_loaded_types));
    const eg_attrs relu = {.op = EG_OP_RELU};
    eg_class made, x = eg_tensor_egraph_value_class(egraph, eg_graph_input(graph, 0));
    egraph_status status = eg_tensor_egraph_add(egraph, &relu, &x, 1, 1, &made);
    assert_int_equal(status, opset < 19 ? EGRAPH_OK : EGRAPH_E_TYPE);
    eg_tensor_egraph_destroy(egraph);
    eg_graph_destroy(graph);
  }
}

static const eg_tensor_fact *fact_of(const eg_tensor_egraph *egraph, eg_value value) {
  return eg_tensor_egraph_fact(egraph, eg_tensor_egraph_value_class(egraph, value));
}

static void constants_are_known_by_their_elements(void **state) {
  (void)state;
  eg_graph *graph;
  assert_ok(eg_graph_create(NULL, &graph));
  eg_value same = filled(graph, "same", 7, 0.25f, 0.25f);
  eg_value other = filled(graph, "other", 7, 0.25f, 0.5f);
  eg_value single = filled(graph, "single", 1, 3.0f, 0);
  eg_value none = filled(graph, "none", 0, 0, 0);
  int64_t shape_data[2] = {7, 1};
  eg_attr shape = {.kind = EG_ATTR_INTS, .ints = {shape_data, 2}};
  eg_attrs reshape = {.op = EG_OP_RESHAPE, .count = 1, .slots = &shape};
  eg_value moved = add_op(graph, &reshape, &same, 1);
  eg_value changed = unary(graph, EG_OP_NEG, same);
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  assert_true(fact_of(egraph, same)->splat);
  assert_true(fact_of(egraph, same)->splat_value == 0.25);
  assert_false(fact_of(egraph, other)->splat);
  assert_true(fact_of(egraph, single)->splat);
  assert_false(fact_of(egraph, none)->splat);
  assert_true(fact_of(egraph, moved)->splat);
  assert_true(fact_of(egraph, moved)->splat_value == 0.25);
  assert_false(fact_of(egraph, changed)->splat); // arithmetic is left to constant folding
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static void results_of_a_split_are_parts_of_a_tuple(void **state) {
  (void)state;
  eg_graph *graph;
  eg_value x, parts[2];
  eg_type type = type_of(EGRAPH_FLOAT32, 2, 2, 5);
  assert_ok(eg_graph_create(NULL, &graph));
  assert_ok(eg_graph_add_input(graph, "x", &type, &x));
  int64_t sizes[2] = {2, 3};
  eg_attr slots[2] = {{.kind = EG_ATTR_INT, .i = 1},
                      {.kind = EG_ATTR_INTS, .ints = {sizes, 2}}};
  eg_attrs split = {.op = EG_OP_SPLIT, .count = 2, .slots = slots};
  assert_ok(eg_graph_add_node(graph, NULL, &split, &x, 1, NULL, parts));
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  eg_type second = type_of(EGRAPH_FLOAT32, 2, 2, 3);
  assert_true(eg_type_same(&fact_of(egraph, parts[1])->type, &second));
  // input, split and its two parts
  assert_int_equal(eg_engine_node_count(eg_tensor_egraph_engine(egraph)), 4);
  eg_class of_x = eg_tensor_egraph_value_class(egraph, x), tuple, part;
  assert_ok(eg_tensor_egraph_add(egraph, &split, &of_x, 1, 0, &tuple));
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(egraph, tuple);
  assert_int_equal(fact->part_count, 2);
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_tensor_fact_print(&text, fact));
  assert_string_equal(eg_text_of(&text), "(float32[2,2], float32[2,3])");
  eg_text_deinit(&text);
  eg_attr index = {.kind = EG_ATTR_INT, .i = 2};
  eg_attrs third = {.op = EG_OP_PART, .count = 1, .slots = &index};
  assert_fails(eg_tensor_egraph_add(egraph, &third, &tuple, 1, 0, &part), EGRAPH_E_TYPE,
               "part: index 2 of a node with 2 results");
  index.i = 0;
  assert_fails(eg_tensor_egraph_add(egraph, &third, &of_x, 1, 0, &part), EGRAPH_E_TYPE,
               "part: the operand has one result");
  eg_attrs relu = {.op = EG_OP_RELU};
  assert_fails(eg_tensor_egraph_add(egraph, &relu, &tuple, 1, 0, &part), EGRAPH_E_TYPE,
               "relu: operand 0 has several results; take a part");
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static void opaque_results_have_the_graph_s_type_or_none(void **state) {
  (void)state;
  eg_graph *graph;
  eg_value x, known[2], unknown, after;
  eg_type type = type_of(EGRAPH_FLOAT32, 2, 2, 5), odd = type_of(EGRAPH_INT64, 1, 9, 0);
  const eg_type *types[2] = {&odd, NULL};
  assert_ok(eg_graph_create(NULL, &graph));
  assert_ok(eg_graph_add_input(graph, "x", &type, &x));
  assert_ok(
      eg_graph_add_opaque(graph, NULL, "NonZero", "r", 1, &x, 1, types, NULL, 2, known));
  assert_ok(
      eg_graph_add_opaque(graph, NULL, "Magic", "r", 1, &x, 1, NULL, NULL, 1, &unknown));
  assert_ok(eg_graph_add_opaque(graph, NULL, "Magic", "r", 1, &unknown, 1, types, NULL, 1,
                                &after));
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  assert_true(eg_type_same(&fact_of(egraph, known[0])->type, &odd));
  assert_false(fact_of(egraph, known[1])->typed);
  assert_false(fact_of(egraph, unknown)->typed);
  assert_true(fact_of(egraph, after)->typed);
  assert_false(fact_of(egraph, after)->weight_only);
  eg_attrs relu = {.op = EG_OP_RELU};
  eg_class class = eg_tensor_egraph_value_class(egraph, unknown), out;
  assert_fails(eg_tensor_egraph_add(egraph, &relu, &class, 1, 0, &out), EGRAPH_E_TYPE,
               "relu: operand 0 has no known type");
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static void classes_of_different_types_cannot_be_united(void **state) {
  (void)state;
  eg_graph *graph;
  eg_value x, y, z;
  eg_type type = type_of(EGRAPH_FLOAT32, 2, 2, 5),
          other = type_of(EGRAPH_FLOAT32, 2, 5, 2);
  assert_ok(eg_graph_create(NULL, &graph));
  assert_ok(eg_graph_add_input(graph, "x", &type, &x));
  assert_ok(eg_graph_add_input(graph, "y", &other, &y));
  z = filled(graph, "one", 3, 1, 1);
  eg_value two = filled(graph, "two", 3, 2, 2);
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  eg_engine *engine = eg_tensor_egraph_engine(egraph);
  bool changed;
  assert_fails(eg_engine_unite(engine, eg_tensor_egraph_value_class(egraph, x),
                               eg_tensor_egraph_value_class(egraph, y), 0, &changed),
               EGRAPH_E_TYPE, " cannot be equal; a rule is wrong");
  assert_fails(eg_engine_unite(engine, eg_tensor_egraph_value_class(egraph, z),
                               eg_tensor_egraph_value_class(egraph, two), 0, &changed),
               EGRAPH_E_TYPE, "tensors filled with ");
  assert_true(eg_engine_is_clean(engine));
  assert_ok(eg_engine_check(engine));
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static egraph_status build(egraph_allocator alloc, void *user) {
  eg_tensor_egraph *egraph;
  EG_TRY(eg_tensor_egraph_create(&alloc, user, &egraph));
  eg_tensor_egraph_destroy(egraph);
  return EGRAPH_OK;
}

static void seeding_survives_every_allocation_failing(void **state) {
  (void)state;
  eg_graph *graph;
  eg_value x, parts[2];
  eg_type type = type_of(EGRAPH_FLOAT32, 2, 2, 5);
  assert_ok(eg_graph_create(NULL, &graph));
  assert_ok(eg_graph_add_input(graph, "x", &type, &x));
  int64_t sizes[2] = {2, 3};
  eg_attr slots[2] = {{.kind = EG_ATTR_INT, .i = 1},
                      {.kind = EG_ATTR_INTS, .ints = {sizes, 2}}};
  eg_attrs split = {.op = EG_OP_SPLIT, .count = 2, .slots = slots};
  assert_ok(eg_graph_add_node(graph, NULL, &split, &x, 1, NULL, parts));
  eg_value many[10];
  for (int i = 0; i < 10; i++)
    many[i] = unary(graph, EG_OP_RELU, parts[i % 2]);
  eg_attr axis = {.kind = EG_ATTR_INT, .i = 1};
  eg_attrs concat = {.op = EG_OP_CONCAT, .count = 1, .slots = &axis};
  assert_ok(eg_graph_add_output(graph, "y", add_op(graph, &concat, many, 10)));
  test_every_allocation_failing(build, graph);
  eg_graph_destroy(graph);
}

static void a_text_graph_seeds_as_many_nodes_as_it_has(void **state) {
  (void)state;
  eg_graph *empty = graph_of("(egraph-graph 1)\n");
  eg_tensor_egraph *egraph;
  assert_ok(eg_tensor_egraph_create(NULL, empty, &egraph));
  assert_int_equal(eg_engine_node_count(eg_tensor_egraph_engine(egraph)), 0);
  assert_ptr_equal(eg_tensor_egraph_graph(egraph), empty);
  assert_true(eg_tensor_egraph_bytes(egraph) > 0);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(empty);
}

// y = relu(matmul(x, w)) is fused, unless the product is sealed; a root may be.
static void no_rule_looks_into_a_sealed_class(void **state) {
  (void)state;
  static const char text[] = "(egraph-graph 1)(input x \"float32[2,3]\")(input w "
                             "\"float32[3,4]\")(let m (matmul x w))(let y (relu m))"
                             "(output y)";
  static const char rules_text[] =
      "(egraph-rules 1)"
      "(rule fuse (source \"test\") (lhs (relu (matmul ?x ?w)))"
      " (rhs (matmul :act relu ?x ?w)))"
      "(rule pair (source \"test\") (lhs (as ?m (matmul ?x ?w)) (relu ?m))"
      " (rhs ?m (matmul :act relu ?x ?w)))"
      "(rule double (source \"test\") (lhs (relu ?x)) (rhs (relu (relu ?x))))";
  for (int sealed = 0; sealed < 3; sealed++) { // nothing, the product, the result
    eg_graph *graph = graph_of(text);
    eg_tensor_egraph *egraph;
    eg_rules *rules;
    eg_value m, y;
    eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
    eg_saturation_report report;
    assert_true(eg_graph_find_value(graph, "m", &m) &&
                eg_graph_find_value(graph, "y", &y));
    assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
    if (sealed != 0)
      assert_ok(eg_tensor_egraph_seal(
          egraph, eg_tensor_egraph_value_class(egraph, sealed == 1 ? m : y)));
    assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
    assert_ok(eg_rules_create_checked(NULL, &rules));
    assert_ok(eg_rules_parse(rules, "t.rules", rules_text, sizeof rules_text - 1));
    options.iteration_limit = 1;
    assert_ok(eg_saturate(egraph, rules, &options, &report));
    assert_int_equal(report.rules[0].matches, sealed == 1 ? 0 : 1);
    assert_int_equal(report.rules[1].matches, sealed == 1 ? 0 : 1);
    assert_int_equal(report.rules[2].matches, 1);
    assert_true(sealed == 0 ||
                eg_tensor_egraph_fact(
                    egraph, eg_tensor_egraph_value_class(egraph, sealed == 1 ? m : y))
                    ->is_sealed);
    eg_saturation_report_deinit(&report);
    eg_rules_destroy(rules);
    eg_tensor_egraph_destroy(egraph);
    eg_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_terms_share_a_class),
      cmocka_unit_test(weight_only_follows_the_operands),
      cmocka_unit_test(restricted_egraphs_refuse_what_the_runtime_lacks),
      cmocka_unit_test(restricted_egraphs_know_the_sets_of_what_is_kept),
      cmocka_unit_test(constants_are_known_by_their_elements),
      cmocka_unit_test(results_of_a_split_are_parts_of_a_tuple),
      cmocka_unit_test(opaque_results_have_the_graph_s_type_or_none),
      cmocka_unit_test(classes_of_different_types_cannot_be_united),
      cmocka_unit_test(seeding_survives_every_allocation_failing),
      cmocka_unit_test(a_text_graph_seeds_as_many_nodes_as_it_has),
      cmocka_unit_test(no_rule_looks_into_a_sealed_class),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
