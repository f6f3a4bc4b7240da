// Prepares a case of a proof before its terms are typed: element types, and terms of one
// rank. A rank is chosen once for all terms that have the same rank in every instance,
// because typing or a condition requires it: a case with other ranks cannot occur.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "ops/meaning.h"

void eg_case_give_up(eg_case *c, const char *format, const char *name) {
  char *text = eg_proof_memory(c->p, 160, 1);
  snprintf(text, 160, format, name);
  eg_proof_leave(c->p, EG_PROOF_GIVEN_UP, text);
}

void eg_case_vacuous(eg_case *c) { eg_proof_leave(c->p, EG_PROOF_VACUOUS, ""); }

eg_datum eg_datum_int(eg_poly number) {
  return (eg_datum){.kind = EG_DATUM_INT, .number = number};
}
eg_datum eg_datum_ints(const eg_poly *list, uint32_t count) {
  return (eg_datum){.kind = EG_DATUM_INTS, .list = list, .count = count};
}

void eg_case_need_equal(eg_case *c, eg_poly a, eg_poly b) {
  eg_assume_zero(c->p, eg_poly_sub(c->p, a, b));
  if (c->p->is_impossible) eg_case_vacuous(c);
}

void eg_case_need_natural(eg_case *c, eg_poly a) {
  eg_assume_natural(c->p, a);
  if (c->p->is_impossible) eg_case_vacuous(c);
}

void eg_case_need_positive(eg_case *c, eg_poly a) {
  eg_case_need_natural(c, eg_poly_sub(c->p, a, eg_one(c)));
}

