// Quantized outputs of two graphs, compared in steps of their last quantization.
//
// An output is quantized if QuantizeLinear or a QLinear product makes it, or what a
// DequantizeLinear makes it of; reshapes may lie between. Let t be the quantum before it
// is rounded, computed by the first graph. A quantum q of the second graph that differs
// is explained by rounding if |q - t| - 1/2 is
//   at most ROUNDING of the range: t is within rounding error of a half; or
//   at most the noise of t, where earlier quantizations make any: how far t moves when
//   their scales change by ROUNDING; and all such steps together are as few as that, and
//   the mean noise is a quarter of a step at most.
// So a step everywhere is never explained, unless all values lie at halves.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_QUANTA_H
#define EG_API_QUANTA_H

#include "api/tensors.h"

typedef struct eg_quanta {
  bool is_quantized;
  double steps;                 // the largest difference
  uint64_t differ, unexplained; // elements
} eg_quanta;

/// Compares outputs of `a` with those of another graph, computed from the same inputs;
/// fills out[outputs]. Runs `a` up to four times where a quantized output differs.
egraph_status eg_quanta_compare(const eg_graph *a, const eg_session_options *options,
                                const eg_tensors *inputs, const eg_tensors *outputs_a,
                                const eg_tensors *outputs_b, eg_quanta *out);

#endif
