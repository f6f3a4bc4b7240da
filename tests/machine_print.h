// Writes a machine as text that the reader takes, for round trips: sizes are numbers, and
// every axis of a mesh names its link.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_MACHINE_PRINT_H
#define EG_TESTS_MACHINE_PRINT_H

#include <inttypes.h>
#include <math.h>

#include "base/sexpr.h"
#include "ops/ops.h"
#include "pcg/parallel/machine.h"

static inline egraph_status print_figure(eg_text *text, const char *name, double value) {
  EG_TRY(eg_text_printf(text, " (%s ", name));
  EG_TRY(eg_text_double(text, value));
  return eg_text_append(text, ")");
}

static inline egraph_status print_string(eg_text *text, const char *name,
                                         const char *value) {
  if (value[0] == '\0') return EGRAPH_OK;
  EG_TRY(eg_text_printf(text, " (%s ", name));
  EG_TRY(eg_text_quoted(text, value));
  return eg_text_append(text, ")");
}

static inline egraph_status print_device(eg_text *text, const eg_machine *m) {
  EG_TRY(eg_text_append(text, "(device"));
  EG_TRY(print_string(text, "kind", m->device));
  EG_TRY(print_string(text, "profile", m->profile));
  if (m->beside != 0) EG_TRY(print_figure(text, "beside", m->beside));
  if (m->slowdown != 1) EG_TRY(print_figure(text, "slowdown", m->slowdown));
  if (isfinite(m->memory_bytes)) EG_TRY(print_figure(text, "memory", m->memory_bytes));
  if (m->compute_is_free) return eg_text_append(text, ")\n");
  EG_TRY(print_figure(text, "bandwidth", m->bandwidth_bytes));
  EG_TRY(print_figure(text, "overhead", m->overhead_seconds));
  EG_TRY(eg_text_append(text, "\n  (peak"));
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++)
    if (i == EGRAPH_FLOAT32 || m->peak_flops[i] != m->peak_flops[EGRAPH_FLOAT32])
      EG_TRY(print_figure(text, eg_dtype_name((egraph_dtype)i), m->peak_flops[i]));
  return eg_text_append(text, "))\n");
}

static inline egraph_status print_ports(eg_text *text, const eg_machine_link *link) {
  if (link->ports == EG_PORTS_UNKNOWN) return EGRAPH_OK;
  EG_TRY(eg_text_printf(text, " (ports %s", eg_ports_name(link->ports)));
  for (uint32_t i = 0; i < link->level_count; i++) {
    EG_TRY(eg_text_printf(text, " (%" PRIu32 " ", link->levels[i].devices));
    EG_TRY(eg_text_double(text, link->levels[i].oversubscription));
    EG_TRY(eg_text_append(text, ")"));
  }
  return eg_text_append(text, ")");
}

static inline egraph_status print_source(eg_text *text, bool is_measured,
                                         const char *where) {
  EG_TRY(print_string(text, is_measured ? "measured" : "published", where));
  return eg_text_append(text, ")");
}

static inline egraph_status print_reach(eg_text *text, const eg_reach *reach) {
  EG_TRY(eg_text_printf(text, "(efficiency %s", eg_reach_kind_name(reach->kind)));
  if (reach->dtype < EGRAPH_DTYPE_COUNT)
    EG_TRY(eg_text_printf(text, " %s", eg_dtype_name((egraph_dtype)reach->dtype)));
  for (uint32_t i = 0; i < reach->point_count; i++) {
    EG_TRY(eg_text_append(text, " ("));
    EG_TRY(eg_text_double(text, reach->points[i].work));
    EG_TRY(eg_text_append(text, " "));
    EG_TRY(eg_text_double(text, reach->points[i].share));
    EG_TRY(eg_text_append(text, ")"));
  }
  EG_TRY(print_source(text, reach->is_measured, reach->where));
  return eg_text_append(text, "\n");
}