eg_poly eg_case_over(eg_case *c, eg_poly a, eg_poly b, bool is_natural) {
  eg_poly out;
  a = eg_poly_canonical(c->p, a);
  b = eg_poly_canonical(c->p, b);
  if (eg_poly_divide(c->p, a, b, &out)) return out;
  out = eg_poly_symbol(c->p, is_natural);
  eg_case_need_equal(c, a, eg_poly_mul(c->p, b, out));
  return out;
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
  assert(kind < c->number_count);
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

// Returns the largest number up to which all whole numbers are exact in every type that
// an element type (kind) may be.
static double largest_of(const eg_case *c, uint32_t kind) {
  const eg_kind_of_numbers *n = &c->numbers[eg_kind_root(c, kind)];
  if (n->is_bool) return 1;
  if (n->dtype < 0) return 127;
  uint32_t bits = 8 * (uint32_t)eg_dtype_bytes((egraph_dtype)n->dtype);
  return bits == 8 ? 127 : ldexp(1, bits < 53 ? (int)bits - 1 : 53) - 1;
}

static bool keeps_number(const eg_case *c, uint32_t kind, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(c->p, s);
  if (n->kind != EG_SCALAR_NUMBER) return false;
  if (eg_kind_is_real(c, kind)) return eg_number_is_plain(n->value);
  return n->which == 0 && n->value == floor(n->value) && n->value >= 0 &&
         n->value <= largest_of(c, kind);
}

// True when s is the number that fills a constant tensor (splat) of this element type.
static bool is_splat_of(const eg_case *c, uint32_t kind, eg_scalar s) {
  for (uint32_t i = 0; i < c->rule->var_count; i++)
    if (c->splats[i] == s && c->vars[i].kind == EG_DATUM_TENSOR &&
        eg_kind_root(c, c->kinds[c->vars[i].which]) == eg_kind_root(c, kind))
      return true;
  return false;
}

eg_scalar eg_case_number(eg_case *c, uint32_t kind, eg_scalar s) {
  eg_proof *p = c->p;
  bool is_real = eg_kind_is_real(c, kind);
  if ((is_real && !p->is_exact) || is_splat_of(c, kind, s) || keeps_number(c, kind, s))
    return s;
  const eg_scalar_node *n = eg_scalar_at(p, s);
  bool is_given = n->kind == EG_SCALAR_REAL || n->kind == EG_SCALAR_SIZE ||
                  (n->kind == EG_SCALAR_NUMBER && n->which == 0);
  if (!is_real && !is_given) // a rounded number may be truncated to another integer
    eg_case_give_up(c, "%s as an integer", "a computed number");
  eg_domain before = p->domain;
  p->domain = EG_DOMAIN_ANY;
  eg_scalar type = eg_scalar_key(p, 1000 + eg_kind_root(c, kind));
  eg_scalar made = eg_scalar_opaque(p, EG_OP_FILL, (eg_scalar[]){s, type}, 2);
  p->domain = before;
  return made;
}

// ---- shapes ---------------------------------------------------------------------

eg_poly eg_shape_elements(eg_case *c, const eg_shape *shape) {
  eg_poly all = eg_poly_const(c->p, 1);
  for (uint32_t i = 0; i < shape->rank; i++)
    all = eg_poly_mul(c->p, all, shape->dims[i]);
  return all;
}

eg_poly eg_shape_offset(eg_case *c, const eg_shape *shape, const eg_poly *at) {
  eg_poly offset = eg_poly_const(c->p, 0);
  for (uint32_t i = 0; i < shape->rank; i++)
    offset = eg_poly_add(c->p, eg_poly_mul(c->p, offset, shape->dims[i]), at[i]);
  return eg_poly_canonical(c->p, offset);
}

// Returns dimension i of `n` dimensions, as if the shape had ones in front.
static eg_poly aligned(eg_case *c, const eg_shape *shape, uint32_t i, uint32_t n) {
  return i + shape->rank < n ? eg_poly_const(c->p, 1) : shape->dims[i + shape->rank - n];
}

eg_shape eg_shape_stretched(eg_case *c, const eg_shape *a, const eg_shape *b) {
  eg_shape made = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (uint32_t i = 0; i < made.rank; i++) {
    eg_poly x = aligned(c, a, i, made.rank), y = aligned(c, b, i, made.rank);
    eg_assume_pairing(c->p, x, y, false);
    made.dims[i] =
        eg_poly_stretched(c->p, eg_poly_canonical(c->p, x), eg_poly_canonical(c->p, y));
  }
  return made;
}

void eg_case_assume_inside(eg_case *c, eg_poly place, eg_poly size) {
  eg_assume_natural(c->p, place);
  eg_assume_below(c->p, place, size);
}

eg_scalar eg_case_guarded(eg_case *c, eg_poly place, eg_poly size, eg_scalar inside,
                          eg_scalar outside) {
  eg_proof *p = c->p;
  eg_poly below = eg_poly_sub(p, eg_poly_sub(p, size, place), eg_poly_const(p, 1));
  return eg_scalar_choice(p, place, eg_scalar_choice(p, below, inside, outside), outside);
}

// ---- ranks ----------------------------------------------------------------------

static uint32_t rank_root(const eg_case *c, uint32_t term) {
  while (c->ranks[term] != term)
    term = c->ranks[term];
  return term;
}

static void join_ranks(eg_case *c, uint32_t a, uint32_t b) {
  a = rank_root(c, a);
  b = rank_root(c, b);
  if (a == b) return;
  c->ranks[b] = a;
  if (c->rank_of[a] < 0) c->rank_of[a] = c->rank_of[b];
}

static void fix(eg_case *c, uint32_t term, int64_t rank) {
  c->rank_of[rank_root(c, term)] = rank;
}

/// Unites the ranks of a term and its operands when typing makes them equal.
static void join_operands(eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  if (t->is_var) return;
  uint32_t axes = c->meanings[t->op].axes;
  if ((eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) != 0) {
    if (t->child_count == 1 || eg_op_role(t->op, 1) == EG_ROLE_SLOPE)
      join_ranks(c, term, t->children[0]);
    return;
  }
  if ((axes & EG_AXES_KEPT) != 0) join_ranks(c, term, t->children[0]);
  for (uint32_t i = 1; i < t->child_count; i++) {
    eg_role role = eg_op_role(t->op, i);
    bool is_kept = (axes & EG_AXES_KEPT) != 0;
    if (role == EG_ROLE_TERM ||
        (is_kept && (role == EG_ROLE_PART || role == EG_ROLE_WEIGHT)))
      join_ranks(c, term, t->children[i]);
    else if ((axes & EG_AXES_WINDOWS) != 0) // per-channel operands
      fix(c, t->children[i], 1);
  }
}

// Returns the term of the tensor variable in an expression (?x), or EG_RULE_NONE.
static uint32_t term_named(const eg_case *c, const eg_rule_expr *e) {
  if (e->form != EG_RULE_EXPR_VAR || e->kind != EG_RULE_TENSOR) return EG_RULE_NONE;
  for (uint32_t i = 0; i < c->rule->term_count; i++)
    if (eg_case_term(c, i)->var == e->var) return i;
  return EG_RULE_NONE;
}

static void join_named(eg_case *c, uint32_t x, uint32_t y) {
  if (x != EG_RULE_NONE && y != EG_RULE_NONE) join_ranks(c, x, y);
}

static void join_by_condition(eg_case *c, const eg_rule_expr *e) {
  if (e->form != EG_RULE_EXPR_CALL || e->arg_count != 2) return;
  const eg_rule_expr *a = &c->rule->exprs[e->args[0]], *b = &c->rule->exprs[e->args[1]];
  if (e->function == EG_RULE_FN_SAME_SHAPE || e->function == EG_RULE_FN_SAME_TYPE)
    join_named(c, term_named(c, a), term_named(c, b));
  if (e->function != EG_RULE_FN_EQ || a->form != EG_RULE_EXPR_CALL) return;
  if (a->function != EG_RULE_FN_RANK && a->function != EG_RULE_FN_SHAPE) return;
  uint32_t x = term_named(c, &c->rule->exprs[a->args[0]]);
  if (x == EG_RULE_NONE) return;
  if (b->form == EG_RULE_EXPR_CALL && b->function == a->function)
    join_named(c, x, term_named(c, &c->rule->exprs[b->args[0]]));
  else if (b->form == EG_RULE_EXPR_CALL && b->function == EG_RULE_FN_LIST)
    fix(c, x, b->arg_count);
  else if (b->form == EG_RULE_EXPR_CONSTANT && b->kind == EG_RULE_INT)
    fix(c, x, b->constant.i);
}

void eg_case_find_ranks(eg_case *c) {
  const eg_rule *rule = c->rule;
  c->ranks = eg_proof_memory(c->p, rule->term_count, sizeof *c->ranks);
  c->rank_of = eg_proof_memory(c->p, rule->term_count, sizeof *c->rank_of);
  for (uint32_t i = 0; i < rule->term_count; i++) {
    c->ranks[i] = i;
    c->rank_of[i] = -1;
  }
  for (uint32_t i = 0; i < rule->term_count; i++) {
    uint32_t var = eg_case_term(c, i)->var; // a variable, or a name by `as`
    for (uint32_t k = 0; k < i && var != EG_RULE_NONE; k++)
      if (eg_case_term(c, k)->var == var) join_ranks(c, i, k);
  }
  for (uint32_t i = 0; i < rule->term_count; i++)
    join_operands(c, i);
  for (uint32_t i = 0; i < rule->condition_count; i++)
    join_by_condition(c, &rule->exprs[rule->conditions[i]]);
}

uint32_t eg_case_rank(eg_case *c, uint32_t term) {
  int64_t *known = &c->rank_of[rank_root(c, term)];
  if (*known < 0) *known = eg_proof_choose(c->p, c->max_rank + 1);
  if (*known > EGRAPH_MAX_RANK) eg_case_vacuous(c);
  return (uint32_t)*known;
}
