// Conditions, and equalities, as facts. A condition that says nothing about values or
// sizes (or of which no fact is made) is left out: what is proved without it holds with
// it.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/prove/proof_case.h"

static eg_scalar number_of(eg_case *c, eg_value v) {
  return v.kind == EG_VALUE_INT ? eg_scalar_size(c->p, v.number) : v.scalar;
}

void eg_case_equate(eg_case *c, eg_value a, eg_value b) {
  if (a.kind == EG_VALUE_INT && b.kind == EG_VALUE_INT) {
    eg_case_need_zero(c, eg_poly_sub(c->p, a.number, b.number));
  } else if (a.kind == EG_VALUE_INTS && b.kind == EG_VALUE_INTS) {
    if (a.count != b.count) eg_case_vacuous(c);
    for (uint32_t i = 0; i < a.count; i++)
      eg_case_need_zero(c, eg_poly_sub(c->p, a.list[i], b.list[i]));
  } else if (a.kind == EG_VALUE_DTYPE && b.kind == EG_VALUE_DTYPE) {
    eg_kind_equate(c, a.which, b.which);
  }
}

static bool is_negative(eg_case *c, eg_value a, eg_value b) { // a = b cannot be excluded
  if (a.kind == EG_VALUE_INT && b.kind == EG_VALUE_INT) {
    eg_assume_nonzero(c->p, eg_poly_sub(c->p, a.number, b.number));
    return c->p->is_impossible;
  }
  if (a.kind == EG_VALUE_INTS && b.kind == EG_VALUE_INTS && a.count == b.count) {
    bool same = true;
    for (uint32_t i = 0; i < a.count; i++)
      same = same && eg_is_zero(c->p, eg_poly_sub(c->p, a.list[i], b.list[i]));
    return same;
  }
  return false;
}

