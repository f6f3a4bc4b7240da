// Models with open dimensions in a file of the test's own, KIT_PATH.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_ONNX_OPEN_KIT_H
#define EG_TESTS_UNIT_ONNX_OPEN_KIT_H

#include <stdio.h>

#include "base/file.h"
#include "tests/unit/onnx_kit.h"

#ifndef KIT_PATH
#define KIT_PATH "test_onnx_open.onnx"
#endif
static const char path[] = KIT_PATH;

EG_MAYBE_UNUSED static void symbol(onnx_kit *kit, Onnx__ValueInfoProto *info,
                                   uint32_t axis, const char *name) {
  Onnx__TensorShapeProto__Dimension *dim = info->type->tensor_type->shape->dim[axis];
  dim->value_case = name != NULL ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                                 : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
  if (name != NULL) dim->dim_param = kit_string_copy(kit, name);
}

EG_MAYBE_UNUSED static void write_kit(onnx_kit *kit) {
  size_t size;
  uint8_t *bytes = kit_bytes(kit, &size);
  assert_ok(eg_file_write(path, bytes, size));
  kit_end(kit);
}

EG_MAYBE_UNUSED static egraph_graph *load(const egraph_load_options *options) {
  egraph_graph *graph;
  assert_ok(egraph_graph_load(NULL, path, options, &graph));
  return graph;
}

EG_MAYBE_UNUSED static egraph_graph *optimized(const egraph_graph *graph,
                                               egraph_result **out) {
  egraph_rules *rules;
  egraph_costs *costs;
  egraph_costs_options options = {.size = sizeof options, .measure = false};
  egraph_search search = egraph_search_default();
  search.time_limit = 40;
  const egraph_options limits = {.size = sizeof limits, .search = &search};
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  assert_ok(egraph_costs_create(NULL, &options, &costs));
  assert_ok(egraph_optimize(NULL, graph, rules, costs, &limits, out));
  egraph_costs_destroy(costs);
  egraph_rules_destroy(rules);
  return (egraph_graph *)(uintptr_t)egraph_result_graph(*out);
}

#endif
