// Type inference: the table of good nodes, and the messages for bad ones.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops_fixture.h"

static bool typed_by_owner(eg_op op) {
  return op == EG_OP_INPUT || op == EG_OP_WEIGHT || op == EG_OP_PART ||
         op == EG_OP_OPAQUE;
}

static void every_case_infers_its_result_types(void **state) {
  (void)state;
  for (int i = 0; i < OPS_CASES; i++) {
    const ops_case *row = &ops_cases[i];
    fixture f;
    eg_type wanted[FIXTURE_MAX_TYPES], found[FIXTURE_MAX_TYPES];
    fixture_init(&f, row);
    uint32_t count = read_types(row->results, wanted);
    assert_int_equal(eg_op_results(&f.attrs), count);
    assert_ok(eg_op_infer(&f.attrs, f.inputs, f.count, found));
    for (uint32_t r = 0; r < count; r++)
      if (!eg_type_same(&found[r], &wanted[r])) {
        eg_text text;
        eg_text_init(&text, eg_allocator_heap());
        assert_ok(eg_type_print(&text, &found[r]));
        print_error("%s %s: result %u is %s, not %s\n", eg_op_info_of(row->op)->name,
                    row->inputs, r, eg_text_of(&text), row->results);
        eg_text_deinit(&text);
        fail();
      }
    fixture_deinit(&f);
  }
}

static void every_operator_has_a_case(void **state) {
  (void)state;
  bool seen[EG_OP_COUNT] = {false};
  for (int i = 0; i < OPS_CASES; i++)
    seen[ops_cases[i].op] = true;
  for (int op = 0; op < EG_OP_COUNT; op++)
    if (!seen[op] && !typed_by_owner((eg_op)op))
      fail_msg("operator %s has no case in ops_cases.def",
               eg_op_info_of((eg_op)op)->name);
}

