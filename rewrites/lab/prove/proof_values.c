// Expressions of rules over symbols; conditions and equalities as facts. A condition on
// other things than values and sizes makes no fact: a proof without it holds with it.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"
#include "rewrites/language/rule_ast.h"

static eg_value real(eg_scalar scalar) {
  return (eg_value){.kind = EG_VALUE_REAL, .scalar = scalar};
}

// ---- expressions ------------------------------------------------------------------

static eg_value constant(eg_case *c, const eg_rule_value *v) {
  switch ((int)v->kind) {
  case EG_RULE_INT: return eg_value_int(eg_poly_const(c->p, v->i));
  case EG_RULE_FLOAT: return real(eg_scalar_number(c->p, v->f));
  case EG_RULE_DTYPE:
    return (eg_value){.kind = EG_VALUE_DTYPE,
                      .which = eg_kind_of_dtype(c, (egraph_dtype)v->i)};
  case EG_RULE_SYMBOL:
  case EG_RULE_STRING: return (eg_value){.kind = EG_VALUE_TEXT, .text = v->text};
  case EG_RULE_INTS: {
    eg_poly *list = eg_proof_memory(c->p, v->ints.len, sizeof *list);
    for (uint32_t i = 0; i < v->ints.len; i++)
      list[i] = eg_poly_const(c->p, v->ints.data[i]);
    return eg_value_ints(list, v->ints.len);
  }
  default: eg_case_give_up(c, "a constant of kind %s", eg_rule_kind_words(v->kind));
  }
}

void eg_case_let(eg_case *c, uint32_t var) {
  for (uint32_t i = 0; i < c->rule->let_count; i++) {
    const eg_rule_let *let = &c->rule->lets[i];
    if (let->var != var || let->is_term) continue;
    c->vars[var] = eg_case_expr(c, let->expr);
    return;
  }
}

static eg_value variable(eg_case *c, uint32_t var) {
  const eg_rule_var *v = &c->rule->vars[var];
  if (c->vars[var].kind == EG_VALUE_OPEN && v->origin == EG_RULE_VAR_LET_VALUE)
    eg_case_let(c, var);
  if (c->vars[var].kind == EG_VALUE_OPEN)
    eg_case_give_up(c, "%s is not bound by an operator that is known", v->name);
  return c->vars[var];
}

static eg_scalar scalar_of(eg_case *c, eg_value v) {
  if (v.kind == EG_VALUE_INT) return eg_scalar_size(c->p, v.number);
  if (v.kind != EG_VALUE_REAL) eg_case_give_up(c, "%s is not a number", "an operand");
  return v.scalar;
}

static uint32_t index_of(eg_case *c, eg_value v, uint32_t len) {
  int64_t index = eg_case_const(c, v.number, "an index");
  if (index < 0) index += len;
  if (index < 0 || index >= (int64_t)len) eg_case_vacuous(c);
  return (uint32_t)index;
}

static eg_poly exact_quotient(eg_case *c, eg_poly a, eg_poly b) {
  eg_proof *p = c->p;
  eg_poly out;
  a = eg_poly_canonical(p, a);
  b = eg_poly_canonical(p, b);
  eg_assume_nonzero(p, b);
  if (p->is_impossible) eg_case_vacuous(c);
  if (eg_poly_divide(p, a, b, &out)) return out;
  // The quotient is exact, or there is no instance.
  out = eg_poly_symbol(p, eg_is_natural(p, a) && eg_is_natural(p, b));
  eg_case_need_zero(c, eg_poly_sub(p, a, eg_poly_mul(p, b, out)));
  return out;
}

static eg_poly on_ints(eg_case *c, eg_rule_function f, eg_poly a, eg_poly b) {
  eg_proof *p = c->p;
  switch ((int)f) {
  case EG_RULE_FN_ADD: return eg_poly_add(p, a, b);
  case EG_RULE_FN_SUB: return eg_poly_sub(p, a, b);
  case EG_RULE_FN_MUL: return eg_poly_mul(p, a, b);
  case EG_RULE_FN_DIV: return exact_quotient(c, a, b);
  case EG_RULE_FN_MIN: return eg_poly_extreme(p, EG_SYMBOL_MIN, a, b);
  case EG_RULE_FN_MAX: return eg_poly_extreme(p, EG_SYMBOL_MAX, a, b);
  case EG_RULE_FN_FLOOR_DIV:
  case EG_RULE_FN_MOD:
    if (!eg_is_natural(p, eg_poly_sub(p, b, eg_poly_const(p, 1))))
      eg_case_give_up(c, "%s by what may be negative", "division");
    return (f == EG_RULE_FN_MOD ? eg_poly_mod : eg_poly_div)(p, a, b);
  default: eg_case_give_up(c, "%s of integers", "a function");
  }
}

