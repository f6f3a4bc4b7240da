// The public result: a plan for one device or many, and the data of its search.
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
  bool is_staged;    // the result of a search for pipelines
  eg_staged staged;
};

#endif
