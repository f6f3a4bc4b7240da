// Import of Resize and Upsample.
//
// For fixed shapes, placements of samples are compared by their maps from result
// positions to operand positions. A placement becomes the simplest one with the same map
// in every dimension, so that equal nodes have equal attributes and older sets can
// express them.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/op.h"
#include "ops/resize.h"

enum { MAX_RESULT_SIZE = 1 << 20 };

typedef struct resize {
  eg_type x;
  int64_t shape[EGRAPH_MAX_RANK];
  double scales[EGRAPH_MAX_RANK]; // 32-bit numbers
  double roi[2 * EGRAPH_MAX_RANK];
  bool has_scales; // scales differ from the ratios of sizes
  eg_resize_coordinates coordinates;
  eg_resize_rounding rounding;
  eg_resize_mode mode;
  bool antialias, excludes;
  double cubic_a, fill;
} resize;

typedef struct word {
  const char *onnx, *own;
  int value;
} word;

static const word coordinates[] = {
    {"half_pixel", "half-pixel", EG_RESIZE_HALF_PIXEL},
    {"asymmetric", "asymmetric", EG_RESIZE_ASYMMETRIC},
    {"align_corners", "align-corners", EG_RESIZE_ALIGN_CORNERS},
    {"pytorch_half_pixel", "pytorch-half-pixel", EG_RESIZE_PYTORCH_HALF_PIXEL},
    {"half_pixel_symmetric", "half-pixel-symmetric", EG_RESIZE_HALF_PIXEL_SYMMETRIC},
    {"tf_crop_and_resize", "tf-crop-and-resize", EG_RESIZE_TF_CROP_AND_RESIZE},
    {"tf_half_pixel_for_nn", "", EG_RESIZE_TF_HALF_PIXEL_FOR_NN},
    {0}};
static const word roundings[] = {
    {"round_prefer_floor", "round-prefer-floor", EG_RESIZE_PREFER_FLOOR},
    {"round_prefer_ceil", "round-prefer-ceil", EG_RESIZE_PREFER_CEIL},
    {"floor", "floor", EG_RESIZE_FLOOR},
    {"ceil", "ceil", EG_RESIZE_CEIL},
    {0}};
static const word modes[] = {{"nearest", "nearest", EG_RESIZE_NEAREST},
                             {"linear", "linear", EG_RESIZE_LINEAR},
                             {"bilinear", "linear", EG_RESIZE_LINEAR},
                             {"cubic", "cubic", EG_RESIZE_CUBIC},
                             {0}};

static egraph_status read_word(const eg_onnx_call *call, const char *name,
                               const char *usual, const word *words, int *out) {
  const char *text;
  EG_TRY(eg_onnx_attr_string(call, name, usual, &text));
  for (const word *w = words; w->onnx != NULL; w++)
    if (strcmp(w->onnx, text) == 0) {
      *out = w->value;
      return EGRAPH_OK;
    }
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "attribute '%s' is '%.40s'", name, text);
}

static const char *own_word(const word *words, int value) {
  while (words->value != value)
    words++;
  return words->own;
}

// ---- equal placements ---------------------------------------------------------------

static eg_resize_axis axis_of(const resize *r, uint32_t dim) {
  int64_t from = r->x.dims[dim], to = r->shape[dim];
  return (eg_resize_axis){.from = from,
                          .to = to,
                          .scale = r->has_scales ? (float)r->scales[dim]
                                   : from == to  ? 1.0f
                                                 : (float)to / (float)from,
                          .roi_start = (float)r->roi[dim],
                          .roi_end = (float)r->roi[dim + r->x.rank],
                          .coordinates = r->coordinates,
                          .rounding = r->rounding};
}

static float clamp_to(float at, int64_t size) {
  float last = (float)(size - 1);
  return !(at > 0.0f) ? 0.0f : at > last ? last : at;
}

