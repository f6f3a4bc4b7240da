// Resize to the result's shape. Both modes are separable: per dimension and result
// position a table has two input positions and the weight of the second one (linear),
// or one position (nearest, rounding half down, ONNX's default). Linear goes
// dimension by dimension, so its cost does not grow with 2^rank; dimensions that keep
// their size are skipped.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "ops/kernels.h"
#include "ops/move.h"

enum { NEAREST, LINEAR };
enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS };

// Where position i of `to` lies among the `from` positions of the input.
static double source_of(int64_t i, int64_t from, int64_t to, int64_t coordinates) {
  double scale = (double)to / (double)from;
  if (coordinates == ASYMMETRIC) return (double)i / scale;
  if (coordinates == HALF_PIXEL) return ((double)i + 0.5) / scale - 0.5;
  return to > 1 ? (double)i * (double)(from - 1) / (double)(to - 1) : 0.0;
}

static int64_t clamp_index(double at, int64_t size) {
  if (at < 0.0) return 0;
  return at > (double)(size - 1) ? size - 1 : (int64_t)at;
}

static egraph_status run_nearest(const eg_kernel_call *call, eg_arena *arena) {
  const eg_type *from = &call->inputs[0].type;
  int64_t coordinates = eg_attr_at(call->attrs, EG_A_RESIZE_COORDINATES)->i;
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_dims_strides(from->rank, from->dims, strides);
  eg_move move;
  EG_TRY(eg_move_init(&move, arena, &call->outputs[0].type));
  for (uint32_t d = 0; d < from->rank; d++)
    for (int64_t i = 0; i < move.dims[d]; i++) {
      double at = source_of(i, from->dims[d], move.dims[d], coordinates);
      move.map[d][i] = clamp_index(ceil(at - 0.5), from->dims[d]) * strides[d];
    }
  eg_move_run(&move, call->inputs[0].data, call->outputs[0].data);
  return EGRAPH_OK;
}

// Resizes one dimension of [outer, from, inner] doubles to `to`.
static void resize_dim(const double *x, const eg_axis_view *view, int64_t to,
                       int64_t coordinates, double *y) {
  for (int64_t i = 0; i < to; i++) {
    double at = source_of(i, view->size, to, coordinates), low = floor(at);
    int64_t first = clamp_index(low, view->size),
            second = clamp_index(low + 1.0, view->size);
    double weight = at - low;
    for (int64_t o = 0; o < view->outer; o++) {
      const double *a = x + (o * view->size + first) * view->inner;
      const double *b = x + (o * view->size + second) * view->inner;
      double *out = y + (o * to + i) * view->inner;
      for (int64_t k = 0; k < view->inner; k++)
        out[k] = a[k] * (1.0 - weight) + b[k] * weight;
    }
  }
}

static egraph_status run_linear(const eg_kernel_call *call, eg_arena *arena) {
  eg_tensor now = call->inputs[0];
  const eg_type *result = &call->outputs[0].type;
  int64_t coordinates = eg_attr_at(call->attrs, EG_A_RESIZE_COORDINATES)->i;
  now.type.dtype = EGRAPH_FLOAT64;
  EG_TRY(eg_arena_alloc(arena, (size_t)eg_type_elements(&now.type), sizeof(double),
                        &now.data));
  eg_tensor_convert(&call->inputs[0], &now);
  for (uint32_t d = 0; d < result->rank; d++) {
    if (result->dims[d] == now.type.dims[d]) continue;
    eg_axis_view view = eg_axis_view_of(&now.type, d);
    eg_tensor next = {.type = now.type};
    next.type.dims[d] = result->dims[d];
    EG_TRY(eg_arena_alloc(arena, (size_t)eg_type_elements(&next.type), sizeof(double),
                          &next.data));
    resize_dim(now.data, &view, result->dims[d], coordinates, next.data);
    now = next;
  }
  eg_tensor_convert(&now, &call->outputs[0]);
  return EGRAPH_OK;
}

egraph_status eg_kernel_resize(const eg_kernel_call *call) {
  if (eg_type_elements(&call->inputs[0].type) == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "resize: the input is empty, there is nothing to enlarge");
  bool is_linear = eg_attr_at(call->attrs, EG_A_RESIZE_MODE)->i == LINEAR;
  eg_arena arena;
  eg_arena_init(&arena, call->alloc);
  egraph_status status = is_linear ? run_linear(call, &arena) : run_nearest(call, &arena);
  eg_arena_deinit(&arena);
  return status;
}
