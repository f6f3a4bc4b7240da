// Factors of every case of ops_cases.def against the inferred shapes, and by hand for the
// families; flops and bytes that follow from them.
// SPDX-License-Identifier: Apache-2.0
#include "ops/typing.h"
#include "tests/unit/ops_fixture.h"

/// A case with its results and factors.
typedef struct node {
  const char *name, *operands;
  fixture f;
  eg_type results[FIXTURE_MAX_TYPES];
  uint32_t result_count;
  eg_factors factors;
} node;

static void node_init(node *n, const ops_case *row) {
  fixture_init(&n->f, row);
  n->name = eg_op_info_of(row->op)->name;
  n->operands = row->inputs;
  n->result_count = eg_op_results(&n->f.attrs);
  assert_true(n->result_count <= FIXTURE_MAX_TYPES);
  assert_ok(eg_op_infer(&n->f.attrs, n->f.inputs, n->f.count, n->results));
  assert_ok(eg_op_factors(&n->f.attrs, n->f.inputs, n->f.count, &n->factors));
}

static void node_deinit(node *n) { fixture_deinit(&n->f); }

static bool is_exact(eg_factor_kind kind) {
  return kind == EG_FACTOR_PARALLEL || kind == EG_FACTOR_SUM || kind == EG_FACTOR_MAX;
}

/// Where a factor stands in operand (or result) `index`.
static int dim_of(const eg_factor *factor, bool result, uint32_t index) {
  uint32_t row = eg_factor_row(index);
  return result ? factor->output_dim[row] : factor->input_dim[row];
}

// The factors of a dimension multiply to it, unless one is a window or blocked; and a
// dimension without factors is a stretched one of an operand.
static void check_dim(const node *n, const eg_type *type, bool result, uint32_t index,
                      uint32_t dim) {
  int64_t product = 1;
  bool exact = true, indexed = false;
  for (uint32_t i = 0; i < n->factors.count; i++) {
    const eg_factor *factor = &n->factors.factor[i];
    if (dim_of(factor, result, index) != (int)dim) continue;
    indexed = true;
    product *= factor->size;
    exact =
        exact && (is_exact(factor->kind) || (result && factor->kind == EG_FACTOR_WINDOW));
  }
  bool whole = !result && (type->dims[dim] == 1 || n->f.attrs.op == EG_OP_EINSUM);
  if (indexed ? !exact || product == type->dims[dim] : whole) return;
  fail_msg("%s %s: dimension %u of %s %u has %lld elements, its factors %lld", n->name,
           n->operands, dim, result ? "result" : "operand", index,
           (long long)type->dims[dim], indexed ? (long long)product : -1LL);
}

static void check_windows(const node *n) {
  for (uint32_t i = 0; i < n->factors.count; i++) {
    const eg_factor *factor = &n->factors.factor[i];
    if (factor->kind != EG_FACTOR_WINDOW) continue;
    int64_t in = n->f.inputs[0].dims[factor->input_dim[0]];
    assert_true(factor->window >= 1 && factor->stride >= 1 && factor->pad >= 0);
    // Every window touches the operand.
    assert_true((factor->size - 1) * factor->stride - factor->pad < in);
    assert_true(factor->window > factor->pad);
  }
}

static void factors_of_every_case_agree_with_its_shapes(void **state) {
  (void)state;
  for (int c = 0; c < OPS_CASES; c++) {
    node n;
    node_init(&n, &ops_cases[c]);
    for (uint32_t i = 0; i < n.f.count; i++)
      for (uint32_t dim = 0; dim < n.f.inputs[i].rank; dim++)
        check_dim(&n, &n.f.inputs[i], false, i, dim);
    for (uint32_t i = 0; i < n.result_count; i++)
      for (uint32_t dim = 0; dim < n.results[i].rank; dim++)
        check_dim(&n, &n.results[i], true, i, dim);
    check_windows(&n);
    for (uint32_t i = 0; i < n.factors.count; i++) {
      const eg_factor *factor = &n.factors.factor[i];
      bool reduces = factor->kind == EG_FACTOR_SUM || factor->kind == EG_FACTOR_MAX;
      if (reduces) assert_int_equal(factor->output_dim[0], EG_NO_DIM);
      if (factor->kind == EG_FACTOR_PARALLEL && factor->size != 1)
        assert_int_not_equal(factor->output_dim[0], EG_NO_DIM);
      for (uint32_t k = 0; k < EG_FACTOR_ROWS; k++) {
        if (k >= n.f.count) assert_int_equal(factor->input_dim[k], EG_NO_DIM);
        if (k >= n.result_count) assert_int_equal(factor->output_dim[k], EG_NO_DIM);
      }
    }
    uint32_t linear = n.factors.linear | n.factors.joint_linear;
    assert_int_equal(linear & ~eg_operand_bits(n.f.count), 0);
    assert_int_equal(n.factors.linear & n.factors.joint_linear, 0);
    node_deinit(&n);
  }
}

