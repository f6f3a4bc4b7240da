// Import of single ONNX operators: what old and new operator sets mean is made explicit;
// and export writes what import reads.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onnx_kit.h"

#include <float.h>

static Onnx__NodeProto *one_node(onnx_kit *kit, int64_t opset, const char *op,
                                 const char *type, const char *operands) {
  kit_begin(kit, opset);
  kit_input(kit, "x", type);
  kit_output(kit, "y");
  return kit_node(kit, op, operands, "y");
}

static void auto_pad_becomes_pads(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 11, "Conv", "float32[1,1,5,6]", "x,w");
  kit_input(&kit, "w", "float32[1,1,3,2]");
  kit_string(&kit, node, "auto_pad", "SAME_UPPER");
  kit_ints(&kit, node, "strides", 2, (const int64_t[]){2, 1});
  kit_expect(&kit, "(input x \"float32[1,1,5,6]\")\n(input w \"float32[1,1,3,2]\")\n"
                   "(let y (conv :strides [2 1] :pads [1 0 1 1] :dilations [1 1] x w))\n"
                   "(output y)\n");
  node = one_node(&kit, 11, "MaxPool", "float32[1,1,5,6]", "x");
  kit_string(&kit, node, "auto_pad", "SAME_LOWER");
  kit_ints(&kit, node, "kernel_shape", 2, (const int64_t[]){2, 2});
  kit_expect(&kit, "(input x \"float32[1,1,5,6]\")\n"
                   "(let y (max-pool :kernel_shape [2 2] :strides [1 1] :pads [1 1 0 0] "
                   ":dilations [1 1] x))\n(output y)\n");
  node = one_node(&kit, 11, "AveragePool", "float32[1,1,5,6]", "x");
  kit_string(&kit, node, "auto_pad", "VALID");
  kit_int(&kit, node, "ceil_mode", 1);
  kit_ints(&kit, node, "kernel_shape", 2, (const int64_t[]){2, 2});
  kit_expect(&kit,
             "(input x \"float32[1,1,5,6]\")\n"
             "(let y (average-pool :kernel_shape [2 2] :strides [1 1] :pads [0 0 0 0] "
             ":ceil_mode 1 x))\n(output y)\n");
}

static void geometry_that_makes_no_sense_is_refused(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 11, "Conv", "float32[1,1,5,6]", "x,w");
  kit_input(&kit, "w", "float32[1,1,3,2]");
  kit_ints(&kit, node, "kernel_shape", 2, (const int64_t[]){3, 3});
  kit_refuse(&kit, EGRAPH_E_PARSE, "m.onnx: node Conv (node 0): 'kernel_shape'");
  node = one_node(&kit, 11, "MaxPool", "float32[1,1,5,6]", "x");
  node->name = kit_string_copy(&kit, "pool1");
  kit_refuse(&kit, EGRAPH_E_PARSE, "node MaxPool 'pool1': attribute 'kernel_shape'");
  node = one_node(&kit, 11, "MaxPool", "float32[1,1,5,6]", "x");
  kit_ints(&kit, node, "kernel_shape", 3, (const int64_t[]){2, 2, 2});
  kit_refuse(&kit, EGRAPH_E_PARSE, "3 entries");
  node = one_node(&kit, 11, "MaxPool", "float32[1,1,5,6]", "x");
  kit_ints(&kit, node, "kernel_shape", 2, (const int64_t[]){2, INT64_MAX});
  kit_refuse(&kit, EGRAPH_E_PARSE, "has the entry");
  node = one_node(&kit, 11, "Conv", "float32[1,1,5,6]", "x,w");
  kit_input(&kit, "w", "float32[1,7,3,2]");
  kit_refuse(&kit, EGRAPH_E_PARSE, "conv");
  node = one_node(&kit, 11, "Conv", "float32[1,1,5,6]", "x");
  kit_refuse(&kit, EGRAPH_E_PARSE, "operand 1 is missing");
}

static void an_output_shape_of_a_transposed_convolution_fixes_its_pads(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 11, "ConvTranspose", "float32[1,1,3,3]", "x,w");
  kit_input(&kit, "w", "float32[1,2,3,3]");
  kit_ints(&kit, node, "strides", 2, (const int64_t[]){2, 2});
  kit_ints(&kit, node, "output_shape", 2, (const int64_t[]){6, 5});
  kit_expect(&kit,
             "(input x \"float32[1,1,3,3]\")\n(input w \"float32[1,2,3,3]\")\n"
             "(let y (conv-transpose :strides [2 2] :pads [1 1 0 1] :dilations [1 1] "
             ":output_padding [0 0] x w))\n(output y)\n");
}

