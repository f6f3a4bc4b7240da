// Meaning of pointwise operators, constants and data movements: for each operator, the
// type of the result (eg_type_*), and an element of the result as an expression of
// operand elements (eg_element_*).
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"

// ---- pointwise --------------------------------------------------------------------

static void becomes(eg_case *c, const eg_shape *a, const eg_shape *to) {
  if (a->rank > to->rank) eg_case_vacuous(c);
  for (uint32_t i = 0; i < a->rank; i++)
    eg_assume_pairing(c->p, a->dims[i], to->dims[i + to->rank - a->rank], true);
}

void eg_type_pointwise(eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  eg_shape shape = *eg_kid_shape(c, term, 0);
  if (t->op == EG_OP_PRELU) {
    becomes(c, eg_kid_shape(c, term, 1), &shape);
  } else {
    for (uint32_t i = 1; i < t->child_count; i++)
      shape = eg_shape_stretched(c, &shape, eg_kid_shape(c, term, i));
  }
  c->shapes[term] = shape;
  for (uint16_t i = 0; i < eg_op_info_of(t->op)->attr_count; i++)
    (void)eg_slot_scalar(c, term, i); // binds its variables
  uint32_t first = t->op == EG_OP_WHERE ? 1 : 0;
  if (t->op == EG_OP_WHERE)
    eg_kind_mark(c, c->kinds[eg_kid(c, term, 0)], false, false, true);
  for (uint32_t i = first + 1; i < t->child_count && t->op != EG_OP_POW; i++)
    eg_kind_equate(c, c->kinds[eg_kid(c, term, first)], c->kinds[eg_kid(c, term, i)]);
  c->kinds[term] = c->kinds[eg_kid(c, term, first)];
  if ((eg_op_info_of(t->op)->flags & EG_OPF_PREDICATE) != 0)
    c->kinds[term] = eg_kind_of_dtype(c, EGRAPH_BOOL);
  if (t->op == EG_OP_CAST || t->op == EG_OP_BIT_CAST) {
    c->kinds[term] = eg_slot(c, term, 0)->which;
  }
}

eg_scalar eg_element_pointwise(eg_case *c, uint32_t term, const eg_poly *at) {
  const eg_rule_term *t = eg_case_term(c, term);
  eg_scalar kids[EG_POINTWISE_KIDS];
  eg_laws_before before = eg_laws_narrow(c->p, eg_op_hides_infinity(t->op));
  for (uint32_t i = 0; i < t->child_count; i++)
    kids[i] = t->child_count == 1 ? eg_case_element(c, eg_kid(c, term, i), at)
                                  : eg_kid_element(c, term, i, at);
  eg_laws_restore(c->p, before);
  return eg_case_pointwise(c, term, kids);
}

eg_scalar eg_case_pointwise(eg_case *c, uint32_t term,
                            eg_scalar kids[EG_POINTWISE_KIDS]) {
  const eg_rule_term *t = eg_case_term(c, term);
  uint32_t count = t->child_count;
  for (uint16_t i = 0; i < eg_op_info_of(t->op)->attr_count; i++)
    kids[count++] = eg_slot_scalar(c, term, i);
  // x == x is true for every number x except NaN.
  const eg_kind_of_numbers *kind =
      &c->numbers[eg_kind_root(c, c->kinds[eg_kid(c, term, 0)])];
  bool compares = t->op == EG_OP_EQUAL || t->op == EG_OP_LESS_OR_EQUAL ||
                  t->op == EG_OP_GREATER_OR_EQUAL;
  if (compares && kids[0] == kids[1] && (kind->is_int || kind->is_bool))
    return eg_scalar_number(c->p, 1);
  bool casts = t->op == EG_OP_CAST || t->op == EG_OP_BIT_CAST;
  uint32_t from = c->kinds[eg_kid(c, term, t->op == EG_OP_WHERE ? 1 : 0)];
  if (casts && eg_kind_root(c, c->kinds[term]) == eg_kind_root(c, from)) return kids[0];
  return eg_scalar_call(c->p, t->op, kids, count, eg_kind_domain(c, from));
}

