// What the values of a plan space are in a step: of which kinds of plan_constraints.h.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_KINDS_H
#define EG_OPTIMIZE_MODEL_PLAN_KINDS_H

#include "optimize/model/plan_constraints.h"
#include "optimize/space/plan_space.h"

/// Fills out[value of the space] with a bit per eg_plan_kind. Linear in the space, but
/// for chains of casts of gradients.
void eg_plan_kinds_find(const eg_plan_space *space, uint16_t *out);

#endif
