// Samples between the elements of images. Coordinates are in float32 with the operations
// of ONNX Runtime, since rounding decides between neighbours; sums in float64.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>

#include "ops/kernels.h"

// ---- grid-sample --------------------------------------------------------------------

enum { NEAREST, LINEAR, CUBIC };    // the order of the symbols
enum { ZEROS, BORDER, REFLECTION }; // likewise
enum { MOST_TAPS = 4, OUTSIDE = -1 };

typedef struct sampler {
  int64_t mode, padding;
  bool aligns;
  uint32_t rank; // spatial dimensions
  int64_t size[EGRAPH_MAX_RANK], stride[EGRAPH_MAX_RANK];
} sampler;

/// Places along one dimension with their weights; OUTSIDE is worth nothing.
typedef struct taps {
  uint32_t count;
  int64_t place[MOST_TAPS];
  double weight[MOST_TAPS];
} taps;

static float reflect(float x, float low, float high) {
  float range = high - low;
  if (range <= 0.0f) return low;
  float over = x < low ? low - x : x > high ? x - high : -1.0f;
  if (over < 0.0f) return x;
  float turns = floorf(over / range), rest = over - turns * range;
  bool is_back = fmodf(turns, 2.0f) == 0.0f;
  return (x < low) == is_back ? low + rest : high - rest;
}

static void borders(const sampler *s, uint32_t dim, float *low, float *high) {
  *low = s->aligns ? 0.0f : -0.5f;
  *high = (float)s->size[dim] - (s->aligns ? 1.0f : 0.5f);
}

static int64_t place_of(const sampler *s, uint32_t dim, float at) {
  float low, high, last = (float)(s->size[dim] - 1);
  borders(s, dim, &low, &high);
  if (s->padding == ZEROS && !(at >= 0.0f && at <= last)) return OUTSIDE;
  if (s->padding == REFLECTION) at = truncf(reflect(at, low, high));
  return (int64_t)fminf(fmaxf(at, 0.0f), last);
}

static double cubic(double x) {
  const double a = -0.75;
  x = fabs(x);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
}

/// Where a place of the grid lies along a dimension; *out_is_out: beyond its border.
static float source_of(const sampler *s, uint32_t dim, float grid, bool *out_is_out) {
  float size = (float)s->size[dim], low, high;
  float at = s->aligns ? (grid + 1.0f) / 2.0f * (size - 1.0f)
                       : ((grid + 1.0f) * size - 1.0f) / 2.0f;
  if (!(fabsf(at) < 1e18f)) at = -1e18f;
  if (s->mode == NEAREST) at = nearbyintf(at);
  borders(s, dim, &low, &high);
  *out_is_out = *out_is_out || at < low || at > high;
  return s->padding == REFLECTION && s->mode != CUBIC ? reflect(at, low, high) : at;
}

static void set_taps(const sampler *s, uint32_t dim, float at, taps *out) {
  if (s->mode == NEAREST) {
    *out = (taps){.count = 1, .place = {place_of(s, dim, at)}, .weight = {1.0}};
    return;
  }
  float base = floorf(at);
  double rest = (double)(at - base);
  out->count = s->mode == LINEAR ? 2 : 4;
  for (uint32_t k = 0; k < out->count; k++) {
    float step = (float)k - (s->mode == LINEAR ? 0.0f : 1.0f);
    double distance = (double)step - rest;
    out->place[k] = place_of(s, dim, base + step);
    out->weight[k] = s->mode == LINEAR ? 1.0 - fabs(distance) : cubic(distance);
  }
}

// A place beyond a border is moved onto it along all dimensions, one within is not; a
// cubic has neighbours beyond the border anyhow, and only these are moved.
static void set_all_taps(const sampler *s, const double *grid, taps *out) {
  float at[EGRAPH_MAX_RANK];
  bool is_out = false;
  for (uint32_t d = 0; d < s->rank; d++)
    at[d] = source_of(s, d, (float)grid[s->rank - 1 - d], &is_out);
  for (uint32_t d = 0; d < s->rank; d++) {
    if (is_out && s->padding == BORDER && s->mode != CUBIC)
      at[d] = fminf(fmaxf(at[d], 0.0f), (float)(s->size[d] - 1));
    set_taps(s, d, at[d], &out[d]);
  }
}

