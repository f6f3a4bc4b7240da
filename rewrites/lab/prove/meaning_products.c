// Products, convolutions and pooling as sums and maxima over products of elements.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "ops/meaning.h"
#include "rewrites/lab/prove/proof_case.h"

static eg_scalar zero(eg_case *c) { return eg_scalar_number(c->p, 0); }

// ---- activations ------------------------------------------------------------------

static eg_scalar activated(eg_case *c, eg_scalar x, eg_scalar act, eg_scalar alpha,
                           eg_scalar beta, eg_domain domain) {
  eg_proof *p = c->p;
  if (eg_scalar_at(p, act)->kind != EG_SCALAR_NUMBER) // a function without laws
    return eg_scalar_opaque(p, EG_OP_OPAQUE, (eg_scalar[]){x, act, alpha, beta}, 4);
  eg_act which = (eg_act)eg_scalar_at(p, act)->value;
  if (which == EG_ACT_NONE) return x;
  const eg_op_info *info = eg_op_info_of(eg_act_operator(which));
  bool is_gelu = which == EG_ACT_GELU || which == EG_ACT_GELU_TANH;
  if (is_gelu) alpha = eg_scalar_number(p, which == EG_ACT_GELU_TANH);
  if ((info->flags & EG_OPF_FLOAT) != 0) domain = EG_DOMAIN_REAL;
  return eg_scalar_call(p, eg_act_operator(which), (eg_scalar[]){x, alpha, beta},
                        1 + info->attr_count, domain);
}

/// The addends of a result element of a kernel that starts at 0 and rounds once.
typedef struct summed {
  eg_scalar parts[8]; // the sum, then its addends
  uint32_t count;
} summed;

static void add_part(summed *s, eg_scalar part) { s->parts[s->count++] = part; }

// Returns the sum of the addends; when results must be equal bit by bit, an unknown
// function of the addends that is the same for all contractions.
static eg_scalar rounded(eg_case *c, const summed *s) {
  eg_scalar made = s->parts[0];
  if (eg_case_is_bitwise(c))
    return eg_scalar_opaque(c->p, EG_OP_MATMUL, s->parts, s->count);
  for (uint32_t i = 1; i < s->count; i++)
    made = eg_scalar_add(c->p, made, s->parts[i]);
  return made;
}

// Applies the fused activation, which comes before the result is rounded.
static eg_scalar with_activation(eg_case *c, uint32_t term, uint16_t act, summed *s) {
  eg_scalar number = eg_slot_scalar(c, term, act);
  if (eg_case_is_bitwise(c) && !eg_scalar_is_number(c->p, number, EG_ACT_NONE)) {
    for (uint16_t i = 0; i < 3; i++)
      add_part(s, eg_slot_scalar(c, term, (uint16_t)(act + i)));
    return eg_scalar_opaque(c->p, EG_OP_CONV, s->parts, s->count);
  }
  eg_scalar x = rounded(c, s);
  return activated(
      c, x, eg_slot_scalar(c, term, act), eg_slot_scalar(c, term, (uint16_t)(act + 1)),
      eg_slot_scalar(c, term, (uint16_t)(act + 2)), eg_kind_domain(c, c->kinds[term]));
}

// ---- matrix products --------------------------------------------------------------

/// The axes of rows, columns and the summed dimension in both operands of a product; -1:
/// the operand is a vector without that axis.
typedef struct product {
  int a_row, a_sum, b_sum, b_column;
  uint32_t a_batch, b_batch, batch;
} product;

/// Finds a matrix product's axes from its transposition flags: two slots from
/// `transposed` on.
static product product_axes(eg_case *c, uint32_t term, uint16_t transposed) {
  bool trans_a = eg_slot_flag(c, term, transposed);
  bool trans_b = eg_slot_flag(c, term, (uint16_t)(transposed + 1));
  int a = (int)eg_kid_shape(c, term, 0)->rank, b = (int)eg_kid_shape(c, term, 1)->rank;
  if (a < (trans_a ? 2 : 1) || b < (trans_b ? 2 : 1)) eg_case_vacuous(c);
  product m = {.a_row = -1, .a_sum = a - 1, .b_sum = b - 1, .b_column = -1};
  if (a >= 2) {
    m.a_row = trans_a ? a - 1 : a - 2;
    m.a_sum = trans_a ? a - 2 : a - 1;
    m.a_batch = (uint32_t)a - 2;
  }
  if (b >= 2) {
    m.b_column = trans_b ? b - 2 : b - 1;
    m.b_sum = trans_b ? b - 1 : b - 2;
    m.b_batch = (uint32_t)b - 2;
  }
  m.batch = m.a_batch > m.b_batch ? m.a_batch : m.b_batch;
  return m;
}

