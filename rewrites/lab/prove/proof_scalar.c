// Stores each scalar (element of a tensor as an expression) once; computes with
// constants, exact or marked as rounded, and with maxima and minima.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_scalar.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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

bool eg_scalar_is_compound(eg_scalar_kind kind) {
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

// True for operators whose results have the magnitude of an operand.
static bool keeps_size(uint32_t op) {
  static const eg_op ops[] = {EG_OP_ABS,  EG_OP_MAX,        EG_OP_MIN, EG_OP_NEG,
                              EG_OP_SQRT, EG_OP_RECIPROCAL, EG_OP_ADD, EG_OP_MUL};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (op == (uint32_t)ops[i]) return true;
  return false;
}

// Derives the marks of a scalar (finite, ...) from its operands. The first kids of TOTAL
// and CHOICE are integers.
static void find_marks(const eg_proof *p, eg_scalar_node *n) {
  bool is_sum = n->kind == EG_SCALAR_SUM;
  n->is_ordinary = (n->kind != EG_SCALAR_NUMBER && !is_sum) || isfinite(n->value);
  n->is_finite = eg_scalar_is_compound(n->kind) ? n->is_ordinary : is_finite_leaf(p, n);
  n->is_tame = n->kind != EG_SCALAR_CALL || keeps_size(n->which);
  n->is_of_weights =
      n->is_finite && (n->kind == EG_SCALAR_READ || n->kind == EG_SCALAR_FLAT);
  if (!eg_scalar_is_compound(n->kind)) return;
  uint32_t first = n->kind == EG_SCALAR_TOTAL ? 2 : n->kind == EG_SCALAR_CHOICE ? 1 : 0;
  for (uint32_t i = first; i < n->count; i++) {
    const eg_scalar_node *kid = eg_scalar_at(p, n->kids[i]);
    n->is_finite = n->is_finite && kid->is_finite;
    n->is_ordinary = n->is_ordinary && kid->is_ordinary;
    n->is_tame = n->is_tame && kid->is_tame;
    n->is_of_weights = n->is_of_weights || kid->is_of_weights;
  }
  // Operators that can make an infinity or NaN of finite numbers. Results of weights are
  // folded and known to be finite.
  static const bool HAS_POLE[EG_OP_COUNT] = {
      [EG_OP_DIV] = true,   [EG_OP_MOD] = true,  [EG_OP_RECIPROCAL] = true,
      [EG_OP_RSQRT] = true, [EG_OP_SQRT] = true, [EG_OP_LOG] = true,
      [EG_OP_POW] = true};
  if (n->kind == EG_SCALAR_CALL && HAS_POLE[n->which] && !n->is_of_weights)
    n->is_finite = false;
  // Adding a nonzero number to a sum hides subnormal numbers.
  if (is_sum && n->value != 0) n->is_tame = true;
}

eg_scalar eg_scalar_make(eg_proof *p, eg_scalar_node node) {
  eg_proof_step(p);
  node.domain = eg_scalar_is_compound(node.kind) ? p->domain : EG_DOMAIN_ANY;
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
  eg_proof_need(p, eg_scalar_nodes_push(&p->scalars, own));
  *head = made;
  return made;
}

eg_scalar eg_scalar_marked(eg_proof *p, eg_number number) {
  if (number.value == 0 && !p->is_exact) number.value = 0; // both zeros are the same
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

// ---- constants ------------------------------------------------------------------

// Below LEAST, the rounding error of a product may be lost.
enum { SMALLEST_INTEGER = 127 }; // the largest number that every integer type has
static const double TOLERANCE = 4e-15, LEAST = 1e-290;

bool eg_numbers_agree(const eg_proof *p, double a, double b, uint32_t marks) {
  if (isnan(a) && isnan(b)) return true;
  if (a == b) return !p->is_exact || signbit(a) == signbit(b);
  if ((marks & EG_NUMBER_ROUNDED) == 0 || !isfinite(a) || !isfinite(b)) return false;
  return fabs(a - b) <= fmax(fabs(a), fabs(b)) * TOLERANCE;
}

bool eg_number_is_plain(double value) {
  if (value == 0 || !isfinite(value)) return true;
  int exponent; // bfloat16 has 8 bits, the range of float16 is the smallest
  double bits = ldexp(frexp(fabs(value), &exponent), 8);
  return bits == floor(bits) && exponent > -14 && exponent <= 15;
}

// Finishes a number computed from a and b with the rounding error `error`. `is_lost`: the
// number is out of range, and the proof is given up.
static eg_number settled(eg_proof *p, eg_number a, eg_number b, double value,
                         double error, bool is_lost) {
  uint32_t marks = a.marks | b.marks;
  if (!isfinite(a.value) || !isfinite(b.value))
    return (eg_number){.value = value, .marks = marks};
  if (is_lost || !isfinite(value) || (value != 0 && fabs(value) < LEAST))
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "constants that leave the range of numbers");
  if (error != 0) marks |= EG_NUMBER_ROUNDED;
  if (p->domain != EG_DOMAIN_REAL) {
    if (error != 0 || value != floor(value))
      eg_proof_leave(p, EG_PROOF_GIVEN_UP, "constants that integers do not have");
    if (value < 0 || value > SMALLEST_INTEGER) marks |= EG_NUMBER_WRAPS;
  }
  return (eg_number){.value = value, .marks = marks};
}

// Computes the rounding error of the sum (Knuth): the parts of a and b that the rounded
// sum lacks.
eg_number eg_number_add(eg_proof *p, eg_number a, eg_number b) {
  double sum = a.value + b.value, part = sum - a.value;
  return settled(p, a, b, sum, (a.value - (sum - part)) + (b.value - part), false);
}

eg_number eg_number_mul(eg_proof *p, eg_number a, eg_number b) {
  double product = a.value * b.value;
  return settled(p, a, b, product, fma(a.value, b.value, -product),
                 product == 0 && a.value != 0 && b.value != 0);
}

eg_number eg_number_over(eg_proof *p, eg_number a, eg_number b) {
  double quotient = a.value / b.value;
  return settled(p, a, b, quotient, fma(quotient, b.value, -a.value),
                 b.value == 0 || (quotient == 0 && a.value != 0));
}

// ---- the lattice ----------------------------------------------------------------

// Removes a member of a maximum that another member covers, unless a NaN is lost with it.

bool eg_is_without_nan(const eg_proof *p) {
  return p->laws.is_fast || p->domain == EG_DOMAIN_WHOLE;
}

// True when the value is always 0 or 1.
static bool is_truth(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  if (n->kind != EG_SCALAR_CALL) return false;
  if (n->which == EG_OP_MAX || n->which == EG_OP_MIN) {
    bool all = true;
    for (uint32_t i = 0; i < n->count; i++)
      all = all && is_truth(p, n->kids[i]);
    return all;
  }
  unsigned flags = eg_op_info_of((eg_op)n->which)->flags;
  return (flags & EG_OPF_PREDICATE) != 0 || n->which == EG_OP_NOT;
}

bool eg_scalar_is_bound(const eg_proof *p, eg_scalar s, double *out) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  if (eg_scalar_is_call(p, s, EG_OP_FILL)) n = eg_scalar_at(p, n->kids[0]);
  *out = n->value;
  return n->kind == EG_SCALAR_NUMBER && (n->which & EG_NUMBER_WRAPS) == 0;
}