static char kind_letter(eg_factor_kind kind) {
  switch (kind) {
  case EG_FACTOR_PARALLEL: return 'p';
  case EG_FACTOR_SUM: return 's';
  case EG_FACTOR_MAX: return 'm';
  case EG_FACTOR_WINDOW: return 'w';
  case EG_FACTOR_BLOCKED: return 'b';
  }
  return '?';
}

// "p4(0,-)->0": kind, size, dimension in each operand and result.
static void describe(const node *n, eg_text *text) {
  for (uint32_t i = 0; i < n->factors.count; i++) {
    const eg_factor *factor = &n->factors.factor[i];
    assert_ok(eg_text_printf(text, "%s%c%lld(", i == 0 ? "" : " ",
                             kind_letter(factor->kind), (long long)factor->size));
    for (uint32_t k = 0; k < n->f.count + n->result_count; k++) {
      bool result = k >= n->f.count;
      int dim = dim_of(factor, result, result ? k - n->f.count : k);
      const char *before = k == n->f.count ? ")->" : k == 0 ? "" : ",";
      assert_ok(dim == EG_NO_DIM ? eg_text_printf(text, "%s-", before)
                                 : eg_text_printf(text, "%s%d", before, dim));
    }
    if (factor->kind == EG_FACTOR_WINDOW)
      assert_ok(eg_text_printf(text, "{%lld,%lld,%lld}", (long long)factor->window,
                               (long long)factor->stride, (long long)factor->pad));
  }
  if (n->factors.linear != 0)
    assert_ok(eg_text_printf(text, " linear %x", n->factors.linear));
  if (n->factors.joint_linear != 0)
    assert_ok(eg_text_printf(text, " joint %x", n->factors.joint_linear));
}

#define UNIT_CONV ":strides [1 1] :pads [1 1 1 1] :dilations [1 1]"