static void softmax_of_old_sets_sees_a_matrix(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 11, "Softmax", "float32[2,3,4]", "x");
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n"
                   "(let y.1 (flatten x))\n"
                   "(let y.2 (softmax :axis 1 y.1))\n"
                   "(let y (reshape :shape [2 3 4] y.2))\n(output y)\n");
  (void)one_node(&kit, 11, "LogSoftmax", "float32[2,3]", "x");
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(let y (log-softmax :axis 1 x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "Softmax", "float32[2,3,4]", "x");
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n(let y (softmax :axis 2 x))\n"
                   "(output y)\n");
}

static void clip_takes_bounds_from_wherever_they_are(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 10, "Clip", "float32[2]", "x");
  kit_float(&kit, node, "max", 6.0F);
  kit_float(&kit, node, "min", -0.5F);
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (clip :min -0.5 :max 6.0 x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "Clip", "float32[2]", "x,,high");
  (void)kit_weight(&kit, "high", "float32[]", &(float){6.0F});
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (clip :max 6.0 x))\n(output y)\n");
  (void)one_node(&kit, 13, "Clip", "float32[2]", "x,low,high");
  kit_input(&kit, "low", "float32[]");
  kit_input(&kit, "high", "float32[]");
  kit_expect(&kit, "(input x \"float32[2]\")\n(input low \"float32[]\")\n"
                   "(input high \"float32[]\")\n(let y.1 (max x low))\n"
                   "(let y (min y.1 high))\n(output y)\n");
  (void)one_node(&kit, 13, "Clip", "int32[2]", "x");
  kit_expect(&kit, "(input x \"int32[2]\")\n(let y (identity x))\n(output y)\n");
}

static void chains_replace_many_operands(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "Sum", "float32[2]", "x,x,x");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y.1 (add x x))\n"
                   "(let y (add y.1 x))\n(output y)\n");
  (void)one_node(&kit, 13, "Mean", "float32[2]", "x,x,x");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y.1 (add x x))\n"
                   "(let y.2 (add y.1 x))\n(weight constant.1 \"float32[]\" [3.0])\n"
                   "(let y (div y.2 constant.1))\n(output y)\n");
  (void)one_node(&kit, 13, "Max", "int64[2]", "x");
  kit_expect(&kit, "(input x \"int64[2]\")\n(let y (identity x))\n(output y)\n");
  (void)one_node(&kit, 13, "Min", "int64[2]", "");
  kit_refuse(&kit, EGRAPH_E_PARSE, "no operands");
}

static void pointwise_operators_are_imported(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 18, "Mish", "float32[2]", "x");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (mish x))\n(output y)\n");
  Onnx__NodeProto *node = one_node(&kit, 20, "Gelu", "float32[2]", "x");
  kit_string(&kit, node, "approximate", "tanh");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (gelu :approximate tanh x))\n"
                   "(output y)\n");
  node = one_node(&kit, 20, "Gelu", "float64[2]", "x"); // numbers of float32, cast
  kit_string(&kit, node, "approximate", "tanh");
  eg_graph *graph;
  assert_ok(kit_import(&kit, NULL, &graph));
  kit_expect_graph(graph, "(egraph-graph 1)\n(input x \"float64[2]\")\n"
                          "(weight constant.1 \"float64[]\" [0.5])\n"
                          "(let y.1 (mul constant.1 x))\n"
                          "(let y.2 (square x))\n"
                          "(let y.3 (mul y.2 x))\n"
                          "(weight constant.2 \"float64[]\" [0.044714998453855515])\n"
                          "(let y.4 (mul constant.2 y.3))\n"
                          "(let y.5 (add x y.4))\n"
                          "(weight constant.3 \"float64[]\" [0.7978845447087116])\n"
                          "(let y.6 (mul constant.3 y.5))\n"
                          "(let y.7 (tanh y.6))\n"
                          "(weight constant.4 \"float64[]\" [1.0])\n"
                          "(let y.8 (add constant.4 y.7))\n"
                          "(let y (mul y.1 y.8))\n"
                          "(output y)\n");
  eg_graph_destroy(graph);
  kit_end(&kit);
  node = one_node(&kit, 13, "Cast", "float32[2]", "x");
  kit_int(&kit, node, "to", 7);
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (cast :to int64 x))\n(output y)\n");
  (void)one_node(&kit, 15, "CastLike", "float32[2]", "x,like");
  kit_input(&kit, "like", "bool[1]");
  kit_expect(&kit, "(input x \"float32[2]\")\n(input like \"bool[1]\")\n"
                   "(let y (cast :to bool x))\n(output y)\n");
  node = one_node(&kit, 7, "LeakyRelu", "float32[2]", "x");
  kit_float(&kit, node, "alpha", 0.01F);
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (leaky-relu x))\n(output y)\n");
  (void)one_node(&kit, 7, "HardSigmoid", "float64[2]", "x"); // 0.2 in 32 bits
  Onnx__NodeProto *given = kit_node(&kit, "HardSigmoid", "y", "z");
  kit_float(&kit, given, "alpha", 0.2F);
  kit.outputs[0] = kit_info(&kit, "z", NULL);
  kit_expect(&kit, "(input x \"float64[2]\")\n(let y (hard-sigmoid x))\n"
                   "(let z (hard-sigmoid y))\n(output z)\n");
  node = one_node(&kit, 7, "Elu", "float32[2]", "x");
  kit_float(&kit, node, "alpha", 0.25F);
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (elu :alpha 0.25 x))\n(output y)\n");
}