bool eg_scalar_not_above(eg_proof *p, eg_scalar low, eg_scalar high) {
  double a, b;
  if (low == high) return true;
  if (eg_scalar_is_bound(p, low, &a) && eg_scalar_is_bound(p, high, &b)) return a <= b;
  if (eg_scalar_is_number(p, low, -(double)INFINITY)) return true;
  if (eg_scalar_is_number(p, high, (double)INFINITY)) return true;
  if (eg_scalar_is_number(p, low, 0) && is_truth(p, high)) return true;
  if (eg_scalar_is_number(p, high, 1) && is_truth(p, low)) return true;
  for (size_t i = 0; i < p->orders.len; i++)
    if (p->orders.data[i].low == low && p->orders.data[i].high == high) return true;
  return false;
}

eg_members eg_scalar_members(const eg_proof *p, eg_op op, eg_scalar s) {
  eg_members m = {.list = {s}, .count = 1};
  if (!eg_scalar_is_call(p, s, op)) return m;
  const eg_scalar_node *n = eg_scalar_at(p, s);
  m.count = n->count;
  memcpy(m.list, n->kids, n->count * sizeof *m.list);
  return m;
}

// True when minimum a is never above minimum b (or, for op MIN, maximum a never below b).
static bool is_covered(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b) {
  eg_op inner = op == EG_OP_MAX ? EG_OP_MIN : EG_OP_MAX;
  eg_members of_a = eg_scalar_members(p, inner, a), of_b = eg_scalar_members(p, inner, b);
  for (uint32_t i = 0; i < of_b.count; i++) {
    bool found = false;
    for (uint32_t k = 0; k < of_a.count && !found; k++)
      found = op == EG_OP_MAX ? eg_scalar_not_above(p, of_a.list[k], of_b.list[i])
                              : eg_scalar_not_above(p, of_b.list[i], of_a.list[k]);
    if (!found) return false;
  }
  return true;
}

