// SPDX-License-Identifier: Apache-2.0
#include "api/machine_profile.h"

#include <string.h>

static egraph_status open_profile(eg_target_machine *target, egraph_allocator alloc,
                                  egraph_costs *costs) {
  const egraph_costs_options *o = &costs->options;
  const eg_cost_options options = {
      .database = o->database,
      .machine = target->machine.profile,
      .read_only = true,
      .override_cost = o->override_cost != NULL ? eg_costs_override : NULL,
      .user = costs};
  if (o->database == NULL && o->override_cost == NULL) return EGRAPH_OK;
  EG_TRY(eg_cost_model_create(&alloc, &options, &target->own));
  target->costs = target->own;
  return EGRAPH_OK;
}

egraph_status eg_target_machine_open(eg_target_machine *target, egraph_allocator alloc,
                                     const egraph_target *options, egraph_costs *costs) {
  const char *name = options->machine != NULL ? options->machine : "host";
  uint32_t ranks;
  if (costs != NULL && costs->options.measure && options->machine_text == NULL &&
      eg_machine_is_host(name, &ranks)) {
    target->costs = costs->model;
    return eg_measured_host_open(&target->host, costs, ranks, &target->machine);
  }
  EG_TRY(options->machine_text != NULL
             ? eg_machine_parse(&alloc, name, options->machine_text,
                                strlen(options->machine_text), 0, &target->machine)
             : eg_machine_load(&alloc, name, &target->machine));
  if (costs == NULL) return EGRAPH_OK;
  if (strcmp(target->machine.profile, "host") != 0)
    return open_profile(target, alloc, costs);
  target->costs = costs->model;
  return EGRAPH_OK;
}

void eg_target_machine_close(eg_target_machine *target) {
  eg_cost_model_destroy(target->own);
  eg_measured_host_close(&target->host);
  eg_machine_deinit(&target->machine);
}
