// What the planner has found.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/search/planner.h"

static const double PROVEN_GAP = 1e-9;

void eg_planning_judge(eg_planning *planning) {
  if (!planning->has_plan) return;
  double missing = fmax(planning->cost - planning->bound, 0);
  planning->gap = planning->cost > 0 ? missing / planning->cost : 0;
  planning->status = planning->gap <= PROVEN_GAP ? EG_LAYOUT_OPTIMAL : EG_LAYOUT_FEASIBLE;
}

void eg_planning_deinit(eg_planning *planning) {
  if (planning->has_plan) eg_emitted_plan_deinit(&planning->emitted);
  for (int m = 0; m < EG_MATES && planning->has_mates; m++)
    eg_emitted_plan_deinit(&planning->mates[m]);
  planning->has_plan = planning->has_mates = false;
}
