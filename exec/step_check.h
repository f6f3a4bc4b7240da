// Checks that the steps of a plan compute the same as one device, within rounding.
//
// A difference between the two results is rounding or an error. The effect of rounding is
// measured, not assumed: one device runs the step three times, twice of them on values
// that are moved by up to 8 units of rounding each (2^-24 of a float32). With its unmoved
// result r, its moved results p, and the output x of the plan:
//
//   noise    s = the largest root mean square of p - r,   t = the largest |p - r|
//   equal    rms(x - r) <= 4 s + 8 u sqrt(n) rms(r)
//            max|x - r| <= 4 t + 16 u sqrt(n) max|r|
//
// Here u is the unit of rounding of the coarsest floating-point type in the step, and n
// the number of terms of the longest sum on which the output depends. In a sum of moved
// terms the moves cancel, but rounding errors that depend on the order of terms do not;
// they grow like sqrt(n) (Higham and Mary 2019: at most a small multiple of sqrt(n) u,
// nearly always). Second moments of Adam are squares, so their roots are compared, which
// have the scale of gradients. A gradient that is zero in exact arithmetic (of a bias
// that a softmax cancels) is only noise in r, in p and in x, and is compared as noise. An
// error of 1e-4 in one gradient of a well-conditioned network is found where sums have
// less than 40,000 terms. Ties that rounding decides (a relu at zero, two maxima of one
// window) flip in some runs only: before an output is reported as different, the step
// runs on moved values six more times.
//
// Adam divides noise by its own size, so its weights cannot be compared with the weights
// of another run: noise becomes a step of full length in a random direction. But a weight
// after the step follows, element by element, from the weight before the step and the two
// moments after it. This formula is computed in float64 from the plan's own moments, and
// the plan's weights must be within 8 units of rounding of it. The moments are compared
// as above; they contain the gradients.
//
// Each step begins with the plan's values after the previous step, so that differences do
// not grow from step to step, and a late step is compared as finely as the first.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_STEP_CHECK_H
#define EG_EXEC_STEP_CHECK_H

#include "exec/session.h"

typedef struct eg_step_check eg_step_check;

typedef struct eg_step_verdict {
  const char *output; // the output with the largest `excess`
  double error;       // rms(x - r) / rms(r) of this output
  double noise;       // the part of `error` that rounding explains
  double excess; // difference divided by allowed difference; at most 1: the results agree
  double seconds; // seconds of one step on one device
} eg_step_verdict;

/// Creates a check. `step` is a training step (pcg/training/training.h), borrowed: a
/// value that enters and leaves under one name is carried. Fails like eg_session_create.
egraph_status eg_step_check_create(const egraph_allocator *alloc, const eg_graph *step,
                                   const eg_session_options *options,
                                   uint32_t micro_batches, eg_step_check **out);
void eg_step_check_destroy(eg_step_check *check);
/// Compares one step. before[m * inputs + i]: input i of micro-batch m before the step,
/// carried values in the first row. after[m * outputs + o]: output o of the plan; outputs
/// of the update are in the last row, all others in each row; data NULL: not compared.
/// Runs the step on one device three times, and up to nine times where results differ.
egraph_status eg_step_check_run(eg_step_check *check, const eg_tensor *before,
                                const eg_tensor *after, eg_step_verdict *out);

/// Sets out[value] to the number of terms of the longest sum on which the value depends,
/// at least 1. The order of n terms changes their sum by about sqrt(n) units of rounding.
/// Operators without types count as 1.
egraph_status eg_sum_terms(const eg_graph *graph, egraph_allocator alloc, double *out);

#endif
