// Computes normal forms of sums, products, folds over an index and choices, and
// simplifies scalars by the facts. A number is the first factor of a product. A factor is
// distributed over a sum when this also holds for infinities (the factor is finite), or
// when the laws allow it.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rewrites/lab/prove/proof_scalar.h"

enum { KIDS = 64 };

// ---- sums -----------------------------------------------------------------------

/// A sum while it is built.
typedef struct draft {
  uint32_t kids[KIDS];
  double factors[KIDS];
  uint32_t count;
  eg_number constant;
  uint32_t marks; // marks of the factors
} draft;

static draft *new_draft(eg_proof *p) { return eg_proof_memory(p, 1, sizeof(draft)); }

// True when s - s = 0: for integers, for numbers known to be finite, or when the laws
// allow it.
static bool cancels(eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->is_ordinary &&
         (eg_scalar_is_finite(p, s) || p->laws.cancels || p->domain == EG_DOMAIN_WHOLE);
}

static void remove_at(draft *d, uint32_t at) {
  d->count--;
  memmove(d->kids + at, d->kids + at + 1, (d->count - at) * sizeof *d->kids);
  memmove(d->factors + at, d->factors + at + 1, (d->count - at) * sizeof *d->factors);
}

static void insert_at(eg_proof *p, draft *d, uint32_t at, eg_scalar s, double factor) {
  if (d->count == KIDS) eg_proof_leave(p, EG_PROOF_GIVEN_UP, "sums become too long");
  memmove(d->kids + at + 1, d->kids + at, (d->count - at) * sizeof *d->kids);
  memmove(d->factors + at + 1, d->factors + at, (d->count - at) * sizeof *d->factors);
  d->kids[at] = s;
  d->factors[at] = factor;
  d->count++;
}

// Adds a term that is neither a number nor a sum to a sum. A term that need not cancel (s
// - s may be NaN) is kept twice, with the positive factor first.
static void add_kid(eg_proof *p, draft *d, eg_scalar s, eg_number factor) {
  bool any_sign = cancels(p, s);
  uint32_t at = 0;
  while (at < d->count && d->kids[at] < s)
    at++;
  for (; at < d->count && d->kids[at] == s; at++) {
    if (!any_sign && signbit(d->factors[at]) != signbit(factor.value)) {
      if (!signbit(factor.value)) break;
      continue;
    }
    eg_number old = {.value = d->factors[at], .marks = d->marks};
    eg_number sum = eg_number_add(p, old, factor);
    d->factors[at] = sum.value;
    d->marks |= sum.marks;
    if (sum.value == 0) remove_at(d, at);
    return;
  }
  d->marks |= factor.marks;
  insert_at(p, d, at, s, factor.value);
}

// Adds a scalar times a finite factor other than 0 to a sum.
static void draft_add(eg_proof *p, draft *d, eg_scalar s, eg_number factor) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  if (n->kind != EG_SCALAR_NUMBER && n->kind != EG_SCALAR_SUM) {
    add_kid(p, d, s, factor);
    return;
  }
  eg_number own = {.value = n->value, .marks = n->which};
  d->constant = eg_number_add(p, d->constant, eg_number_mul(p, factor, own));
  for (uint32_t i = 0; i < n->count; i++) {
    eg_number of_kid = {.value = n->factors[i], .marks = n->which};
    draft_add(p, d, n->kids[i], eg_number_mul(p, factor, of_kid));
  }
}

static eg_scalar draft_finish(eg_proof *p, const draft *d) {
  assert(d->count <= KIDS);
  if (d->count == 0) return eg_scalar_marked(p, d->constant);
  if (d->count == 1 && d->constant.value == 0 && d->factors[0] == 1) return d->kids[0];
  eg_scalar_node node = {.kind = EG_SCALAR_SUM,
                         .which = (d->constant.marks | d->marks) & EG_NUMBER_ROUNDED,
                         .value = d->constant.value == 0 ? 0 : d->constant.value,
                         .count = d->count,
                         .kids = d->kids,
                         .factors = d->factors};
  return eg_scalar_make(p, node);
}

static eg_number exactly(double value) { return (eg_number){.value = value}; }

