// SPDX-License-Identifier: Apache-2.0
#include "api/machine_profile.h"

#include <string.h>

#include "exec/profile.h"

static egraph_status host_fingerprint(const egraph_allocator *alloc, eg_text *out) {
  const eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  eg_profiler *profiler;
  EG_TRY(eg_profiler_create(alloc, &options, &profiler));
  egraph_status status = eg_profiler_machine(profiler, out);
  eg_profiler_destroy(profiler);
  return status;
}

egraph_status eg_machine_profile_open(const egraph_allocator *alloc,
                                      const eg_machine *machine, const char *database,
                                      eg_cost_model **out) {
  *out = NULL;
  if (machine->profile[0] == '\0') return EGRAPH_OK;
  eg_text fingerprint;
  eg_text_init(&fingerprint, eg_allocator_or_heap(alloc));
  egraph_status status = strcmp(machine->profile, "host") == 0
                             ? host_fingerprint(alloc, &fingerprint)
                             : eg_text_append(&fingerprint, machine->profile);
  if (status == EGRAPH_OK) {
    const eg_cost_options options = {
        .database = database, .machine = eg_text_of(&fingerprint), .read_only = true};
    status = eg_cost_model_create(alloc, &options, out);
  }
  eg_text_deinit(&fingerprint);
  return status;
}

egraph_status eg_planning_machine_open(const egraph_allocator *alloc,
                                       const egraph_plan_options *options,
                                       eg_measured_host *host, eg_machine *out_machine,
                                       eg_cost_model **out_costs) {
  const char *name = options->machine != NULL ? options->machine : "host";
  uint32_t ranks;
  if (options->machine_text == NULL && options->measure &&
      eg_machine_is_host(name, &ranks))
    return eg_measured_host_open(host, *alloc, options->database, ranks, out_machine,
                                 out_costs);
  EG_TRY(options->machine_text != NULL
             ? eg_machine_parse(alloc, name, options->machine_text,
                                strlen(options->machine_text), 0, out_machine)
             : eg_machine_load(alloc, name, out_machine));
  if (options->database == NULL) return EGRAPH_OK;
  return eg_machine_profile_open(alloc, out_machine, options->database, out_costs);
}
