// Operators that sample between the elements of images: types and factors. Images and
// channels are independent; a sample may be anywhere in its image.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>

#include "ops/resize.h"
#include "ops/typing.h"

// Checks that operand `index` has operand 0's floating-point dtype and `rank` dimensions.
static egraph_status check_operand(const eg_typing *node, uint32_t index, uint32_t rank) {
  const eg_type *type = &node->inputs[index];
  if (eg_dtype_is_float(type->dtype) && type->rank == rank) return EGRAPH_OK;
  return eg_typing_fail(node, "operand %u is %s; it must be floating point of rank %u",
                        index, eg_type_text_of(type).text, rank);
}

egraph_status eg_infer_grid_sample(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *grid = &node->inputs[1];
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  EG_TRY(check_operand(node, 1, x->rank));
  if (grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != x->rank - 2)
    return eg_typing_fail(node, "places %s do not fit images %s",
                          eg_type_text_of(grid).text, eg_type_text_of(x).text);
  *out = eg_type_like(x);
  for (uint32_t i = 2; i < x->rank; i++) {
    if (x->dims[i] == 0)
      return eg_typing_fail(node, "images %s are empty", eg_type_text_of(x).text);
    out->dims[i] = grid->dims[i - 1];
  }
  return EGRAPH_OK;
}

void eg_factors_grid_sample(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *x = &node->inputs[0];
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0)->input_dim[1] = 0;
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 1);
  for (uint32_t i = 2; i < x->rank; i++) {
    eg_factor *place = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[i]);
    place->output_dim[0] = (int8_t)i;
    place->input_dim[1] = (int8_t)(i - 1);
    eg_factors_add(out, EG_FACTOR_BLOCKED, 2)->input_dim[0] = (int8_t)i; // 2 neighbours
  }
  eg_factors_add(out, EG_FACTOR_BLOCKED, 1)->input_dim[1] = (int8_t)(x->rank - 1);
  out->linear = 1;
}

egraph_status eg_infer_roi_align(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *rois = &node->inputs[1], *of = &node->inputs[2];
  int64_t height = eg_attr_at(node->attrs, EG_A_ROI_ALIGN_OUTPUT_HEIGHT)->i;
  int64_t width = eg_attr_at(node->attrs, EG_A_ROI_ALIGN_OUTPUT_WIDTH)->i;
  EG_TRY(check_operand(node, 0, 4));
  EG_TRY(check_operand(node, 1, 2));
  if (rois->dims[1] != 4 || of->rank != 1 || of->dims[0] != rois->dims[0] ||
      of->dtype != EGRAPH_INT64)
    return eg_typing_fail(node,
                          "regions %s and their images %s must be [R,4] and int64[R]",
                          eg_type_text_of(rois).text, eg_type_text_of(of).text);
  if (height < 1 || width < 1 ||
      eg_attr_at(node->attrs, EG_A_ROI_ALIGN_SAMPLING_RATIO)->i < 0)
    return eg_typing_fail(node, "output_height, output_width and sampling_ratio must be "
                                "positive");
  if (x->dims[2] == 0 || x->dims[3] == 0)
    return eg_typing_fail(node, "images %s are empty", eg_type_text_of(x).text);
  *out = eg_type_of(x->dtype, 4,
                    (const int64_t[]){rois->dims[0], x->dims[1], height, width});
  return EGRAPH_OK;
}

void eg_factors_roi_align(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *x = &node->inputs[0];
  eg_factor *region = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[0]);
  region->output_dim[0] = region->input_dim[1] = region->input_dim[2] = 0;
  eg_factor *channel = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[1]);
  channel->output_dim[0] = channel->input_dim[0] = 1;
  for (uint32_t i = 2; i < 4; i++)
    eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, i);
  eg_factors_add(out, EG_FACTOR_BLOCKED, 1)->input_dim[0] = 0;
  eg_factors_add(out, EG_FACTOR_BLOCKED, 1)->input_dim[1] = 1;
  (void)x;
}

// ---- resize ---------------------------------------------------------------------------

// The following functions are about resize: positions of samples, types and factors.

// Refuses larger scales as hostile: the taps of an antialiased sample grow with
// the scale.
static const double max_scale = 1 << 20;

static int64_t symbol_of(const eg_attrs *attrs, eg_attr_slot slot) {
  return eg_attr_at(attrs, slot)->i;
}

// ---- positions --------------------------------------------------------------------

