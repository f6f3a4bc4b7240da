// Kernels of operators in backward passes and in updates of training steps. Sums are
// computed in float64.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "ops/kernel_math.h"
#include "ops/kernel_window.h"
#include "ops/kernels.h"

// Stores a plane or table of sums in a tensor, from element `at` on.
static void store_sums(const double *sums, int64_t count, const eg_tensor *to,
                       int64_t at) {
  for (int64_t i = 0; i < count; i++)
    eg_tensor_set_double(to, at + i, sums[i]);
}

// ---- conv-grad-weight -----------------------------------------------------------

// Adds to sums[tap] the products of one input plane and one plane of the cotangent.
static void add_products(const eg_window_rows *rows, const double *x, const double *d,
                         double *sums) {
  for (size_t r = 0; r < rows->len; r++) {
    const eg_window_row row = rows->data[r];
    double sum = 0;
    for (int64_t i = 0; i < row.count; i++)
      sum += x[row.large + i * row.step] * d[row.small + i];
    sums[row.tap] += sum;
  }
}

egraph_status eg_kernel_conv_grad_weight(const eg_kernel_call *call) {
  eg_arena *arena = call->scratch;
  const eg_attrs *attrs = call->attrs;
  const eg_type *x_type = &call->inputs[0].type, *d_type = &call->inputs[1].type;
  const eg_type *w_type = &call->outputs[0].type;
  const double *x, *d;
  double *sums;
  eg_window window;
  EG_TRY(eg_window_of_node(&window, call, d_type, x_type));
  int64_t taps = eg_window_taps(&window), large = eg_window_large(&window);
  int64_t small = eg_window_small(&window), channels = x_type->dims[1];
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &x));
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[1], &d));
  EG_TRY(eg_arena_alloc(arena, (size_t)taps, sizeof *sums, &sums));
  EG_LOCAL(eg_window_rows, rows, call->alloc);
  EG_TRY(eg_window_list(&window, &rows));
  int64_t per_group = w_type->dims[1], outputs = w_type->dims[0];
  int64_t group = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_GROUP)->i;
  for (int64_t o = 0; o < outputs; o++) {
    int64_t first = o / (outputs / group) * per_group;
    for (int64_t c = 0; c < per_group; c++) {
      memset(sums, 0, (size_t)taps * sizeof *sums);
      for (int64_t n = 0; n < x_type->dims[0]; n++)
        add_products(&rows, x + (n * channels + first + c) * large,
                     d + (n * outputs + o) * small, sums);
      store_sums(sums, taps, &call->outputs[0], (o * per_group + c) * taps);
    }
  }
  return EGRAPH_OK;
}

// ---- pooling --------------------------------------------------------------------

/// Scratch memory for the gradient of pooling on one plane: `best` and `place` have the
/// maximum of each window and its position, or `best` has its divisor; `sums` has a sum
/// for each element.
typedef struct plane {
  double *best, *sums;
  int64_t *place;
} plane;

static void add_at_maxima(const plane *p, const double *d, int64_t windows) {
  for (int64_t i = 0; i < windows; i++)
    if (p->place[i] >= 0) p->sums[p->place[i]] += d[i];
}

// Adds to every element of a window an equal share of the window's cotangent.
static void add_shares(const eg_window_rows *rows, const double *d, const plane *p) {
  for (size_t r = 0; r < rows->len; r++) {
    const eg_window_row row = rows->data[r];
    for (int64_t i = 0; i < row.count; i++)
      p->sums[row.large + i * row.step] += d[row.small + i] / p->best[row.small + i];
  }
}

egraph_status eg_kernel_pool_grad(const eg_kernel_call *call) {
  eg_arena *arena = call->scratch;
  bool is_max = eg_kernel_op(call) == EG_OP_MAX_POOL_GRAD;
  enum { KERNEL, STRIDES, PADS, DILATIONS };
  const eg_tensor *cotangent = &call->inputs[call->input_count - 1];
  const eg_type *type = &call->outputs[0].type;
  const double *x = NULL, *d;
  plane p;
  eg_window window;
  const int64_t *pads = eg_kernel_slot(call, PADS)->ints.data;
  EG_TRY(eg_window_of_node(&window, call, &cotangent->type, type));
  int64_t windows = eg_window_small(&window), elements = eg_window_large(&window);
  if (is_max) EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &x));
  EG_TRY(eg_kernel_load_doubles(arena, cotangent, &d));
  EG_TRY(eg_arena_alloc(arena, (size_t)windows, sizeof *p.best, &p.best));
  EG_TRY(eg_arena_alloc(arena, (size_t)windows, sizeof *p.place, &p.place));
  EG_TRY(eg_arena_alloc(arena, (size_t)elements, sizeof *p.sums, &p.sums));
  EG_LOCAL(eg_window_rows, rows, call->alloc);
  EG_TRY(eg_window_list(&window, &rows));
  if (!is_max)
    eg_window_divisors(
        &window, &rows, pads + window.rank,
        eg_attr_at(call->attrs, EG_A_AVERAGE_POOL_GRAD_COUNT_INCLUDE_PAD)->i != 0,
        p.best);
  for (int64_t i = 0; i < eg_dims_product(type->dims, 0, 2); i++) {
    memset(p.sums, 0, (size_t)elements * sizeof *p.sums);
    if (is_max) {
      eg_window_maxima(&rows, x + i * elements, windows, p.best, p.place);
      add_at_maxima(&p, d + i * windows, windows);
    } else {
      add_shares(&rows, d + i * windows, &p);
    }
    store_sums(p.sums, elements, &call->outputs[0], i * elements);
  }
  return EGRAPH_OK;
}

