// Quantized outputs of two graphs, compared in steps of their last quantization.
//
// An output is quantized if QuantizeLinear or a QLinear product computes it, or if a
// DequantizeLinear computes it from such a value; reshapes may lie between. Let t be the
// quantum before it is rounded, computed by the first graph. A quantum q of the second
// graph that differs is explained by rounding if |q - t| - 1/2 is
//   at most ROUNDING of the range: t is within rounding error of a half; or
//   of the size of the noise of t, where earlier quantizations make any (how far t moves
//   when their scales change by ROUNDING), all such steps together are at most twice the
//   noise, and both graphs agree without rounding (quanta_smooth.h). When they cannot run
//   without rounding, or do not have the same quantizations, the noise must be at most
//   1/64 step of a mean element: more noise hides errors.
// A rounded quantum moves later quanta: the noise grows with each layer, up to dozens of
// steps after eight layers. Without rounding, differences stay as small as
// rounding errors.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_QUANTA_H
#define EG_API_QUANTA_H

#include "api/tensors.h"

typedef struct eg_quanta {
  bool is_quantized;
  double steps;                 // the largest difference
  uint64_t differ, unexplained; // elements
} eg_quanta;

/// Compares the outputs of `a` and `b` for the same inputs; fills out[outputs]. Runs
/// each graph up to nine times when a quantized output differs.
egraph_status eg_quanta_compare(const eg_graph *a, const eg_graph *b,
                                const eg_session_options *options,
                                const eg_tensors *inputs, const eg_tensors *outputs_a,
                                const eg_tensors *outputs_b, eg_quanta *out);

#endif