static void dropout_is_the_identity_in_inference(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 7, "Dropout", "float32[2]", "x");
  kit_float(&kit, node, "ratio", 0.5F);
  node->output = kit_names(&kit, "y,mask", &node->n_output);
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (identity x))\n(output y)\n");
  (void)one_node(&kit, 12, "Dropout", "float32[2]", "x,,training");
  (void)kit_weight(&kit, "training", "bool[]", "\0");
  kit_expect(&kit, "(input x \"float32[2]\")\n(let y (identity x))\n(output y)\n");
}

static void reductions_have_sorted_axes(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 13, "ReduceMean", "float32[2,3,4]", "x");
  kit_ints(&kit, node, "axes", 2, (const int64_t[]){-1, 0});
  kit_int(&kit, node, "keepdims", 0);
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n"
                   "(let y (reduce-mean :axes [0 2] :keepdims 0 x))\n(output y)\n");
  (void)one_node(&kit, 18, "ReduceMax", "float32[2,3,4]", "x,axes");
  kit_vector(&kit, "axes", 1, (const int64_t[]){-2});
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n(let y (reduce-max :axes [1] x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "ReduceSum", "float32[2,3]", "x");
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(let y (reduce-sum :axes [0 1] x))\n"
                   "(output y)\n");
  node = one_node(&kit, 13, "ReduceSum", "float32[2,3]", "x");
  kit_int(&kit, node, "noop_with_empty_axes", 1);
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(let y (reduce-sum :axes [] x))\n"
                   "(output y)\n");
  node = one_node(&kit, 13, "ReduceL2", "float32[2,3]", "x");
  kit_ints(&kit, node, "axes", 1, (const int64_t[]){1});
  kit_expect(&kit,
             "(input x \"float32[2,3]\")\n(let y.1 (square x))\n"
             "(let y.2 (reduce-sum :axes [1] y.1))\n(let y (sqrt y.2))\n(output y)\n");
  node = one_node(&kit, 13, "ReduceL1", "float32[2,3]", "x");
  kit_ints(&kit, node, "axes", 2, (const int64_t[]){1, -1});
  kit_refuse(&kit, EGRAPH_E_PARSE, "axis 1 is given twice");
  node = one_node(&kit, 13, "ReduceLogSum", "float32[2,3]", "x");
  kit_ints(&kit, node, "axes", 1, (const int64_t[]){2});
  kit_refuse(&kit, EGRAPH_E_PARSE, "axis 2 is outside of rank 2");
}

static void searches_and_sums_along_an_axis(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 11, "TopK", "float32[2,5]", "x,k");
  kit_vector(&kit, "k", 1, (const int64_t[]){3});
  node->output = kit_names(&kit, "y,i", &node->n_output);
  kit_output(&kit, "i");
  kit_expect(&kit, "(input x \"float32[2,5]\")\n(let [y i] (top-k :k 3 :axis 1 x))\n"
                   "(output y)\n(output i)\n");
  (void)one_node(&kit, 14, "CumSum", "float32[2,5]", "x,axis");
  (void)kit_weight(&kit, "axis", "int64[]", &(int64_t){-1});
  kit_expect(&kit,
             "(input x \"float32[2,5]\")\n(let y (cum-sum :axis 1 x))\n(output y)\n");
  node = one_node(&kit, 13, "ArgMax", "float32[2,5]", "x");
  kit_int(&kit, node, "axis", -1);
  kit_expect(&kit,
             "(input x \"float32[2,5]\")\n(let y (arg-max :axis 1 x))\n(output y)\n");
}