static const ops_case described[] = {
    {EG_OP_ADD, "", "float32[2,3,4] float32[3,1]",
     "p2(0,-)->0 p3(1,0)->1 p4(2,-)->2 joint 3"},
    {EG_OP_MUL, "", "float32[4] float32[]", "p4(0,-)->0 linear 3"},
    {EG_OP_DIV, "", "float32[4] float32[4]", "p4(0,0)->0 linear 1"},
    {EG_OP_DIV, "", "int32[4] int32[4]", "p4(0,0)->0"},
    {EG_OP_RELU, "", "float32[4]", "p4(0)->0"},
    {EG_OP_WHERE, "", "bool[4] float32[4] float32[4]", "p4(0,0,0)->0 joint 6"},
    {EG_OP_MATMUL, "", "float32[8,1,2,3] float32[4,3,5]",
     "p8(0,-)->0 p4(-,0)->1 p2(2,-)->2 p5(-,2)->3 s3(3,1)->- linear 3"},
    {EG_OP_MATMUL, ":transA 1 :transB 1",
     "float32[3,2] float32[5,3] float32[5] float32[2,5]",
     "p2(1,-,-,0)->0 p5(-,0,0,1)->1 s3(0,1,-,-)->- linear 3 joint c"},
    {EG_OP_MATMUL, ":act relu", "float32[2,3] float32[3,5]",
     "p2(0,-)->0 p5(-,1)->1 b3(1,0)->-"},
    {EG_OP_MATMUL, "", "float32[3] float32[3]", "s3(0,0)->- linear 3"},
    {EG_OP_GEMM, "", "float32[2,3] float32[3,5] float32[1,5]",
     "p2(0,-,-)->0 p5(-,1,1)->1 s3(1,0,-)->- linear 3 joint 4"},
    {EG_OP_CONV, UNIT_CONV, "float32[2,4,9,8] float32[6,4,3,5] float32[6]",
     "p2(0,-,-)->0 p6(-,0,0)->1 s4(1,1,-)->- w9(2,-,-)->2{3,1,1} s3(-,2,-)->- "
     "w6(3,-,-)->3{5,1,1} s5(-,3,-)->- linear 3 joint 4"},
    {EG_OP_CONV, UNIT_CONV " :group 2 :act relu", "float32[2,4,9,8] float32[6,2,3,3]",
     "p2(0,-)->0 p2(1,0)->1 p3(-,0)->1 b2(1,1)->- w9(2,-)->2{3,1,1} b3(-,2)->- "
     "w8(3,-)->3{3,1,1} b3(-,3)->-"},
    {EG_OP_CONV, ":strides [2] :pads [3 0] :dilations [2]",
     "float32[1,1,8] float32[1,1,3]",
     "p1(0,-)->0 p1(-,0)->1 s1(1,1)->- w4(2,-)->2{5,2,3} s3(-,2)->- linear 3"},
    {EG_OP_CONV_TRANSPOSE,
     ":strides [2] :pads [0 0] :dilations [1] :output_padding [0] :group 2",
     "float32[1,4,5] float32[4,3,2]",
     "p1(0,-)->0 p2(1,0)->1 p3(-,1)->1 s2(1,0)->- w5(2,-)->2{1,1,0} b2(-,2)->- "
     "b2(-,-)->2 linear 3"},
    {EG_OP_CONV_TRANSPOSE, ":strides [1] :pads [0 2] :dilations [1] :output_padding [0]",
     "float32[1,4,5] float32[4,3,3]",
     "p1(0,-)->0 p3(-,1)->1 s4(1,0)->- w5(2,-)->2{3,1,2} b3(-,2)->- linear 3"},
    {EG_OP_CONV_GRAD_WEIGHT, ":strides [2] :pads [1 0] :dilations [1] :kernel_shape [3]",
     "float32[4,6,8] float32[4,2,4]",
     "s4(0,0)->- p2(-,1)->0 p6(1,-)->1 w4(2,2)->-{3,2,1} b3(-,-)->2 linear 3"},
    {EG_OP_EINSUM, ":equation \"bij,bjk->bik\"", "float32[2,3,4] float32[2,4,5]",
     "p2(0,0)->0 p3(1,-)->1 s4(2,1)->- p5(-,2)->2 linear 3"},
    {EG_OP_EINSUM, ":equation \"...ii->...\"", "float32[2,3,3]",
     "b3(2)->- p2(0)->0 linear 1"},
    {EG_OP_EINSUM, ":equation \"...i,...i->...\"", "float32[4,1,3] float32[2,3]",
     "s3(2,1)->- p2(-,0)->1 p4(0,-)->0 linear 3"},
    {EG_OP_MAX_POOL, ":kernel_shape [3] :strides [2] :pads [1 1] :dilations [1]",
     "float32[2,3,8]", "p2(0)->0 p3(1)->1 w4(2)->2{3,2,1} b3(-)->-"},
    {EG_OP_AVERAGE_POOL, ":kernel_shape [2] :strides [2] :pads [0 0]", "float32[2,3,8]",
     "p2(0)->0 p3(1)->1 w4(2)->2{2,2,0} b2(-)->- linear 1"},
    {EG_OP_GLOBAL_MAX_POOL, "", "float32[2,3,8]", "p2(0)->0 p3(1)->1 p1(-)->2 m8(2)->-"},
    {EG_OP_GLOBAL_AVERAGE_POOL, "", "float32[2,3,8]",
     "p2(0)->0 p3(1)->1 p1(-)->2 s8(2)->- linear 1"},
    {EG_OP_BATCH_NORM, "", "float32[2,3,7] float32[3] float32[3] float32[3] float32[3]",
     "p2(0,-,-,-,-)->0 p3(1,0,0,0,0)->1 p7(2,-,-,-,-)->2"},
    {EG_OP_LAYER_NORM, ":axis 1", "float32[2,3,8] float32[3,8] float32[3,8]",
     "p2(0,-,-)->0 b3(1,0,0)->1 b8(2,1,1)->2"},
    {EG_OP_GROUP_NORM, ":num_groups 2", "float32[2,6,7] float32[6] float32[6]",
     "p2(0,-,-)->0 p2(1,0,0)->1 b3(1,0,0)->1 b7(2,-,-)->2"},
    {EG_OP_INSTANCE_NORM, "", "float32[2,6,7] float32[6] float32[6]",
     "p2(0,-,-)->0 p6(1,0,0)->1 b1(1,0,0)->1 b7(2,-,-)->2"},
    {EG_OP_SOFTMAX, "", "float32[2,6]", "p2(0)->0 b6(1)->1"},
    {EG_OP_LRN, ":size 5", "float32[2,6]", "p2(0)->0 w6(1)->1{5,1,2} b5(-)->-"},
    {EG_OP_REDUCE_SUM, ":axes [0 2]", "float32[2,3,4]",
     "p1(-)->0 s2(0)->- p3(1)->1 p1(-)->2 s4(2)->- linear 1"},
    {EG_OP_REDUCE_MAX, ":axes [0] :keepdims 0", "float32[2,3]", "m2(0)->- p3(1)->0"},
    {EG_OP_REDUCE_MEAN, ":axes [0] :keepdims 0", "float32[2,3]",
     "s2(0)->- p3(1)->0 linear 1"},
    {EG_OP_REDUCE_PROD, ":axes [0] :keepdims 0", "float32[2,3]", "b2(0)->- p3(1)->0"},
    {EG_OP_ARG_MAX, ":axis -1 :keepdims 0", "float32[2,3]", "p2(0)->0 b3(1)->-"},
    {EG_OP_TOP_K, ":k 1", "float32[2,3]", "p2(0)->0,0 b3(1)->1,1"},
    {EG_OP_CUM_SUM, ":axis 0", "float32[2,3]", "b2(0)->0 p3(1)->1 linear 1"},
    {EG_OP_RESHAPE, ":shape [8 3]", "float32[4,6]",
     "p4(0)->0 p2(1)->0 p3(1)->1 linear 1"},
    {EG_OP_RESHAPE, ":shape [2 12 64 5]", "float32[2,768,5]",
     "p2(0)->0 p12(1)->1 p64(1)->2 p5(2)->3 linear 1"},
    {EG_OP_RESHAPE, ":shape [7 3 2 5]", "float32[7,2,3,5]",
     "p7(0)->0 b2(1)->- b3(-)->1 b3(2)->- b2(-)->2 p5(3)->3 linear 1"},
    {EG_OP_RESHAPE, ":shape [5 0 2]", "float32[5,7,0]",
     "p5(0)->0 b7(1)->- b0(2)->- b0(-)->1 b2(-)->2 linear 1"},
    {EG_OP_RESHAPE, ":shape [1 1]", "float32[]", "b1(-)->0 b1(-)->1 linear 1"},
    {EG_OP_SQUEEZE, ":axes [1]", "float32[4,1]", "p4(0)->0 b1(1)->- linear 1"},
    {EG_OP_UNSQUEEZE, ":axes [0]", "float32[4]", "p1(-)->0 p4(0)->1 linear 1"},
    {EG_OP_FLATTEN, "", "float32[2,3,4]", "p2(0)->0 p3(1)->1 p4(2)->1 linear 1"},
    {EG_OP_TRANSPOSE, ":perm [2 0 1]", "float32[2,3,4]",
     "p4(2)->0 p2(0)->1 p3(1)->2 linear 1"},
    {EG_OP_CONCAT, ":axis 1", "float32[2,3] float32[2,4]",
     "p2(0,0)->0 b7(1,1)->1 joint 3"},
    {EG_OP_SPLIT, ":axis 1 :sizes [3 4]", "float32[2,7]",
     "p2(0)->0,0 b7(1)->1,1 linear 1"},
    {EG_OP_SLICE, ":starts [0 1] :ends [2 3] :steps [1 1]", "float32[2,3]",
     "p2(0)->0 b2(1)->1 linear 1"},
    {EG_OP_SLICE, ":starts [1] :ends [-1] :steps [-1]", "float32[2]",
     "b2(0)->0 linear 1"},
    {EG_OP_PAD, ":pads [0 1 0 1]", "float32[2,3]", "p2(0)->0 b5(1)->1 linear 1"},
    {EG_OP_PAD, ":pads [1 1] :value 2.0", "float32[3]", "b5(0)->0"},
    {EG_OP_EXPAND, ":shape [2 3 4]", "float32[3,1]",
     "p2(-)->0 p3(0)->1 p4(-)->2 linear 1"},
    {EG_OP_TILE, ":repeats [1 3]", "float32[2,4]", "p2(0)->0 p3(-)->1 p4(1)->1 linear 1"},
    {EG_OP_GATHER, ":axis 1", "float32[2,9,4] int64[5,6]",
     "p2(0,-)->0 p5(-,0)->1 p6(-,1)->2 p4(2,-)->3 s9(1,-)->- linear 1"},
    {EG_OP_SHAPE, ":end 2", "float32[5,6]", "b2(-)->0 b5(0)->- b6(1)->-"},
    {EG_OP_RESIZE, ":shape [1 8]", "float32[1,4]", "p1(0)->0 p4(1)->1 b2(-)->1 linear 1"},
    {EG_OP_RESIZE, ":shape [6] :mode linear", "float32[3]", "b6(0)->0 linear 1"},
    {EG_OP_ENLARGE, ":kernel_shape [3]", "float32[4,5,1]",
     "p4(0)->0 p5(1)->1 b3(2)->2 linear 1"},
    {EG_OP_MERGE_GCONV, ":group 4 :count 2", "float32[8,3,1]",
     "p2(0)->0 b4(0)->0 b6(1)->1 p1(2)->2 linear 1"},
    {EG_OP_CAST, ":to bfloat16", "float32[4]", "p4(0)->0 linear 1"},
    {EG_OP_CAST, ":to int32", "float32[4]", "p4(0)->0"},
    {EG_OP_CONV_GRAD_WEIGHT,
     ":strides [2] :pads [0 0] :dilations [1] :group 2 :kernel_shape [3]",
     "float32[8,4,9] float32[8,6,4]",
     "s8(0,0)->- p2(1,1)->0 p3(-,1)->0 p2(1,-)->1 w4(2,2)->-{3,2,0} b3(-,-)->2 linear 3"},
    {EG_OP_MAX_POOL_GRAD, ":kernel_shape [3] :strides [2] :pads [1 1] :dilations [1]",
     "float32[2,3,8] float32[2,3,4]",
     "p2(0,0)->0 p3(1,1)->1 b4(2,2)->2 b3(-,-)->- linear 2"},
    {EG_OP_AVERAGE_POOL_GRAD,
     ":kernel_shape [2] :strides [2] :pads [0 0] :spatial_shape [8]", "float32[2,3,4]",
     "p2(0)->0 p3(1)->1 p4(2)->2 b2(-)->2 linear 1"},
    {EG_OP_GATHER_GRAD, ":axis 1 :size 9", "float32[2,5,6,4] int64[5,6]",
     "p2(0,-)->0 s5(1,0)->- s6(2,1)->- p4(3,-)->2 p9(-,-)->1 linear 1"},
    {EG_OP_LAYER_NORM_GRAD, ":axis 1", "float32[2,3,8] float32[2,3,8] float32[3,8]",
     "p2(0,0,-)->0 b3(1,1,0)->1 b8(2,2,1)->2 linear 1"},
    {EG_OP_ATTENTION, ":causal 1", "float32[7,6,4,3] float32[7,2,5,3] float32[7,2,5,8]",
     "p7(0,0,0)->0,0 p2(1,1,1)->1,1 p3(1,-,-)->1,1 p4(2,-,-)->2,2 b5(-,2,2)->-,- "
     "b3(3,3,-)->-,- p8(-,-,3)->3,- b11(-,-,-)->-,-"},
    {EG_OP_ATTENTION, "", "float32[6,4,3] float32[6,5,3] float32[6,5,8] float32[6,1,5]",
     "p6(0,0,0,0)->0,0 p1(0,-,-,0)->0,0 p4(1,-,-,-)->1,1 b5(-,1,1,2)->-,- "
     "b3(2,2,-,-)->-,- p8(-,-,2,-)->2,- b11(-,-,-,-)->-,-"},
    {EG_OP_ATTENTION_GRAD, "",
     "float32[6,4,8] float32[6,4,3] float32[2,5,3] float32[2,5,8] float32[6,4,8] "
     "float32[6,4]",
     "p2(0,0,0,0,0,0)->0,0,0 p3(0,0,-,-,0,0)->0,-,- p4(1,1,-,-,1,1)->1,-,- "
     "b5(-,-,1,1,-,-)->-,1,1 b3(-,2,2,-,-,-)->2,2,- b8(2,-,-,2,2,-)->-,-,2 "
     "b25(-,-,-,-,-,-)->-,-,- linear 1"},
    {EG_OP_ATTENTION, ":rows_first 1",
     "float32[7,4,6,3] float32[7,5,2,3] float32[7,5,2,8] float32[6,4,5]",
     "p7(0,0,0,-)->0,0 p2(2,2,2,0)->2,1 p3(2,-,-,0)->2,1 p4(1,-,-,1)->1,2 "
     "b5(-,1,1,2)->-,- b3(3,3,-,-)->-,- p8(-,-,3,-)->3,- b11(-,-,-,-)->-,-"},
    {EG_OP_ATTENTION_GRAD, ":rows_first 1",
     "float32[4,6,8] float32[4,6,3] float32[5,2,3] float32[5,2,8] float32[4,6,8] "
     "float32[6,4]",
     "p2(1,1,1,1,1,0)->1,1,1 p3(1,1,-,-,1,0)->1,-,- p4(0,0,-,-,0,1)->0,-,- "
     "b5(-,-,0,0,-,-)->-,0,0 b3(-,2,2,-,-,-)->2,2,- b8(2,-,-,2,2,-)->-,-,2 "
     "b25(-,-,-,-,-,-)->-,-,- linear 1"},
    {EG_OP_ROPE, "", "float32[7,6,4,5] float32[1,4,2] float32[7,4,2]",
     "p7(0,-,0)->0 p6(1,-,-)->1 p4(2,1,1)->2 b5(3,2,2)->3 linear 1"},
    {EG_OP_ROPE, ":rows_first 1", "float32[4,6,5] float32[4,2] float32[4,2]",
     "p4(0,0,0)->0 p6(1,-,-)->1 b5(2,1,1)->2 linear 1"},
    {EG_OP_ADAM_UPDATE, "",
     "float32[2,3] float32[2,3] float32[2,3] float32[2,3] float64[] float64[]",
     "p2(0,0,0,0,-,-)->0,0,0 p3(1,1,1,1,-,-)->1,1,1"},
    {EG_OP_FUSED,
     ":body \"(mul a (sub b (reduce-sum :axes [2] :keepdims 1 (mul a b))))\"",
     "float32[2,3,4] float32[3,4]", "p2(0,-)->0 p3(1,0)->1 b4(2,1)->2 linear 2"},
    {EG_OP_FUSED, ":body \"(mul a (where (greater b 0) c (mul 0.5 c)))\"",
     "float32[2,3] float32[3] float32[2,1]", "p2(0,-,0)->0 p3(1,0,-)->1 linear 5"},
    {EG_OP_FUSED, ":body \"(add a (reduce-max :axes [1] :keepdims 1 (neg b)))\"",
     "float32[2,1] float32[2,3]", "p2(0,0)->0 b3(-,1)->1"},
    {EG_OP_FUSED, ":body \"(add a (cast :to float32 b))\"", "float32[2] bfloat16[2]",
     "p2(0,0)->0 joint 3"},
    {EG_OP_FUSED, ":body \"(sub (add a (mul b c)) (neg d))\"",
     "float32[2] float32[2] float32[2] float32[2]", "p2(0,0,0,0)->0 joint b"},
    {EG_OP_FUSED, ":body \"(where c (neg a) (mul b 2.0))\"",
     "float32[2] float32[2] bool[2]", "p2(0,0,0)->0 joint 3"},
    {EG_OP_FUSED, ":body \"(add a (exp b))\"", "float32[2] float32[2]", "p2(0,0)->0"},
    {EG_OP_FUSED, ":body \"(add (mul a b) a)\"", "float32[2] float32[2]",
     "p2(0,0)->0 linear 1"},
    {EG_OP_FILL, ":shape [2]", "", "p2()->0"},
    {EG_OP_EYE, ":n 2", "", "b2()->0 b2()->1"},
    {EG_OP_POOL_KERNEL, ":channels 2 :kernel_shape [3]", "", "p2()->0 b1()->1 b3()->2"},
};