eg_resize_axis eg_resize_axis_of(const eg_attrs *attrs, const eg_type *x,
                                 const eg_type *y, uint32_t dim) {
  eg_floats scales = eg_attr_at(attrs, EG_A_RESIZE_SCALES)->floats;
  eg_floats roi = eg_attr_at(attrs, EG_A_RESIZE_ROI)->floats;
  eg_resize_axis axis = {
      .from = x->dims[dim],
      .to = y->dims[dim],
      .coordinates = (eg_resize_coordinates)symbol_of(attrs, EG_A_RESIZE_COORDINATES),
      .rounding = (eg_resize_rounding)symbol_of(attrs, EG_A_RESIZE_NEAREST_MODE)};
  axis.scale = 1.0f;
  if (scales.len != 0)
    axis.scale = (float)scales.data[dim];
  else if (axis.from != axis.to)
    axis.scale = (float)axis.to / (float)axis.from;
  if (roi.len != 0) {
    axis.roi_start = (float)roi.data[dim];
    axis.roi_end = (float)roi.data[dim + x->rank];
  }
  return axis;
}

static float cropped_source(const eg_resize_axis *axis, float at) {
  float last = (float)(axis->from - 1);
  if (axis->to == 1) return 0.5f * (axis->roi_start + axis->roi_end) * last;
  return axis->roi_start * last +
         at * (axis->roi_end - axis->roi_start) * last / (float)(axis->to - 1);
}

float eg_resize_source(const eg_resize_axis *axis, int64_t i) {
  float at = (float)i, from = (float)axis->from, to = (float)axis->to;
  float half = (at + 0.5f) / axis->scale;
  switch (axis->coordinates) {
  case EG_RESIZE_HALF_PIXEL: return half - 0.5f;
  case EG_RESIZE_ASYMMETRIC: return at / axis->scale;
  case EG_RESIZE_ALIGN_CORNERS:
    return axis->to == 1 ? 0.0f : at * (from - 1.0f) / (to - 1.0f);
  case EG_RESIZE_PYTORCH_HALF_PIXEL: return axis->to > 1 ? half - 0.5f : 0.0f;
  case EG_RESIZE_HALF_PIXEL_SYMMETRIC:
    return from / 2.0f * (1.0f - to / (axis->scale * from)) + half - 0.5f;
  case EG_RESIZE_TF_HALF_PIXEL_FOR_NN: return half;
  case EG_RESIZE_TF_CROP_AND_RESIZE: return cropped_source(axis, at);
  }
  return 0.0f;
}

int64_t eg_resize_nearest(const eg_resize_axis *axis, float at) {
  double place = (double)at;
  switch (axis->rounding) {
  case EG_RESIZE_PREFER_FLOOR: place = ceil(place - 0.5); break;
  case EG_RESIZE_PREFER_CEIL: place = floor(place + 0.5); break;
  case EG_RESIZE_FLOOR: place = floor(place); break;
  case EG_RESIZE_CEIL: place = ceil(place); break;
  }
  if (!(place > 0.0)) return 0;
  return place > (double)(axis->from - 1) ? axis->from - 1 : (int64_t)place;
}

bool eg_resize_is_copy(const eg_resize_axis *axis) {
  bool moves = axis->coordinates == EG_RESIZE_TF_CROP_AND_RESIZE &&
               (axis->roi_start != 0.0f || axis->roi_end != 1.0f);
  return axis->from == axis->to && axis->scale == 1.0f && !moves;
}

bool eg_resize_scaled_size(int64_t size, double scale, int64_t *out) {
  // A product with so few binary digits is exact in 32-bit floats, for sizes below 2^18.
  enum { DENOMINATOR = 1 << 10, LARGEST = 1 << 12, MOST_ODD = 1 << 6 };
  double numerator = scale * DENOMINATOR;
  int64_t scaled, odd;
  if (!(numerator >= 1.0 && numerator <= DENOMINATOR * (double)LARGEST) ||
      numerator != floor(numerator))
    return false;
  for (odd = (int64_t)numerator; odd % 2 == 0;)
    odd /= 2;
  if (odd > MOST_ODD) return false;
  return eg_size_mul(size, (int64_t)numerator, &scaled) &&
         eg_size_floor_div(scaled, DENOMINATOR, out);
}

// ---- types --------------------------------------------------------------------------

static egraph_status check_scales(const eg_typing *node, const eg_type *x, eg_ints shape,
                                  bool crops) {
  eg_floats scales = eg_attr_at(node->attrs, EG_A_RESIZE_SCALES)->floats;
  if (scales.len != 0 && scales.len != x->rank)
    return eg_typing_fail(node, "attribute scales has %u entries; %s has %u dimensions",
                          scales.len, eg_type_text_of(x).text, x->rank);
  for (uint32_t i = 0; i < scales.len; i++) {
    double scale = scales.data[i], size = (double)x->dims[i] * scale;
    if (!(scale >= 1.0 / max_scale && scale <= max_scale))
      return eg_typing_fail(node, "scale %g of dimension %u is out of range", scale, i);
    int64_t scaled;
    if (eg_size_is_open(x->dims[i])) {
      if (eg_resize_scaled_size(x->dims[i], scale, &scaled) && scaled == shape.data[i])
        continue;
      return eg_typing_fail(node, "dimension %u is open, and scale %g has no expression",
                            i, scale);
    }
    if (!crops && fabs(size - (double)shape.data[i]) > 1.0 + 1e-6 * size)
      return eg_typing_fail(node,
                            "dimension %u of %s by scale %g has not the size %" PRId64, i,
                            eg_type_text_of(x).text, scale, shape.data[i]);
  }
  return EGRAPH_OK;
}