// ---- constants --------------------------------------------------------------------

static void type_constant(eg_case *c, uint32_t term, uint16_t slot) {
  (void)eg_slot_scalar(c, term, slot);
  c->kinds[term] = eg_slot(c, term, slot)->which;
}

void eg_type_fill(eg_case *c, uint32_t term) {
  type_constant(c, term, EG_SLOT(FILL, DTYPE));
  c->shapes[term] = eg_slot_shape(c, term, EG_SLOT(FILL, SHAPE));
  (void)eg_slot_scalar(c, term, EG_SLOT(FILL, VALUE));
}

eg_scalar eg_element_fill(eg_case *c, uint32_t term, const eg_poly *at) {
  (void)at;
  return eg_case_number(c, c->kinds[term], eg_slot_scalar(c, term, EG_SLOT(FILL, VALUE)));
}

// Returns 1 when two indices are equal, else 0.
static eg_scalar delta(eg_case *c, eg_poly a, eg_poly b) {
  eg_proof *p = c->p;
  eg_scalar zero = eg_scalar_number(p, 0);
  eg_scalar not_below =
      eg_scalar_choice(p, eg_poly_sub(p, a, b), eg_scalar_number(p, 1), zero);
  return eg_scalar_choice(p, eg_poly_sub(p, b, a), not_below, zero);
}

void eg_type_eye(eg_case *c, uint32_t term) {
  type_constant(c, term, EG_SLOT(EYE, DTYPE));
  eg_poly n = eg_slot_int(c, term, EG_SLOT(EYE, N));
  eg_case_need_natural(c, n);
  c->shapes[term] = (eg_shape){.rank = 2, .dims = {n, n}};
}

eg_scalar eg_element_eye(eg_case *c, uint32_t term, const eg_poly *at) {
  (void)term;
  return delta(c, at[0], at[1]);
}

static const eg_poly *kernel_of(eg_case *c, uint32_t term, uint16_t slot, uint32_t *out) {
  eg_datum *v = eg_slot(c, term, slot);
  uint32_t len =
      v->kind == EG_DATUM_OPEN ? eg_proof_choose(c->p, EGRAPH_MAX_RANK - 1) : v->count;
  if (len + 2 > EGRAPH_MAX_RANK) eg_case_vacuous(c);
  *out = len;
  return eg_slot_list(c, term, slot, len, 1);
}

void eg_type_pool_kernel(eg_case *c, uint32_t term) {
  type_constant(c, term, EG_SLOT(POOL_KERNEL, DTYPE));
  eg_poly channels = eg_slot_int(c, term, EG_SLOT(POOL_KERNEL, CHANNELS));
  uint32_t len;
  const eg_poly *kernel = kernel_of(c, term, EG_SLOT(POOL_KERNEL, KERNEL_SHAPE), &len);
  eg_case_need_natural(c, channels);
  eg_shape shape = {.rank = len + 2, .dims = {channels, eg_one(c)}};
  for (uint32_t i = 0; i < len; i++)
    shape.dims[i + 2] = kernel[i];
  c->shapes[term] = shape;
}

eg_scalar eg_element_pool_kernel(eg_case *c, uint32_t term, const eg_poly *at) {
  (void)at;
  eg_poly area = eg_one(c);
  for (uint32_t i = 2; i < c->shapes[term].rank; i++)
    area = eg_poly_mul(c->p, area, c->shapes[term].dims[i]);
  eg_scalar size = eg_scalar_size(c->p, area);
  return eg_scalar_call(c->p, EG_OP_RECIPROCAL, &size, 1, EG_DOMAIN_REAL);
}

