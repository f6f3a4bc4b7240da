// Normalizations and activations that are spelled out become one operator each before
// gradients are taken, and compute the same.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/recognize.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/unit/session_kit.h"

#define NUMBERS                                                                          \
  "(let half (fill :shape [] :value 0.5))(let one (fill :shape [] :value 1.0))"          \
  "(let two (fill :shape [] :value 2.0))(let root (fill :shape [] :value 1.41421356))"   \
  "(let eps (fill :shape [] :value 1e-5))"

static uint32_t count(const eg_graph *graph, eg_op op) {
  uint32_t found = 0;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    found += eg_graph_node_at(graph, (eg_graph_node){n}).attrs->op == op;
  return found;
}

/// Recognizes operators in a graph whose weights are all trained; `made` is there once,
/// `part` is gone, and the first output is near that of the graph.
static void check(const char *text, eg_op made, eg_op part) {
  eg_graph *graph = kit_parse("graph", text), *out;
  eg_rules *rules;
  bool *kept = calloc(eg_graph_value_count(graph), sizeof *kept);
  kit_tensors inputs, want, have;
  assert_non_null(kept);
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++)
    kept[v] = eg_graph_value(graph, (eg_value){v})->kind == EG_VALUE_WEIGHT;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  assert_ok(eg_recognize(graph, rules, EGRAPH_MATH_FAST, kept, &out));
  assert_non_null(out);
  assert_int_equal(count(out, made), 1);
  assert_int_equal(count(out, part), 0);
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "reference", 1, &inputs, &want);
  kit_run(out, "reference", 1, &inputs, &have);
  assert_true(kit_error(&want, &have) < 1e-5);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  eg_graph_destroy(out);
  eg_graph_destroy(graph);
  eg_rules_destroy(rules);
  free(kept);
}

static void layer_normalization_is_one_operator(void **unused) {
  (void)unused;
  check("(egraph-graph 1)(input x \"float32[4,6,16]\")(weight g \"float32[16]\")"
        "(weight b \"float32[16]\")" NUMBERS
        "(let m (reduce-mean :axes [2] :keepdims 1 x))(let c (sub x m))"
        "(let q (pow c two))(let v (reduce-mean :axes [2] :keepdims 1 q))"
        "(let ve (add v eps))(let s (sqrt ve))(let n (div c s))(let ng (mul n g))"
        "(let y (add ng b))(output y)",
        EG_OP_LAYER_NORM, EG_OP_REDUCE_MEAN);
}

static void root_mean_square_normalization_is_one_operator(void **unused) {
  (void)unused;
  check("(egraph-graph 1)(input x \"float32[4,6,16]\")(weight g \"float32[16]\")" NUMBERS
        "(let q (pow x two))(let v (reduce-mean :axes [2] :keepdims 1 q))"
        "(let ve (add v eps))(let s (sqrt ve))(let r (div one s))(let n (mul x r))"
        "(let y (mul g n))(output y)",
        EG_OP_RMS_NORM, EG_OP_REDUCE_MEAN);
}

static void activations_are_one_operator(void **unused) {
  (void)unused;
  check("(egraph-graph 1)(input x \"float32[4,16]\")" NUMBERS
        "(let d (div x root))(let e (erf d))(let p (add e one))(let h (mul x p))"
        "(let y (mul h half))(output y)",
        EG_OP_GELU, EG_OP_ERF);
  check("(egraph-graph 1)(input x \"float32[4,16]\")"
        "(let s (sigmoid x))(let y (mul s x))(output y)",
        EG_OP_SILU, EG_OP_SIGMOID);
  check("(egraph-graph 1)(input x \"float32[4,16]\")"
        "(let s (softplus x))(let t (tanh s))(let y (mul x t))(output y)",
        EG_OP_MISH, EG_OP_TANH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layer_normalization_is_one_operator),
      cmocka_unit_test(root_mean_square_normalization_is_one_operator),
      cmocka_unit_test(activations_are_one_operator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
