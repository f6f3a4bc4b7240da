// Polynomials over symbols, each once.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "rewrites/lab/prove/proof_work.h"

// Products of two factors are at most 2^60: one more does not overflow.
static const int64_t MOST = INT64_C(1) << 61;

static int compare_products(const eg_product *a, const eg_product *b) {
  if (a->degree != b->degree) return a->degree < b->degree ? -1 : 1;
  for (uint32_t i = 0; i < a->degree; i++)
    if (a->symbols[i] != b->symbols[i]) return a->symbols[i] < b->symbols[i] ? -1 : 1;
  return 0;
}

static uint32_t hash_of(const eg_product *terms, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ (uint64_t)terms[i].factor) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t k = 0; k < terms[i].degree; k++)
      hash = (hash ^ terms[i].symbols[k]) * UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 29;
  }
  return (uint32_t)(hash >> 40) & 1023;
}

static bool same(const eg_polynomial *a, const eg_product *terms, uint32_t count) {
  if (a->count != count) return false;
  for (uint32_t i = 0; i < count; i++)
    if (a->terms[i].factor != terms[i].factor ||
        compare_products(&a->terms[i], &terms[i]) != 0)
      return false;
  return true;
}

// Terms that are in order, without equal products and factors 0.
static eg_poly intern(eg_proof *p, const eg_product *terms, uint32_t count) {
  uint32_t *head = &p->poly_heads[hash_of(terms, count)];
  for (uint32_t at = *head; at != EG_PROOF_NONE; at = p->polys.data[at].next)
    if (same(&p->polys.data[at], terms, count)) return at;
  eg_product *own = eg_proof_memory(p, count, sizeof *own);
  if (count != 0) memcpy(own, terms, count * sizeof *own);
  eg_poly made = (eg_poly)p->polys.len;
  eg_polynomial node = {.terms = own, .count = count, .next = *head};
  if (eg_polynomials_push(&p->polys, node) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  *head = made;
  return made;
}

/// Terms in the making.
typedef struct draft {
  eg_product terms[EG_PROOF_TERMS];
  uint32_t count;
} draft;

static void add_term(eg_proof *p, draft *d, const eg_product *term) {
  if (term->factor == 0) return;
  uint32_t at = 0;
  while (at < d->count && compare_products(&d->terms[at], term) < 0)
    at++;
  if (at < d->count && compare_products(&d->terms[at], term) == 0) {
    d->terms[at].factor += term->factor;
    if (d->terms[at].factor > MOST || d->terms[at].factor < -MOST)
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "numbers become too large");
    if (d->terms[at].factor == 0) {
      d->count--;
      memmove(d->terms + at, d->terms + at + 1, (d->count - at) * sizeof *d->terms);
    }
  } else {
    if (d->count == EG_PROOF_TERMS)
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "sizes become too long");
    memmove(d->terms + at + 1, d->terms + at, (d->count - at) * sizeof *d->terms);
    d->terms[at] = *term;
    d->count++;
  }
}

static eg_poly finish(eg_proof *p, const draft *d) {
  for (uint32_t i = 0; i < d->count; i++)
    if (d->terms[i].factor > EG_PROOF_FACTOR || d->terms[i].factor < -EG_PROOF_FACTOR)
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "numbers become too large");
  return intern(p, d->terms, d->count);
}

static const eg_polynomial *poly(const eg_proof *p, eg_poly a) {
  assert(a < p->polys.len);
  return &p->polys.data[a];
}

eg_poly eg_poly_const(eg_proof *p, int64_t value) {
  draft d = {.count = 0};
  if (value > EG_PROOF_FACTOR || value < -EG_PROOF_FACTOR)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "numbers become too large");
  add_term(p, &d, &(eg_product){.factor = value});
  return finish(p, &d);
}

static eg_poly poly_of_symbol(eg_proof *p, uint32_t symbol) {
  eg_product term = {.factor = 1, .degree = 1, .symbols = {symbol}};
  return intern(p, &term, 1);
}