void eg_type_conv_identity(eg_case *c, uint32_t term) {
  eg_proof *p = c->p;
  type_constant(c, term, EG_SLOT(CONV_IDENTITY, DTYPE));
  eg_poly channels = eg_slot_int(c, term, EG_SLOT(CONV_IDENTITY, CHANNELS));
  eg_poly group = eg_slot_int(c, term, EG_SLOT(CONV_IDENTITY, GROUP));
  uint32_t len;
  const eg_poly *kernel = kernel_of(c, term, EG_SLOT(CONV_IDENTITY, KERNEL_SHAPE), &len);
  eg_case_need_natural(c, channels);
  eg_case_need_positive(c, group);
  eg_poly of_group = eg_case_over(c, channels, group, true);
  eg_shape shape = {.rank = len + 2, .dims = {channels, of_group}};
  for (uint32_t i = 0; i < len; i++) {
    eg_poly half = eg_poly_symbol(p, true); // only odd kernels
    eg_case_need_equal(c, kernel[i],
                       eg_poly_add(p, eg_poly_scale(p, half, 2), eg_one(c)));
    shape.dims[i + 2] = eg_poly_canonical(p, kernel[i]);
  }
  c->shapes[term] = shape;
}

eg_scalar eg_element_conv_identity(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  const eg_shape *shape = &c->shapes[term];
  eg_poly of_group = eg_poly_canonical(p, shape->dims[1]);
  // An element of the result exists, so of_group >= 1.
  eg_assume_natural(p, eg_poly_sub(p, of_group, eg_one(c)));
  eg_scalar made = delta(c, eg_poly_mod(p, at[0], of_group), at[1]);
  for (uint32_t i = 2; i < shape->rank; i++) {
    eg_poly centre =
        eg_poly_div(p, eg_poly_canonical(p, shape->dims[i]), eg_poly_const(p, 2));
    made = eg_scalar_mul(p, made, delta(c, at[i], centre));
  }
  return made;
}

// ---- moves ------------------------------------------------------------------------

void eg_type_transpose(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  uint32_t perm[EGRAPH_MAX_RANK];
  eg_slot_perm(c, term, EG_SLOT(TRANSPOSE, PERM), x->rank, perm);
  eg_shape shape = {.rank = x->rank};
  for (uint32_t i = 0; i < x->rank; i++)
    shape.dims[i] = x->dims[perm[i]];
  c->shapes[term] = shape;
}

eg_scalar eg_element_transpose(eg_case *c, uint32_t term, const eg_poly *at) {
  uint32_t perm[EGRAPH_MAX_RANK], rank = c->shapes[term].rank;
  eg_poly place[EGRAPH_MAX_RANK];
  eg_slot_perm(c, term, EG_SLOT(TRANSPOSE, PERM), rank, perm);
  for (uint32_t i = 0; i < rank; i++)
    place[perm[i]] = at[i];
  return eg_case_element(c, eg_kid(c, term, 0), place);
}

void eg_type_concat(eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  eg_shape shape = *eg_kid_shape(c, term, 0);
  if (shape.rank == 0) eg_case_vacuous(c);
  uint32_t axis = eg_slot_axis(c, term, EG_SLOT(CONCAT, AXIS), shape.rank);
  for (uint32_t i = 1; i < t->child_count; i++) {
    const eg_shape *kid = eg_kid_shape(c, term, i);
    if (kid->rank != shape.rank) eg_case_vacuous(c);
    eg_kid_equate(c, term, i);
    for (uint32_t k = 0; k < shape.rank; k++)
      if (k == axis)
        shape.dims[k] = eg_poly_add(c->p, shape.dims[k], kid->dims[k]);
      else
        eg_case_need_equal(c, shape.dims[k], kid->dims[k]);
  }
  c->shapes[term] = shape;
}

