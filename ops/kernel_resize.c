// Resize to the result's shape. All modes are separable: per dimension and result
// position there are taps (resize.h). Nearest moves elements as they are stored. The
// others go dimension by dimension, so their cost does not grow with 2^rank.
// SPDX-License-Identifier: Apache-2.0
#include "ops/kernels.h"
#include "ops/move.h"
#include "ops/resize.h"

static int64_t symbol_of(const eg_kernel_call *call, eg_attr_slot slot) {
  return eg_attr_at(call->attrs, slot)->i;
}

static double fill_of(const eg_kernel_call *call) {
  return eg_attr_at(call->attrs, EG_A_RESIZE_EXTRAPOLATION_VALUE)->f;
}

static eg_resize_axis axis_of(const eg_kernel_call *call, uint32_t dim) {
  return eg_resize_axis_of(call->attrs, &call->inputs[0].type, &call->outputs[0].type,
                           dim);
}

// Only cropping has values for what is outside.
static bool is_outside(const eg_resize_axis *axis, float at) {
  return axis->coordinates == EG_RESIZE_TF_CROP_AND_RESIZE &&
         !(at >= 0.0f && at <= (float)(axis->from - 1));
}

// ---- nearest ------------------------------------------------------------------------

static egraph_status run_nearest(const eg_kernel_call *call, eg_arena *arena) {
  const eg_type *from = &call->inputs[0].type;
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_dims_strides(from->rank, from->dims, strides);
  eg_move move;
  EG_TRY(eg_move_init(&move, arena, &call->outputs[0].type));
  eg_tensor fill = {.type = eg_type_of(from->dtype, 0, NULL), .data = move.fill};
  eg_tensor_set_double(&fill, 0, fill_of(call));
  for (uint32_t d = 0; d < from->rank; d++) {
    eg_resize_axis axis = axis_of(call, d);
    bool is_copy = eg_resize_is_copy(&axis);
    for (int64_t i = 0; i < move.dims[d]; i++) {
      float at = is_copy ? 0.0f : eg_resize_source(&axis, i);
      int64_t place = is_copy ? i : eg_resize_nearest(&axis, at);
      move.map[d][i] =
          !is_copy && is_outside(&axis, at) ? EG_MOVE_FILL : place * strides[d];
    }
  }
  eg_move_run(&move, call->inputs[0].data, call->outputs[0].data);
  return EGRAPH_OK;
}

// ---- filters ------------------------------------------------------------------------

// Resizes one dimension of [outer, from, inner] doubles to `to`, which is zero before.
static void resize_dim(const double *x, const eg_axis_view *view, int64_t to,
                       const eg_resize_taps *t, double *y) {
  for (int64_t o = 0; o < view->outer; o++)
    for (int64_t i = 0; i < to; i++) {
      double *out = y + (o * to + i) * view->inner;
      for (int64_t k = i * t->count; k < (i + 1) * t->count; k++) {
        const double *in = x + (o * view->size + t->place[k]) * view->inner;
        double weight = t->weight[k];
        for (int64_t j = 0; j < view->inner; j++)
          out[j] += in[j] * weight;
      }
    }
}

// Results whose place is outside along some dimension.
static void fill_outside(const eg_kernel_call *call, uint32_t dim,
                         const eg_resize_axis *axis) {
  const eg_tensor *y = &call->outputs[0];
  eg_axis_view view = eg_axis_view_of(&y->type, dim);
  for (int64_t i = 0; i < view.size; i++) {
    if (!is_outside(axis, eg_resize_source(axis, i))) continue;
    for (int64_t o = 0; o < view.outer; o++)
      for (int64_t j = 0; j < view.inner; j++)
        eg_tensor_set_double(y, (o * view.size + i) * view.inner + j, fill_of(call));
  }
}

static egraph_status run_filters(const eg_kernel_call *call, eg_arena *arena) {
  eg_tensor now = call->inputs[0];
  const eg_type *result = &call->outputs[0].type;
  now.type.dtype = EGRAPH_FLOAT64;
  EG_TRY(eg_arena_alloc(arena, (size_t)eg_type_elements(&now.type), sizeof(double),
                        &now.data));
  eg_tensor_convert(&call->inputs[0], &now);
  for (uint32_t d = 0; d < result->rank; d++) {
    eg_resize_axis axis = axis_of(call, d);
    if (eg_resize_is_copy(&axis)) continue;
    eg_axis_view view = eg_axis_view_of(&now.type, d);
    eg_tensor next = {.type = now.type};
    eg_resize_taps t;
    next.type.dims[d] = result->dims[d];
    EG_TRY(eg_resize_taps_of(call->attrs, &axis, arena, &t));
    EG_TRY(eg_arena_alloc(arena, (size_t)eg_type_elements(&next.type), sizeof(double),
                          &next.data));
    resize_dim(now.data, &view, result->dims[d], &t, next.data);
    now = next;
  }
  eg_tensor_convert(&now, &call->outputs[0]);
  for (uint32_t d = 0; d < result->rank; d++) {
    eg_resize_axis axis = axis_of(call, d);
    if (!eg_resize_is_copy(&axis)) fill_outside(call, d, &axis);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_resize(const eg_kernel_call *call) {
  if (eg_type_elements(&call->inputs[0].type) == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "resize: the input is empty, there is nothing to enlarge");
  bool is_nearest = symbol_of(call, EG_A_RESIZE_MODE) == EG_RESIZE_NEAREST;
  eg_arena arena;
  eg_arena_init(&arena, call->alloc);
  egraph_status status =
      is_nearest ? run_nearest(call, &arena) : run_filters(call, &arena);
  eg_arena_deinit(&arena);
  return status;
}