static uint32_t add_symbol(eg_proof *p, eg_symbol symbol) {
  uint32_t number = (uint32_t)p->symbols.len;
  symbol.instead = EG_PROOF_NONE;
  symbol.own = poly_of_symbol(p, number);
  if (eg_symbols_push(&p->symbols, symbol) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  return number;
}

eg_poly eg_poly_symbol(eg_proof *p, bool is_natural) {
  eg_symbol symbol = {.kind = EG_SYMBOL_FREE, .is_natural = is_natural};
  uint32_t made = add_symbol(p, symbol);
  return p->symbols.data[made].own;
}

static eg_poly opaque(eg_proof *p, eg_symbol_kind kind, eg_poly a, eg_poly b) {
  for (uint32_t i = 0; i < p->symbols.len; i++) {
    eg_symbol *symbol = &p->symbols.data[i];
    if (symbol->kind == kind && symbol->a == a && symbol->b == b) return symbol->own;
  }
  eg_symbol symbol = {.kind = kind, .a = a, .b = b};
  uint32_t made = add_symbol(p, symbol);
  return p->symbols.data[made].own;
}

uint32_t eg_poly_symbol_of(const eg_proof *p, eg_poly a) {
  const eg_polynomial *n = poly(p, a);
  bool is_one = n->count == 1 && n->terms[0].degree == 1 && n->terms[0].factor == 1;
  return is_one ? n->terms[0].symbols[0] : EG_PROOF_NONE;
}

bool eg_poly_is_const(const eg_proof *p, eg_poly a, int64_t *out) {
  const eg_polynomial *n = poly(p, a);
  if (n->count > 1 || (n->count == 1 && n->terms[0].degree != 0)) return false;
  *out = n->count == 0 ? 0 : n->terms[0].factor;
  return true;
}

static eg_poly combine(eg_proof *p, eg_poly a, eg_poly b, int64_t factor) {
  eg_proof_step(p);
  draft d = {.count = 0};
  const eg_polynomial *x = poly(p, a), *y = poly(p, b);
  memcpy(d.terms, x->terms, x->count * sizeof *d.terms);
  d.count = x->count;
  for (uint32_t i = 0; i < y->count; i++) {
    eg_product term = y->terms[i];
    term.factor *= factor;
    add_term(p, &d, &term);
  }
  return finish(p, &d);
}

eg_poly eg_poly_add(eg_proof *p, eg_poly a, eg_poly b) { return combine(p, a, b, 1); }
eg_poly eg_poly_sub(eg_proof *p, eg_poly a, eg_poly b) { return combine(p, a, b, -1); }
eg_poly eg_poly_scale(eg_proof *p, eg_poly a, int64_t factor) {
  return combine(p, eg_poly_const(p, 0), a, factor);
}

static eg_product times(eg_proof *p, const eg_product *a, const eg_product *b) {
  eg_product made = {.factor = a->factor * b->factor, .degree = a->degree + b->degree};
  if (made.degree > EG_PROOF_DEGREE)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "products of sizes become too long");
  for (uint32_t i = 0, k = 0; i + k < made.degree;) {
    bool first = k == b->degree || (i < a->degree && a->symbols[i] <= b->symbols[k]);
    uint32_t at = i + k;
    made.symbols[at] = first ? a->symbols[i++] : b->symbols[k++];
  }
  return made;
}

eg_poly eg_poly_mul(eg_proof *p, eg_poly a, eg_poly b) {
  eg_proof_step(p);
  draft d = {.count = 0};
  for (uint32_t i = 0; i < poly(p, a)->count; i++)
    for (uint32_t k = 0; k < poly(p, b)->count; k++) {
      eg_product term = times(p, &poly(p, a)->terms[i], &poly(p, b)->terms[k]);
      add_term(p, &d, &term);
    }
  return finish(p, &d);
}

// a / b as products: true when b divides a.
static bool quotient(const eg_product *a, const eg_product *b, eg_product *out) {
  if (b->factor == 0 || a->factor % b->factor != 0) return false;
  *out = (eg_product){.factor = a->factor / b->factor};
  uint32_t k = 0;
  for (uint32_t i = 0; i < a->degree; i++) {
    if (k < b->degree && b->symbols[k] == a->symbols[i]) {
      k++;
      continue;
    }
    out->symbols[out->degree++] = a->symbols[i];
  }
  return k == b->degree;
}

// Long division by the last (largest) term of b.
bool eg_poly_divide(eg_proof *p, eg_poly a, eg_poly b, eg_poly *out) {
  if (poly(p, b)->count == 0) return false;
  eg_poly result = eg_poly_const(p, 0);
  for (uint32_t round = 0; round < EG_PROOF_TERMS; round++) {
    if (poly(p, a)->count == 0) {
      *out = result;
      return true;
    }
    eg_product term;
    const eg_polynomial *x = poly(p, a), *y = poly(p, b);
    if (!quotient(&x->terms[x->count - 1], &y->terms[y->count - 1], &term)) return false;
    eg_poly part = intern(p, &term, 1);
    result = eg_poly_add(p, result, part);
    a = eg_poly_sub(p, a, eg_poly_mul(p, part, b));
  }
  return false;
}

bool eg_poly_has(const eg_proof *p, eg_poly a, uint32_t symbol) {
  const eg_polynomial *n = poly(p, a);
  for (uint32_t i = 0; i < n->count; i++)
    for (uint32_t k = 0; k < n->terms[i].degree; k++) {
      uint32_t own = n->terms[i].symbols[k];
      if (own == symbol) return true;
      const eg_symbol *s = &p->symbols.data[own];
      if (s->kind != EG_SYMBOL_FREE &&
          (eg_poly_has(p, s->a, symbol) || eg_poly_has(p, s->b, symbol)))
        return true;
    }
  return false;
}