static void type_product(eg_case *c, uint32_t term, const product *m) {
  const eg_shape *a = eg_kid_shape(c, term, 0), *b = eg_kid_shape(c, term, 1);
  eg_kid_equate(c, term, 1);
  eg_case_need_equal(c, a->dims[m->a_sum], b->dims[m->b_sum]);
  eg_shape batch_a = *a, batch_b = *b; // the batch axes come first
  batch_a.rank = m->a_batch;
  batch_b.rank = m->b_batch;
  eg_shape shape = eg_shape_stretched(c, &batch_a, &batch_b);
  if (m->a_row >= 0) shape.dims[shape.rank++] = a->dims[m->a_row];
  if (m->b_column >= 0) shape.dims[shape.rank++] = b->dims[m->b_column];
  c->shapes[term] = shape;
}

static void type_addend(eg_case *c, uint32_t term, uint32_t i, bool whole) {
  const eg_shape *x = eg_kid_shape(c, term, i), *to = &c->shapes[term];
  eg_kid_equate(c, term, i);
  if (x->rank > to->rank || (whole && x->rank != to->rank)) eg_case_vacuous(c);
  for (uint32_t k = 0; k < x->rank; k++) {
    eg_poly target = to->dims[k + to->rank - x->rank];
    if (whole)
      eg_case_need_equal(c, x->dims[k], target);
    else
      eg_assume_pairing(c->p, x->dims[k], target, true);
  }
}

static eg_scalar element_product(eg_case *c, uint32_t term, const product *m,
                                 const eg_poly *at) {
  eg_proof *p = c->p;
  const eg_shape *a = eg_kid_shape(c, term, 0), *b = eg_kid_shape(c, term, 1);
  eg_poly x[EGRAPH_MAX_RANK], y[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < m->a_batch; i++)
    x[i] = eg_poly_at(p, at[i + m->batch - m->a_batch], eg_poly_canonical(p, a->dims[i]));
  for (uint32_t i = 0; i < m->b_batch; i++)
    y[i] = eg_poly_at(p, at[i + m->batch - m->b_batch], eg_poly_canonical(p, b->dims[i]));
  uint32_t next = m->batch;
  if (m->a_row >= 0) x[m->a_row] = at[next++];
  if (m->b_column >= 0) y[m->b_column] = at[next++];
  eg_loop loop = eg_loop_begin(c, eg_poly_canonical(p, a->dims[m->a_sum]));
  x[m->a_sum] = y[m->b_sum] = loop.index;
  eg_scalar left = eg_case_element(c, eg_kid(c, term, 0), x);
  eg_scalar right = eg_case_element(c, eg_kid(c, term, 1), y);
  return eg_loop_end(c, &loop, EG_FOLD_SUM, eg_scalar_mul(p, left, right));
}

void eg_type_matmul(eg_case *c, uint32_t term) {
  product m = product_axes(c, term, EG_SLOT(MATMUL, TRANS_A));
  for (uint16_t i = 0; i < 3; i++)
    (void)eg_slot_scalar(c, term, (uint16_t)(EG_SLOT(MATMUL, ACT) + i));
  type_product(c, term, &m);
  for (uint32_t i = 2; i < eg_case_term(c, term)->child_count; i++)
    type_addend(c, term, i, i == 3);
}

eg_scalar eg_element_matmul(eg_case *c, uint32_t term, const eg_poly *at) {
  product m = product_axes(c, term, EG_SLOT(MATMUL, TRANS_A));
  summed made = {.parts = {element_product(c, term, &m, at)}, .count = 1};
  for (uint32_t i = 2; i < eg_case_term(c, term)->child_count; i++)
    add_part(&made, eg_kid_element(c, term, i, at));
  return with_activation(c, term, EG_SLOT(MATMUL, ACT), &made);
}

