// The workspace of a proof: memory, giving up, the choices that select a case, and
// polynomials over symbols, each stored once.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_work.h"

#include <assert.h>
#include <string.h>

#include "base/owner.h"

// The tables that a proof's workspace owns.
#define TABLES                                                                           \
  (eg_arena, arena), (eg_polynomials, polys), (eg_symbols, symbols),                     \
      (eg_proof_facts, facts), (eg_pairings, pairings), (eg_u32s, replaced),             \
      (eg_memos, canonical, natural, simple), (eg_scalar_nodes, scalars),                \
      (eg_scalar_pairs, orders), (eg_tensor_sizes, tensors)

void eg_proof_leave(eg_proof *p, eg_proof_exit exit, const char *reason) {
  p->reason = reason;
  longjmp(p->leave, (int)exit);
}

void eg_proof_need(eg_proof *p, egraph_status status) {
  if (status != EGRAPH_OK) eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
}

void *eg_proof_memory(eg_proof *p, size_t count, size_t size) {
  void *memory = NULL;
  eg_proof_need(p, eg_arena_alloc(&p->arena, count == 0 ? 1 : count, size, &memory));
  return memory;
}

void eg_proof_step(eg_proof *p) {
  if (p->steps == 0) eg_proof_leave(p, EG_PROOF_GIVEN_UP, "too many steps");
  p->steps--;
}

void eg_proof_init(eg_proof *p, egraph_allocator alloc) {
  memset(p, 0, sizeof *p);
  p->alloc = alloc;
  EG_INIT_MEMBERS(p, alloc, TABLES)
}

void eg_proof_clear(eg_proof *p) {
  eg_arena_deinit(&p->arena);
  p->polys.len = p->symbols.len = p->facts.len = p->pairings.len = 0;
  p->replaced.len = p->canonical.len = p->natural.len = p->scalars.len = 0;
  p->simple.len = p->orders.len = p->tensors.len = 0;
  memset(p->questions, 0, sizeof p->questions);
  memset(p->poly_heads, 0xff, sizeof p->poly_heads);
  memset(p->scalar_heads, 0xff, sizeof p->scalar_heads);
  p->is_impossible = p->in_pairings = p->in_facts = false;
  p->domain = EG_DOMAIN_REAL;
  p->laws = (eg_laws){.cancels = false};
  p->is_weight = NULL;
  p->finite_reals = p->ordered_reals = 0;
  p->nested = 0;
  p->version = p->versions = 1;
  p->depth = p->reals = p->chosen = p->index_count = 0;
  p->reason = NULL;
  p->splits = 0;
}

void eg_proof_deinit(eg_proof *p) { EG_DEINIT_MEMBERS(p, TABLES) }

static bool same_laws(eg_laws a, eg_laws b) {
  return a.cancels == b.cancels && a.distributes == b.distributes &&
         a.is_fast == b.is_fast;
}

eg_laws_before eg_laws_set(eg_proof *p, eg_laws laws) {
  eg_laws_before before = {.laws = p->laws, .version = p->version, .inner = p->version};
  if (same_laws(laws, p->laws)) return before;
  p->laws = laws;
  p->version = before.inner = ++p->versions;
  return before;
}

eg_laws_before eg_laws_narrow(eg_proof *p, bool hides) {
  return eg_laws_set(p, hides ? (eg_laws){.is_fast = false} : p->laws);
}

void eg_laws_restore(eg_proof *p, eg_laws_before before) {
  if (same_laws(p->laws, before.laws)) return;
  p->laws = before.laws;
  // If facts were added since eg_laws_set, no earlier version of the facts is valid.
  p->version = p->version == before.inner ? before.version : ++p->versions;
}

uint32_t eg_proof_choose(eg_proof *p, uint32_t count) {
  if (count == 0) eg_proof_leave(p, EG_PROOF_VACUOUS, "");
  if (count == 1) return 0;
  if (p->chosen == EG_PROOF_CHOICES)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "too many choices in a case");
  uint32_t at = p->chosen++;
  assert(at <= p->choices);
  if (at == p->choices) {
    p->choice[at] = 0;
    p->options[at] = count;
    p->choices++;
  }
  assert(p->options[at] == count); // a case repeats the same choices
  return p->choice[at];
}

bool eg_proof_next_case(eg_proof *p) {
  p->choices = p->chosen; // choices that were not reached are open again
  while (p->choices != 0) {
    uint32_t last = p->choices - 1;
    if (++p->choice[last] < p->options[last]) return true;
    p->choices--;
  }
  return false;
}

// ---- polynomials ----------------------------------------------------------------

// The largest coefficient of a polynomial. A product of two factors that is added to it
// is at most 2^60, so that the sum does not overflow.
static const int64_t MOST = INT64_C(1) << 61;

static int compare_products(const eg_product *a, const eg_product *b) {
  if (a->degree != b->degree) return a->degree < b->degree ? -1 : 1;
  for (uint32_t i = 0; i < a->degree; i++)
    if (a->symbols[i] != b->symbols[i]) return a->symbols[i] < b->symbols[i] ? -1 : 1;
  return 0;
}

