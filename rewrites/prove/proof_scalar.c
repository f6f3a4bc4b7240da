// Scalars, each once; sums, products, totals and choices in normal form.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/prove/proof_scalar.h"

#include <math.h>
#include <string.h>

enum { KIDS = 64 };

bool eg_numbers_agree(double a, double b) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  double size = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
  return fabs(a - b) <= size * 4e-15;
}

static uint32_t hash_node(const eg_scalar_node *n) {
  uint64_t hash = (uint64_t)n->kind * 31 + n->which, bits;
  memcpy(&bits, &n->value, sizeof bits);
  hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; i < n->count; i++)
    hash = (hash ^ n->kids[i] ^ hash >> 31) * UINT64_C(0xff51afd7ed558ccd);
  return (uint32_t)(hash >> 40) & 1023;
}

static bool same_node(const eg_scalar_node *a, const eg_scalar_node *b) {
  if (a->kind != b->kind || a->which != b->which || a->count != b->count ||
      memcmp(&a->value, &b->value, sizeof a->value) != 0)
    return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->kids[i] != b->kids[i] ||
        (a->factors != NULL && a->factors[i] != b->factors[i]))
      return false;
  return true;
}

eg_scalar eg_scalar_make(eg_proof *p, eg_scalar_node node) {
  eg_proof_step(p);
  uint32_t *head = &p->scalar_heads[hash_node(&node)];
  for (uint32_t at = *head; at != EG_PROOF_NONE; at = eg_scalar_at(p, at)->next)
    if (same_node(eg_scalar_at(p, at), &node)) return at;
  eg_scalar_node *own = eg_proof_memory(p, 1, sizeof *own);
  uint32_t *kids = eg_proof_memory(p, node.count, sizeof *kids);
  *own = node;
  if (node.count != 0) memcpy(kids, node.kids, node.count * sizeof *kids);
  own->kids = kids;
  if (node.factors != NULL) {
    double *factors = eg_proof_memory(p, node.count, sizeof *factors);
    if (node.count != 0) memcpy(factors, node.factors, node.count * sizeof *factors);
    own->factors = factors;
  }
  own->next = *head;
  eg_scalar made = (eg_scalar)p->scalars.len;
  if (eg_scalar_nodes_push(&p->scalars, own) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  *head = made;
  return made;
}

eg_scalar eg_scalar_number(eg_proof *p, double value) {
  if (value == 0) value = 0; // one zero
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_NUMBER, .value = value});
}

static eg_scalar leaf(eg_proof *p, eg_scalar_kind kind, uint32_t which) {
  return eg_scalar_make(p, (eg_scalar_node){.kind = kind, .which = which});
}

eg_scalar eg_scalar_real(eg_proof *p) { return leaf(p, EG_SCALAR_REAL, p->reals++); }
eg_scalar eg_scalar_key(eg_proof *p, uint32_t key) { return leaf(p, EG_SCALAR_KEY, key); }

eg_scalar eg_scalar_size(eg_proof *p, eg_poly size) {
  int64_t number;
  if (eg_poly_is_const(p, size, &number)) return eg_scalar_number(p, (double)number);
  return leaf(p, EG_SCALAR_SIZE, size);
}

eg_scalar eg_scalar_read(eg_proof *p, uint32_t tensor, const eg_poly *at, uint32_t rank) {
  return eg_scalar_make(
      p, (eg_scalar_node){
             .kind = EG_SCALAR_READ, .which = tensor, .count = rank, .kids = at});
}

bool eg_scalar_is_number(const eg_proof *p, eg_scalar s, double value) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->kind == EG_SCALAR_NUMBER && n->value == value;
}

bool eg_scalar_has(const eg_proof *p, eg_scalar s, uint32_t symbol) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  switch ((int)n->kind) {
  case EG_SCALAR_SIZE: return eg_poly_has(p, n->which, symbol);
  case EG_SCALAR_READ:
  case EG_SCALAR_FLAT:
    for (uint32_t i = 0; i < n->count; i++)
      if (eg_poly_has(p, n->kids[i], symbol)) return true;
    return false;
  case EG_SCALAR_TOTAL:
    return n->kids[0] == symbol || eg_poly_has(p, n->kids[1], symbol) ||
           eg_scalar_has(p, n->kids[2], symbol);
  case EG_SCALAR_CHOICE:
    return eg_poly_has(p, n->kids[0], symbol) || eg_scalar_has(p, n->kids[1], symbol) ||
           eg_scalar_has(p, n->kids[2], symbol);
  default:
    for (uint32_t i = 0; i < n->count; i++)
      if (eg_scalar_has(p, n->kids[i], symbol)) return true;
    return false;
  }
}