eg_scalar eg_element_concat(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  const eg_rule_term *t = eg_case_term(c, term);
  uint32_t rank = c->shapes[term].rank;
  uint32_t axis = eg_slot_axis(c, term, EG_SLOT(CONCAT, AXIS), rank);
  eg_poly place[EGRAPH_MAX_RANK], begin = eg_poly_const(p, 0);
  eg_poly begins[64];
  if (t->child_count > 64) eg_case_give_up(c, "%s of many operands", "concat");
  for (uint32_t i = 0; i < t->child_count; i++) {
    begins[i] = begin;
    begin = eg_poly_add(p, begin, eg_kid_shape(c, term, i)->dims[axis]);
  }
  for (uint32_t k = 0; k < rank; k++)
    place[k] = at[k];
  eg_scalar made = 0;
  for (uint32_t i = t->child_count; i-- > 0;) {
    place[axis] = eg_poly_sub(p, at[axis], begins[i]);
    eg_branch branch = eg_branch_open(p); // read only where the index is in range
    eg_case_assume_inside(c, place[axis], eg_kid_shape(c, term, i)->dims[axis]);
    eg_scalar own = eg_case_element(c, eg_kid(c, term, i), place);
    eg_branch_close(p, branch);
    // Builds the concatenation from its last operand down: at or after the begin of the
    // next operand, the element is the one built so far.
    made = i + 1 == t->child_count
               ? own
               : eg_scalar_choice(p, eg_poly_sub(p, at[axis], begins[i + 1]), made, own);
  }
  return made;
}

void eg_type_split(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  if (x->rank == 0) eg_case_vacuous(c);
  uint32_t axis = eg_slot_axis(c, term, EG_SLOT(SPLIT, AXIS), x->rank);
  eg_datum *sizes = eg_slot(c, term, EG_SLOT(SPLIT, SIZES));
  if (sizes->kind == EG_DATUM_OPEN)
    eg_case_give_up(c, "%s into any number of parts", "split");
  if (sizes->count == 0) eg_case_vacuous(c);
  const eg_poly *list = eg_slot_list(c, term, EG_SLOT(SPLIT, SIZES), sizes->count, 0);
  eg_poly sum = eg_poly_const(c->p, 0);
  for (uint32_t i = 0; i < sizes->count; i++)
    sum = eg_poly_add(c->p, sum, list[i]);
  eg_case_need_equal(c, x->dims[axis], sum);
  c->extra[term] = axis;
  c->shapes[term] = *x;
}

// Gives up the proof: a split has no elements itself; its parts read its operand.
eg_scalar eg_element_split(eg_case *c, uint32_t term, const eg_poly *at) {
  (void)term, (void)at;
  eg_case_give_up(c, "%s without part", "split");
}

// Returns the split node of which the term is a part.
static uint32_t split_of(eg_case *c, uint32_t term) {
  uint32_t kid = eg_kid(c, term, 0);
  if (eg_case_term(c, kid)->is_var) kid = c->vars[eg_case_term(c, kid)->var].which;
  if (eg_case_term(c, kid)->op != EG_OP_SPLIT)
    eg_case_give_up(c, "%s of no split", "part");
  return kid;
}

static eg_poly part_range(eg_case *c, uint32_t term, eg_poly *out_size) {
  uint32_t split = split_of(c, term);
  eg_datum *sizes = eg_slot(c, split, EG_SLOT(SPLIT, SIZES));
  eg_poly index = eg_slot_int(c, term, EG_SLOT(PART, INDEX));
  int64_t which = eg_case_const(c, index, "the number of a part");
  if (which < 0 || which >= (int64_t)sizes->count) eg_case_vacuous(c);
  eg_poly begin = eg_poly_const(c->p, 0);
  for (int64_t i = 0; i < which; i++)
    begin = eg_poly_add(c->p, begin, sizes->list[i]);
  *out_size = eg_poly_canonical(c->p, sizes->list[which]);
  return eg_poly_canonical(c->p, begin);
}

void eg_type_part(eg_case *c, uint32_t term) {
  uint32_t split = split_of(c, term);
  eg_shape shape = c->shapes[split];
  eg_poly size;
  (void)part_range(c, term, &size);
  shape.dims[c->extra[split]] = size;
  c->shapes[term] = shape;
}

