// Walks the operator table: every row has a kernel that runs on a sample, in every
// element type that inference lets through, survives each allocation failing, and agrees
// between float types.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernel_box.h"
#include "tests/unit/ops_fixture.h"

#define BOX kernel_box *box = *state

enum { MAX_OPERANDS = 10 };

// A node of an operator; '*' in a type is the element type under test.
typedef struct sample {
  eg_op op;
  const char *attrs;
  const char *inputs[MAX_OPERANDS];
} sample;

#define UNARY(op)                                                                        \
  {                                                                                      \
    op, "", { "*[2,3]" }                                                                 \
  }
#define WINDOW "strides [2 1]; pads [1 0 1 1]; "

// Operators whose sample is none of the defaults in sample_of().
static const sample samples[] = {
    {EG_OP_FILL, "shape [2 3]; value 2", {NULL}},
    {EG_OP_EYE, "n 3", {NULL}},
    {EG_OP_POOL_KERNEL, "channels 2; kernel_shape [2 2]", {NULL}},
    {EG_OP_CONV_IDENTITY, "channels 4; kernel_shape [3 3]; group 2", {NULL}},
    {EG_OP_CLIP, "min -1; max 2", {"*[2,3]"}},
    {EG_OP_BIT_CAST, "to int32", {"float32[2,3]"}},
    {EG_OP_CAST, "to float32", {"*[2,3]"}},
    {EG_OP_MOD, "fmod 1", {"*[2,3]", "*[2,1]"}},
    {EG_OP_BIT_SHIFT, "direction RIGHT", {"int32[2,3]", "int32[3]"}},
    {EG_OP_WHERE, "", {"bool[2,1]", "*[2,3]", "*[3]"}},
    {EG_OP_MATMUL, "act relu", {"*[2,3,4]", "*[4,5]", "*[5]", "*[2,3,5]"}},
    {EG_OP_GEMM, "transB 1", {"*[3,4]", "*[5,4]", "*[5]"}},
    {EG_OP_CONV,
     WINDOW "dilations [1 2]; group 2; act relu",
     {"*[1,4,5,6]", "*[6,2,3,2]", "*[6]", "*[1,6,3,5]"}},
    {EG_OP_CONV_TRANSPOSE,
     WINDOW "dilations [1 2]; output_padding [1 0]",
     {"*[1,2,3,4]", "*[2,3,3,2]", "*[3]"}},
    {EG_OP_EINSUM, "equation \"bij,bjk->bik\"", {"*[2,3,4]", "*[2,4,2]"}},
    {EG_OP_MAX_POOL, WINDOW "kernel_shape [2 3]; dilations [1 1]", {"*[1,2,5,6]"}},
    {EG_OP_AVERAGE_POOL, WINDOW "kernel_shape [2 3]", {"*[1,2,5,6]"}},
    {EG_OP_GLOBAL_AVERAGE_POOL, "", {"*[1,2,5,6]"}},
    {EG_OP_GLOBAL_MAX_POOL, "", {"*[1,2,5,6]"}},
    {EG_OP_BATCH_NORM, "epsilon 10", {"*[2,3,2]", "*[3]", "*[3]", "*[3]", "*[3]"}},
    {EG_OP_LAYER_NORM, "", {"*[2,3,4]", "*[4]", "*[4]"}},
    {EG_OP_RMS_NORM, "", {"*[2,3,4]", "*[4]"}},
    {EG_OP_GROUP_NORM, "num_groups 2", {"*[2,4,3]", "*[4]", "*[4]"}},
    {EG_OP_INSTANCE_NORM, "", {"*[2,4,3]", "*[4]", "*[4]"}},
    UNARY(EG_OP_SOFTMAX),
    {EG_OP_LOG_SOFTMAX, "axis 0", {"*[2,3]"}},
    {EG_OP_LRN, "size 3", {"*[1,4,3]"}},
    {EG_OP_REDUCE_SUM, "axes [0]", {"*[2,3]"}},
    {EG_OP_REDUCE_MEAN, "axes [0]", {"*[2,3]"}},
    {EG_OP_REDUCE_MAX, "axes [0]", {"*[2,3]"}},
    {EG_OP_REDUCE_MIN, "axes [0]", {"*[2,3]"}},
    {EG_OP_REDUCE_PROD, "axes [0]", {"*[2,3]"}},
    UNARY(EG_OP_ARG_MAX),
    UNARY(EG_OP_ARG_MIN),
    {EG_OP_TOP_K, "k 2", {"*[2,3]"}},
    {EG_OP_RESHAPE, "shape [3 2]", {"*[2,3]"}},
    {EG_OP_SQUEEZE, "axes [0]", {"*[1,3]"}},
    {EG_OP_UNSQUEEZE, "axes [0]", {"*[1,3]"}},
    UNARY(EG_OP_FLATTEN),
    {EG_OP_TRANSPOSE, "perm [1 0]", {"*[2,3]"}},
    {EG_OP_CONCAT, "axis 1", {"*[2,3]", "*[2,1]"}},
    {EG_OP_SPLIT, "axis 1; sizes [1 2]", {"*[2,3]"}},
    {EG_OP_SLICE, "starts [0 2]; ends [2 0]; steps [1 -1]", {"*[2,3]"}},
    {EG_OP_PAD, "pads [1 0 0 2]; value 1", {"*[2,3]"}},
    {EG_OP_EXPAND, "shape [2 2 3]", {"*[2,1]"}},
    {EG_OP_TILE, "repeats [2 1]", {"*[2,3]"}},
    {EG_OP_GATHER, "axis 1", {"*[2,4]", "int64[2]"}},
    {EG_OP_SHAPE, "start 0; end 2", {"*[2,3]"}},
    UNARY(EG_OP_SIZE),
    {EG_OP_RESIZE, "shape [3 7]; mode linear", {"*[2,3]"}},
    {EG_OP_CUM_SUM, "axis 1", {"*[2,3]"}},
    {EG_OP_CUM_PROD, "axis 1; exclusive 1; reverse 1", {"*[2,3]"}},
    {EG_OP_TRILU, "k 1", {"*[2,3,4]"}},
    {EG_OP_GATHER_ELEMENTS, "axis 1", {"*[2,4]", "int64[2,3]"}},
    {EG_OP_GATHER_ND, "batch_dims 1", {"*[2,4,3]", "int32[2,3,1]"}},
    {EG_OP_SCATTER_ELEMENTS, "reduction add", {"*[4,3]", "int64[2,3]", "*[2,3]"}},
    {EG_OP_SCATTER_ND, "reduction max", {"*[4,3]", "int64[2,1]", "*[2,3]"}},
    {EG_OP_ONE_HOT, "depth 3", {"*[4]", "*[2]"}},
    {EG_OP_REVERSE_SEQUENCE, "", {"*[4,3]", "int64[3]"}},
    {EG_OP_DET, "", {"*[2,3,3]"}},
    {EG_OP_LP_POOL, WINDOW "kernel_shape [2 3]; dilations [1 1]", {"*[1,2,5,6]"}},
    {EG_OP_MAX_POOL_INDICES,
     WINDOW "kernel_shape [2 3]; dilations [1 1]",
     {"*[1,2,5,6]"}},
    {EG_OP_MAX_UNPOOL,
     "kernel_shape [2 2]; strides [2 2]; pads [0 0 0 0]; shape [1 2 4 5]",
     {"*[1,2,2,2]", "int64[1,2,2,2]"}},
    {EG_OP_ROI_ALIGN,
     "output_height 2; output_width 3; sampling_ratio 2",
     {"*[2,2,5,6]", "*[3,4]", "int64[3]"}},
    {EG_OP_LP_NORM, "axis 0", {"*[2,3]"}},
    {EG_OP_GRID_SAMPLE, "mode cubic", {"*[1,2,4,5]", "*[1,2,3,2]"}},
    {EG_OP_COL2IM,
     "image_shape [3 3]; block_shape [2 2]; strides [1 1]; pads [0 0 0 0]; "
     "dilations [1 1]",
     {"*[1,8,4]"}},
    {EG_OP_QUANTIZE_LINEAR, "", {"float32[2,3]", "float32[3]", "uint8[3]"}},
    {EG_OP_DEQUANTIZE_LINEAR, "axis 0", {"int8[2,3]", "*[2]", "int8[2]"}},
    {EG_OP_DYNAMIC_QUANTIZE_LINEAR, "", {"*[2,3]"}},
    {EG_OP_MATMUL_INTEGER, "", {"uint8[2,3]", "int8[3,2]", "uint8[2]", "int8[]"}},
    {EG_OP_CONV_INTEGER,
     WINDOW "dilations [1 1]",
     {"uint8[1,2,4,4]", "uint8[3,2,2,2]", "uint8[]"}},
    {EG_OP_QLINEAR_MATMUL,
     "",
     {"uint8[2,3]", "float32[]", "uint8[]", "int8[3,2]", "float32[2]", "int8[2]",
      "float32[]", "uint8[]"}},
    {EG_OP_QLINEAR_CONV,
     WINDOW "dilations [1 1]",
     {"uint8[1,2,4,4]", "float32[]", "uint8[]", "uint8[3,2,2,2]", "float32[]", "uint8[]",
      "float32[]", "uint8[]", "int32[3]"}},
    {EG_OP_RNN, "", {"*[3,2,4]", "*[1,3,4]", "*[1,3,3]"}},
    {EG_OP_GRU, "", {"*[3,2,4]", "*[1,9,4]", "*[1,9,3]", "*[1,18]"}},
    {EG_OP_LSTM,
     "",
     {"*[3,2,4]", "*[1,12,4]", "*[1,12,3]", "*[1,24]", "*[1,2,3]", "*[1,2,3]", "*[1,9]",
      "int32[2]"}},
    {EG_OP_ENLARGE, "kernel_shape [3 5]", {"*[2,2,1,3]"}},
    {EG_OP_MERGE_GCONV, "group 2; count 2", {"*[4,2,1,1]"}},
    {EG_OP_CONV_GRAD_WEIGHT,
     WINDOW "dilations [1 2]; group 2; kernel_shape [3 2]",
     {"*[2,4,5,6]", "*[2,6,3,5]"}},
    {EG_OP_MAX_POOL_GRAD,
     WINDOW "kernel_shape [2 3]; dilations [1 1]",
     {"*[1,2,5,6]", "*[1,2,3,5]"}},
    {EG_OP_AVERAGE_POOL_GRAD,
     WINDOW "kernel_shape [2 3]; spatial_shape [5 6]",
     {"*[1,2,3,5]"}},
    {EG_OP_GATHER_GRAD, "axis 1; size 4", {"*[2,3]", "int64[3]"}},
    {EG_OP_LAYER_NORM_GRAD, "", {"*[2,3,4]", "*[2,3,4]", "*[4]"}},
    {EG_OP_RMS_NORM_GRAD, "axis 1", {"*[2,3,4]", "*[2,3,4]", "*[3,4]"}},
    {EG_OP_ATTENTION,
     "causal 1; offset 1; softcap 3",
     {"*[2,3,4]", "*[1,5,4]", "*[1,5,3]", "bool[1,5]"}},
    {EG_OP_ATTENTION_GRAD,
     "window 2",
     {"*[2,3,4]", "*[2,3,4]", "*[1,5,4]", "*[1,5,4]", "*[2,3,4]", "+[2,3]"}},
    {EG_OP_ATTENTION,
     "causal 1; rows_first 1",
     {"*[3,2,4]", "*[5,1,4]", "*[5,1,3]", "*[2,1,5]"}},
    {EG_OP_ATTENTION_GRAD,
     "rows_first 1",
     {"*[3,2,4]", "*[3,2,4]", "*[5,1,4]", "*[5,1,4]", "*[3,2,4]", "+[2,3]"}},
    {EG_OP_ROPE, "interleaved 1", {"*[2,3,7]", "*[3,2]", "*[3,2]"}},
    {EG_OP_ROPE, "per_element 1", {"*[2,3,7]", "*[3,4]", "*[3,4]"}},
    {EG_OP_FUSED,
     "body (mul a (sub b (reduce-sum :axes [1] :keepdims 1 (mul a b))))",
     {"*[2,3]", "*[3]"}},
    {EG_OP_ADAM_UPDATE,
     "epsilon 1; weight_decay 0.25",
     {"*[2,3]", "*[2,3]", "*[2,3]", "*[2,3]", "float64[]", "float64[]"}},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

// The rows that are not computed here, because another part of the program owns their
// values.
static bool is_owned_elsewhere(eg_op op) {
  return op == EG_OP_INPUT || op == EG_OP_WEIGHT || op == EG_OP_PART ||
         op == EG_OP_OPAQUE;
}

// A case in the spelling of samples; '*' replaces the element type of operand 0. Its text
// lives until the next call.
static sample sample_of_case(const ops_case *row) {
  static char attrs[256], inputs[256];
  sample out = {.op = row->op, .attrs = attrs};
  size_t dtype = strcspn(row->inputs, "["), count = 0;
  assert_true(strlen(row->attrs) < sizeof attrs && strlen(row->inputs) < sizeof inputs);
  strcpy(attrs, row->attrs);
  strcpy(inputs, row->inputs);
  for (char *at = strchr(attrs, ':'); at != NULL; at = strchr(at, ':')) {
    if (at > attrs) at[-1] = ';';
    *at = ' ';
  }
  for (char *word = strtok(inputs, " "); word != NULL; word = strtok(NULL, " ")) {
    bool is_tested = strncmp(word, row->inputs, dtype + 1) == 0;
    if (is_tested) *(word += dtype - 1) = '*';
    assert_true(count < MAX_OPERANDS);
    out.inputs[count++] = word;
  }
  return out;
}

// Without a row of its own, a pointwise operator has matrices and broadcast rows, and
// another operator has its first case in ops_cases.def.
static sample sample_of(eg_op op) {
  for (size_t i = 0; i < SAMPLES; i++)
    if (samples[i].op == op) return samples[i];
  const eg_op_info *info = eg_op_info_of(op);
  if ((info->flags & EG_OPF_POINTWISE) != 0 && info->max_inputs <= 2) {
    uint32_t kind = info->flags & (EG_OPF_BOOL | EG_OPF_INTEGER);
    const char *matrix = kind == EG_OPF_BOOL      ? "bool[2,3]"
                         : kind == EG_OPF_INTEGER ? "int32[2,3]"
                                                  : "*[2,3]";
    const char *row = kind == EG_OPF_BOOL      ? "bool[3]"
                      : kind == EG_OPF_INTEGER ? "int32[3]"
                                               : "*[3]";
    return (sample){op, "", {matrix, info->max_inputs == 2 ? row : NULL}};
  }
  for (size_t i = 0; i < OPS_CASES; i++)
    if (ops_cases[i].op == op) return sample_of_case(&ops_cases[i]);
  fail_msg("%s has no case in ops_cases.def", info->name);
  return (sample){.op = op};
}

static uint32_t make_inputs(kernel_box *box, const sample *row, egraph_dtype dtype,
                            eg_tensor *out) {
  eg_rng rng = {.state = 11};
  uint32_t count = 0;
  while (count < MAX_OPERANDS && row->inputs[count] != NULL) {
    const char *text = row->inputs[count];
    char type[64];
    bool is_at_least_32 = *text == '+', is_short = eg_dtype_bytes(dtype) < 4;
    egraph_dtype mine = is_at_least_32 && is_short ? EGRAPH_FLOAT32 : dtype;
    bool is_tested = *text == '*' || is_at_least_32;
    snprintf(type, sizeof type, "%s%s", is_tested ? eg_dtype_name(mine) : "",
             text + is_tested);
    out[count] = box_random(box, type, &rng, 3);
    // Operand 4 is a variance or a learning rate, operand 5 counts from 1.
    for (int64_t i = 0; count >= 4 && i < eg_type_elements(&out[count].type); i++)
      eg_tensor_set_double(&out[count], i, 2.0);
    for (int64_t i = 0; row->op == EG_OP_REVERSE_SEQUENCE && count == 1 && i < 3; i++)
      eg_tensor_set_int(&out[1], i, 1 + i); // lengths
    // Places within what they count in.
    bool has_places = row->op == EG_OP_MAX_UNPOOL || row->op == EG_OP_ROI_ALIGN;
    for (int64_t i = 0; has_places && out[count].type.dtype == EGRAPH_INT64 &&
                        dtype != EGRAPH_INT64 && i < eg_type_elements(&out[count].type);
         i++)
      eg_tensor_set_int(&out[count], i, i % 2);
    count++;
  }
  return count;
}

static bool is_accepted(const eg_attrs *attrs, const eg_tensor *inputs, uint32_t count) {
  eg_type types[MAX_OPERANDS], results[BOX_RESULTS];
  for (uint32_t i = 0; i < count; i++)
    types[i] = inputs[i].type;
  return eg_op_infer(attrs, types, count, results) == EGRAPH_OK;
}

static void every_row_has_a_kernel(void **state) {
  BOX;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const char *name = eg_op_info_of((eg_op)op)->name;
    if (is_owned_elsewhere((eg_op)op)) {
      eg_attr slots[8] = {{.kind = EG_ATTR_INT}};
      eg_attrs attrs = {.op = (uint16_t)op, .count = 1, .slots = slots};
      eg_kernel_call call = {.attrs = &attrs, .alloc = box->arena.alloc};
      assert_fails(eg_op_run(&call), EGRAPH_E_UNSUPPORTED, name);
      continue;
    }
    sample row = sample_of((eg_op)op);
    eg_tensor inputs[MAX_OPERANDS];
    egraph_dtype dtype = EGRAPH_FLOAT32;
    uint32_t count = make_inputs(box, &row, dtype, inputs);
    eg_attrs attrs = box_attrs(box, row.op, row.attrs);
    assert_ok(box_try(box, &attrs, inputs, count));
    for (uint32_t i = 0; i < count; i++)
      box_free(box, &inputs[i]);
  }
}

