// Gradients of data movement: move the cotangent back, with a sum where elements were
// copied and zeros where they were dropped.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/resize.h"
#include "ops/vjp_internal.h"

// Emits the cotangent of a reshape, squeeze, unsqueeze or flatten: a reshape back.
void eg_vjp_reshape(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, 0);
  v->out[0] = eg_build_reshape(v->b, v->cotangents[0], x->rank, x->dims);
}

void eg_vjp_transpose(const eg_vjp *v) {
  eg_ints perm = eg_attr_at(v->attrs, EG_A_TRANSPOSE_PERM)->ints;
  int64_t inverse[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < perm.len; i++)
    inverse[perm.data[i]] = i;
  v->out[0] = eg_build_transpose(v->b, v->cotangents[0], inverse);
}

// ---- concat and split -----------------------------------------------------------

static egraph_status concat_rule(const eg_vjp *v, eg_arena *arena) {
  const eg_type *y = eg_build_type(v->b, v->results[0]);
  uint32_t axis = eg_axis_of(y, eg_attr_at(v->attrs, EG_A_CONCAT_AXIS)->i);
  int64_t *sizes;
  eg_ref *parts;
  EG_TRY(eg_arena_alloc(arena, v->input_count, sizeof *sizes, &sizes));
  EG_TRY(eg_arena_alloc(arena, v->input_count, sizeof *parts, &parts));
  for (uint32_t i = 0; i < v->input_count; i++)
    sizes[i] = eg_vjp_type(v, i)->dims[axis];
  const eg_attr slots[] = {eg_int_attr(axis), eg_ints_attr(sizes, v->input_count)};
  eg_build_results(v->b, EG_OP_SPLIT, slots, v->cotangents, 1, parts);
  for (uint32_t i = 0; i < v->input_count; i++)
    if (v->wanted[i]) v->out[i] = parts[i];
  return v->b->status;
}

// Emits the cotangent of a split: concatenates the cotangents of the parts; parts without
// a cotangent are zeros.
static egraph_status split_rule(const eg_vjp *v, eg_arena *arena) {
  eg_ref *parts;
  EG_TRY(eg_arena_alloc(arena, v->result_count, sizeof *parts, &parts));
  for (uint32_t i = 0; i < v->result_count; i++) {
    parts[i] = v->cotangents[i];
    if (!eg_ref_exists(parts[i]))
      parts[i] = eg_build_fill(v->b, eg_build_type(v->b, v->results[i]), 0);
  }
  const eg_attr *axis = eg_attr_at(v->attrs, EG_A_SPLIT_AXIS);
  v->out[0] = eg_build_node(v->b, EG_OP_CONCAT, axis, parts, v->result_count);
  return v->b->status;
}

static void with_arena(const eg_vjp *v,
                       egraph_status (*rule)(const eg_vjp *v, eg_arena *arena)) {
  EG_LOCAL(eg_arena, arena, v->b->alloc);
  eg_build_keep(v->b, rule(v, &arena));
}

void eg_vjp_concat(const eg_vjp *v) { with_arena(v, concat_rule); }
void eg_vjp_split(const eg_vjp *v) { with_arena(v, split_rule); }

// ---- slice and pad --------------------------------------------------------------

// Puts step - 1 zeros between the elements of a dimension: [.., n, ..] as [.., n, 1, ..],
// padded to [.., n, step, ..], flattened, and cut behind the last element.
static eg_ref spread_over_axis(const eg_vjp *v, eg_ref x, uint32_t dim, int64_t step) {
  assert(step >= 1);
  eg_builder *b = v->b;
  eg_type type = *eg_build_type(b, x);
  int64_t wide[EGRAPH_MAX_RANK];
  int64_t zeros[EGRAPH_MAX_RANK] = {0}, ends[EGRAPH_MAX_RANK] = {0};
  if (type.rank == EGRAPH_MAX_RANK) {
    eg_vjp_refuse(v, "with steps for tensors of the highest rank; reshape it first");
    return EG_REF_NONE;
  }
  for (uint32_t i = 0; i <= type.rank; i++)
    wide[i] = i <= dim ? type.dims[i] : i == dim + 1 ? 1 : type.dims[i - 1];
  eg_ref apart = eg_build_reshape(b, x, type.rank + 1, wide);
  ends[dim + 1] = step - 1;
  eg_ref padded = eg_build_pad(b, apart, zeros, ends);
  int64_t kept = (type.dims[dim] - 1) * step + 1;
  type.dims[dim] *= step;
  eg_ref flat = eg_build_reshape(b, padded, type.rank, type.dims);
  type.dims[dim] = kept;
  return eg_build_slice(b, flat, zeros, type.dims, NULL);
}