eg_scalar eg_element_part(eg_case *c, uint32_t term, const eg_poly *at) {
  uint32_t split = split_of(c, term);
  eg_poly place[EGRAPH_MAX_RANK], size;
  eg_poly begin = part_range(c, term, &size);
  for (uint32_t i = 0; i < c->shapes[term].rank; i++)
    place[i] = at[i];
  uint32_t axis = c->extra[split];
  place[axis] = eg_poly_add(c->p, begin, at[axis]);
  return eg_case_element(c, eg_kid(c, split, 0), place);
}

// ---- slice and pad ----------------------------------------------------------------

// Counts the elements start, start + step, ... before end. Tries both signs of the step
// when the facts do not determine it.
static eg_poly sliced(eg_case *c, eg_poly size, eg_poly start, eg_poly end,
                      eg_poly step) {
  eg_proof *p = c->p;
  bool up = eg_is_natural(p, eg_poly_sub(p, step, eg_one(c)));
  bool down = eg_is_natural(p, eg_poly_sub(p, eg_poly_const(p, -1), step));
  if (!up && !down) { // one case for each sign
    up = eg_proof_choose(p, 2) == 0;
    eg_case_need_natural(c, up ? eg_poly_sub(p, step, eg_one(c))
                               : eg_poly_sub(p, eg_poly_const(p, -1), step));
  }
  eg_poly low = eg_poly_const(p, up ? 0 : -1);
  eg_poly high = up ? size : eg_poly_sub(p, size, eg_one(c));
  const eg_poly bounds[4] = {eg_poly_sub(p, start, low), eg_poly_sub(p, high, start),
                             eg_poly_sub(p, end, low), eg_poly_sub(p, high, end)};
  for (uint32_t i = 0; i < 4; i++)
    eg_case_need_natural(c, bounds[i]);
  eg_poly span = up ? eg_poly_sub(p, end, start) : eg_poly_sub(p, start, end);
  eg_poly stride = up ? step : eg_poly_scale(p, step, -1);
  if (!eg_is_natural(p, span)) { // one case for empty, one for not empty
    if (eg_proof_choose(p, 2) == 0) {
      eg_case_need_natural(c, eg_poly_scale(p, span, -1));
      return eg_poly_const(p, 0);
    }
    eg_case_need_natural(c, span);
  }
  eg_poly rounded = eg_poly_sub(p, eg_poly_add(p, span, stride), eg_one(c));
  return eg_poly_div(p, eg_poly_canonical(p, rounded), eg_poly_canonical(p, stride));
}

void eg_type_slice(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  const eg_poly *starts =
      eg_slot_list(c, term, EG_SLOT(SLICE, STARTS), x->rank, INT64_MIN);
  const eg_poly *ends = eg_slot_list(c, term, EG_SLOT(SLICE, ENDS), x->rank, INT64_MIN);
  const eg_poly *steps = eg_slot_list(c, term, EG_SLOT(SLICE, STEPS), x->rank, INT64_MIN);
  eg_shape shape = {.rank = x->rank};
  for (uint32_t i = 0; i < x->rank; i++)
    shape.dims[i] = sliced(c, x->dims[i], starts[i], ends[i], steps[i]);
  c->shapes[term] = shape;
}

eg_scalar eg_element_slice(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  uint32_t rank = c->shapes[term].rank;
  const eg_datum *starts = eg_slot(c, term, EG_SLOT(SLICE, STARTS));
  const eg_datum *steps = eg_slot(c, term, EG_SLOT(SLICE, STEPS));
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    place[i] = eg_poly_canonical(
        p, eg_poly_add(p, starts->list[i], eg_poly_mul(p, steps->list[i], at[i])));
  return eg_case_element(c, eg_kid(c, term, 0), place);
}

void eg_type_pad(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  const eg_poly *pads = eg_slot_list(c, term, EG_SLOT(PAD, PADS), 2 * x->rank, 0);
  (void)eg_slot_scalar(c, term, EG_SLOT(PAD, MODE));
  (void)eg_slot_scalar(c, term, EG_SLOT(PAD, VALUE));
  eg_shape shape = {.rank = x->rank};
  for (uint32_t i = 0; i < x->rank; i++)
    shape.dims[i] =
        eg_poly_add(c->p, x->dims[i], eg_poly_add(c->p, pads[i], pads[i + x->rank]));
  c->shapes[term] = shape;
}

