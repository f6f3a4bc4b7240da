// SPDX-License-Identifier: Apache-2.0
#include "optimize/soap/plan_refine.h"

#include "optimize/model/plan_recall.h"
#include "optimize/soap/soap_walk.h"

static egraph_status walk(eg_soap *soap, const eg_plan_question *question,
                          eg_plan_answer *out) {
  eg_soap_walk walk;
  EG_TRY(eg_soap_walk_init(&walk, soap, question, true));
  egraph_status status = soap->known != NULL ? eg_soap_start_known(soap, &walk.choice)
                                             : eg_soap_start(soap, &walk.choice);
  if (status == EGRAPH_OK) status = eg_soap_walk_on(&walk, question->layout.work_limit);
  if (status == EGRAPH_OK) status = eg_soap_walk_answer(&walk, out);
  eg_soap_walk_deinit(&walk);
  return status;
}

/// `known`: strategies of a solution, or NULL.
static egraph_status refine(const eg_plan_question *question, const uint32_t *known,
                            eg_plan_answer *out) {
  eg_soap soap;
  egraph_status status = eg_soap_init(&soap, question, known);
  if (status == EGRAPH_E_UNSUPPORTED) return EGRAPH_OK; // a value has no operator
  EG_TRY(status);
  if (soap.leads.len != 0) status = walk(&soap, question, out);
  eg_soap_deinit(&soap);
  return status;
}

static egraph_status run(const void *self, const eg_plan_question *question,
                         eg_plan_answer *out) {
  const eg_plan_refinement *refinement = self;
  eg_u32s known;
  if (refinement->plan == NULL) return refine(question, NULL, out);
  eg_u32s_init(&known, question->alloc);
  egraph_status status = eg_plan_recall(question->model, refinement->plan, &known);
  if (status == EGRAPH_OK && known.len != 0) status = refine(question, known.data, out);
  eg_u32s_deinit(&known);
  return status;
}

eg_plan_searcher eg_plan_refinement_searcher(const eg_plan_refinement *refinement) {
  return (eg_plan_searcher){
      .run = run, .self = refinement, .graphs = EG_PLAN_ALL_GRAPHS, .is_whole = true};
}
