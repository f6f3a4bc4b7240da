// The steps of a plan: a line each, phase by phase; steps that come again and again in
// the same layouts, as those of repeated blocks, once. Values have the names and layouts
// of constraints and plan files; made-up names say what they are (plan_labels.h).
//
//   STEPS on gpu=4
//   inputs, weights and states
//     x@S0: float32[2,8] of float32[8,8]
//     w@R: float32[8,8]
//   forward
//     h@S0 = matmul x@S0 w@R [rows (dimension 0) of h over gpu], 1.2 us
//     all-gather h S0 -> R over gpu, 256 B, 2 us
//   outputs
//     h@R
//
// In Unity's words a move is one or two of the parallel computation graph's operators.
// There, a tensor has parts and copies; here, where nothing is said, every device has all
// of it, and the summands of P are its copies:
//
//   slice  R -> S(d)            Partition          all-gather     S(d) -> R     Combine
//   mask   R -> P               Replicate (one     all-reduce     P -> R        Reduce
//                               copy keeps the     reduce-scatter P -> S(d)     Reduce,
//                               value, the others                               Partition
//                               are zero)          all-to-all     S(d) -> S(e)  Combine,
//                                                                               Partition
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_TEXT_H
#define EG_PCG_PLAN_TEXT_H

#include "pcg/plan/plan.h"

typedef enum eg_plan_words {
  EG_PLAN_COLLECTIVES, // "all-gather h S0 -> R on gpu"
  EG_PLAN_UNITY        // "Combine(0, 4) h S0 -> R on gpu": dimension, degree
} eg_plan_words;

/// Appends the text of a plan that passes eg_plan_check.
egraph_status eg_plan_print(const eg_plan *plan, eg_plan_words words, eg_text *out);

#endif