eg_scalar eg_scalar_times(eg_proof *p, eg_scalar a, eg_number factor) {
  if (factor.value == 1) return a;
  if (!isfinite(factor.value)) // infinity times a sum is not the sum of products
    return eg_scalar_factors(p, eg_scalar_marked(p, factor), a);
  if (factor.value == 0)
    return cancels(p, a) ? eg_scalar_number(p, 0)
                         : eg_scalar_factors(p, eg_scalar_number(p, 0), a);
  draft *d = new_draft(p);
  draft_add(p, d, a, factor);
  return draft_finish(p, d);
}

eg_scalar eg_scalar_scale(eg_proof *p, eg_scalar a, double factor) {
  return eg_scalar_times(p, a, exactly(factor));
}

eg_scalar eg_scalar_add(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (p->is_exact) {
    if (a == b) return eg_scalar_mul(p, a, eg_scalar_number(p, 2));
    return eg_scalar_opaque(p, EG_OP_ADD, (eg_scalar[]){a, b}, 2);
  }
  draft *d = new_draft(p);
  draft_add(p, d, a, exactly(1));
  draft_add(p, d, b, exactly(1));
  return draft_finish(p, d);
}

eg_scalar eg_scalar_neg(eg_proof *p, eg_scalar a) {
  const eg_scalar_node *n = eg_scalar_at(p, a);
  if (!p->is_exact) return eg_scalar_scale(p, a, -1);
  if (eg_scalar_is_call(p, a, EG_OP_NEG)) return n->kids[0];
  if (n->kind == EG_SCALAR_NUMBER && n->value != 0 && p->domain == EG_DOMAIN_REAL)
    return eg_scalar_number(p, -n->value);
  return eg_scalar_opaque(p, EG_OP_NEG, &a, 1);
}

/// Applies a function to the terms of a sum (and to 1 for its constant) and returns the
/// sum of the results with the same factors.
static eg_scalar on_each(eg_proof *p, eg_scalar sum,
                         eg_scalar (*of)(eg_proof *p, eg_scalar kid, const void *with),
                         const void *with) {
  const eg_scalar_node *n = eg_scalar_at(p, sum);
  draft *d = new_draft(p);
  if (n->kind != EG_SCALAR_SUM) {
    draft_add(p, d, of(p, sum, with), exactly(1));
    return draft_finish(p, d);
  }
  for (uint32_t i = 0; i < n->count; i++) {
    eg_number factor = {.value = n->factors[i], .marks = n->which};
    draft_add(p, d, of(p, n->kids[i], with), factor);
  }
  if (n->value == 0) return draft_finish(p, d);
  eg_number constant = {.value = n->value, .marks = n->which};
  eg_scalar rest = of(p, eg_scalar_number(p, 1), with);
  if (isfinite(n->value))
    draft_add(p, d, rest, constant);
  else
    draft_add(p, d, eg_scalar_times(p, rest, constant), exactly(1));
  return draft_finish(p, d);
}

// ---- the number in front of a sum ---------------------------------------------------

static bool is_divided(eg_proof *p, double a, double by) {
  double quotient = a / by;
  return fma(quotient, by, -a) == 0 &&
         (p->domain == EG_DOMAIN_REAL || quotient == floor(quotient));
}

/// Divides a sum by the number that all of its terms have as a factor; *out is
/// the number.
static eg_scalar primitive(eg_proof *p, eg_scalar sum, eg_number *out) {
  const eg_scalar_node *n = eg_scalar_at(p, sum);
  *out = exactly(1);
  if (n->kind != EG_SCALAR_SUM) return sum;
  double by = n->factors[0];
  bool all = is_divided(p, n->value, by);
  for (uint32_t i = 0; i < n->count; i++)
    all = all && is_divided(p, n->factors[i], by);
  if (!all) by = by < 0 ? -1 : 1;
  if (by == 1) return sum;
  draft *d = new_draft(p);
  for (uint32_t i = 0; i < n->count; i++)
    draft_add(p, d, n->kids[i], exactly(n->factors[i] / by));
  d->marks = n->which;
  d->constant = (eg_number){.value = n->value / by, .marks = n->which};
  *out = (eg_number){.value = by, .marks = n->which};
  return draft_finish(p, d);
}

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
  for (uint32_t i = 0; i + 1 < f.count; i++) // here, too, |x| |x| = x x
    if (f.kids[i] == f.kids[i + 1] && eg_scalar_is_call(p, f.kids[i], EG_OP_ABS)) {
      eg_scalar x = eg_scalar_at(p, f.kids[i])->kids[0];
      return without(p, &f, i, i + 1, eg_scalar_mul(p, x, x));
    }
  return eg_scalar_make(
      p, (eg_scalar_node){.kind = EG_SCALAR_PRODUCT, .count = f.count, .kids = f.kids});
}

