// All plans of a tiny step on a small mesh, each simulated: what other searches are
// measured by. Plans that fit in memory; the search refuses what is not tiny.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_EXHAUSTIVE_H
#define EG_BASELINES_EXHAUSTIVE_H

#include "baselines/plan_algorithm.h"

extern const eg_plan_algorithm eg_exhaustive;

#endif
