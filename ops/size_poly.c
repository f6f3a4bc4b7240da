// SPDX-License-Identifier: Apache-2.0
#include "ops/size_poly.h"

#include <assert.h>
#include <string.h>

static const eg_size_monomial one = {
    .coef = 1,
    .atom = {EG_SIZE_POLY_NO_ATOM, EG_SIZE_POLY_NO_ATOM, EG_SIZE_POLY_NO_ATOM,
             EG_SIZE_POLY_NO_ATOM, EG_SIZE_POLY_NO_ATOM, EG_SIZE_POLY_NO_ATOM,
             EG_SIZE_POLY_NO_ATOM, EG_SIZE_POLY_NO_ATOM}};

uint32_t eg_size_monomial_degree(const eg_size_monomial *m) {
  uint32_t degree = 0;
  while (degree < EG_SIZE_POLY_DEGREE && m->atom[degree] != EG_SIZE_POLY_NO_ATOM)
    degree++;
  return degree;
}

int eg_size_monomial_compare(const eg_size_monomial *a, const eg_size_monomial *b) {
  uint32_t x = eg_size_monomial_degree(a), y = eg_size_monomial_degree(b);
  if (x != y) return x > y ? -1 : 1;
  for (uint32_t i = 0; i < x; i++)
    if (a->atom[i] != b->atom[i]) return a->atom[i] < b->atom[i] ? -1 : 1;
  return 0;
}

void eg_size_poly_constant(int64_t number, eg_size_poly *out) {
  out->count = number != 0 ? 1 : 0;
  out->term[0] = one;
  out->term[0].coef = number;
}

void eg_size_poly_atom(uint16_t atom, eg_size_poly *out) {
  assert(atom != EG_SIZE_POLY_NO_ATOM);
  out->count = 1;
  out->term[0] = one;
  out->term[0].atom[0] = atom;
}

bool eg_size_poly_is_constant(const eg_size_poly *p, int64_t *out) {
  *out = p->count == 0 ? 0 : p->term[0].coef;
  return p->count == 0 || (p->count == 1 && eg_size_monomial_degree(&p->term[0]) == 0);
}

// ---- sums and products ---------------------------------------------------------------

static bool append_monomial(eg_size_poly *p, const eg_size_monomial *m) {
  if (m->coef == 0) return true;
  if (p->count == EG_SIZE_POLY_TERMS) return false;
  p->term[p->count++] = *m;
  return true;
}

bool eg_size_poly_add(const eg_size_poly *a, const eg_size_poly *b, int64_t factor,
                      eg_size_poly *out) {
  eg_size_poly sum;
  uint32_t i = 0, k = 0;
  sum.count = 0;
  while (i < a->count || k < b->count) {
    int order = i == a->count   ? 1
                : k == b->count ? -1
                                : eg_size_monomial_compare(&a->term[i], &b->term[k]);
    eg_size_monomial next = order <= 0 ? a->term[i] : b->term[k];
    int64_t more = 0;
    if (order >= 0 && __builtin_mul_overflow(b->term[k].coef, factor, &more))
      return false;
    if (__builtin_add_overflow(order <= 0 ? next.coef : 0, more, &next.coef))
      return false;
    i += order <= 0;
    k += order >= 0;
    if (!append_monomial(&sum, &next)) return false;
  }
  *out = sum;
  return true;
}

static bool multiply_terms(const eg_size_monomial *a, const eg_size_monomial *b,
                           eg_size_monomial *out) {
  assert(a->coef != 0 && b->coef != 0);
  uint32_t x = eg_size_monomial_degree(a), y = eg_size_monomial_degree(b), i = 0, k = 0;
  eg_size_monomial product = one;
  if (x + y > EG_SIZE_POLY_DEGREE ||
      __builtin_mul_overflow(a->coef, b->coef, &product.coef))
    return false;
  while (i < x || k < y) {
    bool takes_a = k == y || (i < x && a->atom[i] <= b->atom[k]);
    product.atom[i + k] = takes_a ? a->atom[i] : b->atom[k];
    *(takes_a ? &i : &k) += 1;
  }
  *out = product;
  return true;
}

