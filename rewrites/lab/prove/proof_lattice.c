// Maxima and minima: a distributive lattice. A member that others make needless is left
// out where no NaN is lost with it.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "rewrites/lab/prove/proof_scalar.h"

static bool is_number(const eg_proof *p, eg_scalar s) {
  return eg_scalar_at(p, s)->kind == EG_SCALAR_NUMBER;
}

static double number_of(const eg_proof *p, eg_scalar s) {
  return eg_scalar_at(p, s)->value;
}

bool eg_is_without_nan(const eg_proof *p) {
  return p->laws.is_fast || p->domain == EG_DOMAIN_WHOLE;
}

// 0 or 1, whatever the operands.
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
  if (is_number(p, low) && number_of(p, low) == -(double)INFINITY) return true;
  if (is_number(p, high) && number_of(p, high) == (double)INFINITY) return true;
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

// Whether minimum a is never above minimum b (or, for op MIN, maximum a never below b).
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

// Whether all that may be NaN in a member that is left out is in one of the others.
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
  if (m->count == 1) return m->list[0];
  return eg_scalar_make(p, (eg_scalar_node){.kind = EG_SCALAR_CALL,
                                            .which = (uint32_t)op,
                                            .count = m->count,
                                            .kids = m->list});
}

// Maxima of minima: minima distribute over maxima.
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
