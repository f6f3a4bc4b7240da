// Taps of resized dimensions. Filters of antialiased samples stretch with the operand;
// taps beyond the border read the element on it.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/resize.h"

static int64_t symbol_of(const eg_attrs *attrs, eg_attr_slot slot) {
  return eg_attr_at(attrs, slot)->i;
}

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

static filter filter_of(const eg_attrs *attrs, const eg_resize_axis *axis) {
  bool antialias = symbol_of(attrs, EG_A_RESIZE_ANTIALIAS) != 0;
  bool excludes = symbol_of(attrs, EG_A_RESIZE_EXCLUDE_OUTSIDE) != 0;
  return (filter){.mode = (eg_resize_mode)symbol_of(attrs, EG_A_RESIZE_MODE),
                  .a = eg_attr_at(attrs, EG_A_RESIZE_CUBIC_COEFF_A)->f,
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

static egraph_status alloc_taps(eg_arena *arena, int64_t results, eg_resize_taps *out) {
  size_t room = (size_t)results * (size_t)out->count;
  EG_TRY(eg_arena_alloc(arena, room, sizeof *out->place, &out->place));
  return eg_arena_alloc(arena, room, sizeof *out->weight, &out->weight);
}

static egraph_status take_nearest(const eg_resize_axis *axis, eg_arena *arena,
                                  eg_resize_taps *out) {
  out->count = 1;
  EG_TRY(alloc_taps(arena, axis->to, out));
  for (int64_t i = 0; i < axis->to; i++) {
    out->place[i] = eg_resize_nearest(axis, eg_resize_source(axis, i));
    out->weight[i] = 1.0;
  }
  return EGRAPH_OK;
}

egraph_status eg_resize_taps_of(const eg_attrs *attrs, const eg_resize_axis *axis,
                                eg_arena *arena, eg_resize_taps *out) {
  filter f = filter_of(attrs, axis);
  if (f.mode == EG_RESIZE_NEAREST) return take_nearest(axis, arena, out);
  double reach = f.mode == EG_RESIZE_LINEAR ? 1.0 : 2.0;
  int64_t first = (int64_t)floor(-reach / f.stretch) + 1;
  out->count = 2 - 2 * first;
  EG_TRY(alloc_taps(arena, axis->to, out));
  for (int64_t i = 0; i < axis->to; i++)
    set_taps(&f, axis->from, (double)eg_resize_source(axis, i), first, out->count,
             out->place + i * out->count, out->weight + i * out->count);
  return EGRAPH_OK;
}