/// Computes sum + m * b.
static bool add_multiple(const eg_size_poly *sum, const eg_size_monomial *m,
                         const eg_size_poly *b, eg_size_poly *out) {
  eg_size_poly product;
  product.count = b->count;
  // Products of ordered terms with one term are ordered.
  for (uint32_t i = 0; i < b->count; i++)
    if (!multiply_terms(m, &b->term[i], &product.term[i])) return false;
  return eg_size_poly_add(sum, &product, 1, out);
}

bool eg_size_poly_mul(const eg_size_poly *a, const eg_size_poly *b, eg_size_poly *out) {
  eg_size_poly product;
  product.count = 0;
  for (uint32_t i = 0; i < a->count; i++)
    if (!add_multiple(&product, &a->term[i], b, &product)) return false;
  *out = product;
  return true;
}

// ---- quotients -----------------------------------------------------------------------

/// Divides two terms, a = b * out; false where b does not divide a.
static bool divide_terms(const eg_size_monomial *a, const eg_size_monomial *b,
                         eg_size_monomial *out) {
  uint32_t x = eg_size_monomial_degree(a), y = eg_size_monomial_degree(b), used = 0,
           kept = 0;
  eg_size_monomial quotient = one;
  if (b->coef == 0 || a->coef == INT64_MIN || a->coef % b->coef != 0) return false;
  quotient.coef = a->coef / b->coef;
  for (uint32_t i = 0; i < x; i++) {
    if (used < y && a->atom[i] == b->atom[used])
      used++;
    else
      quotient.atom[kept++] = a->atom[i];
  }
  *out = quotient;
  return used == y;
}

static bool negate(eg_size_monomial *m) {
  return !__builtin_sub_overflow(0, m->coef, &m->coef);
}

bool eg_size_poly_divide(const eg_size_poly *a, const eg_size_poly *b,
                         eg_size_poly *out) {
  eg_size_poly rest = *a, quotient;
  quotient.count = 0;
  if (b->count == 0) return false;
  while (rest.count != 0) {
    eg_size_monomial step;
    if (!divide_terms(&rest.term[0], &b->term[0], &step)) return false;
    if (!append_monomial(&quotient, &step) || !negate(&step)) return false;
    if (!add_multiple(&rest, &step, b, &rest)) return false;
  }
  *out = quotient;
  return true;
}

bool eg_size_poly_reduce(const eg_size_poly *a, const eg_size_poly *b,
                         eg_size_poly *out) {
  eg_size_poly rest = *a, kept;
  kept.count = 0;
  if (b->count == 0) return false;
  while (rest.count != 0) {
    eg_size_monomial step, first = rest.term[0];
    if (!divide_terms(&first, &b->term[0], &step)) {
      if (!append_monomial(&kept, &first)) return false;
      memmove(rest.term, rest.term + 1, --rest.count * sizeof *rest.term);
    } else if (!negate(&step) || !add_multiple(&rest, &step, b, &rest)) {
      return false;
    }
  }
  *out = kept;
  return true;
}

int64_t eg_size_poly_content(const eg_size_poly *p, bool with_constant) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    if (!with_constant && eg_size_monomial_degree(&p->term[i]) == 0) continue;
    int64_t coef = p->term[i].coef;
    uint64_t a = all, b = coef < 0 ? 0 - (uint64_t)coef : (uint64_t)coef;
    while (b != 0) {
      uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    all = a;
  }
  return all <= INT64_MAX ? (int64_t)all : 1;
}

bool eg_size_poly_split(const eg_size_poly *p, uint16_t atom, eg_size_poly *with,
                        eg_size_poly *without) {
  assert(atom != EG_SIZE_POLY_NO_ATOM);
  eg_size_poly factor;
  with->count = without->count = 0;
  eg_size_poly_atom(atom, &factor);
  for (uint32_t i = 0; i < p->count; i++) {
    eg_size_monomial rest;
    if (!divide_terms(&p->term[i], &factor.term[0], &rest)) {
      without->term[without->count++] = p->term[i];
      continue;
    }
    for (uint32_t k = 0; k < EG_SIZE_POLY_DEGREE; k++)
      if (rest.atom[k] == atom) return false;
    with->term[with->count++] = rest;
  }
  return true;
}
