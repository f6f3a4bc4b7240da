// Resizes one dimension after the other as [outer, from, inner]: each element of the
// result is a weighted sum of a few elements along the dimension (taps, ops/resize.h).
// Rows of the inner dimensions are contiguous and are added up; along the last dimension
// elements are gathered.
// SPDX-License-Identifier: Apache-2.0
#include "ops/resize.h"

#include <assert.h>

#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "ops/kernels.h"

/// The taps (positions and weights) of results: tap k of position i is at k * to + i.
typedef struct resize_pass {
  int64_t outer, from, to, inner;
  int64_t taps;
  int32_t *places;
  float *weights;
  uint32_t threads;
} resize_pass;

EG_KERNEL_CLONES
static void scale_row(const float *x, float weight, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] = weight * x[i];
}

EG_KERNEL_CLONES
static void add_weighted_row(const float *x, float weight, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] += weight * x[i];
}

EG_KERNEL_CLONES
static void mix_rows(const float *a, float of_a, const float *b, float of_b, float *y,
                     int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] = of_a * a[i] + of_b * b[i];
}

EG_KERNEL_CLONES
static void gather_row(const float *x, const int32_t *places, const float *weights,
                       float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] = weights[i] * x[places[i]];
}

EG_KERNEL_CLONES
static void add_gathered_row(const float *x, const int32_t *places, const float *weights,
                             float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] += weights[i] * x[places[i]];
}

/// Computes position i of the result from one block of x.
static void sum_rows(const resize_pass *p, const float *x, int64_t i, float *y) {
  assert(i >= 0 && i < p->to && p->taps > 0);
  const int32_t *places = p->places + i;
  const float *weights = p->weights + i;
  int64_t k = 1;
  if (p->taps == 1) {
    scale_row(x + places[0] * p->inner, weights[0], y, p->inner);
  } else {
    mix_rows(x + places[0] * p->inner, weights[0], x + places[p->to] * p->inner,
             weights[p->to], y, p->inner);
    k = 2;
  }
  for (; k < p->taps; k++)
    add_weighted_row(x + places[k * p->to] * p->inner, weights[k * p->to], y, p->inner);
}

static void sum_gathered(const resize_pass *p, const float *x, float *y) {
  gather_row(x, p->places, p->weights, y, p->to);
  for (int64_t k = 1; k < p->taps; k++)
    add_gathered_row(x, p->places + k * p->to, p->weights + k * p->to, y, p->to);
}

typedef struct resize_work {
  const resize_pass *pass;
  const float *x;
  float *y;
} resize_work;

/// Computes rows, which have the inner dimensions, or else the dimension that is resized.
static void resize_rows(const void *user, int64_t begin, int64_t end) {
  const resize_work *work = user;
  const resize_pass *p = work->pass;
  for (int64_t row = begin; row < end; row++)
    if (p->inner == 1)
      sum_gathered(p, work->x + row * p->from, work->y + row * p->to);
    else
      sum_rows(p, work->x + row / p->to * p->from * p->inner, row % p->to,
               work->y + row * p->inner);
}

// Runs a pass. The addresses are: y, x.
static egraph_status run_resize_pass(const void *payload, void *const *addresses) {
  enum { PART = 1 << 13 }; // about as many elements as a part has
  const resize_pass *p = payload;
  int64_t rows = p->inner == 1 ? p->outer : p->outer * p->to;
  int64_t length = p->inner == 1 ? p->to : p->inner;
  int64_t some = PART / length + 1;
  const resize_work work = {.pass = p, .x = addresses[1], .y = addresses[0]};
  eg_parts_each(rows, eg_parts_size(rows, some, p->threads), p->threads, resize_rows,
                &work);
  return EGRAPH_OK;
}

// ---- as an operator -----------------------------------------------------------------

static egraph_status set_taps(eg_cpu_builder *builder, const eg_resize_axis *axis,
                              resize_pass *pass) {
  eg_resize_taps taps;
  EG_TRY(eg_resize_taps_of(builder->spec->attrs, axis, builder->arena, &taps));
  size_t room = (size_t)axis->to * (size_t)taps.count;
  EG_TRY(eg_arena_alloc(builder->arena, room, sizeof *pass->places, &pass->places));
  EG_TRY(eg_arena_alloc(builder->arena, room, sizeof *pass->weights, &pass->weights));
  for (int64_t i = 0; i < axis->to; i++)
    for (int64_t k = 0; k < taps.count; k++) {
      pass->places[k * axis->to + i] = (int32_t)taps.place[i * taps.count + k];
      pass->weights[k * axis->to + i] = (float)taps.weight[i * taps.count + k];
    }
  pass->taps = taps.count;
  return EGRAPH_OK;
}

/// Makes the pass that resizes dimension d. `dims` has the dimensions before the pass;
/// the pass replaces dimension d by the result's.
static egraph_status new_pass(eg_cpu_builder *builder, uint32_t d, int64_t *dims,
                              resize_pass **out) {
  const eg_type *x = &builder->spec->inputs[0], *y = &builder->spec->results[0];
  eg_resize_axis axis = eg_resize_axis_of(builder->spec->attrs, x, y, d);
  resize_pass *pass;
  *out = NULL;
  if (eg_resize_is_copy(&axis)) return EGRAPH_OK;
  if (axis.from > INT32_MAX) return eg_cpu_refuse(builder, "no kernel for this size");
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *pass, &pass));
  *pass = (resize_pass){.outer = 1,
                        .from = axis.from,
                        .to = axis.to,
                        .inner = 1,
                        .threads = eg_omp_threads()};
  for (uint32_t i = 0; i < x->rank; i++)
    if (i != d) *(i < d ? &pass->outer : &pass->inner) *= dims[i];
  dims[d] = axis.to;
  *out = pass;
  return set_taps(builder, &axis, pass);
}

egraph_status eg_cpu_resize(eg_cpu_builder *builder) {
  const eg_type *x = &builder->spec->inputs[0];
  const eg_attrs *attrs = builder->spec->attrs;
  bool has_outside =
      eg_attr_at(attrs, EG_A_RESIZE_COORDINATES)->i == EG_RESIZE_TF_CROP_AND_RESIZE;
  resize_pass *passes[EGRAPH_MAX_RANK], *pass;
  int64_t dims[EGRAPH_MAX_RANK];
  uint32_t count = 0;
  if (x->dtype != EGRAPH_FLOAT32 || x->layout.format != EG_FORMAT_PLAIN || has_outside)
    return eg_cpu_refuse(builder, "no kernel for these operands");
  memcpy(dims, x->dims, sizeof dims);
  for (uint32_t d = 0; d < x->rank; d++) {
    EG_TRY(new_pass(builder, d, dims, &pass));
    if (pass != NULL) passes[count++] = pass;
  }
  if (count == 0) return eg_cpu_refuse(builder, "no kernel for these operands");
  builder->kernel = "vector loops";
  eg_place from = eg_cpu_read(builder, 0);
  for (uint32_t i = 0; i < count; i++) {
    pass = passes[i];
    size_t elements = (size_t)(pass->outer * pass->to * pass->inner);
    eg_place to = i + 1 == count ? eg_place_result(0)
                                 : eg_cpu_scratch(builder, elements * sizeof(float));
    EG_TRY(eg_cpu_add_function(builder, &builder->run, run_resize_pass, pass,
                               (eg_place[]){to, from}, 2));
    from = to;
  }
  return EGRAPH_OK;
}