static void nodes_typed_by_their_graph_are_refused(void **state) {
  (void)state;
  static const ops_case rows[] = {{EG_OP_INPUT, "", "", ""},
                                  {EG_OP_WEIGHT, "", "", ""},
                                  {EG_OP_PART, "", "float32[1]", ""},
                                  {EG_OP_OPAQUE, "", "float32[1]", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    eg_type out;
    eg_factors factors;
    fixture_init(&f, &rows[i]);
    assert_true(typed_by_owner(rows[i].op));
    assert_fails(eg_op_infer(&f.attrs, f.inputs, f.count, &out), EGRAPH_E_ARGUMENT,
                 "known to its graph");
    assert_fails(eg_op_factors(&f.attrs, f.inputs, f.count, &factors), EGRAPH_E_ARGUMENT,
                 "known to its graph");
    assert_true(eg_op_flops(&f.attrs, f.inputs, f.count) == 0);
    fixture_deinit(&f);
  }
}

#define MAX64 "9223372036854775807"
#define HUGE62 "4611686018427387903"
#define ADAM(w, g, step) w " " w " " w " " g " float64[] " step
#define GRAD ":strides [1] :pads [0 0] :dilations [1] :kernel_shape [3]"

// Each row: a node that must be refused, and a part of the message.
static const ops_case bad_cases[] = {
    // operand counts and dtypes
    {EG_OP_ADD, "", "float32[2]", "add: got 1 operands; it takes exactly 2"},
    {EG_OP_MATMUL, "", "float32[2]", "matmul: got 1 operands; it takes at least 2"},
    {EG_OP_CONCAT, ":axis 0", "", "concat: got 0 operands; it takes at least 1"},
    {EG_OP_GEMM, "", "float32[2,2] float32[2,2] float32[2] float32[2]",
     "gemm: got 4 operands; it takes at most 3"},
    {EG_OP_EXP, "", "int32[2]", "exp: operand 0 is int32; it must be floating point"},
    {EG_OP_NOT, "", "int32[2]", "not: operand 0 is int32; it must be bool"},
    {EG_OP_RELU, "", "bool[2]", "relu: operand 0 is bool; it must be a number"},
    {EG_OP_ADD, "", "float32[2] float64[2]",
     "add: operand 1 is float64 but operand 0 is float32; insert a cast"},
    {EG_OP_POW, "", "float32[2] bool[2]", "pow: the exponent is bool"},
    {EG_OP_BITWISE_NOT, "", "float32[2]", "it must be an integer"},
    {EG_OP_BIT_CAST, ":to int16", "float32[2]", "float32 and int16 differ in width"},
    {EG_OP_TRILU, "", "float32[2]", "trilu: operand 0"},
    {EG_OP_GATHER_ELEMENTS, "", "float32[2,3] int64[1,4]", "reach beyond the data"},
    {EG_OP_GATHER_ELEMENTS, "", "float32[2,3] float32[1,3]", "indices are float32"},
    {EG_OP_GATHER_ELEMENTS, "", "float32[0,3] int64[1,3]", "has no element"},
    {EG_OP_GATHER_ND, "", "float32[2] int64[1,2]", "tuples of 2 indices"},
    {EG_OP_GATHER_ND, ":batch_dims 1", "float32[2,3] int64[3,1]", "batch dimension 0"},
    {EG_OP_GATHER_ND, ":batch_dims -1", "float32[2,3] int64[3,1]", "tuples of 1"},
    {EG_OP_SCATTER_ELEMENTS, "", "float32[2] int64[1] float16[1]", "updates are float16"},
    {EG_OP_SCATTER_ELEMENTS, "", "float32[2] int64[1] float32[2]", "differ in shape"},
    {EG_OP_SCATTER_ELEMENTS, ":reduction add", "bool[2] int64[1] bool[1]",
     "bool elements cannot be combined"},
    {EG_OP_SCATTER_ND, "", "float32[2,3] int64[4,1] float32[4,2]",
     "ask for float32[4,3]"},
    {EG_OP_ONE_HOT, ":depth 0", "int64[2] float32[2]", "depth is 0"},
    {EG_OP_ONE_HOT, ":depth 2", "int64[2] float32[3]", "the two values [off, on]"},
    {EG_OP_ONE_HOT, ":depth 9223372036854775807", "int64[2] float32[2]", "one-hot"},
    {EG_OP_REVERSE_SEQUENCE, ":batch_axis 0", "float32[2,3] int64[2]", "both time and"},
    {EG_OP_REVERSE_SEQUENCE, "", "float32[2,3] int64[2]", "the lengths are int64[2]"},
    {EG_OP_DET, "", "float32[2,3]", "not square"},
    {EG_OP_WHERE, "", "int32[2] float32[2] float32[2]", "where: the condition is int32"},
    {EG_OP_WHERE, "", "bool[2] float32[2] int32[2]",
     "where: operand 1 is float32 but operand 2 is int32"},
    // broadcasting
    {EG_OP_ADD, "", "float32[2,3] float32[4,3]",
     "add: shapes float32[2,3] and float32[4,3] do not broadcast: 2 meets 4"},
    {EG_OP_MUL, "", "float32[0] float32[2]", "do not broadcast: 0 meets 2"},
    {EG_OP_PRELU, "", "float32[3] float32[2,3]",
     "prelu: the slope float32[2,3] does not broadcast to the data float32[3]"},
    // constants
    {EG_OP_FILL, ":shape [1 1 1 1 1 1 1 1 1 1 1 1 1]", "", "fill: the shape has 13 dim"},
    {EG_OP_FILL, ":shape [-1]", "", "fill: result 0: dimension 0 is negative: -1"},
    {EG_OP_FILL, ":shape [" HUGE62 " 2]", "", "overflows at dimension 0"},
    {EG_OP_FILL, ":shape [4294967296 4294967296]", "", "overflows at dimension 1"},
    {EG_OP_EYE, ":n " MAX64, "", "eye: result 0: dimension 0 is too large"},
    {EG_OP_POOL_KERNEL, ":channels 1 :kernel_shape [1] :dtype int32", "",
     "pool-kernel: the weights are fractions"},
    {EG_OP_POOL_KERNEL, ":channels 1 :kernel_shape [0]", "",
     "pool-kernel: entry 0 of attribute kernel_shape is 0; the least is 1"},
    {EG_OP_CONV_IDENTITY, ":channels 6 :kernel_shape [3] :group 4", "",
     "conv-identity: 6 channels cannot form 4 groups"},
    {EG_OP_CONV_IDENTITY, ":channels 6 :kernel_shape [2]", "", "only an odd kernel"},
    {EG_OP_CONV_IDENTITY, ":channels 6 :kernel_shape [1 1 1 1 1 1 1 1 1 1 1]", "",
     "at most 10 are supported"},
    // products
    {EG_OP_MATMUL, "", "float32[2,3] float32[4,5]",
     "matmul: float32[2,3] times float32[4,5]: 3 columns of the left operand meet 4 "
     "rows"},
    {EG_OP_MATMUL, "", "float32[] float32[4]",
     "operand 0 is float32[]; it needs at least 1"},
    {EG_OP_MATMUL, ":transB 1", "float32[4] float32[4]",
     "operand 1 is float32[4]; it needs"},
    {EG_OP_MATMUL, "", "float32[2,2,3] float32[3,3,5]", "do not broadcast: 2 meets 3"},
    {EG_OP_MATMUL, "", "float32[2,3] float32[3,5] float32[4]",
     "matmul: operand 2 is float32[4]; it must broadcast to the result float32[2,5]"},
    {EG_OP_MATMUL, "", "float32[2,3] float32[3,5] float32[5] float32[5]",
     "matmul: operand 3 is float32[5]; it must have the shape of the result"},
    {EG_OP_MATMUL, ":act gelu", "int32[2,3] int32[3,5]", "needs floating point"},
    {EG_OP_MATMUL, "", "float32[2147483648,1] float32[1,2147483648]",
     "matmul: result 0: a tensor of this shape does not fit"},
    {EG_OP_GEMM, "", "float32[1,2,3] float32[3,5]", "both must be matrices; use matmul"},
    // convolutions
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,64,8,8] float32[8,32,3,3]",
     "conv: input has 64 channels but the weight wants 32 x group 1; set group"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1] :group 2",
     "float32[1,64,8,8] float32[9,32,3,3]",
     "conv: the weight makes 9 channels, which is not a multiple of group 2"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1] :group 0",
     "float32[1,64,8,8] float32[9,32,3,3]", "conv: group is 0"},
    {EG_OP_CONV, ":strides [1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3,3]",
     "attribute strides has 1 entries; this operand"},
    {EG_OP_CONV, ":strides [1 0] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3,3]", "entry 1 of attribute strides is 0"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 -1] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3,3]", "entry 3 of attribute pads is -1"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,2,8] float32[8,4,3,3]",
     "the kernel reaches over 3 elements but the padded input has 2"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 " MAX64 "]",
     "float32[1,4,8,8] float32[8,4,3,3]",
     "the size of a window or of its padding overflows"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 " MAX64 " 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3,3]",
     "the size of a window or of its padding overflows"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3]", "must have equal rank"},
    {EG_OP_CONV, ":strides [] :pads [] :dilations []", "float32[1,4] float32[8,4]",
     "conv: operand 0 is float32[1,4]; it needs at least 3 dimensions"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,0,3]",
     "the kernel of weight float32[8,4,0,3] is empty"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3,3] float32[1,8]",
     "conv: the bias is float32[1,8]; it must have shape [8]"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1]",
     "float32[1,4,8,8] float32[8,4,3,3] float32[8] float32[1,8,8,8]",
     "conv: z is float32[1,8,8,8]; it must have the shape of the result "
     "float32[1,8,6,6]"},
    {EG_OP_CONV, ":strides [1 1] :pads [0 0 0 0] :dilations [1 1] :act tanh",
     "int32[1,4,8,8] int32[8,4,3,3]", "needs floating point"},
    {EG_OP_CONV_TRANSPOSE, ":strides [1] :pads [9 9] :dilations [1] :output_padding [0]",
     "float32[1,4,8] float32[4,2,3]", "pads cut 18 elements from a result of 10"},
    {EG_OP_CONV_TRANSPOSE,
     ":strides [" MAX64 "] :pads [0 0] :dilations [1] :output_padding [0]",
     "float32[1,4,8] float32[4,2,3]", "overflows"},
    {EG_OP_CONV_TRANSPOSE, ":strides [1] :pads [0 0] :dilations [1] :output_padding [0]",
     "float32[1,4,8] float32[5,2,3]", "input has 4 channels, the weight wants 5"},
    {EG_OP_CONV_TRANSPOSE,
     ":strides [1] :pads [0 0] :dilations [1] :output_padding [0] :group " HUGE62,
     "float32[1,0,8] float32[0,5,3]", "the number of result channels overflows"},
    {EG_OP_ENLARGE, ":kernel_shape [4]", "float32[8,4,3]",
     "enlarge: a kernel of 3 cannot be centred in one of 4"},
    {EG_OP_ENLARGE, ":kernel_shape [1]", "float32[8,4,3]", "cannot be centred"},
    {EG_OP_MERGE_GCONV, ":group 4 :count 3", "float32[8,4,3]",
     "merge-gconv: 8 channels in 4 groups cannot be merged by 3"},
    {EG_OP_MERGE_GCONV, ":group " HUGE62 " :count " HUGE62, "float32[0,4,3]",
     "overflows"},
    // einsum
    {EG_OP_EINSUM, ":equation \"ij,jk->iz\"", "float32[2,3] float32[3,4]",
     "einsum: dimension 1 of the result is an index that no operand has"},
    {EG_OP_EINSUM, ":equation \"ij->ii\"", "float32[2,3]", "that it already has"},
    {EG_OP_EINSUM, ":equation \"ij,jk\"", "float32[2,3] float32[4,5]",
     "einsum: dimension 0 of operand 1, float32[4,5], is 4 but the same index is 3"},
    {EG_OP_EINSUM, ":equation \"ij\"", "float32[2,3] float32[4,5]", "malformed at ''"},
    {EG_OP_EINSUM, ":equation \"ij,jk,kl\"", "float32[2,3] float32[3,5]",
     "malformed at ',kl'"},
    {EG_OP_EINSUM, ":equation \"i1\"", "float32[2,3]", "malformed at '1'"},
    {EG_OP_EINSUM, ":equation \"ij->ij,\"", "float32[2,3]", "malformed at ','"},
    {EG_OP_EINSUM, ":equation \"......\"", "float32[2,3]", "malformed at '...'"},
    {EG_OP_EINSUM, ":equation \"ij-i\"", "float32[2,3]", "malformed at '-i'"},
    {EG_OP_EINSUM, ":equation \"i\"", "float32[2,3]", "names 1 dimensions of an operand"},
    {EG_OP_EINSUM, ":equation \"...i->i\"", "float32[2,3]", "must have '...'"},
    {EG_OP_EINSUM, ":equation \"abcdefghijkl,ABCDEFGHIJKL,XYZ->a\"",
     "float32[1,1,1,1,1,1,1,1,1,1,1,1] float32[1,1,1,1,1,1,1,1,1,1,1,1] float32[1,1,1]",
     "the equation has 27 indices; at most 24"},
    {EG_OP_EINSUM, ":equation \"abcdefghijkl,m\"",
     "float32[1,1,1,1,1,1,1,1,1,1,1,1] float32[1]", "the result has more than 12"},
    // pooling
    {EG_OP_MAX_POOL, ":kernel_shape [2] :strides [1] :pads [2 0] :dilations [1]",
     "float32[1,1,4]", "max-pool: pads 2 and 0 must be smaller than the 2 elements"},
    {EG_OP_MAX_POOL, ":kernel_shape [5] :strides [1] :pads [0 0] :dilations [1]",
     "float32[1,1,4]", "the kernel reaches over 5 elements but the padded input has 4"},
    {EG_OP_MAX_POOL, ":kernel_shape [" MAX64 "] :strides [1] :pads [0 0] :dilations [2]",
     "float32[1,1,4]", "the size of a window overflows"},
    {EG_OP_AVERAGE_POOL, ":kernel_shape [2] :strides [1] :pads [0 0]", "int32[1,1,4]",
     "average-pool: operand 0 is int32; it must be floating point"},
    {EG_OP_GLOBAL_MAX_POOL, "", "float32[1,1]", "needs at least 3 dimensions"},
    // normalizations
    {EG_OP_BATCH_NORM, "", "float32[2,3] float32[3] float32[3] float32[4] float32[3]",
     "batch-normalization: operand 3 is float32[4]; the input float32[2,3] needs one of "
     "shape [3]"},
    {EG_OP_LAYER_NORM, "", "float32[2,3,8] float32[3]",
     "operand 1 is float32[3]; normalizing float32[2,3,8] from axis 2 on needs "
     "float32[8]"},
    {EG_OP_LAYER_NORM, ":axis 3", "float32[2,3,8] float32[8]",
     "layer-normalization: axis 3 is outside [-3, 3) of a rank-3 tensor"},
    {EG_OP_GROUP_NORM, ":num_groups 4", "float32[2,6,7] float32[6] float32[6]",
     "group-normalization: 6 channels cannot form 4 groups"},
    {EG_OP_SOFTMAX, "", "float32[]", "softmax: axis -1 is outside [0, 0)"},
    {EG_OP_LRN, ":size 0", "float32[2,6,7]", "lrn: attribute size is 0"},
    // reductions
    {EG_OP_REDUCE_SUM, ":axes [1 0]", "float32[2,3]", "axes must be ascending, distinct"},
    {EG_OP_REDUCE_MAX, ":axes [-1]", "float32[2,3]", "entry 0 of attribute axes is -1"},
    {EG_OP_ARG_MAX, "", "float32[0,3]", "arg-max: axis 0 of float32[0,3] has no element"},
    {EG_OP_TOP_K, ":k 4", "float32[2,3]",
     "top-k: k is 4 but axis 1 of float32[2,3] has 3"},
    {EG_OP_CUM_SUM, ":axis 2", "float32[2,3]", "axis 2 is outside"},
    // reshapes and movement
    {EG_OP_RESHAPE, ":shape [7]", "float32[2,3]",
     "reshape: float32[2,3] has 6 elements, the shape of float32[7] has 7"},
    {EG_OP_RESHAPE, ":shape [-1]", "float32[2,3]",
     "reshape: shape: dimension 0 is negative"},
    {EG_OP_RESHAPE, ":shape [1 1 1 1 1 1 1 1 1 1 1 1 1]", "float32[1]",
     "has 13 dimensions"},
    {EG_OP_SQUEEZE, ":axes [1]", "float32[1,3]",
     "axis 1 of float32[1,3] is not of size 1"},
    {EG_OP_UNSQUEEZE, ":axes [4]", "float32[1,3]", "below the rank 3"},
    {EG_OP_UNSQUEEZE, ":axes [0 1 2 3 4 5 6 7 8 9 10]", "float32[1,3]", "exceed the 12"},
    {EG_OP_FLATTEN, ":axis 4", "float32[1,3]", "axis 4 is outside [-2, 2]"},
    {EG_OP_TRANSPOSE, ":perm [0 0]", "float32[1,3]", "entry 1 of perm is 0"},
    {EG_OP_TRANSPOSE, ":perm [0]", "float32[1,3]", "attribute perm has 1 entries"},
    {EG_OP_CONCAT, ":axis 1", "float32[1,3] float32[2,3]",
     "operands 0 float32[1,3] and 1 float32[2,3] may differ in axis 1 only"},
    {EG_OP_CONCAT, ":axis 1", "float32[1,3] float32[2]", "may differ in axis 1 only"},
    {EG_OP_CONCAT, ":axis 0", "int8[" HUGE62 "] int8[" HUGE62 "] int8[" HUGE62 "]",
     "the size of axis 0 overflows"},
    {EG_OP_SPLIT, ":axis 1 :sizes [1 1]", "float32[1,3]",
     "the sizes add up to 2 but axis 1 of float32[1,3] has 3"},
    {EG_OP_SPLIT, ":axis 1 :sizes [" MAX64 " 1]", "float32[1,3]", "add up to " MAX64},
    {EG_OP_SPLIT, ":axis 1 :sizes []", "float32[1,3]", "sizes is empty"},
    {EG_OP_SPLIT, ":axis 1 :sizes [4 -1]", "float32[1,3]", "entry 1 of attribute sizes"},
    {EG_OP_SLICE, ":starts [0] :ends [4] :steps [1]", "float32[3]",
     "slice: 0:4:1 is not a range within dimension 0 of float32[3]"},
    {EG_OP_SLICE, ":starts [0] :ends [3] :steps [0]", "float32[3]",
     "a step other than 0"},
    {EG_OP_SLICE, ":starts [-9223372036854775808] :ends [3] :steps [1]", "float32[3]",
     "not a range"},
    {EG_OP_PAD, ":pads [3 0] :mode reflect", "float32[3]",
     "pads 3 and 0 take more than dimension 0 of float32[3] can give"},
    {EG_OP_PAD, ":pads [1 0] :mode edge", "float32[0]", "can give"},
    {EG_OP_PAD, ":pads [" MAX64 " 0]", "float32[3]", "the size of dimension 0 overflows"},
    {EG_OP_EXPAND, ":shape [2]", "float32[3]",
     "float32[3] does not broadcast to the shape"},
    {EG_OP_EXPAND, ":shape [3]", "float32[1,3]", "does not broadcast to the shape"},
    {EG_OP_TILE, ":repeats [" MAX64 "]", "float32[3]",
     "the size of dimension 0 overflows"},
    {EG_OP_CONV_GRAD_WEIGHT, GRAD, "float32[2,3,8] float32[1,4,6]", "as many images"},
    {EG_OP_CONV_GRAD_WEIGHT, GRAD, "float32[2,3,8] float32[2,4,7]", "cannot have more"},
    {EG_OP_CONV_GRAD_WEIGHT, GRAD " :group 2", "float32[2,3,8] float32[2,4,6]",
     "multiples of group 2"},
    {EG_OP_MAX_POOL_GRAD, ":kernel_shape [2] :strides [2] :pads [0 0] :dilations [1]",
     "float32[2,3,8] float32[2,3,5]", "the cotangent is float32[2,3,5]"},
    {EG_OP_AVERAGE_POOL_GRAD,
     ":kernel_shape [2] :strides [2] :pads [0 0] :spatial_shape [8 8]", "float32[2,3,4]",
     "attribute spatial_shape has 2 entries"},
    {EG_OP_GATHER_GRAD, ":size 4", "float32[3,2] float32[3]", "must be int32 or int64"},
    {EG_OP_GATHER_GRAD, ":size 4", "float32[3,2] int64[4]", "those of the indices"},
    {EG_OP_GATHER_GRAD, ":size 4 :axis 2", "float32[3,2] int64[3]",
     "those of the indices"},
    {EG_OP_GATHER_GRAD, ":size 0", "float32[3,2] int64[3]", "has no place"},
    {EG_OP_LAYER_NORM_GRAD, "", "float32[2,3] float32[3] float32[3]",
     "the cotangent is float32[2,3]; it must be float32[3]"},
    {EG_OP_LAYER_NORM_GRAD, "", "float32[2,3] float32[2,3] float32[2]",
     "the scale is float32[2]; normalizing float32[2,3] from axis 1 on needs float32[3]"},
    {EG_OP_RMS_NORM_GRAD, ":axis 2", "float32[2,3] float32[2,3] float32[3]",
     "axis 2 is outside"},
    {EG_OP_ADAM_UPDATE, "", ADAM("float32[3]", "float64[3]", "float64[]"),
     "operand 3 is float64[3]; it must be float32[3]"},
    {EG_OP_ADAM_UPDATE, "", ADAM("float32[3]", "float32[1,3]", "float64[]"),
     "operand 3 is float32[1,3]; it must be float32[3]"},
    {EG_OP_ADAM_UPDATE, "", ADAM("int32[3]", "int32[3]", "float64[]"),
     "operand 0 is int32; it must be floating point"},
    {EG_OP_ADAM_UPDATE, "", ADAM("float32[3]", "float32[3]", "float64[1]"),
     "operand 5 is float64[1]; it must be float64[]"},
    {EG_OP_ADAM_UPDATE, "", ADAM("float32[3]", "float32[3]", "float32[]"),
     "operand 5 is float32[]; it must be float64[]"},
    {EG_OP_ADAM_UPDATE, ":decoupled 2", ADAM("float32[3]", "float32[3]", "float64[]"),
     "attribute decoupled is 2; it must be 0 or 1"},
    {EG_OP_GATHER, "", "float32[3] float32[1]",
     "indices are float32; they must be int32"},
    {EG_OP_GATHER, "", "float32[0,3] int64[1]", "has no element to gather"},
    {EG_OP_GATHER, ":whole 5 :first 3", "float32[3] int64[1]",
     "3 entries from 3 on are no"},
    {EG_OP_GATHER, ":first 3", "float32[3] int64[1]", "are no part of a whole axis of 0"},
    {EG_OP_GATHER_GRAD, ":size 4 :whole -1", "float32[3,2] int64[3]", "are no part"},
    {EG_OP_REDUCE_MEAN, ":axes [0] :count -1", "float32[3]", "is not negative"},
    {EG_OP_REDUCE_MEAN, ":axes [0] :count 6", "int32[3]", "is of floating point"},
    {EG_OP_GATHER, "", "float32[] int64[1]", "axis 0 is outside"},
    {EG_OP_GATHER, "", "float32[1,1,1,1,1,1,1,1] int64[1,1,1,1,1,1]", "more than 12 dim"},
    {EG_OP_SHAPE, ":start 1 :end 4", "float32[3]", "dimensions 1 to 4 are not a range"},
    {EG_OP_RESIZE, ":shape [2]", "float32[1,2]", "attribute shape has 1 entries"},
    {EG_OP_RESIZE, ":shape [2] :mode linear", "int32[3]",
     "linear and cubic need floating point"},
    {EG_OP_RESIZE, ":shape [2]", "int32[0]", "dimension 0 of int32[0] is empty"},
};

