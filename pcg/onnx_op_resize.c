// Import of Resize and Upsample.
//
// ONNX has eight ways to place samples and four ways to round; our operator has three
// placements and rounds half down. Shapes are static, so both maps from result positions
// to input positions are compared: a way is expressible when some placement of ours gives
// the same map in every dimension.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pcg/onnx_op.h"

enum { MAX_RESULT_SIZE = 1 << 20 };

typedef struct resize {
  eg_type x;
  int64_t shape[EGRAPH_MAX_RANK];
  double scale[EGRAPH_MAX_RANK];
  const char *placement, *rounding;
  bool nearest;
} resize;

// Where result position i lies in the input, by ONNX's formulas.
static bool onnx_source(const resize *r, uint32_t dim, int64_t i, double *out) {
  double at = (double)i, scale = r->scale[dim];
  double from = (double)r->x.dims[dim], to = (double)r->shape[dim];
  const char *placement = r->placement;
  if (strcmp(placement, "asymmetric") == 0)
    *out = at / scale;
  else if (strcmp(placement, "half_pixel") == 0)
    *out = (at + 0.5) / scale - 0.5;
  else if (strcmp(placement, "pytorch_half_pixel") == 0)
    *out = to > 1.0 ? (at + 0.5) / scale - 0.5 : 0.0;
  else if (strcmp(placement, "align_corners") == 0)
    *out = to > 1.0 ? at * (from - 1.0) / (to - 1.0) : 0.0;
  else if (strcmp(placement, "tf_half_pixel_for_nn") == 0)
    *out = (at + 0.5) / scale;
  else
    return false;
  return true;
}

static bool onnx_round(const char *rounding, double at, double *out) {
  if (strcmp(rounding, "floor") == 0)
    *out = floor(at);
  else if (strcmp(rounding, "ceil") == 0)
    *out = ceil(at);
  else if (strcmp(rounding, "round_prefer_floor") == 0)
    *out = ceil(at - 0.5);
  else if (strcmp(rounding, "round_prefer_ceil") == 0)
    *out = floor(at + 0.5);
  else
    return false;
  return true;
}

static double own_source(const char *placement, double at, double from, double to) {
  if (strcmp(placement, "asymmetric") == 0) return at * from / to;
  if (strcmp(placement, "half-pixel") == 0) return (at + 0.5) * from / to - 0.5;
  return to > 1.0 ? at * (from - 1.0) / (to - 1.0) : 0.0;
}

static double clamp_to(double at, double size) {
  return at < 0.0 ? 0.0 : at > size - 1.0 ? size - 1.0 : at;
}

static bool same_position(const resize *r, uint32_t dim, int64_t i, const char *own) {
  double theirs, from = (double)r->x.dims[dim];
  double ours = own_source(own, (double)i, from, (double)r->shape[dim]);
  if (!onnx_source(r, dim, i, &theirs)) return false;
  if (r->nearest) {
    if (!onnx_round(r->rounding, theirs, &theirs)) return false;
    ours = ceil(ours - 0.5);
  }
  // A linear sample moves by less than 32-bit rounding when its position moves by this
  // much.
  return fabs(clamp_to(theirs, from) - clamp_to(ours, from)) <= 1e-6;
}

static bool same_map(const resize *r, const char *own) {
  for (uint32_t dim = 0; dim < r->x.rank; dim++) {
    if (r->shape[dim] == r->x.dims[dim] && r->scale[dim] == 1.0) continue;
    for (int64_t i = 0; i < r->shape[dim]; i++)
      if (!same_position(r, dim, i, own)) return false;
  }
  return true;
}

static egraph_status emit_resize(const eg_onnx_call *call, const resize *r) {
  static const char *const placements[] = {"half-pixel", "asymmetric", "align-corners"};
  const char *found = NULL;
  for (uint32_t i = 0; i < r->x.rank; i++)
    if (r->shape[i] > MAX_RESULT_SIZE) return eg_onnx_decline("the result is very large");
  for (size_t i = 0; found == NULL && i < sizeof placements / sizeof placements[0]; i++)
    if (same_map(r, placements[i])) found = placements[i];
  if (found == NULL)
    return eg_onnx_decline("this way of placing samples is not supported");
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_RESIZE);
  eg_attr_list_set_ints(&list, EG_A_RESIZE_SHAPE, r->shape, r->x.rank);
  eg_attr_list_set_symbol(&list, EG_A_RESIZE_MODE, r->nearest ? "nearest" : "linear");
  eg_attr_list_set_symbol(&list, EG_A_RESIZE_COORDINATES, found);
  eg_onnx_ref input = eg_onnx_input(call, 0), result = eg_onnx_output(call, 0);
  return eg_onnx_emit(call, &list, &input, 1, &result, 1);
}

