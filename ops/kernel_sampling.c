// Kernels that sample between the elements of images. Coordinates are computed in
// float32 with the operations of ONNX Runtime, since rounding decides between
// neighbours; sums in float64.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>

#include "ops/kernels.h"
#include "ops/resize.h"

// ---- grid-sample --------------------------------------------------------------------

enum { NEAREST, LINEAR, CUBIC };    // the order of the symbols
enum { ZEROS, BORDER, REFLECTION }; // the order of the symbols
enum { MOST_TAPS = 4, OUTSIDE = -1 };

typedef struct sampler {
  int64_t mode, padding;
  bool aligns;
  uint32_t rank; // number of spatial dimensions
  int64_t size[EGRAPH_MAX_RANK], stride[EGRAPH_MAX_RANK];
} sampler;

/// Positions along a dimension with their weights; the element at OUTSIDE is 0.
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

static int64_t border_place(const sampler *s, uint32_t dim, float at) {
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

/// Returns the position in the image that a grid entry names, along a dimension. Sets
/// *out_is_out if it is beyond the border.
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
    *out = (taps){.count = 1, .place = {border_place(s, dim, at)}, .weight = {1.0}};
    return;
  }
  float base = floorf(at);
  double rest = (double)(at - base);
  out->count = s->mode == LINEAR ? 2 : 4;
  for (uint32_t k = 0; k < out->count; k++) {
    float step = (float)k - (s->mode == LINEAR ? 0.0f : 1.0f);
    double distance = (double)step - rest;
    out->place[k] = border_place(s, dim, base + step);
    out->weight[k] = s->mode == LINEAR ? 1.0 - fabs(distance) : cubic(distance);
  }
}

// Computes the taps (positions and weights) of a sample in all dimensions. With padding
// at the border, a position beyond a border in some dimension is clamped in all
// dimensions; for cubic samples only the taps are clamped.
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

// Sums over all combinations of taps (positions and weights) of the dimensions.
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

egraph_status eg_kernel_grid_sample(const eg_kernel_call *call) {
  const eg_type *x = &call->inputs[0].type, *y = &call->outputs[0].type;
  sampler s = {.mode = eg_attr_at(call->attrs, EG_A_GRID_SAMPLE_MODE)->i,
               .padding = eg_attr_at(call->attrs, EG_A_GRID_SAMPLE_PADDING_MODE)->i,
               .aligns = eg_attr_at(call->attrs, EG_A_GRID_SAMPLE_ALIGN_CORNERS)->i != 0,
               .rank = x->rank - 2};
  const double *images, *grid;
  taps t[EGRAPH_MAX_RANK];
  int64_t pixels = eg_dims_product(x->dims, 2, x->rank);
  int64_t places = eg_dims_product(y->dims, 2, y->rank), channels = y->dims[1];
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[0], &images));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[1], &grid));
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

// ---- roi-align ----------------------------------------------------------------------

enum { MOST_SAMPLES = 4096 }; // most samples of a bin along a dimension

/// An image region along one dimension: bins of size `bin` with `samples` samples each.
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
  out->samples = samples > 0 ? (int64_t)samples : 0; // a reversed region has no samples
  return EGRAPH_OK;
}

/// The two neighbours of a position in an image, and their weights.
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

// Returns the mean of the samples of a bin; for max, as in all runtimes, the largest
// weighted neighbour of a sample.
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

egraph_status eg_kernel_roi_align(const eg_kernel_call *call) {
  const eg_type *x = &call->inputs[0].type, *y = &call->outputs[0].type;
  bool is_max = eg_attr_at(call->attrs, EG_A_ROI_ALIGN_MODE)->i != 0;
  int64_t pixels = x->dims[2] * x->dims[3], at = 0;
  const double *images, *rois;
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[0], &images));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[1], &rois));
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

// ---- taps of resize -------------------------------------------------------------------

// Computes the taps (positions and weights) of resized dimensions. With antialias,
// filters are wider when the result is smaller; taps beyond the border read the
// border element.

static int64_t symbol_of(const eg_attrs *attrs, eg_attr_slot slot) {
  return eg_attr_at(attrs, slot)->i;
}

typedef struct filter {
  eg_resize_mode mode;
  double a;       // coefficient of the cubic filter
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

/// Converts a position to an integer and bounds it at about one operand size outside of
/// the operand: all positions further out are equivalent.
static int64_t bounded(double place, int64_t size) {
  double low = -(double)size - 4.0, high = 2.0 * (double)size + 4.0;
  return (int64_t)(!(place > low) ? low : place > high ? high : place);
}

static int64_t clamp_index(int64_t at, int64_t size) {
  return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static void set_filter_taps(const filter *f, int64_t size, double at, int64_t first,
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
    set_filter_taps(&f, axis->from, (double)eg_resize_source(axis, i), first, out->count,
                    out->place + i * out->count, out->weight + i * out->count);
  return EGRAPH_OK;
}

// ---- resize ---------------------------------------------------------------------------

// Resizes to the result's shape. All modes are separable: each position along each
// dimension has its taps (resize.h). Nearest moves elements in their stored type. The
// other modes run dimension by dimension, so that their cost does not grow with 2^rank.

static double fill_of(const eg_kernel_call *call) {
  return eg_attr_at(call->attrs, EG_A_RESIZE_EXTRAPOLATION_VALUE)->f;
}

static eg_resize_axis resize_axis_of(const eg_kernel_call *call, uint32_t dim) {
  return eg_resize_axis_of(call->attrs, &call->inputs[0].type, &call->outputs[0].type,
                           dim);
}

// True when a resize writes the extrapolation value for a sample at position `at`; only
// cropping uses this value.
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
    eg_resize_axis axis = resize_axis_of(call, d);
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

// Resizes one dimension of [outer, from, inner] doubles to size `to`; y is zero before.
static void resize_dim(const double *x, const eg_axis_view *view, int64_t to,
                       const eg_resize_taps *t, double *y) {
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

// Fills results whose sampled position along dimension `dim` is outside of the operand.
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
    eg_resize_axis axis = resize_axis_of(call, d);
    if (eg_resize_is_copy(&axis)) continue;
    eg_axis_view view = eg_axis_view_of(&now.type, d);
    eg_tensor next = {.type = now.type};
    eg_resize_taps t;
    next.type.dims[d] = result->dims[d];
    EG_TRY(eg_resize_taps_of(call->attrs, &axis, arena, &t));
    EG_TRY(eg_arena_alloc(arena, (size_t)eg_type_elements(&next.type), sizeof(double),
                          &next.data));
    resize_dim(now.data, &view, result->dims[d], &t, next.data);
    now = next;
  }
  eg_tensor_convert(&now, &call->outputs[0]);
  for (uint32_t d = 0; d < result->rank; d++) {
    eg_resize_axis axis = resize_axis_of(call, d);
    if (!eg_resize_is_copy(&axis)) fill_outside(call, d, &axis);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_resize(const eg_kernel_call *call) {
  if (eg_type_elements(&call->inputs[0].type) == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "resize: the input is empty, there is nothing to enlarge");
  bool is_nearest = symbol_of(call->attrs, EG_A_RESIZE_MODE) == EG_RESIZE_NEAREST;
  return is_nearest ? run_nearest(call, call->scratch) : run_filters(call, call->scratch);
}