static eg_ref reverse(eg_builder *b, eg_ref x, uint32_t dim) {
  const eg_type *type = eg_build_type(b, x);
  int64_t starts[EGRAPH_MAX_RANK] = {0}, ends[EGRAPH_MAX_RANK], steps[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++) {
    ends[i] = type->dims[i];
    steps[i] = 1;
  }
  starts[dim] = type->dims[dim] - 1;
  ends[dim] = steps[dim] = -1;
  return eg_build_slice(b, x, starts, ends, steps);
}

void eg_vjp_slice(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, 0), *y = eg_build_type(b, v->results[0]);
  eg_ints starts = eg_attr_at(v->attrs, EG_A_SLICE_STARTS)->ints;
  eg_ints steps = eg_attr_at(v->attrs, EG_A_SLICE_STEPS)->ints;
  if (eg_type_elements(y) == 0) return; // no element of x is read
  int64_t begins[EGRAPH_MAX_RANK], ends[EGRAPH_MAX_RANK];
  eg_ref d = v->cotangents[0];
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t count = y->dims[i], step = count == 1 ? 1 : steps.data[i];
    int64_t last = starts.data[i] + (count - 1) * step;
    begins[i] = step < 0 ? last : starts.data[i];
    ends[i] = x->dims[i] - 1 - (step < 0 ? starts.data[i] : last);
    if (step < 0) d = reverse(b, d, i);
    if (step > 1 || step < -1) d = spread_over_axis(v, d, i, step < 0 ? -step : step);
  }
  v->out[0] = eg_build_pad(b, d, begins, ends);
}

// ---- by a matrix per dimension --------------------------------------------------

// Multiplies d along a dimension by the transpose of `matrix` [m, n]: the result of a
// separable, linear operator on dimension 0 of an identity matrix [n, n]. The matrix is
// computed from constants.
static eg_ref apply_transposed(eg_builder *b, eg_ref d, uint32_t dim, eg_ref matrix) {
  assert(dim < eg_build_type(b, d)->rank || b->status != EGRAPH_OK);
  eg_type type = *eg_build_type(b, d);
  int64_t sizes[EGRAPH_MAX_RANK + 1];
  eg_labels labels[2] = {{.rank = type.rank}};
  uint8_t other = (uint8_t)type.rank;
  for (uint32_t i = 0; i < type.rank; i++) {
    labels[0].label[i] = (uint8_t)i;
    sizes[i] = type.dims[i];
  }
  eg_labels to = labels[0];
  sizes[other] = eg_build_type(b, matrix)->dims[1];
  labels[1] = (eg_labels){.rank = 2, .label = {(uint8_t)dim, other}};
  to.label[dim] = other;
  type.dims[dim] = sizes[other];
  return eg_build_contract(b, (const eg_ref[]){d, matrix}, labels, 2, sizes, &to, &type);
}

static eg_ref identity(eg_builder *b, int64_t n) {
  eg_attr slots[4];
  eg_attrs_defaults(EG_OP_EYE, slots);
  slots[EG_A_EYE_DTYPE - EG_A_BASE_EYE].i = (int64_t)b->dtype;
  slots[EG_A_EYE_N - EG_A_BASE_EYE].i = n;
  return eg_build_node(b, EG_OP_EYE, slots, NULL, 0);
}

/// Memory for list attributes of the operator that apply_transposed applies to a matrix.
typedef struct along_room {
  int64_t list[4];
  double scales[2], roi[4];
} along_room;
/// Fills the attributes for applying the operator to the matrix of dimension `dim`.
typedef void (*along)(const eg_vjp *v, uint32_t dim, along_room *room, eg_attr *slots);
/// True when the operator copies dimension `dim` unchanged.
typedef bool (*copies)(const eg_vjp *v, uint32_t dim);