// True when two resizes of the same operand to the same shape read the same elements.
static bool same_map(const resize *a, const resize *b) {
  for (uint32_t dim = 0; dim < a->x.rank; dim++) {
    eg_resize_axis p = axis_of(a, dim), q = axis_of(b, dim);
    for (int64_t i = 0; i < p.to; i++) {
      float there = eg_resize_source(&p, i), here = eg_resize_source(&q, i);
      bool same = a->mode == EG_RESIZE_NEAREST
                      ? eg_resize_nearest(&p, there) == eg_resize_nearest(&q, here)
                      // Such a small step moves a linear sample by less than
                      // 32-bit rounding.
                      : fabsf(clamp_to(there, p.from) - clamp_to(here, p.from)) <= 1e-6f;
      if (!same) return false;
    }
  }
  return true;
}

// Replaces the coordinate transformation of a resize by a plainer one that reads the same
// elements. Not for filters that also depend on scales.
static void simplify(resize *r) {
  if (eg_type_is_open(&r->x) || eg_size_any_open(r->shape, r->x.rank)) return;
  static const eg_resize_coordinates plain[] = {
      EG_RESIZE_HALF_PIXEL, EG_RESIZE_ASYMMETRIC, EG_RESIZE_ALIGN_CORNERS};
  bool is_nearest = r->mode == EG_RESIZE_NEAREST;
  if (r->coordinates == EG_RESIZE_TF_CROP_AND_RESIZE ||
      (!is_nearest && (r->antialias || r->mode == EG_RESIZE_CUBIC)))
    return;
  for (int rounding = 0; rounding < (is_nearest ? 4 : 1); rounding++)
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
      resize own = *r;
      own.has_scales = false;
      own.coordinates = plain[i];
      own.rounding = (eg_resize_rounding)rounding;
      if (!same_map(r, &own)) continue;
      *r = own;
      return;
    }
}

// True when a dimension keeps its size although a region or a scale would move samples:
// ONNX Runtime copies such dimensions, or whole tensors.
static bool is_ambiguous(const resize *r) {
  bool crops = r->coordinates == EG_RESIZE_TF_CROP_AND_RESIZE, moves = false, same = true;
  for (uint32_t i = 0; i < r->x.rank; i++) {
    bool keeps = r->x.dims[i] == r->shape[i];
    bool is_whole = r->roi[i] == 0.0 && r->roi[i + r->x.rank] == 1.0;
    same = same && keeps;
    moves =
        moves || (keeps && (crops ? !is_whole : r->has_scales && r->scales[i] != 1.0));
  }
  return moves && (crops || r->antialias || same);
}

static egraph_status emit_resize(const eg_onnx_call *call, resize *r) {
  for (uint32_t i = 0; i < r->x.rank; i++) {
    if (eg_size_is_open(r->shape[i])) continue;
    if (r->shape[i] > MAX_RESULT_SIZE) return eg_onnx_decline("the result is very large");
    if (r->x.dims[i] == 0 || r->shape[i] == 0)
      return eg_onnx_decline("the input or the result is empty");
  }
  if (r->mode != EG_RESIZE_NEAREST && !eg_dtype_is_float(r->x.dtype))
    return eg_onnx_decline("samples between integers are not supported");
  if (is_ambiguous(r)) return eg_onnx_decline("runtimes differ in what is copied");
  simplify(r);
  if (r->coordinates == EG_RESIZE_TF_HALF_PIXEL_FOR_NN)
    return eg_onnx_decline("tf_half_pixel_for_nn with this rounding is not supported");
  eg_attr_list list = EG_PLAIN(RESIZE);
  eg_attr_list_set_ints(&list, EG_A_RESIZE_SHAPE, r->shape, r->x.rank);
  eg_attr_list_set_symbol(&list, EG_A_RESIZE_MODE, own_word(modes, (int)r->mode));
  eg_attr_list_set_symbol(&list, EG_A_RESIZE_COORDINATES,
                          own_word(coordinates, (int)r->coordinates));
  if (r->mode == EG_RESIZE_NEAREST)
    eg_attr_list_set_symbol(&list, EG_A_RESIZE_NEAREST_MODE,
                            own_word(roundings, (int)r->rounding));
  if (r->mode == EG_RESIZE_CUBIC)
    eg_attr_list_set_float(&list, EG_A_RESIZE_CUBIC_COEFF_A, r->cubic_a);
  if (r->mode != EG_RESIZE_NEAREST) {
    eg_attr_list_set_int(&list, EG_A_RESIZE_ANTIALIAS, r->antialias);
    eg_attr_list_set_int(&list, EG_A_RESIZE_EXCLUDE_OUTSIDE, r->excludes);
  }
  if (r->has_scales)
    eg_attr_list_set_floats(&list, EG_A_RESIZE_SCALES, r->scales, r->x.rank);
  if (r->coordinates == EG_RESIZE_TF_CROP_AND_RESIZE) {
    eg_attr_list_set_floats(&list, EG_A_RESIZE_ROI, r->roi, 2 * r->x.rank);
    eg_attr_list_set_float(&list, EG_A_RESIZE_EXTRAPOLATION_VALUE, r->fill);
  }
  eg_onnx_ref input = eg_onnx_input(call, 0), result = eg_onnx_output(call, 0);
  return eg_onnx_emit(call, &list, &input, 1, &result, 1);
}