static void factors_are_those_of_the_loop_nest(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
    node n;
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    node_init(&n, &described[i]);
    if (n.f.count == 0) {
      // Leaves have no operand list before their results.
      for (uint32_t k = 0; k < n.factors.count; k++) {
        const eg_factor *factor = &n.factors.factor[k];
        assert_ok(eg_text_printf(&text, "%s%c%lld()->%d", k == 0 ? "" : " ",
                                 kind_letter(factor->kind), (long long)factor->size,
                                 factor->output_dim[0]));
      }
    } else {
      describe(&n, &text);
    }
    if (strcmp(eg_text_of(&text), described[i].results) != 0)
      fail_msg("%s %s %s:\n  got    %s\n  wanted %s", n.name, described[i].attrs,
               n.operands, eg_text_of(&text), described[i].results);
    node_deinit(&n);
    eg_text_deinit(&text);
  }
}

static void expect_kinds(const eg_factors *factors, const char *kinds) {
  assert_int_equal(factors->count, strlen(kinds));
  for (uint32_t i = 0; i < factors->count; i++)
    assert_int_equal(kind_letter(factors->factor[i].kind), kinds[i]);
}

static void operands_and_results_of_any_number_share_the_last_row(void **state) {
  (void)state;
  enum { MANY = 200 };
  eg_type parts[MANY], result;
  int64_t sizes[MANY];
  for (int i = 0; i < MANY; i++) {
    parts[i] = eg_type_of(EGRAPH_FLOAT32, 2, (int64_t[]){1, 3});
    sizes[i] = 1;
  }
  eg_attr slots[2] = {{.kind = EG_ATTR_INT, .i = 0}};
  eg_attrs concat = {.op = EG_OP_CONCAT, .count = 1, .slots = slots};
  eg_factors factors;
  assert_ok(eg_op_infer(&concat, parts, MANY, &result));
  assert_int_equal(result.dims[0], MANY);
  assert_ok(eg_op_factors(&concat, parts, MANY, &factors));
  expect_kinds(&factors, "bp");
  assert_int_equal(factors.factor[1].input_dim[eg_factor_row(MANY - 1)], 1);
  assert_int_equal(factors.linear, 0);
  assert_int_equal(factors.joint_linear, eg_operand_bits(MANY));
  slots[1] = (eg_attr){.kind = EG_ATTR_INTS, .ints = {sizes, MANY}};
  eg_attrs split = {.op = EG_OP_SPLIT, .count = 2, .slots = slots};
  assert_ok(eg_op_factors(&split, &result, 1, &factors));
  expect_kinds(&factors, "bp");
  assert_int_equal(factors.factor[1].output_dim[eg_factor_row(MANY - 1)], 1);
  // The dtype and shape of operands are checked where results are many, too.
  sizes[3] = 7;
  assert_fails(eg_op_factors(&split, &result, 1, &factors), EGRAPH_E_TYPE,
               "add up to 206");
}