void eg_type_gemm(eg_case *c, uint32_t term) {
  product m = product_axes(c, term, EG_SLOT(GEMM, TRANS_A));
  if (eg_kid_shape(c, term, 0)->rank != 2 || eg_kid_shape(c, term, 1)->rank != 2)
    eg_case_vacuous(c);
  (void)eg_slot_scalar(c, term, EG_SLOT(GEMM, ALPHA));
  (void)eg_slot_scalar(c, term, EG_SLOT(GEMM, BETA));
  type_product(c, term, &m);
  if (eg_case_term(c, term)->child_count == 3) type_addend(c, term, 2, false);
}

// Computes alpha a b + beta c.
eg_scalar eg_element_gemm(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  product m = product_axes(c, term, EG_SLOT(GEMM, TRANS_A));
  if (!eg_kind_is_real(c, c->kinds[term])) // alpha may be a fraction
    eg_case_give_up(c, "%s of integers", "gemm");
  if (eg_case_is_bitwise(c)) eg_case_give_up(c, "%s in class exact", "gemm");
  eg_scalar made = element_product(c, term, &m, at);
  made = eg_scalar_mul(p, eg_slot_scalar(c, term, EG_SLOT(GEMM, ALPHA)), made);
  if (eg_case_term(c, term)->child_count < 3) return made;
  eg_scalar more = eg_kid_element(c, term, 2, at);
  more = eg_scalar_mul(p, eg_slot_scalar(c, term, EG_SLOT(GEMM, BETA)), more);
  return eg_scalar_add(p, made, more);
}

// ---- einsum -----------------------------------------------------------------------

enum { LETTERS = 128, LABELS = 16 };

/// The dimension letters of an einsum's operands, then of its result.
typedef struct equation {
  char labels[LABELS][EGRAPH_MAX_RANK + 1];
  uint32_t count;
} equation;

static equation equation_of(eg_case *c, uint32_t term) {
  const eg_datum *v = eg_slot(c, term, EG_SLOT(EINSUM, EQUATION));
  if (v->kind != EG_DATUM_TEXT || strstr(v->text, "->") == NULL ||
      strchr(v->text, '.') != NULL)
    eg_case_give_up(c, "%s without a plain equation", "einsum");
  equation e = {.count = 1};
  uint32_t len = 0;
  for (const char *at = v->text; *at != '\0'; at++) {
    bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
    if (letter && len < EGRAPH_MAX_RANK) {
      e.labels[e.count - 1][len++] = *at;
    } else if (*at == ',' || *at == '-') {
      if (e.count == LABELS) eg_case_give_up(c, "%s of many operands", "einsum");
      e.count++;
      len = 0;
      if (*at == '-') at++;
    } else if (*at != ' ') {
      eg_case_give_up(c, "%s without a plain equation", "einsum");
    }
  }
  if (e.count != eg_case_term(c, term)->child_count + 1) eg_case_vacuous(c);
  return e;
}

static void sizes_of(eg_case *c, uint32_t term, const equation *e, eg_poly *sizes) {
  for (uint32_t i = 0; i < LETTERS; i++)
    sizes[i] = EG_PROOF_NONE;
  for (uint32_t i = 0; i + 1 < e->count; i++) {
    const eg_shape *x = eg_kid_shape(c, term, i);
    if (strlen(e->labels[i]) != x->rank) eg_case_vacuous(c);
    for (uint32_t k = 0; k < x->rank; k++) {
      eg_poly *size = &sizes[(unsigned char)e->labels[i][k]];
      if (*size != EG_PROOF_NONE) eg_case_need_equal(c, *size, x->dims[k]);
      *size = x->dims[k];
    }
  }
}

void eg_type_einsum(eg_case *c, uint32_t term) {
  equation e = equation_of(c, term);
  eg_poly sizes[LETTERS];
  for (uint32_t i = 1; i + 1 < e.count; i++)
    eg_kid_equate(c, term, i);
  sizes_of(c, term, &e, sizes);
  const char *result = e.labels[e.count - 1];
  eg_shape shape = {.rank = (uint32_t)strlen(result)};
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.dims[i] = sizes[(unsigned char)result[i]];
    if (shape.dims[i] == EG_PROOF_NONE) eg_case_vacuous(c);
  }
  c->shapes[term] = shape;
}