static void every_accepted_element_type_is_computed(void **state) {
  BOX;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    if (is_owned_elsewhere((eg_op)op)) continue;
    sample row = sample_of((eg_op)op);
    for (int dtype = 0; dtype < EGRAPH_DTYPE_COUNT; dtype++) {
      eg_tensor inputs[MAX_OPERANDS];
      eg_attrs attrs = box_attrs(box, row.op, row.attrs);
      uint32_t count = make_inputs(box, &row, (egraph_dtype)dtype, inputs);
      if (is_accepted(&attrs, inputs, count)) {
        egraph_status status = box_try(box, &attrs, inputs, count);
        if (status != EGRAPH_OK)
          fail_msg("%s of %s: %s", eg_op_info_of(row.op)->name,
                   eg_dtype_name((egraph_dtype)dtype), egraph_last_error());
      }
      for (uint32_t i = 0; i < count; i++)
        box_free(box, &inputs[i]);
    }
  }
}

// Rounding of one operation's result (and of its steps, for the half types) bounds the
// difference.
static double tolerance_of(egraph_dtype dtype) {
  if (dtype == EGRAPH_FLOAT32) return 1e-6;
  return dtype == EGRAPH_FLOAT16 ? 2e-3 : 1.6e-2;
}

static void float_types_agree(void **state) {
  BOX;
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT32, EGRAPH_FLOAT16, EGRAPH_BFLOAT16};
  for (int op = 0; op < EG_OP_COUNT; op++) {
    if (is_owned_elsewhere((eg_op)op)) continue;
    sample row = sample_of((eg_op)op);
    eg_attrs attrs = box_attrs(box, row.op, row.attrs);
    eg_tensor inputs[MAX_OPERANDS];
    uint32_t count = make_inputs(box, &row, EGRAPH_FLOAT64, inputs);
    assert_ok(box_try(box, &attrs, inputs, count));
    for (uint32_t i = 0; i < count; i++)
      box_free(box, &inputs[i]);
    eg_tensor exact = box->results[0];
    box->results[0].data = NULL;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      count = make_inputs(box, &row, dtypes[d], inputs);
      assert_ok(box_try(box, &attrs, inputs, count));
      for (uint32_t i = 0; i < count; i++)
        box_free(box, &inputs[i]);
      for (int64_t i = 0; i < eg_type_elements(&exact.type); i++) {
        double want = eg_tensor_get_double(&exact, i);
        double got = eg_tensor_get_double(&box->results[0], i);
        double bound = tolerance_of(dtypes[d]) * (fabs(want) > 1 ? fabs(want) : 1);
        if (!(got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= bound))
          fail_msg("%s of %s: element %lld is %g, in float64 %g",
                   eg_op_info_of(row.op)->name, eg_dtype_name(dtypes[d]), (long long)i,
                   got, want);
      }
    }
    box_free(box, &exact);
  }
}

