// The cheapest layouts of one graph within the limit of memory, one thing after the
// other: of the graph as it is, which is Alpa's choice within a stage, or of the one that
// is cheapest on one device. Where nothing fits, the cheapest layouts whatever they take.
//
// Alpa solves a linear program over the same choice: a strategy of each operator, a price
// for each pair of strategies of neighbours. Here transitions are shared by the readers
// of a value, and the product's own exact search solves it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_EXACT_LAYOUTS_H
#define EG_BASELINES_EXACT_LAYOUTS_H

#include "baselines/plan_algorithm.h"

extern const eg_plan_algorithm eg_algebra_first, eg_alpa_intra;

#endif
