// The report of a plan: the answer first, then blocks and exchanges.
//
//   step        163 ms on gpu=8: 8 devices, 4 micro-batches
//   speedup     6.52 times as fast as one device (1.06 s)
//   peak        38.2 % of the machine's peak
//   memory      5.87 GB of 80 GB on every device
//   bottleneck  computing 87.2 % of the seconds, exchanges over gpu 12.8 %
//   warning     one line for each thing that changes a decision
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_ANSWER_H
#define EG_PCG_PLAN_ANSWER_H

#include "pcg/plan/plan_summary.h"

/// Text for people: the answer, BLOCKS (plan_blocks.h) and EXCHANGES. `memory_limit`:
/// bytes of a device; INFINITY: none.
egraph_status eg_plan_answer_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary, double memory_limit);

#endif