// Bound around here, replaced, or in what replaces another symbol.
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

// ---- sums -------------------------------------------------------------------------

/// A sum in the making.
typedef struct draft {
  uint32_t kids[KIDS];
  double factors[KIDS];
  uint32_t count;
  double constant;
} draft;

static void draft_add(eg_proof *p, draft *d, eg_scalar s, double factor) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  if (n->kind == EG_SCALAR_NUMBER) {
    d->constant += factor * n->value;
    return;
  }
  if (n->kind == EG_SCALAR_SUM) {
    d->constant += factor * n->value;
    for (uint32_t i = 0; i < n->count; i++)
      draft_add(p, d, n->kids[i], factor * n->factors[i]);
    return;
  }
  uint32_t at = 0;
  while (at < d->count && d->kids[at] < s)
    at++;
  if (at < d->count && d->kids[at] == s) {
    d->factors[at] += factor;
    if (d->factors[at] != 0) return;
    d->count--;
    memmove(d->kids + at, d->kids + at + 1, (d->count - at) * sizeof *d->kids);
    memmove(d->factors + at, d->factors + at + 1, (d->count - at) * sizeof *d->factors);
    return;
  }
  if (d->count == KIDS) eg_proof_leave(p, EG_PROOF_GIVEN_UP, "sums become too long");
  memmove(d->kids + at + 1, d->kids + at, (d->count - at) * sizeof *d->kids);
  memmove(d->factors + at + 1, d->factors + at, (d->count - at) * sizeof *d->factors);
  d->kids[at] = s;
  d->factors[at] = factor;
  d->count++;
}

static eg_scalar draft_finish(eg_proof *p, const draft *d) {
  if (d->count == 0) return eg_scalar_number(p, d->constant);
  if (d->count == 1 && d->constant == 0 && d->factors[0] == 1) return d->kids[0];
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_SUM,
                                            .value = d->constant == 0 ? 0 : d->constant,
                                            .count = d->count,
                                            .kids = d->kids,
                                            .factors = d->factors});
}

eg_scalar eg_scalar_scale(eg_proof *p, eg_scalar a, double factor) {
  if (factor == 0) return eg_scalar_number(p, 0);
  if (factor == 1) return a;
  draft *d = eg_proof_memory(p, 1, sizeof *d);
  draft_add(p, d, a, factor);
  return draft_finish(p, d);
}

static eg_scalar pair(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b) {
  return eg_scalar_opaque(p, op, (eg_scalar[]){a, b}, 2);
}

eg_scalar eg_scalar_add(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (p->is_exact) {
    if (a == b) return eg_scalar_mul(p, a, eg_scalar_number(p, 2));
    return pair(p, EG_OP_ADD, a, b);
  }
  draft *d = eg_proof_memory(p, 1, sizeof *d);
  draft_add(p, d, a, 1);
  draft_add(p, d, b, 1);
  return draft_finish(p, d);
}

static bool is_call(const eg_proof *p, eg_scalar s, eg_op op) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->kind == EG_SCALAR_CALL && n->which == (uint32_t)op;
}

eg_scalar eg_scalar_neg(eg_proof *p, eg_scalar a) {
  if (!p->is_exact) return eg_scalar_scale(p, a, -1);
  if (is_call(p, a, EG_OP_NEG)) return eg_scalar_at(p, a)->kids[0];
  if (eg_scalar_at(p, a)->kind == EG_SCALAR_NUMBER && eg_scalar_at(p, a)->value != 0)
    return eg_scalar_number(p, -eg_scalar_at(p, a)->value);
  return eg_scalar_opaque(p, EG_OP_NEG, &a, 1);
}

// ---- products ---------------------------------------------------------------------

