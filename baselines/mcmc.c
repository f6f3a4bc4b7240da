// SPDX-License-Identifier: Apache-2.0
#include "baselines/mcmc.h"

#include <math.h>

#include "optimize/soap/soap_walk.h"

static const double STEPS_PER_SECOND = 1e9;
enum { STARTS = 2 };

static egraph_status walk_all(eg_soap_walk *walk, eg_plan_answer *out) {
  const eg_layout_options *layout = &walk->question->layout;
  double steps = layout->work_limit != 0 ? (double)layout->work_limit
                                         : STEPS_PER_SECOND * layout->time_limit_seconds;
  EG_TRY(eg_soap_start(walk->soap, &walk->choice));
  for (int start = 0; start < STARTS && !walk->is_over; start++) {
    for (uint32_t l = 0; start != 0 && l < walk->choice.len; l++)
      walk->choice.data[l] = eg_soap_walk_draw(walk, l);
    EG_TRY(eg_soap_walk_on(walk, (uint64_t)fmax(steps / STARTS, 1)));
  }
  return eg_soap_walk_answer(walk, out);
}

static egraph_status search(const eg_plan_question *question, eg_plan_answer *out) {
  eg_soap soap;
  eg_soap_walk walk;
  EG_TRY(eg_soap_init(&soap, question, NULL));
  egraph_status status = EGRAPH_OK;
  if (soap.leads.len != 0) {
    status = eg_soap_walk_init(&walk, &soap, question, false);
    if (status == EGRAPH_OK) {
      status = walk_all(&walk, out);
      eg_soap_walk_deinit(&walk);
    }
  }
  eg_soap_deinit(&soap);
  return status;
}

const eg_plan_algorithm eg_mcmc = {search, EG_PLAN_GIVEN_GRAPH, .is_whole = true};