static eg_scalar on_reals(eg_case *c, eg_rule_function f, eg_scalar a, eg_scalar b) {
  static const struct {
    eg_rule_function f;
    eg_op op;
  } same[] = {{EG_RULE_FN_ADD, EG_OP_ADD}, {EG_RULE_FN_SUB, EG_OP_SUB},
              {EG_RULE_FN_MUL, EG_OP_MUL}, {EG_RULE_FN_DIV, EG_OP_DIV},
              {EG_RULE_FN_MIN, EG_OP_MIN}, {EG_RULE_FN_MAX, EG_OP_MAX},
              {EG_RULE_FN_POW, EG_OP_POW}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    if (same[i].f == f)
      return eg_scalar_call(c->p, same[i].op, (eg_scalar[]){a, b}, 2, EG_DOMAIN_REAL);
  eg_case_give_up(c, "%s of numbers", "a function");
}

static eg_value arithmetic(eg_case *c, eg_rule_function f, const eg_value *args,
                           uint32_t count) {
  eg_value total = args[0];
  if (count == 1)
    return f == EG_RULE_FN_SUB
               ? arithmetic(c, f,
                            (eg_value[]){eg_value_int(eg_poly_const(c->p, 0)), total}, 2)
               : total;
  for (uint32_t i = 1; i < count; i++) {
    eg_value next = args[i];
    if (total.kind == EG_VALUE_INT && next.kind == EG_VALUE_INT) {
      total.number = on_ints(c, f, total.number, next.number);
    } else if (total.kind == EG_VALUE_INTS || next.kind == EG_VALUE_INTS) {
      bool both = total.kind == next.kind;
      if (both && total.count != next.count) eg_case_vacuous(c);
      uint32_t len = total.kind == EG_VALUE_INTS ? total.count : next.count;
      eg_poly *list = eg_proof_memory(c->p, len, sizeof *list);
      for (uint32_t k = 0; k < len; k++)
        list[k] =
            on_ints(c, f, total.kind == EG_VALUE_INTS ? total.list[k] : total.number,
                    next.kind == EG_VALUE_INTS ? next.list[k] : next.number);
      total = eg_value_ints(list, len);
    } else {
      total = real(on_reals(c, f, scalar_of(c, total), scalar_of(c, next)));
    }
  }
  return total;
}

static eg_poly *new_list(eg_case *c, int64_t count) {
  if (count < 0 || count > 64) eg_case_vacuous(c);
  return eg_proof_memory(c->p, (size_t)count, sizeof(eg_poly));
}

static eg_value copied(eg_case *c, eg_value from, uint32_t begin, uint32_t end) {
  eg_poly *list = new_list(c, end - begin);
  for (uint32_t i = begin; i < end; i++)
    list[i - begin] = from.list[i];
  return eg_value_ints(list, end - begin);
}

// Functions that return a list made of one list, or of two permutations.
static eg_value changed_list(eg_case *c, eg_rule_function f, const eg_value *a) {
  eg_proof *p = c->p;
  switch ((int)f) {
  case EG_RULE_FN_SET_AT: {
    eg_value made = copied(c, a[0], 0, a[0].count);
    ((eg_poly *)made.list)[index_of(c, a[1], a[0].count)] = a[2].number;
    return made;
  }
  case EG_RULE_FN_REMOVE_AT: {
    uint32_t at = index_of(c, a[1], a[0].count);
    eg_poly *list = new_list(c, (int64_t)a[0].count - 1);
    for (uint32_t i = 0, k = 0; i < a[0].count; i++)
      if (i != at) list[k++] = a[0].list[i];
    return eg_value_ints(list, a[0].count - 1);
  }
  case EG_RULE_FN_INSERT_AT: {
    uint32_t at = index_of(c, a[1], a[0].count + 1);
    eg_poly *list = new_list(c, (int64_t)a[0].count + 1);
    for (uint32_t i = 0, k = 0; i <= a[0].count; i++)
      list[i] = i == at ? a[2].number : a[0].list[k++];
    return eg_value_ints(list, a[0].count + 1);
  }
  case EG_RULE_FN_REVERSE: {
    eg_poly *list = new_list(c, a[0].count);
    for (uint32_t i = 0; i < a[0].count; i++)
      list[i] = a[0].list[a[0].count - 1 - i];
    return eg_value_ints(list, a[0].count);
  }
  case EG_RULE_FN_SORT: {
    eg_value made = copied(c, a[0], 0, a[0].count);
    eg_poly *list = (eg_poly *)made.list;
    for (uint32_t i = 0; i < made.count; i++)
      for (uint32_t k = i; k > 0 && eg_case_const(c, list[k - 1], "an item to sort") >
                                        eg_case_const(c, list[k], "an item to sort");
           k--) {
        eg_poly other = list[k];
        list[k] = list[k - 1];
        list[k - 1] = other;
      }
    return made;
  }
  case EG_RULE_FN_PERM_APPLY:
  case EG_RULE_FN_PERM_COMPOSE: {
    if (a[0].count != a[1].count) eg_case_vacuous(c);
    eg_poly *list = new_list(c, a[0].count);
    for (uint32_t i = 0; i < a[0].count; i++) {
      int64_t from = eg_case_const(c, a[0].list[i], "an item of a permutation");
      if (from < 0 || from >= (int64_t)a[0].count) eg_case_vacuous(c);
      list[i] = a[1].list[from];
    }
    return eg_value_ints(list, a[0].count);
  }
  case EG_RULE_FN_PERM_INVERSE: {
    eg_poly *list = new_list(c, a[0].count);
    for (uint32_t i = 0; i < a[0].count; i++) {
      int64_t to = eg_case_const(c, a[0].list[i], "an item of a permutation");
      if (to < 0 || to >= (int64_t)a[0].count) eg_case_vacuous(c);
      list[to] = eg_poly_const(p, i);
    }
    return eg_value_ints(list, a[0].count);
  }
  case EG_RULE_FN_PERM_SWAP: {
    int64_t len = eg_case_const(c, a[0].number, "a length");
    eg_poly *list = new_list(c, len);
    uint32_t i = index_of(c, a[1], (uint32_t)len), k = index_of(c, a[2], (uint32_t)len);
    for (uint32_t n = 0; n < len; n++)
      list[n] = eg_poly_const(p, n == i ? k : n == k ? i : n);
    return eg_value_ints(list, (uint32_t)len);
  }
  default: return (eg_value){.kind = EG_VALUE_OPEN};
  }
}

static eg_value list_function(eg_case *c, eg_rule_function f, const eg_value *a,
                              uint32_t count) {
  eg_proof *p = c->p;
  switch ((int)f) {
  case EG_RULE_FN_LIST: {
    eg_poly *list = new_list(c, count);
    for (uint32_t i = 0; i < count; i++)
      list[i] = a[i].number;
    return eg_value_ints(list, count);
  }
  case EG_RULE_FN_APPEND: {
    uint32_t len = 0;
    for (uint32_t i = 0; i < count; i++)
      len += a[i].count;
    eg_poly *list = new_list(c, len);
    for (uint32_t i = 0, at = 0; i < count; i++)
      for (uint32_t k = 0; k < a[i].count; k++)
        list[at++] = a[i].list[k];
    return eg_value_ints(list, len);
  }
  case EG_RULE_FN_REPEAT: {
    int64_t len = eg_case_const(c, a[1].number, "a length");
    eg_poly *list = new_list(c, len);
    for (int64_t i = 0; i < len; i++)
      list[i] = a[0].number;
    return eg_value_ints(list, (uint32_t)len);
  }
  case EG_RULE_FN_RANGE: {
    int64_t first = eg_case_const(c, a[0].number, "a bound"),
            end = eg_case_const(c, a[1].number, "a bound");
    int64_t len = end > first ? end - first : 0;
    eg_poly *list = new_list(c, len);
    for (int64_t i = 0; i < len; i++)
      list[i] = eg_poly_const(p, first + i);
    return eg_value_ints(list, (uint32_t)len);
  }
  case EG_RULE_FN_LEN: return eg_value_int(eg_poly_const(p, a[0].count));
  case EG_RULE_FN_AT: return eg_value_int(a[0].list[index_of(c, a[1], a[0].count)]);
  case EG_RULE_FN_SUM:
  case EG_RULE_FN_PRODUCT: {
    bool sum = f == EG_RULE_FN_SUM;
    eg_poly all = eg_poly_const(p, sum ? 0 : 1);
    for (uint32_t i = 0; i < a[0].count; i++)
      all = sum ? eg_poly_add(p, all, a[0].list[i]) : eg_poly_mul(p, all, a[0].list[i]);
    return eg_value_int(all);
  }
  case EG_RULE_FN_TAKE:
  case EG_RULE_FN_DROP: {
    int64_t n = eg_case_const(c, a[1].number, "a length");
    if (n < 0 || n > (int64_t)a[0].count) eg_case_vacuous(c);
    return f == EG_RULE_FN_TAKE ? copied(c, a[0], 0, (uint32_t)n)
                                : copied(c, a[0], (uint32_t)n, a[0].count);
  }
  default: return changed_list(c, f, a);
  }
}

static eg_value tensor_function(eg_case *c, eg_rule_function f, const eg_value *a) {
  eg_proof *p = c->p;
  const eg_shape *shape = a[0].kind == EG_VALUE_TENSOR ? &c->shapes[a[0].which] : NULL;
  if (shape == NULL || !c->typed[a[0].which]) return (eg_value){.kind = EG_VALUE_OPEN};
  switch ((int)f) {
  case EG_RULE_FN_DIM: return eg_value_int(shape->dims[index_of(c, a[1], shape->rank)]);
  case EG_RULE_FN_AXIS:
    return eg_value_int(eg_poly_const(p, index_of(c, a[1], shape->rank)));
  case EG_RULE_FN_RANK: return eg_value_int(eg_poly_const(p, shape->rank));
  case EG_RULE_FN_ELEMENTS: return eg_value_int(eg_shape_elements(c, shape));
  case EG_RULE_FN_SHAPE: return eg_value_ints(shape->dims, shape->rank);
  case EG_RULE_FN_DTYPE:
    return (eg_value){.kind = EG_VALUE_DTYPE, .which = c->kinds[a[0].which]};
  case EG_RULE_FN_BROADCAST_SHAPE: {
    eg_shape *made = eg_proof_memory(p, 1, sizeof *made);
    *made = eg_shape_stretched(c, shape, &c->shapes[a[1].which]);
    if (p->is_impossible) eg_case_vacuous(c);
    return eg_value_ints(made->dims, made->rank);
  }
  default: return (eg_value){.kind = EG_VALUE_OPEN};
  }
}

// The number that all elements of a tensor are. A rule that names it holds only where
// there is one and it is not NaN.
static eg_value splat(eg_case *c, const eg_rule_expr *call) {
  const eg_rule_expr *of = &c->rule->exprs[call->args[0]];
  if (of->form != EG_RULE_EXPR_VAR ||
      c->rule->vars[of->var].origin != EG_RULE_VAR_MATCHED)
    eg_case_give_up(c, "%s of a term", "splat");
  if (c->splats[of->var] == EG_PROOF_NONE) c->splats[of->var] = eg_scalar_real(c->p);
  const eg_scalar_node *n = eg_scalar_at(c->p, c->splats[of->var]);
  if (n->kind == EG_SCALAR_REAL && n->which < 64)
    c->p->ordered_reals |= UINT64_C(1) << n->which;
  return real(c->splats[of->var]);
}

static eg_value call_value(eg_case *c, const eg_rule_expr *e) {
  eg_value args[16];
  if (e->arg_count > 16) eg_case_give_up(c, "%s with too many arguments", "a function");
  if (e->function == EG_RULE_FN_SPLAT) return splat(c, e);
  for (uint32_t i = 0; i < e->arg_count; i++)
    args[i] = eg_case_expr(c, e->args[i]);
  switch ((int)e->function) {
  case EG_RULE_FN_ADD:
  case EG_RULE_FN_SUB:
  case EG_RULE_FN_MUL:
  case EG_RULE_FN_DIV:
  case EG_RULE_FN_FLOOR_DIV:
  case EG_RULE_FN_MOD:
  case EG_RULE_FN_MIN:
  case EG_RULE_FN_MAX: return arithmetic(c, e->function, args, e->arg_count);
  case EG_RULE_FN_FLOAT: return real(scalar_of(c, args[0]));
  case EG_RULE_FN_POW:
    return real(on_reals(c, e->function, scalar_of(c, args[0]), scalar_of(c, args[1])));
  case EG_RULE_FN_SQRT:
  case EG_RULE_FN_EXP: {
    eg_scalar x = scalar_of(c, args[0]);
    eg_op op = e->function == EG_RULE_FN_SQRT ? EG_OP_SQRT : EG_OP_EXP;
    return real(eg_scalar_call(c->p, op, &x, 1, EG_DOMAIN_REAL));
  }
  default: break;
  }
  eg_value made = tensor_function(c, e->function, args);
  if (made.kind == EG_VALUE_OPEN)
    made = list_function(c, e->function, args, e->arg_count);
  if (made.kind == EG_VALUE_OPEN)
    eg_case_give_up(c, "the function %s", eg_rule_function_info_of(e->function)->name);
  return made;
}

eg_value eg_case_expr(eg_case *c, uint32_t expr) {
  const eg_rule_expr *e = &c->rule->exprs[expr];
  switch (e->form) {
  case EG_RULE_EXPR_CONSTANT: return constant(c, &e->constant);
  case EG_RULE_EXPR_VAR: return variable(c, e->var);
  case EG_RULE_EXPR_CALL: return call_value(c, e);
  }
  return (eg_value){.kind = EG_VALUE_OPEN};
}

// ---- conditions -----------------------------------------------------------------

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

/// Assumes that two values differ; true when they cannot.
static bool cannot_differ(eg_case *c, eg_value a, eg_value b) {
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
  eg_scalar_pair pair = {.low = scalar_of(c, low), .high = scalar_of(c, high)};
  if (eg_scalar_pairs_push(&p->orders, pair) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
}

static void assume_order(eg_case *c, eg_rule_function f, eg_value a, eg_value b,
                         bool holds) {
  bool less = f == EG_RULE_FN_LT || f == EG_RULE_FN_LE;
  bool strictly = f == EG_RULE_FN_LT || f == EG_RULE_FN_GT;
  // A comparison with NaN is false both ways.
  if (!holds && !(a.kind == EG_VALUE_INT && b.kind == EG_VALUE_INT)) return;
  if (less == holds)
    ordered(c, a, b, strictly == holds);
  else
    ordered(c, b, a, strictly == holds);
}

static const eg_shape *tensor_shape(eg_case *c, eg_value v) {
  if (v.kind != EG_VALUE_TENSOR || !c->typed[v.which])
    eg_case_give_up(c, "%s of what is no tensor", "a condition");
  return &c->shapes[v.which];
}

static void same_shape(eg_case *c, eg_value a, eg_value b) {
  const eg_shape *x = tensor_shape(c, a), *y = tensor_shape(c, b);
  if (x->rank != y->rank) eg_case_vacuous(c);
  for (uint32_t i = 0; i < x->rank; i++)
    eg_case_need_zero(c, eg_poly_sub(c->p, x->dims[i], y->dims[i]));
}

static void broadcasts(eg_case *c, eg_value of, const eg_poly *to, uint32_t rank) {
  const eg_shape *x = tensor_shape(c, of);
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
  eg_scalar value = scalar_of(c, eg_case_expr(c, e->args[1]));
  // 0.0 may be -0.0; a number that some types round is rounded to the type of the tensor.
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

static void finite(eg_case *c, const eg_rule_expr *e) {
  eg_scalar s = scalar_of(c, eg_case_expr(c, e->args[0]));
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

// A positive number of elements: no size is 0.
static void has_elements(eg_case *c, const eg_rule_expr *e) {
  const eg_rule_expr *of = &c->rule->exprs[e->args[0]];
  const eg_rule_expr *number = &c->rule->exprs[e->args[1]];
  if (e->function != EG_RULE_FN_GT || of->form != EG_RULE_EXPR_CALL ||
      of->function != EG_RULE_FN_ELEMENTS || number->form != EG_RULE_EXPR_CONSTANT ||
      number->constant.i < 0)
    return;
  const eg_shape *shape = tensor_shape(c, eg_case_expr(c, of->args[0]));
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
    if (cannot_differ(c, a[0], a[1])) eg_case_vacuous(c);
    break;
  case EG_RULE_FN_LT:
  case EG_RULE_FN_LE:
  case EG_RULE_FN_GT:
  case EG_RULE_FN_GE:
    has_elements(c, e);
    assume_order(c, e->function, a[0], a[1], true);
    break;
  case EG_RULE_FN_IS_FLOAT:
  case EG_RULE_FN_IS_INT:
  case EG_RULE_FN_IS_BOOL:
    if (a[0].kind == EG_VALUE_TENSOR)
      eg_kind_mark(c, c->kinds[a[0].which], e->function == EG_RULE_FN_IS_FLOAT,
                   e->function == EG_RULE_FN_IS_INT, e->function == EG_RULE_FN_IS_BOOL);
    break;
  case EG_RULE_FN_SAME_TYPE:
    same_shape(c, a[0], a[1]);
    eg_kind_equate(c, c->kinds[a[0].which], c->kinds[a[1].which]);
    break;
  case EG_RULE_FN_SAME_DTYPE:
    eg_kind_equate(c, c->kinds[a[0].which], c->kinds[a[1].which]);
    break;
  case EG_RULE_FN_SAME_SHAPE: same_shape(c, a[0], a[1]); break;
  case EG_RULE_FN_BROADCASTS_TO:
    broadcasts(c, a[0], tensor_shape(c, a[1])->dims, tensor_shape(c, a[1])->rank);
    break;
  case EG_RULE_FN_BROADCASTS_TO_SHAPE: broadcasts(c, a[0], a[1].list, a[1].count); break;
  case EG_RULE_FN_DIVIDES: divisible(c, a[0].number, a[1].number, 0); break;
  case EG_RULE_FN_ODD: divisible(c, eg_poly_const(c->p, 2), a[0].number, 1); break;
  case EG_RULE_FN_EVEN: divisible(c, eg_poly_const(c->p, 2), a[0].number, 0); break;
  case EG_RULE_FN_ALL_ODD:
    for (uint32_t i = 0; i < a[0].count; i++)
      divisible(c, eg_poly_const(c->p, 2), a[0].list[i], 1);
    break;
  case EG_RULE_FN_ALL_EQUAL:
    for (uint32_t i = 0; i < a[0].count; i++)
      eg_case_need_zero(c, eg_poly_sub(c->p, a[0].list[i], a[1].number));
    break;
  case EG_RULE_FN_PERM_IDENTITY:
    for (uint32_t i = 0; i < a[0].count; i++)
      eg_case_need_zero(c, eg_poly_sub(c->p, a[0].list[i], eg_poly_const(c->p, i)));
    break;
  default: break; // of classes of the e-graph, or of no use here
  }
}

static void assume_false(eg_case *c, const eg_rule_expr *e) {
  switch ((int)e->function) {
  case EG_RULE_FN_EQ: {
    eg_value a = eg_case_expr(c, e->args[0]), b = eg_case_expr(c, e->args[1]);
    if (cannot_differ(c, a, b)) eg_case_vacuous(c);
    break;
  }
  case EG_RULE_FN_NE:
    eg_case_equate(c, eg_case_expr(c, e->args[0]), eg_case_expr(c, e->args[1]));
    break;
  case EG_RULE_FN_LT:
  case EG_RULE_FN_LE:
  case EG_RULE_FN_GT:
  case EG_RULE_FN_GE:
    assume_order(c, e->function, eg_case_expr(c, e->args[0]), eg_case_expr(c, e->args[1]),
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
    if (holds && c->rule->exprs[e->args[0]].form == EG_RULE_EXPR_VAR)
      c->is_weight[c->rule->exprs[e->args[0]].var] = true;
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
