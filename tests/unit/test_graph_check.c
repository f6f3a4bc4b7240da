// The checker of graphs finds every kind of damage. Graphs cannot be damaged through
// their interface, so that this test reaches into them.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "pcg/graph/graph_internal.h"

static const char text[] =
    "(egraph-graph 1)\n(input x \"float32[2,3]\")\n"
    "(weight w \"float32[2,3]\" [1.0 2.0 3.0 4.0 5.0 6.0])\n"
    "(let a (add x w) :node first)\n(let b (relu a) :node second)\n"
    "(let o (opaque Odd b) :types [none] :record \"00\")\n(output b)\n";
enum { X, W, A, B, O };

static eg_graph *graph;

static int setup(void **state) {
  (void)state;
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
  assert_ok(eg_graph_check(graph));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  assert_ok(eg_graph_check(graph)); // every test puts back what it damaged
  eg_graph_destroy(graph);
  return 0;
}

// Runs the checker while `place` has another value.
#define DAMAGED(place, value, message)                                                   \
  do {                                                                                   \
    unsigned char kept[sizeof(place)];                                                   \
    memcpy(kept, &(place), sizeof kept);                                                 \
    (place) = (value);                                                                   \
    assert_fails(eg_graph_check(graph), EGRAPH_E_INTERNAL, message);                     \
    memcpy(&(place), kept, sizeof kept);                                                 \
  } while (0)

static void damaged_values_are_found(void **state) {
  (void)state;
  eg_value_info **value = graph->values.data;
  eg_buffer *data = value[W]->data;
  DAMAGED(value[X]->node.id, 0, "has a producer");
  DAMAGED(value[X]->typed, false, "not a typed row-major tensor");
  DAMAGED(value[W]->type.layout.format, EG_FORMAT_NHWC, "value 'w': memory format");
  DAMAGED(value[X]->type.dims[0], -1, "value 'x'");
  DAMAGED(value[A]->node.id, 9, "which does not exist");
  DAMAGED(value[A]->result, 1, "is no result of its producer");
  DAMAGED(value[A]->name, "x", "does not lead to its value");
  DAMAGED(value[A]->name, "nobody", "does not lead to its value");
  DAMAGED(value[A]->data, data, "has data but is no leaf");
  DAMAGED(value[W]->type.dims[0], 1, "has data of another size");
}

static void damaged_nodes_are_found(void **state) {
  (void)state;
  eg_graph_node_info *first = &graph->nodes.data[0]->info;
  eg_graph_node_info *second = &graph->nodes.data[1]->info;
  static const eg_value later[2] = {{X}, {B}}, nowhere[2] = {{X}, {77}}, wrong[1] = {{X}};
  DAMAGED(first->inputs, later, "computed later");
  DAMAGED(first->inputs, nowhere, "computed later");
  DAMAGED(second->results, wrong, "is no result of its producer");
  DAMAGED(graph->nodes.data[0]->opaque, 0, "and its record disagree");
  DAMAGED(graph->nodes.data[2]->opaque, UINT32_MAX, "and its record disagree");
  DAMAGED(graph->values.data[A]->type.dims[1], 4, "that inference gives");
  DAMAGED(graph->values.data[B]->type.dtype, EGRAPH_INT32, "that inference gives");
  DAMAGED(graph->values.data[O]->kind, EG_VALUE_INPUT, "leaf value 'o'");
}

static void damaged_lists_are_found(void **state) {
  (void)state;
  DAMAGED(graph->inputs.data[0].id, W, "input 0 is no input value");
  DAMAGED(graph->inputs.data[0].id, 99, "input 0 is no input value");
  DAMAGED(graph->outputs.data[0].value.id, 99, "output 'b' does not exist");
  DAMAGED(graph->opaques.data[0].node.id, 1, "does not lead to its node");
  DAMAGED(graph->opaques.data[0].key, "Other#0", "does not lead to its node");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      CASE(damaged_values_are_found),
      CASE(damaged_nodes_are_found),
      CASE(damaged_lists_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