eg_scalar eg_element_pad(eg_case *c, uint32_t term, const eg_poly *at) {
  const eg_datum *pads = eg_slot(c, term, EG_SLOT(PAD, PADS));
  eg_scalar mode = eg_slot_scalar(c, term, EG_SLOT(PAD, MODE));
  bool is_nothing = true;
  for (uint32_t i = 0; i < pads->count && is_nothing; i++)
    is_nothing = eg_is_zero(c->p, pads->list[i]);
  if (is_nothing) return eg_case_element(c, eg_kid(c, term, 0), at);
  if (!eg_scalar_is_number(c->p, mode, 0))
    eg_case_give_up(c, "%s with another mode", "pad");
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < c->shapes[term].rank; i++)
    place[i] = eg_poly_canonical(c->p, eg_poly_sub(c->p, at[i], pads->list[i]));
  eg_scalar value = eg_slot_scalar(c, term, EG_SLOT(PAD, VALUE));
  return eg_case_padded(c, term, 0, place, eg_case_number(c, c->kinds[term], value));
}

// ---- expand and tile -----------------------------------------------------------

void eg_type_expand(eg_case *c, uint32_t term) {
  eg_shape shape = eg_slot_shape(c, term, EG_SLOT(EXPAND, SHAPE));
  becomes(c, eg_kid_shape(c, term, 0), &shape);
  c->shapes[term] = shape;
}

eg_scalar eg_element_expand(eg_case *c, uint32_t term, const eg_poly *at) {
  return eg_kid_element(c, term, 0, at);
}

void eg_type_tile(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  const eg_poly *repeats = eg_slot_list(c, term, EG_SLOT(TILE, REPEATS), x->rank, 0);
  eg_shape shape = {.rank = x->rank};
  for (uint32_t i = 0; i < x->rank; i++)
    shape.dims[i] = eg_poly_mul(c->p, x->dims[i], repeats[i]);
  c->shapes[term] = shape;
}

eg_scalar eg_element_tile(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  const eg_shape *x = eg_kid_shape(c, term, 0);
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) { // the element exists, so sizes are 1 or more
    eg_poly size = eg_poly_canonical(p, x->dims[i]);
    eg_assume_natural(p, eg_poly_sub(p, size, eg_one(c)));
    place[i] = eg_poly_mod(p, eg_poly_canonical(p, at[i]), eg_poly_canonical(p, size));
  }
  return eg_case_element(c, eg_kid(c, term, 0), place);
}

// ---- reshape and its kin ----------------------------------------------------------

void eg_type_reshape(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  eg_shape shape = eg_slot_shape(c, term, EG_SLOT(RESHAPE, SHAPE));
  eg_case_need_equal(c, eg_shape_elements(c, &shape), eg_shape_elements(c, x));
  c->shapes[term] = shape;
}

void eg_type_squeeze(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  uint32_t bits = eg_slot_axes(c, term, EG_SLOT(SQUEEZE, AXES), x->rank);
  eg_shape shape = {.rank = 0};
  for (uint32_t i = 0; i < x->rank; i++) {
    if ((bits >> i & 1) == 0)
      shape.dims[shape.rank++] = x->dims[i];
    else
      eg_case_need_equal(c, x->dims[i], eg_one(c));
  }
  c->shapes[term] = shape;
}

