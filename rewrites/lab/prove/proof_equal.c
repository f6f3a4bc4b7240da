// Decides whether two scalars (tensor elements as expressions) are equal, in every branch
// of conditions that the facts do not decide.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_scalar.h"

#include <math.h>

enum { MEMBERS = 64, NESTED = 12, BRANCHES = 40, SIZES = 6 };

// ---- what is still open -----------------------------------------------------------

// Finds a condition in s, outside of sums over an index, that the facts do not decide, or
// returns EG_PROOF_NONE.
static eg_poly open_condition(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  if (n->kind == EG_SCALAR_CHOICE) return n->kids[0];
  if (n->kind != EG_SCALAR_CALL && n->kind != EG_SCALAR_SUM &&
      n->kind != EG_SCALAR_PRODUCT)
    return EG_PROOF_NONE;
  for (uint32_t i = 0; i < n->count; i++) {
    eg_poly found = open_condition(p, n->kids[i]);
    if (found != EG_PROOF_NONE) return found;
  }
  return EG_PROOF_NONE;
}

// Finds a size in s that may be 1, where 1 changes which element is read.
static eg_poly open_size(eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  eg_poly found = EG_PROOF_NONE;
  switch ((int)n->kind) {
  case EG_SCALAR_READ:
    for (uint32_t i = 0; i < n->count && found == EG_PROOF_NONE; i++)
      found = eg_poly_undecided(p, n->kids[i]);
    return found;
  case EG_SCALAR_CALL:
  case EG_SCALAR_SUM:
  case EG_SCALAR_PRODUCT:
    for (uint32_t i = 0; i < n->count && found == EG_PROOF_NONE; i++)
      found = open_size(p, n->kids[i]);
    return found;
  case EG_SCALAR_TOTAL: return open_size(p, n->kids[2]);
  default: return EG_PROOF_NONE;
  }
}

// True when the difference is 0, both for sizes that are 1 and for larger sizes.
static bool is_nothing(eg_proof *p, eg_poly difference, uint32_t depth) {
  difference = eg_poly_canonical(p, difference);
  if (p->is_impossible || eg_is_zero(p, difference)) return true;
  eg_poly size = depth == 0 ? EG_PROOF_NONE : eg_poly_undecided(p, difference);
  if (size == EG_PROOF_NONE) return false;
  bool same = true;
  for (uint32_t stretched = 0; stretched < 2 && same; stretched++) {
    eg_branch branch = eg_branch_open(p);
    eg_poly n = eg_poly_sub(p, size, eg_poly_const(p, 1));
    (stretched == 0 ? eg_assume_nonzero : eg_assume_zero)(p, n);
    same = is_nothing(p, difference, depth - 1) || eg_facts_contradict(p);
    eg_branch_close(p, branch);
  }
  return same;
}

static bool same_integer(eg_proof *p, eg_poly a, eg_poly b) {
  eg_poly difference = eg_poly_canonical(p, eg_poly_sub(p, a, b));
  if (is_nothing(p, difference, SIZES)) return true;
  if (p->wish == EG_PROOF_NONE) p->wish = eg_poly_undecided(p, difference);
  return false;
}

// ---- the same in form -------------------------------------------------------------

static bool factors_agree(const eg_proof *p, const eg_scalar_node *a, uint32_t i,
                          const eg_scalar_node *b, uint32_t k) {
  return eg_numbers_agree(p, a->factors[i], b->factors[k], a->which | b->which);
}

static bool values_agree(const eg_proof *p, const eg_scalar_node *a,
                         const eg_scalar_node *b) {
  return eg_numbers_agree(p, a->value, b->value, a->which | b->which);
}

// Pairs each operand of a sum or product a with an equal operand of b.
static bool match_all(eg_proof *p, const eg_scalar_node *a, const eg_scalar_node *b) {
  bool used[MEMBERS] = {false}, done[MEMBERS] = {false};
  if (a->count != b->count || a->count > MEMBERS) return false;
  for (uint32_t i = 0; i < a->count; i++) // try identical operands first
    for (uint32_t k = 0; k < b->count && !done[i]; k++)
      if (!used[k] && a->kids[i] == b->kids[k] &&
          (a->factors == NULL || factors_agree(p, a, i, b, k)))
        done[i] = used[k] = true;
  for (uint32_t i = 0; i < a->count; i++) {
    bool found = done[i];
    for (uint32_t k = 0; k < b->count && !found; k++) {
      if (used[k]) continue;
      if (a->factors != NULL && !factors_agree(p, a, i, b, k)) continue;
      found = used[k] = eg_scalar_equal(p, a->kids[i], b->kids[k]);
    }
    if (!found) return false;
  }
  return true;
}