// Returns the order in which factors are distributed over a product: sums have rank 3,
// sums over an index (totals) 2, choices 1; other factors have 0.
static uint32_t spread_rank(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  switch ((int)n->kind) {
  case EG_SCALAR_SUM: return 3;
  case EG_SCALAR_CHOICE: return 1;
  case EG_SCALAR_TOTAL: return n->which == EG_FOLD_SUM ? 2 : 0;
  default: return 0;
  }
}

// Distributes the finite factors of a product over its only sum, so that the order of
// factors does not matter.
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
  inside = primitive(p, inside, &number);
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
  if (eg_scalar_has(p, b, symbol)) { // both use the same index
    uint32_t other = eg_scalar_index(p, body, b);
    body = eg_scalar_rename(p, body, symbol, p->symbols.data[other].own);
    symbol = other;
  }
  p->symbols.data[symbol].is_bound = true;
  eg_scalar all = eg_scalar_mul(p, body, b);
  p->symbols.data[symbol].is_bound = false;
  return eg_scalar_total(p, EG_FOLD_SUM, symbol, size, all);
}

static bool may_distribute(eg_proof *p, eg_scalar sum, eg_scalar factor) {
  const eg_scalar_node *s = eg_scalar_at(p, sum), *f = eg_scalar_at(p, factor);
  return s->is_ordinary && f->is_ordinary &&
         (eg_scalar_is_finite(p, factor) || p->laws.distributes ||
          p->domain == EG_DOMAIN_WHOLE);
}

// True when a factor may be distributed over a sum over an index (total). Infinity times
// an empty sum is NaN; an empty sum of products is 0.
static bool may_enter_total(eg_proof *p, const eg_scalar_node *n, eg_scalar factor) {
  return eg_scalar_is_finite(p, factor) || p->laws.cancels ||
         p->domain == EG_DOMAIN_WHOLE ||
         eg_is_natural(p, eg_poly_sub(p, n->kids[1], eg_poly_const(p, 1)));
}

static bool distribute(eg_proof *p, eg_scalar a, eg_scalar b, uint32_t rank,
                       eg_scalar *out) {
  const eg_scalar_node *n = eg_scalar_at(p, a);
  if (spread_rank(p, a) != rank) return false;
  if (rank == 1) {
    *out = eg_scalar_choice(p, n->kids[0], eg_scalar_mul(p, n->kids[1], b),
                            eg_scalar_mul(p, n->kids[2], b));
    return true;
  }
  if (!may_distribute(p, a, b)) return false;
  if (rank == 2 && !may_enter_total(p, n, b)) return false;
  *out = rank == 3 ? on_each(p, a, times_of, &b) : into_total(p, n, b);
  return true;
}

eg_scalar eg_scalar_mul(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (p->is_exact) return exact_product(p, a, b);
  const eg_scalar both[2] = {a, b};
  for (uint32_t i = 0; i < 2; i++) {
    const eg_scalar_node *n = eg_scalar_at(p, both[i]);
    eg_number number = {.value = n->value, .marks = n->which};
    if (n->kind == EG_SCALAR_NUMBER) return eg_scalar_times(p, both[1 - i], number);
    bool is_multiple = n->kind == EG_SCALAR_SUM && n->count == 1 && n->value == 0;
    if (!is_multiple) continue;
    number.value = n->factors[0];
    return eg_scalar_times(p, eg_scalar_mul(p, n->kids[0], both[1 - i]), number);
  }
  eg_scalar made;
  for (uint32_t rank = 3; rank > 0; rank--)
    if (distribute(p, a, b, rank, &made) || distribute(p, b, a, rank, &made)) return made;
  eg_number of_a, of_b;
  a = primitive(p, a, &of_a);
  b = primitive(p, b, &of_b);
  if (of_a.value != 1 || of_b.value != 1)
    return eg_scalar_times(p, eg_scalar_mul(p, a, b), eg_number_mul(p, of_a, of_b));
  return gathered(p, a, b);
}