// The operands from the sixteenth on share a row: c, which only the last of them has, is
// not split; nor is b, which stands in another dimension of it.
static void an_einsum_of_many_operands_splits_what_its_last_ones_share(void **state) {
  (void)state;
  static const struct {
    const char *equation, *kinds;
    uint32_t linear;
  } cases[] = {{"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,ab,ba->ab", "bb", 15},
               {"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,ab,ab->a", "ps", 15},
               {"a,b,c,a,a,a,a,a,a,a,a,a,a,a,a,a,ac->ab", "ppb", 15},
               {"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,ab->b", "sp", 16}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    eg_type inputs[17];
    uint32_t count = 1;
    inputs[0] = eg_type_of(EGRAPH_FLOAT32, 0, NULL);
    for (const char *at = cases[c].equation; *at != '-'; at++) {
      eg_type *type = &inputs[count - 1];
      if (*at == ',')
        inputs[count++] = eg_type_of(EGRAPH_FLOAT32, 0, NULL);
      else
        type->dims[type->rank++] = 4;
    }
    eg_attr slot = {.kind = EG_ATTR_STRING, .text = cases[c].equation};
    eg_attrs einsum = {.op = EG_OP_EINSUM, .count = 1, .slots = &slot};
    eg_factors factors;
    assert_ok(eg_op_factors(&einsum, inputs, count, &factors));
    expect_kinds(&factors, cases[c].kinds);
    assert_int_equal(factors.linear, eg_operand_bits(cases[c].linear));
  }
}