eg_scalar eg_element_einsum(eg_case *c, uint32_t term, const eg_poly *at) {
  equation e = equation_of(c, term);
  eg_poly sizes[LETTERS], index[LETTERS];
  eg_loop loops[LETTERS];
  uint32_t count = 0;
  bool known[LETTERS] = {false};
  sizes_of(c, term, &e, sizes);
  for (uint32_t i = 0; i < c->shapes[term].rank; i++) {
    uint32_t letter = (unsigned char)e.labels[e.count - 1][i];
    index[letter] = at[i];
    known[letter] = true;
  }
  for (uint32_t i = 0; i < LETTERS; i++) {
    if (sizes[i] == EG_PROOF_NONE || known[i]) continue;
    loops[count] = eg_loop_begin(c, eg_poly_canonical(c->p, sizes[i]));
    index[i] = loops[count++].index;
  }
  eg_scalar made = eg_scalar_number(c->p, 1);
  for (uint32_t i = 0; i + 1 < e.count; i++) {
    eg_poly place[EGRAPH_MAX_RANK];
    for (uint32_t k = 0; e.labels[i][k] != '\0'; k++)
      place[k] = index[(unsigned char)e.labels[i][k]];
    made = eg_scalar_mul(c->p, made, eg_case_element(c, eg_kid(c, term, i), place));
  }
  while (count-- > 0)
    made = eg_loop_end(c, &loops[count], EG_FOLD_SUM, made);
  return rounded(c, &(summed){.parts = {made}, .count = 1});
}

// ---- windows ----------------------------------------------------------------------

/// A convolution or pooling window over one spatial dimension.
typedef struct window {
  eg_poly size, kernel, stride, dilation, begin, end;
} window;

static eg_poly reach_of(eg_case *c, const window *w) {
  eg_poly last = eg_poly_mul(c->p, eg_poly_sub(c->p, w->kernel, eg_one(c)), w->dilation);
  return eg_poly_canonical(c->p, eg_poly_add(c->p, last, eg_one(c)));
}

// Counts the positions of a window like eg_window_positions: with ceil_mode the last
// window may extend beyond the end, but begins before the end padding.
static eg_poly positions(eg_case *c, const window *w, bool ceil_mode) {
  eg_proof *p = c->p;
  eg_poly padded = eg_poly_add(p, w->size, eg_poly_add(p, w->begin, w->end));
  eg_poly room = eg_poly_canonical(p, eg_poly_sub(p, padded, reach_of(c, w)));
  eg_case_need_natural(c, room);
  eg_poly stride = eg_poly_canonical(p, w->stride);
  eg_poly count = eg_poly_add(p, eg_poly_div(p, room, stride), eg_one(c));
  if (!ceil_mode) return count;
  eg_poly more = eg_poly_sub(p, eg_poly_add(p, room, stride), eg_one(c));
  eg_poly rounded = eg_poly_add(p, eg_poly_div(p, more, stride), eg_one(c));
  eg_poly last = eg_poly_sub(p, eg_poly_add(p, w->size, w->begin), eg_one(c));
  // If there is nothing before the end padding, the division in C would round
  // towards zero.
  if (!eg_is_natural(p, last)) eg_case_give_up(c, "%s over nothing", "ceil_mode");
  eg_poly most =
      eg_poly_add(p, eg_poly_div(p, eg_poly_canonical(p, last), stride), eg_one(c));
  eg_poly least = eg_poly_extreme(p, EG_SYMBOL_MIN, rounded, most);
  return eg_poly_extreme(p, EG_SYMBOL_MAX, count, least);
}

static eg_poly tap_place(eg_case *c, const window *w, eg_poly position, eg_poly tap) {
  eg_proof *p = c->p;
  eg_poly place = eg_poly_add(p, eg_poly_mul(p, position, w->stride),
                              eg_poly_mul(p, tap, w->dilation));
  return eg_poly_canonical(p, eg_poly_sub(p, place, w->begin));
}