static void ordered(eg_case *c, eg_value low, eg_value high, bool strictly) {
  eg_proof *p = c->p;
  if (low.kind == EG_VALUE_INT && high.kind == EG_VALUE_INT) {
    eg_poly gap = eg_poly_sub(p, high.number, low.number);
    eg_case_need_natural(c, strictly ? eg_poly_sub(p, gap, eg_poly_const(p, 1)) : gap);
    return;
  }
  eg_scalar_pair pair = {.low = number_of(c, low), .high = number_of(c, high)};
  if (eg_scalar_pairs_push(&p->orders, pair) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
}

static void compare(eg_case *c, eg_rule_function f, eg_value a, eg_value b, bool holds) {
  bool less = f == EG_RULE_FN_LT || f == EG_RULE_FN_LE;
  bool strictly = f == EG_RULE_FN_LT || f == EG_RULE_FN_GT;
  // Of what may be NaN neither holds.
  if (!holds && !(a.kind == EG_VALUE_INT && b.kind == EG_VALUE_INT)) return;
  if (less == holds)
    ordered(c, a, b, strictly == holds);
  else
    ordered(c, b, a, strictly == holds);
}

static const eg_shape *shape_of(eg_case *c, eg_value v) {
  if (v.kind != EG_VALUE_TENSOR || !c->typed[v.which])
    eg_case_give_up(c, "%s of what is no tensor", "a condition");
  return &c->shapes[v.which];
}

static void same_shape(eg_case *c, eg_value a, eg_value b) {
  const eg_shape *x = shape_of(c, a), *y = shape_of(c, b);
  if (x->rank != y->rank) eg_case_vacuous(c);
  for (uint32_t i = 0; i < x->rank; i++)
    eg_case_need_zero(c, eg_poly_sub(c->p, x->dims[i], y->dims[i]));
}

static void broadcasts(eg_case *c, eg_value of, const eg_poly *to, uint32_t rank) {
  const eg_shape *x = shape_of(c, of);
  if (x->rank > rank) eg_case_vacuous(c);
  for (uint32_t i = 0; i < x->rank; i++)
    eg_assume_pairing(c->p, x->dims[i], to[i + rank - x->rank], true);
  if (c->p->is_impossible) eg_case_vacuous(c);
}

static void splat_is(eg_case *c, const eg_rule_expr *e) {
  const eg_rule_expr *of = &c->rule->exprs[e->args[0]];
  if (of->form != EG_RULE_EXPR_VAR ||
      c->rule->vars[of->var].origin != EG_RULE_VAR_MATCHED)
    return;
  eg_scalar value = number_of(c, eg_case_expr(c, e->args[1]));
  // 0.0 may be -0.0, and a number that not all types have is that of the tensor's type.
  const eg_scalar_node *n = eg_scalar_at(c->p, value);
  bool is_same =
      n->kind == EG_SCALAR_NUMBER && n->value != 0 && eg_number_is_plain(n->value);
  bool is_whole = c->vars[of->var].kind == EG_VALUE_TENSOR &&
                  eg_kind_domain(c, c->kinds[c->vars[of->var].which]) == EG_DOMAIN_WHOLE;
  if (c->p->is_exact && !is_same && !is_whole) value = eg_scalar_real(c->p);
  c->splats[of->var] = value;
}

static void one_splat(eg_case *c, const eg_rule_expr *e) {
  const eg_rule_expr *of = &c->rule->exprs[e->args[0]];
  if (of->form != EG_RULE_EXPR_VAR ||
      c->rule->vars[of->var].origin != EG_RULE_VAR_MATCHED)
    return;
  if (c->splats[of->var] == EG_PROOF_NONE) c->splats[of->var] = eg_scalar_real(c->p);
}

static void weight_only(eg_case *c, const eg_rule_expr *e) {
  const eg_rule_expr *of = &c->rule->exprs[e->args[0]];
  if (of->form == EG_RULE_EXPR_VAR) c->is_weight[of->var] = true;
}

static void finite(eg_case *c, const eg_rule_expr *e) {
  eg_scalar s = number_of(c, eg_case_expr(c, e->args[0]));
  const eg_scalar_node *n = eg_scalar_at(c->p, s);
  if (n->kind != EG_SCALAR_REAL || n->which >= 64) return;
  c->p->finite_reals |= UINT64_C(1) << n->which;
  c->p->scalars.data[s]->is_finite = true;
}

// a divides b, or its remainder is `rest` (of 2).
static void divisible(eg_case *c, eg_poly a, eg_poly b, int64_t rest) {
  eg_proof *p = c->p;
  bool natural = eg_is_natural(p, a) && eg_is_natural(p, b);
  eg_poly times = eg_poly_symbol(p, natural);
  eg_poly other = eg_poly_add(p, eg_poly_mul(p, a, times), eg_poly_const(p, rest));
  eg_case_need_zero(c, eg_poly_sub(p, b, other));
}

static void all_equal(eg_case *c, eg_value list, eg_value item) {
  for (uint32_t i = 0; i < list.count; i++)
    eg_case_need_zero(c, eg_poly_sub(c->p, list.list[i], item.number));
}

static void perm_identity(eg_case *c, eg_value perm) {
  for (uint32_t i = 0; i < perm.count; i++)
    eg_case_need_zero(c, eg_poly_sub(c->p, perm.list[i], eg_poly_const(c->p, i)));
}

static void mark_dtype(eg_case *c, eg_rule_function f, eg_value v) {
  if (v.kind != EG_VALUE_TENSOR) return;
  eg_kind_mark(c, c->kinds[v.which], f == EG_RULE_FN_IS_FLOAT, f == EG_RULE_FN_IS_INT,
               f == EG_RULE_FN_IS_BOOL);
}

// There is an element: no size is 0.
static void has_elements(eg_case *c, const eg_rule_expr *e) {
  const eg_rule_expr *of = &c->rule->exprs[e->args[0]];
  const eg_rule_expr *number = &c->rule->exprs[e->args[1]];
  if (e->function != EG_RULE_FN_GT || of->form != EG_RULE_EXPR_CALL ||
      of->function != EG_RULE_FN_ELEMENTS || number->form != EG_RULE_EXPR_CONSTANT ||
      number->constant.i < 0)
    return;
  const eg_shape *shape = shape_of(c, eg_case_expr(c, of->args[0]));
  for (uint32_t i = 0; i < shape->rank; i++)
    eg_case_need_natural(c, eg_poly_sub(c->p, shape->dims[i], eg_poly_const(c->p, 1)));
}

static void assume_true(eg_case *c, const eg_rule_expr *e) {
  eg_value a[3] = {{.kind = EG_VALUE_OPEN}};
  for (uint32_t i = 0; i < e->arg_count && i < 3; i++)
    a[i] = eg_case_expr(c, e->args[i]);
  switch ((int)e->function) {
  case EG_RULE_FN_EQ: eg_case_equate(c, a[0], a[1]); break;
  case EG_RULE_FN_NE:
    if (is_negative(c, a[0], a[1])) eg_case_vacuous(c);
    break;
  case EG_RULE_FN_LT:
  case EG_RULE_FN_LE:
  case EG_RULE_FN_GT:
  case EG_RULE_FN_GE:
    has_elements(c, e);
    compare(c, e->function, a[0], a[1], true);
    break;
  case EG_RULE_FN_IS_FLOAT:
  case EG_RULE_FN_IS_INT:
  case EG_RULE_FN_IS_BOOL: mark_dtype(c, e->function, a[0]); break;
  case EG_RULE_FN_SAME_TYPE:
    same_shape(c, a[0], a[1]);
    eg_kind_equate(c, c->kinds[a[0].which], c->kinds[a[1].which]);
    break;
  case EG_RULE_FN_SAME_DTYPE:
    eg_kind_equate(c, c->kinds[a[0].which], c->kinds[a[1].which]);
    break;
  case EG_RULE_FN_SAME_SHAPE: same_shape(c, a[0], a[1]); break;
  case EG_RULE_FN_BROADCASTS_TO:
    broadcasts(c, a[0], shape_of(c, a[1])->dims, shape_of(c, a[1])->rank);
    break;
  case EG_RULE_FN_BROADCASTS_TO_SHAPE: broadcasts(c, a[0], a[1].list, a[1].count); break;
  case EG_RULE_FN_DIVIDES: divisible(c, a[0].number, a[1].number, 0); break;
  case EG_RULE_FN_ODD: divisible(c, eg_poly_const(c->p, 2), a[0].number, 1); break;
  case EG_RULE_FN_EVEN: divisible(c, eg_poly_const(c->p, 2), a[0].number, 0); break;
  case EG_RULE_FN_ALL_ODD:
    for (uint32_t i = 0; i < a[0].count; i++)
      divisible(c, eg_poly_const(c->p, 2), a[0].list[i], 1);
    break;
  case EG_RULE_FN_ALL_EQUAL: all_equal(c, a[0], a[1]); break;
  case EG_RULE_FN_PERM_IDENTITY: perm_identity(c, a[0]); break;
  default: break; // of classes of the e-graph, or of no use here
  }
}

static void assume_false(eg_case *c, const eg_rule_expr *e) {
  switch ((int)e->function) {
  case EG_RULE_FN_EQ: {
    eg_value a = eg_case_expr(c, e->args[0]), b = eg_case_expr(c, e->args[1]);
    if (is_negative(c, a, b)) eg_case_vacuous(c);
    break;
  }
  case EG_RULE_FN_NE:
    eg_case_equate(c, eg_case_expr(c, e->args[0]), eg_case_expr(c, e->args[1]));
    break;
  case EG_RULE_FN_LT:
  case EG_RULE_FN_LE:
  case EG_RULE_FN_GT:
  case EG_RULE_FN_GE:
    compare(c, e->function, eg_case_expr(c, e->args[0]), eg_case_expr(c, e->args[1]),
            false);
    break;
  default: break;
  }
}

void eg_case_assume(eg_case *c, uint32_t expr, bool holds) {
  const eg_rule_expr *e = &c->rule->exprs[expr];
  if (e->form != EG_RULE_EXPR_CALL) return;
  bool all = (e->function == EG_RULE_FN_AND) == holds;
  switch ((int)e->function) {
  case EG_RULE_FN_NOT: eg_case_assume(c, e->args[0], !holds); return;
  case EG_RULE_FN_AND:
  case EG_RULE_FN_OR:
    if (all)
      for (uint32_t i = 0; i < e->arg_count; i++)
        eg_case_assume(c, e->args[i], holds);
    else // one of them: a case each
      eg_case_assume(c, e->args[eg_proof_choose(c->p, e->arg_count)], holds);
    return;
  case EG_RULE_FN_SPLAT_IS:
    if (holds) splat_is(c, e);
    return;
  case EG_RULE_FN_IS_SPLAT:
    if (holds) one_splat(c, e);
    return;
  case EG_RULE_FN_WEIGHT_ONLY:
    if (holds) weight_only(c, e);
    return;
  case EG_RULE_FN_FINITE:
    if (holds) finite(c, e);
    return;
  case EG_RULE_FN_IS_CONCAT:
  case EG_RULE_FN_IS_CONV:
  case EG_RULE_FN_BEFORE:
  case EG_RULE_FN_CONTAINS:
  case EG_RULE_FN_SORTED: return;
  default: break;
  }
  if (holds)
    assume_true(c, e);
  else
    assume_false(c, e);
}