// ---- indices of folds ------------------------------------------------------------

// True when a symbol is bound by a sum, replaced, or in the replacement of
// another symbol.
static bool is_in_use(const eg_proof *p, uint32_t symbol) {
  const eg_symbol *s = &p->symbols.data[symbol];
  bool found = s->is_bound || s->instead != EG_PROOF_NONE;
  for (size_t i = 0; i < p->replaced.len && !found; i++)
    found = eg_poly_has(p, p->symbols.data[p->replaced.data[i]].instead, symbol);
  return found;
}

uint32_t eg_scalar_index(eg_proof *p, eg_scalar a, eg_scalar b) {
  for (uint32_t i = 0; i < p->index_count; i++) {
    uint32_t symbol = p->indices[i];
    if (!is_in_use(p, symbol) && (a == EG_PROOF_NONE || !eg_scalar_has(p, a, symbol)) &&
        (b == EG_PROOF_NONE || !eg_scalar_has(p, b, symbol)))
      return symbol;
  }
  if (p->index_count == EG_PROOF_INDICES)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "too many sums in one another");
  return p->indices[p->index_count++] = eg_poly_symbol_of(p, eg_poly_symbol(p, true));
}

// ---- totals and choices -----------------------------------------------------------

static eg_poly minus_one(eg_proof *p, eg_poly a) { // -a - 1 >= 0: negates a >= 0
  return eg_poly_sub(p, eg_poly_const(p, -1), a);
}

static eg_scalar where_of(eg_proof *p, eg_scalar kid, const void *with) {
  return eg_scalar_choice(p, *(const eg_poly *)with, kid, eg_scalar_number(p, 0));
}

eg_scalar eg_scalar_choice(eg_proof *p, eg_poly condition, eg_scalar yes, eg_scalar no) {
  if (yes == no) return yes;
  condition = eg_poly_canonical(p, condition);
  if (eg_is_natural(p, condition)) return yes;
  if (eg_is_natural(p, minus_one(p, condition))) return no;
  if (!p->is_exact && eg_scalar_is_number(p, yes, 0))
    return eg_scalar_choice(p, minus_one(p, condition), no, yes);
  const eg_scalar_node *n = eg_scalar_at(p, yes);
  bool nothing = !p->is_exact && eg_scalar_is_number(p, no, 0);
  if (nothing && n->kind == EG_SCALAR_SUM) return on_each(p, yes, where_of, &condition);
  if (nothing && n->kind == EG_SCALAR_TOTAL && n->which == EG_FOLD_SUM &&
      !eg_poly_has(p, condition, n->kids[0]))
    return eg_scalar_total(p, EG_FOLD_SUM, n->kids[0], n->kids[1],
                           eg_scalar_choice(p, condition, n->kids[2], no));
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_CHOICE,
                                            .count = 3,
                                            .kids = (uint32_t[]){condition, yes, no}});
}