// ---- sizes and scales ---------------------------------------------------------------

/// The axes to which the lists of scales and sizes and the region belong.
typedef struct axes {
  int64_t at[EGRAPH_MAX_RANK];
  uint32_t count;
} axes;

static egraph_status read_axes(const eg_onnx_call *call, uint32_t rank, axes *out) {
  bool present;
  eg_ints list;
  uint32_t seen = 0;
  EG_TRY(eg_onnx_attr_ints(call, "axes", &present, &list));
  out->count = present ? list.len : rank;
  if (out->count > rank) return EG_FAIL(EGRAPH_E_PARSE, "there are too many axes");
  for (uint32_t i = 0; i < out->count; i++) {
    out->at[i] = i;
    if (present) EG_TRY(eg_onnx_axis(list.data[i], rank, &out->at[i]));
    if ((seen >> out->at[i] & 1) != 0)
      return EG_FAIL(EGRAPH_E_PARSE, "axis %" PRId64 " is given twice", out->at[i]);
    seen |= UINT32_C(1) << out->at[i];
  }
  return EGRAPH_OK;
}

static egraph_status check_count(const char *what, uint32_t count, const axes *a) {
  if (count == a->count) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE, "there are %" PRIu32 " %s for rank %" PRIu32, count,
                 what, a->count);
}

/// Scales an open size by at most 1, or by 2 or more. Declines scales between 1 and 2:
/// ONNX Runtime copies a dimension whose size such a scale does not change.
static egraph_status scale_open(resize *r, int64_t dim, double scale) {
  if ((scale > 1.0 && scale < 2.0) ||
      !eg_resize_scaled_size(r->x.dims[dim], scale, &r->shape[dim]))
    return eg_onnx_decline("a scaled size has no expression");
  r->scales[dim] = scale;
  r->has_scales = r->has_scales || scale != floor(scale);
  return EGRAPH_OK;
}

static egraph_status set_scales(resize *r, const axes *a, const double *scales,
                                uint32_t count) {
  EG_TRY(check_count("scales", count, a));
  for (uint32_t i = 0; i < count; i++) {
    int64_t dim = a->at[i];
    if (eg_size_is_open(r->x.dims[dim])) {
      EG_TRY(scale_open(r, dim, scales[i]));
      continue;
    }
    // Scales are 32-bit floats, and so is the product, which is rounded down to a size.
    float size = floorf((float)r->x.dims[dim] * (float)scales[i]);
    if (!(scales[i] > 0.0) || size > (float)MAX_RESULT_SIZE)
      return EG_FAIL(EGRAPH_E_PARSE, "scale %g of dimension %" PRId64 " is out of range",
                     scales[i], dim);
    r->scales[dim] = scales[i];
    r->shape[dim] = (int64_t)size;
    r->has_scales = r->has_scales || (float)scales[i] != size / (float)r->x.dims[dim];
  }
  return EGRAPH_OK;
}