// Reads the window of a pooling; max-pool and average-pool share their first slots.
static window window_of(eg_case *c, uint32_t term, uint32_t i) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  eg_op op = eg_case_term(c, term)->op;
  bool is_conv = op == EG_OP_CONV;
  uint16_t strides = is_conv ? EG_SLOT(CONV, STRIDES) : EG_SLOT(MAX_POOL, STRIDES);
  uint16_t dilations = is_conv ? EG_SLOT(CONV, DILATIONS) : EG_SLOT(MAX_POOL, DILATIONS);
  const eg_datum *pads =
      eg_slot(c, term, is_conv ? EG_SLOT(CONV, PADS) : EG_SLOT(MAX_POOL, PADS));
  return (window){
      .size = x->dims[i + 2],
      .kernel = is_conv ? eg_kid_shape(c, term, 1)->dims[i + 2]
                        : eg_slot(c, term, EG_SLOT(MAX_POOL, KERNEL_SHAPE))->list[i],
      .stride = eg_slot(c, term, strides)->list[i],
      .dilation =
          op == EG_OP_AVERAGE_POOL ? eg_one(c) : eg_slot(c, term, dilations)->list[i],
      .begin = pads->list[i],
      .end = pads->list[i + x->rank - 2]};
}

// ---- convolution ------------------------------------------------------------------

void eg_type_conv(eg_case *c, uint32_t term) {
  eg_proof *p = c->p;
  const eg_rule_term *t = eg_case_term(c, term);
  const eg_shape *x = eg_kid_shape(c, term, 0), *w = eg_kid_shape(c, term, 1);
  if (x->rank < 3 || w->rank != x->rank) eg_case_vacuous(c);
  uint32_t spatial = x->rank - 2;
  for (uint32_t i = 1; i < t->child_count; i++)
    eg_kid_equate(c, term, i);
  (void)eg_slot_list(c, term, EG_SLOT(CONV, STRIDES), spatial, 1);
  (void)eg_slot_list(c, term, EG_SLOT(CONV, DILATIONS), spatial, 1);
  (void)eg_slot_list(c, term, EG_SLOT(CONV, PADS), 2 * spatial, 0);
  for (uint16_t i = 0; i < 4; i++) // and the algorithm, which does not affect the result
    (void)eg_slot_scalar(c, term, (uint16_t)(EG_SLOT(CONV, ACT) + i));
  eg_poly group = eg_slot_int(c, term, EG_SLOT(CONV, GROUP));
  eg_case_need_positive(c, group);
  eg_case_need_equal(c, x->dims[1], eg_poly_mul(p, group, w->dims[1]));
  c->extra[term] = eg_case_over(c, w->dims[0], group, true);
  eg_shape shape = {.rank = x->rank, .dims = {x->dims[0], w->dims[0]}};
  for (uint32_t i = 0; i < spatial; i++) {
    eg_case_need_positive(c, w->dims[i + 2]);
    window of = window_of(c, term, i);
    shape.dims[i + 2] = positions(c, &of, false);
  }
  c->shapes[term] = shape;
  if (t->child_count > 2) {
    const eg_shape *bias = eg_kid_shape(c, term, 2);
    if (bias->rank != 1) eg_case_vacuous(c);
    eg_case_need_equal(c, bias->dims[0], w->dims[0]);
  }
  if (t->child_count > 3) type_addend(c, term, 3, true);
}

eg_scalar eg_element_conv(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  const eg_rule_term *t = eg_case_term(c, term);
  const eg_shape *x = eg_kid_shape(c, term, 0), *w = eg_kid_shape(c, term, 1);
  uint32_t spatial = x->rank - 2;
  eg_poly of_group = eg_poly_canonical(p, c->extra[term]);
  // The output channel exists, so of_group >= 1.
  eg_assume_natural(p, eg_poly_sub(p, of_group, eg_one(c)));
  eg_poly group = eg_poly_div(p, eg_poly_canonical(p, at[1]), of_group);
  // Output channels are below group x of_group.
  eg_assume_below(p, group, eg_slot_int(c, term, EG_SLOT(CONV, GROUP)));
  eg_loop loops[EGRAPH_MAX_RANK];
  eg_poly from[EGRAPH_MAX_RANK], tap[EGRAPH_MAX_RANK];
  loops[0] = eg_loop_begin(c, eg_poly_canonical(p, w->dims[1]));
  from[0] = at[0];
  from[1] = eg_poly_add(p, eg_poly_mul(p, group, w->dims[1]), loops[0].index);
  tap[0] = at[1];
  tap[1] = loops[0].index;
  for (uint32_t i = 0; i < spatial; i++) {
    window of = window_of(c, term, i);
    loops[i + 1] = eg_loop_begin(c, eg_poly_canonical(p, of.kernel));
    tap[i + 2] = loops[i + 1].index;
    from[i + 2] = tap_place(c, &of, at[i + 2], tap[i + 2]);
  }
  eg_branch branch = eg_branch_open(p);
  for (uint32_t i = 0; i < spatial; i++)
    eg_case_assume_inside(c, from[i + 2], x->dims[i + 2]);
  eg_scalar made = eg_scalar_mul(p, eg_case_element(c, eg_kid(c, term, 0), from),
                                 eg_case_element(c, eg_kid(c, term, 1), tap));
  eg_branch_close(p, branch);
  for (uint32_t i = 0; i < spatial; i++)
    made = eg_case_guarded(c, from[i + 2], x->dims[i + 2], made, zero(c));
  for (uint32_t i = spatial + 1; i-- > 0;)
    made = eg_loop_end(c, &loops[i], EG_FOLD_SUM, made);
  summed all = {.parts = {made}, .count = 1};
  if (t->child_count > 2) add_part(&all, eg_case_element(c, eg_kid(c, term, 2), &at[1]));
  if (t->child_count > 3) add_part(&all, eg_case_element(c, eg_kid(c, term, 3), at));
  return with_activation(c, term, EG_SLOT(CONV, ACT), &all);
}