static bool match_each(eg_proof *p, const eg_scalar_node *a, const eg_scalar_node *b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!eg_scalar_equal(p, a->kids[i], b->kids[i])) return false;
  return true;
}

static eg_poly offset_of(eg_proof *p, const eg_scalar_node *n) {
  if (n->kind == EG_SCALAR_FLAT) return n->kids[0];
  eg_poly offset = eg_poly_const(p, 0);
  const eg_tensor_size *size = &p->tensors.data[n->which];
  for (uint32_t i = 0; i < n->count; i++)
    offset = eg_poly_add(p, eg_poly_mul(p, offset, size->dims[i]), n->kids[i]);
  return offset;
}

static bool match_reads(eg_proof *p, const eg_scalar_node *a, const eg_scalar_node *b) {
  if (a->which != b->which) return false;
  if (a->kind == EG_SCALAR_READ && b->kind == EG_SCALAR_READ) {
    bool same = true;
    for (uint32_t i = 0; i < a->count && same; i++)
      same = same_integer(p, a->kids[i], b->kids[i]);
    return same;
  }
  return same_integer(p, offset_of(p, a), offset_of(p, b));
}

/// Nested folds over indices, of one kind (sum, maximum); each is the body of
/// the previous.
typedef struct nest {
  uint32_t symbols[NESTED];
  eg_poly sizes[NESTED];
  uint32_t count;
  eg_scalar body;
} nest;

static nest nest_of(const eg_proof *p, eg_scalar s) {
  nest made = {.body = s};
  const eg_scalar_node *n = eg_scalar_at(p, s);
  uint32_t fold = n->which;
  while (n->kind == EG_SCALAR_TOTAL && n->which == fold && made.count < NESTED) {
    made.symbols[made.count] = n->kids[0];
    made.sizes[made.count++] = n->kids[1];
    made.body = n->kids[2];
    n = eg_scalar_at(p, made.body);
  }
  return made;
}

// Replaces index symbols of nested sums, those with bits in `known`, by `indices`. The
// symbols differ, and nothing within the sums binds them again.
static eg_branch put_indices(eg_proof *p, const nest *n, const eg_poly *indices,
                             uint32_t known) {
  eg_branch branch = eg_branch_open(p);
  for (uint32_t i = 0; i < n->count; i++)
    if ((known >> i & 1) != 0) eg_replace(p, n->symbols[i], indices[i]);
  return branch;
}

static eg_scalar body_at(eg_proof *p, const nest *n, const eg_poly *indices) {
  eg_branch branch = put_indices(p, n, indices, UINT32_MAX);
  eg_scalar made = eg_scalar_simple(p, n->body);
  eg_branch_close(p, branch);
  return made;
}

static eg_poly size_at(eg_proof *p, const nest *n, uint32_t i, const eg_poly *indices,
                       uint32_t known) {
  eg_branch branch = put_indices(p, n, indices, known);
  eg_poly made = eg_poly_canonical(p, n->sizes[i]);
  eg_branch_close(p, branch);
  return made;
}

/// The indices of two sets of nested sums: index k of one may correspond to any index of
/// the other.
typedef struct pairing {
  eg_poly a[NESTED], b[NESTED];
} pairing;

// Pairs the indices of nested sums a from `next` on with free indices of b, then compares
// the bodies of the sums.
static bool match_nests(eg_proof *p, const nest *a, const nest *b, pairing *at,
                        uint32_t next, uint32_t taken) {
  if (next == a->count)
    return eg_scalar_equal(p, body_at(p, a, at->a), body_at(p, b, at->b));
  eg_poly size = size_at(p, a, next, at->a, (UINT32_C(1) << next) - 1);
  for (uint32_t k = 0; k < b->count; k++) {
    if ((taken >> k & 1) != 0) continue;
    if (p->is_exact && k != next) continue;
    if (!same_integer(p, size, size_at(p, b, k, at->b, taken))) continue;
    eg_branch branch = eg_branch_open(p);
    eg_poly index = eg_poly_symbol(p, true);
    eg_assume_below(p, index, size);
    at->a[next] = at->b[k] = index;
    bool same = match_nests(p, a, b, at, next + 1, taken | UINT32_C(1) << k);
    eg_branch_close(p, branch);
    if (same) return true;
  }
  return false;
}

