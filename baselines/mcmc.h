// FlexFlow's search (MLSys'19, sections 5 and 6): a Metropolis-Hastings walk over the
// configurations of operators (soap.h). A proposal gives a random operator a random
// configuration; one that makes the simulated step longer by d is taken with probability
// exp(-beta d). From data parallelism, then from random configurations, each with half of
// the work, and each ended once half of that has found nothing better. There is no limit
// of memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_MCMC_H
#define EG_BASELINES_MCMC_H

#include "baselines/plan_algorithm.h"

extern const eg_plan_algorithm eg_mcmc;

#endif