static void reshapes_are_resolved(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "Reshape", "float32[2,3,4]", "x,shape");
  kit_vector(&kit, "shape", 3, (const int64_t[]){0, -1, 2});
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n(let y (reshape :shape [2 6 2] x))\n"
                   "(output y)\n");
  Onnx__NodeProto *node = one_node(&kit, 14, "Reshape", "float32[0,3]", "x,shape");
  kit_vector(&kit, "shape", 2, (const int64_t[]){3, 0});
  kit_int(&kit, node, "allowzero", 1);
  kit_expect(&kit, "(input x \"float32[0,3]\")\n(let y (reshape :shape [3 0] x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "Reshape", "float32[2,3]", "x,shape");
  kit_vector(&kit, "shape", 2, (const int64_t[]){-1, -1});
  kit_refuse(&kit, EGRAPH_E_PARSE, "two entries -1");
  (void)one_node(&kit, 13, "Reshape", "float32[2,3]", "x,shape");
  kit_vector(&kit, "shape", 2, (const int64_t[]){4, -1});
  kit_refuse(&kit, EGRAPH_E_PARSE, "6 elements do not fit");
  (void)one_node(&kit, 13, "Reshape", "float32[2,3]", "x,shape");
  kit_vector(&kit, "shape", 2, (const int64_t[]){INT64_MAX, 2});
  kit_refuse(&kit, EGRAPH_E_PARSE, "overflows");
  (void)one_node(&kit, 13, "Reshape", "float32[2]", "x,shape");
  kit_vector(&kit, "shape", 2, (const int64_t[]){2, 0});
  kit_refuse(&kit, EGRAPH_E_PARSE, "copies a dimension");
}

static void views_take_axes_from_attribute_or_operand(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 11, "Squeeze", "float32[1,3,1]", "x");
  kit_expect(&kit, "(input x \"float32[1,3,1]\")\n(let y (squeeze :axes [0 2] x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "Squeeze", "float32[1,3,1]", "x,axes");
  kit_vector(&kit, "axes", 1, (const int64_t[]){-1});
  kit_expect(&kit, "(input x \"float32[1,3,1]\")\n(let y (squeeze :axes [2] x))\n"
                   "(output y)\n");
  Onnx__NodeProto *node = one_node(&kit, 11, "Unsqueeze", "float32[3]", "x");
  kit_ints(&kit, node, "axes", 2, (const int64_t[]){-1, 0});
  kit_expect(&kit, "(input x \"float32[3]\")\n(let y (unsqueeze :axes [0 2] x))\n"
                   "(output y)\n");
  node = one_node(&kit, 11, "Flatten", "float32[2,3,4]", "x");
  kit_int(&kit, node, "axis", -1);
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n(let y (flatten :axis 2 x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 11, "Transpose", "float32[2,3,4]", "x");
  kit_expect(&kit, "(input x \"float32[2,3,4]\")\n(let y (transpose :perm [2 1 0] x))\n"
                   "(output y)\n");
}

static void splits_get_their_sizes(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 11, "Split", "float32[2,6]", "x");
  node->output = kit_names(&kit, "y,z", &node->n_output);
  kit_int(&kit, node, "axis", -1);
  kit_expect(&kit,
             "(input x \"float32[2,6]\")\n(let [y z] (split :axis 1 :sizes [3 3] x))\n"
             "(output y)\n");
  node = one_node(&kit, 18, "Split", "float32[7]", "x");
  node->output = kit_names(&kit, "y,z,w", &node->n_output);
  kit_int(&kit, node, "num_outputs", 3);
  kit_expect(&kit,
             "(input x \"float32[7]\")\n(let [y z w] (split :axis 0 :sizes [3 3 1] x))\n"
             "(output y)\n");
  node = one_node(&kit, 13, "Split", "float32[7]", "x,sizes");
  node->output = kit_names(&kit, "y,z", &node->n_output);
  kit_vector(&kit, "sizes", 2, (const int64_t[]){2, 5});
  kit_expect(&kit,
             "(input x \"float32[7]\")\n(let [y z] (split :axis 0 :sizes [2 5] x))\n"
             "(output y)\n");
  node = one_node(&kit, 13, "Split", "float32[7]", "x");
  node->output = kit_names(&kit, "y,z", &node->n_output);
  kit_refuse(&kit, EGRAPH_E_PARSE, "7 does not divide into 2");
}

/// What such a pool gives is for whoever runs it.
static void pools_with_windows_that_are_too_large_are_kept(void **state) {
  (void)state;
  onnx_kit kit;
  eg_graph *graph;
  for (int i = 0; i < 2; i++) {
    Onnx__NodeProto *node =
        one_node(&kit, 13, i == 0 ? "MaxPool" : "AveragePool", "float32[1,1,2,2]", "x");
    kit_ints(&kit, node, "kernel_shape", 2, (const int64_t[]){3, 3});
    kit_int(&kit, node, "ceil_mode", 1);
    assert_ok(kit_import(&kit, NULL, &graph));
    assert_int_equal(eg_graph_node_at(graph, (eg_graph_node){0}).attrs->op, EG_OP_OPAQUE);
    eg_graph_destroy(graph);
    kit_end(&kit);
  }
}

