// Pooling over any number of spatial dimensions, plane by plane, over the rows of
// positions that kernel_window.h describes. average-pool divides by the number of
// positions inside of the input or, with count_include_pad, of the padded input;
// positions that ceil_mode adds beyond the padding never count. A window without input
// gives the lowest value (max) or zero (average).
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/kernel_math.h"
#include "ops/kernel_window.h"
#include "ops/kernels.h"
#include "ops/meaning.h"

/// The windows of a plane: the rows of `count` windows and, for averages, the divisor
/// and the sum of each window.
typedef struct eg_pooling {
  const eg_window_rows *rows;
  int64_t count;
  double *divisors, *sums;
} eg_pooling;

#define MAX_PLANE(suffix, type, lowest)                                                  \
  EG_KERNEL_CLONES static void max_plane_##suffix(const eg_pooling *p,                   \
                                                  const void *plane, void *to) {         \
    const eg_window_rows *rows = p->rows;                                                \
    const int64_t count = p->count;                                                      \
    type *y = to;                                                                        \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = (lowest);                                                                   \
    for (size_t r = 0; r < rows->len; r++) {                                             \
      const eg_window_row row = rows->data[r];                                           \
      const type *x = (const type *)plane + row.large;                                   \
      type *best = y + row.small;                                                        \
      for (int64_t i = 0; i < row.count; i++) {                                          \
        const type value = x[i * row.step];                                              \
        best[i] = EG_MATH_LARGER(best[i], value);                                        \
      }                                                                                  \
    }                                                                                    \
  }
MAX_PLANE(f32, float, -INFINITY)
MAX_PLANE(f64, double, -(double)INFINITY)
MAX_PLANE(i64, int64_t, INT64_MIN)
MAX_PLANE(u64, uint64_t, 0)

#define AVERAGE_PLANE(suffix, type)                                                      \
  EG_KERNEL_CLONES static void average_plane_##suffix(const eg_pooling *p,               \
                                                      const void *plane, void *to) {     \
    const eg_window_rows *rows = p->rows;                                                \
    const int64_t count = p->count;                                                      \
    double *sums = p->sums;                                                              \
    type *y = to;                                                                        \
    for (int64_t i = 0; i < count; i++)                                                  \
      sums[i] = 0.0;                                                                     \
    for (size_t r = 0; r < rows->len; r++) {                                             \
      const eg_window_row row = rows->data[r];                                           \
      const type *x = (const type *)plane + row.large;                                   \
      for (int64_t i = 0; i < row.count; i++)                                            \
        sums[row.small + i] += (double)x[i * row.step];                                  \
    }                                                                                    \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = (type)(sums[i] / p->divisors[i]);                                           \
  }
AVERAGE_PLANE(f32, float)
AVERAGE_PLANE(f64, double)

static egraph_status set_divisors(const eg_kernel_call *call, const eg_window *window,
                                  eg_pooling *p) {
  const int64_t *pads = eg_attr_at(call->attrs, EG_A_AVERAGE_POOL_PADS)->ints.data;
  bool include_pad = eg_attr_at(call->attrs, EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD)->i != 0;
  EG_NEW(call->scratch, (size_t)(2 * p->count), p->divisors);
  p->sums = p->divisors + p->count;
  eg_window_divisors(window, p->rows, pads + window->rank, include_pad, p->divisors);
  return EGRAPH_OK;
}

egraph_status eg_kernel_pool(const eg_kernel_call *call) {
  typedef void (*plane_function)(const eg_pooling *, const void *plane, void *to);
  static const plane_function maxima[EG_WIDE_COUNT] = {max_plane_f32, max_plane_f64,
                                                       max_plane_i64, max_plane_u64};
  static const plane_function averages[EG_WIDE_COUNT] = {average_plane_f32,
                                                         average_plane_f64};
  bool is_max = eg_kernel_op(call) == EG_OP_MAX_POOL;
  egraph_dtype dtype = call->inputs[0].type.dtype;
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(dtype, &wide) || (!is_max && !eg_dtype_is_float(dtype)))
    return eg_kernel_refuse(call, dtype);
  eg_window window;
  EG_TRY(eg_window_of_node(&window, call, &call->outputs[0].type, &call->inputs[0].type));
  EG_LOCAL(eg_window_rows, rows, call->alloc);
  EG_TRY(eg_window_list(&window, &rows));
  eg_pooling p = {.rows = &rows, .count = eg_window_small(&window)};
  if (!is_max) EG_TRY(set_divisors(call, &window, &p));
  size_t size = eg_dtype_bytes(dtype), large = (size_t)eg_window_large(&window) * size;
  const unsigned char *x = call->inputs[0].data;
  unsigned char *y = call->outputs[0].data;
  int64_t planes = eg_dims_product(call->outputs[0].type.dims, 0, 2);
  for (int64_t i = 0; i < planes; i++, x += large, y += (size_t)p.count * size)
    (is_max ? maxima : averages)[wide](&p, x, y);
  return EGRAPH_OK;
}