// The sum over all combinations of taps.
static double sample(const sampler *s, const taps *t, const double *image) {
  uint32_t index[EGRAPH_MAX_RANK] = {0}, dim = 0;
  double total = 0.0;
  while (dim < s->rank) {
    double weight = 1.0;
    int64_t place = 0;
    for (uint32_t d = 0; d < s->rank && place != OUTSIDE; d++) {
      int64_t at = t[d].place[index[d]];
      weight *= t[d].weight[index[d]];
      place = at == OUTSIDE ? OUTSIDE : place + at * s->stride[d];
    }
    if (place != OUTSIDE) total += weight * image[place];
    for (dim = 0; dim < s->rank && ++index[dim] == t[dim].count; dim++)
      index[dim] = 0;
  }
  return total;
}

static egraph_status run_grid(const eg_kernel_call *call, eg_arena *arena) {
  const eg_type *x = &call->inputs[0].type, *y = &call->outputs[0].type;
  sampler s = {.mode = eg_attr_at(call->attrs, EG_A_GRID_SAMPLE_MODE)->i,
               .padding = eg_attr_at(call->attrs, EG_A_GRID_SAMPLE_PADDING_MODE)->i,
               .aligns = eg_attr_at(call->attrs, EG_A_GRID_SAMPLE_ALIGN_CORNERS)->i != 0,
               .rank = x->rank - 2};
  const double *images, *grid;
  taps t[EGRAPH_MAX_RANK];
  int64_t pixels = eg_dims_product(x->dims, 2, x->rank);
  int64_t places = eg_dims_product(y->dims, 2, y->rank), channels = y->dims[1];
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &images));
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[1], &grid));
  for (uint32_t d = 0; d < s.rank; d++)
    s.size[d] = x->dims[d + 2];
  eg_dims_strides(s.rank, s.size, s.stride);
  for (int64_t n = 0; n < y->dims[0]; n++)
    for (int64_t p = 0; p < places; p++) {
      const double *at = grid + (n * places + p) * s.rank;
      set_all_taps(&s, at, t);
      for (int64_t c = n * channels; c < (n + 1) * channels; c++)
        eg_tensor_set_double(&call->outputs[0], c * places + p,
                             sample(&s, t, images + c * pixels));
    }
  return EGRAPH_OK;
}

egraph_status eg_kernel_grid_sample(const eg_kernel_call *call) {
  eg_arena arena;
  eg_arena_init(&arena, call->alloc);
  egraph_status status = run_grid(call, &arena);
  eg_arena_deinit(&arena);
  return status;
}

// ---- roi-align ----------------------------------------------------------------------

enum { MOST_SAMPLES = 4096 }; // per bin and dimension

/// A region along one dimension: bins of `samples` samples.
typedef struct side {
  float start, bin;
  int64_t samples;
} side;

static egraph_status set_side(const eg_kernel_call *call, float from, float to,
                              int64_t bins, side *out) {
  float scale = (float)eg_attr_at(call->attrs, EG_A_ROI_ALIGN_SPATIAL_SCALE)->f;
  bool is_half = eg_attr_at(call->attrs, EG_A_ROI_ALIGN_COORDINATES)->i == 0;
  int64_t ratio = eg_attr_at(call->attrs, EG_A_ROI_ALIGN_SAMPLING_RATIO)->i;
  float offset = is_half ? 0.5f : 0.0f;
  float extent = (to * scale - offset) - (from * scale - offset);
  if (!is_half) extent = fmaxf(extent, 1.0f);
  *out = (side){.start = from * scale - offset, .bin = extent / (float)bins};
  float samples = ratio > 0 ? (float)ratio : ceilf(extent / (float)bins);
  if (!(samples <= (float)MOST_SAMPLES))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "roi-align: a region takes %g samples per bin",
                   (double)samples);
  out->samples = samples > 0 ? (int64_t)samples : 0; // of a region turned around: none
  return EGRAPH_OK;
}

