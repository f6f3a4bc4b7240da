// Sums of scalars with factors.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "rewrites/lab/prove/proof_scalar.h"

enum { KIDS = 64 };

/// A sum in the making.
typedef struct draft {
  uint32_t kids[KIDS];
  double factors[KIDS];
  uint32_t count;
  eg_number constant;
  uint32_t marks; // of factors
} draft;

static draft *new_draft(eg_proof *p) { return eg_proof_memory(p, 1, sizeof(draft)); }

// s - s = 0: of integers, of what is known to be finite, or where the laws say so.
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

// One that is neither a number nor a sum. What does not cancel stands twice, with the
// positive factor first.
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

// The factor is finite, and not 0.
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

eg_scalar eg_scalar_each(eg_proof *p, eg_scalar sum,
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

eg_scalar eg_scalar_primitive(eg_proof *p, eg_scalar sum, eg_number *out) {
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