// Averages whole planes: each result is the mean of `pixels` elements.
#define GLOBAL_AVERAGE(suffix, type)                                                     \
  EG_KERNEL_CLONES static void global_average_##suffix(const type *x, int64_t planes,    \
                                                       int64_t pixels, type *y) {        \
    for (int64_t plane = 0; plane < planes; plane++, x += pixels) {                      \
      double total = 0.0;                                                                \
      EG_MATH_FOLD(double, total, pixels, EG_MATH_LANES, (double)x[i], EG_MATH_ADD);     \
      y[plane] = (type)(total / (double)pixels);                                         \
    }                                                                                    \
  }
GLOBAL_AVERAGE(f32, float)
GLOBAL_AVERAGE(f64, double)

#define GLOBAL_MAX(suffix, type, lowest)                                                 \
  EG_KERNEL_CLONES static void global_max_##suffix(const type *x, int64_t planes,        \
                                                   int64_t pixels, type *y) {            \
    for (int64_t plane = 0; plane < planes; plane++, x += pixels) {                      \
      type best = (lowest);                                                              \
      EG_MATH_FOLD(type, best, pixels, EG_MATH_WIDE_LANES, x[i], EG_MATH_LARGER);        \
      y[plane] = best;                                                                   \
    }                                                                                    \
  }
GLOBAL_MAX(f32, float, -INFINITY)
GLOBAL_MAX(f64, double, -(double)INFINITY)
GLOBAL_MAX(i64, int64_t, INT64_MIN)
GLOBAL_MAX(u64, uint64_t, 0)

egraph_status eg_kernel_global_pool(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  bool is_max = eg_kernel_op(call) == EG_OP_GLOBAL_MAX_POOL;
  int64_t planes = eg_dims_product(type->dims, 0, 2);
  int64_t pixels = eg_dims_product(type->dims, 2, type->rank);
  const void *x = call->inputs[0].data;
  void *y = call->outputs[0].data;
  eg_wide wide = EG_WIDE_COUNT;
  if (!eg_wide_find(type->dtype, &wide) || (!is_max && !eg_dtype_is_float(type->dtype)))
    return eg_kernel_refuse(call, type->dtype);
  switch (wide) {
  case EG_WIDE_F32:
    (is_max ? global_max_f32 : global_average_f32)(x, planes, pixels, y);
    break;
  case EG_WIDE_F64:
    (is_max ? global_max_f64 : global_average_f64)(x, planes, pixels, y);
    break;
  case EG_WIDE_I64: global_max_i64(x, planes, pixels, y); break;
  case EG_WIDE_U64: global_max_u64(x, planes, pixels, y); break;
  case EG_WIDE_COUNT: break;
  }
  return EGRAPH_OK;
}

// ---- places, unpooling, columns, norms ------------------------------------------------

/// A kernel on windows: operand 0 and result 0 in float64; the result is zero at first.
typedef struct work {
  const eg_kernel_call *call;
  eg_window window;
  eg_window_rows *rows;
  const double *x;
  double *y;
  int64_t planes, small, large;
} work;

static egraph_status run_work(const eg_kernel_call *call,
                              egraph_status (*run)(work *work)) {
  assert(call->scratch != NULL && call->input_count > 0);
  EG_LOCAL(eg_window_rows, rows, call->alloc);
  work w = {.call = call, .rows = &rows};
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[0], &w.x));
  EG_NEW(call->scratch, (size_t)eg_type_elements(&call->outputs[0].type), w.y);
  EG_TRY(run(&w));
  eg_kernel_store_doubles(w.y, &call->outputs[0]);
  return EGRAPH_OK;
}

