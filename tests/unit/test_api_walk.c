// Walking graphs and plans through the public API, and taking them from memory: what was
// built is found again, from files and bytes alike, and messages have the caller's name.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/api_kit.h"

static const char TEXT[] =
    "(egraph-graph 1)\n(input x \"float32[1,3,8,8]\")\n"
    "(weight w \"float32[4,3,3,3]\")\n(weight b \"float32[4]\" [1.0 2.0 3.0 4.0])\n"
    "(let c (conv :strides [2 2] :pads [1 1 1 1] :dilations [1 1] x w b) :node first)\n"
    "(let [y z] (split :axis 1 :sizes [2 2] c))\n(output y)\n(output last z)\n";

static egraph_graph *parse(void) {
  egraph_graph *graph;
  assert_ok(
      egraph_graph_parse(NULL, "memory.egraph", TEXT, sizeof TEXT - 1, NULL, &graph));
  return graph;
}

static egraph_attribute attribute_of(const egraph_graph *graph, egraph_node node,
                                     const char *name) {
  egraph_attribute found = {.name = NULL};
  for (uint32_t i = 0; egraph_node_attribute(graph, node, i, &found); i++)
    if (strcmp(found.name, name) == 0) return found;
  fail_msg("no attribute %s", name);
  return found;
}

static void a_graph_is_found_as_it_was_written(void **state) {
  (void)state;
  egraph_graph *graph = parse();
  egraph_value value;
  egraph_node node;
  egraph_tensor type;
  uint32_t result;
  assert_int_equal(egraph_graph_node_count(graph), 2);
  assert_int_equal(egraph_graph_value_count(graph), 6);
  assert_string_equal(egraph_value_name(graph, egraph_graph_input_value(graph, 0)), "x");
  assert_string_equal(egraph_value_name(graph, egraph_graph_output_value(graph, 1)), "z");
  assert_true(egraph_graph_find_value(graph, "b", &value));
  assert_int_equal(egraph_value_kind_of(graph, value), EGRAPH_VALUE_WEIGHT);
  assert_true(egraph_value_type(graph, value, &type));
  assert_true(((const float *)type.data)[3] == 4.0f);
  assert_false(egraph_value_producer(graph, value, &node, NULL));
  assert_true(egraph_graph_find_value(graph, "z", &value));
  assert_true(egraph_value_producer(graph, value, &node, &result));
  assert_int_equal(result, 1);
  assert_string_equal(egraph_node_operator(graph, node), "split");
  node = (egraph_node){0};
  assert_string_equal(egraph_node_name(graph, node), "first");
  assert_int_equal(egraph_node_operand_count(graph, node), 3);
  assert_string_equal(egraph_value_name(graph, egraph_node_operand(graph, node, 1)), "w");
  assert_int_equal(egraph_node_operand(graph, node, 3).id, EGRAPH_NONE);
  assert_int_equal(egraph_node_result_count(graph, (egraph_node){1}), 2);
  egraph_attribute strides = attribute_of(graph, node, "strides");
  assert_int_equal(strides.kind, EGRAPH_ATTRIBUTE_INTEGERS);
  assert_int_equal(strides.count, 2);
  assert_int_equal(strides.integers[1], 2);
  assert_false(strides.is_default);
  assert_true(attribute_of(graph, node, "act").is_default);
  assert_string_equal(attribute_of(graph, node, "act").text, "none");
  egraph_graph_destroy(graph);
}

/// The bytes of the file, and those of the function, are the same graph.
static void a_model_goes_through_memory(void **state) {
  (void)state;
  egraph_graph *graph = parse(), *again;
  void *bytes;
  size_t size;
  char *want, *have;
  assert_fails(egraph_graph_pack(NULL, NULL, &bytes, &size), EGRAPH_E_ARGUMENT, "graph");
  assert_ok(egraph_graph_pack(NULL, graph, &bytes, &size));
  assert_ok(egraph_graph_parse(NULL, "memory.onnx", bytes, size, NULL, &again));
  assert_int_equal(egraph_graph_node_count(again), 2);
  assert_ok(egraph_graph_text(NULL, graph, &want));
  assert_ok(egraph_graph_text(NULL, again, &have));
  assert_non_null(
      strstr(have, "(conv :strides [2 2] :pads [1 1 1 1] :dilations [1 1] x w b)"));
  egraph_graph *none;
  assert_fails(egraph_graph_parse(NULL, "mine.onnx", bytes, size / 2, NULL, &none),
               EGRAPH_E_PARSE, "mine.onnx");
  assert_fails(egraph_graph_parse(NULL, "mine.egraph", TEXT, 30, NULL, &none),
               EGRAPH_E_PARSE, "mine.egraph:2:");
  egraph_string_free(NULL, want);
  egraph_string_free(NULL, have);
  egraph_bytes_free(NULL, bytes, size);
  egraph_graph_destroy(again);
  egraph_graph_destroy(graph);
}

