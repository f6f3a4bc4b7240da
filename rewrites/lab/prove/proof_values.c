// Evaluates expressions of rules over symbols, and turns conditions and equalities into
// facts. A condition that is not about values and sizes gives no fact: a proof without it
// is also valid with it.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"
#include "rewrites/saturation/rule_eval.h"

static eg_datum real(eg_scalar scalar) {
  return (eg_datum){.kind = EG_DATUM_REAL, .scalar = scalar};
}

// ---- expressions ------------------------------------------------------------------

static eg_datum constant(eg_case *c, const eg_rule_value *v) {
  switch ((int)v->kind) {
  case EG_RULE_INT: return eg_datum_int(eg_poly_const(c->p, v->i));
  case EG_RULE_FLOAT: return real(eg_scalar_number(c->p, v->f));
  case EG_RULE_DTYPE:
    return (eg_datum){.kind = EG_DATUM_DTYPE,
                      .which = eg_kind_of_dtype(c, (egraph_dtype)v->i)};
  case EG_RULE_SYMBOL:
  case EG_RULE_STRING: return (eg_datum){.kind = EG_DATUM_TEXT, .text = v->text};
  case EG_RULE_INTS: {
    eg_poly *list = eg_proof_memory(c->p, v->ints.len, sizeof *list);
    for (uint32_t i = 0; i < v->ints.len; i++)
      list[i] = eg_poly_const(c->p, v->ints.data[i]);
    return eg_datum_ints(list, v->ints.len);
  }
  default: eg_case_give_up(c, "a constant of kind %s", eg_rule_kind_words(v->kind));
  }
}

void eg_case_let(eg_case *c, uint32_t var) {
  uint32_t expr = eg_rule_let_expr(c->rule, var);
  if (expr != EG_RULE_NONE) c->vars[var] = eg_case_expr(c, expr);
}

static eg_datum variable(eg_case *c, uint32_t var) {
  const eg_rule_var *v = &c->rule->vars[var];
  if (c->vars[var].kind == EG_DATUM_OPEN && v->origin == EG_RULE_VAR_LET_VALUE)
    eg_case_let(c, var);
  if (c->vars[var].kind == EG_DATUM_OPEN)
    eg_case_give_up(c, "%s is not bound by an operator that is known", v->name);
  return c->vars[var];
}

static eg_scalar scalar_of(eg_case *c, eg_datum v) {
  if (v.kind == EG_DATUM_INT) return eg_scalar_size(c->p, v.number);
  if (v.kind != EG_DATUM_REAL) eg_case_give_up(c, "%s is not a number", "an operand");
  return v.scalar;
}

static uint32_t index_of(eg_case *c, eg_datum v, uint32_t len) {
  int64_t index = eg_case_const(c, v.number, "an index");
  if (index < 0) index += len;
  if (index < 0 || index >= (int64_t)len) eg_case_vacuous(c);
  return (uint32_t)index;
}

// Returns the quotient, which must be exact; without remainder 0 there is no instance.
static eg_poly exact_quotient(eg_case *c, eg_poly a, eg_poly b) {
  eg_assume_nonzero(c->p, b);
  if (c->p->is_impossible) eg_case_vacuous(c);
  return eg_case_over(c, a, b, eg_is_natural(c->p, a) && eg_is_natural(c->p, b));
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
  static const eg_op same[EG_RULE_FN_COUNT] = {
      [EG_RULE_FN_ADD] = EG_OP_ADD, [EG_RULE_FN_SUB] = EG_OP_SUB,
      [EG_RULE_FN_MUL] = EG_OP_MUL, [EG_RULE_FN_DIV] = EG_OP_DIV,
      [EG_RULE_FN_MIN] = EG_OP_MIN, [EG_RULE_FN_MAX] = EG_OP_MAX,
      [EG_RULE_FN_POW] = EG_OP_POW}; // 0 is an operator of graphs alone
  if (same[f] == 0) eg_case_give_up(c, "%s of numbers", "a function");
  return eg_scalar_call(c->p, same[f], (eg_scalar[]){a, b}, 2, EG_DOMAIN_REAL);
}