/// Lists the windows that the attributes shared by all pools describe.
static egraph_status list_pool(work *w) {
  const eg_type *x = &w->call->inputs[0].type, *y = &w->call->outputs[0].type;
  EG_TRY(eg_window_of_node(&w->window, w->call, y, x));
  w->planes = eg_dims_product(y->dims, 0, 2);
  w->small = eg_window_small(&w->window);
  w->large = eg_window_large(&w->window);
  return eg_window_list(&w->window, w->rows);
}

// ---- pools --------------------------------------------------------------------------

static egraph_status run_lp(work *w) {
  double p = (double)eg_attr_at(w->call->attrs, EG_A_LP_POOL_P)->i, *y = w->y;
  EG_TRY(list_pool(w));
  for (int64_t plane = 0; plane < w->planes; plane++)
    for (size_t r = 0; r < w->rows->len; r++) {
      const eg_window_row row = w->rows->data[r];
      for (int64_t i = 0; i < row.count; i++)
        y[plane * w->small + row.small + i] +=
            pow(fabs(w->x[plane * w->large + row.large + i * row.step]), p);
    }
  for (int64_t i = 0; i < w->planes * w->small; i++)
    y[i] = pow(y[i], 1.0 / p);
  return EGRAPH_OK;
}

egraph_status eg_kernel_lp_pool(const eg_kernel_call *call) {
  return run_work(call, run_lp);
}

/// Converts a position to the order in which the first spatial dimension runs fastest.
static int64_t transposed_place(const eg_window *window, int64_t place) {
  int64_t index[EGRAPH_MAX_RANK], out = 0;
  for (uint32_t d = window->rank; d-- > 0; place /= window->large[d])
    index[d] = place % window->large[d];
  for (uint32_t d = window->rank; d-- > 0;)
    out = out * window->large[d] + index[d];
  return out;
}