static eg_ref back_through_matrices(const eg_vjp *v, copies is_copy, along attrs_along) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, 0);
  eg_ref d = v->cotangents[0];
  for (uint32_t i = 0; i < x->rank && b->status == EGRAPH_OK; i++) {
    if (is_copy(v, i)) continue;
    eg_attr slots[12];
    along_room room;
    for (uint32_t s = 0; s < v->attrs->count; s++)
      slots[s] = v->attrs->slots[s];
    attrs_along(v, i, &room, slots);
    eg_ref whole = identity(b, x->dims[i]);
    eg_ref matrix = eg_build_node(b, (eg_op)v->attrs->op, slots, &whole, 1);
    if (b->status == EGRAPH_OK) d = apply_transposed(b, d, i, matrix);
  }
  return d;
}

static bool keeps_size(const eg_vjp *v, uint32_t dim) {
  return eg_vjp_type(v, 0)->dims[dim] == eg_build_type(v->b, v->results[0])->dims[dim];
}

static void pad_along(const eg_vjp *v, uint32_t dim, along_room *room, eg_attr *slots) {
  eg_ints pads = eg_attr_at(v->attrs, EG_A_PAD_PADS)->ints;
  int64_t *list = room->list;
  list[0] = pads.data[dim];
  list[2] = pads.data[dim + pads.len / 2];
  list[1] = list[3] = 0;
  slots[EG_A_PAD_PADS - EG_A_BASE_PAD].ints = (eg_ints){list, 4};
}

static void resize_along(const eg_vjp *v, uint32_t dim, along_room *room,
                         eg_attr *slots) {
  const eg_type *x = eg_vjp_type(v, 0);
  eg_attr *scales = &slots[EG_A_RESIZE_SCALES - EG_A_BASE_RESIZE];
  eg_attr *roi = &slots[EG_A_RESIZE_ROI - EG_A_BASE_RESIZE];
  room->list[0] = eg_build_type(v->b, v->results[0])->dims[dim];
  room->list[1] = x->dims[dim];
  slots[EG_A_RESIZE_SHAPE - EG_A_BASE_RESIZE].ints = (eg_ints){room->list, 2};
  if (scales->floats.len != 0) {
    room->scales[0] = scales->floats.data[dim];
    room->scales[1] = 1.0;
    scales->floats = (eg_floats){room->scales, 2};
  }
  if (roi->floats.len != 0) {
    room->roi[0] = roi->floats.data[dim];
    room->roi[1] = 0.0;
    room->roi[2] = roi->floats.data[dim + x->rank];
    room->roi[3] = 1.0;
    roi->floats = (eg_floats){room->roi, 4};
  }
}

static bool resize_copies(const eg_vjp *v, uint32_t dim) {
  eg_resize_axis axis = eg_resize_axis_of(v->attrs, eg_vjp_type(v, 0),
                                          eg_build_type(v->b, v->results[0]), dim);
  return eg_resize_is_copy(&axis);
}

void eg_vjp_resize(const eg_vjp *v) {
  if (eg_attr_at(v->attrs, EG_A_RESIZE_EXTRAPOLATION_VALUE)->f != 0.0) {
    eg_vjp_refuse(v, "with an extrapolation value");
    return;
  }
  v->out[0] = back_through_matrices(v, resize_copies, resize_along);
}

void eg_vjp_pad(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, 0);
  eg_ints pads = eg_attr_at(v->attrs, EG_A_PAD_PADS)->ints;
  int64_t ends[EGRAPH_MAX_RANK];
  if (eg_attr_at(v->attrs, EG_A_PAD_MODE)->i != 0) {
    v->out[0] = back_through_matrices(v, keeps_size, pad_along);
    return;
  }
  for (uint32_t i = 0; i < x->rank; i++)
    ends[i] = pads.data[i] + x->dims[i];
  v->out[0] = eg_build_slice(v->b, v->cotangents[0], pads.data, ends, NULL);
}

