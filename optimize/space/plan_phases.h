// When values are made: in which phase, and for how many equal blocks.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_PLAN_PHASES_H
#define EG_OPTIMIZE_SPACE_PLAN_PHASES_H

#include "optimize/space/plan_space.h"

/// Fills `phase` and `times` of all values. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_phases_find(eg_plan_space *space);

#endif