typedef struct failing_run {
  const eg_kernel_call *call;
} failing_run;

static egraph_status run_with(egraph_allocator alloc, void *user) {
  eg_kernel_call call = *((failing_run *)user)->call;
  call.alloc = alloc;
  return eg_op_run(&call);
}

// In float16, so that widening allocates too.
static void every_kernel_survives_each_allocation_failing(void **state) {
  BOX;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    if (is_owned_elsewhere((eg_op)op)) continue;
    sample row = sample_of((eg_op)op);
    eg_tensor inputs[MAX_OPERANDS];
    eg_attrs attrs = box_attrs(box, row.op, row.attrs);
    uint32_t count = make_inputs(box, &row, EGRAPH_FLOAT16, inputs);
    assert_ok(box_try(box, &attrs, inputs, count));
    eg_kernel_call call = {.attrs = &attrs,
                           .inputs = inputs,
                           .input_count = count,
                           .outputs = box->results,
                           .output_count = box->result_count};
    failing_run run = {.call = &call};
    test_every_allocation_failing(run_with, &run);
    for (uint32_t i = 0; i < count; i++)
      box_free(box, &inputs[i]);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, box_setup, box_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_row_has_a_kernel),
      TEST(every_accepted_element_type_is_computed),
      TEST(float_types_agree),
      TEST(every_kernel_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
