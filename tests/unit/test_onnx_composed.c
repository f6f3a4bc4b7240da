// Import of operators on single elements, of ones that become several nodes, and of ones
// that are computed where their operands are known.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onnx_kit.h"

#include <math.h>

static Onnx__NodeProto *one_node(onnx_kit *kit, int64_t opset, const char *op,
                                 const char *type, const char *operands) {
  kit_begin(kit, opset);
  kit_input(kit, "x", type);
  kit_output(kit, "y");
  return kit_node(kit, op, operands, "y");
}

static void elements_are_named_by_attributes(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 14, "Trilu", "float32[3,3]", "x,k");
  kit_int(&kit, node, "upper", 0);
  (void)kit_weight(&kit, "k", "int64[]", &(int64_t){-1});
  kit_expect(&kit, "(input x \"float32[3,3]\")\n"
                   "(let y (trilu :upper 0 :k -1 x))\n(output y)\n");
  (void)one_node(&kit, 11, "OneHot", "int64[4]", "x,depth,values");
  (void)kit_weight(&kit, "depth", "float32[]", &(float){3});
  kit_input(&kit, "values", "float32[2]");
  kit_expect(&kit, "(input x \"int64[4]\")\n(input values \"float32[2]\")\n"
                   "(let y (one-hot :depth 3 :axis 1 x values))\n(output y)\n");
  node = one_node(&kit, 16, "ScatterND", "float32[4,2]", "x,i,u");
  kit_input(&kit, "i", "int64[3,1]");
  kit_input(&kit, "u", "float32[3,2]");
  kit_string(&kit, node, "reduction", "add");
  kit_expect(&kit, "(input x \"float32[4,2]\")\n(input i \"int64[3,1]\")\n"
                   "(input u \"float32[3,2]\")\n"
                   "(let y (scatter-nd :reduction add x i u))\n(output y)\n");
  node = one_node(&kit, 14, "CumSum", "float32[4]", "x,axis");
  (void)kit_weight(&kit, "axis", "int32[]", &(int32_t){0});
  kit_int(&kit, node, "exclusive", 1);
  kit_int(&kit, node, "reverse", 1);
  kit_expect(&kit, "(input x \"float32[4]\")\n"
                   "(let y (cum-sum :axis 0 :exclusive 1 :reverse 1 x))\n(output y)\n");
}

static void compositions_keep_the_name_of_the_result(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 10, "ThresholdedRelu", "float32[2]", "x");
  kit_float(&kit, node, "alpha", 2.0F);
  kit_expect(&kit, "(input x \"float32[2]\")\n(weight constant.1 \"float32[]\" [2.0])\n"
                   "(let y.1 (greater x constant.1))\n"
                   "(weight constant.2 \"float32[]\" [0.0])\n"
                   "(let y (where y.1 x constant.2))\n(output y)\n");
  node = one_node(&kit, 22, "EyeLike", "float32[2,3]", "x");
  kit_int(&kit, node, "k", 1);
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(let y.1 (eye :n 3))\n"
                   "(let y (slice :starts [1 0] :ends [3 3] :steps [1 1] y.1))\n"
                   "(output y)\n");
  (void)one_node(&kit, 11, "Compress", "float32[2,2]", "x,c");
  (void)kit_weight(&kit, "c", "bool[3]", (const uint8_t[]){0, 1, 1});
  kit_expect(&kit, "(input x \"float32[2,2]\")\n(let y.1 (reshape :shape [4] x))\n"
                   "(weight constant.1 \"int64[2]\" [1 2])\n"
                   "(let y (gather y.1 constant.1))\n(output y)\n");
}

/// OneHot takes no scalar, so that a vector is seen as a matrix of one row.
static void the_largest_of_a_vector_has_a_place_in_a_row(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "Hardmax", "float32[4]", "x");
  kit_expect(&kit, "(input x \"float32[4]\")\n(let y.1 (reshape :shape [1 4] x))\n"
                   "(let y.2 (arg-max :axis 1 :keepdims 0 y.1))\n"
                   "(weight constant.1 \"float32[2]\" [0.0 1.0])\n"
                   "(let y.3 (one-hot :depth 4 :axis 1 y.2 constant.1))\n"
                   "(let y (reshape :shape [4] y.3))\n(output y)\n");
}