static void slices_of_one_axis_twice_are_refused(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "Slice", "float32[4,5]", "x,s,e,a");
  kit_vector(&kit, "s", 2, (const int64_t[]){1, 1});
  kit_vector(&kit, "e", 2, (const int64_t[]){3, 4});
  kit_vector(&kit, "a", 2, (const int64_t[]){1, -1});
  kit_refuse(&kit, EGRAPH_E_PARSE, "axis 1 is given twice");
}

static void slices_are_clamped(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 9, "Slice", "float32[4,5]", "x");
  kit_ints(&kit, node, "starts", 1, (const int64_t[]){-3});
  kit_ints(&kit, node, "ends", 1, (const int64_t[]){INT64_MAX});
  kit_ints(&kit, node, "axes", 1, (const int64_t[]){1});
  kit_expect(&kit,
             "(input x \"float32[4,5]\")\n"
             "(let y (slice :starts [0 2] :ends [4 5] :steps [1 1] x))\n(output y)\n");
  (void)one_node(&kit, 13, "Slice", "float32[4,5]", "x,s,e,a,p");
  kit_vector(&kit, "s", 2, (const int64_t[]){INT64_MAX, -1});
  kit_vector(&kit, "e", 2, (const int64_t[]){INT64_MIN, 1});
  kit_vector(&kit, "a", 2, (const int64_t[]){0, -1});
  kit_vector(&kit, "p", 2, (const int64_t[]){-2, -1});
  kit_expect(&kit, "(input x \"float32[4,5]\")\n"
                   "(let y (slice :starts [3 4] :ends [-1 1] :steps [-2 -1] x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "Slice", "float32[4,5]", "x,s,e,,p");
  kit_vector(&kit, "s", 1, (const int64_t[]){0});
  kit_vector(&kit, "e", 1, (const int64_t[]){2});
  kit_vector(&kit, "p", 1, (const int64_t[]){0});
  kit_refuse(&kit, EGRAPH_E_PARSE, "a step is 0");
}

static void pads_are_per_dimension_and_positive(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 10, "Pad", "float32[2,3]", "x");
  kit_ints(&kit, node, "pads", 4, (const int64_t[]){0, 1, 2, 0});
  kit_float(&kit, node, "value", 0.5F);
  kit_expect(&kit, "(input x \"float32[2,3]\")\n"
                   "(let y (pad :pads [0 1 2 0] :value 0.5 x))\n(output y)\n");
  (void)one_node(&kit, 18, "Pad", "float32[2,3]", "x,pads,,axes");
  kit_vector(&kit, "pads", 2, (const int64_t[]){-1, 2});
  kit_vector(&kit, "axes", 1, (const int64_t[]){-1});
  kit_expect(&kit, "(input x \"float32[2,3]\")\n"
                   "(let y.1 (slice :starts [0 1] :ends [2 3] :steps [1 1] x))\n"
                   "(let y (pad :pads [0 0 0 2] y.1))\n(output y)\n");
  node = one_node(&kit, 11, "Pad", "float32[2,3]", "x,pads");
  kit_string(&kit, node, "mode", "reflect");
  kit_vector(&kit, "pads", 4, (const int64_t[]){0, 1, 1, 0});
  kit_expect(&kit, "(input x \"float32[2,3]\")\n"
                   "(let y (pad :pads [0 1 1 0] :mode reflect x))\n(output y)\n");
  (void)one_node(&kit, 11, "Pad", "float32[2,3]", "x,pads");
  kit_vector(&kit, "pads", 3, (const int64_t[]){0, 1, 1});
  kit_refuse(&kit, EGRAPH_E_PARSE, "3 pads for 2 dimensions");
}

static void expand_and_tile_get_whole_shapes(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "Expand", "float32[3,1]", "x,shape");
  kit_vector(&kit, "shape", 3, (const int64_t[]){2, 1, 4});
  kit_expect(&kit, "(input x \"float32[3,1]\")\n(let y (expand :shape [2 3 4] x))\n"
                   "(output y)\n");
  (void)one_node(&kit, 13, "Tile", "float32[3,1]", "x,times");
  kit_vector(&kit, "times", 2, (const int64_t[]){2, 4});
  kit_expect(&kit, "(input x \"float32[3,1]\")\n(let y (tile :repeats [2 4] x))\n"
                   "(output y)\n");
  Onnx__NodeProto *node = one_node(&kit, 13, "DepthToSpace", "float32[1,8,2,3]", "x");
  kit_int(&kit, node, "blocksize", 2);
  kit_expect(&kit, "(input x \"float32[1,8,2,3]\")\n"
                   "(let y.1 (reshape :shape [1 2 2 2 2 3] x))\n"
                   "(let y.2 (transpose :perm [0 3 4 1 5 2] y.1))\n"
                   "(let y (reshape :shape [1 2 4 6] y.2))\n(output y)\n");
  node = one_node(&kit, 13, "SpaceToDepth", "float32[1,2,4,6]", "x");
  kit_int(&kit, node, "blocksize", 2);
  kit_expect(&kit, "(input x \"float32[1,2,4,6]\")\n"
                   "(let y.1 (reshape :shape [1 2 2 2 3 2] x))\n"
                   "(let y.2 (transpose :perm [0 3 5 1 2 4] y.1))\n"
                   "(let y (reshape :shape [1 8 2 3] y.2))\n(output y)\n");
}

