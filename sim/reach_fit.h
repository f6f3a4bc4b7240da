// Fits curves of what a device reaches (eg_reach) to measured operators.
//
// Operators of a kind and type whose work is alike (within a factor of 4, or more where
// the works are further apart) make one point: the median of their speeds, at the median
// of their works. Where more work would take less time, the share is lowered.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_SIM_REACH_FIT_H
#define EG_SIM_REACH_FIT_H

#include "ops/ops.h"
#include "pcg/parallel/machine.h"

/// A measured operator. Its kind is EG_REACH_BYTES, and its work its bytes, if it does
/// not multiply and add, or if moving its bytes takes longer than computing.
typedef struct eg_reach_sample {
  uint32_t kind;  // eg_reach_kind
  uint32_t dtype; // of operand 0
  double work;    // operations or bytes; > 0
  double seconds; // > 0, without the overhead of a kernel
} eg_reach_sample;
EG_VEC_DEFINE(eg_reach_samples, eg_reach_sample);

/// Returns the kind of an operator's computing; EG_REACH_KINDS: it has no curve, and is
/// rarely bound by computing.
eg_reach_kind eg_reach_kind_of(eg_op op);

/// Returns the highest median speed (operations or bytes per second) of samples that
/// count bytes, or of all others: the peak that shares refer to; 0: there are none.
/// Sorts the samples.
egraph_status eg_reach_fastest(eg_reach_samples *samples, bool of_bytes, double *out);
/// Fits a curve to the samples of a kind and type; without any it has no point. `peak`
/// per second. Sorts the samples. Fails with EGRAPH_E_MEMORY.
egraph_status eg_reach_fit(eg_reach_samples *samples, uint32_t kind, uint32_t dtype,
                           double peak, eg_reach *out);

#endif
