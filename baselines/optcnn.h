// OptCNN's search (ICML'18, section 5): the configurations of operators (soap.h) that
// cost least together, where the cost of a step is the sum of what each operator costs
// under its configuration, with its followers, and of what each pair of operators
// exchanges. Eliminates the operator of the fewest joint configurations of its
// neighbours, which is node elimination where it has two, and adds tables of the same
// pair, which is edge elimination. Larger tables than
// a limit are not made: the paper enumerates what is left; here an operator takes the
// configuration that is cheapest beside data parallelism of its neighbours, and the
// elimination goes on, as it does where the limit of work is reached. There is no limit
// of memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_OPTCNN_H
#define EG_BASELINES_OPTCNN_H

#include "baselines/plan_algorithm.h"

extern const eg_plan_algorithm eg_optcnn;

#endif
