// The public function that prices a plan without searching.
// SPDX-License-Identifier: Apache-2.0
#include "api/planned.h"
#include "optimize/plan/machine_costs.h"
#include "optimize/plan/plan_price.h"

static egraph_status price(egraph_plan *plan, const eg_machine *machine) {
  eg_machine_mesh mesh;
  EG_TRY(eg_machine_find_mesh(machine, &plan->planned.plan.mesh, &mesh));
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, machine, NULL));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  return eg_plan_price(&plan->planned.plan, plan->alloc, &asked);
}

egraph_status egraph_plan_price(egraph_plan *plan, const char *machine) {
  eg_machine loaded;
  EG_TRY(eg_planned_require(plan));
  EG_TRY(eg_machine_load(&plan->alloc, machine != NULL ? machine : "host", &loaded));
  egraph_status status = price(plan, &loaded);
  plan->report.memory_limit = loaded.memory_bytes;
  eg_machine_deinit(&loaded);
  EG_TRY(status);
  return eg_planned_sum_up(plan);
}
