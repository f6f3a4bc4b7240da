// The public result: the plan of one device or of many, and how it came about.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_RESULT_H
#define EG_API_RESULT_H

#include "api/planned.h"
#include "optimize/plan_search.h"

struct egraph_result {
  egraph_allocator alloc;
  egraph_report report;
  eg_optimization *optimization; // of one device; NULL of a plan search. Its graph is the
                                 // plan's where there is one
  eg_plan_search search;
  egraph_plan *plan; // NULL: none, or taken
  eg_text no_plan;   // why there is none
};

#endif
