// Resize to the result's shape. All modes are separable: per dimension and result
// position there are taps, positions of the operand with weights. Nearest has one of
// weight 1 and moves elements as they are stored. The others go dimension by dimension,
// so their cost does not grow with 2^rank. Filters of antialiased samples stretch with
// the operand; taps beyond the border read the element on it.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

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

/// `count` taps for every result position.
typedef struct taps {
  int64_t count;
  int64_t *place;
  double *weight;
} taps;

typedef struct filter {
  eg_resize_mode mode;
  double a;       // of the cubic
  double stretch; // below 1: the filter is wider by its inverse
  bool excludes;
  bool normalizes;
} filter;

static double filter_at(const filter *f, double x) {
  double a = f->a;
  x = fabs(x);
  if (f->mode == EG_RESIZE_LINEAR) return x < 1.0 ? 1.0 - x : 0.0;
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

static filter filter_of(const eg_kernel_call *call, const eg_resize_axis *axis) {
  bool antialias = symbol_of(call, EG_A_RESIZE_ANTIALIAS) != 0;
  bool excludes = symbol_of(call, EG_A_RESIZE_EXCLUDE_OUTSIDE) != 0;
  return (filter){.mode = (eg_resize_mode)symbol_of(call, EG_A_RESIZE_MODE),
                  .a = eg_attr_at(call->attrs, EG_A_RESIZE_CUBIC_COEFF_A)->f,
                  .stretch = antialias && axis->scale < 1.0f ? (double)axis->scale : 1.0,
                  .excludes = excludes,
                  .normalizes = antialias || excludes};
}

/// A place as an integer, at most one operand away from it: further ones are all alike.
static int64_t bounded(double place, int64_t size) {
  double low = -(double)size - 4.0, high = 2.0 * (double)size + 4.0;
  return (int64_t)(!(place > low) ? low : place > high ? high : place);
}

static int64_t clamp_index(int64_t at, int64_t size) {
  return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static void set_taps(const filter *f, int64_t size, double at, int64_t first,
                     int64_t count, int64_t *place, double *weight) {
  int64_t low = bounded(floor(at), size);
  double rest = at - floor(at), sum = 0.0;
  for (int64_t k = 0; k < count; k++) {
    int64_t there = low + first + k;
    bool is_in = there >= 0 && there < size;
    place[k] = clamp_index(there, size);
    weight[k] = f->excludes && !is_in
                    ? 0.0
                    : filter_at(f, f->stretch * ((double)(first + k) - rest));
    sum += weight[k];
  }
  for (int64_t k = 0; f->normalizes && sum != 0.0 && k < count; k++)
    weight[k] /= sum;
}

static egraph_status make_taps(const eg_kernel_call *call, const eg_resize_axis *axis,
                               eg_arena *arena, taps *out) {
  filter f = filter_of(call, axis);
  double reach = f.mode == EG_RESIZE_LINEAR ? 1.0 : 2.0;
  int64_t first = (int64_t)floor(-reach / f.stretch) + 1;
  out->count = 2 - 2 * first;
  size_t room = (size_t)axis->to * (size_t)out->count;
  EG_TRY(eg_arena_alloc(arena, room, sizeof *out->place, &out->place));
  EG_TRY(eg_arena_alloc(arena, room, sizeof *out->weight, &out->weight));
  for (int64_t i = 0; i < axis->to; i++)
    set_taps(&f, axis->from, (double)eg_resize_source(axis, i), first, out->count,
             out->place + i * out->count, out->weight + i * out->count);
  return EGRAPH_OK;
}

// Resizes one dimension of [outer, from, inner] doubles to `to`, which is zero before.
static void resize_dim(const double *x, const eg_axis_view *view, int64_t to,
                       const taps *t, double *y) {
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
    taps t;
    next.type.dims[d] = result->dims[d];
    EG_TRY(make_taps(call, &axis, arena, &t));
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
