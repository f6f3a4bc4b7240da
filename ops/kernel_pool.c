// Pooling over any number of spatial dimensions, plane by plane on the rows of
// kernel_window.h. average-pool divides by the positions inside of the input, or, with
// count_include_pad, inside of the padded input: what ceil_mode adds beyond the
// padding never counts. A window that meets no input at all gives the lowest value
// (max) or zero (average).
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/kernel_math.h"
#include "ops/kernel_window.h"
#include "ops/kernels.h"

#define MAX_PLANE(suffix, type, lowest)                                                  \
  EG_KERNEL_CLONES static void max_plane_##suffix(                                       \
      const eg_window_rows *rows, const void *plane, int64_t count, void *to) {          \
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
  EG_KERNEL_CLONES static void average_plane_##suffix(                                   \
      const eg_window_rows *rows, const void *plane, int64_t count,                      \
      const double *divisors, double *sums, void *to) {                                  \
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
      y[i] = (type)(sums[i] / divisors[i]);                                              \
  }
AVERAGE_PLANE(f32, float)
AVERAGE_PLANE(f64, double)

static void max_plane(eg_wide wide, const eg_window_rows *rows, const void *x,
                      int64_t count, void *y) {
  switch (wide) {
  case EG_WIDE_F32: max_plane_f32(rows, x, count, y); break;
  case EG_WIDE_F64: max_plane_f64(rows, x, count, y); break;
  case EG_WIDE_I64: max_plane_i64(rows, x, count, y); break;
  case EG_WIDE_U64: max_plane_u64(rows, x, count, y); break;
  case EG_WIDE_COUNT: break;
  }
}

static egraph_status run_max(const eg_kernel_call *call, const eg_window *window,
                             eg_wide wide, const eg_window_rows *rows) {
  size_t size = eg_dtype_bytes(call->outputs[0].type.dtype);
  int64_t small = eg_window_small(window), large = eg_window_large(window);
  int64_t planes = eg_dims_product(call->outputs[0].type.dims, 0, 2);
  const unsigned char *x = call->inputs[0].data;
  unsigned char *y = call->outputs[0].data;
  for (int64_t i = 0; i < planes; i++) {
    max_plane(wide, rows, x, small, y);
    x += (size_t)large * size;
    y += (size_t)small * size;
  }
  return EGRAPH_OK;
}

static egraph_status run_average(const eg_kernel_call *call, const eg_window *window,
                                 eg_wide wide, const eg_window_rows *rows) {
  size_t size = eg_dtype_bytes(call->outputs[0].type.dtype);
  int64_t small = eg_window_small(window), large = eg_window_large(window);
  int64_t planes = eg_dims_product(call->outputs[0].type.dims, 0, 2);
  const int64_t *pads = eg_attr_at(call->attrs, EG_A_AVERAGE_POOL_PADS)->ints.data;
  bool include_pad = eg_attr_at(call->attrs, EG_A_AVERAGE_POOL_COUNT_INCLUDE_PAD)->i != 0;
  double *scratch = NULL;
  EG_TRY(eg_alloc(call->alloc, (size_t)small, 2 * sizeof(double), &scratch));
  double *divisors = scratch, *sums = scratch + small;
  eg_window_divisors(window, rows, pads + window->rank, include_pad, divisors);
  const unsigned char *x = call->inputs[0].data;
  unsigned char *y = call->outputs[0].data;
  for (int64_t i = 0; i < planes; i++) {
    if (wide == EG_WIDE_F32)
      average_plane_f32(rows, x, small, divisors, sums, y);
    else
      average_plane_f64(rows, x, small, divisors, sums, y);
    x += (size_t)large * size;
    y += (size_t)small * size;
  }
  eg_free(call->alloc, scratch, (size_t)small, 2 * sizeof(double));
  return EGRAPH_OK;
}

static egraph_status init_window(const eg_kernel_call *call, bool is_max,
                                 eg_window *window) {
  const eg_attrs *attrs = call->attrs;
  const eg_type *y = &call->outputs[0].type, *x = &call->inputs[0].type;
  if (is_max)
    return eg_window_init(window, y, x,
                          eg_attr_at(attrs, EG_A_MAX_POOL_KERNEL_SHAPE)->ints.data,
                          eg_attr_at(attrs, EG_A_MAX_POOL_STRIDES)->ints.data,
                          eg_attr_at(attrs, EG_A_MAX_POOL_PADS)->ints.data,
                          eg_attr_at(attrs, EG_A_MAX_POOL_DILATIONS)->ints.data);
  return eg_window_init(window, y, x,
                        eg_attr_at(attrs, EG_A_AVERAGE_POOL_KERNEL_SHAPE)->ints.data,
                        eg_attr_at(attrs, EG_A_AVERAGE_POOL_STRIDES)->ints.data,
                        eg_attr_at(attrs, EG_A_AVERAGE_POOL_PADS)->ints.data, NULL);
}

egraph_status eg_kernel_pool(const eg_kernel_call *call) {
  bool is_max = eg_kernel_op(call) == EG_OP_MAX_POOL;
  egraph_dtype dtype = call->inputs[0].type.dtype;
  eg_wide wide = EG_WIDE_F32;
  if (!eg_wide_find(dtype, &wide) || (!is_max && !eg_dtype_is_float(dtype)))
    return eg_kernel_refuse(call, dtype);
  eg_window window;
  EG_TRY(init_window(call, is_max, &window));
  eg_window_rows rows;
  eg_window_rows_init(&rows, call->alloc);
  egraph_status status = eg_window_list(&window, &rows);
  if (status == EGRAPH_OK)
    status = is_max ? run_max(call, &window, wide, &rows)
                    : run_average(call, &window, wide, &rows);
  eg_window_rows_deinit(&rows);
  return status;
}

// The whole plane is one window: a row of `pixels` per result.
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
