// Kernels of gradients of normalizations. Sums are taken in float64.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/kernel_math.h"
#include "ops/kernels.h"

// ---- layer-normalization-grad, rms-normalization-grad ----------------------------

typedef struct norm_rows {
  int64_t rows, count;
  double epsilon;
  bool is_centred; // the mean is subtracted
} norm_rows;

// With h = d scale, n = (x - mean) r and r = 1 / sqrt(variance + epsilon):
// x' = r (h - mean(h) - n mean(h n)), without mean(h) where nothing is centred.
#define NORM_GRAD(suffix, type)                                                          \
  EG_KERNEL_CLONES static void norm_grad_##suffix(                                       \
      const norm_rows *of, const type *d, const type *x, const type *scale, type *out) { \
    const double size = (double)of->count;                                               \
    for (int64_t row = 0; row < of->rows; row++) {                                       \
      double total = 0.0, squares = 0.0, level = 0.0, along = 0.0;                       \
      if (of->is_centred)                                                                \
        EG_MATH_FOLD(double, total, of->count, EG_MATH_LANES, (double)x[i],              \
                     EG_MATH_ADD);                                                       \
      const double mean = total / size;                                                  \
      EG_MATH_FOLD(double, squares, of->count, EG_MATH_LANES,                            \
                   ((double)x[i] - mean) * ((double)x[i] - mean), EG_MATH_ADD);          \
      if (of->is_centred)                                                                \
        EG_MATH_FOLD(double, level, of->count, EG_MATH_LANES,                            \
                     (double)d[i] * (double)scale[i], EG_MATH_ADD);                      \
      EG_MATH_FOLD(double, along, of->count, EG_MATH_LANES,                              \
                   (double)d[i] * (double)scale[i] * ((double)x[i] - mean),              \
                   EG_MATH_ADD);                                                         \
      const double r = 1.0 / sqrt(squares / size + of->epsilon);                         \
      const double slope = r * r * along / size, shift = level / size;                   \
      for (int64_t i = 0; i < of->count; i++)                                            \
        out[i] = (type)(r * ((double)d[i] * (double)scale[i] - shift -                   \
                             slope * ((double)x[i] - mean)));                            \
      d += of->count, x += of->count, out += of->count;                                  \
    }                                                                                    \
  }
NORM_GRAD(f32, float)
NORM_GRAD(f64, double)

egraph_status eg_kernel_layer_norm_grad(const eg_kernel_call *call) {
  enum { SLOT_AXIS, SLOT_EPSILON };
  const eg_tensor *d = &call->inputs[0], *x = &call->inputs[1], *scale = &call->inputs[2];
  int64_t count = eg_type_elements(&scale->type);
  const norm_rows of = {.rows = eg_type_elements(&x->type) / count,
                        .count = count,
                        .epsilon = eg_kernel_slot(call, SLOT_EPSILON)->f,
                        .is_centred = eg_kernel_op(call) == EG_OP_LAYER_NORM_GRAD};
  if (d->type.dtype == EGRAPH_FLOAT32)
    norm_grad_f32(&of, d->data, x->data, scale->data, call->outputs[0].data);
  else if (d->type.dtype == EGRAPH_FLOAT64)
    norm_grad_f64(&of, d->data, x->data, scale->data, call->outputs[0].data);
  else
    return eg_kernel_refuse(call, d->type.dtype);
  return EGRAPH_OK;
}
