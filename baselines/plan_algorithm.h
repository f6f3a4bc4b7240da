// The rows of include/egraph_algorithms.def that find plans.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_PLAN_ALGORITHM_H
#define EG_BASELINES_PLAN_ALGORITHM_H

#include "optimize/search/plan_searcher.h"

extern const eg_plan_searcher eg_algebra_first, eg_alpa_intra, eg_mcmc, eg_exhaustive;
extern const eg_plan_searcher eg_optcnn, eg_unity;

#endif