static eg_datum arithmetic(eg_case *c, eg_rule_function f, const eg_datum *args,
                           uint32_t count) {
  eg_datum total = args[0];
  if (count == 1)
    return f == EG_RULE_FN_SUB
               ? arithmetic(c, f,
                            (eg_datum[]){eg_datum_int(eg_poly_const(c->p, 0)), total}, 2)
               : total;
  for (uint32_t i = 1; i < count; i++) {
    eg_datum next = args[i];
    if (total.kind == EG_DATUM_INT && next.kind == EG_DATUM_INT) {
      total.number = on_ints(c, f, total.number, next.number);
    } else if (total.kind == EG_DATUM_INTS || next.kind == EG_DATUM_INTS) {
      bool both = total.kind == next.kind;
      if (both && total.count != next.count) eg_case_vacuous(c);
      uint32_t len = total.kind == EG_DATUM_INTS ? total.count : next.count;
      eg_poly *list = eg_proof_memory(c->p, len, sizeof *list);
      for (uint32_t k = 0; k < len; k++)
        list[k] =
            on_ints(c, f, total.kind == EG_DATUM_INTS ? total.list[k] : total.number,
                    next.kind == EG_DATUM_INTS ? next.list[k] : next.number);
      total = eg_datum_ints(list, len);
    } else {
      total = real(on_reals(c, f, scalar_of(c, total), scalar_of(c, next)));
    }
  }
  return total;
}

/// A function that moves elements of lists is evaluated on numbers of polynomials.
/// Letters of arguments (the last one repeats) and results: l (a list) and n (an element)
/// are only moved; the others must be known: i an index, e a length, b a bound, p the
/// elements of a permutation, s elements to sort.
typedef struct list_row {
  eg_rule_evaluator *eval;
  const char *arguments;
  char result;
} list_row;

static const list_row list_rows[EG_RULE_FN_COUNT] = {
    [EG_RULE_FN_SET_AT] = {eg_rule_eval_set_at, "lin", 'l'},
    [EG_RULE_FN_REMOVE_AT] = {eg_rule_eval_remove_at, "li", 'l'},
    [EG_RULE_FN_INSERT_AT] = {eg_rule_eval_insert_at, "lin", 'l'},
    [EG_RULE_FN_REVERSE] = {eg_rule_eval_reverse, "l", 'l'},
    [EG_RULE_FN_SORT] = {eg_rule_eval_sort, "s", 's'},
    [EG_RULE_FN_PERM_APPLY] = {eg_rule_eval_perm_apply, "pl", 'l'},
    [EG_RULE_FN_PERM_COMPOSE] = {eg_rule_eval_perm_apply, "pl", 'l'},
    [EG_RULE_FN_PERM_INVERSE] = {eg_rule_eval_perm_inverse, "p", 'p'},
    [EG_RULE_FN_PERM_SWAP] = {eg_rule_eval_perm_swap, "ei", 'p'},
    [EG_RULE_FN_LIST] = {eg_rule_eval_list, "n", 'l'},
    [EG_RULE_FN_APPEND] = {eg_rule_eval_append, "l", 'l'},
    [EG_RULE_FN_REPEAT] = {eg_rule_eval_repeat, "ne", 'l'},
    [EG_RULE_FN_RANGE] = {eg_rule_eval_range, "b", 'p'},
    [EG_RULE_FN_AT] = {eg_rule_eval_at, "li", 'n'},
    [EG_RULE_FN_TAKE] = {eg_rule_eval_take, "le", 'l'},
    [EG_RULE_FN_DROP] = {eg_rule_eval_drop, "le", 'l'}};

// Returns words for an argument that must be known, by its letter, or NULL for one that
// is only moved.
static const char *known_words(char letter) {
  static const char *const words[] = {
      ['i'] = "an index",        ['e'] = "a length",
      ['b'] = "a bound",         ['p'] = "an item of a permutation",
      ['s'] = "an item to sort", ['z'] = NULL};
  return words[(unsigned char)letter];
}

static eg_rule_value evaluable(eg_case *c, const eg_datum *v, char letter) {
  const char *words = known_words(letter);
  bool is_list = letter == 'l' || letter == 'p' || letter == 's';
  uint32_t count = is_list ? v->count : 1;
  const eg_poly *from = is_list ? v->list : &v->number;
  int64_t *items = eg_proof_memory(c->p, count, sizeof *items);
  for (uint32_t i = 0; i < count; i++)
    items[i] = words != NULL ? eg_case_const(c, from[i], words) : (int64_t)from[i];
  return is_list ? (eg_rule_value){.kind = EG_RULE_INTS, .ints = {items, count}}
                 : eg_rule_int(items[0]);
}