static bool is_no_nan(const eg_proof *p, eg_scalar s) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  double bound;
  if (eg_scalar_is_bound(p, s, &bound)) return !isnan(bound);
  if (n->kind == EG_SCALAR_REAL && n->which < 64 &&
      (p->ordered_reals >> n->which & 1) != 0)
    return true;
  bool found = n->kind == EG_SCALAR_SIZE;
  for (size_t i = 0; i < p->orders.len && !found; i++)
    found = p->orders.data[i].low == s || p->orders.data[i].high == s;
  return found;
}

static bool has_item(const eg_proof *p, eg_op inner, eg_scalar member, eg_scalar item) {
  eg_members in = eg_scalar_members(p, inner, member);
  for (uint32_t i = 0; i < in.count; i++)
    if (in.list[i] == item) return true;
  return false;
}

// True when each operand of a removed member that may be NaN is also part of another
// member of the maximum.
static bool keeps_nan(const eg_proof *p, eg_op op, eg_scalar left_out,
                      const eg_members *m) {
  eg_op inner = op == EG_OP_MAX ? EG_OP_MIN : EG_OP_MAX;
  eg_members of = eg_scalar_members(p, inner, left_out);
  if (eg_is_without_nan(p)) return true;
  for (uint32_t i = 0; i < of.count; i++) {
    bool found = is_no_nan(p, of.list[i]);
    for (uint32_t k = 0; k < m->count && !found; k++)
      found = m->list[k] != left_out && has_item(p, inner, m->list[k], of.list[i]);
    if (!found) return false;
  }
  return true;
}

static bool is_needless(eg_proof *p, eg_op op, const eg_members *m, eg_scalar s) {
  for (uint32_t i = 0; i < m->count; i++)
    if (m->list[i] != s && is_covered(p, op, s, m->list[i]))
      return keeps_nan(p, op, s, m);
  return false;
}

static void remove_member(eg_members *m, uint32_t at) {
  assert(at < m->count);
  m->count--;
  memmove(m->list + at, m->list + at + 1, (m->count - at) * sizeof *m->list);
}

static void add_member(eg_proof *p, eg_op op, eg_members *m, eg_scalar s) {
  for (uint32_t i = 0; i < m->count; i++)
    if (m->list[i] == s) return;
  if (m->count == EG_MOST_MEMBERS)
    eg_proof_leave(p, EG_PROOF_GIVEN_UP, "maxima become too long");
  uint32_t at = m->count++;
  for (; at > 0 && m->list[at - 1] > s; at--)
    m->list[at] = m->list[at - 1];
  m->list[at] = s;
  if (is_needless(p, op, m, s)) {
    remove_member(m, at);
    return;
  }
  for (uint32_t i = 0; i < m->count;)
    if (m->list[i] != s && is_covered(p, op, m->list[i], s) &&
        keeps_nan(p, op, m->list[i], m))
      remove_member(m, i);
    else
      i++;
}

eg_scalar eg_scalar_join(eg_proof *p, eg_op op, const eg_members *m) {
  assert(m->count != 0);
  if (m->count == 1) return m->list[0];
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_CALL,
                                            .which = (uint32_t)op,
                                            .count = m->count,
                                            .kids = m->list});
}

// Computes a maximum of minima: minima distribute over maxima.
eg_scalar eg_scalar_extreme(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b) {
  eg_members made = {.count = 0};
  eg_members of_a = eg_scalar_members(p, EG_OP_MAX, a),
             of_b = eg_scalar_members(p, EG_OP_MAX, b);
  if (op == EG_OP_MAX) {
    for (uint32_t i = 0; i < of_a.count; i++)
      add_member(p, op, &made, of_a.list[i]);
    for (uint32_t i = 0; i < of_b.count; i++)
      add_member(p, op, &made, of_b.list[i]);
    return eg_scalar_join(p, op, &made);
  }
  for (uint32_t i = 0; i < of_a.count; i++)
    for (uint32_t k = 0; k < of_b.count; k++) {
      eg_members least = {.count = 0};
      eg_members x = eg_scalar_members(p, EG_OP_MIN, of_a.list[i]),
                 y = eg_scalar_members(p, EG_OP_MIN, of_b.list[k]);
      for (uint32_t j = 0; j < x.count; j++)
        add_member(p, EG_OP_MIN, &least, x.list[j]);
      for (uint32_t j = 0; j < y.count; j++)
        add_member(p, EG_OP_MIN, &least, y.list[j]);
      add_member(p, EG_OP_MAX, &made, eg_scalar_join(p, EG_OP_MIN, &least));
    }
  return eg_scalar_join(p, EG_OP_MAX, &made);
}