// Splits the sum of a choice over i from 0 below `size` into two sums. condition =
// +-symbol + rest, where the rest does not have the symbol; the index at which the choice
// changes must be known to be within the range.
static bool parted(eg_proof *p, uint32_t symbol, eg_poly size, const eg_scalar_node *n,
                   eg_scalar *out) {
  eg_poly own = p->symbols.data[symbol].own, place;
  eg_poly minus = eg_poly_sub(p, n->kids[0], own), plus = eg_poly_add(p, n->kids[0], own);
  bool above = !eg_poly_has(p, minus, symbol); // true for i >= place, else i < place
  if (above)
    place = eg_poly_scale(p, minus, -1);
  else if (!eg_poly_has(p, plus, symbol))
    place = eg_poly_add(p, plus, eg_poly_const(p, 1));
  else
    return false;
  eg_poly rest = eg_poly_sub(p, size, place);
  if (!eg_is_natural(p, place) || !eg_is_natural(p, rest)) return false;
  eg_scalar low = n->kids[above ? 2 : 1], high = n->kids[above ? 1 : 2];
  uint32_t other = eg_scalar_index(p, high, EG_PROOF_NONE);
  eg_poly moved = eg_poly_add(p, p->symbols.data[other].own, place);
  high = eg_scalar_rename(p, high, symbol, moved);
  eg_scalar first = eg_scalar_total(p, EG_FOLD_SUM, symbol, place, low);
  eg_scalar second = eg_scalar_total(p, EG_FOLD_SUM, other, rest, high);
  *out = eg_scalar_add(p, first, second);
  return true;
}

/// The index symbol of a sum and its size.
typedef struct range {
  uint32_t symbol;
  eg_poly size;
} range;

static eg_scalar total_of(eg_proof *p, eg_scalar kid, const void *with) {
  const range *over = with;
  return eg_scalar_total(p, EG_FOLD_SUM, over->symbol, over->size, kid);
}

// True when the sum over an index of equal numbers is size times the number; false when
// that may be 0 times infinity.
static bool is_repeated(eg_proof *p, uint32_t symbol, eg_poly size, eg_scalar body) {
  const eg_scalar_node *n = eg_scalar_at(p, body);
  if (eg_scalar_has(p, body, symbol) || !n->is_ordinary) return false;
  return eg_scalar_is_finite(p, body) || p->laws.cancels ||
         p->domain == EG_DOMAIN_WHOLE ||
         eg_is_natural(p, eg_poly_sub(p, size, eg_poly_const(p, 1)));
}

eg_scalar eg_scalar_total(eg_proof *p, eg_fold fold, uint32_t symbol, eg_poly size,
                          eg_scalar body) {
  const eg_scalar_node *n = eg_scalar_at(p, body);
  int64_t number;
  size = eg_poly_canonical(p, size);
  bool is_known = eg_poly_is_const(p, size, &number);
  if (is_known && number == 1)
    return eg_scalar_rename(p, body, symbol, eg_poly_const(p, 0));
  if (fold == EG_FOLD_SUM && !p->is_exact) {
    if (is_known && number == 0) return eg_scalar_number(p, 0);
    if (is_repeated(p, symbol, size, body))
      return eg_scalar_mul(p, eg_scalar_size(p, size), body);
    range over = {.symbol = symbol, .size = size};
    if (n->kind == EG_SCALAR_SUM && n->is_ordinary)
      return on_each(p, body, total_of, &over);
    eg_scalar parts;
    if (n->kind == EG_SCALAR_CHOICE && parted(p, symbol, size, n, &parts)) return parts;
    if (n->kind == EG_SCALAR_CHOICE && !eg_scalar_is_number(p, n->kids[2], 0)) {
      eg_scalar zero = eg_scalar_number(p, 0);
      eg_poly other = minus_one(p, n->kids[0]);
      eg_scalar yes = eg_scalar_choice(p, n->kids[0], n->kids[1], zero);
      eg_scalar no = eg_scalar_choice(p, other, n->kids[2], zero);
      return eg_scalar_add(p, eg_scalar_total(p, fold, symbol, size, yes),
                           eg_scalar_total(p, fold, symbol, size, no));
    }
  }
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_TOTAL,
                                            .which = fold,
                                            .count = 3,
                                            .kids = (uint32_t[]){symbol, size, body}});
}

// ---- with facts -------------------------------------------------------------------

// Gives a sum over an index the first unused index symbol, so that equal sums become
// one scalar.
static eg_scalar with_first_index(eg_proof *p, uint32_t *symbol, eg_scalar body) {
  uint32_t first = eg_scalar_index(p, body, EG_PROOF_NONE);
  for (uint32_t i = 0; p->indices[i] != first; i++)
    if (p->indices[i] == *symbol) return body;
  body = eg_scalar_rename(p, body, *symbol, p->symbols.data[first].own);
  *symbol = first;
  return body;
}

