// The public function that prices a plan without searching.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "api/machine_profile.h"
#include "api/option_structs.h"
#include "api/planned.h"
#include "api/require.h"
#include "base/clock.h"
#include "optimize/plan/machine_costs.h"
#include "optimize/plan/plan_price.h"
#include "pcg/plan/plan_worth.h"

static const double MEASURING_SECONDS = 30.0;

static bool stops_measuring(void *user) { return eg_clock_seconds() > *(double *)user; }

static egraph_status price_steps(egraph_plan *plan, const eg_target_machine *target) {
  eg_machine_mesh mesh;
  EG_TRY(eg_machine_find_mesh(&target->machine, &plan->planned.plan.mesh, &mesh));
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, &target->machine, target->costs));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  return eg_plan_price(&plan->planned.plan, plan->alloc, &asked);
}

/// The plan keeps its prices where it fails.
static egraph_status price(egraph_plan *plan, const eg_target_machine *target) {
  eg_plan *steps = &plan->planned.plan;
  double *before;
  EG_TRY(eg_alloc(plan->alloc, steps->steps.len, sizeof *before, &before));
  for (size_t i = 0; i < steps->steps.len; i++)
    before[i] = steps->steps.data[i].seconds;
  egraph_status status = price_steps(plan, target);
  for (size_t i = 0; status != EGRAPH_OK && i < steps->steps.len; i++)
    steps->steps.data[i].seconds = before[i];
  eg_free(plan->alloc, before, steps->steps.len, sizeof *before);
  return status;
}

egraph_status egraph_plan_price(egraph_plan *plan, const egraph_target *target,
                                egraph_costs *costs) {
  EG_REQUIRE(plan);
  egraph_target own;
  EG_TRY(eg_options_take(EGRAPH_TARGET, target, &own));
  char this_host[32];
  (void)snprintf(this_host, sizeof this_host, "host*%" PRIu32, plan->info.devices);
  if (target == NULL) own.machine = this_host;
  double until = eg_clock_seconds() + MEASURING_SECONDS;
  eg_target_machine machine = {.host = {.stop = stops_measuring, .user = &until}};
  egraph_status status = eg_target_machine_open(&machine, plan->alloc, &own, costs);
  if (status == EGRAPH_OK) status = price(plan, &machine);
  if (status == EGRAPH_OK)
    status = eg_plan_find_peak(&plan->planned.plan, plan->alloc, &machine.machine);
  if (status == EGRAPH_OK) plan->info.memory_limit = machine.machine.memory_bytes;
  eg_target_machine_close(&machine);
  EG_TRY(status);
  plan->planned.plan.single_seconds = 0; // of the machine before
  return eg_planned_sum_up(plan);
}
