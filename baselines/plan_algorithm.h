// A search for plans, as a row of the table has it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_PLAN_ALGORITHM_H
#define EG_BASELINES_PLAN_ALGORITHM_H

#include "optimize/search/plan_searcher.h"

typedef struct eg_plan_algorithm {
  egraph_status (*search)(const eg_plan_question *question, eg_plan_answer *out);
  eg_plan_graphs graphs; // that the question is of
  bool is_whole;         // no block stands for others
} eg_plan_algorithm;

// The rows of include/egraph_algorithms.def that find plans.
extern const eg_plan_algorithm eg_algebra_first, eg_alpa_intra, eg_mcmc, eg_exhaustive;
extern const eg_plan_algorithm eg_optcnn, eg_unity;

#endif