static uint32_t hash_terms(const eg_product *terms, uint32_t count) {
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

// Finds or stores the polynomial of terms that are in order, without equal products or
// factors 0.
static eg_poly intern(eg_proof *p, const eg_product *terms, uint32_t count) {
  uint32_t *head = &p->poly_heads[hash_terms(terms, count)];
  for (uint32_t at = *head; at != EG_PROOF_NONE; at = p->polys.data[at].next)
    if (same(&p->polys.data[at], terms, count)) return at;
  eg_product *own = eg_proof_memory(p, count, sizeof *own);
  if (count != 0) memcpy(own, terms, count * sizeof *own);
  eg_poly made = (eg_poly)p->polys.len;
  eg_polynomial node = {.terms = own, .count = count, .next = *head};
  eg_proof_need(p, eg_polynomials_push(&p->polys, node));
  *head = made;
  return made;
}

/// The terms of a polynomial while it is built; only `count` is set before the first.
typedef struct draft {
  eg_product terms[EG_PROOF_TERMS];
  uint32_t count;
} draft;

static void add_product(eg_proof *p, draft *d, const eg_product *term) {
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

static eg_poly intern_draft(eg_proof *p, const draft *d) {
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
  draft d;
  d.count = 0;
  if (value > EG_PROOF_FACTOR || value < -EG_PROOF_FACTOR)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "numbers become too large");
  add_product(p, &d, &(eg_product){.factor = value});
  return intern_draft(p, &d);
}

static eg_poly add_symbol(eg_proof *p, eg_symbol symbol) {
  uint32_t number = (uint32_t)p->symbols.len;
  const eg_product term = {.factor = 1, .degree = 1, .symbols = {number}};
  symbol.instead = EG_PROOF_NONE;
  symbol.own = intern(p, &term, 1);
  eg_proof_need(p, eg_symbols_push(&p->symbols, symbol));
  return symbol.own;
}

eg_poly eg_poly_symbol(eg_proof *p, bool is_natural) {
  eg_symbol symbol = {.kind = EG_SYMBOL_FREE, .is_natural = is_natural};
  return add_symbol(p, symbol);
}

eg_poly eg_poly_opaque(eg_proof *p, eg_symbol_kind kind, eg_poly a, eg_poly b) {
  for (uint32_t i = 0; i < p->symbols.len; i++) {
    eg_symbol *symbol = &p->symbols.data[i];
    if (symbol->kind == kind && symbol->a == a && symbol->b == b) return symbol->own;
  }
  eg_symbol symbol = {.kind = kind, .a = a, .b = b};
  return add_symbol(p, symbol);
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

static eg_poly add_scaled(eg_proof *p, eg_poly a, eg_poly b, int64_t factor) {
  eg_proof_step(p);
  draft d;
  d.count = 0;
  const eg_polynomial *x = poly(p, a), *y = poly(p, b);
  memcpy(d.terms, x->terms, x->count * sizeof *d.terms);
  d.count = x->count;
  for (uint32_t i = 0; i < y->count; i++) {
    eg_product term = y->terms[i];
    term.factor *= factor;
    add_product(p, &d, &term);
  }
  return intern_draft(p, &d);
}

eg_poly eg_poly_add(eg_proof *p, eg_poly a, eg_poly b) { return add_scaled(p, a, b, 1); }
eg_poly eg_poly_sub(eg_proof *p, eg_poly a, eg_poly b) { return add_scaled(p, a, b, -1); }
eg_poly eg_poly_scale(eg_proof *p, eg_poly a, int64_t factor) {
  return add_scaled(p, eg_poly_const(p, 0), a, factor);
}

static eg_product multiply_products(eg_proof *p, const eg_product *a,
                                    const eg_product *b) {
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
  draft d;
  d.count = 0;
  for (uint32_t i = 0; i < poly(p, a)->count; i++)
    for (uint32_t k = 0; k < poly(p, b)->count; k++) {
      eg_product term =
          multiply_products(p, &poly(p, a)->terms[i], &poly(p, b)->terms[k]);
      add_product(p, &d, &term);
    }
  return intern_draft(p, &d);
}

// Divides product a by product b; returns true when b divides a.
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

// Divides a by b by long division with the last (largest) term of b.
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

bool eg_poly_split(eg_proof *p, eg_poly a, eg_poly b, eg_poly *out_whole,
                   eg_poly *out_rest) {
  if (poly(p, b)->count != 1) return false;
  draft whole, rest;
  whole.count = rest.count = 0;
  for (uint32_t i = 0; i < poly(p, a)->count; i++) {
    eg_product part;
    if (quotient(&poly(p, a)->terms[i], &poly(p, b)->terms[0], &part))
      add_product(p, &whole, &part);
    else
      add_product(p, &rest, &poly(p, a)->terms[i]);
  }
  *out_whole = intern_draft(p, &whole);
  *out_rest = intern_draft(p, &rest);
  return true;
}
