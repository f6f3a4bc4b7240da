// The gradient rules of the operator families: eg_vjp_<family>. A rule writes the
// cotangents of wanted inputs into v->out, which the dispatch has set to EG_REF_NONE
// (zero). The dispatch passes only nodes with at least one cotangent and one wanted float
// input. The builder keeps failures.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_VJP_INTERNAL_H
#define EG_OPS_VJP_INTERNAL_H

#include "ops/typing.h"
#include "ops/vjp.h"

/// Fails: the operator has no gradient (`why` NULL), or has none in this use (`why`).
static inline void eg_vjp_refuse(const eg_vjp *v, const char *why) {
  const char *remedy =
      "; express it by other operators, or keep trained weights out of what it reads";
  eg_build_keep(v->b, EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: is not differentiable%s%s",
                              eg_op_info_of((eg_op)v->attrs->op)->name,
                              why != NULL ? " " : "", why != NULL ? why : remedy));
}
/// Fails always: the gradient rule of operators without a gradient.
void eg_vjp_none(const eg_vjp *v);

// Families of operators without a gradient.
#define eg_vjp_leaf eg_vjp_none
#define eg_vjp_fill eg_vjp_none
#define eg_vjp_arg_reduce eg_vjp_none
#define eg_vjp_shape_of eg_vjp_none
#define eg_vjp_merge_gconv eg_vjp_none
#define eg_vjp_part eg_vjp_none
#define eg_vjp_opaque eg_vjp_none
#define eg_vjp_conv_grad_weight eg_vjp_none
#define eg_vjp_pool_grad eg_vjp_none
#define eg_vjp_gather_grad eg_vjp_none
#define eg_vjp_layer_norm_grad eg_vjp_none
#define eg_vjp_attention_grad eg_vjp_none
#define eg_vjp_adam_update eg_vjp_none
#define eg_vjp_fused eg_vjp_none
#define eg_vjp_classify eg_vjp_none
#define eg_vjp_bit_cast eg_vjp_none
#define eg_vjp_scatter_elements eg_vjp_none
#define eg_vjp_scatter_nd eg_vjp_none
#define eg_vjp_one_hot eg_vjp_none
#define eg_vjp_quantize eg_vjp_none
#define eg_vjp_dynamic_quantize eg_vjp_none
#define eg_vjp_quantized_product eg_vjp_none
#define eg_vjp_recurrent eg_vjp_none
#define eg_vjp_lp_pool eg_vjp_none
#define eg_vjp_max_pool_indices eg_vjp_none
#define eg_vjp_max_unpool eg_vjp_none
#define eg_vjp_lp_norm eg_vjp_none
#define eg_vjp_grid_sample eg_vjp_none
#define eg_vjp_roi_align eg_vjp_none
#define eg_vjp_det eg_vjp_none

#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  void eg_vjp_##FAMILY(const eg_vjp *v);
#include "ops/op_table.def"

/// Returns the type of an operand of the forward node.
static inline const eg_type *eg_vjp_type(const eg_vjp *v, uint32_t input) {
  return eg_build_type(v->b, v->inputs[input]);
}
static inline bool eg_vjp_wants(const eg_vjp *v, uint32_t input) {
  return input < v->input_count && v->wanted[input];
}

/// Emits the cotangent of x, where y is the maximum (minimum) of x over the dimensions in
/// `dims`, which y keeps with size 1: elements equal to y share d.
eg_ref eg_vjp_share(eg_builder *b, eg_ref x, eg_ref y, eg_ref d, uint32_t dims);
/// Emits the cotangent of x for y = op(x), a unary pointwise operator.
eg_ref eg_vjp_unary_rule(eg_builder *b, const eg_attrs *attrs, eg_ref x, eg_ref y,
                         eg_ref d);
/// Emits, for an operator with a fused activation (matmul, conv), the cotangent of
/// the activation's operand. The operand is recomputed if y alone does not determine
/// the slope.
eg_ref eg_vjp_before_activation(const eg_vjp *v);

#endif