static bool match_totals(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (eg_scalar_at(p, a)->which != eg_scalar_at(p, b)->which) return false;
  nest x = nest_of(p, a), y = nest_of(p, b);
  pairing at;
  return x.count == y.count && match_nests(p, &x, &y, &at, 0, 0);
}

static bool match_calls(eg_proof *p, const eg_scalar_node *a, const eg_scalar_node *b) {
  if (a->which != b->which || a->domain != b->domain) return false;
  eg_laws_before before = eg_laws_narrow(p, eg_op_hides_infinity((eg_op)a->which));
  bool is_extreme = a->which == EG_OP_MAX || a->which == EG_OP_MIN;
  bool commutes = (eg_op_info_of((eg_op)a->which)->flags & EG_OPF_COMMUTES) != 0;
  bool is_unordered = commutes && !(p->is_exact && is_extreme);
  bool same = is_unordered ? match_all(p, a, b) : match_each(p, a, b);
  eg_laws_restore(p, before);
  return same;
}

static bool match(eg_proof *p, eg_scalar a, eg_scalar b) {
  const eg_scalar_node *x = eg_scalar_at(p, a), *y = eg_scalar_at(p, b);
  bool reads = (x->kind == EG_SCALAR_READ || x->kind == EG_SCALAR_FLAT) &&
               (y->kind == EG_SCALAR_READ || y->kind == EG_SCALAR_FLAT);
  if (reads) return match_reads(p, x, y);
  if (x->kind == EG_SCALAR_NUMBER && y->kind == EG_SCALAR_SIZE) return match(p, b, a);
  if (x->kind == EG_SCALAR_SIZE && y->kind == EG_SCALAR_NUMBER)
    return y->value == floor(y->value) && fabs(y->value) < EG_PROOF_FACTOR &&
           same_integer(p, x->which, eg_poly_const(p, (int64_t)y->value));
  if (x->kind != y->kind) return false;
  switch ((int)x->kind) {
  case EG_SCALAR_NUMBER: return values_agree(p, x, y);
  case EG_SCALAR_SIZE: return same_integer(p, x->which, y->which);
  case EG_SCALAR_CALL: return match_calls(p, x, y);
  case EG_SCALAR_SUM:
    return x->domain == y->domain && values_agree(p, x, y) && match_all(p, x, y);
  case EG_SCALAR_PRODUCT: return x->domain == y->domain && match_all(p, x, y);
  case EG_SCALAR_TOTAL: return match_totals(p, a, b);
  default: return false; // REAL, KEY: they are different; CHOICE: was split before
  }
}

// ---- branches ---------------------------------------------------------------------

static bool in_branch(eg_proof *p, eg_scalar a, eg_scalar b,
                      void (*assume)(eg_proof *p, eg_poly n), eg_poly n) {
  eg_branch branch = eg_branch_open(p);
  p->splits++;
  assume(p, n);
  bool same = p->is_impossible || eg_scalar_equal(p, a, b) || eg_facts_contradict(p);
  p->splits--;
  eg_branch_close(p, branch);
  return same;
}

bool eg_scalar_equal(eg_proof *p, eg_scalar a, eg_scalar b) {
  eg_proof_step(p);
  if (a == b) return true;
  a = eg_scalar_simple(p, a);
  b = eg_scalar_simple(p, b);
  if (a == b) return true;
  eg_poly condition = open_condition(p, a);
  if (condition == EG_PROOF_NONE) condition = open_condition(p, b);
  if (condition != EG_PROOF_NONE) {
    eg_poly otherwise = eg_poly_sub(p, eg_poly_const(p, -1), condition);
    return p->splits < BRANCHES && in_branch(p, a, b, eg_assume_natural, condition) &&
           in_branch(p, a, b, eg_assume_natural, otherwise);
  }
  eg_poly before = p->wish;
  p->wish = EG_PROOF_NONE;
  bool same = match(p, a, b);
  eg_poly wish = p->wish;
  p->wish = before;
  if (!same && wish == EG_PROOF_NONE) wish = open_size(p, a);
  if (!same && wish == EG_PROOF_NONE) wish = open_size(p, b);
  if (same || wish == EG_PROOF_NONE || p->splits >= BRANCHES) return same;
  eg_poly n = eg_poly_sub(p, wish, eg_poly_const(p, 1));
  return in_branch(p, a, b, eg_assume_zero, n) &&
         in_branch(p, a, b, eg_assume_nonzero, n);
}
