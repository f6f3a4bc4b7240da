// Elements of reductions, softmax and normalizations.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/prove/proof_case.h"

static eg_scalar call1(eg_case *c, eg_op op, eg_scalar x) {
  return eg_scalar_call(c->p, op, &x, 1, EG_DOMAIN_REAL);
}
static eg_scalar call2(eg_case *c, eg_op op, eg_scalar x, eg_scalar y) {
  return eg_scalar_call(c->p, op, (eg_scalar[]){x, y}, 2, EG_DOMAIN_REAL);
}

// ---- reductions -------------------------------------------------------------------

void eg_type_reduce(eg_case *c, uint32_t term) { // all have the same first slots
  const eg_shape *x = eg_kid_shape(c, term, 0);
  uint32_t bits = eg_slot_axes(c, term, EG_SLOT(REDUCE_SUM, AXES), x->rank);
  bool keep = eg_slot_flag(c, term, EG_SLOT(REDUCE_SUM, KEEPDIMS));
  if (eg_case_term(c, term)->op == EG_OP_REDUCE_MEAN &&
      !eg_scalar_is_number(c->p, eg_slot_scalar(c, term, EG_SLOT(REDUCE_MEAN, COUNT)), 0))
    eg_case_give_up(c, "%s of a part", "reduce-mean");
  eg_shape shape = {.rank = 0};
  for (uint32_t i = 0; i < x->rank; i++) {
    bool reduced = (bits >> i & 1) != 0;
    if (!reduced || keep) shape.dims[shape.rank++] = reduced ? eg_one(c) : x->dims[i];
  }
  c->shapes[term] = shape;
}

static eg_fold fold_of(eg_op op) {
  switch ((int)op) {
  case EG_OP_REDUCE_MAX: return EG_FOLD_MAX;
  case EG_OP_REDUCE_MIN: return EG_FOLD_MIN;
  case EG_OP_REDUCE_PROD: return EG_FOLD_PRODUCT;
  default: return EG_FOLD_SUM;
  }
}

eg_scalar eg_case_folded(eg_case *c, uint32_t kid, uint32_t bits, const eg_poly *at,
                         eg_fold fold, eg_poly *out_count,
                         eg_scalar (*of)(eg_case *c, eg_scalar x)) {
  const eg_shape *x = &c->shapes[kid];
  eg_loop loops[EGRAPH_MAX_RANK];
  eg_poly place[EGRAPH_MAX_RANK];
  *out_count = eg_one(c);
  for (uint32_t i = 0; i < x->rank; i++) {
    place[i] = at[i];
    if ((bits >> i & 1) == 0) continue;
    eg_poly size = eg_poly_canonical(c->p, x->dims[i]);
    loops[i] = eg_loop_begin(c, size);
    place[i] = loops[i].index;
    *out_count = eg_poly_mul(c->p, *out_count, size);
  }
  eg_scalar made = eg_case_element(c, kid, place);
  if (of != NULL) made = of(c, made);
  for (uint32_t i = x->rank; i-- > 0;)
    if ((bits >> i & 1) != 0) made = eg_loop_end(c, &loops[i], fold, made);
  return made;
}

eg_scalar eg_case_reduced(eg_case *c, eg_op op, eg_scalar fold, eg_poly inner) {
  eg_scalar apart = eg_scalar_size(c->p, eg_poly_canonical(c->p, inner));
  return eg_scalar_opaque(c->p, op, (eg_scalar[]){fold, apart}, 2);
}

// Returns the product of the dimensions after the last axis in `bits`.
static eg_poly inner_of(eg_case *c, const eg_shape *x, uint32_t bits) {
  eg_poly inner = eg_one(c);
  for (uint32_t i = x->rank; i-- > 0 && (bits >> i & 1) == 0;)
    inner = eg_poly_mul(c->p, inner, x->dims[i]);
  return inner;
}

eg_scalar eg_element_reduce(eg_case *c, uint32_t term, const eg_poly *at) {
  const eg_rule_term *t = eg_case_term(c, term);
  uint32_t kid = eg_kid(c, term, 0), rank = c->shapes[kid].rank;
  uint32_t bits = eg_slot_axes(c, term, EG_SLOT(REDUCE_SUM, AXES), rank);
  bool keep = eg_slot_flag(c, term, EG_SLOT(REDUCE_SUM, KEEPDIMS));
  eg_poly place[EGRAPH_MAX_RANK], count;
  for (uint32_t i = 0, k = 0; i < rank; i++) {
    bool reduced = (bits >> i & 1) != 0;
    place[i] = reduced ? 0 : at[keep ? i : k++];
  }
  bool is_wide = t->op == EG_OP_REDUCE_MEAN && !eg_kind_is_real(c, c->kinds[term]);
  eg_fold fold = is_wide ? EG_FOLD_WIDE : fold_of(t->op);
  eg_scalar made = eg_case_folded(c, kid, bits, place, fold, &count, NULL);
  bool adds = fold != EG_FOLD_MAX && fold != EG_FOLD_MIN;
  if (adds && eg_case_is_bitwise(c))
    return eg_case_reduced(c, t->op, made, inner_of(c, &c->shapes[kid], bits));
  if (t->op != EG_OP_REDUCE_MEAN) return made;
  return eg_scalar_call(c->p, EG_OP_DIV, (eg_scalar[]){made, eg_scalar_size(c->p, count)},
                        2, eg_kind_domain(c, c->kinds[term]));
}