void eg_type_unsqueeze(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  eg_datum *axes = eg_slot(c, term, EG_SLOT(UNSQUEEZE, AXES));
  uint32_t more = axes->kind == EG_DATUM_OPEN
                      ? eg_proof_choose(c->p, EGRAPH_MAX_RANK - x->rank + 1)
                      : axes->count;
  if (x->rank + more > EGRAPH_MAX_RANK) eg_case_vacuous(c);
  uint32_t bits = eg_slot_axes(c, term, EG_SLOT(UNSQUEEZE, AXES), x->rank + more),
           set = 0;
  eg_shape shape = {.rank = x->rank + more};
  for (uint32_t i = 0, k = 0; i < shape.rank; i++) {
    bool fresh = (bits >> i & 1) != 0;
    set += fresh;
    if (!fresh && k == x->rank) eg_case_vacuous(c);
    shape.dims[i] = fresh ? eg_one(c) : x->dims[k++];
  }
  if (set != more) eg_case_vacuous(c);
  c->shapes[term] = shape;
}

void eg_type_flatten(eg_case *c, uint32_t term) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  eg_datum *v = eg_slot(c, term, EG_SLOT(FLATTEN, AXIS));
  if (v->kind == EG_DATUM_OPEN)
    *v = eg_datum_int(eg_poly_const(
        c->p, (int64_t)eg_proof_choose(c->p, 2 * x->rank + 1) - (int64_t)x->rank));
  int64_t axis = eg_case_const(c, v->number, "an axis");
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis > (int64_t)x->rank) eg_case_vacuous(c);
  eg_shape shape = {.rank = 2, .dims = {eg_one(c), eg_one(c)}};
  for (uint32_t i = 0; i < x->rank; i++) {
    eg_poly *to = &shape.dims[i < axis ? 0 : 1];
    *to = eg_poly_mul(c->p, *to, x->dims[i]);
  }
  c->shapes[term] = shape;
}

eg_scalar eg_element_reshape(eg_case *c, uint32_t term, const eg_poly *at) {
  return eg_case_flat(c, eg_kid(c, term, 0), eg_shape_offset(c, &c->shapes[term], at));
}

// Removes squeezed axes, whose index is 0; the other axes keep their indices in order.
eg_scalar eg_element_squeeze(eg_case *c, uint32_t term, const eg_poly *at) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  uint32_t bits = eg_slot_axes(c, term, EG_SLOT(SQUEEZE, AXES), x->rank);
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t i = 0, k = 0; i < x->rank; i++)
    place[i] = (bits >> i & 1) != 0 ? eg_poly_const(c->p, 0) : at[k++];
  return eg_case_element(c, eg_kid(c, term, 0), place);
}

eg_scalar eg_element_unsqueeze(eg_case *c, uint32_t term, const eg_poly *at) {
  uint32_t rank = c->shapes[term].rank;
  uint32_t bits = eg_slot_axes(c, term, EG_SLOT(UNSQUEEZE, AXES), rank);
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t i = 0, k = 0; i < rank; i++)
    if ((bits >> i & 1) == 0) place[k++] = at[i];
  return eg_case_element(c, eg_kid(c, term, 0), place);
}

eg_scalar eg_element_flatten(eg_case *c, uint32_t term, const eg_poly *at) {
  return eg_element_reshape(c, term, at);
}

void eg_type_trilu(eg_case *c, uint32_t term) {
  c->shapes[term] = *eg_kid_shape(c, term, 0);
  if (c->shapes[term].rank < 2) eg_case_vacuous(c);
  (void)eg_slot_flag(c, term, EG_SLOT(TRILU, UPPER));
  (void)eg_slot_int(c, term, EG_SLOT(TRILU, K));
}

// Keeps elements with column - row >= k if `upper`, else with column - row <= k.
eg_scalar eg_element_trilu(eg_case *c, uint32_t term, const eg_poly *at) {
  eg_proof *p = c->p;
  uint32_t rank = c->shapes[term].rank;
  eg_poly k = eg_slot_int(c, term, EG_SLOT(TRILU, K));
  eg_poly beyond = eg_poly_sub(p, eg_poly_sub(p, at[rank - 1], at[rank - 2]), k);
  if (!eg_slot_flag(c, term, EG_SLOT(TRILU, UPPER)))
    beyond = eg_poly_scale(p, beyond, -1);
  return eg_scalar_choice(p, beyond, eg_case_element(c, eg_kid(c, term, 0), at),
                          eg_scalar_number(p, 0));
}
