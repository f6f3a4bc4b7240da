// Scalars, each once; sums, products, totals and choices in normal form.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_scalar.h"

#include <math.h>
#include <string.h>

enum { KIDS = 64 };

static uint32_t hash_node(const eg_scalar_node *n) {
  uint64_t hash = ((uint64_t)n->kind * 4 + n->domain) * 31 + n->which, bits;
  memcpy(&bits, &n->value, sizeof bits);
  hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; i < n->count; i++)
    hash = (hash ^ n->kids[i] ^ hash >> 31) * UINT64_C(0xff51afd7ed558ccd);
  return (uint32_t)(hash >> 40) & 1023;
}

static bool same_node(const eg_scalar_node *a, const eg_scalar_node *b) {
  if (a->kind != b->kind || a->domain != b->domain || a->which != b->which ||
      a->count != b->count || memcmp(&a->value, &b->value, sizeof a->value) != 0)
    return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->kids[i] != b->kids[i] ||
        (a->factors != NULL && a->factors[i] != b->factors[i]))
      return false;
  return true;
}

static bool is_compound(eg_scalar_kind kind) {
  return kind == EG_SCALAR_CALL || kind == EG_SCALAR_SUM || kind == EG_SCALAR_PRODUCT ||
         kind == EG_SCALAR_TOTAL || kind == EG_SCALAR_CHOICE;
}

static bool is_finite_leaf(const eg_proof *p, const eg_scalar_node *n) {
  switch ((int)n->kind) {
  case EG_SCALAR_NUMBER: return isfinite(n->value);
  case EG_SCALAR_REAL: return n->which < 64 && (p->finite_reals >> n->which & 1) != 0;
  case EG_SCALAR_READ:
  case EG_SCALAR_FLAT: return p->is_weight != NULL && p->is_weight[n->which];
  default: return true; // SIZE, KEY
  }
}

// Operators that make no number of another size.
static bool keeps_size(uint32_t op) {
  static const eg_op ops[] = {EG_OP_ABS,  EG_OP_MAX,        EG_OP_MIN, EG_OP_NEG,
                              EG_OP_SQRT, EG_OP_RECIPROCAL, EG_OP_ADD, EG_OP_MUL};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (op == (uint32_t)ops[i]) return true;
  return false;
}

// Operators that make an infinity or NaN of some number. Of weights the result is folded,
// and seen to be finite.
static bool has_pole(uint32_t op) {
  return op == EG_OP_DIV || op == EG_OP_MOD || op == EG_OP_RECIPROCAL ||
         op == EG_OP_RSQRT || op == EG_OP_SQRT || op == EG_OP_LOG || op == EG_OP_POW;
}

// What is known of all parts, of the whole. The first kids of TOTAL and CHOICE are
// integers.
static void find_marks(const eg_proof *p, eg_scalar_node *n) {
  bool is_sum = n->kind == EG_SCALAR_SUM;
  n->is_ordinary = (n->kind != EG_SCALAR_NUMBER && !is_sum) || isfinite(n->value);
  n->is_finite = is_compound(n->kind) ? n->is_ordinary : is_finite_leaf(p, n);
  n->is_tame = n->kind != EG_SCALAR_CALL || keeps_size(n->which);
  n->is_of_weights =
      n->is_finite && (n->kind == EG_SCALAR_READ || n->kind == EG_SCALAR_FLAT);
  if (!is_compound(n->kind)) return;
  uint32_t first = n->kind == EG_SCALAR_TOTAL ? 2 : n->kind == EG_SCALAR_CHOICE ? 1 : 0;
  for (uint32_t i = first; i < n->count; i++) {
    const eg_scalar_node *kid = eg_scalar_at(p, n->kids[i]);
    n->is_finite = n->is_finite && kid->is_finite;
    n->is_ordinary = n->is_ordinary && kid->is_ordinary;
    n->is_tame = n->is_tame && kid->is_tame;
    n->is_of_weights = n->is_of_weights || kid->is_of_weights;
  }
  if (n->kind == EG_SCALAR_CALL && has_pole(n->which) && !n->is_of_weights)
    n->is_finite = false;
  // Beside a number small ones are lost.
  if (is_sum && n->value != 0) n->is_tame = true;
}

eg_scalar eg_scalar_make(eg_proof *p, eg_scalar_node node) {
  eg_proof_step(p);
  node.domain = is_compound(node.kind) ? p->domain : EG_DOMAIN_ANY;
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
  find_marks(p, own);
  eg_scalar made = (eg_scalar)p->scalars.len;
  if (eg_scalar_nodes_push(&p->scalars, own) != EGRAPH_OK)
    eg_proof_leave(p, EG_PROOF_MEMORY, "memory");
  *head = made;
  return made;
}

eg_scalar eg_scalar_marked(eg_proof *p, eg_number number) {
  if (number.value == 0 && !p->is_exact) number.value = 0; // one zero
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_NUMBER,
                                            .which = number.marks,
                                            .value = number.value});
}

eg_scalar eg_scalar_number(eg_proof *p, double value) {
  return eg_scalar_marked(p, (eg_number){.value = value});
}

eg_scalar eg_scalar_rounded(eg_proof *p, double value) {
  return eg_scalar_marked(p, (eg_number){.value = value, .marks = EG_NUMBER_ROUNDED});
}

bool eg_scalar_is_finite(eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  if (n->is_finite || !n->is_ordinary) return n->is_finite;
  if (eg_scalar_is_call(p, s, EG_OP_RECIPROCAL)) {
    const eg_scalar_node *size = eg_scalar_at(p, n->kids[0]);
    return size->kind == EG_SCALAR_SIZE && eg_is_nonzero(p, size->which);
  }
  bool all = n->kind == EG_SCALAR_SUM || n->kind == EG_SCALAR_PRODUCT;
  for (uint32_t i = 0; i < n->count && all; i++)
    all = eg_scalar_is_finite(p, n->kids[i]);
  return all;
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
  return n->kind == EG_SCALAR_NUMBER && n->value == value &&
         (!p->is_exact || signbit(n->value) == signbit(value));
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

static eg_scalar rebuild(eg_proof *p, eg_scalar s) {
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
  case EG_SCALAR_SUM: return eg_scalar_each(p, s, simple_of, NULL);
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
  case EG_SCALAR_CALL: return rebuild_call(p, n);
  }
  return 0;
}

eg_scalar eg_scalar_simple(eg_proof *p, eg_scalar s) {
  if (s < p->simple.len && p->simple.data[s].version == p->version)
    return p->simple.data[s].result;
  uint32_t version = p->version;
  eg_domain before = p->domain;
  if (is_compound(eg_scalar_at(p, s)->kind)) p->domain = eg_scalar_at(p, s)->domain;
  eg_scalar result = rebuild(p, s);
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
