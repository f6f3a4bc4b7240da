// Operators of a plan space and their strategies.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_PLAN_OPERATORS_H
#define EG_OPTIMIZE_SPACE_PLAN_OPERATORS_H

#include "optimize/space/plan_space.h"

/// Appends the operators of all values, whose phases are known.
egraph_status eg_plan_operators_add(eg_plan_space *space, const eg_plan_costs *costs);

#endif