static void resizes_find_an_equal_placement(void **state) {
  (void)state;
  onnx_kit kit;
  // Floor of i / 3 is what half-pixel gives for a whole factor.
  Onnx__NodeProto *node = one_node(&kit, 9, "Upsample", "float32[1,1,2,2]", "x,scales");
  (void)kit_weight(&kit, "scales", "float32[4]", (const float[]){1.0F, 1.0F, 3.0F, 2.0F});
  kit_expect(&kit, "(input x \"float32[1,1,2,2]\")\n(let y (resize :shape [1 1 6 4] x))\n"
                   "(output y)\n");
  node = one_node(&kit, 13, "Resize", "float32[1,1,2,2]", "x,,,sizes");
  kit_vector(&kit, "sizes", 4, (const int64_t[]){1, 1, 5, 3});
  kit_string(&kit, node, "mode", "linear");
  kit_string(&kit, node, "coordinate_transformation_mode", "align_corners");
  kit_expect(&kit,
             "(input x \"float32[1,1,2,2]\")\n"
             "(let y (resize :shape [1 1 5 3] :mode linear :coordinates align-corners "
             "x))\n(output y)\n");
  node = one_node(&kit, 13, "Resize", "float32[1,1,4,4]", "x,,scales");
  (void)kit_weight(&kit, "scales", "float32[4]", (const float[]){1.0F, 1.0F, 0.5F, 0.5F});
  kit_string(&kit, node, "mode", "linear");
  kit_string(&kit, node, "coordinate_transformation_mode", "asymmetric");
  kit_expect(&kit, "(input x \"float32[1,1,4,4]\")\n"
                   "(let y (resize :shape [1 1 2 2] :mode linear :coordinates asymmetric "
                   "x))\n(output y)\n");
  // The scale is not that of the sizes.
  node = one_node(&kit, 13, "Resize", "float32[1,1,4,4]", "x,,scales");
  (void)kit_weight(&kit, "scales", "float32[4]",
                   (const float[]){1.0F, 1.0F, 1.5F, 1.625F});
  kit_string(&kit, node, "mode", "cubic");
  kit_expect(&kit,
             "(input x \"float32[1,1,4,4]\")\n"
             "(let y (resize :shape [1 1 6 6] :mode cubic :scales [1.0 1.0 1.5 1.625] "
             "x))\n(output y)\n");
  node = one_node(&kit, 13, "Resize", "float32[1,1,4,4]", "x,,scales");
  (void)kit_weight(&kit, "scales", "float32[3]", (const float[]){1.0F, 0.5F, 0.5F});
  kit_refuse(&kit, EGRAPH_E_PARSE, "3 scales for rank 4");
}

static void quantized_numbers_get_their_zero_points(void **state) {
  (void)state;
  onnx_kit kit;
  (void)one_node(&kit, 13, "QuantizeLinear", "float32[2,3]", "x,s");
  kit_input(&kit, "s", "float32[]");
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(input s \"float32[]\")\n"
                   "(weight constant.1 \"uint8[]\" [0])\n"
                   "(let y (quantize-linear x s constant.1))\n(output y)\n");
  // A scalar beside a list of one.
  (void)one_node(&kit, 13, "DequantizeLinear", "uint8[2,3]", "x,s,z");
  kit_input(&kit, "s", "float32[1]");
  kit_input(&kit, "z", "uint8[]");
  kit_expect(&kit, "(input x \"uint8[2,3]\")\n(input s \"float32[1]\")\n"
                   "(input z \"uint8[]\")\n(let y.1 (reshape :shape [1] z))\n"
                   "(let y (dequantize-linear x s y.1))\n(output y)\n");
  (void)one_node(&kit, 13, "MatMulInteger", "uint8[2,3]", "x,w,,z");
  kit_input(&kit, "w", "int8[3,4]");
  kit_input(&kit, "z", "int8[4]");
  kit_expect(&kit, "(input x \"uint8[2,3]\")\n(input w \"int8[3,4]\")\n"
                   "(input z \"int8[4]\")\n(weight constant.1 \"uint8[]\" [0])\n"
                   "(let y (matmul-integer x w constant.1 z))\n(output y)\n");
}