// ---- cost -----------------------------------------------------------------------

static const struct {
  ops_case row;
  double flops, bytes;
} costs[] = {
    {{EG_OP_MATMUL, "", "float32[8,2,3] float32[3,5]", ""},
     2.0 * 8 * 2 * 3 * 5,
     4.0 * (8 * 2 * 3 + 3 * 5 + 8 * 2 * 5)},
    {{EG_OP_GEMM, "", "float64[2,3] float64[3,5] float64[5]", ""},
     2.0 * 2 * 3 * 5,
     8.0 * (6 + 15 + 5 + 10)},
    // ResNet's first convolution: 118 million multiply-adds.
    {{EG_OP_CONV, ":strides [2 2] :pads [3 3 3 3] :dilations [1 1]",
      "float32[1,3,224,224] float32[64,3,7,7]", ""},
     2.0 * 64 * 112 * 112 * 3 * 49,
     4.0 * (3 * 224 * 224 + 64 * 3 * 49 + 64 * 112 * 112)},
    {{EG_OP_CONV, UNIT_CONV " :group 32", "float32[1,32,8,8] float32[32,1,3,3]", ""},
     2.0 * 32 * 64 * 9,
     4.0 * (32 * 64 + 32 * 9 + 32 * 64)},
    {{EG_OP_CONV_TRANSPOSE, ":strides [2] :pads [0 0] :dilations [1] :output_padding [0]",
      "float32[1,4,5] float32[4,3,2]", ""},
     2.0 * 4 * 5 * 3 * 2,
     4.0 * (20 + 24 + 30)},
    {{EG_OP_EINSUM, ":equation \"ij,kj->ki\"", "float32[2,3] float32[4,3]", ""},
     2.0 * 2 * 3 * 4,
     4.0 * (6 + 12 + 8)},
    {{EG_OP_MAX_POOL, ":kernel_shape [3] :strides [2] :pads [1 1] :dilations [1]",
      "float32[2,3,8]", ""},
     2.0 * 3 * 4 * 3,
     4.0 * (48 + 24)},
    {{EG_OP_ADD, "", "float32[2,3] float32[3]", ""}, 6, 4.0 * (6 + 3 + 6)},
    {{EG_OP_GELU, "", "float32[2,3]", ""}, 8 * 6, 4.0 * 12},
    {{EG_OP_SOFTMAX, "", "float32[2,3]", ""}, 8 * 6, 4.0 * 12},
    {{EG_OP_ADAM_UPDATE, "",
      "float32[5] float32[5] float32[5] float32[5] float64[] float64[]", ""},
     8 * 5,
     4.0 * 5 * 7 + 2 * 8},
    {{EG_OP_FUSED, ":body \"(mul a (sub 1 (tanh a)))\"", "float32[2,3]", ""},
     (1 + 1 + 8) * 6,
     4.0 * 12},
    {{EG_OP_REDUCE_SUM, ":axes [1]", "float32[2,3]", ""}, 6, 4.0 * (6 + 2)},
    {{EG_OP_LESS, "", "float32[4] float32[4]", ""}, 4, 4.0 * 8 + 4},
    {{EG_OP_RESHAPE, ":shape [6]", "float32[2,3]", ""}, 0, 0},
    {{EG_OP_IDENTITY, "", "float32[2,3]", ""}, 0, 0},
    {{EG_OP_TRANSPOSE, ":perm [1 0]", "float32[2,3]", ""}, 0, 4.0 * 12},
    {{EG_OP_GATHER, "", "float32[1000,8] int64[5]", ""}, 0, 4.0 * 40 + 8 * 5 + 4.0 * 40},
    {{EG_OP_GATHER, "", "float32[2,8] int64[50]", ""}, 0, 4.0 * 16 + 8 * 50 + 4.0 * 400},
    {{EG_OP_SLICE, ":starts [0] :ends [2] :steps [1]", "float32[100]", ""}, 0, 16},
    {{EG_OP_SHAPE, ":end 2", "float32[50,60]", ""}, 0, 16},
    {{EG_OP_FILL, ":shape [7]", "", ""}, 0, 28},
    {{EG_OP_ADD, "", "float32[0,3] float32[3]", ""}, 0, 12},
};

