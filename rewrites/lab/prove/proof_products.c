// Products of scalars. Numbers stand in front of them; a factor goes into a sum where
// this holds of infinities, too (it is finite), or where the laws say so.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_scalar.h"

enum { KIDS = 64 };

static eg_scalar exact_product(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (eg_scalar_is_number(p, a, 1)) return b;
  if (eg_scalar_is_number(p, b, 1)) return a;
  if (eg_scalar_is_number(p, a, -1)) return eg_scalar_neg(p, b);
  if (eg_scalar_is_number(p, b, -1)) return eg_scalar_neg(p, a);
  if (a == b && eg_scalar_is_call(p, a, EG_OP_ABS)) // |x| |x| = x x
    return exact_product(p, eg_scalar_at(p, a)->kids[0], eg_scalar_at(p, a)->kids[0]);
  if (eg_scalar_is_call(p, a, EG_OP_NEG))
    return eg_scalar_neg(p, exact_product(p, eg_scalar_at(p, a)->kids[0], b));
  if (eg_scalar_is_call(p, b, EG_OP_NEG))
    return eg_scalar_neg(p, exact_product(p, a, eg_scalar_at(p, b)->kids[0]));
  return eg_scalar_opaque(p, EG_OP_MUL, (eg_scalar[]){a, b}, 2);
}

// ---- factors --------------------------------------------------------------------------

/// The factors of a product, ascending.
typedef struct factors {
  uint32_t kids[KIDS];
  uint32_t count;
} factors;

static void add_factors(eg_proof *p, factors *f, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  bool many = n->kind == EG_SCALAR_PRODUCT;
  for (uint32_t k = 0; k < (many ? n->count : 1); k++) {
    if (f->count == KIDS)
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "products become too long");
    eg_scalar kid = many ? n->kids[k] : s;
    uint32_t at = f->count++;
    for (; at > 0 && f->kids[at - 1] > kid; at--)
      f->kids[at] = f->kids[at - 1];
    f->kids[at] = kid;
  }
}

static eg_scalar without(eg_proof *p, const factors *f, uint32_t i, uint32_t k,
                         eg_scalar instead) {
  for (uint32_t n = 0; n < f->count; n++)
    if (n != i && n != k) instead = eg_scalar_mul(p, instead, f->kids[n]);
  return instead;
}

static bool has_opposite_powers(eg_proof *p, const factors *f, uint32_t *out_i,
                                uint32_t *out_k) {
  for (uint32_t i = 0; i < f->count; i++)
    for (uint32_t k = i + 1; k < f->count && eg_scalar_is_call(p, f->kids[i], EG_OP_EXP);
         k++) {
      if (!eg_scalar_is_call(p, f->kids[k], EG_OP_EXP)) continue;
      eg_scalar x = eg_scalar_at(p, f->kids[i])->kids[0];
      if (eg_scalar_neg(p, x) != eg_scalar_at(p, f->kids[k])->kids[0]) continue;
      *out_i = i;
      *out_k = k;
      return true;
    }
  return false;
}

eg_scalar eg_scalar_factors(eg_proof *p, eg_scalar a, eg_scalar b) {
  factors f = {.count = 0};
  add_factors(p, &f, a);
  add_factors(p, &f, b);
  uint32_t left, right;
  if (p->laws.is_fast && has_opposite_powers(p, &f, &left, &right)) // exp y exp -y = 1
    return without(p, &f, left, right, eg_scalar_number(p, 1));
  for (uint32_t i = 0; i + 1 < f.count; i++) // |x| |x| = x x
    if (f.kids[i] == f.kids[i + 1] && eg_scalar_is_call(p, f.kids[i], EG_OP_ABS)) {
      eg_scalar x = eg_scalar_at(p, f.kids[i])->kids[0];
      return without(p, &f, i, i + 1, eg_scalar_mul(p, x, x));
    }
  return eg_scalar_make(
      p, (eg_scalar_node){.kind = EG_SCALAR_PRODUCT, .count = f.count, .kids = f.kids});
}

// What stands outermost in a product: numbers and sums, then choices, then totals.
static uint32_t spread_rank(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  switch ((int)n->kind) {
  case EG_SCALAR_SUM: return 3;
  case EG_SCALAR_CHOICE: return 1;
  case EG_SCALAR_TOTAL: return n->which == EG_FOLD_SUM ? 2 : 0;
  default: return 0;
  }
}