// ---- pooling ----------------------------------------------------------------------

static void type_pool(eg_case *c, uint32_t term, bool ceil_mode) {
  eg_proof *p = c->p;
  const eg_shape *x = eg_kid_shape(c, term, 0);
  if (x->rank < 3) eg_case_vacuous(c);
  uint32_t spatial = x->rank - 2;
  (void)eg_slot_list(c, term, EG_SLOT(MAX_POOL, KERNEL_SHAPE), spatial, 1);
  (void)eg_slot_list(c, term, EG_SLOT(MAX_POOL, STRIDES), spatial, 1);
  (void)eg_slot_list(c, term, EG_SLOT(MAX_POOL, PADS), 2 * spatial, 0);
  if (eg_case_term(c, term)->op == EG_OP_MAX_POOL)
    (void)eg_slot_list(c, term, EG_SLOT(MAX_POOL, DILATIONS), spatial, 1);
  eg_shape shape = {.rank = x->rank, .dims = {x->dims[0], x->dims[1]}};
  for (uint32_t i = 0; i < spatial; i++) {
    window of = window_of(c, term, i);
    eg_poly reach = reach_of(c, &of);
    eg_case_need_positive(c, eg_poly_sub(p, reach, of.begin));
    eg_case_need_positive(c, eg_poly_sub(p, reach, of.end));
    shape.dims[i + 2] = positions(c, &of, ceil_mode);
  }
  c->shapes[term] = shape;
}

void eg_type_max_pool(eg_case *c, uint32_t term) {
  type_pool(c, term, eg_slot_flag(c, term, EG_SLOT(MAX_POOL, CEIL_MODE)));
}

void eg_type_average_pool(eg_case *c, uint32_t term) {
  bool ceil_mode = eg_slot_flag(c, term, EG_SLOT(AVERAGE_POOL, CEIL_MODE));
  (void)eg_slot_flag(c, term, EG_SLOT(AVERAGE_POOL, COUNT_INCLUDE_PAD));
  type_pool(c, term, ceil_mode);
}

// Folds the elements of a window that lie inside the input. With `counts`, returns
// instead the number of window positions inside the input, or, if `wide`, inside the
// padded input.
static eg_scalar pooled(eg_case *c, uint32_t term, const eg_poly *at, eg_fold fold,
                        bool counts, bool wide) {
  eg_proof *p = c->p;
  uint32_t spatial = eg_kid_shape(c, term, 0)->rank - 2;
  eg_loop loops[EGRAPH_MAX_RANK];
  eg_poly from[EGRAPH_MAX_RANK] = {at[0], at[1]};
  eg_scalar made = eg_scalar_number(p, 1);
  for (uint32_t i = 0; i < spatial; i++) {
    window of = window_of(c, term, i);
    loops[i] = eg_loop_begin(c, eg_poly_canonical(p, of.kernel));
    from[i + 2] = tap_place(c, &of, at[i + 2], loops[i].index);
  }
  for (uint32_t i = 0; counts && i < spatial; i++) {
    window of = window_of(c, term, i);
    eg_poly padded = eg_poly_add(p, of.size, eg_poly_add(p, of.begin, of.end));
    made = wide ? eg_case_guarded(c, eg_poly_add(p, from[i + 2], of.begin), padded, made,
                                  zero(c))
                : eg_case_guarded(c, from[i + 2], of.size, made, zero(c));
  }
  if (!counts) // key 500 stands for the lowest value of the type
    made = eg_case_padded(c, term, 2, from,
                          fold == EG_FOLD_MAX ? eg_scalar_key(p, 500) : zero(c));
  for (uint32_t i = spatial; i-- > 0;)
    made = eg_loop_end(c, &loops[i], fold, made);
  return made;
}

