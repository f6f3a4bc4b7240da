// Kernels of the operators that only backward passes have. Sums are taken in float64.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "ops/kernel_window.h"
#include "ops/kernels.h"

// A plane or table of sums as elements of a tensor, from element `at` on.
static void store_sums(const double *sums, int64_t count, const eg_tensor *to,
                       int64_t at) {
  for (int64_t i = 0; i < count; i++)
    eg_tensor_set_double(to, at + i, sums[i]);
}

typedef egraph_status (*scratch_kernel)(const eg_kernel_call *call, eg_arena *arena);

static egraph_status with_arena(const eg_kernel_call *call, scratch_kernel run) {
  eg_arena arena;
  eg_arena_init(&arena, call->alloc);
  egraph_status status = run(call, &arena);
  eg_arena_deinit(&arena);
  return status;
}

static egraph_status list_rows(const eg_kernel_call *call, const eg_window *window,
                               eg_window_rows *out) {
  eg_window_rows_init(out, call->alloc);
  egraph_status status = eg_window_list(window, out);
  if (status != EGRAPH_OK) eg_window_rows_deinit(out);
  return status;
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

static egraph_status run_weight(const eg_kernel_call *call, eg_arena *arena) {
  const eg_attrs *attrs = call->attrs;
  const eg_type *x_type = &call->inputs[0].type, *d_type = &call->inputs[1].type;
  const eg_type *w_type = &call->outputs[0].type;
  const double *x, *d;
  double *sums;
  eg_window window;
  eg_window_rows rows;
  EG_TRY(eg_window_init(&window, d_type, x_type,
                        eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_KERNEL_SHAPE)->ints.data,
                        eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_STRIDES)->ints.data,
                        eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_PADS)->ints.data,
                        eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_DILATIONS)->ints.data));
  int64_t taps = eg_window_taps(&window), large = eg_window_large(&window);
  int64_t small = eg_window_small(&window), channels = x_type->dims[1];
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &x));
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[1], &d));
  EG_TRY(eg_arena_alloc(arena, (size_t)taps, sizeof *sums, &sums));
  EG_TRY(list_rows(call, &window, &rows));
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
  eg_window_rows_deinit(&rows);
  return EGRAPH_OK;
}

egraph_status eg_kernel_conv_grad_weight(const eg_kernel_call *call) {
  return with_arena(call, run_weight);
}

// ---- pooling --------------------------------------------------------------------

/// Scratch of a plane: per window the maximum and its place, or the divisor; per element
/// the sum.
typedef struct plane {
  double *best, *sums;
  int64_t *place;
} plane;

// The place of the first maximum of every window; NaN is larger than all. -1: a window in
// the padding.
static void find_maxima(const eg_window_rows *rows, const double *x, int64_t windows,
                        plane *p) {
  for (int64_t i = 0; i < windows; i++)
    p->place[i] = -1;
  for (size_t r = 0; r < rows->len; r++) {
    const eg_window_row row = rows->data[r];
    for (int64_t i = 0; i < row.count; i++) {
      int64_t at = row.large + i * row.step, to = row.small + i;
      bool larger = x[at] > p->best[to] || (isnan(x[at]) && !isnan(p->best[to]));
      if (p->place[to] >= 0 && !larger) continue;
      p->place[to] = at;
      p->best[to] = x[at];
    }
  }
}

static void add_at_maxima(const plane *p, const double *d, int64_t windows) {
  for (int64_t i = 0; i < windows; i++)
    if (p->place[i] >= 0) p->sums[p->place[i]] += d[i];
}

// Every element of a window gets an equal share.
static void add_shares(const eg_window_rows *rows, const double *d, const plane *p) {
  for (size_t r = 0; r < rows->len; r++) {
    const eg_window_row row = rows->data[r];
    for (int64_t i = 0; i < row.count; i++)
      p->sums[row.large + i * row.step] += d[row.small + i] / p->best[row.small + i];
  }
}