// ---- operations that polynomials do not say ---------------------------------------

// The terms of a that b (one product) divides, over b, in *out_whole; the others in
// *out_rest.
static bool split_by(eg_proof *p, eg_poly a, eg_poly b, eg_poly *out_whole,
                     eg_poly *out_rest) {
  if (poly(p, b)->count != 1) return false;
  draft whole = {.count = 0}, rest = {.count = 0};
  for (uint32_t i = 0; i < poly(p, a)->count; i++) {
    eg_product part;
    if (quotient(&poly(p, a)->terms[i], &poly(p, b)->terms[0], &part))
      add_term(p, &whole, &part);
    else
      add_term(p, &rest, &poly(p, a)->terms[i]);
  }
  *out_whole = finish(p, &whole);
  *out_rest = finish(p, &rest);
  return true;
}

// a = *whole b + *rest with 0 <= rest < b, if the facts say so.
static bool divided(eg_proof *p, eg_poly a, eg_poly b, eg_poly *whole, eg_poly *rest) {
  int64_t x, y;
  if (eg_poly_is_const(p, a, &x) && eg_poly_is_const(p, b, &y) && y >= 1) {
    int64_t floor = x / y - (x % y != 0 && x < 0);
    *whole = eg_poly_const(p, floor);
    *rest = eg_poly_const(p, x - floor * y);
    return true;
  }
  if (eg_poly_divide(p, a, b, whole)) {
    *rest = eg_poly_const(p, 0);
    return true;
  }
  if (!split_by(p, a, b, whole, rest)) {
    *whole = eg_poly_const(p, 0);
    *rest = a;
  }
  eg_poly last = eg_poly_sub(p, eg_poly_sub(p, b, eg_poly_const(p, 1)), *rest);
  return eg_is_natural(p, *rest) && eg_is_natural(p, last);
}

eg_poly eg_poly_div(eg_proof *p, eg_poly a, eg_poly b) {
  eg_poly whole, rest;
  if (divided(p, a, b, &whole, &rest)) return whole;
  // What b divides stands outside: floor((q b + r) / b) = q + floor(r / b).
  if (!split_by(p, a, b, &whole, &rest)) {
    whole = eg_poly_const(p, 0);
    rest = a;
  }
  eg_poly made = opaque(p, EG_SYMBOL_DIV, rest, b);
  return eg_poly_add(p, whole, made);
}

eg_poly eg_poly_mod(eg_proof *p, eg_poly a, eg_poly b) {
  return eg_poly_sub(p, a, eg_poly_mul(p, b, eg_poly_div(p, a, b)));
}

eg_poly eg_poly_extreme(eg_proof *p, eg_symbol_kind kind, eg_poly a, eg_poly b) {
  if (a == b) return a;
  bool least = kind == EG_SYMBOL_MIN;
  if (eg_is_natural(p, eg_poly_sub(p, b, a))) return least ? a : b;
  if (eg_is_natural(p, eg_poly_sub(p, a, b))) return least ? b : a;
  eg_poly low = a < b ? a : b, high = a < b ? b : a;
  return opaque(p, kind, low, high);
}

eg_poly eg_poly_at(eg_proof *p, eg_poly index, eg_poly size) {
  int64_t number;
  eg_poly one = eg_poly_const(p, 1);
  if (eg_poly_is_const(p, index, &number) && number == 0) return index;
  if (size == one) return eg_poly_const(p, 0);
  eg_poly room = eg_poly_sub(p, eg_poly_sub(p, size, index), one);
  for (size_t i = 0; i < p->facts.len; i++) // an index of the operand itself
    if (p->facts.data[i].n == room && p->facts.data[i].kind == EG_FACT_NATURAL)
      return index;
  if (eg_is_nonzero(p, eg_poly_sub(p, size, one))) return index;
  return opaque(p, EG_SYMBOL_AT, index, size);
}

eg_poly eg_poly_stretched(eg_proof *p, eg_poly a, eg_poly b) {
  eg_poly one = eg_poly_const(p, 1);
  if (a == b || b == one) return a;
  if (a == one) return b;
  if (eg_is_nonzero(p, eg_poly_sub(p, a, one))) return a;
  if (eg_is_nonzero(p, eg_poly_sub(p, b, one))) return b;
  for (size_t i = 0; i < p->pairings.len && !p->in_pairings; i++) {
    eg_pairing pair = p->pairings.data[i];
    if (!pair.one_way) continue;
    p->in_pairings = true; // sizes of pairings may be stretched ones
    eg_poly from = eg_poly_canonical(p, pair.a), to = eg_poly_canonical(p, pair.b);
    p->in_pairings = false;
    if (from == a && to == b) return b;
    if (from == b && to == a) return a;
  }
  return opaque(p, EG_SYMBOL_STRETCHED, a < b ? a : b, a < b ? b : a);
}
