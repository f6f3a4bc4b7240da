// Expressions of rules over symbols.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/lab/prove/proof_case.h"
#include "rewrites/language/rule_ast.h"

void eg_case_give_up(eg_case *c, const char *format, const char *name) {
  char *text = eg_proof_memory(c->p, 160, 1);
  snprintf(text, 160, format, name);
  eg_proof_leave(c->p, EG_PROOF_GIVEN_UP, text);
}

void eg_case_vacuous(eg_case *c) { eg_proof_leave(c->p, EG_PROOF_VACUOUS, ""); }

eg_value eg_value_int(eg_poly number) {
  return (eg_value){.kind = EG_VALUE_INT, .number = number};
}
eg_value eg_value_ints(const eg_poly *list, uint32_t count) {
  return (eg_value){.kind = EG_VALUE_INTS, .list = list, .count = count};
}
static eg_value real(eg_scalar scalar) {
  return (eg_value){.kind = EG_VALUE_REAL, .scalar = scalar};
}

void eg_case_need_zero(eg_case *c, eg_poly a) {
  eg_assume_zero(c->p, a);
  if (c->p->is_impossible) eg_case_vacuous(c);
}

void eg_case_need_natural(eg_case *c, eg_poly a) {
  eg_assume_natural(c->p, a);
  if (c->p->is_impossible) eg_case_vacuous(c);
}

int64_t eg_case_const(eg_case *c, eg_poly a, const char *what) {
  int64_t number;
  if (!eg_poly_is_const(c->p, eg_poly_canonical(c->p, a), &number))
    eg_case_give_up(c, "%s is not a known number", what);
  return number;
}

// ---- kinds of numbers -------------------------------------------------------------

uint32_t eg_kind_new(eg_case *c) {
  if (c->number_count == EG_CASE_KINDS)
    eg_case_give_up(c, "too many %s", "element types");
  uint32_t made = c->number_count++;
  c->numbers[made] = (eg_kind_of_numbers){.root = made, .dtype = -1};
  return made;
}

uint32_t eg_kind_root(const eg_case *c, uint32_t kind) {
  while (c->numbers[kind].root != kind)
    kind = c->numbers[kind].root;
  return kind;
}

void eg_kind_mark(eg_case *c, uint32_t kind, bool is_float, bool is_int, bool is_bool) {
  eg_kind_of_numbers *n = &c->numbers[eg_kind_root(c, kind)];
  n->is_float = n->is_float || is_float;
  n->is_int = n->is_int || is_int;
  n->is_bool = n->is_bool || is_bool;
  if (is_bool && n->dtype < 0) n->dtype = EGRAPH_BOOL;
  if (n->is_float + n->is_int + n->is_bool > 1) eg_case_vacuous(c);
}

void eg_kind_equate(eg_case *c, uint32_t a, uint32_t b) {
  a = eg_kind_root(c, a);
  b = eg_kind_root(c, b);
  if (a == b) return;
  eg_kind_of_numbers *x = &c->numbers[a], *y = &c->numbers[b];
  if (x->dtype >= 0 && y->dtype >= 0 && x->dtype != y->dtype) eg_case_vacuous(c);
  if (x->dtype < 0) x->dtype = y->dtype;
  y->root = a;
  eg_kind_mark(c, a, y->is_float, y->is_int, y->is_bool);
}

uint32_t eg_kind_of_dtype(eg_case *c, egraph_dtype dtype) {
  for (uint32_t i = 0; i < c->number_count; i++)
    if (c->numbers[i].root == i && c->numbers[i].dtype == (int64_t)dtype) return i;
  uint32_t made = eg_kind_new(c);
  c->numbers[made].dtype = (int64_t)dtype;
  bool is_float = eg_dtype_is_float(dtype), is_bool = dtype == EGRAPH_BOOL;
  eg_kind_mark(c, made, is_float, !is_float && !is_bool, is_bool);
  return made;
}

