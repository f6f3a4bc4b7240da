// Whether measured costs tell the optimum from its rivals. A cost is a median of timings
// and has an error; where the cheapest choice would be another one if its own costs were
// larger by their errors and all others smaller by theirs, the entries in which the two
// differ decide. They are measured again, until none is left or the time is over.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_ORDER_H
#define EG_OPTIMIZE_SINGLE_ORDER_H

#include "extract/extract.h"
#include "optimize/single/single_problem.h"

typedef struct eg_order_input {
  egraph_allocator alloc;
  eg_single_problem *single;
  const eg_single_source *source; // of the problem
  const eg_measurer *measurer;
  const eg_extract_options *extract; // limits of each solve
  double seconds;                    // for everything
} eg_order_input;

typedef struct eg_order_report {
  uint32_t again; // measurements that were repeated
  bool is_clear;  // no rival is within the errors
} eg_order_report;

/// `inout` is the solution of the problem; afterwards that of the problem
/// with the costs as they are then.
egraph_status eg_order_settle(const eg_order_input *input, eg_extract_result *inout,
                              eg_order_report *out);

#endif