static eg_datum evaluate_row(eg_case *c, const list_row *row, const eg_datum *a,
                             uint32_t count) {
  enum { ARGUMENTS = 16, LONGEST = 64 };
  eg_rule_env env = {.scratch = c->p->lists};
  eg_rule_value args[ARGUMENTS], made;
  const char *letter = row->arguments;
  env.scratch->int_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    args[i] = evaluable(c, &a[i], *letter);
    letter += letter[1] != '\0';
  }
  if (!row->eval(&env, args, count, &made)) eg_case_vacuous(c);
  if (row->result == 'n') return eg_datum_int((eg_poly)made.i);
  if (made.ints.len > LONGEST) eg_case_vacuous(c);
  eg_poly *list = eg_proof_memory(c->p, made.ints.len, sizeof *list);
  for (uint32_t i = 0; i < made.ints.len; i++)
    list[i] = row->result == 'l' ? (eg_poly)made.ints.data[i]
                                 : eg_poly_const(c->p, made.ints.data[i]);
  return eg_datum_ints(list, made.ints.len);
}

static eg_datum list_function(eg_case *c, eg_rule_function f, const eg_datum *a,
                              uint32_t count) {
  if (f == EG_RULE_FN_LEN) return eg_datum_int(eg_poly_const(c->p, a[0].count));
  if (f == EG_RULE_FN_SORT && a[0].count < 2) return a[0];
  if (f == EG_RULE_FN_SUM || f == EG_RULE_FN_PRODUCT) {
    bool sum = f == EG_RULE_FN_SUM;
    eg_poly all = eg_poly_const(c->p, sum ? 0 : 1);
    for (uint32_t i = 0; i < a[0].count; i++)
      all = (sum ? eg_poly_add : eg_poly_mul)(c->p, all, a[0].list[i]);
    return eg_datum_int(all);
  }
  if (list_rows[f].eval != NULL) return evaluate_row(c, &list_rows[f], a, count);
  return (eg_datum){.kind = EG_DATUM_OPEN};
}

static eg_datum tensor_function(eg_case *c, eg_rule_function f, const eg_datum *a) {
  eg_proof *p = c->p;
  const eg_shape *shape = a[0].kind == EG_DATUM_TENSOR ? &c->shapes[a[0].which] : NULL;
  if (shape == NULL || !c->typed[a[0].which]) return (eg_datum){.kind = EG_DATUM_OPEN};
  switch ((int)f) {
  case EG_RULE_FN_DIM: return eg_datum_int(shape->dims[index_of(c, a[1], shape->rank)]);
  case EG_RULE_FN_AXIS:
    return eg_datum_int(eg_poly_const(p, index_of(c, a[1], shape->rank)));
  case EG_RULE_FN_RANK: return eg_datum_int(eg_poly_const(p, shape->rank));
  case EG_RULE_FN_ELEMENTS: return eg_datum_int(eg_shape_elements(c, shape));
  case EG_RULE_FN_SHAPE: return eg_datum_ints(shape->dims, shape->rank);
  case EG_RULE_FN_DTYPE:
    return (eg_datum){.kind = EG_DATUM_DTYPE, .which = c->kinds[a[0].which]};
  case EG_RULE_FN_BROADCAST_SHAPE: {
    eg_shape *made = eg_proof_memory(p, 1, sizeof *made);
    *made = eg_shape_stretched(c, shape, &c->shapes[a[1].which]);
    if (p->is_impossible) eg_case_vacuous(c);
    return eg_datum_ints(made->dims, made->rank);
  }
  default: return (eg_datum){.kind = EG_DATUM_OPEN};
  }
}

// Returns the variable whose splat (number of all elements) a call reads,
// or EG_RULE_NONE.
static uint32_t splat_var(const eg_case *c, const eg_rule_expr *call) {
  uint32_t var = eg_rule_var_of(c->rule, call->args[0]);
  bool is_matched =
      var != EG_RULE_NONE && c->rule->vars[var].origin == EG_RULE_VAR_MATCHED;
  return is_matched ? var : EG_RULE_NONE;
}

static eg_scalar any_splat(eg_case *c, uint32_t var) {
  if (c->splats[var] == EG_PROOF_NONE) c->splats[var] = eg_scalar_real(c->p);
  return c->splats[var];
}

