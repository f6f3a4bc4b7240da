// The public function that prices a plan without searching.
// SPDX-License-Identifier: Apache-2.0
#include "api/machine_profile.h"
#include "api/option_structs.h"
#include "api/planned.h"
#include "api/require.h"
#include "base/clock.h"
#include "optimize/plan/machine_costs.h"
#include "optimize/plan/plan_price.h"

static const double MEASURING_SECONDS = 30.0;

static bool stops_measuring(void *user) { return eg_clock_seconds() > *(double *)user; }

static egraph_status price(egraph_plan *plan, const eg_target_machine *target) {
  eg_machine_mesh mesh;
  EG_TRY(eg_machine_find_mesh(&target->machine, &plan->planned.plan.mesh, &mesh));
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, &target->machine, target->costs));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  return eg_plan_price(&plan->planned.plan, plan->alloc, &asked);
}

egraph_status egraph_plan_price(egraph_plan *plan, const egraph_target *target,
                                egraph_costs *costs) {
  EG_REQUIRE(plan);
  egraph_target own;
  EG_TRY(eg_options_take(EGRAPH_TARGET, target, &own));
  double until = eg_clock_seconds() + MEASURING_SECONDS;
  eg_target_machine machine = {.host = {.stop = stops_measuring, .user = &until}};
  egraph_status status = eg_target_machine_open(&machine, plan->alloc, &own, costs);
  if (status == EGRAPH_OK) status = price(plan, &machine);
  if (status == EGRAPH_OK) plan->info.memory_limit = machine.machine.memory_bytes;
  eg_target_machine_close(&machine);
  EG_TRY(status);
  plan->planned.plan.single_seconds = 0; // of the machine before
  return eg_planned_sum_up(plan);
}
