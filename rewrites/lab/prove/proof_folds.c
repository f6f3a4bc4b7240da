// Sums and other folds over an index, and choices by the sign of an integer.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_scalar.h"

// ---- totals and choices -----------------------------------------------------------

static eg_poly minus_one(eg_proof *p, eg_poly a) { // of -a - 1 >= 0: not a >= 0
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
  if (nothing && n->kind == EG_SCALAR_SUM)
    return eg_scalar_each(p, yes, where_of, &condition);
  if (nothing && n->kind == EG_SCALAR_TOTAL && n->which == EG_FOLD_SUM &&
      !eg_poly_has(p, condition, n->kids[0]))
    return eg_scalar_total(p, EG_FOLD_SUM, n->kids[0], n->kids[1],
                           eg_scalar_choice(p, condition, n->kids[2], no));
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_CHOICE,
                                            .count = 3,
                                            .kids = (uint32_t[]){condition, yes, no}});
}

// condition = +-symbol + rest, rest without the symbol: the sum over i from 0 below
// `size` of a choice becomes two sums, if the place where it changes is known to be
// within.
static bool parted(eg_proof *p, uint32_t symbol, eg_poly size, const eg_scalar_node *n,
                   eg_scalar *out) {
  eg_poly own = p->symbols.data[symbol].own, place;
  eg_poly minus = eg_poly_sub(p, n->kids[0], own), plus = eg_poly_add(p, n->kids[0], own);
  bool above = !eg_poly_has(p, minus, symbol); // i >= place; else i < place
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

/// What a sum goes over.
typedef struct range {
  uint32_t symbol;
  eg_poly size;
} range;

static eg_scalar total_of(eg_proof *p, eg_scalar kid, const void *with) {
  const range *over = with;
  return eg_scalar_total(p, EG_FOLD_SUM, over->symbol, over->size, kid);
}

// The sum of `size` equal numbers is their product, unless it is 0 times infinity.
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
      return eg_scalar_each(p, body, total_of, &over);
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
