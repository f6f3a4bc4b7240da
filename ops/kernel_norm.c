// Normalizations. Layer, RMS, group and instance normalization share one loop over rows
// (statistics of a contiguous row in float64, then scale and shift); batch normalization
// reads its statistics from operands; LRN sums over neighbouring channels.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/kernel_math.h"
#include "ops/kernels.h"

// Computes y = (x - mean) * scale + shift over a row.
#define AFFINE_ROW(suffix, type)                                                         \
  EG_KERNEL_CLONES static void affine_##suffix(                                          \
      const type *x, int64_t count, double mean, double scale, double shift, type *y) {  \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = (type)(((double)x[i] - mean) * scale + shift);                              \
  }
AFFINE_ROW(f32, float)
AFFINE_ROW(f64, double)

egraph_status eg_kernel_batch_norm(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  double epsilon = eg_attr_at(call->attrs, EG_A_BATCH_NORM_EPSILON)->f;
  int64_t channels = type->rank > 1 ? type->dims[1] : 1;
  int64_t pixels = type->rank > 2 ? eg_dims_product(type->dims, 2, type->rank) : 1;
  size_t bytes = (size_t)pixels * eg_dtype_bytes(type->dtype);
  const unsigned char *x = call->inputs[0].data;
  unsigned char *y = call->outputs[0].data;
  for (int64_t i = 0; i < type->dims[0] * channels; i++, x += bytes, y += bytes) {
    int64_t c = i % channels;
    double mean = eg_tensor_get_double(&call->inputs[3], c);
    double variance = eg_tensor_get_double(&call->inputs[4], c);
    double shift = eg_tensor_get_double(&call->inputs[2], c);
    double scale = eg_tensor_get_double(&call->inputs[1], c) / sqrt(variance + epsilon);
    EG_KERNEL_FLOATS(call, type->dtype, affine, (const void *)x, pixels, mean, scale,
                     shift, (void *)y);
  }
  return EGRAPH_OK;
}

// Rows of `count` elements; scale and shift for element i of row r are at r % table_rows
// * table_step + i / spread. `shift` NULL: all 0.
typedef struct eg_row_norm {
  int64_t rows, count;
  int64_t table_rows, table_step, spread;
  const double *scale, *shift;
  double epsilon;
  bool is_centred; // the mean is subtracted
} eg_row_norm;

#define NORM_ROWS(suffix, type)                                                          \
  EG_KERNEL_CLONES static void norm_##suffix(const eg_row_norm *norm, const type *x,     \
                                             type *y) {                                  \
    for (int64_t r = 0; r < norm->rows; r++, x += norm->count, y += norm->count) {       \
      double total = 0.0, squares = 0.0, size = (double)norm->count;                     \
      if (norm->is_centred)                                                              \
        EG_MATH_FOLD(double, total, norm->count, EG_MATH_LANES, (double)x[i],            \
                     EG_MATH_ADD);                                                       \
      const double mean = total / size;                                                  \
      EG_MATH_FOLD(double, squares, norm->count, EG_MATH_LANES,                          \
                   ((double)x[i] - mean) * ((double)x[i] - mean), EG_MATH_ADD);          \
      const double inverse = 1.0 / sqrt(squares / size + norm->epsilon);                 \
      const int64_t table = r % norm->table_rows * norm->table_step;                     \
      if (norm->spread == 1) {                                                           \
        const double *scale = norm->scale + table;                                       \
        for (int64_t i = 0; i < norm->count; i++)                                        \
          y[i] = (type)(((double)x[i] - mean) * (inverse * scale[i]) +                   \
                        (norm->shift != NULL ? norm->shift[table + i] : 0.0));           \
        continue;                                                                        \
      }                                                                                  \
      for (int64_t at = 0; at < norm->count; at += norm->spread) {                       \
        const int64_t entry = table + at / norm->spread;                                 \
        affine_##suffix(x + at, norm->spread, mean, inverse * norm->scale[entry],        \
                        norm->shift != NULL ? norm->shift[entry] : 0.0, y + at);         \
      }                                                                                  \
    }                                                                                    \
  }
NORM_ROWS(f32, float)
NORM_ROWS(f64, double)

static egraph_status run_rows(const eg_kernel_call *call, const eg_row_norm *norm) {
  const eg_tensor *x = &call->inputs[0];
  if (norm->rows == 0 || norm->count == 0) return EGRAPH_OK;
  EG_KERNEL_FLOATS(call, x->type.dtype, norm, norm, x->data, call->outputs[0].data);
  return EGRAPH_OK;
}