static void every_bad_node_is_refused_with_its_message(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
    fixture f;
    eg_type out[FIXTURE_MAX_TYPES], before[FIXTURE_MAX_TYPES];
    eg_factors factors;
    fixture_init(&f, &bad_cases[i]);
    memset(out, 0x5a, sizeof out);
    memcpy(before, out, sizeof out);
    assert_fails(eg_op_infer(&f.attrs, f.inputs, f.count, out), EGRAPH_E_TYPE,
                 bad_cases[i].results);
    assert_memory_equal(out, before, sizeof out);
    const char *name = eg_op_info_of(bad_cases[i].op)->name;
    assert_int_equal(strncmp(egraph_last_error(), name, strlen(name)), 0);
    assert_fails(eg_op_factors(&f.attrs, f.inputs, f.count, &factors), EGRAPH_E_TYPE, "");
    fixture_deinit(&f);
  }
}

static void malformed_operand_types_are_refused(void **state) {
  (void)state;
  eg_attrs relu = {.op = EG_OP_RELU};
  eg_type out, bad = eg_type_of(EGRAPH_FLOAT32, 1, (int64_t[]){-3});
  assert_fails(eg_op_infer(&relu, &bad, 1, &out), EGRAPH_E_TYPE,
               "relu: operand 0: dimension 0 is negative: -3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_case_infers_its_result_types),
      cmocka_unit_test(every_operator_has_a_case),
      cmocka_unit_test(nodes_typed_by_their_graph_are_refused),
      cmocka_unit_test(every_bad_node_is_refused_with_its_message),
      cmocka_unit_test(malformed_operand_types_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