/// Two neighbours of a place and their weights; false outside of the image.
typedef struct pair {
  int64_t low, high;
  float low_weight, high_weight;
} pair;

static bool neighbours(float at, int64_t size, pair *out) {
  if (!(at >= -1.0f && at <= (float)size)) return false;
  if (at <= 0.0f) at = 0.0f;
  out->low = (int64_t)at;
  out->high = out->low + 1;
  if (out->low >= size - 1) {
    out->high = out->low = size - 1;
    at = (float)out->low;
  }
  out->high_weight = at - (float)out->low;
  out->low_weight = 1.0f - out->high_weight;
  return true;
}

// The mean of the samples of a bin; or, as all runtimes do, the largest of their weighted
// neighbours.
static double bin_value(const double *image, const int64_t *size, const side *rows,
                        const side *columns, int64_t row, int64_t column, bool is_max) {
  double total = 0.0, largest = 0.0;
  bool is_first = true;
  for (int64_t i = 0; i < rows->samples; i++)
    for (int64_t j = 0; j < columns->samples; j++) {
      pair y, x;
      float at_y = rows->start + (float)row * rows->bin +
                   ((float)i + 0.5f) * rows->bin / (float)rows->samples;
      float at_x = columns->start + (float)column * columns->bin +
                   ((float)j + 0.5f) * columns->bin / (float)columns->samples;
      double part[4] = {0.0, 0.0, 0.0, 0.0};
      if (neighbours(at_y, size[0], &y) && neighbours(at_x, size[1], &x)) {
        part[0] = (double)(y.low_weight * x.low_weight) * image[y.low * size[1] + x.low];
        part[1] =
            (double)(y.low_weight * x.high_weight) * image[y.low * size[1] + x.high];
        part[2] =
            (double)(y.high_weight * x.low_weight) * image[y.high * size[1] + x.low];
        part[3] =
            (double)(y.high_weight * x.high_weight) * image[y.high * size[1] + x.high];
      }
      total += part[0] + part[1] + part[2] + part[3];
      double most = fmax(fmax(part[0], part[1]), fmax(part[2], part[3]));
      largest = is_first ? most : fmax(largest, most);
      is_first = false;
    }
  int64_t count = rows->samples * columns->samples;
  return is_max ? largest : total / (double)(count > 0 ? count : 1);
}

static egraph_status run_roi(const eg_kernel_call *call, eg_arena *arena) {
  const eg_type *x = &call->inputs[0].type, *y = &call->outputs[0].type;
  bool is_max = eg_attr_at(call->attrs, EG_A_ROI_ALIGN_MODE)->i != 0;
  int64_t pixels = x->dims[2] * x->dims[3], at = 0;
  const double *images, *rois;
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[0], &images));
  EG_TRY(eg_kernel_load_doubles(arena, &call->inputs[1], &rois));
  for (int64_t r = 0; r < y->dims[0]; r++, rois += 4) {
    side rows, columns;
    int64_t n = eg_tensor_get_int(&call->inputs[2], r);
    if (n < 0 || n >= x->dims[0])
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "roi-align: region %" PRId64 " is in image %" PRId64 " of %" PRId64,
                     r, n, x->dims[0]);
    EG_TRY(set_side(call, (float)rois[1], (float)rois[3], y->dims[2], &rows));
    EG_TRY(set_side(call, (float)rois[0], (float)rois[2], y->dims[3], &columns));
    for (int64_t c = 0; c < y->dims[1]; c++)
      for (int64_t i = 0; i < y->dims[2]; i++)
        for (int64_t j = 0; j < y->dims[3]; j++)
          eg_tensor_set_double(&call->outputs[0], at++,
                               bin_value(images + (n * x->dims[1] + c) * pixels,
                                         x->dims + 2, &rows, &columns, i, j, is_max));
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_roi_align(const eg_kernel_call *call) {
  eg_arena arena;
  eg_arena_init(&arena, call->alloc);
  egraph_status status = run_roi(call, &arena);
  eg_arena_deinit(&arena);
  return status;
}