// Scale and bias have the shape of the dimensions that are normalized.
egraph_status eg_kernel_layer_norm(const eg_kernel_call *call) {
  enum { SLOT_AXIS, SLOT_EPSILON };
  const eg_type *type = &call->inputs[0].type;
  uint32_t from = eg_axis_of(type, eg_kernel_slot(call, SLOT_AXIS)->i);
  eg_row_norm norm = {.rows = eg_dims_product(type->dims, 0, from),
                      .count = eg_dims_product(type->dims, from, type->rank),
                      .table_rows = 1,
                      .spread = 1,
                      .epsilon = eg_kernel_slot(call, SLOT_EPSILON)->f,
                      .is_centred = eg_kernel_op(call) == EG_OP_LAYER_NORM};
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[1], &norm.scale));
  if (call->input_count == 3)
    EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[2], &norm.shift));
  return run_rows(call, &norm);
}

// Normalizes x [N, C, ...] as N * groups rows of C / groups channels each.
egraph_status eg_kernel_group_norm(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  bool is_group = eg_kernel_op(call) == EG_OP_GROUP_NORM;
  int64_t channels = type->dims[1];
  int64_t groups =
      is_group ? eg_attr_at(call->attrs, EG_A_GROUP_NORM_NUM_GROUPS)->i : channels;
  double epsilon = eg_attr_at(call->attrs, is_group ? EG_A_GROUP_NORM_EPSILON
                                                    : EG_A_INSTANCE_NORM_EPSILON)
                       ->f;
  int64_t pixels = eg_dims_product(type->dims, 2, type->rank);
  eg_row_norm norm = {.rows = type->dims[0] * groups,
                      .count = channels / groups * pixels,
                      .table_rows = groups,
                      .table_step = channels / groups,
                      .spread = pixels,
                      .epsilon = epsilon,
                      .is_centred = true};
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[1], &norm.scale));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[2], &norm.shift));
  return run_rows(call, &norm);
}

// ---- softmax: along an axis, `inner` columns next to each other -----------------

enum { COLUMNS = 64 };

// If inner is 1, each column along the axis is a contiguous row; otherwise COLUMNS
// columns are computed together, so that all loops are contiguous. Sums are computed in
// float64. A column of only -inf gives NaN, as exp(-inf + inf) does.
#define SOFTMAX(suffix, type, exp_of)                                                    \
  EG_KERNEL_CLONES static void softmax_row_##suffix(const type *x, int64_t count,        \
                                                    bool is_log, type *y) {              \
    type top = -(type)INFINITY;                                                          \
    double total = 0.0;                                                                  \
    EG_MATH_FOLD(type, top, count, EG_MATH_WIDE_LANES, x[i], EG_MATH_LARGER);            \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] = (type)exp_of((double)(x[i] - top));                                         \
    EG_MATH_FOLD(double, total, count, EG_MATH_LANES, (double)y[i], EG_MATH_ADD);        \
    const double factor = 1.0 / total, shift = log(total);                               \
    for (int64_t i = 0; i < count; i++)                                                  \
      y[i] =                                                                             \
          is_log ? (type)((double)(x[i] - top) - shift) : (type)((double)y[i] * factor); \
  }                                                                                      \
  EG_KERNEL_CLONES static void softmax_columns_##suffix(                                 \
      const type *x, const eg_axis_view *view, int64_t width, bool is_log, type *y) {    \
    type top[COLUMNS];                                                                   \
    double total[COLUMNS];                                                               \
    for (int64_t i = 0; i < width; i++) {                                                \
      top[i] = -(type)INFINITY;                                                          \
      total[i] = 0.0;                                                                    \
    }                                                                                    \
    for (int64_t k = 0, at = 0; k < view->size; k++, at += view->inner)                  \
      for (int64_t i = 0; i < width; i++)                                                \
        top[i] = EG_MATH_LARGER(top[i], x[at + i]);                                      \
    for (int64_t k = 0, at = 0; k < view->size; k++, at += view->inner)                  \
      for (int64_t i = 0; i < width; i++) {                                              \
        const double power = exp_of((double)(x[at + i] - top[i]));                       \
        y[at + i] = (type)power;                                                         \
        total[i] += power;                                                               \
      }                                                                                  \
    for (int64_t k = 0, at = 0; k < view->size; k++, at += view->inner)                  \
      for (int64_t i = 0; i < width; i++)                                                \
        y[at + i] = is_log ? (type)((double)(x[at + i] - top[i]) - log(total[i]))        \
                           : (type)((double)y[at + i] / total[i]);                       \
  }                                                                                      \
  static void softmax_##suffix(const type *x, const eg_axis_view *view, bool is_log,     \
                               type *y) {                                                \
    for (int64_t o = 0; o < view->outer; o++) {                                          \
      const int64_t at = o * view->size * view->inner;                                   \
      if (view->inner == 1) {                                                            \
        softmax_row_##suffix(x + at, view->size, is_log, y + at);                        \
        continue;                                                                        \
      }                                                                                  \
      for (int64_t i = 0; i < view->inner; i += COLUMNS) {                               \
        int64_t left = view->inner - i, width = left < COLUMNS ? left : COLUMNS;         \
        softmax_columns_##suffix(x + at + i, view, width, is_log, y + at + i);           \
      }                                                                                  \
    }                                                                                    \
  }
