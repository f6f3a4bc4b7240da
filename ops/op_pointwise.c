// Pointwise operators: one parallel factor per result dimension; it does not index an
// operand that broadcasting stretches there.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

egraph_status eg_infer_unary(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  egraph_dtype dtype = x->dtype;
  if (node->attrs->op == EG_OP_CAST)
    dtype = (egraph_dtype)eg_attr_at(node->attrs, EG_A_CAST_TO)->i;
  *out = eg_type_of(dtype, x->rank, x->dims);
  return EGRAPH_OK;
}

egraph_status eg_infer_classify(const eg_typing *node, eg_type *out) {
  *out = eg_type_of(EGRAPH_BOOL, node->inputs->rank, node->inputs->dims);
  return EGRAPH_OK;
}

void eg_factors_classify(const eg_typing *node, eg_factors *out) {
  eg_factors_add_pointwise(node, node->results, out);
}

egraph_status eg_infer_bit_cast(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  egraph_dtype to = (egraph_dtype)eg_attr_at(node->attrs, EG_A_BIT_CAST_TO)->i;
  if (eg_dtype_bytes(to) != eg_dtype_bytes(x->dtype))
    return eg_typing_fail(node, "%s and %s differ in width", eg_dtype_name(x->dtype),
                          eg_dtype_name(to));
  *out = eg_type_of(to, x->rank, x->dims);
  return EGRAPH_OK;
}

void eg_factors_unary(const eg_typing *node, eg_factors *out) {
  eg_factors_add_pointwise(node, node->results, out);
  eg_op op = eg_typing_op(node);
  // A cast between floating-point types is linear up to rounding, like every sum of
  // floating-point parts.
  bool rounds = op == EG_OP_CAST && eg_dtype_is_float(node->inputs[0].dtype) &&
                eg_dtype_is_float(node->results->dtype);
  if (op == EG_OP_IDENTITY || op == EG_OP_NEG || rounds) out->linear = eg_operand_bits(1);
}

static egraph_status check_binary(const eg_typing *node, const eg_type *result) {
  const eg_type *a = &node->inputs[0], *b = &node->inputs[1];
  if (node->attrs->op == EG_OP_POW) {
    if (b->dtype != EGRAPH_BOOL) return EGRAPH_OK; // the exponent may be any number
    return eg_typing_fail(node, "the exponent is bool; it must be a number");
  }
  EG_TRY(eg_typing_same_dtype(node, 1));
  if (node->attrs->op == EG_OP_PRELU && !eg_type_same_shape(a, result))
    return eg_typing_fail(node, "the slope %s does not broadcast to the data %s",
                          eg_type_text_of(b).text, eg_type_text_of(a).text);
  return EGRAPH_OK;
}

egraph_status eg_infer_binary(const eg_typing *node, eg_type *out) {
  eg_type type = node->inputs[0];
  EG_TRY(eg_typing_broadcast(node, &node->inputs[1], &type));
  EG_TRY(check_binary(node, &type));
  if ((node->info->flags & EG_OPF_PREDICATE) != 0) type.dtype = EGRAPH_BOOL;
  *out = eg_type_of(type.dtype, type.rank, type.dims);
  return EGRAPH_OK;
}

void eg_factors_binary(const eg_typing *node, eg_factors *out) {
  eg_factors_add_pointwise(node, node->results, out);
  eg_op op = eg_typing_op(node);
  if (op == EG_OP_ADD || op == EG_OP_SUB) out->joint_linear = eg_operand_bits(2);
  if (op == EG_OP_MUL) out->linear = eg_operand_bits(2);
  // An integer quotient truncates, so sums of parts do not pass through it.
  if (op == EG_OP_DIV && eg_dtype_is_float(node->results->dtype))
    out->linear = eg_operand_bits(1);
}

egraph_status eg_infer_where(const eg_typing *node, eg_type *out) {
  const eg_type *condition = &node->inputs[0], *x = &node->inputs[1],
                *y = &node->inputs[2];
  if (condition->dtype != EGRAPH_BOOL)
    return eg_typing_fail(node, "the condition is %s; it must be bool",
                          eg_dtype_name(condition->dtype));
  if (x->dtype != y->dtype)
    return eg_typing_fail(node, "operand 1 is %s but operand 2 is %s; insert a cast",
                          eg_dtype_name(x->dtype), eg_dtype_name(y->dtype));
  eg_type type = eg_type_like(x);
  EG_TRY(eg_typing_broadcast(node, y, &type));
  EG_TRY(eg_typing_broadcast(node, condition, &type));
  *out = type;
  return EGRAPH_OK;
}

void eg_factors_where(const eg_typing *node, eg_factors *out) {
  eg_factors_add_pointwise(node, node->results, out);
  out->joint_linear = 6; // linear in both branches when the condition is fixed
}
