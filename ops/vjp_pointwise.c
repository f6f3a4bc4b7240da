// Gradients of pointwise operators, by the formulas of op_table.def: each is one fused
// node (ops/body.h). If the result y determines the slope, the formula reads y instead of
// x, so that x need not be kept for the backward pass.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/body.h"
#include "ops/meaning.h"
#include "ops/vjp_internal.h"

/// Returns the row of gradient formulas that applies with these attributes, or NULL.
static const eg_gradient_row *gradient_of(const eg_attrs *attrs) {
  const eg_gradient_row *rows = eg_op_info_of((eg_op)attrs->op)->gradient;
  bool is_other = rows[1].common != NULL && attrs->slots[0].i != 0;
  return rows[0].common != NULL ? &rows[is_other] : NULL;
}

eg_ref eg_vjp_unary_rule(eg_builder *b, const eg_attrs *attrs, eg_ref x, eg_ref y,
                         eg_ref d) {
  const eg_gradient_row *row = gradient_of(attrs);
  assert(row != NULL && "callers ask for operators with a gradient");
  if (row->operand[0][0] == '\0') return EG_REF_NONE;
  return eg_build_fused(b, row->operand[0], row->common, attrs, "dxyt",
                        (const eg_ref[]){d, x, y, EG_REF_NONE});
}

void eg_vjp_unary(const eg_vjp *v) {
  eg_op op = (eg_op)v->attrs->op;
  if (op == EG_OP_CAST)
    v->out[0] = eg_build_cast(v->b, v->cotangents[0], eg_vjp_type(v, 0)->dtype);
  else if (gradient_of(v->attrs) == NULL)
    eg_vjp_refuse(v, NULL);
  else
    v->out[0] =
        eg_vjp_unary_rule(v->b, v->attrs, v->inputs[0], v->results[0], v->cotangents[0]);
}

// ---- fused activations ----------------------------------------------------------

// Emits the node again with `act` none: its result is the operand of the activation.
static eg_ref recompute(const eg_vjp *v) {
  eg_attr slots[16];
  memcpy(slots, v->attrs->slots, v->attrs->count * sizeof *slots);
  slots[eg_attr_of_role(v->attrs, EG_AR_ACT) - v->attrs->slots].i = EG_ACT_NONE;
  return eg_build_node(v->b, (eg_op)v->attrs->op, slots, v->inputs, v->input_count);
}

eg_ref eg_vjp_before_activation(const eg_vjp *v) {
  eg_attr slots[2];
  const eg_fused_act fused = eg_fused_act_of(v->attrs);
  const eg_attrs attrs = eg_act_attrs(fused.act, fused.alpha, fused.beta, slots);
  const eg_gradient_row *row = gradient_of(&attrs);
  bool reads_x =
      eg_formula_uses(row->common, 'x') || eg_formula_uses(row->operand[0], 'x');
  eg_ref x = reads_x ? recompute(v) : EG_REF_NONE;
  return eg_vjp_unary_rule(v->b, &attrs, x, v->results[0], v->cotangents[0]);
}

// ---- two operands ---------------------------------------------------------------

void eg_vjp_binary(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_gradient_row *rule = gradient_of(v->attrs);
  if (rule == NULL) {
    eg_vjp_refuse(v, NULL);
    return;
  }
  // Only an exponent may have another element type.
  const eg_type *second = eg_vjp_type(v, 1);
  eg_ref z = eg_build_cast(b, v->inputs[1], b->dtype);
  for (uint32_t i = 0; i < 2; i++) {
    const eg_type *type = eg_vjp_type(v, i);
    if (!v->wanted[i] || !eg_dtype_is_float(type->dtype)) continue;
    eg_ref whole = eg_build_fused(
        b, rule->operand[i], "", NULL, "dxzy",
        (const eg_ref[]){v->cotangents[0], v->inputs[0], z, v->results[0]});
    eg_ref sum = eg_build_sum_to(b, whole, type);
    v->out[i] = i == 1 ? eg_build_cast(b, sum, second->dtype) : sum;
  }
}

void eg_vjp_where(const eg_vjp *v) {
  static const char *const formula[] = {NULL, "(where c d 0)", "(where c 0 d)"};
  v->b->dtype = eg_vjp_type(v, 1)->dtype;
  for (uint32_t i = 1; i < 3; i++) {
    if (!v->wanted[i]) continue;
    eg_ref whole = EG_FORMULA(v->b, formula[i], "cd", v->inputs[0], v->cotangents[0]);
    v->out[i] = eg_build_sum_to(v->b, whole, eg_vjp_type(v, i));
  }
}