static void recurrent_layers_order_their_operands(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 14, "GRU", "float32[3,2,4]", "x,w,r,,,h");
  kit_input(&kit, "w", "float32[1,6,4]");
  kit_input(&kit, "r", "float32[1,6,2]");
  kit_input(&kit, "h", "float32[1,2,2]");
  kit_int(&kit, node, "hidden_size", 2);
  kit_expect(
      &kit,
      "(input x \"float32[3,2,4]\")\n(input w \"float32[1,6,4]\")\n"
      "(input r \"float32[1,6,2]\")\n(input h \"float32[1,2,2]\")\n"
      "(let y.1 (fill :shape [1 12]))\n(let [y y.2] (gru x w r y.1 h))\n(output y)\n");
  node = one_node(&kit, 14, "GRU", "float32[3,2,4]", "x,w,r");
  kit_input(&kit, "w", "float32[1,6,4]");
  kit_input(&kit, "r", "float32[1,6,2]");
  kit_int(&kit, node, "hidden_size", 3);
  kit_refuse(&kit, EGRAPH_E_PARSE, "hidden_size is 3");
}

static void normalizations_keep_their_defaults(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node =
      one_node(&kit, 9, "BatchNormalization", "float32[1,2,3]", "x,s,b,m,v");
  for (const char *const *name = (const char *const[]){"s", "b", "m", "v", NULL};
       *name != NULL; name++)
    kit_input(&kit, *name, "float32[2]");
  kit_float(&kit, node, "epsilon", 1e-5F);
  kit_float(&kit, node, "momentum", 0.1F);
  kit_expect(&kit, "(input x \"float32[1,2,3]\")\n(input s \"float32[2]\")\n"
                   "(input b \"float32[2]\")\n(input m \"float32[2]\")\n"
                   "(input v \"float32[2]\")\n"
                   "(let y (batch-normalization x s b m v))\n(output y)\n");
  node = one_node(&kit, 17, "LayerNormalization", "float32[2,3]", "x,s");
  kit_input(&kit, "s", "float32[3]");
  node->output = kit_names(&kit, "y,mean,scale", &node->n_output);
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(input s \"float32[3]\")\n"
                   "(let y (layer-normalization :axis 1 x s))\n(output y)\n");
  node = one_node(&kit, 23, "RMSNormalization", "float32[2,3]", "x,s");
  kit_input(&kit, "s", "float32[3]");
  kit_float(&kit, node, "epsilon", 0.25F);
  kit_expect(&kit, "(input x \"float32[2,3]\")\n(input s \"float32[3]\")\n"
                   "(let y (rms-normalization :axis 1 :epsilon 0.25 x s))\n(output y)\n");
  node = one_node(&kit, 21, "GroupNormalization", "float32[2,4,3]", "x,s,b");
  kit_input(&kit, "s", "float32[4]");
  kit_input(&kit, "b", "float32[4]");
  kit_int(&kit, node, "num_groups", 2);
  kit_expect(&kit, "(input x \"float32[2,4,3]\")\n(input s \"float32[4]\")\n"
                   "(input b \"float32[4]\")\n"
                   "(let y (group-normalization :num_groups 2 x s b))\n(output y)\n");
}

static void used_statistics_of_a_layer_normalization_are_computed(void **state) {
  (void)state;
  onnx_kit kit;
  Onnx__NodeProto *node = one_node(&kit, 17, "LayerNormalization", "float32[2,3]", "x,s");
  kit_input(&kit, "s", "float32[3]");
  node->output = kit_names(&kit, "y,mean,scale", &node->n_output);
  kit_output(&kit, "scale");
  kit_expect(&kit,
             "(input x \"float32[2,3]\")\n(input s \"float32[3]\")\n"
             "(let mean (reduce-mean :axes [1] x))\n"
             "(let y.1 (sub x mean))\n(let y.2 (square y.1))\n"
             "(let y.3 (reduce-mean :axes [1] y.2))\n"
             "(weight constant.1 \"float32[]\" [9.999999747378752e-06])\n"
             "(let y.4 (add y.3 constant.1))\n(let scale (rsqrt y.4))\n"
             "(let y (layer-normalization :axis 1 x s))\n(output y)\n(output scale)\n");
}