static void most_memory(void *user, uint32_t step, double bytes) {
  double *most = user;
  (void)step;
  if (bytes > *most) *most = bytes;
}

static const char MACHINE[] =
    "(machine 1 (name mine) (device (memory 1e9) (bandwidth 1e10) (overhead 1e-6)"
    " (peak (float32 1e10))) (link wire (latency 1e-6) (bandwidth 1e9))"
    " (axis gpu 2 wire))";

static egraph_plan *make_plan(void) {
  static const char mlp[] =
      "(egraph-graph 1)(input x \"float32[64,32]\")(weight w \"float32[32,32]\")"
      "(let h (matmul x w))(let y (relu h))(output y)";
  egraph_graph *graph;
  egraph_plan *plan;
  api_problem problem = api_target("host*2", NULL);
  problem.trains = true;
  problem.training.loss = "mean-squared-error";
  problem.compare.only = "data-parallel";
  assert_ok(egraph_graph_parse(NULL, "m.egraph", mlp, sizeof mlp - 1, NULL, &graph));
  assert_ok(api_plan(NULL, graph, &problem, &plan));
  problem.target.machine_text = MACHINE;
  problem.target.machine = "mine";
  egraph_plan *none;
  assert_fails(api_plan(NULL, graph, &problem, &none), EGRAPH_E_PARSE, "mine:");
  egraph_graph_destroy(graph);
  return plan;
}

static void a_plan_is_walked_and_goes_through_memory(void **state) {
  (void)state;
  egraph_plan *plan = make_plan(), *again;
  char *text, *same;
  uint32_t size = 0, moves = 0, made;
  double most = 0, bytes = 0;
  egraph_layout layout;
  egraph_action action;
  egraph_node node;
  assert_int_equal(egraph_plan_axis_count(plan), 1);
  assert_non_null(egraph_plan_axis(plan, 0, &size));
  assert_int_equal(size, 2);
  for (uint32_t s = 0; s < egraph_plan_step_count(plan); s++) {
    bool is_move = egraph_plan_step_is_move(plan, s);
    moves += is_move;
    bytes += egraph_plan_step_bytes(plan, s);
    assert_true(egraph_plan_step_node(plan, s, &node) != is_move);
    assert_true(egraph_plan_step_action(plan, s, 0, &action) != is_move);
    assert_int_equal(egraph_plan_step_axis(plan, s), is_move ? 0 : EGRAPH_NONE);
    for (uint32_t i = 0; i < egraph_plan_step_result_count(plan, s); i++) {
      egraph_state result = egraph_plan_step_result(plan, s, i);
      assert_true(egraph_plan_state_step(plan, result, &made));
      assert_int_equal(made, s);
      assert_true(egraph_plan_state_layout(plan, result, &layout));
      assert_int_equal(layout.text[0],
                       "RSPM"[layout.digits[0].kind]); // in the order of the kinds
    }
  }
  assert_true(moves > 0 && bytes > 0); // gradients are summed
  assert_int_equal(egraph_plan_carried_count(plan), 1);
  assert_ok(egraph_plan_visit_memory(plan, most_memory, &most));
  assert_true(most == egraph_plan_info_of(plan).memory);
  assert_ok(egraph_plan_pack(NULL, plan, &text));
  assert_ok(egraph_plan_parse(NULL, "mine.json", text, strlen(text), &again));
  assert_ok(egraph_plan_pack(NULL, again, &same));
  assert_string_equal(text, same);
  egraph_plan *none;
  assert_fails(egraph_plan_parse(NULL, "mine.json", text, strlen(text) / 2, &none),
               EGRAPH_E_PARSE, "mine.json:");
  egraph_string_free(NULL, text);
  egraph_string_free(NULL, same);
  egraph_plan_destroy(again);
  egraph_plan_destroy(plan);
}

static void terms_go_through_memory(void **state) {
  (void)state;
  egraph_terms *terms, *again, *none;
  egraph_class sum;
  void *bytes;
  size_t size;
  char *text;
  assert_ok(egraph_terms_create(NULL, &terms));
  assert_ok(egraph_terms_add(terms, "term", "(+ a (* b 1))", &sum));
  assert_ok(egraph_terms_rebuild(terms));
  assert_ok(egraph_terms_pack(NULL, terms, &bytes, &size));
  assert_ok(egraph_terms_parse(NULL, "mine", bytes, size, &again));
  assert_ok(egraph_terms_smallest(NULL, again, sum, &text, NULL));
  assert_string_equal(text, "(+ a (* b 1))");
  assert_fails(egraph_terms_parse(NULL, "mine", bytes, size - 9, &none), EGRAPH_E_PARSE,
               "mine: ");
  egraph_string_free(NULL, text);
  egraph_bytes_free(NULL, bytes, size);
  egraph_terms_destroy(again);
  egraph_terms_destroy(terms);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_is_found_as_it_was_written),
      cmocka_unit_test(a_model_goes_through_memory),
      cmocka_unit_test(a_plan_is_walked_and_goes_through_memory),
      cmocka_unit_test(terms_go_through_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