// Returns the number that fills a constant tensor. A rule that reads it applies only if
// all elements are one number that is not NaN.
static eg_datum splat(eg_case *c, const eg_rule_expr *call) {
  uint32_t var = splat_var(c, call);
  if (var == EG_RULE_NONE) eg_case_give_up(c, "%s of a term", "splat");
  const eg_scalar_node *n = eg_scalar_at(c->p, any_splat(c, var));
  if (n->kind == EG_SCALAR_REAL && n->which < 64)
    c->p->ordered_reals |= UINT64_C(1) << n->which;
  return real(c->splats[var]);
}

static eg_datum call_value(eg_case *c, const eg_rule_expr *e) {
  eg_datum args[16];
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
  eg_datum made = tensor_function(c, e->function, args);
  if (made.kind == EG_DATUM_OPEN)
    made = list_function(c, e->function, args, e->arg_count);
  if (made.kind == EG_DATUM_OPEN)
    eg_case_give_up(c, "the function %s", eg_rule_function_info_of(e->function)->name);
  return made;
}

eg_datum eg_case_expr(eg_case *c, uint32_t expr) {
  const eg_rule_expr *e = &c->rule->exprs[expr];
  switch (e->form) {
  case EG_RULE_EXPR_CONSTANT: return constant(c, &e->constant);
  case EG_RULE_EXPR_VAR: return variable(c, e->var);
  case EG_RULE_EXPR_CALL: return call_value(c, e);
  }
  return (eg_datum){.kind = EG_DATUM_OPEN};
}

// ---- conditions -----------------------------------------------------------------

void eg_case_equate(eg_case *c, eg_datum a, eg_datum b) {
  if (a.kind == EG_DATUM_INT && b.kind == EG_DATUM_INT) {
    eg_case_need_equal(c, a.number, b.number);
  } else if (a.kind == EG_DATUM_INTS && b.kind == EG_DATUM_INTS) {
    if (a.count != b.count) eg_case_vacuous(c);
    for (uint32_t i = 0; i < a.count; i++)
      eg_case_need_equal(c, a.list[i], b.list[i]);
  } else if (a.kind == EG_DATUM_DTYPE && b.kind == EG_DATUM_DTYPE) {
    eg_kind_equate(c, a.which, b.which);
  }
}

/// Assumes that two values differ; returns true when the facts make them equal.
static bool cannot_differ(eg_case *c, eg_datum a, eg_datum b) {
  if (a.kind == EG_DATUM_INT && b.kind == EG_DATUM_INT) {
    eg_assume_nonzero(c->p, eg_poly_sub(c->p, a.number, b.number));
    return c->p->is_impossible;
  }
  if (a.kind == EG_DATUM_INTS && b.kind == EG_DATUM_INTS && a.count == b.count) {
    bool same = true;
    for (uint32_t i = 0; i < a.count; i++)
      same = same && eg_is_zero(c->p, eg_poly_sub(c->p, a.list[i], b.list[i]));
    return same;
  }
  return false;
}

static void ordered(eg_case *c, eg_datum low, eg_datum high, bool strictly) {
  eg_proof *p = c->p;
  if (low.kind == EG_DATUM_INT && high.kind == EG_DATUM_INT) {
    eg_poly gap = eg_poly_sub(p, high.number, low.number);
    eg_case_need_natural(c, strictly ? eg_poly_sub(p, gap, eg_poly_const(p, 1)) : gap);
    return;
  }
  eg_scalar_pair pair = {.low = scalar_of(c, low), .high = scalar_of(c, high)};
  eg_proof_need(p, eg_scalar_pairs_push(&p->orders, pair));
}

static void assume_order(eg_case *c, eg_rule_function f, eg_datum a, eg_datum b,
                         bool holds) {
  bool less = f == EG_RULE_FN_LT || f == EG_RULE_FN_LE;
  bool strictly = f == EG_RULE_FN_LT || f == EG_RULE_FN_GT;
  // A comparison with NaN is false, and so is its opposite, so its negation gives
  // no fact.
  if (!holds && !(a.kind == EG_DATUM_INT && b.kind == EG_DATUM_INT)) return;
  if (less == holds)
    ordered(c, a, b, strictly == holds);
  else
    ordered(c, b, a, strictly == holds);
}

static const eg_shape *tensor_shape(eg_case *c, eg_datum v) {
  if (v.kind != EG_DATUM_TENSOR || !c->typed[v.which])
    eg_case_give_up(c, "%s of what is no tensor", "a condition");
  return &c->shapes[v.which];
}

static void same_shape(eg_case *c, eg_datum a, eg_datum b) {
  const eg_shape *x = tensor_shape(c, a), *y = tensor_shape(c, b);
  if (x->rank != y->rank) eg_case_vacuous(c);
  for (uint32_t i = 0; i < x->rank; i++)
    eg_case_need_equal(c, x->dims[i], y->dims[i]);
}