// Sets the sizes that the node gives. With policy not_larger or not_smaller, scales all
// axes equally to fit these sizes.
static egraph_status set_sizes(const eg_onnx_call *call, resize *r, const axes *a,
                               eg_ints sizes) {
  float scale = 0.0f;
  EG_TRY(check_count("sizes", sizes.len, a));
  EG_ONNX_STRING(policy, call, "keep_aspect_ratio_policy", "stretch");
  bool stretches = strcmp(policy, "stretch") == 0;
  bool is_least = strcmp(policy, "not_larger") == 0;
  if (!stretches && !is_least && strcmp(policy, "not_smaller") != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "attribute 'keep_aspect_ratio_policy' is '%.40s'",
                   policy);
  for (uint32_t i = 0; i < sizes.len; i++) {
    int64_t dim = a->at[i];
    if (sizes.data[i] < 0) return EG_FAIL(EGRAPH_E_PARSE, "a size is negative");
    if (r->x.dims[dim] == 0) return eg_onnx_decline("the input is empty");
    if (eg_size_is_open(r->x.dims[dim]) || eg_size_is_open(sizes.data[i])) {
      r->shape[dim] = sizes.data[i];
      if (!stretches)
        return eg_onnx_decline("the aspect ratio is another at other sizes");
      continue;
    }
    float own = (float)sizes.data[i] / (float)r->x.dims[dim];
    r->shape[dim] = sizes.data[i];
    if (i == 0 || (is_least ? own < scale : own > scale)) scale = own;
  }
  if (stretches) return EGRAPH_OK;
  for (uint32_t i = 0; i < sizes.len; i++) {
    int64_t dim = a->at[i];
    float size = roundf(scale * (float)r->x.dims[dim]);
    if (size != floorf(scale * (float)r->x.dims[dim]))
      return eg_onnx_decline("a size that keeps the aspect ratio is rounded up");
    r->shape[dim] = size > (float)MAX_RESULT_SIZE ? MAX_RESULT_SIZE + 1 : (int64_t)size;
    r->scales[dim] = (double)scale;
    r->has_scales = r->has_scales || scale != size / (float)r->x.dims[dim];
  }
  return EGRAPH_OK;
}

static egraph_status set_roi(const eg_onnx_call *call, resize *r, const axes *a) {
  const double *roi;
  uint32_t count;
  bool present;
  EG_TRY(eg_onnx_const_doubles(call, 1, &present, &roi, &count));
  if (count != 2 * a->count)
    return EG_FAIL(EGRAPH_E_PARSE, "the region has %" PRIu32 " numbers, not %" PRIu32,
                   count, 2 * a->count);
  for (uint32_t i = 0; i < a->count; i++) {
    r->roi[a->at[i]] = roi[i];
    r->roi[a->at[i] + r->x.rank] = roi[i + a->count];
  }
  return EGRAPH_OK;
}

/// Fills *out with a resize that changes no size.
static egraph_status start_resize(const eg_onnx_call *call, resize *out) {
  int mode;
  *out = (resize){.coordinates = EG_RESIZE_ASYMMETRIC, .rounding = EG_RESIZE_FLOOR};
  EG_TRY(eg_onnx_input_type(call, 0, &out->x));
  EG_TRY(read_word(call, "mode", "nearest", modes, &mode));
  out->mode = (eg_resize_mode)mode;
  for (uint32_t i = 0; i < out->x.rank; i++) {
    out->shape[i] = out->x.dims[i];
    out->scales[i] = out->roi[i + out->x.rank] = 1.0;
  }
  return EGRAPH_OK;
}