static eg_scalar exact_product(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (eg_scalar_is_number(p, a, 1)) return b;
  if (eg_scalar_is_number(p, b, 1)) return a;
  if (eg_scalar_is_number(p, a, -1)) return eg_scalar_neg(p, b);
  if (eg_scalar_is_number(p, b, -1)) return eg_scalar_neg(p, a);
  if (a == b && is_call(p, a, EG_OP_ABS)) // |x| |x| = x x
    return exact_product(p, eg_scalar_at(p, a)->kids[0], eg_scalar_at(p, a)->kids[0]);
  if (is_call(p, a, EG_OP_NEG))
    return eg_scalar_neg(p, exact_product(p, eg_scalar_at(p, a)->kids[0], b));
  if (is_call(p, b, EG_OP_NEG))
    return eg_scalar_neg(p, exact_product(p, a, eg_scalar_at(p, b)->kids[0]));
  return pair(p, EG_OP_MUL, a, b);
}

static bool has_opposite_powers(eg_proof *p, const eg_scalar *kids, uint32_t count,
                                uint32_t *out_i, uint32_t *out_k) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = i + 1; k < count && is_call(p, kids[i], EG_OP_EXP); k++) {
      if (!is_call(p, kids[k], EG_OP_EXP)) continue;
      eg_scalar x = eg_scalar_at(p, kids[i])->kids[0];
      if (eg_scalar_neg(p, x) != eg_scalar_at(p, kids[k])->kids[0]) continue;
      *out_i = i;
      *out_k = k;
      return true;
    }
  return false;
}

// Factors that are neither numbers, sums, totals nor choices.
static eg_scalar plain_product(eg_proof *p, eg_scalar a, eg_scalar b) {
  uint32_t kids[2 * KIDS], count = 0;
  const eg_scalar pairs[2] = {a, b};
  for (uint32_t i = 0; i < 2; i++) {
    const eg_scalar_node *n = eg_scalar_at(p, pairs[i]);
    bool many = n->kind == EG_SCALAR_PRODUCT;
    for (uint32_t k = 0; k < (many ? n->count : 1); k++) {
      if (count == KIDS) eg_proof_leave(p, EG_PROOF_GIVEN_UP, "products become too long");
      eg_scalar kid = many ? n->kids[k] : pairs[i];
      uint32_t at = count++;
      for (; at > 0 && kids[at - 1] > kid; at--)
        kids[at] = kids[at - 1];
      kids[at] = kid;
    }
  }
  uint32_t left, right;
  if (has_opposite_powers(p, kids, count, &left, &right)) { // exp y exp -y = 1
    eg_scalar rest = eg_scalar_number(p, 1);
    for (uint32_t k = 0; k < count; k++)
      if (k != left && k != right) rest = eg_scalar_mul(p, rest, kids[k]);
    return rest;
  }
  for (uint32_t i = 0; i + 1 < count; i++) // |x| |x| = x x
    if (kids[i] == kids[i + 1] && is_call(p, kids[i], EG_OP_ABS)) {
      eg_scalar x = eg_scalar_at(p, kids[i])->kids[0];
      eg_scalar rest = eg_scalar_mul(p, x, x);
      for (uint32_t k = 0; k < count; k++)
        if (k != i && k != i + 1) rest = eg_scalar_mul(p, rest, kids[k]);
      return rest;
    }
  return eg_scalar_make(
      p, (eg_scalar_node){.kind = EG_SCALAR_PRODUCT, .count = count, .kids = kids});
}

// What stands outermost in a product: numbers and sums, then choices, then totals.
static uint32_t spread_rank(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  switch ((int)n->kind) {
  case EG_SCALAR_NUMBER:
  case EG_SCALAR_SUM: return 3;
  case EG_SCALAR_CHOICE: return 1;
  case EG_SCALAR_TOTAL: return n->which == EG_FOLD_SUM ? 2 : 0;
  default: return 0;
  }
}

