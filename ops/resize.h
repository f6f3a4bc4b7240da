// Resized dimensions: finds the positions of the operand that a result position samples.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_RESIZE_H
#define EG_OPS_RESIZE_H

#include "ops/ops.h"

// Interpolation modes, in the order of the symbols of op_table.def.
typedef enum eg_resize_mode {
  EG_RESIZE_NEAREST,
  EG_RESIZE_LINEAR,
  EG_RESIZE_CUBIC
} eg_resize_mode;
typedef enum eg_resize_coordinates {
  EG_RESIZE_HALF_PIXEL,
  EG_RESIZE_ASYMMETRIC,
  EG_RESIZE_ALIGN_CORNERS,
  EG_RESIZE_PYTORCH_HALF_PIXEL,
  EG_RESIZE_HALF_PIXEL_SYMMETRIC,
  EG_RESIZE_TF_CROP_AND_RESIZE,
  EG_RESIZE_TF_HALF_PIXEL_FOR_NN // occurs in old files only
} eg_resize_coordinates;
typedef enum eg_resize_rounding {
  EG_RESIZE_PREFER_FLOOR,
  EG_RESIZE_PREFER_CEIL,
  EG_RESIZE_FLOOR,
  EG_RESIZE_CEIL
} eg_resize_rounding;

/// How one dimension is resized.
typedef struct eg_resize_axis {
  int64_t from, to; // sizes of operand and result, > 0
  float scale;
  float roi_start, roi_end; // used by tf-crop-and-resize only
  eg_resize_coordinates coordinates;
  eg_resize_rounding rounding;
} eg_resize_axis;

/// Describes dimension `dim` of a resize whose sizes are not 0.
eg_resize_axis eg_resize_axis_of(const eg_attrs *attrs, const eg_type *x,
                                 const eg_type *y, uint32_t dim);
/// Computes floor(size * scale) for an open size; false where a 32-bit float does not
/// compute it exactly.
bool eg_resize_scaled_size(int64_t size, double scale, int64_t *out);
/// Returns the position in the operand (a fraction) that result position i samples.
/// Computed in float32 with the operations of ONNX Runtime, since rounding decides
/// between neighbours.
float eg_resize_source(const eg_resize_axis *axis, int64_t i);
/// Returns the position of the operand that is nearest to `at`.
int64_t eg_resize_nearest(const eg_resize_axis *axis, float at);
/// True when a resize copies a dimension unchanged.
bool eg_resize_is_copy(const eg_resize_axis *axis);

/// The taps (samples) of every position of the result, `count` each: positions within the
/// operand, and the weights of the elements there. Mode nearest has one tap of weight 1.
typedef struct eg_resize_taps {
  int64_t count;
  int64_t *place; // tap k of position i is at i * count + k
  double *weight;
} eg_resize_taps;
/// Computes the taps (sampled positions and weights) of a dimension that is not a copy.
egraph_status eg_resize_taps_of(const eg_attrs *attrs, const eg_resize_axis *axis,
                                eg_arena *arena, eg_resize_taps *out);

#endif