// ---- gather-grad: [outer, indices, inner] to [outer, size, inner] ----------------

egraph_status eg_kernel_gather_grad(const eg_kernel_call *call) {
  const eg_type *type = &call->outputs[0].type;
  eg_axis_view view =
      eg_axis_view_of(type, eg_attr_at(call->attrs, EG_A_GATHER_GRAD_AXIS)->i);
  const eg_tensor *indices = &call->inputs[1];
  int64_t count = eg_type_elements(&indices->type), elements = eg_type_elements(type);
  const double *d;
  double *sums;
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[0], &d));
  EG_TRY(eg_arena_alloc(call->scratch, (size_t)elements, sizeof *sums, &sums));
  memset(sums, 0, (size_t)elements * sizeof *sums);
  eg_gather_axis axis = eg_gather_axis_of(call->attrs, EG_A_GATHER_GRAD_WHOLE, view.size);
  for (int64_t n = 0; n < count; n++) {
    int64_t index = 0;
    EG_TRY(eg_gather_index(indices, n, &axis, &index));
    if (index < 0) continue; // the index belongs to another part of the axis
    for (int64_t o = 0; o < view.outer; o++)
      for (int64_t i = 0; i < view.inner; i++)
        sums[(o * view.size + index) * view.inner + i] +=
            d[(o * count + n) * view.inner + i];
  }
  store_sums(sums, elements, &call->outputs[0], 0);
  return EGRAPH_OK;
}

// ---- backward -----------------------------------------------------------------------

// ---- layer-normalization-grad, rms-normalization-grad ----------------------------

typedef struct norm_rows {
  int64_t rows, count;
  double epsilon;
  bool is_centred; // the mean was subtracted from the rows
} norm_rows;

// Computes x' = r (h - mean(h) - n mean(h n)), without mean(h) if rows are not centred,
// where h = d scale, n = (x - mean) r and r = 1 / sqrt(variance + epsilon).
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
  EG_KERNEL_FLOATS(call, d->type.dtype, norm_grad, &of, d->data, x->data, scale->data,
                   call->outputs[0].data);
  return EGRAPH_OK;
}

// ---- updates ------------------------------------------------------------------------

#if defined(__clang__) // with sanitizers, and at -O1, loops stay scalar
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

// The coefficients of an update, computed in float64. `added` times the weight is added
// to the gradient; the weight is multiplied by `kept`.
typedef struct adam_numbers {
  double beta1, rest1, beta2, rest2, epsilon;
  double added, kept;
  double rate; // learning rate / (1 - beta1^step)
  double root; // 1 / sqrt(1 - beta2^step)
} adam_numbers;

static adam_numbers numbers_of(const eg_kernel_call *call) {
  double rate = eg_tensor_get_double(&call->inputs[4], 0);
  double step = eg_tensor_get_double(&call->inputs[5], 0);
  double beta1 = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_BETA1)->f;
  double beta2 = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_BETA2)->f;
  double decay = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_WEIGHT_DECAY)->f;
  bool decoupled = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_DECOUPLED)->i != 0;
  return (adam_numbers){.beta1 = beta1,
                        .rest1 = 1 - beta1,
                        .beta2 = beta2,
                        .rest2 = 1 - beta2,
                        .epsilon = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_EPSILON)->f,
                        .added = decoupled ? 0 : decay,
                        .kept = decoupled ? 1 - rate * decay : 1,
                        .rate = rate / (1 - pow(beta1, step)),
                        .root = 1 / sqrt(1 - pow(beta2, step))};
}

// Results may be written over their operands: no element is read after it is written.
#define ADAM_ROW(id, type, root_of)                                                      \
  EG_KERNEL_CLONES                                                                       \
  static void adam_##id(const eg_kernel_call *call, const adam_numbers *n,               \
                        int64_t count) {                                                 \
    const type *w = call->inputs[0].data, *m = call->inputs[1].data;                     \
    const type *v = call->inputs[2].data, *g = call->inputs[3].data;                     \
    type *new_w = call->outputs[0].data, *new_m = call->outputs[1].data;                 \
    type *new_v = call->outputs[2].data;                                                 \
    type beta1 = (type)n->beta1, rest1 = (type)n->rest1, beta2 = (type)n->beta2;         \
    type rest2 = (type)n->rest2, epsilon = (type)n->epsilon, added = (type)n->added;     \
    type kept = (type)n->kept, rate = (type)n->rate, root = (type)n->root;               \
    EG_KERNEL_INDEPENDENT                                                                \
    for (int64_t i = 0; i < count; i++) {                                                \
      type d = g[i] + added * w[i];                                                      \
      type mean = beta1 * m[i] + rest1 * d, square = beta2 * v[i] + rest2 * (d * d);     \
      new_m[i] = mean;                                                                   \
      new_v[i] = square;                                                                 \
      new_w[i] = w[i] * kept - rate * mean / (root_of(square) * root + epsilon);         \
    }                                                                                    \
  }
ADAM_ROW(f32, float, sqrtf)
ADAM_ROW(f64, double, sqrt)

egraph_status eg_kernel_adam_update(const eg_kernel_call *call) {
  adam_numbers numbers = numbers_of(call);
  const eg_type *type = &call->inputs[0].type;
  EG_KERNEL_FLOATS(call, type->dtype, adam, call, &numbers, eg_type_elements(type));
  return EGRAPH_OK;
}