static void flops_and_bytes_are_counted_from_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
    node n;
    node_init(&n, &costs[i].row);
    double flops = eg_op_flops(&n.f.attrs, n.f.inputs, n.f.count);
    double bytes =
        eg_op_bytes(&n.f.attrs, n.f.inputs, n.f.count, n.results, n.result_count);
    if (flops != costs[i].flops || bytes != costs[i].bytes)
      fail_msg("%s %s: %g flops, %g bytes; wanted %g and %g", n.name, n.operands, flops,
               bytes, costs[i].flops, costs[i].bytes);
    node_deinit(&n);
  }
}

static void every_operator_that_computes_counts_flops(void **state) {
  (void)state;
  for (int c = 0; c < OPS_CASES; c++) {
    node n;
    node_init(&n, &ops_cases[c]);
    bool moves = (eg_op_info_of(ops_cases[c].op)->flags & EG_OPF_MOVES) != 0;
    bool empty = false;
    for (uint32_t i = 0; i < n.factors.count; i++)
      empty = empty || n.factors.factor[i].size == 0;
    double flops = eg_op_flops(&n.f.attrs, n.f.inputs, n.f.count);
    assert_true(moves || empty ? flops == 0 : flops > 0);
    node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_of_every_case_agree_with_its_shapes),
      cmocka_unit_test(factors_are_those_of_the_loop_nest),
      cmocka_unit_test(operands_and_results_of_any_number_share_the_last_row),
      cmocka_unit_test(an_einsum_of_many_operands_splits_what_its_last_ones_share),
      cmocka_unit_test(flops_and_bytes_are_counted_from_shapes),
      cmocka_unit_test(every_operator_that_computes_counts_flops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
