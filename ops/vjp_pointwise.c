// Gradients of pointwise operators, as formulas. Where the result determines the slope,
// the formula reads y instead of x: x need not be kept for the backward pass.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ops/meaning.h"
#include "ops/vjp_internal.h"

/// The cotangent of the operand. Letters: d the cotangent of the result, x the operand, y
/// the result, a and b the first two numeric attributes, t the value of `common`. NULL:
/// the slope is zero.
typedef struct unary_rule {
  eg_op op;
  const char *common, *operand;
} unary_rule;

static const unary_rule unary_rules[] = {
    {EG_OP_IDENTITY, NULL, "d"},
    {EG_OP_RELU, NULL, "(where (greater y 0) d 0)"},
    {EG_OP_SIGMOID, NULL, "(mul d (mul y (sub 1 y)))"},
    {EG_OP_TANH, NULL, "(mul d (sub 1 (square y)))"},
    {EG_OP_EXP, NULL, "(mul d y)"},
    {EG_OP_LOG, NULL, "(div d x)"},
    {EG_OP_SQRT, NULL, "(div d (mul 2 y))"},
    {EG_OP_RSQRT, NULL, "(mul d (mul -0.5 (mul y (square y))))"},
    {EG_OP_RECIPROCAL, NULL, "(neg (mul d (square y)))"},
    {EG_OP_SQUARE, NULL, "(mul d (mul 2 x))"},
    {EG_OP_NEG, NULL, "(neg d)"},
    {EG_OP_ABS, NULL, "(mul d (sign x))"},
    {EG_OP_SIGN, NULL, NULL},
    {EG_OP_FLOOR, NULL, NULL},
    {EG_OP_CEIL, NULL, NULL},
    {EG_OP_ROUND, NULL, NULL},
    {EG_OP_SIN, NULL, "(mul d (cos x))"},
    {EG_OP_COS, NULL, "(neg (mul d (sin x)))"},
    {EG_OP_TAN, NULL, "(mul d (add 1 (square y)))"},
    {EG_OP_ASIN, NULL, "(div d (sqrt (sub 1 (square x))))"},
    {EG_OP_ACOS, NULL, "(neg (div d (sqrt (sub 1 (square x)))))"},
    {EG_OP_ATAN, NULL, "(div d (add 1 (square x)))"},
    {EG_OP_SINH, NULL, "(mul d (cosh x))"},
    {EG_OP_COSH, NULL, "(mul d (sinh x))"},
    {EG_OP_ASINH, NULL, "(div d (sqrt (add 1 (square x))))"},
    {EG_OP_ACOSH, NULL, "(div d (sqrt (sub (square x) 1)))"},
    {EG_OP_ATANH, NULL, "(div d (sub 1 (square x)))"},
    {EG_OP_ERF, NULL, "(mul d (mul 1.1283791670955126 (exp (neg (square x)))))"},
    {EG_OP_SILU, "(sigmoid x)", "(mul d (mul t (add 1 (mul x (sub 1 t)))))"},
    {EG_OP_SOFTPLUS, NULL, "(mul d (sigmoid x))"},
    {EG_OP_MISH, "(tanh (softplus x))",
     "(mul d (add t (mul (mul x (sub 1 (square t))) (sigmoid x))))"},
    {EG_OP_SOFTSIGN, NULL, "(div d (square (add 1 (abs x))))"},
    {EG_OP_HARD_SWISH, "(mul d (add 0.5 (div x 3)))",
     "(where (greater x -3) (where (less x 3) t d) 0)"},
    {EG_OP_HARD_SIGMOID, NULL, "(where (and (greater y 0) (less y 1)) (mul d a) 0)"},
    {EG_OP_LEAKY_RELU, NULL, "(where (greater x 0) d (mul d a))"},
    {EG_OP_ELU, NULL, "(where (greater x 0) d (mul d (add y a)))"},
    {EG_OP_SELU, NULL, "(mul d (where (greater x 0) b (add y (mul a b))))"},
    {EG_OP_CELU, NULL, "(where (greater x 0) d (mul d (add 1 (div y a))))"},
    {EG_OP_CLIP, NULL, "(where (and (greater x a) (less x b)) d 0)"},
};

// Phi(x) + x phi(x), exactly and with tanh.
static const unary_rule gelu_rules[] = {
    {EG_OP_GELU, "(mul 0.5 (add 1 (erf (mul 0.7071067811865476 x))))",
     "(mul d (add t (mul x (mul 0.3989422804014327 (exp (mul -0.5 (square x)))))))"},
    {EG_OP_GELU,
     "(tanh (mul 0.7978845608028654 (mul x (add 1 (mul 0.044715 (square x))))))",
     "(mul d (mul 0.5 (add (add 1 t) (mul (mul x (sub 1 (square t)))"
     " (mul 0.7978845608028654 (add 1 (mul 0.134145 (square x))))))))"},
};

static const unary_rule *find_unary(eg_op op, const eg_attrs *attrs) {
  if (op == EG_OP_GELU)
    return &gelu_rules[attrs != NULL && eg_attr_at(attrs, EG_A_GELU_APPROXIMATE)->i != 0];
  for (size_t i = 0; i < sizeof unary_rules / sizeof *unary_rules; i++)
    if (unary_rules[i].op == op) return &unary_rules[i];
  return NULL;
}

