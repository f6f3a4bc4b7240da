// The public result: the plan of one device or of many, and how it came about.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_RESULT_H
#define EG_API_RESULT_H

#include "api/planned.h"
#include "baselines/stages/stage_report.h"
#include "optimize/optimize.h"

struct egraph_result {
  egraph_allocator alloc;
  eg_optimized made;
  egraph_plan *plan; // NULL: none, or taken
  bool is_staged;    // by a search for pipelines
  eg_staged staged;
};

#endif