// Sets the rounding for sets before 11, which do not define it: ONNX Runtime rounds up
// when it shrinks.
static egraph_status round_as_before(resize *r) {
  bool grows = false, shrinks = false;
  if (r->mode == EG_RESIZE_CUBIC)
    return eg_onnx_decline("older sets have no cubic samples");
  for (uint32_t i = 0; i < r->x.rank; i++) {
    grows = grows || r->scales[i] > 1.0;
    shrinks = shrinks || r->scales[i] < 1.0;
  }
  if (grows && shrinks && r->mode == EG_RESIZE_NEAREST)
    return eg_onnx_decline("it grows and shrinks at once");
  r->rounding = shrinks ? EG_RESIZE_CEIL : EG_RESIZE_FLOOR;
  return EGRAPH_OK;
}

static egraph_status read_ways(const eg_onnx_call *call, resize *r) {
  int way, rounding;
  EG_TRY(
      read_word(call, "coordinate_transformation_mode", "half_pixel", coordinates, &way));
  EG_TRY(read_word(call, "nearest_mode", "round_prefer_floor", roundings, &rounding));
  EG_ONNX_INT(antialias, call, "antialias", 0);
  EG_ONNX_INT(excludes, call, "exclude_outside", 0);
  EG_TRY(eg_onnx_attr_float(call, "cubic_coeff_a", -0.75, &r->cubic_a));
  EG_TRY(eg_onnx_attr_float(call, "extrapolation_value", 0.0, &r->fill));
  r->coordinates = (eg_resize_coordinates)way;
  r->rounding = (eg_resize_rounding)rounding;
  r->antialias = antialias != 0;
  r->excludes = excludes != 0;
  bool for_nearest = r->coordinates == EG_RESIZE_TF_HALF_PIXEL_FOR_NN;
  if (for_nearest && r->mode != EG_RESIZE_NEAREST)
    return eg_onnx_decline("tf_half_pixel_for_nn is for nearest");
  if (r->antialias && r->coordinates == EG_RESIZE_TF_CROP_AND_RESIZE)
    return eg_onnx_decline("cropping with antialias is not supported");
  return EGRAPH_OK;
}

// Operands: X, scales (opset 10); X, roi, scales, sizes (11 and later).
egraph_status eg_onnx_import_resize(const eg_onnx_call *call) {
  bool old = call->reader->opset < 11, has_sizes, has_scales;
  resize r;
  axes a;
  const double *scales;
  uint32_t count;
  eg_ints sizes;
  EG_TRY(start_resize(call, &r));
  EG_TRY(read_axes(call, r.x.rank, &a));
  if (!old) EG_TRY(read_ways(call, &r));
  bool crops = r.coordinates == EG_RESIZE_TF_CROP_AND_RESIZE;
  EG_TRY(eg_onnx_const_sizes(call, 3, &has_sizes, &sizes));
  EG_TRY(eg_onnx_const_doubles(call, old ? 1 : 2, &has_scales, &scales, &count));
  if (has_sizes && sizes.len != 0)
    EG_TRY(set_sizes(call, &r, &a, sizes));
  else if (crops)
    return eg_onnx_decline("runtimes differ in the size of a region by scales");
  else if (has_scales && count != 0)
    EG_TRY(set_scales(&r, &a, scales, count));
  else
    return EG_FAIL(EGRAPH_E_PARSE, "scales and sizes are both absent");
  if (crops) EG_TRY(set_roi(call, &r, &a));
  if (old) EG_TRY(round_as_before(&r));
  return emit_resize(call, &r);
}

egraph_status eg_onnx_import_upsample(const eg_onnx_call *call) {
  resize r;
  const double *scales;
  uint32_t count;
  bool present;
  eg_floats listed;
  axes a;
  EG_TRY(start_resize(call, &r));
  EG_TRY(read_axes(call, r.x.rank, &a));
  EG_TRY(eg_onnx_const_doubles(call, 1, &present, &scales, &count));
  if (!present) {
    EG_TRY(eg_onnx_attr_floats(call, "scales", &present, &listed));
    scales = listed.data;
    count = listed.len;
  }
  EG_TRY(set_scales(&r, &a, scales, count));
  EG_TRY(round_as_before(&r));
  return emit_resize(call, &r);
}