eg_scalar eg_scalar_mul(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (p->is_exact) return exact_product(p, a, b);
  if (spread_rank(p, b) > spread_rank(p, a)) {
    eg_scalar first = a;
    a = b;
    b = first;
  }
  const eg_scalar_node *n = eg_scalar_at(p, a);
  switch (spread_rank(p, a)) {
  case 3: {
    if (n->kind == EG_SCALAR_NUMBER) return eg_scalar_scale(p, b, n->value);
    draft *d = eg_proof_memory(p, 1, sizeof *d);
    if (n->value != 0) draft_add(p, d, b, n->value);
    for (uint32_t i = 0; i < n->count; i++)
      draft_add(p, d, eg_scalar_mul(p, n->kids[i], b), n->factors[i]);
    return draft_finish(p, d);
  }
  case 2: {
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
  case 1:
    return eg_scalar_choice(p, n->kids[0], eg_scalar_mul(p, n->kids[1], b),
                            eg_scalar_mul(p, n->kids[2], b));
  default: return plain_product(p, a, b);
  }
}

// ---- totals and choices -----------------------------------------------------------

static eg_poly minus_one(eg_proof *p, eg_poly a) { // of -a - 1 >= 0: not a >= 0
  return eg_poly_sub(p, eg_poly_const(p, -1), a);
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
  if (nothing && n->kind == EG_SCALAR_SUM) {
    draft *d = eg_proof_memory(p, 1, sizeof *d);
    for (uint32_t i = 0; i < n->count; i++)
      draft_add(p, d, eg_scalar_choice(p, condition, n->kids[i], no), n->factors[i]);
    if (n->value != 0)
      draft_add(p, d, eg_scalar_choice(p, condition, eg_scalar_number(p, 1), no),
                n->value);
    return draft_finish(p, d);
  }
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

static eg_scalar total_of_sum(eg_proof *p, uint32_t symbol, eg_poly size,
                              const eg_scalar_node *n) {
  draft *d = eg_proof_memory(p, 1, sizeof *d);
  for (uint32_t i = 0; i < n->count; i++)
    draft_add(p, d, eg_scalar_total(p, EG_FOLD_SUM, symbol, size, n->kids[i]),
              n->factors[i]);
  if (n->value != 0) draft_add(p, d, eg_scalar_size(p, size), n->value);
  return draft_finish(p, d);
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
    if (n->kind == EG_SCALAR_NUMBER || !eg_scalar_has(p, body, symbol))
      return eg_scalar_mul(p, eg_scalar_size(p, size), body);
    if (n->kind == EG_SCALAR_SUM) return total_of_sum(p, symbol, size, n);
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

// A total whose index is not the first one that is free here gets that one, so that it is
// the same wherever it was made.
static eg_scalar with_first_index(eg_proof *p, uint32_t *symbol, eg_scalar body) {
  uint32_t first = eg_scalar_index(p, body, EG_PROOF_NONE);
  for (uint32_t i = 0; p->indices[i] != first; i++)
    if (p->indices[i] == *symbol) return body;
  body = eg_scalar_rename(p, body, *symbol, p->symbols.data[first].own);
  *symbol = first;
  return body;
}

// ---- with facts -------------------------------------------------------------------

static eg_scalar rebuild(eg_proof *p, const eg_scalar_node *n) {
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
  case EG_SCALAR_SUM: {
    draft *d = eg_proof_memory(p, 1, sizeof *d);
    d->constant = n->value;
    for (uint32_t i = 0; i < n->count; i++)
      draft_add(p, d, eg_scalar_simple(p, n->kids[i]), n->factors[i]);
    return draft_finish(p, d);
  }
  case EG_SCALAR_PRODUCT: {
    eg_scalar made = eg_scalar_simple(p, n->kids[0]);
    for (uint32_t i = 1; i < n->count; i++)
      made = eg_scalar_mul(p, made, eg_scalar_simple(p, n->kids[i]));
    return made;
  }
  case EG_SCALAR_TOTAL: {
    eg_poly size = eg_poly_canonical(p, n->kids[1]);
    uint32_t symbol = n->kids[0];
    if (is_in_use(p, symbol)) // what is known of it is of another fold
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
  case EG_SCALAR_CALL:
    for (uint32_t i = 0; i < n->count; i++)
      kids[i] = eg_scalar_simple(p, n->kids[i]);
    return eg_scalar_call(p, (eg_op)n->which, kids, n->count, n->value == 0);
  }
  return 0;
}

eg_scalar eg_scalar_simple(eg_proof *p, eg_scalar s) {
  if (s < p->simple.len && p->simple.data[s].version == p->version)
    return p->simple.data[s].result;
  uint32_t version = p->version;
  eg_scalar result = rebuild(p, eg_scalar_at(p, s));
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