static void known_operands_give_constants(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  (void)kit_weight(&kit, "w", "float32[2,3]", (const float[]){0, 2, 0, NAN, 0, -1});
  (void)kit_node(&kit, "NonZero", "w", "y");
  kit_output(&kit, "y");
  kit_expect(&kit, "(weight y \"int64[2,3]\" [0 1 1 1 0 2])\n(output y)\n");
  kit_begin(&kit, 11);
  (void)kit_weight(&kit, "w", "int32[6]", (const int32_t[]){5, 1, 5, -3, 1, 5});
  Onnx__NodeProto *node = kit_node(&kit, "Unique", "w", "y,i,n,c");
  kit_int(&kit, node, "sorted", 0);
  kit_output(&kit, "y");
  kit_output(&kit, "i");
  kit_output(&kit, "n");
  kit_output(&kit, "c");
  kit_expect(&kit, "(weight y \"int32[3]\" [5 1 -3])\n(weight i \"int64[3]\" [0 1 3])\n"
                   "(weight n \"int64[6]\" [0 1 0 2 1 0])\n"
                   "(weight c \"int64[3]\" [3 2 1])\n"
                   "(output y)\n(output i)\n(output n)\n(output c)\n");
  kit_begin(&kit, 11);
  (void)kit_weight(&kit, "w", "float32[2,3]", (const float[]){2, 1, 2, 4, 3, 4});
  node = kit_node(&kit, "Unique", "w", "y");
  kit_int(&kit, node, "axis", 1);
  kit_output(&kit, "y");
  kit_expect(&kit, "(weight y \"float32[2,2]\" [1.0 2.0 3.0 4.0])\n(output y)\n");
  kit_begin(&kit, 11);
  (void)kit_weight(&kit, "a", "float32[]", &(float){1});
  (void)kit_weight(&kit, "b", "float32[]", &(float){2});
  (void)kit_weight(&kit, "s", "float32[]", &(float){0.25F});
  (void)kit_node(&kit, "Range", "a,b,s", "y");
  kit_output(&kit, "y");
  kit_expect(&kit, "(weight y \"float32[4]\" [1.0 1.25 1.5 1.75])\n(output y)\n");
}

static void integer_ranges_do_not_overflow(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 11);
  (void)kit_weight(&kit, "a", "int64[]", &(int64_t){INT64_MAX - 1});
  (void)kit_weight(&kit, "b", "int64[]", &(int64_t){INT64_MIN});
  (void)kit_weight(&kit, "s", "int64[]", &(int64_t){INT64_MIN});
  (void)kit_node(&kit, "Range", "a,b,s", "y");
  kit_output(&kit, "y");
  kit_expect(&kit, "(weight y \"int64[2]\" [9223372036854775806 -2])\n(output y)\n");
}

/// Indices are called by the order in which they appear; what two operands leave comes
/// first where it has the fewest dimensions.
static void einsums_of_many_operands_are_products_of_pairs(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 12, "Einsum", "float32[2,3]", "x,v,w");
  kit_input(&kit, "v", "float32[4,5]");
  kit_input(&kit, "w", "float32[3,4]");
  kit_string(&kit, node, "equation", "q k, n m, k n");
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(input v \"float32[4,5]\")\n"
                   "(input w \"float32[3,4]\")\n"
                   "(let y.1 (einsum :equation \"ab,bc->ac\" x w))\n"
                   "(let y (einsum :equation \"ab,bc->ca\" y.1 v))\n(output y)\n");
  node = one_node(&kit, 12, "Einsum", "float32[2,3]", "x,x,x");
  kit_string(&kit, node, "equation", "...i,...i,...i->...");
  kit_expect(&kit, "(input x \"float32[2,3]\")\n"
                   "(let y (einsum :equation \"...a,...a,...a->...\" x x x))\n"
                   "(output y)\n");
  // Of two pairs that leave two dimensions the one that leaves fewer elements.
  node = one_node(&kit, 12, "Einsum", "float32[1,9]", "x,v,x,v");
  kit_input(&kit, "v", "float32[9,1]");
  kit_string(&kit, node, "equation", "ab,cd,ac,bd->");
  kit_expect(&kit, "(input x \"float32[1,9]\")\n(input v \"float32[9,1]\")\n"
                   "(let y.1 (einsum :equation \"ab,bc->ac\" x v))\n"
                   "(let y.2 (einsum :equation \"ab,ca->bc\" v x))\n"
                   "(let y (einsum :equation \"ab,ba->\" y.1 y.2))\n(output y)\n");
  // Between pairs half precision would round, and overflow.
  node = one_node(&kit, 12, "Einsum", "float16[2]", "x,x,x");
  kit_string(&kit, node, "equation", "i,i,i->i");
  kit_expect(&kit, "(input x \"float16[2]\")\n"
                   "(let y (einsum :equation \"a,a,a->a\" x x x))\n(output y)\n");
  // Any pair would leave more than there is.
  node = one_node(&kit, 12, "Einsum", "float32[4,4,4]", "x,x,x,x");
  kit_string(&kit, node, "equation", "abc,ade,bdf,cef->");
  kit_expect(&kit, "(input x \"float32[4,4,4]\")\n"
                   "(let y (einsum :equation \"abc,ade,bdf,cef->\" x x x x))\n"
                   "(output y)\n");
  node = one_node(&kit, 12, "Einsum", "float32[2,3]", "x,x,x");
  kit_string(&kit, node, "equation", "ij,ij->ij");
  kit_refuse(&kit, EGRAPH_E_PARSE, "equation 'ij,ij->ij' is malformed");
  node = one_node(&kit, 12, "Einsum", "float32[2,3]", "x,x,x");
  kit_string(&kit, node, "equation", "ij,jk,kl->il");
  kit_refuse(&kit, EGRAPH_E_PARSE, "einsum");
}