// ---- copies ---------------------------------------------------------------------

// Emits the cotangent of tile: splits each dimension of the result into repeats and
// elements, and sums over the repeats.
static eg_ref tile_rule(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, 0);
  eg_ints repeats = eg_attr_at(v->attrs, EG_A_TILE_REPEATS)->ints;
  int64_t dims[2 * EGRAPH_MAX_RANK];
  uint32_t rank = 0, repeated = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (repeats.data[i] != 1) {
      repeated |= UINT32_C(1) << rank;
      dims[rank++] = repeats.data[i];
    }
    dims[rank++] = x->dims[i];
  }
  if (rank > EGRAPH_MAX_RANK) {
    eg_vjp_refuse(v, "for so many repeated dimensions; use one tile for each");
    return EG_REF_NONE;
  }
  eg_ref apart = eg_build_reshape(v->b, v->cotangents[0], rank, dims);
  return eg_build_reduce(v->b, EG_OP_REDUCE_SUM, apart, repeated, false);
}

void eg_vjp_expand(const eg_vjp *v) {
  bool tiles = v->attrs->op == EG_OP_TILE;
  v->out[0] =
      tiles ? tile_rule(v) : eg_build_sum_to(v->b, v->cotangents[0], eg_vjp_type(v, 0));
}

void eg_vjp_gather(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, 0);
  uint32_t axis = eg_axis_of(x, eg_attr_at(v->attrs, EG_A_GATHER_AXIS)->i);
  const eg_attr slots[] = {eg_int_attr(axis), eg_int_attr(x->dims[axis]),
                           *eg_attr_at(v->attrs, EG_A_GATHER_WHOLE),
                           *eg_attr_at(v->attrs, EG_A_GATHER_FIRST)};
  v->out[0] = eg_build_node(v->b, EG_OP_GATHER_GRAD, slots,
                            (const eg_ref[]){v->cotangents[0], v->inputs[1]}, 2);
}

void eg_vjp_enlarge(const eg_vjp *v) {
  const eg_type *x = eg_vjp_type(v, 0), *y = eg_build_type(v->b, v->results[0]);
  int64_t starts[EGRAPH_MAX_RANK], ends[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    starts[i] = (y->dims[i] - x->dims[i]) / 2;
    ends[i] = starts[i] + x->dims[i];
  }
  v->out[0] = eg_build_slice(v->b, v->cotangents[0], starts, ends, NULL);
}

// ---- elements at indices ------------------------------------------------------------

void eg_vjp_trilu(const eg_vjp *v) {
  v->out[0] = eg_build_node(v->b, EG_OP_TRILU, v->attrs->slots, &v->cotangents[0], 1);
}

// Adds every cotangent at the position in x of the element that was read.
static void scatter_back(const eg_vjp *v, eg_op op) {
  enum { ADD = 1 };
  const eg_attr slots[] = {{.kind = EG_ATTR_SYMBOL, .i = ADD}, v->attrs->slots[0]};
  if (!v->wanted[0]) return;
  const eg_ref zeros = eg_build_fill(v->b, eg_vjp_type(v, 0), 0);
  v->out[0] = eg_build_node(v->b, op, slots,
                            (const eg_ref[]){zeros, v->inputs[1], v->cotangents[0]}, 3);
}

void eg_vjp_gather_elements(const eg_vjp *v) { scatter_back(v, EG_OP_SCATTER_ELEMENTS); }

void eg_vjp_gather_nd(const eg_vjp *v) {
  if (eg_attr_at(v->attrs, EG_A_GATHER_ND_BATCH_DIMS)->i != 0)
    eg_vjp_refuse(v, "with batch dimensions; gather without them");
  else
    scatter_back(v, EG_OP_SCATTER_ND);
}

// Reverses the cotangent: reversing twice gives the same elements.
void eg_vjp_reverse_sequence(const eg_vjp *v) {
  v->out[0] = eg_build_node(v->b, EG_OP_REVERSE_SEQUENCE, v->attrs->slots,
                            (const eg_ref[]){v->cotangents[0], v->inputs[1]}, 2);
}