SOFTMAX(f32, float, eg_math_exp)
SOFTMAX(f64, double, exp)

egraph_status eg_kernel_softmax(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0];
  eg_axis_view view = eg_axis_view_of(&x->type, eg_kernel_slot(call, 0)->i);
  bool is_log = eg_kernel_op(call) == EG_OP_LOG_SOFTMAX;
  EG_KERNEL_FLOATS(call, x->type.dtype, softmax, x->data, &view, is_log,
                   call->outputs[0].data);
  return EGRAPH_OK;
}

// ---- local response normalization --------------------------------------------------

// y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels) ^ beta,
// computed one channel plane at a time.
typedef struct eg_lrn {
  int64_t channels, plane, size;
  double alpha, beta, bias;
} eg_lrn;

#define LRN(suffix, type)                                                                \
  EG_KERNEL_CLONES static void lrn_##suffix(const eg_lrn *lrn, const type *image,        \
                                            int64_t c, double *squares, type *y) {       \
    const type *own = image + c * lrn->plane;                                            \
    const int64_t first = c - (lrn->size - 1) / 2, end = c + lrn->size / 2 + 1;          \
    for (int64_t i = 0; i < lrn->plane; i++)                                             \
      squares[i] = 0.0;                                                                  \
    for (int64_t k = first < 0 ? 0 : first; k < end && k < lrn->channels; k++)           \
      for (int64_t i = 0; i < lrn->plane; i++)                                           \
        squares[i] +=                                                                    \
            (double)image[k * lrn->plane + i] * (double)image[k * lrn->plane + i];       \
    for (int64_t i = 0; i < lrn->plane; i++)                                             \
      squares[i] = lrn->bias + lrn->alpha * squares[i];                                  \
    if (lrn->beta == 0.75) { /* the usual exponent, without pow */                       \
      for (int64_t i = 0; i < lrn->plane; i++)                                           \
        squares[i] = sqrt(squares[i]) * sqrt(sqrt(squares[i]));                          \
    } else {                                                                             \
      for (int64_t i = 0; i < lrn->plane; i++)                                           \
        squares[i] = pow(squares[i], lrn->beta);                                         \
    }                                                                                    \
    for (int64_t i = 0; i < lrn->plane; i++)                                             \
      y[c * lrn->plane + i] = (type)((double)own[i] / squares[i]);                       \
  }
LRN(f32, float)
LRN(f64, double)

egraph_status eg_kernel_lrn(const eg_kernel_call *call) {
  const eg_tensor *x = &call->inputs[0];
  eg_axis_view view = eg_axis_view_of(&x->type, 1);
  int64_t size = eg_attr_at(call->attrs, EG_A_LRN_SIZE)->i;
  eg_lrn lrn = {.channels = view.size,
                .plane = view.inner,
                .size = size,
                .alpha = eg_attr_at(call->attrs, EG_A_LRN_ALPHA)->f / (double)size,
                .beta = eg_attr_at(call->attrs, EG_A_LRN_BETA)->f,
                .bias = eg_attr_at(call->attrs, EG_A_LRN_BIAS)->f};
  double *squares = NULL;
  EG_TRY(eg_arena_alloc(call->scratch, (size_t)view.inner, sizeof *squares, &squares));
  size_t bytes = (size_t)(view.size * view.inner) * eg_dtype_bytes(x->type.dtype);
  for (int64_t i = 0; i < view.outer * view.size; i++) {
    size_t image = (size_t)(i / view.size) * bytes;
    const void *from = (const unsigned char *)x->data + image;
    void *to = (unsigned char *)call->outputs[0].data + image;
    EG_KERNEL_FLOATS(call, x->type.dtype, lrn, &lrn, from, i % view.size, squares, to);
  }
  return EGRAPH_OK;
}
