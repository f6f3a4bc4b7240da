// Import of windows, Fourier transforms and sampling grids: numbers that do not depend on
// operands become constants.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/build.h"

static const double two_pi = 6.28318530717958647692;
enum { MOST_ELEMENTS = 1 << 22 }; // of such a constant

// ---- windows ------------------------------------------------------------------------

/// w[n] = mean - first cos(2 pi n / N) + second cos(4 pi n / N)
typedef struct window {
  const char *name;
  double mean, first, second;
} window;
static const window windows[] = {{"HannWindow", 0.5, 0.5, 0},
                                 {"HammingWindow", 25.0 / 46.0, 21.0 / 46.0, 0},
                                 {"BlackmanWindow", 0.42, 0.5, 0.08}};

egraph_status eg_onnx_import_window(const eg_onnx_call *call) {
  const window *w = windows;
  int64_t size;
  egraph_dtype dtype;
  eg_tensor out;
  eg_onnx_ref result = eg_onnx_output(call, 0);
  while (strcmp(w->name, call->node->op_type) != 0)
    w++;
  EG_TRY(eg_onnx_const_int(call, 0, "the size", false, &size));
  EG_ONNX_INT(periodic, call, "periodic", 1);
  EG_ONNX_INT(number, call, "output_datatype", 1);
  if (size < 0) return EG_FAIL(EGRAPH_E_PARSE, "the size is no scalar");
  if (size > MOST_ELEMENTS || !eg_onnx_find_dtype(number, &dtype))
    return eg_onnx_decline("the window is long, or of a type we do not have");
  eg_type type = eg_type_of(dtype, 1, &size);
  EG_TRY(eg_onnx_array(call, &type, &result, &out));
  double period = (double)(periodic != 0 ? size : size - 1);
  for (int64_t n = 0; n < size; n++) {
    double angle = two_pi * (double)n / period;
    eg_tensor_set_double(&out, n,
                         w->mean - w->first * cos(angle) + w->second * cos(2 * angle));
  }
  return EGRAPH_OK;
}

// ---- Fourier transforms -------------------------------------------------------------

/// A Fourier transform of `length` points. The operand has `given` points, the result has
/// `kept` points; the last dimension of both holds real parts, or real and imaginary
/// parts.
typedef struct transform {
  int64_t length, given, kept, parts_in, parts_out;
  bool inverse, onesided;
} transform;

// Returns the weight of part `in` at point t in part `out` at point k.
static double weight_of(const transform *f, int64_t t, int64_t in, int64_t k,
                        int64_t out) {
  if (t >= f->length) return 0;
  double scale = 1;
  if (f->inverse && f->onesided) { // t is a frequency, and -t has the same value
    if (t > f->length / 2) return 0;
    scale = t == 0 || 2 * t == f->length ? 1 : 2;
  }
  if (f->inverse) scale /= (double)f->length;
  double angle = two_pi * (double)(t * k % f->length) / (double)f->length;
  double cosine = cos(angle), sine = f->inverse ? sin(angle) : -sin(angle);
  if (in == out) return scale * cosine;
  return in == 0 ? scale * sine : -scale * sine;
}

static egraph_status make_matrix(const eg_onnx_call *call, const transform *f,
                                 egraph_dtype dtype, eg_onnx_ref *out) {
  const int64_t dims[4] = {f->given, f->parts_in, f->kept, f->parts_out};
  eg_type type = eg_type_of(dtype, 4, dims);
  eg_tensor matrix;
  int64_t at = 0;
  if (f->given > MOST_ELEMENTS || f->kept > MOST_ELEMENTS ||
      f->given * f->kept > MOST_ELEMENTS)
    return eg_onnx_decline("the transform is long");
  *out = EG_ONNX_NONE;
  EG_TRY(eg_onnx_array(call, &type, out, &matrix));
  for (int64_t t = 0; t < f->given; t++)
    for (int64_t in = 0; in < f->parts_in; in++)
      for (int64_t k = 0; k < f->kept; k++)
        for (int64_t o = 0; o < f->parts_out; o++)
          eg_tensor_set_double(&matrix, at++, weight_of(f, t, in, k, o));
  return EGRAPH_OK;
}

// Emits the transform as an einsum. The operand has letters a, b, .., one per dimension;
// in the result, the axis is y and the last dimension z.
static eg_ref emit_transform(eg_onnx_builder *write, eg_onnx_ref matrix, uint32_t axis) {
  char equation[4 * EGRAPH_MAX_RANK], *at = equation;
  uint32_t rank = eg_build_type(&write->b, eg_onnx_operand(write, 0))->rank;
  for (uint32_t d = 0; d < rank; d++)
    *at++ = (char)('a' + d);
  const char tail[] = {',', (char)('a' + axis), (char)('a' + rank - 1), 'y', 'z', '-',
                       '>'};
  memcpy(at, tail, sizeof tail);
  at += sizeof tail;
  for (uint32_t d = 0; d < rank; d++)
    *at++ = d == axis ? 'y' : d + 1 == rank ? 'z' : (char)('a' + d);
  *at = '\0';
  return eg_onnx_write(write, EG_LIST(EINSUM, EG_TEXT(EINSUM_EQUATION, equation)),
                       (const eg_ref[]){eg_onnx_operand(write, 0), {matrix.id}}, 2);
}

