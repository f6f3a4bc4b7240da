// Checks that the steps of a plan compute what one device computes, within rounding.
//
// A difference between the two is rounding, or an error. The effect of rounding is
// measured, not assumed: one device runs the step three times, twice on values that are
// moved by up to 8 units of rounding each (2^-24 of a float32). Its results r and p of an
// output x of the plan give
//
//   noise    s = the largest root mean square of p - r,   t = the largest |p - r|
//   equal    rms(x - r) <= 4 s + 8 u sqrt(n) rms(r)
//            max|x - r| <= 4 t + 16 u sqrt(n) max|r|
//
// where u is the unit of rounding of the coarsest floating-point type in the step, and n
// the number of terms of the longest sum that the output depends on: in a sum of moved
// terms the moves cancel, but not what its order rounds, which grows like sqrt(n) (Higham
// and Mary 2019: at most a small multiple of sqrt(n) u, nearly always). Second moments of
// Adam are squares; they are compared by their roots, as gradients are: where one noise
// is three times another, its square is nine times. So an output is compared as finely as
// it is determined: a gradient that is zero in exact arithmetic (of a bias that a softmax
// cancels) is noise in r and p alike, and may be any such noise in x; an error of 1e-4 in
// one gradient of a network that is well conditioned is seen where sums have less than
// 40,000 terms. Ties that rounding decides (a relu at zero, two maxima of one window)
// flip in some runs only: before an output is called different, six more runs on moved
// values are asked.
//
// Adam divides noise by its own size, so that its weights cannot be compared with those
// of another run: what is noise becomes a step of full length in a direction that noise
// decides. But a weight after the step follows from the weight before it and the two
// moments after it, element by element, whatever they are: that formula is computed in
// float64 from the plan's own moments, and the plan's weights must be its results within
// 8 units of rounding. The moments are compared as above; they contain the gradients.
//
// Each step begins with what the plan left of the step before, so that differences do not
// grow from step to step, and a late step is compared as finely as the first.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_STEP_CHECK_H
#define EG_EXEC_STEP_CHECK_H

#include "exec/session.h"

typedef struct eg_step_check eg_step_check;

typedef struct eg_step_verdict {
  const char *output; // the worst: the one that exceeds what rounding explains by most
  double error;       // rms(x - r) / rms(r) of it
  double noise;       // what rounding explains of that
  double excess;      // how many times what is allowed it is off by; equal: at most 1
  double seconds;     // of one step on one device
} eg_step_verdict;

/// `step` is a training step (pcg/training/training.h), borrowed: what enters and leaves
/// under one name is carried. Fails like eg_session_create.
egraph_status eg_step_check_create(const egraph_allocator *alloc, const eg_graph *step,
                                   const eg_session_options *options,
                                   uint32_t micro_batches, eg_step_check **out);
void eg_step_check_destroy(eg_step_check *check);
/// Compares one step. before[m * inputs + i]: input i of micro-batch m before the step,
/// carried values in the first row. after[m * outputs + o]: the plan's outputs; outputs
/// of the update in the last row, all others in each; data NULL: not compared. Runs the
/// step three times, and up to nine times where results differ.
egraph_status eg_step_check_run(eg_step_check *check, const eg_tensor *before,
                                const eg_tensor *after, eg_step_verdict *out);

/// out[value]: terms of the longest sum that the value depends on, at least 1: in which
/// order n terms are added decides some sqrt(n) units of rounding of their sum. Operators
/// that are not typed count as none.
egraph_status eg_sum_terms(const eg_graph *graph, egraph_allocator alloc, double *out);

#endif