static egraph_status run_pool(const eg_kernel_call *call, eg_arena *arena) {
  bool is_max = eg_kernel_op(call) == EG_OP_MAX_POOL_GRAD;
  enum { KERNEL, STRIDES, PADS, DILATIONS };
  const eg_tensor *cotangent = &call->inputs[call->input_count - 1];
  const eg_type *type = &call->outputs[0].type;
  const double *x = NULL, *d;
  plane p;
  eg_window window;
  eg_window_rows rows;
  const int64_t *pads = eg_kernel_slot(call, PADS)->ints.data;
  EG_TRY(eg_window_init(&window, &cotangent->type, type,
                        eg_kernel_slot(call, KERNEL)->ints.data,
                        eg_kernel_slot(call, STRIDES)->ints.data, pads,
                        is_max ? eg_kernel_slot(call, DILATIONS)->ints.data : NULL));
  int64_t windows = eg_window_small(&window), elements = eg_window_large(&window);
  if (is_max) EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &x));
  EG_TRY(eg_kernel_load_doubles(arena, cotangent, &d));
  EG_TRY(eg_arena_alloc(arena, (size_t)windows, sizeof *p.best, &p.best));
  EG_TRY(eg_arena_alloc(arena, (size_t)windows, sizeof *p.place, &p.place));
  EG_TRY(eg_arena_alloc(arena, (size_t)elements, sizeof *p.sums, &p.sums));
  EG_TRY(list_rows(call, &window, &rows));
  if (!is_max)
    eg_window_divisors(
        &window, &rows, pads + window.rank,
        eg_attr_at(call->attrs, EG_A_AVERAGE_POOL_GRAD_COUNT_INCLUDE_PAD)->i != 0,
        p.best);
  for (int64_t i = 0; i < eg_dims_product(type->dims, 0, 2); i++) {
    memset(p.sums, 0, (size_t)elements * sizeof *p.sums);
    if (is_max) {
      find_maxima(&rows, x + i * elements, windows, &p);
      add_at_maxima(&p, d + i * windows, windows);
    } else {
      add_shares(&rows, d + i * windows, &p);
    }
    store_sums(p.sums, elements, &call->outputs[0], i * elements);
  }
  eg_window_rows_deinit(&rows);
  return EGRAPH_OK;
}

egraph_status eg_kernel_pool_grad(const eg_kernel_call *call) {
  return with_arena(call, run_pool);
}

// ---- gather-grad: [outer, indices, inner] to [outer, size, inner] ----------------

static egraph_status run_gather(const eg_kernel_call *call, eg_arena *arena) {
  const eg_type *type = &call->outputs[0].type;
  eg_axis_view view =
      eg_axis_view_of(type, eg_attr_at(call->attrs, EG_A_GATHER_GRAD_AXIS)->i);
  const eg_tensor *indices = &call->inputs[1];
  int64_t count = eg_type_elements(&indices->type), elements = eg_type_elements(type);
  const double *d;
  double *sums;
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &d));
  EG_TRY(eg_arena_alloc(arena, (size_t)elements, sizeof *sums, &sums));
  memset(sums, 0, (size_t)elements * sizeof *sums);
  eg_gather_axis axis = eg_gather_axis_of(call->attrs, EG_A_GATHER_GRAD_WHOLE, view.size);
  for (int64_t n = 0; n < count; n++) {
    int64_t index = 0;
    EG_TRY(eg_gather_index(indices, n, &axis, &index));
    if (index < 0) continue; // of another part
    for (int64_t o = 0; o < view.outer; o++)
      for (int64_t i = 0; i < view.inner; i++)
        sums[(o * view.size + index) * view.inner + i] +=
            d[(o * count + n) * view.inner + i];
  }
  store_sums(sums, elements, &call->outputs[0], 0);
  return EGRAPH_OK;
}

egraph_status eg_kernel_gather_grad(const eg_kernel_call *call) {
  return with_arena(call, run_gather);
}