static egraph_status set_scales(resize *r, const double *scales, uint32_t count) {
  if (count != r->x.rank)
    return EG_FAIL(EGRAPH_E_PARSE, "there are %" PRIu32 " scales for rank %" PRIu32,
                   count, r->x.rank);
  for (uint32_t i = 0; i < count; i++) {
    // Scales are 32-bit numbers; ONNX multiplies and floors.
    double size = floor((double)r->x.dims[i] * scales[i]);
    if (!(scales[i] > 0.0) || size > (double)MAX_RESULT_SIZE)
      return EG_FAIL(EGRAPH_E_PARSE, "scale %g of dimension %" PRIu32 " is out of range",
                     scales[i], i);
    r->scale[i] = scales[i];
    r->shape[i] = (int64_t)size;
  }
  return EGRAPH_OK;
}

static egraph_status set_sizes(resize *r, eg_ints sizes) {
  if (sizes.len != r->x.rank)
    return EG_FAIL(EGRAPH_E_PARSE, "there are %" PRIu32 " sizes for rank %" PRIu32,
                   sizes.len, r->x.rank);
  for (uint32_t i = 0; i < sizes.len; i++) {
    if (r->x.dims[i] == 0) return eg_onnx_decline("the input is empty");
    if (sizes.data[i] < 0) return EG_FAIL(EGRAPH_E_PARSE, "a size is negative");
    r->shape[i] = sizes.data[i];
    r->scale[i] = (double)sizes.data[i] / (double)r->x.dims[i];
  }
  return EGRAPH_OK;
}

static egraph_status set_mode(resize *r, const char *mode) {
  r->nearest = strcmp(mode, "nearest") == 0;
  bool linear = strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0;
  return r->nearest || linear ? EGRAPH_OK
                              : eg_onnx_decline("the resize mode is not supported");
}

// Operands: X, scales (opset 10); X, roi, scales, sizes (11 and later).
egraph_status eg_onnx_import_resize(const eg_onnx_call *call) {
  bool old = call->reader->opset < 11, has_sizes, has_scales;
  resize r = {.placement = "asymmetric", .rounding = "floor"};
  const char *mode;
  const double *scales;
  uint32_t count;
  eg_ints sizes;
  int64_t exclude;
  EG_TRY(eg_onnx_input_type(call, 0, &r.x));
  EG_TRY(eg_onnx_attr_string(call, "mode", "nearest", &mode));
  EG_TRY(set_mode(&r, mode));
  if (!old) {
    EG_TRY(eg_onnx_attr_string(call, "coordinate_transformation_mode", "half_pixel",
                               &r.placement));
    EG_TRY(eg_onnx_attr_string(call, "nearest_mode", "round_prefer_floor", &r.rounding));
  }
  EG_TRY(eg_onnx_attr_int(call, "exclude_outside", 0, &exclude));
  if (exclude != 0) return eg_onnx_decline("samples outside are excluded");
  EG_TRY(eg_onnx_const_ints(call, 3, &has_sizes, &sizes));
  EG_TRY(eg_onnx_const_doubles(call, old ? 1 : 2, &has_scales, &scales, &count));
  if (has_sizes && sizes.len != 0)
    EG_TRY(set_sizes(&r, sizes));
  else if (has_scales && count != 0)
    EG_TRY(set_scales(&r, scales, count));
  else
    return EG_FAIL(EGRAPH_E_PARSE, "scales and sizes are both absent");
  return emit_resize(call, &r);
}

egraph_status eg_onnx_import_upsample(const eg_onnx_call *call) {
  const Onnx__AttributeProto *attr = eg_onnx_attr(call, "scales");
  resize r = {.placement = "asymmetric", .rounding = "floor"};
  const char *mode;
  const double *scales;
  uint32_t count;
  bool present;
  double listed[EGRAPH_MAX_RANK];
  EG_TRY(eg_onnx_input_type(call, 0, &r.x));
  EG_TRY(eg_onnx_attr_string(call, "mode", "nearest", &mode));
  EG_TRY(set_mode(&r, mode));
  EG_TRY(eg_onnx_const_doubles(call, 1, &present, &scales, &count));
  if (!present && attr != NULL) {
    if (attr->n_floats > EGRAPH_MAX_RANK)
      return EG_FAIL(EGRAPH_E_PARSE, "there are too many scales");
    count = (uint32_t)attr->n_floats;
    for (uint32_t i = 0; i < count; i++)
      listed[i] = (double)attr->floats[i];
    scales = listed;
  }
  EG_TRY(set_scales(&r, scales, count));
  return emit_resize(call, &r);
}