static inline egraph_status print_link(eg_text *text, const eg_machine *m,
                                       const eg_machine_link *link) {
  bool data_sheet = link->bandwidth_bytes != 0;
  EG_TRY(eg_text_printf(text, "(link %s", link->name));
  EG_TRY(print_figure(text, data_sheet ? "latency" : "alpha", link->latency_seconds));
  if (data_sheet)
    EG_TRY(print_figure(text, "bandwidth", link->bandwidth_bytes));
  else
    EG_TRY(print_figure(text, "beta", link->seconds_per_byte));
  if (link->sharers != 1)
    EG_TRY(eg_text_printf(text, " (shared %" PRIu32 ")", link->sharers));
  if (link->where[0] != '\0') {
    EG_TRY(eg_text_append(text, " (reached "));
    EG_TRY(eg_text_double(text, link->reached));
    EG_TRY(print_source(text, false, link->where));
  }
  EG_TRY(print_ports(text, link));
  if (link->through != EG_LINK_AUTO)
    EG_TRY(eg_text_printf(text, " (through %s)", m->links[link->through].name));
  return eg_text_append(text, ")\n");
}

static inline egraph_status print_curves(eg_text *text, const eg_machine_link *link) {
  for (uint32_t i = 0; i < link->curve_count; i++) {
    const eg_link_curve *curve = &link->curves[i];
    EG_TRY(eg_text_printf(text, "(exchange %s %s %" PRIu32, link->name,
                          eg_exchange_name(curve->exchange), curve->devices));
    for (uint32_t c = 0; c < curve->class_count; c++)
      EG_TRY(eg_text_printf(text, " (%.17g %.17g %.17g)", curve->classes[c].most_bytes,
                            curve->classes[c].latency_seconds,
                            curve->classes[c].seconds_per_byte));
    EG_TRY(eg_text_append(text, ")\n"));
  }
  return EGRAPH_OK;
}

static inline egraph_status print_mesh(eg_text *text, const eg_machine *m,
                                       const eg_machine_mesh *mesh) {
  EG_TRY(eg_text_append(text, "(mesh"));
  for (uint32_t i = 0; i < mesh->mesh.axis_count; i++) {
    const eg_mesh_axis *axis = &mesh->mesh.axes[i];
    EG_TRY(eg_text_printf(text, " (%s %" PRIu32 " %s)", axis->name, axis->size,
                          m->links[mesh->links[i].link].name));
  }
  return eg_text_append(text, ")\n");
}

static inline egraph_status machine_print(eg_text *text, const eg_machine *machine) {
  EG_TRY(eg_text_printf(text, "(egraph-machine %d)\n(name %s)\n", EG_MACHINE_TEXT_VERSION,
                        machine->name));
  if (machine->compute_is_free) EG_TRY(eg_text_append(text, "(compute free)\n"));
  EG_TRY(print_device(text, machine));
  EG_TRY(eg_text_printf(text, "(collectives %s)\n",
                        eg_collectives_name(machine->collectives)));
  for (uint32_t i = 0; i < machine->reach_count; i++)
    EG_TRY(print_reach(text, &machine->reaches[i]));
  for (uint32_t i = 0; i < machine->link_count; i++)
    EG_TRY(print_link(text, machine, &machine->links[i]));
  for (uint32_t i = 0; i < machine->link_count; i++)
    EG_TRY(print_curves(text, &machine->links[i]));
  for (uint32_t i = 0; i < machine->axis_count; i++)
    EG_TRY(eg_text_printf(text, "(axis %s %" PRIu32 " %s)\n", machine->axes[i].name,
                          machine->axes[i].size,
                          machine->links[machine->axes[i].link].name));
  for (uint32_t i = 0; i < machine->mesh_count; i++)
    EG_TRY(print_mesh(text, machine, &machine->meshes[i]));
  return EGRAPH_OK;
}

#endif
