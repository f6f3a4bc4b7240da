// Exported networks: everything in them is known to the table, and export gives back what
// import read.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "onnx/onnx.h"

// File stem, nodes after import (constants and shape computations vanish), weights.
static const struct {
  const char *name;
  uint32_t nodes, weights;
} models[] = {
    {"bert_base_hand.eval.op13", 588, 288},
    {"bert_base_hand.eval.op17", 396, 240},
    {"bert_base_hand.preserve.op13", 660, 288},
    {"bert_base_hand.preserve.op17", 468, 240},
    {"inception_v3.eval.op13", 224, 190},
    {"inception_v3.preserve.op13", 318, 472},
    {"resnet50.eval.op13", 122, 108},
    {"resnet50.preserve.op13", 175, 267},
    {"resnext50_32x4d.eval.op13", 122, 108},
    {"resnext50_32x4d.preserve.op13", 175, 267},
    {"squeezenet1_0.eval.op13", 65, 52},
    {"squeezenet1_0.preserve.op13", 65, 52},
    {"vgg19.eval.op13", 44, 38},
    {"vgg19.preserve.op13", 44, 38},
};
enum { MODELS = sizeof models / sizeof models[0] };

static uint32_t count_kind(const eg_graph *graph, eg_value_kind kind) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++)
    count += eg_graph_value(graph, (eg_value){i})->kind == kind;
  return count;
}

static void expect_known(const eg_graph *graph) {
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node node = {n};
    if (eg_graph_node_at(graph, node).attrs->op == EG_OP_OPAQUE)
      fail_msg("node %u (%s) is opaque", n, eg_graph_opaque_type(graph, node));
  }
}

static void expect_same_after_export(const eg_graph *graph) {
  unsigned char *bytes;
  size_t size;
  eg_graph *again;
  eg_text first, second;
  egraph_allocator alloc = eg_graph_allocator(graph);
  eg_text_init(&first, alloc);
  eg_text_init(&second, alloc);
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  assert_ok(eg_onnx_parse(NULL, "again", bytes, size, ".", NULL, &again));
  assert_ok(eg_graph_print(graph, &first));
  assert_ok(eg_graph_print(again, &second));
  assert_string_equal(eg_text_of(&first), eg_text_of(&second));
  eg_free(alloc, bytes, size, 1);
  eg_graph_destroy(again);
  eg_text_deinit(&second);
  eg_text_deinit(&first);
}

static const eg_onnx_import_options drawn = {.max_bytes = (size_t)1 << 31,
                                             .draws_weights = true};

static void check_folder(const char *folder, bool weights_are_inputs) {
  for (size_t i = 0; i < MODELS; i++) {
    char path[1024];
    struct stat info;
    (void)snprintf(path, sizeof path, EG_DATA_DIR "/%s/%s.onnx", folder, models[i].name);
    if (stat(path, &info) != 0) {
      print_message("no %s\n", path);
      skip();
    }
    test_heap heap = {0};
    egraph_allocator alloc = test_heap_allocator(&heap);
    eg_graph *graph;
    assert_ok(eg_onnx_load(&alloc, path, &drawn, &graph));
    assert_ok(eg_graph_check(graph));
    expect_known(graph);
    uint32_t weights = count_kind(graph, EG_VALUE_WEIGHT);
    uint32_t inputs = eg_graph_input_count(graph);
    print_message("%s/%s: %u nodes, %u weights, %u inputs\n", folder, models[i].name,
                  eg_graph_node_count(graph), weights, inputs);
    assert_int_equal(eg_graph_node_count(graph), models[i].nodes);
    assert_int_equal(weights + inputs, models[i].weights + 1);
    assert_true(weights_are_inputs == (inputs > 1));
    expect_same_after_export(graph);
    eg_graph_destroy(graph);
    assert_int_equal(heap.live_bytes, 0);
  }
}

static void networks_with_absent_weights_are_known(void **state) {
  (void)state;
  check_folder("onnx", false);
}

static void networks_with_weights_as_inputs_are_known(void **state) {
  (void)state;
  check_folder("onnx-weights-as-inputs", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(networks_with_absent_weights_are_known),
      cmocka_unit_test(networks_with_weights_as_inputs_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
