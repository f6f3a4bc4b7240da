// Import of ONNX Runtime's own operators of attention: Attention, MultiHeadAttention.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>

#include "onnx/read/attention.h"

// Reads attributes that Attention and MultiHeadAttention share.
static egraph_status read_microsoft(const eg_onnx_call *call, eg_onnx_attention *a,
                                    double *out_filter) {
  *a = (eg_onnx_attention){
      .left = -1, .right = -1, .mask = EG_REF_NONE, .valid = EG_REF_NONE};
  EG_TRY(eg_onnx_attr_int(call, "unidirectional", 0, &a->causal));
  EG_TRY(eg_onnx_attr_int(call, "num_heads", 0, &a->heads));
  EG_TRY(eg_onnx_attr_float(call, "scale", 0, &a->scale));
  a->key_heads = a->heads;
  return eg_onnx_attr_float(call, "mask_filter_value", -10000, out_filter);
}

// Checks queries, keys and values [batch, length, heads * size]; notes their sizes.
static egraph_status check_joined(eg_onnx_builder *write, eg_onnx_attention *a,
                                  const eg_onnx_attended *x) {
  const eg_ref operands[] = {x->query, x->key, x->value};
  for (uint32_t i = 0; i < 3; i++) {
    if (!eg_ref_exists(operands[i])) return eg_onnx_decline("packed heads");
    const eg_type *type = eg_build_type(&write->b, operands[i]);
    if (type->rank != 3) return eg_onnx_decline("packed heads");
    if (a->heads < 1 || type->dims[2] % a->heads != 0)
      return EG_FAIL(EGRAPH_E_PARSE, "operand %" PRIu32 " cannot form %" PRId64 " heads",
                     i, a->heads);
  }
  const eg_type *query = eg_build_type(&write->b, x->query);
  a->length = query->dims[1];
  if (a->scale == 0) a->scale = 1 / sqrt((double)(query->dims[2] / a->heads));
  return write->b.status;
}

// Notes the scores to add: `filter` for keys [batch, keys] that a padding mask has 0 for,
// and a bias.
static egraph_status note_biases(eg_onnx_builder *write, eg_onnx_attention *a,
                                 eg_ref padding, double filter, eg_ref bias) {
  eg_builder *b = &write->b;
  a->mask = bias;
  if (!eg_ref_exists(padding)) return EGRAPH_OK;
  const eg_type type = *eg_build_type(b, padding);
  if (type.rank != 2) return eg_onnx_decline("the mask has other than two dimensions");
  eg_ref none = eg_onnx_number(write, type.dtype, 0), cold = eg_build_number(b, filter);
  padding = EG_BUILD(b, EG_OP_GREATER, padding, none);
  padding = EG_FORMULA(b, "(where p 0 f)", "pf", padding, cold);
  padding = EG_ONNX_RESHAPE(write, padding, type.dims[0], 1, 1, type.dims[1]);
  a->mask = eg_ref_exists(bias) ? EG_BUILD(b, EG_OP_ADD, padding, bias) : padding;
  return b->status;
}

// Emits elements [from, to) of the last dimension.
static eg_ref columns(eg_onnx_builder *write, eg_ref x, int64_t from, int64_t to) {
  uint32_t rank = eg_build_type(&write->b, x)->rank;
  return rank == 0 ? EG_REF_NONE : eg_onnx_range_of(write, x, rank - 1, from, to, 1);
}

egraph_status eg_onnx_import_multi_head_attention(const eg_onnx_call *call) {
  eg_onnx_attention a;
  double filter;
  EG_TRY(read_microsoft(call, &a, &filter));
  EG_ONNX_BUILDER(write, call);
  eg_onnx_attended x = {eg_onnx_operand(&write, 0), eg_onnx_operand(&write, 1),
                        eg_onnx_operand(&write, 2), eg_onnx_operand(&write, 6),
                        eg_onnx_operand(&write, 7)};
  eg_ref bias = eg_onnx_operand(&write, 3);
  if (eg_ref_exists(eg_onnx_operand(&write, 8)) || eg_onnx_has_result(call, 3))
    return eg_onnx_decline("a shared past and scores are not supported");
  EG_TRY(check_joined(&write, &a, &x));
  eg_ref *const operands[] = {&x.query, &x.key, &x.value};
  int64_t from = 0;
  for (uint32_t i = 0; i < 3 && eg_ref_exists(bias); i++) {
    int64_t width = eg_build_type(&write.b, *operands[i])->dims[2];
    eg_ref part = columns(&write, bias, from, from + width);
    *operands[i] = EG_BUILD(&write.b, EG_OP_ADD, *operands[i], part);
    from += width;
  }
  EG_TRY(note_biases(&write, &a, eg_onnx_operand(&write, 4), filter,
                     eg_onnx_operand(&write, 5)));
  return eg_onnx_attend(&write, &a, &x);
}

egraph_status eg_onnx_import_microsoft_attention(const eg_onnx_call *call) {
  eg_onnx_attention a;
  double filter;
  eg_ints sizes;
  bool has_sizes;
  EG_TRY(read_microsoft(call, &a, &filter));
  EG_TRY(eg_onnx_attr_ints(call, "qkv_hidden_sizes", &has_sizes, &sizes));
  EG_ONNX_INT(rotary, call, "do_rotary", 0);
  EG_ONNX_BUILDER(write, call);
  eg_builder *b = &write.b;
  eg_ref bias = eg_onnx_operand(&write, 2);
  if (rotary != 0 || eg_ref_exists(eg_onnx_operand(&write, 4)) ||
      eg_onnx_has_result(call, 1))
    return eg_onnx_decline("rotated positions and a past are not supported");
  eg_ref all =
      EG_BUILD(b, EG_OP_MATMUL, eg_onnx_operand(&write, 0), eg_onnx_operand(&write, 1));
  if (eg_ref_exists(bias)) all = EG_BUILD(b, EG_OP_ADD, all, bias);
  const eg_type type = *eg_build_type(b, all);
  EG_TRY(b->status);
  int64_t third = type.rank == 3 ? type.dims[2] / 3 : 0;
  const int64_t equal[] = {third, third, third};
  if (!has_sizes || sizes.len != 3) sizes = (eg_ints){equal, 3};
  int64_t left = type.rank == 3 ? type.dims[2] : 0; // columns of no part yet
  for (uint32_t i = 0; i < 3; i++) {
    if (sizes.data[i] < 1 || sizes.data[i] > left)
      return EG_FAIL(EGRAPH_E_PARSE, "the weights are no queries, keys and values");
    left -= sizes.data[i];
  }
  if (left != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "the weights are no queries, keys and values");
  int64_t first = sizes.data[0], second = first + sizes.data[1];
  const eg_onnx_attended x = {
      columns(&write, all, 0, first), columns(&write, all, first, second),
      columns(&write, all, second, type.dims[2]), EG_REF_NONE, EG_REF_NONE};
  EG_TRY(check_joined(&write, &a, &x));
  EG_TRY(note_biases(&write, &a, eg_onnx_operand(&write, 3), filter,
                     eg_onnx_operand(&write, 5)));
  return eg_onnx_attend(&write, &a, &x);
}