static void broadcasts(eg_case *c, eg_datum of, const eg_poly *to, uint32_t rank) {
  const eg_shape *x = tensor_shape(c, of);
  if (x->rank > rank) eg_case_vacuous(c);
  for (uint32_t i = 0; i < x->rank; i++)
    eg_assume_pairing(c->p, x->dims[i], to[i + rank - x->rank], true);
  if (c->p->is_impossible) eg_case_vacuous(c);
}

static void splat_is(eg_case *c, const eg_rule_expr *e) {
  uint32_t var = splat_var(c, e);
  if (var == EG_RULE_NONE) return;
  eg_scalar value = scalar_of(c, eg_case_expr(c, e->args[1]));
  // 0.0 may be -0.0; a number that some types round is rounded to the tensor's type.
  const eg_scalar_node *n = eg_scalar_at(c->p, value);
  bool is_same =
      n->kind == EG_SCALAR_NUMBER && n->value != 0 && eg_number_is_plain(n->value);
  bool is_whole = c->vars[var].kind == EG_DATUM_TENSOR &&
                  eg_kind_domain(c, c->kinds[c->vars[var].which]) == EG_DOMAIN_WHOLE;
  if (c->p->is_exact && !is_same && !is_whole) value = eg_scalar_real(c->p);
  c->splats[var] = value;
}

static void finite(eg_case *c, const eg_rule_expr *e) {
  eg_scalar s = scalar_of(c, eg_case_expr(c, e->args[0]));
  const eg_scalar_node *n = eg_scalar_at(c->p, s);
  if (n->kind != EG_SCALAR_REAL || n->which >= 64) return;
  c->p->finite_reals |= UINT64_C(1) << n->which;
  c->p->scalars.data[s]->is_finite = true;
}

// Assumes that a divides b, or that the remainder is `rest` (for a = 2).
static void divisible(eg_case *c, eg_poly a, eg_poly b, int64_t rest) {
  eg_proof *p = c->p;
  bool natural = eg_is_natural(p, a) && eg_is_natural(p, b);
  eg_poly times = eg_poly_symbol(p, natural);
  eg_poly other = eg_poly_add(p, eg_poly_mul(p, a, times), eg_poly_const(p, rest));
  eg_case_need_equal(c, b, other);
}

// Assumes that no size is 0 when the number of elements is positive.
static void has_elements(eg_case *c, const eg_rule_expr *e) {
  const eg_rule_expr *of = eg_rule_call_of(c->rule, e->args[0], EG_RULE_FN_ELEMENTS);
  const eg_rule_expr *number = &c->rule->exprs[e->args[1]];
  if (e->function != EG_RULE_FN_GT || of == NULL ||
      number->form != EG_RULE_EXPR_CONSTANT || number->constant.i < 0)
    return;
  const eg_shape *shape = tensor_shape(c, eg_case_expr(c, of->args[0]));
  for (uint32_t i = 0; i < shape->rank; i++)
    eg_case_need_positive(c, shape->dims[i]);
}

static void assume_true(eg_case *c, const eg_rule_expr *e) {
  eg_datum a[3] = {{.kind = EG_DATUM_OPEN}};
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
    if (a[0].kind == EG_DATUM_TENSOR)
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
      eg_case_need_equal(c, a[0].list[i], a[1].number);
    break;
  case EG_RULE_FN_PERM_IDENTITY:
    for (uint32_t i = 0; i < a[0].count; i++)
      eg_case_need_equal(c, a[0].list[i], eg_poly_const(c->p, i));
    break;
  default: break; // about classes of the e-graph, or of no use here
  }
}

static void assume_false(eg_case *c, const eg_rule_expr *e) {
  switch ((int)e->function) {
  case EG_RULE_FN_EQ: {
    eg_datum a = eg_case_expr(c, e->args[0]), b = eg_case_expr(c, e->args[1]);
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
    else // one case for each alternative
      eg_case_assume(c, e->args[eg_proof_choose(c->p, e->arg_count)], holds);
    return;
  case EG_RULE_FN_SPLAT_IS:
    if (holds) splat_is(c, e);
    return;
  case EG_RULE_FN_IS_SPLAT:
    if (holds && splat_var(c, e) != EG_RULE_NONE) (void)any_splat(c, splat_var(c, e));
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