static eg_scalar simple_of(eg_proof *p, eg_scalar kid, const void *with) {
  (void)with;
  return eg_scalar_simple(p, kid);
}

static eg_scalar rebuild_call(eg_proof *p, const eg_scalar_node *n) {
  uint32_t kids[KIDS + 2];
  eg_laws_before before = eg_laws_narrow(p, eg_op_hides_infinity((eg_op)n->which));
  for (uint32_t i = 0; i < n->count; i++)
    kids[i] = eg_scalar_simple(p, n->kids[i]);
  eg_scalar made = eg_scalar_call(p, (eg_op)n->which, kids, n->count, n->domain);
  eg_laws_restore(p, before);
  return made;
}

static eg_scalar rebuild_scalar(eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  uint32_t kids[KIDS + 2];
  if (n->count > KIDS) eg_proof_leave(p, EG_PROOF_GIVEN_UP, "terms become too long");
  switch ((int)n->kind) {
  case EG_SCALAR_NUMBER:
  case EG_SCALAR_REAL:
  case EG_SCALAR_KEY: return eg_scalar_make(p, *n);
  case EG_SCALAR_SIZE: return eg_scalar_size(p, eg_poly_canonical(p, n->which));
  case EG_SCALAR_READ:
  case EG_SCALAR_FLAT: {
    for (uint32_t i = 0; i < n->count; i++)
      kids[i] = eg_poly_canonical(p, n->kids[i]);
    eg_scalar_node copy = *n;
    copy.kids = kids;
    return eg_scalar_make(p, copy);
  }
  case EG_SCALAR_SUM: return on_each(p, s, simple_of, NULL);
  case EG_SCALAR_PRODUCT: {
    eg_scalar made = eg_scalar_simple(p, n->kids[0]);
    for (uint32_t i = 1; i < n->count; i++)
      made = eg_scalar_mul(p, made, eg_scalar_simple(p, n->kids[i]));
    return made;
  }
  case EG_SCALAR_TOTAL: {
    eg_poly size = eg_poly_canonical(p, n->kids[1]);
    uint32_t symbol = n->kids[0];
    if (is_in_use(p, symbol)) // its facts are about another fold
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "sums in one another with one index");
    eg_scalar body = with_first_index(p, &symbol, n->kids[2]);
    p->symbols.data[symbol].is_bound = true;
    eg_branch branch = eg_branch_open(p);
    eg_assume_below(p, p->symbols.data[symbol].own, size);
    body = eg_scalar_simple(p, body);
    eg_branch_close(p, branch);
    p->symbols.data[symbol].is_bound = false;
    return eg_scalar_total(p, (eg_fold)n->which, symbol, size, body);
  }
  case EG_SCALAR_CHOICE: {
    eg_poly condition = eg_poly_canonical(p, n->kids[0]);
    return eg_scalar_choice(p, condition, eg_scalar_simple(p, n->kids[1]),
                            eg_scalar_simple(p, n->kids[2]));
  }
  case EG_SCALAR_CALL: return rebuild_call(p, n);
  }
  return 0;
}

eg_scalar eg_scalar_simple(eg_proof *p, eg_scalar s) {
  if (s < p->simple.len && p->simple.data[s].version == p->version)
    return p->simple.data[s].result;
  uint32_t version = p->version;
  eg_domain before = p->domain;
  if (eg_scalar_is_compound(eg_scalar_at(p, s)->kind))
    p->domain = eg_scalar_at(p, s)->domain;
  eg_scalar result = rebuild_scalar(p, s);
  p->domain = before;
  if (p->simple.len < p->scalars.len &&
      eg_memos_resize(&p->simple, p->scalars.len + 64) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  p->simple.data[s] = (eg_memo){.version = version, .result = result};
  return result;
}

eg_scalar eg_scalar_rename(eg_proof *p, eg_scalar s, uint32_t symbol, eg_poly by) {
  if (!eg_scalar_has(p, s, symbol)) return s;
  eg_branch branch = eg_branch_open(p);
  eg_replace(p, symbol, by);
  eg_scalar made = eg_scalar_simple(p, s);
  eg_branch_close(p, branch);
  return made;
}