// A finite factor of a product goes into the one sum that is there, so that it does not
// matter which factor came first.
static eg_scalar gathered(eg_proof *p, eg_scalar a, eg_scalar b) {
  factors f = {.count = 0};
  uint32_t sums = 0, finite = 0, sum = 0;
  add_factors(p, &f, a);
  add_factors(p, &f, b);
  for (uint32_t i = 0; i < f.count; i++) {
    bool is_sum = spread_rank(p, f.kids[i]) >= 2;
    sums += is_sum;
    if (is_sum) sum = i;
    finite += !is_sum && eg_scalar_is_finite(p, f.kids[i]);
  }
  if (sums != 1 || finite == 0 || !eg_scalar_at(p, f.kids[sum])->is_ordinary)
    return eg_scalar_factors(p, a, b);
  eg_scalar inside = f.kids[sum], rest = eg_scalar_number(p, 1);
  for (uint32_t i = 0; i < f.count; i++) {
    if (i == sum) continue;
    bool goes_in = eg_scalar_is_finite(p, f.kids[i]);
    if (goes_in)
      inside = eg_scalar_mul(p, inside, f.kids[i]);
    else
      rest = eg_scalar_is_number(p, rest, 1) ? f.kids[i]
                                             : eg_scalar_factors(p, rest, f.kids[i]);
  }
  eg_number number;
  inside = eg_scalar_primitive(p, inside, &number);
  return eg_scalar_times(p, eg_scalar_factors(p, inside, rest), number);
}

// ---- products -------------------------------------------------------------------------

static eg_scalar times_of(eg_proof *p, eg_scalar kid, const void *with) {
  return eg_scalar_mul(p, kid, *(const eg_scalar *)with);
}

static eg_scalar into_total(eg_proof *p, const eg_scalar_node *n, eg_scalar b) {
  uint32_t symbol = n->kids[0];
  eg_scalar body = n->kids[2];
  eg_poly size = n->kids[1];
  if (eg_scalar_has(p, b, symbol)) { // the same index twice
    uint32_t other = eg_scalar_index(p, body, b);
    body = eg_scalar_rename(p, body, symbol, p->symbols.data[other].own);
    symbol = other;
  }
  p->symbols.data[symbol].is_bound = true;
  eg_scalar all = eg_scalar_mul(p, body, b);
  p->symbols.data[symbol].is_bound = false;
  return eg_scalar_total(p, EG_FOLD_SUM, symbol, size, all);
}

// A sum of one term with a factor: a number in front.
static bool is_multiple(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->kind == EG_SCALAR_SUM && n->count == 1 && n->value == 0;
}

static bool may_distribute(eg_proof *p, eg_scalar sum, eg_scalar factor) {
  const eg_scalar_node *s = eg_scalar_at(p, sum), *f = eg_scalar_at(p, factor);
  return s->is_ordinary && f->is_ordinary &&
         (eg_scalar_is_finite(p, factor) || p->laws.distributes ||
          p->domain == EG_DOMAIN_WHOLE);
}

// Infinity times the sum of nothing is NaN, the sum of no products 0.
static bool may_enter_total(eg_proof *p, const eg_scalar_node *n, eg_scalar factor) {
  return eg_scalar_is_finite(p, factor) || p->laws.cancels ||
         p->domain == EG_DOMAIN_WHOLE ||
         eg_is_natural(p, eg_poly_sub(p, n->kids[1], eg_poly_const(p, 1)));
}

static bool spread(eg_proof *p, eg_scalar a, eg_scalar b, uint32_t rank, eg_scalar *out) {
  const eg_scalar_node *n = eg_scalar_at(p, a);
  if (spread_rank(p, a) != rank) return false;
  if (rank == 1) {
    *out = eg_scalar_choice(p, n->kids[0], eg_scalar_mul(p, n->kids[1], b),
                            eg_scalar_mul(p, n->kids[2], b));
    return true;
  }
  if (!may_distribute(p, a, b)) return false;
  if (rank == 2 && !may_enter_total(p, n, b)) return false;
  *out = rank == 3 ? eg_scalar_each(p, a, times_of, &b) : into_total(p, n, b);
  return true;
}

eg_scalar eg_scalar_mul(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (p->is_exact) return exact_product(p, a, b);
  const eg_scalar both[2] = {a, b};
  for (uint32_t i = 0; i < 2; i++) {
    const eg_scalar_node *n = eg_scalar_at(p, both[i]);
    eg_number number = {.value = n->value, .marks = n->which};
    if (n->kind == EG_SCALAR_NUMBER) return eg_scalar_times(p, both[1 - i], number);
    if (!is_multiple(p, both[i])) continue;
    number.value = n->factors[0];
    return eg_scalar_times(p, eg_scalar_mul(p, n->kids[0], both[1 - i]), number);
  }
  eg_scalar made;
  for (uint32_t rank = 3; rank > 0; rank--)
    if (spread(p, a, b, rank, &made) || spread(p, b, a, rank, &made)) return made;
  eg_number of_a, of_b;
  a = eg_scalar_primitive(p, a, &of_a);
  b = eg_scalar_primitive(p, b, &of_b);
  if (of_a.value != 1 || of_b.value != 1)
    return eg_scalar_times(p, eg_scalar_mul(p, a, b), eg_number_mul(p, of_a, of_b));
  return gathered(p, a, b);
}