static egraph_status check_roi(const eg_typing *node, const eg_type *x, bool crops) {
  eg_floats roi = eg_attr_at(node->attrs, EG_A_RESIZE_ROI)->floats;
  if (roi.len != (crops ? 2 * x->rank : 0))
    return eg_typing_fail(
        node,
        "attribute roi has %u entries; tf-crop-and-resize needs two per "
        "dimension, the others none",
        roi.len);
  for (uint32_t i = 0; i < roi.len; i++)
    if (!(fabs(roi.data[i]) <= max_scale))
      return eg_typing_fail(node, "entry %u of attribute roi is %g", i, roi.data[i]);
  return EGRAPH_OK;
}

static egraph_status check_mode(const eg_typing *node, const eg_type *x) {
  int64_t mode = symbol_of(node->attrs, EG_A_RESIZE_MODE);
  int64_t coordinates = symbol_of(node->attrs, EG_A_RESIZE_COORDINATES);
  bool antialias = symbol_of(node->attrs, EG_A_RESIZE_ANTIALIAS) != 0;
  if (mode != EG_RESIZE_NEAREST && !eg_dtype_is_float(x->dtype))
    return eg_typing_fail(
        node, "modes linear and cubic need floating point, not %s; use nearest",
        eg_dtype_name(x->dtype));
  if (mode == EG_RESIZE_NEAREST && antialias)
    return eg_typing_fail(node, "mode nearest has no antialias");
  if (antialias && coordinates == EG_RESIZE_TF_CROP_AND_RESIZE)
    return eg_typing_fail(node, "tf-crop-and-resize has no antialias");
  return EGRAPH_OK;
}

egraph_status eg_infer_resize(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints shape = eg_attr_at(node->attrs, EG_A_RESIZE_SHAPE)->ints;
  bool crops =
      symbol_of(node->attrs, EG_A_RESIZE_COORDINATES) == EG_RESIZE_TF_CROP_AND_RESIZE;
  EG_TRY(eg_typing_list(node, "shape", shape, x->rank, 0));
  EG_TRY(check_mode(node, x));
  EG_TRY(check_roi(node, x, crops));
  EG_TRY(check_scales(node, x, shape, crops));
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->dims[i] == 0 && shape.data[i] != 0)
      return eg_typing_fail(node, "dimension %u of %s is empty and cannot grow", i,
                            eg_type_text_of(x).text);
  *out = eg_type_of(x->dtype, x->rank, shape.data);
  return EGRAPH_OK;
}

// ---- factors ------------------------------------------------------------------------

// Returns how often a resize repeats each element of a dimension, if that is all it does
// there: then positions of the operand can be split. 0 otherwise.
static int64_t repeats(const eg_typing *node, const eg_type *y, uint32_t dim) {
  eg_resize_axis axis = eg_resize_axis_of(node->attrs, &node->inputs[0], y, dim);
  if (eg_resize_is_copy(&axis)) return 1;
  bool is_nearest = symbol_of(node->attrs, EG_A_RESIZE_MODE) == EG_RESIZE_NEAREST;
  if (!is_nearest || axis.from == 0 || axis.to % axis.from != 0) return 0;
  int64_t times = axis.to / axis.from;
  bool is_even = axis.coordinates == EG_RESIZE_HALF_PIXEL ||
                 (axis.coordinates == EG_RESIZE_ASYMMETRIC && times == 2);
  bool rounds = axis.rounding == EG_RESIZE_PREFER_FLOOR;
  return is_even && rounds && axis.scale == (float)times ? times : 0;
}

void eg_factors_resize(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *x = &node->inputs[0];
  bool fills =
      eg_attr_at(node->attrs, EG_A_RESIZE_EXTRAPOLATION_VALUE)->f != 0.0 &&
      symbol_of(node->attrs, EG_A_RESIZE_COORDINATES) == EG_RESIZE_TF_CROP_AND_RESIZE;
  if (!fills) out->linear = eg_operand_bits(1);
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t times = repeats(node, results, i);
    eg_factors_add_dim(out, times == 0 ? EG_FACTOR_BLOCKED : EG_FACTOR_PARALLEL, results,
                       i)
        ->size = times == 0 ? results->dims[i] : x->dims[i];
    if (times > 1)
      eg_factors_add(out, EG_FACTOR_BLOCKED, times)->output_dim[0] = (int8_t)i;
  }
}
