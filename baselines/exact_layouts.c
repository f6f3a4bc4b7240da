// SPDX-License-Identifier: Apache-2.0
#include "baselines/exact_layouts.h"

#include <math.h>

#include "optimize/search/plan_fit.h"

static egraph_status take(const eg_plan_question *q, eg_fitted_plan *found,
                          eg_plan_answer *out) {
  out->stop = found->status == EG_LAYOUT_OPTIMAL ? EG_PLAN_STOP_EXHAUSTED
                                                 : EG_PLAN_STOP_WORK_LIMIT;
  out->work += found->work;
  egraph_status status = EGRAPH_OK;
  if (found->has_plan) {
    out->proposals++;
    status = eg_plan_choices_find(&found->choices, q->model, &out->strategy);
  }
  eg_fitted_plan_deinit(found);
  return status;
}

/// The layouts that fit; where none do, those that are cheapest whatever they take.
static egraph_status choose(const eg_plan_question *q, eg_plan_answer *out) {
  eg_fitted_plan found;
  EG_TRY(eg_plan_fit(q->model, q->alloc, &q->layout, false, &found));
  bool is_too_large = !found.has_plan && found.least_memory > 0;
  EG_TRY(take(q, &found, out));
  if (!is_too_large) return EGRAPH_OK;
  eg_plan_model_limit_memory(q->model, INFINITY);
  EG_TRY(eg_plan_fit(q->model, q->alloc, &q->layout, true, &found));
  return take(q, &found, out);
}

const eg_plan_algorithm eg_algebra_first = {choose, EG_PLAN_CHEAPEST_GRAPH, false};
const eg_plan_algorithm eg_alpa_intra = {choose, EG_PLAN_GIVEN_GRAPH, false};
