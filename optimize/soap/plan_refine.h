// A plan made better by small changes: a walk over configurations of its operators that
// begins with it (soap_walk.h), by an estimate of the seconds of its overlapped step. The
// algebra is the plan's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SOAP_PLAN_REFINE_H
#define EG_OPTIMIZE_SOAP_PLAN_REFINE_H

#include "optimize/search/plan_searcher.h"
#include "pcg/plan/plan.h"

typedef struct eg_plan_refinement {
  const eg_plan *plan; // borrowed, of the question's mesh; NULL: data parallelism, in a
                       // question without rules
} eg_plan_refinement;

/// A searcher of the whole step, for as much work as its question has. It finds no plan
/// where the e-graph of the question lacks what rules have made in the plan's. Keeps
/// `refinement`.
eg_plan_searcher eg_plan_refinement_searcher(const eg_plan_refinement *refinement);

#endif