eg_scalar eg_element_max_pool(eg_case *c, uint32_t term, const eg_poly *at) {
  return pooled(c, term, at, EG_FOLD_MAX, false, false);
}

eg_scalar eg_element_average_pool(eg_case *c, uint32_t term, const eg_poly *at) {
  bool wide = eg_slot_flag(c, term, EG_SLOT(AVERAGE_POOL, COUNT_INCLUDE_PAD));
  eg_scalar sum = pooled(c, term, at, EG_FOLD_SUM, false, false);
  eg_scalar count = pooled(c, term, at, EG_FOLD_SUM, true, wide);
  if (eg_case_is_bitwise(c)) // only the quotient is rounded
    return eg_scalar_opaque(c->p, EG_OP_AVERAGE_POOL, (eg_scalar[]){sum, count}, 2);
  return eg_scalar_call(c->p, EG_OP_DIV, (eg_scalar[]){sum, count}, 2, EG_DOMAIN_REAL);
}

void eg_type_global_pool(eg_case *c, uint32_t term) {
  eg_shape shape = *eg_kid_shape(c, term, 0);
  if (shape.rank < 3) eg_case_vacuous(c);
  for (uint32_t i = 2; i < shape.rank; i++)
    shape.dims[i] = eg_one(c);
  c->shapes[term] = shape;
}

eg_scalar eg_element_global_pool(eg_case *c, uint32_t term, const eg_poly *at) {
  uint32_t kid = eg_kid(c, term, 0);
  bool max = eg_case_term(c, term)->op == EG_OP_GLOBAL_MAX_POOL;
  eg_poly count;
  eg_scalar made = eg_case_folded(c, kid, (UINT32_C(1) << c->shapes[kid].rank) - 4, at,
                                  max ? EG_FOLD_MAX : EG_FOLD_SUM, &count, NULL);
  if (max) return made;
  if (eg_case_is_bitwise(c))
    return eg_case_reduced(c, EG_OP_REDUCE_MEAN, made, eg_one(c));
  return eg_scalar_call(c->p, EG_OP_DIV, (eg_scalar[]){made, eg_scalar_size(c->p, count)},
                        2, true);
}

// ---- transformations of weights ---------------------------------------------------

void eg_type_enlarge(eg_case *c, uint32_t term) {
  const eg_shape *w = eg_kid_shape(c, term, 0);
  if (w->rank < 3) eg_case_vacuous(c);
  const eg_poly *kernel =
      eg_slot_list(c, term, EG_SLOT(ENLARGE, KERNEL_SHAPE), w->rank - 2, 1);
  eg_shape shape = *w;
  for (uint32_t i = 0; i + 2 < w->rank; i++) {
    eg_poly grown = eg_poly_sub(c->p, kernel[i], w->dims[i + 2]);
    eg_case_need_natural(c, eg_case_over(c, grown, eg_poly_const(c->p, 2), true));
    shape.dims[i + 2] = kernel[i];
  }
  c->shapes[term] = shape;
}

eg_scalar eg_element_enlarge(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  const eg_shape *w = eg_kid_shape(c, term, 0);
  eg_poly place[EGRAPH_MAX_RANK] = {at[0], at[1]};
  for (uint32_t i = 2; i < w->rank; i++) {
    eg_poly grown = eg_poly_sub(p, c->shapes[term].dims[i], w->dims[i]);
    eg_poly half = eg_poly_div(p, eg_poly_canonical(p, grown), eg_poly_const(p, 2));
    place[i] = eg_poly_canonical(p, eg_poly_sub(p, at[i], half));
  }
  return eg_case_padded(c, term, 2, place, zero(c));
}