// ---- softmax ----------------------------------------------------------------------

void eg_type_softmax(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  if (x->rank == 0) eg_case_vacuous(c);
  (void)eg_slot_axis(c, term, EG_SLOT(SOFTMAX, AXIS), x->rank);
  c->shapes[term] = *x;
}

static eg_scalar exponential(eg_case *c, eg_scalar x) { return call1(c, EG_OP_EXP, x); }

/// Larger numbers added to a row of a softmax could round its elements away.
#define LARGEST_SHIFT 1e3

// True when s is the fold over a row (elements by `index`) whose element is x.
static bool is_of_row(eg_proof *p, eg_scalar s, eg_fold fold, eg_poly index, eg_poly size,
                      eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, s);
  return n->kind == EG_SCALAR_TOTAL && n->which == fold &&
         !eg_scalar_has(p, s, eg_poly_symbol_of(p, index)) &&
         eg_is_zero(p, eg_poly_sub(p, n->kids[1], size)) &&
         eg_scalar_rename(p, n->kids[2], n->kids[0], index) == x;
}

// Removes the row's largest element, or a number, that is subtracted from every element
// of a softmax: the softmax stays the same. If the row has NaN, infinite numbers, or only
// -inf, both results are NaN.
static eg_scalar unshifted(eg_case *c, eg_scalar x, eg_poly index, eg_poly size) {
  eg_proof *p = c->p;
  const eg_scalar_node *n = eg_scalar_at(p, x);
  if (n->kind != EG_SCALAR_SUM || n->count != 2 || n->value != 0) return x;
  for (uint32_t i = 0; i < 2; i++) {
    eg_scalar own = n->kids[i], other = n->kids[1 - i];
    if (n->factors[i] != 1 || !eg_scalar_has(p, own, eg_poly_symbol_of(p, index)))
      continue;
    bool is_minus = n->factors[1 - i] == -1, is_plus = n->factors[1 - i] == 1;
    bool is_shift = eg_scalar_at(p, other)->kind == EG_SCALAR_REAL &&
                    eg_scalar_not_above(p, eg_scalar_number(p, -LARGEST_SHIFT), other) &&
                    eg_scalar_not_above(p, other, eg_scalar_number(p, LARGEST_SHIFT));
    if ((is_plus || is_minus) && is_shift) return own;
    if (is_minus && is_of_row(p, other, EG_FOLD_MAX, index, size, own)) return own;
  }
  return x;
}

static eg_scalar softmax_of(eg_case *c, eg_op op, uint32_t kid, uint32_t axis,
                            const eg_poly *at) {
  eg_poly place[EGRAPH_MAX_RANK],
      size = eg_poly_canonical(c->p, c->shapes[kid].dims[axis]);
  memcpy(place, at, c->shapes[kid].rank * sizeof *at);
  eg_loop loop = eg_loop_begin(c, size);
  place[axis] = loop.index;
  eg_scalar row = unshifted(c, eg_case_element(c, kid, place), loop.index, size);
  eg_scalar sum = eg_loop_end(c, &loop, EG_FOLD_SUM, exponential(c, row));
  eg_scalar x =
      eg_scalar_rename(c->p, row, eg_poly_symbol_of(c->p, loop.index), at[axis]);
  return eg_scalar_opaque(c->p, op, (eg_scalar[]){x, sum}, 2);
}

eg_scalar eg_element_softmax(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_op op = eg_case_term(c, term)->op;
  uint32_t kid = eg_kid(c, term, 0);
  uint32_t axis = eg_slot_axis(c, term, EG_SLOT(SOFTMAX, AXIS), c->shapes[kid].rank);
  if (!c->p->laws.is_fast && !eg_case_is_bitwise(c))
    return softmax_of(c, op, kid, axis, at);
  eg_poly count;
  eg_scalar x = eg_case_element(c, kid, at);
  eg_scalar sum =
      eg_case_folded(c, kid, UINT32_C(1) << axis, at, EG_FOLD_SUM, &count, exponential);
  // An opaque function of an element and its row: the formula can leave the range.
  if (eg_case_is_bitwise(c))
    sum = eg_case_reduced(c, op, sum, inner_of(c, &c->shapes[kid], UINT32_C(1) << axis));
  if (!c->p->laws.is_fast) return eg_scalar_opaque(c->p, op, (eg_scalar[]){x, sum}, 2);
  if (op == EG_OP_SOFTMAX) return call2(c, EG_OP_DIV, exponential(c, x), sum);
  return call2(c, EG_OP_SUB, x, call1(c, EG_OP_LOG, sum));
}