bool eg_kind_is_real(const eg_case *c, uint32_t kind) {
  return c->numbers[eg_kind_root(c, kind)].is_float;
}

eg_domain eg_kind_domain(const eg_case *c, uint32_t kind) {
  const eg_kind_of_numbers *n = &c->numbers[eg_kind_root(c, kind)];
  if (n->is_float) return EG_DOMAIN_REAL;
  return n->is_int || n->is_bool ? EG_DOMAIN_WHOLE : EG_DOMAIN_ANY;
}

// The largest number that conversion to every type of a kind keeps.
static double largest_of(const eg_case *c, uint32_t kind) {
  const eg_kind_of_numbers *n = &c->numbers[eg_kind_root(c, kind)];
  if (n->is_bool) return 1;
  if (n->dtype < 0) return 127;
  uint32_t bits = 8 * (uint32_t)eg_dtype_bytes((egraph_dtype)n->dtype);
  return bits == 8 ? 127 : ldexp(1, bits < 53 ? (int)bits - 1 : 53) - 1;
}

static bool is_kept(const eg_case *c, uint32_t kind, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(c->p, s);
  if (n->kind != EG_SCALAR_NUMBER) return false;
  if (eg_kind_is_real(c, kind)) return eg_number_is_plain(n->value);
  return n->which == 0 && n->value == floor(n->value) && n->value >= 0 &&
         n->value <= largest_of(c, kind);
}

// The number that all elements of a tensor of this kind are.
static bool is_splat_of(const eg_case *c, uint32_t kind, eg_scalar s) {
  for (uint32_t i = 0; i < c->rule->var_count; i++)
    if (c->splats[i] == s && c->vars[i].kind == EG_VALUE_TENSOR &&
        eg_kind_root(c, c->kinds[c->vars[i].which]) == eg_kind_root(c, kind))
      return true;
  return false;
}

eg_scalar eg_case_number(eg_case *c, uint32_t kind, eg_scalar s) {
  eg_proof *p = c->p;
  bool is_real = eg_kind_is_real(c, kind);
  if ((is_real && !p->is_exact) || is_splat_of(c, kind, s) || is_kept(c, kind, s))
    return s;
  const eg_scalar_node *n = eg_scalar_at(p, s);
  bool is_given = n->kind == EG_SCALAR_REAL || n->kind == EG_SCALAR_SIZE ||
                  (n->kind == EG_SCALAR_NUMBER && n->which == 0);
  if (!is_real && !is_given) // a rounded one may be truncated to another integer
    eg_case_give_up(c, "%s as an integer", "a computed number");
  eg_domain before = p->domain;
  p->domain = EG_DOMAIN_ANY;
  eg_scalar type = eg_scalar_key(p, 1000 + eg_kind_root(c, kind));
  eg_scalar made = eg_scalar_opaque(p, EG_OP_FILL, (eg_scalar[]){s, type}, 2);
  p->domain = before;
  return made;
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
  // There is one, or there is no instance.
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

// Lists made of one list, or of two permutations.
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
    const eg_shape *other = &c->shapes[a[1].which];
    uint32_t rank = shape->rank > other->rank ? shape->rank : other->rank;
    eg_poly *list = eg_proof_memory(p, rank, sizeof *list);
    for (uint32_t i = 0; i < rank; i++) {
      eg_poly one = eg_poly_const(p, 1);
      eg_poly x = i + shape->rank < rank ? one : shape->dims[i + shape->rank - rank];
      eg_poly y = i + other->rank < rank ? one : other->dims[i + other->rank - rank];
      eg_assume_pairing(p, x, y, false);
      list[i] = eg_poly_stretched(p, eg_poly_canonical(p, x), eg_poly_canonical(p, y));
    }
    if (p->is_impossible) eg_case_vacuous(c);
    return eg_value_ints(list, rank);
  }
  default: return (eg_value){.kind = EG_VALUE_OPEN};
  }
}

// The number that all elements are: to speak of it is to say that there is one, and not
// NaN.
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