static egraph_status run_indices(work *w) {
  bool transposes =
      eg_attr_at(w->call->attrs, EG_A_MAX_POOL_INDICES_STORAGE_ORDER)->i != 0;
  int64_t *places;
  EG_TRY(list_pool(w));
  EG_NEW(w->call->scratch, (size_t)w->small, places);
  for (int64_t plane = 0; plane < w->planes; plane++) {
    eg_window_maxima(w->rows, w->x + plane * w->large, w->small, w->y + plane * w->small,
                     places);
    for (int64_t i = 0; i < w->small; i++) {
      int64_t place = places[i]; // -1: the window has no input
      if (place >= 0 && transposes) place = transposed_place(&w->window, place);
      if (place >= 0) place += plane * w->large;
      eg_tensor_set_int(&w->call->outputs[1], plane * w->small + i, place);
    }
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_max_pool_indices(const eg_kernel_call *call) {
  return run_work(call, run_indices);
}

// Puts elements at their positions in the unpooled result. Positions count in the shape
// that the kernel unpools to, which is the front part of the result.
static egraph_status run_unpool(work *w) {
  const eg_type *x = &w->call->inputs[0].type, *y = &w->call->outputs[0].type;
  const eg_attrs *attrs = w->call->attrs;
  int64_t dims[EGRAPH_MAX_RANK] = {x->dims[0], x->dims[1]}, strides[EGRAPH_MAX_RANK];
  for (uint32_t d = 0; d + 2 < x->rank; d++)
    dims[d + 2] =
        (x->dims[d + 2] - 1) * eg_attr_at(attrs, EG_A_MAX_UNPOOL_STRIDES)->ints.data[d] +
        eg_attr_at(attrs, EG_A_MAX_UNPOOL_KERNEL_SHAPE)->ints.data[d] -
        eg_attr_at(attrs, EG_A_MAX_UNPOOL_PADS)->ints.data[d] -
        eg_attr_at(attrs, EG_A_MAX_UNPOOL_PADS)->ints.data[d + x->rank - 2];
  eg_dims_strides(y->rank, y->dims, strides);
  int64_t all = eg_dims_product(dims, 0, x->rank);
  for (int64_t i = 0; i < eg_type_elements(x); i++) {
    int64_t place = eg_tensor_get_int(&w->call->inputs[1], i), at = 0;
    bool fits = place >= 0 && place < all;
    for (uint32_t d = x->rank; fits && d-- > 0; place /= dims[d]) {
      int64_t index = place % dims[d];
      fits = index < y->dims[d];
      at += index * strides[d];
    }
    if (!fits)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "max-unpool: place %" PRId64 " is outside",
                     eg_tensor_get_int(&w->call->inputs[1], i));
    w->y[at] = w->x[i];
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_max_unpool(const eg_kernel_call *call) {
  return run_work(call, run_unpool);
}

/// Lists the windows of which im2col makes columns.
static egraph_status list_columns(const eg_kernel_call *call, const eg_type *image,
                                  eg_window *window, eg_window_rows *rows) {
  eg_windows w;
  eg_type places = *image;
  (void)eg_op_windows(call->attrs, NULL, 0, &w);
  for (uint32_t d = 0; d < w.kernel.len; d++) {
    int64_t reach = (w.kernel.data[d] - 1) * w.dilations.data[d] + 1;
    int64_t padded = image->dims[d + 2] + w.pads.data[d] + w.pads.data[d + w.kernel.len];
    places.dims[d + 2] = (padded - reach) / w.strides.data[d] + 1;
  }
  EG_TRY(eg_window_init(window, &places, image, w.kernel.data, w.strides.data,
                        w.pads.data, w.dilations.data));
  return eg_window_list(window, rows);
}

egraph_status eg_kernel_im2col(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  size_t size = eg_dtype_bytes(x->type.dtype);
  eg_window window;
  EG_LOCAL(eg_window_rows, rows, call->alloc);
  if (eg_type_elements(&y->type) == 0) return EGRAPH_OK;
  EG_TRY(list_columns(call, &x->type, &window, &rows));
  size_t small = (size_t)eg_window_small(&window), taps = (size_t)eg_window_taps(&window);
  size_t large = (size_t)eg_window_large(&window);
  size_t planes = (size_t)eg_dims_product(x->type.dims, 0, 2);
  memset(y->data, 0, planes * taps * small * size);
  for (size_t plane = 0; plane < planes; plane++)
    for (size_t r = 0; r < rows.len; r++) {
      const eg_window_row row = rows.data[r];
      size_t run = row.step == 1 ? (size_t)row.count : 1; // elements that are neighbours
      size_t step = (size_t)row.step * size;
      const unsigned char *from =
          (const unsigned char *)x->data + (plane * large + (size_t)row.large) * size;
      unsigned char *to =
          (unsigned char *)y->data +
          ((plane * taps + (size_t)row.tap) * small + (size_t)row.small) * size;
      for (size_t i = 0; i < (size_t)row.count; i += run, from += step)
        memcpy(to + i * size, from, run * size);
    }
  return EGRAPH_OK;
}

static egraph_status run_col2im(work *w) {
  const eg_type *y = &w->call->outputs[0].type;
  EG_TRY(list_columns(w->call, y, &w->window, w->rows));
  int64_t places = eg_window_small(&w->window), pixels = eg_window_large(&w->window);
  int64_t taps = eg_window_taps(&w->window);
  for (int64_t plane = 0; plane < y->dims[0] * y->dims[1]; plane++)
    for (size_t r = 0; r < w->rows->len; r++) {
      const eg_window_row row = w->rows->data[r];
      for (int64_t i = 0; i < row.count; i++)
        w->y[plane * pixels + row.large + i * row.step] +=
            w->x[(plane * taps + row.tap) * places + row.small + i];
    }
  return EGRAPH_OK;
}

egraph_status eg_kernel_col2im(const eg_kernel_call *call) {
  return run_work(call, run_col2im);
}

// ---- norms and determinants ---------------------------------------------------------

static egraph_status run_lp_norm(work *w) {
  eg_axis_view view = eg_axis_view_of(&w->call->inputs[0].type,
                                      eg_attr_at(w->call->attrs, EG_A_LP_NORM_AXIS)->i);
  bool squares = eg_attr_at(w->call->attrs, EG_A_LP_NORM_P)->i == 2;
  for (int64_t o = 0; o < view.outer; o++)
    for (int64_t i = 0; i < view.inner; i++) {
      int64_t first = o * view.size * view.inner + i;
      double norm = 0.0;
      for (int64_t k = 0; k < view.size; k++) {
        double value = w->x[first + k * view.inner];
        norm += squares ? value * value : fabs(value);
      }
      if (squares) norm = sqrt(norm);
      for (int64_t k = 0; k < view.size; k++)
        w->y[first + k * view.inner] =
            norm == 0.0 ? 0.0 : w->x[first + k * view.inner] / norm;
    }
  return EGRAPH_OK;
}

egraph_status eg_kernel_lp_norm(const eg_kernel_call *call) {
  return run_work(call, run_lp_norm);
}