// ---- normalizations ---------------------------------------------------------------

void eg_type_batch_norm(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  if (x->rank < 2) eg_case_vacuous(c);
  for (uint32_t i = 1; i < eg_case_term(c, term)->child_count; i++) {
    const eg_shape *vector = eg_kid_shape(c, term, i);
    if (vector->rank != 1) eg_case_vacuous(c);
    eg_case_need_equal(c, vector->dims[0], x->dims[1]);
    eg_kid_equate(c, term, i);
  }
  (void)eg_slot_scalar(c, term, EG_SLOT(BATCH_NORM, EPSILON));
  c->shapes[term] = *x;
}

// Computes (x - mean) scale / sqrt(variance + epsilon) + bias.
eg_scalar eg_element_batch_norm(eg_case *c, uint32_t term, const eg_poly *at) {
  if (c->p->is_exact) eg_case_give_up(c, "%s in class exact", "a normalization");
  eg_scalar x = eg_case_element(c, eg_kid(c, term, 0), at), per_channel[5];
  for (uint32_t i = 1; i < 5; i++)
    per_channel[i] = eg_case_element(c, eg_kid(c, term, i), &at[1]);
  eg_scalar epsilon = eg_slot_scalar(c, term, EG_SLOT(BATCH_NORM, EPSILON));
  eg_scalar root = call1(c, EG_OP_RSQRT, call2(c, EG_OP_ADD, per_channel[4], epsilon));
  eg_scalar scale = call2(c, EG_OP_MUL, per_channel[1], root);
  eg_scalar centred = call2(c, EG_OP_SUB, x, per_channel[3]);
  return call2(c, EG_OP_ADD, call2(c, EG_OP_MUL, centred, scale), per_channel[2]);
}

void eg_type_layer_norm(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  if (x->rank == 0) eg_case_vacuous(c);
  uint32_t axis = eg_slot_axis(c, term, EG_SLOT(LAYER_NORM, AXIS), x->rank);
  for (uint32_t i = 1; i < eg_case_term(c, term)->child_count; i++) {
    const eg_shape *own = eg_kid_shape(c, term, i);
    if (own->rank != x->rank - axis) eg_case_vacuous(c);
    for (uint32_t k = 0; k < own->rank; k++)
      eg_case_need_equal(c, own->dims[k], x->dims[k + axis]);
    eg_kid_equate(c, term, i);
  }
  (void)eg_slot_scalar(c, term, EG_SLOT(LAYER_NORM, EPSILON));
  c->shapes[term] = *x;
}

static eg_scalar squared(eg_case *c, eg_scalar x) { return call2(c, EG_OP_MUL, x, x); }

// Computes the variance as the mean of squares minus the square of the mean, which is
// exact for real numbers.
eg_scalar eg_element_layer_norm(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  if (p->is_exact) eg_case_give_up(c, "%s in class exact", "a normalization");
  uint32_t kid = eg_kid(c, term, 0), rank = c->shapes[kid].rank;
  uint32_t axis = eg_slot_axis(c, term, EG_SLOT(LAYER_NORM, AXIS), rank);
  uint32_t bits = ((UINT32_C(1) << rank) - 1) & ~((UINT32_C(1) << axis) - 1);
  eg_poly count;
  eg_scalar x = eg_case_element(c, kid, at);
  eg_scalar squares = eg_case_folded(c, kid, bits, at, EG_FOLD_SUM, &count, squared);
  eg_scalar of_all = call1(c, EG_OP_RECIPROCAL, eg_scalar_size(p, count));
  eg_scalar variance = call2(c, EG_OP_MUL, squares, of_all), centred = x;
  if (eg_case_term(c, term)->op == EG_OP_LAYER_NORM) {
    eg_scalar sum = eg_case_folded(c, kid, bits, at, EG_FOLD_SUM, &count, NULL);
    eg_scalar mean = call2(c, EG_OP_MUL, sum, of_all);
    centred = call2(c, EG_OP_SUB, x, mean);
    variance = call2(c, EG_OP_SUB, variance, squared(c, mean));
  }
  eg_scalar epsilon = eg_slot_scalar(c, term, EG_SLOT(LAYER_NORM, EPSILON));
  eg_scalar root = call1(c, EG_OP_RSQRT, call2(c, EG_OP_ADD, variance, epsilon));
  eg_scalar made = call2(c, EG_OP_MUL, centred, root);
  for (uint32_t i = 1; i < eg_case_term(c, term)->child_count; i++) {
    eg_scalar own = eg_case_element(c, eg_kid(c, term, i), &at[axis]);
    made = call2(c, i == 1 ? EG_OP_MUL : EG_OP_ADD, made, own);
  }
  return made;
}