egraph_status eg_onnx_import_dft(const eg_onnx_call *call) {
  eg_ints length, place;
  bool has_length, has_axis;
  eg_onnx_ref matrix;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_INT(inverse, call, "inverse", 0);
  EG_ONNX_INT(onesided, call, "onesided", 0);
  EG_ONNX_INT(axis, call, "axis", call->reader->opset < 20 ? 1 : -2);
  EG_TRY(eg_onnx_const_ints(call, 1, &has_length, &length));
  EG_TRY(eg_onnx_const_ints(call, 2, &has_axis, &place));
  if ((has_axis && place.len != 1) || (has_length && length.len != 1))
    return EG_FAIL(EGRAPH_E_PARSE, "axis and length must be scalars");
  EG_TRY(eg_onnx_axis(has_axis ? place.data[0] : axis, x.rank, &axis));
  transform f = {.inverse = inverse != 0, .onesided = onesided != 0};
  if (x.rank < 2 || axis + 1 == x.rank || x.dims[x.rank - 1] < 1 ||
      x.dims[x.rank - 1] > 2)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "the last dimension must have real and imaginary parts");
  f.given = x.dims[axis];
  f.parts_in = x.dims[x.rank - 1];
  bool to_real = f.inverse && f.onesided;
  f.length = has_length ? length.data[0] : to_real ? 2 * (f.given - 1) : f.given;
  if (f.length < 1 || f.length > MOST_ELEMENTS)
    return eg_onnx_decline("the transform is long, or has no point");
  f.kept = f.onesided && !f.inverse ? f.length / 2 + 1 : f.length;
  f.parts_out = to_real ? 1 : 2;
  EG_TRY(make_matrix(call, &f, x.dtype, &matrix));
  EG_ONNX_BUILDER(write, call);
  return eg_onnx_finish(&write, 0, emit_transform(&write, matrix, (uint32_t)axis));
}

// ---- sampling grids -----------------------------------------------------------------

// Makes a constant of the homogeneous coordinates (x, y, .., 1) of all positions, each
// within [-1, 1].
static egraph_status make_grid(const eg_onnx_call *call, uint32_t spatial,
                               const int64_t *sizes, bool align, egraph_dtype dtype,
                               eg_onnx_ref *out) {
  int64_t dims[2] = {1, (int64_t)spatial + 1};
  eg_tensor grid;
  for (uint32_t d = 0; d < spatial; d++) {
    if (sizes[d] < 0 || sizes[d] > MOST_ELEMENTS || dims[0] * sizes[d] > MOST_ELEMENTS)
      return eg_onnx_decline("the grid is large");
    dims[0] *= sizes[d];
  }
  eg_type type = eg_type_of(dtype, 2, dims);
  *out = EG_ONNX_NONE;
  EG_TRY(eg_onnx_array(call, &type, out, &grid));
  for (int64_t p = 0; p < dims[0]; p++) {
    int64_t rest = p, row = p * dims[1];
    for (uint32_t d = spatial; d-- > 0; rest /= sizes[d]) {
      double i = (double)(rest % sizes[d]), n = (double)sizes[d];
      double at = align ? -1 + 2 * i / (n - 1) : -1 + (2 * i + 1) / n;
      eg_tensor_set_double(&grid, row + (spatial - 1 - d), n == 1 && align ? -1 : at);
    }
    eg_tensor_set_double(&grid, row + spatial, 1);
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_affine_grid(const eg_onnx_call *call) {
  static const int64_t swapped[3] = {0, 2, 1};
  eg_ints size;
  bool present;
  int64_t dims[5];
  eg_onnx_ref grid;
  EG_ONNX_TYPE(theta, call, 0);
  EG_ONNX_INT(align, call, "align_corners", 0);
  EG_TRY(eg_onnx_const_ints(call, 1, &present, &size));
  if (!present || size.len < 4 || size.len > 5 || theta.rank != 3 ||
      theta.dims[0] != size.data[0] || theta.dims[1] != size.len - 2 ||
      theta.dims[2] != size.len - 1)
    return EG_FAIL(EGRAPH_E_PARSE, "matrices and size [N, C, (D,) H, W] do not fit");
  uint32_t spatial = size.len - 2;
  EG_TRY(make_grid(call, spatial, size.data + 2, align != 0, theta.dtype, &grid));
  dims[0] = size.data[0];
  memcpy(dims + 1, size.data + 2, spatial * sizeof *dims);
  dims[spatial + 1] = spatial;
  EG_ONNX_BUILDER(write, call);
  eg_ref turned = eg_build_transpose(&write.b, eg_onnx_operand(&write, 0), swapped);
  eg_ref y = EG_BUILD(&write.b, EG_OP_MATMUL, (eg_ref){grid.id}, turned);
  return eg_onnx_finish(&write, 0, eg_build_reshape(&write.b, y, spatial + 2, dims));
}
