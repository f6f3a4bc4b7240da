// Machine files: any bytes give an error, or a machine that prints as text that reads
// back as the same machine, whose figures and prices are finite.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "sim/collective.h"
#include "sim/topology.h"
#include "tests/fuzz/fuzz.h"
#include "tests/machine_print.h"

static void check_round_trip(const eg_machine *machine) {
  eg_text first, second;
  eg_text_init(&first, eg_allocator_heap());
  eg_text_init(&second, eg_allocator_heap());
  eg_machine again;
  FUZZ_CHECK(machine_print(&first, machine) == EGRAPH_OK);
  FUZZ_CHECK(eg_machine_parse(NULL, "f", eg_text_of(&first), first.chars.len, 0,
                              &again) == EGRAPH_OK);
  FUZZ_CHECK(machine_print(&second, &again) == EGRAPH_OK);
  FUZZ_CHECK(strcmp(eg_text_of(&first), eg_text_of(&second)) == 0);
  eg_machine_deinit(&again);
  eg_text_deinit(&first);
  eg_text_deinit(&second);
}

static void check_mesh(const eg_machine *machine, const eg_machine_mesh *mesh) {
  uint64_t devices = 1;
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) {
    devices *= mesh->mesh.axes[a].size;
    FUZZ_CHECK(mesh->mesh.axes[a].size > 1);
    FUZZ_CHECK(mesh->links[a].link < machine->link_count);
    for (int kind = 0; kind < EG_TRANSITION_KINDS; kind++) {
      eg_transition transition = {.kind = (eg_transition_kind)kind, .axis = a};
      double seconds = eg_collective_seconds(mesh, &transition, 1e18);
      FUZZ_CHECK(seconds >= 0 && isfinite(seconds));
    }
  }
  FUZZ_CHECK(devices == eg_machine_devices(machine));
}

/// Every message has its way over links of the machine, each with a bandwidth, unless
/// ports on it are not known.
static void check_ways(const eg_machine *machine) {
  static eg_topology t;
  eg_u32s links;
  double latency;
  uint32_t devices = eg_machine_devices(machine);
  for (uint32_t l = 0; l < machine->link_count; l++)
    if (machine->links[l].ports == EG_PORTS_UNKNOWN) return;
  if (eg_topology_make(machine, &t) != EGRAPH_OK) return;
  eg_u32s_init(&links, eg_allocator_heap());
  for (uint32_t i = 0; i < 8; i++) {
    links.len = 0;
    FUZZ_CHECK(eg_topology_path(&t, i % devices, devices - 1 - 3 * i % devices, &links,
                                &latency) == EGRAPH_OK);
    FUZZ_CHECK(latency >= 0 && isfinite(latency));
    for (size_t k = 0; k < links.len; k++) {
      FUZZ_CHECK(links.data[k] < t.link_count);
      double bandwidth = t.parts[eg_topology_part_of(&t, links.data[k])].bandwidth;
      FUZZ_CHECK(bandwidth > 0 && isfinite(bandwidth));
    }
  }
  eg_u32s_deinit(&links);
}

static void check(const uint8_t *data, size_t size, uint32_t nodes) {
  eg_machine machine;
  egraph_status status =
      eg_machine_parse(NULL, "f", (const char *)data, size, nodes, &machine);
  if (status != EGRAPH_OK) {
    fuzz_check_failure(status);
    return;
  }
  FUZZ_CHECK(machine.mesh_count != 0);
  for (uint32_t i = 0; i < machine.mesh_count; i++)
    check_mesh(&machine, &machine.meshes[i]);
  check_round_trip(&machine);
  check_ways(&machine);
  eg_machine_deinit(&machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check(data, size, 0);
  check(data, size, 3);
  return 0;
}