static void fills_stay_small(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_output(&kit, "y");
  kit_vector(&kit, "shape", 2, (const int64_t[]){300, 20});
  Onnx__NodeProto *node = kit_node(&kit, "ConstantOfShape", "shape", "y");
  kit_attr(&kit, node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t =
      kit_tensor(&kit, "", "float32[1]", &(float){0.5F});
  kit_expect(&kit, "(let y (fill :shape [300 20] :value 0.5))\n(output y)\n");
}

// What has no ONNX operator comes back from the function call with all its attributes,
// 64-bit numbers included.
static void gradients_have_no_form_in_onnx(void **state) {
  (void)state;
  static const char text[] =
      "(egraph-graph 1)(input x \"float32[2,4,6,6]\")(input d \"float32[2,8,6,6]\")"
      "(let g (conv-grad-weight :strides [1 1] :pads [1 1 1 1] :dilations [1 1] "
      ":kernel_shape [3 3] x d))(output g)";
  eg_graph *graph;
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
  assert_int_equal(eg_onnx_pack(graph, &bytes, &size), EGRAPH_E_UNSUPPORTED);
  assert_non_null(strstr(egraph_last_error(), "conv-grad-weight (g)"));
  eg_graph_destroy(graph);
}

static void our_operators_survive_export(void **state) {
  (void)state;
  static const char whole[] =
      "(egraph-graph 1)\n"
      "(input x \"float32[1,4,8,8]\")\n(input w \"float32[4,2,3,3]\")\n"
      "(input b \"float32[4]\")\n(input z \"float32[1,4,8,8]\")\n(input a "
      "\"float32[3,5]\")\n(input y \"float32[4,4,3,3]\")\n"
      "(input c \"float32[7,5]\")\n(input g \"float32[5]\")\n"
      "(let c1 (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :group 2 :act clip "
      ":act_alpha 0.1 :act_beta 6.0 x w b z) :node first :formats [nhwc])\n"
      "(let c2 (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :group 2 :act clip "
      ":act_alpha 0.1 :act_beta 6.0 c1 w b z) :formats [nhwc])\n"
      "(let f (conv-transpose :strides [1 1] :pads [1 1 1 1] :dilations [1 1] "
      ":output_padding [0 0] :algorithm winograd x y))\n"
      "(let m (matmul :transB 1 :act gelu-tanh a c))\n"
      "(let r (rms-normalization :axis 1 :epsilon 1e-06 a g))\n"
      "(let n (group-normalization :num_groups 2 x b b))\n"
      "(let e (enlarge :kernel_shape [5 7] w))\n"
      "(let k (merge-gconv :group 2 :count 2 w))\n"
      "(let p (pool-kernel :channels 4 :kernel_shape [3 3]))\n"
      "(let i (eye :n 4))\n(let j (conv-identity :channels 4 :kernel_shape [3 3] :group "
      "2))\n"
      "(let q (rsqrt x))\n(let s (square q))\n(let t (silu s))\n(let u (gelu t))\n"
      "(output c2)\n(output f)\n(output m)\n(output r)\n(output n)\n(output e)\n(output "
      "k)\n"
      "(output p)\n(output i)\n(output j)\n(output u)\n";
  eg_graph *graph, *again;
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_graph_parse(NULL, "t", whole, strlen(whole), &graph));
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  assert_ok(eg_onnx_parse(NULL, "m", bytes, size, NULL, NULL, &again));
  kit_expect_graph(again, whole);
  // One function per signature: the second convolution reads another format, which ONNX
  // does not see.
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  assert_int_equal(model->n_functions, 14);
  assert_string_equal(model->functions[0]->name, "conv.1");
  assert_string_equal(model->functions[0]->domain, "egraph");
  onnx__model_proto__free_unpacked(model, NULL);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  eg_graph_destroy(again);
  eg_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(auto_pad_becomes_pads),
      cmocka_unit_test(geometry_that_makes_no_sense_is_refused),
      cmocka_unit_test(an_output_shape_of_a_transposed_convolution_fixes_its_pads),
      cmocka_unit_test(softmax_of_old_sets_sees_a_matrix),
      cmocka_unit_test(clip_takes_bounds_from_wherever_they_are),
      cmocka_unit_test(chains_replace_many_operands),
      cmocka_unit_test(pointwise_operators_are_imported),
      cmocka_unit_test(dropout_is_the_identity_in_inference),
      cmocka_unit_test(reductions_have_sorted_axes),
      cmocka_unit_test(searches_and_sums_along_an_axis),
      cmocka_unit_test(reshapes_are_resolved),
      cmocka_unit_test(views_take_axes_from_attribute_or_operand),
      cmocka_unit_test(splits_get_their_sizes),
      cmocka_unit_test(slices_are_clamped),
      cmocka_unit_test(pools_with_windows_that_are_too_large_are_kept),
      cmocka_unit_test(slices_of_one_axis_twice_are_refused),
      cmocka_unit_test(pads_are_per_dimension_and_positive),
      cmocka_unit_test(expand_and_tile_get_whole_shapes),
      cmocka_unit_test(resizes_find_an_equal_placement),
      cmocka_unit_test(quantized_numbers_get_their_zero_points),
      cmocka_unit_test(recurrent_layers_order_their_operands),
      cmocka_unit_test(normalizations_keep_their_defaults),
      cmocka_unit_test(used_statistics_of_a_layer_normalization_are_computed),
      cmocka_unit_test(fills_stay_small),
      cmocka_unit_test(gradients_have_no_form_in_onnx),
      cmocka_unit_test(our_operators_survive_export),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
