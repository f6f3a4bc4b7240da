// Estimates the seconds of a node that was not measured: a roofline, scaled per operator.
//
//   seconds = max(flops / peak, bytes / bandwidth) * ratio(operator, formatted)
//             + overhead
//
// All figures are fitted to the measured nodes, by medians and quantiles, so that a few
// wild measurements change nothing. Without measurements they describe a plain CPU core.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_ROOFLINE_H
#define EG_SIM_ROOFLINE_H

#include "ops/ops.h"

/// The operations and bytes of a node; `seconds` is set only where the node was measured.
typedef struct eg_roofline_point {
  eg_op op;
  bool formatted; // some memory format other than plain takes part
  double flops, bytes, seconds;
} eg_roofline_point;

typedef struct eg_roofline {
  double peak_flops;       // per second
  double bandwidth_bytes;  // per second
  double overhead_seconds; // per node
  double ratio[EG_OP_COUNT][2];
  bool is_calibrated[EG_OP_COUNT][2]; // the ratio was fitted; otherwise it is 1
} eg_roofline;

/// Fits peak, bandwidth and ratios to measured points, whose order does not matter.
/// O(points x operators). Fails with EGRAPH_E_MEMORY; *out is then untouched.
egraph_status eg_roofline_fit(eg_roofline *out, egraph_allocator alloc,
                              const eg_roofline_point *points, size_t count);
/// Returns the estimated seconds of a node, > 0 and finite for finite figures.
double eg_roofline_estimate(const eg_roofline *roofline, const eg_roofline_point *point);

#endif
