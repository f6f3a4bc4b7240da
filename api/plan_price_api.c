// The public function that prices a plan without searching.
// SPDX-License-Identifier: Apache-2.0
#include "api/machine_profile.h"
#include "api/option_structs.h"
#include "api/planned.h"
#include "api/require.h"
#include "base/clock.h"
#include "optimize/plan/machine_costs.h"
#include "optimize/plan/plan_price.h"

static const double DEFAULT_SECONDS = 60.0, MEASURING_SHARE = 0.5;

static egraph_status price(egraph_plan *plan, const eg_machine *machine,
                           eg_cost_model *model) {
  eg_machine_mesh mesh;
  EG_TRY(eg_machine_find_mesh(machine, &plan->planned.plan.mesh, &mesh));
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, machine, model));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  return eg_plan_price(&plan->planned.plan, plan->alloc, &asked);
}

static bool stops_measuring(void *user) { return eg_clock_seconds() > *(double *)user; }

egraph_status egraph_plan_price(egraph_plan *plan, const egraph_plan_options *options) {
  EG_REQUIRE(plan);
  egraph_plan_options own;
  EG_TRY(eg_options_take(EGRAPH_PLAN_OPTIONS, options, &own));
  double limit = own.time_limit > 0 ? own.time_limit : DEFAULT_SECONDS;
  double until = eg_clock_seconds() + MEASURING_SHARE * limit;
  eg_measured_host host = {.stop = stops_measuring, .user = &until};
  eg_machine machine = {.name = ""};
  eg_cost_model *model = NULL;
  EG_TRY(eg_planned_require(plan));
  egraph_status status =
      eg_planning_machine_open(&plan->alloc, &own, &host, &machine, &model);
  if (status == EGRAPH_OK) status = price(plan, &machine, model);
  if (status == EGRAPH_OK) plan->report.memory_limit = machine.memory_bytes;
  eg_cost_model_destroy(model);
  eg_measured_host_close(&host);
  eg_machine_deinit(&machine);
  EG_TRY(status);
  plan->planned.plan.single_seconds = 0; // of the machine before
  return eg_planned_sum_up(plan);
}
