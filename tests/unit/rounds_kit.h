// One exchange, or several at once, on a machine of a text: as rounds of flows.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_ROUNDS_KIT_H
#define EG_TESTS_ROUNDS_KIT_H

#include <math.h>

#include "sim/exchange_flows.h"
#include "tests/testing.h"

typedef struct exchange_case {
  uint32_t axis;
  eg_transition_kind kind;
  eg_collective_algorithm algorithm;
  double bytes;
} exchange_case;

static inline void load_machine(const char *text, eg_machine *out) {
  assert_ok(eg_machine_parse(NULL, "m", text, strlen(text), 0, out));
}

static inline eg_machine_mesh mesh_on(const eg_machine *machine, const char *text) {
  eg_mesh mesh;
  eg_machine_mesh out;
  assert_ok(eg_mesh_parse(text, &mesh));
  assert_ok(eg_machine_mesh_of(machine, &mesh, NULL, &out));
  return out;
}

/// Seconds until all have ended that begin at 0, on streams of their own; `all`: every
/// device simulated. *out_classes of devices, *out_tasks; NULL: not asked.
static inline double run_exchanges(const eg_machine *machine, const eg_mesh *mesh,
                                   const exchange_case *cases, size_t count, bool all,
                                   uint32_t *out_classes) {
  enum { MOST_CLASSES = 64 };
  eg_exchange_flows flows;
  eg_task_graph *graph;
  uint32_t shapes[8];
  eg_exchange_flows_init(&flows, eg_allocator_heap());
  assert_ok(eg_task_graph_create(eg_allocator_heap(), &graph));
  for (size_t i = 0; i < count; i++)
    assert_ok(eg_exchange_flows_shape(&flows, cases[i].axis, cases[i].kind,
                                      cases[i].algorithm, &shapes[i]));
  assert_ok(eg_exchange_flows_make(&flows, machine, mesh, all));
  assert_true(flows.class_count <= MOST_CLASSES);
  assert_ok(eg_exchange_flows_add_links(&flows, graph));
  for (size_t i = 0; i < count; i++) {
    uint32_t streams[MOST_CLASSES], enter[MOST_CLASSES], leave[MOST_CLASSES];
    for (uint32_t c = 0; c < flows.class_count; c++) {
      assert_ok(eg_task_graph_add_stream(graph, &streams[c]));
      assert_ok(eg_task_graph_add_compute(graph, 0, &streams[c], 1, &enter[c]));
    }
    const eg_exchange_ends ends = {enter, leave, streams, NULL};
    assert_ok(eg_exchange_flows_add(&flows, graph, shapes[i], cases[i].bytes, &ends));
  }
  assert_ok(eg_task_graph_simulate(graph));
  double seconds = eg_task_graph_makespan(graph);
  assert_true(seconds >= eg_exchange_flows_most_busy(&flows) * (1 - 1e-12));
  if (out_classes != NULL) *out_classes = flows.class_count;
  eg_task_graph_destroy(graph);
  eg_exchange_flows_deinit(&flows);
  return seconds;
}

static inline void assert_close(double is, double expected) {
  if (!(fabs(is - expected) <= 1e-9 * (fabs(is) + fabs(expected))))
    fail_msg("%.15g is not %.15g", is, expected);
}

#endif