/// True when that rule reads x.
static bool reads_operand(eg_op op) {
  const unary_rule *rule = find_unary(op, NULL);
  return (rule->common != NULL && eg_formula_uses(rule->common, 'x')) ||
         (rule->operand != NULL && eg_formula_uses(rule->operand, 'x'));
}

// The first two numeric attributes as scalars, where the formula reads them.
static void emit_params(eg_builder *b, const eg_attrs *attrs, const char *formula,
                        eg_ref out[2]) {
  double params[2] = {0, 0};
  uint32_t count = 0;
  for (uint32_t i = 0; i < attrs->count && count < 2; i++)
    if (attrs->slots[i].kind == EG_ATTR_FLOAT) params[count++] = attrs->slots[i].f;
  for (int i = 0; i < 2; i++)
    out[i] =
        eg_formula_uses(formula, "ab"[i]) ? eg_build_number(b, params[i]) : EG_REF_NONE;
}

eg_ref eg_vjp_unary_rule(eg_builder *b, const eg_attrs *attrs, eg_ref x, eg_ref y,
                         eg_ref d) {
  const unary_rule *rule = find_unary((eg_op)attrs->op, attrs);
  if (rule->operand == NULL) return EG_REF_NONE;
  eg_ref params[2], t = EG_REF_NONE;
  emit_params(b, attrs, rule->operand, params);
  if (rule->common != NULL) t = EG_FORMULA(b, rule->common, "dx", d, x);
  return EG_FORMULA(b, rule->operand, "dxyabt", d, x, y, params[0], params[1], t);
}

void eg_vjp_unary(const eg_vjp *v) {
  eg_op op = (eg_op)v->attrs->op;
  if (op == EG_OP_CAST)
    v->out[0] = eg_build_cast(v->b, v->cotangents[0], eg_vjp_type(v, 0)->dtype);
  else if (find_unary(op, v->attrs) == NULL)
    eg_vjp_refuse(v, NULL);
  else
    v->out[0] =
        eg_vjp_unary_rule(v->b, v->attrs, v->inputs[0], v->results[0], v->cotangents[0]);
}

// ---- fused activations ----------------------------------------------------------

// The result without the activation: the node once more, with `act` none.
static eg_ref recompute(const eg_vjp *v, eg_attr_slot act) {
  eg_attr slots[16];
  memcpy(slots, v->attrs->slots, v->attrs->count * sizeof *slots);
  slots[eg_attr_at(v->attrs, act) - v->attrs->slots].i = EG_ACT_NONE;
  return eg_build_node(v->b, (eg_op)v->attrs->op, slots, v->inputs, v->input_count);
}

eg_ref eg_vjp_before_activation(const eg_vjp *v, eg_attr_slot act, eg_attr_slot alpha,
                                eg_attr_slot beta) {
  eg_attr slots[2];
  const eg_attrs attrs =
      eg_act_attrs((eg_act)eg_attr_at(v->attrs, act)->i, eg_attr_at(v->attrs, alpha)->f,
                   eg_attr_at(v->attrs, beta)->f, slots);
  eg_op op = (eg_op)attrs.op;
  eg_ref x = reads_operand(op) ? recompute(v, act) : EG_REF_NONE;
  return eg_vjp_unary_rule(v->b, &attrs, x, v->results[0], v->cotangents[0]);
}

// ---- two operands ---------------------------------------------------------------

/// Cotangents of both operands: x and z the operands, y the result; of the result's
/// shape.
typedef struct binary_rule {
  eg_op op;
  const char *operand[2];
} binary_rule;

static const binary_rule binary_rules[] = {
    {EG_OP_ADD, {"d", "d"}},
    {EG_OP_SUB, {"d", "(neg d)"}},
    {EG_OP_MUL, {"(mul d z)", "(mul d x)"}},
    {EG_OP_DIV, {"(div d z)", "(neg (div (mul d y) z))"}},
    {EG_OP_POW,
     {"(mul d (mul z (pow x (sub z 1))))",
      "(where (greater x 0) (mul d (mul y (log x))) 0)"}},
    {EG_OP_MAX,
     {"(where (greater-or-equal x z) d 0)", "(where (greater-or-equal x z) 0 d)"}},
    {EG_OP_MIN, {"(where (less-or-equal x z) d 0)", "(where (less-or-equal x z) 0 d)"}},
    {EG_OP_MOD, {"d", "(neg (mul d (mul (sign (div x z)) (floor (abs (div x z))))))"}},
    {EG_OP_PRELU,
     {"(where (greater x 0) d (mul d z))", "(where (greater x 0) 0 (mul d x))"}},
};

// The remainder with the sign of the divisor.
static const binary_rule floor_mod = {EG_OP_MOD,
                                      {"d", "(neg (mul d (floor (div x z))))"}};

void eg_vjp_binary(const eg_vjp *v) {
  eg_builder *b = v->b;
  const binary_rule *rule = NULL;
  for (size_t i = 0; i < sizeof binary_rules / sizeof *binary_rules; i++)
    if (binary_rules[i].op == v->attrs->op) rule = &binary_rules[i];
  if (v->attrs->op == EG_OP_MOD && eg_attr_at(v->attrs, EG_A_MOD_FMOD)->i == 0)
    rule = &floor_mod;
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
    eg_ref whole = EG_FORMULA(b, rule->operand[i], "dxzy", v->cotangents[0], v->inputs[0],
                              z, v->results[0]);
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