static void expect_opaque(onnx_kit *kit) {
  eg_graph *graph;
  assert_ok(kit_import(kit, NULL, &graph));
  uint32_t last = eg_graph_node_count(graph) - 1;
  assert_int_equal(eg_graph_node_at(graph, (eg_graph_node){last}).attrs->op,
                   EG_OP_OPAQUE);
  eg_graph_destroy(graph);
  kit_end(kit);
}

static void nodes_whose_sizes_are_not_known_are_kept(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "NonZero", "float32[4]", "x");
  expect_opaque(&kit);
  (void)one_node(&kit, 11, "Unique", "float32[4]", "x");
  expect_opaque(&kit);
  (void)one_node(&kit, 11, "Compress", "float32[4]", "x,c");
  kit_input(&kit, "c", "bool[4]");
  expect_opaque(&kit);
  (void)one_node(&kit, 13, "Mod", "float32[4]", "x,x"); // the sign came with set 28
  expect_opaque(&kit);
}

static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 11, "OneHot", "int64[4]", "x,depth,x");
  (void)kit_weight(&kit, "depth", "int64[]", &(int64_t){-1});
  kit_refuse(&kit, EGRAPH_E_PARSE, "the depth is no positive scalar");
  Onnx__NodeProto *node = one_node(&kit, 23, "Attention", "float32[1,4,6]", "x,x,x");
  kit_int(&kit, node, "q_num_heads", 4);
  kit_int(&kit, node, "kv_num_heads", 4);
  kit_refuse(&kit, EGRAPH_E_PARSE, "operand 0 cannot form 4 heads");
  (void)one_node(&kit, 23, "Attention", "float32[1,4,4,6]", "x,x,x,,x");
  kit_refuse(&kit, EGRAPH_E_PARSE, "past keys and past values come together");
  node = one_node(&kit, 18, "CenterCropPad", "float32[2,3]", "x,s");
  kit_vector(&kit, "s", 1, (const int64_t[]){2});
  kit_refuse(&kit, EGRAPH_E_PARSE, "shape and axes differ in length");
  (void)one_node(&kit, 13, "NegativeLogLikelihoodLoss", "float32[2,3,4]", "x,t");
  kit_input(&kit, "t", "int64[2,3]");
  kit_refuse(&kit, EGRAPH_E_PARSE, "scores [N, C, ..] and classes [N, ..] do not fit");
  node = one_node(&kit, 13, "SoftmaxCrossEntropyLoss", "float32[2,3]", "x,t");
  kit_input(&kit, "t", "int64[2]");
  kit_string(&kit, node, "reduction", "median");
  kit_refuse(&kit, EGRAPH_E_PARSE, "attribute 'reduction' is 'median'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_named_by_attributes),
      cmocka_unit_test(compositions_keep_the_name_of_the_result),
      cmocka_unit_test(the_largest_of_a_vector_has_a_place_in_a_row),
      cmocka_unit_test(known_operands_give_constants),
      cmocka_unit_test(einsums_of_many_operands_are_products_of_pairs),
      cmocka_unit_test(integer_ranges_do_not_overflow),
      cmocka_unit_test(nodes_whose_sizes_are_not_known_are_kept),
      cmocka_unit_test(what_makes_no_sense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
