// Small ONNX models built in C, for the tests of import and export.
//
//   onnx_kit kit; kit_begin(&kit, 13);
//   kit_input(&kit, "x", "float32[1,4]");
//   Onnx__NodeProto *node = kit_node(&kit, "Softmax", "x", "y");
//   kit_int(&kit, node, "axis", 1);
//   kit_output(&kit, "y");
//   kit_expect(&kit, "(egraph-graph 1)\n...");   // the imported graph as text; ends the
//   kit
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_ONNX_KIT_H
#define EG_TESTS_ONNX_KIT_H

#include "tests/testing.h"

#include "onnx/onnx.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

enum { KIT_MAX = 64 };

typedef struct onnx_kit {
  eg_arena arena;
  Onnx__ModelProto model;
  Onnx__GraphProto graph;
  Onnx__OperatorSetIdProto opset, *opsets[2];
  Onnx__NodeProto *nodes[KIT_MAX];
  Onnx__TensorProto *tensors[KIT_MAX];
  Onnx__ValueInfoProto *inputs[KIT_MAX], *outputs[KIT_MAX], *infos[KIT_MAX];
  Onnx__StringStringEntryProto *entries[KIT_MAX];
} onnx_kit;

EG_MAYBE_UNUSED static void *kit_alloc(onnx_kit *kit, size_t count, size_t size) {
  void *memory;
  assert_ok(eg_arena_alloc(&kit->arena, count != 0 ? count : 1, size, &memory));
  return memory;
}

EG_MAYBE_UNUSED static char *kit_text(onnx_kit *kit, const char *text, size_t length) {
  char *copy = kit_alloc(kit, length + 1, 1);
  memcpy(copy, text, length);
  return copy;
}

EG_MAYBE_UNUSED static char *kit_string_copy(onnx_kit *kit, const char *text) {
  return kit_text(kit, text, strlen(text));
}

EG_MAYBE_UNUSED static void kit_begin(onnx_kit *kit, int64_t opset) {
  *kit = (onnx_kit){.model = ONNX__MODEL_PROTO__INIT,
                    .graph = ONNX__GRAPH_PROTO__INIT,
                    .opset = ONNX__OPERATOR_SET_ID_PROTO__INIT};
  eg_arena_init(&kit->arena, eg_allocator_heap());
  kit->model.graph = &kit->graph;
  kit->opsets[0] = &kit->opset;
  kit->opset.has_version = true;
  kit->opset.version = opset;
  kit->model.n_opset_import = 1;
  kit->model.opset_import = kit->opsets;
  kit->model.metadata_props = kit->entries;
  kit->graph.node = kit->nodes;
  kit->graph.initializer = kit->tensors;
  kit->graph.input = kit->inputs;
  kit->graph.output = kit->outputs;
  kit->graph.value_info = kit->infos;
}

EG_MAYBE_UNUSED static void kit_end(onnx_kit *kit) { eg_arena_deinit(&kit->arena); }

// ---- values --------------------------------------------------------------------------

EG_MAYBE_UNUSED static Onnx__ValueInfoProto *kit_info(onnx_kit *kit, const char *name,
                                                      const char *type_text) {
  Onnx__ValueInfoProto *info = kit_alloc(kit, 1, sizeof *info);
  *info = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
  info->name = kit_string_copy(kit, name);
  if (type_text == NULL) return info;
  eg_type type;
  assert_ok(eg_type_parse("kit", type_text, &type));
  info->type = kit_alloc(kit, 1, sizeof *info->type);
  *info->type = (Onnx__TypeProto)ONNX__TYPE_PROTO__INIT;
  Onnx__TypeProto__Tensor *tensor = kit_alloc(kit, 1, sizeof *tensor);
  *tensor = (Onnx__TypeProto__Tensor)ONNX__TYPE_PROTO__TENSOR__INIT;
  info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  info->type->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = eg_dtype_onnx(type.dtype);
  tensor->shape = kit_alloc(kit, 1, sizeof *tensor->shape);
  *tensor->shape = (Onnx__TensorShapeProto)ONNX__TENSOR_SHAPE_PROTO__INIT;
  tensor->shape->n_dim = type.rank;
  tensor->shape->dim = kit_alloc(kit, type.rank, sizeof *tensor->shape->dim);
  for (uint32_t i = 0; i < type.rank; i++) {
    Onnx__TensorShapeProto__Dimension *dim = kit_alloc(kit, 1, sizeof *dim);
    *dim = (Onnx__TensorShapeProto__Dimension)ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT;
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = type.dims[i];
    tensor->shape->dim[i] = dim;
  }
  return info;
}

EG_MAYBE_UNUSED static Onnx__ValueInfoProto *kit_input(onnx_kit *kit, const char *name,
                                                       const char *type) {
  return kit->inputs[kit->graph.n_input++] = kit_info(kit, name, type);
}

EG_MAYBE_UNUSED static void kit_output(onnx_kit *kit, const char *name) {
  kit->outputs[kit->graph.n_output++] = kit_info(kit, name, NULL);
}

EG_MAYBE_UNUSED static void kit_declare(onnx_kit *kit, const char *name,
                                        const char *type) {
  kit->infos[kit->graph.n_value_info++] = kit_info(kit, name, type);
}

EG_MAYBE_UNUSED static Onnx__TensorProto *
kit_tensor(onnx_kit *kit, const char *name, const char *type_text, const void *data) {
  eg_type type;
  assert_ok(eg_type_parse("kit", type_text, &type));
  Onnx__TensorProto *tensor = kit_alloc(kit, 1, sizeof *tensor);
  *tensor = (Onnx__TensorProto)ONNX__TENSOR_PROTO__INIT;
  tensor->name = kit_string_copy(kit, name);
  tensor->has_data_type = true;
  tensor->data_type = eg_dtype_onnx(type.dtype);
  tensor->n_dims = type.rank;
  tensor->dims = kit_alloc(kit, type.rank, sizeof *tensor->dims);
  for (uint32_t i = 0; i < type.rank; i++)
    tensor->dims[i] = type.dims[i];
  if (data == NULL) return tensor;
  tensor->has_raw_data = true;
  tensor->raw_data.len = eg_type_bytes(&type);
  tensor->raw_data.data = (uint8_t *)kit_text(kit, data, tensor->raw_data.len);
  return tensor;
}

EG_MAYBE_UNUSED static Onnx__TensorProto *kit_weight(onnx_kit *kit, const char *name,
                                                     const char *type, const void *data) {
  return kit->tensors[kit->graph.n_initializer++] = kit_tensor(kit, name, type, data);
}

/// An int64 vector.
EG_MAYBE_UNUSED static void kit_vector(onnx_kit *kit, const char *name, uint32_t count,
                                       const int64_t *data) {
  char type[32];
  (void)snprintf(type, sizeof type, "int64[%u]", count);
  (void)kit_weight(kit, name, type, data);
}

// ---- nodes ---------------------------------------------------------------------------

// "a,,b" as three names.
EG_MAYBE_UNUSED static char **kit_names(onnx_kit *kit, const char *list, size_t *count) {
  char **names = kit_alloc(kit, KIT_MAX, sizeof *names);
  *count = 0;
  if (list[0] == '\0') return names;
  for (const char *at = list;; at++) {
    size_t length = strcspn(at, ",");
    names[(*count)++] = kit_text(kit, at, length);
    at += length;
    if (*at == '\0') return names;
  }
}

EG_MAYBE_UNUSED static Onnx__NodeProto *
kit_node(onnx_kit *kit, const char *op_type, const char *inputs, const char *outputs) {
  Onnx__NodeProto *node = kit_alloc(kit, 1, sizeof *node);
  *node = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
  node->op_type = kit_string_copy(kit, op_type);
  node->input = kit_names(kit, inputs, &node->n_input);
  node->output = kit_names(kit, outputs, &node->n_output);
  node->attribute = kit_alloc(kit, 16, sizeof *node->attribute);
  return kit->nodes[kit->graph.n_node++] = node;
}

EG_MAYBE_UNUSED static Onnx__AttributeProto *
kit_attr(onnx_kit *kit, Onnx__NodeProto *node, const char *name,
         Onnx__AttributeProto__AttributeType type) {
  Onnx__AttributeProto *attr = kit_alloc(kit, 1, sizeof *attr);
  *attr = (Onnx__AttributeProto)ONNX__ATTRIBUTE_PROTO__INIT;
  attr->name = kit_string_copy(kit, name);
  attr->has_type = true;
  attr->type = type;
  return node->attribute[node->n_attribute++] = attr;
}

EG_MAYBE_UNUSED static void kit_int(onnx_kit *kit, Onnx__NodeProto *node,
                                    const char *name, int64_t value) {
  Onnx__AttributeProto *attr =
      kit_attr(kit, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  attr->has_i = true;
  attr->i = value;
}

EG_MAYBE_UNUSED static void kit_float(onnx_kit *kit, Onnx__NodeProto *node,
                                      const char *name, float value) {
  Onnx__AttributeProto *attr =
      kit_attr(kit, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
  attr->has_f = true;
  attr->f = value;
}

EG_MAYBE_UNUSED static void kit_ints(onnx_kit *kit, Onnx__NodeProto *node,
                                     const char *name, uint32_t count,
                                     const int64_t *data) {
  Onnx__AttributeProto *attr =
      kit_attr(kit, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
  attr->n_ints = count;
  attr->ints = (int64_t *)(void *)kit_alloc(kit, count, sizeof *data);
  memcpy(attr->ints, data, count * sizeof *data);
}

EG_MAYBE_UNUSED static void kit_string(onnx_kit *kit, Onnx__NodeProto *node,
                                       const char *name, const char *value) {
  Onnx__AttributeProto *attr =
      kit_attr(kit, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
  attr->has_s = true;
  attr->s.len = strlen(value);
  attr->s.data = (uint8_t *)kit_string_copy(kit, value);
}

// ---- import --------------------------------------------------------------------------

/// The model as bytes, in the kit's arena.
EG_MAYBE_UNUSED static uint8_t *kit_bytes(onnx_kit *kit, size_t *out_size) {
  *out_size = onnx__model_proto__get_packed_size(&kit->model);
  uint8_t *bytes = kit_alloc(kit, *out_size, 1);
  (void)onnx__model_proto__pack(&kit->model, bytes);
  return bytes;
}

EG_MAYBE_UNUSED static egraph_status
kit_import(onnx_kit *kit, const egraph_allocator *alloc, eg_graph **out) {
  size_t size;
  uint8_t *bytes = kit_bytes(kit, &size);
  return eg_onnx_parse(alloc, "m.onnx", bytes, size, NULL, NULL, out);
}

EG_MAYBE_UNUSED static void kit_expect_graph(const eg_graph *graph, const char *wanted) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_graph_print(graph, &text));
  assert_string_equal(eg_text_of(&text), wanted);
  eg_text_deinit(&text);
}

/// The import as text, without the version line; also exported and imported again.
EG_MAYBE_UNUSED static void kit_expect(onnx_kit *kit, const char *wanted) {
  static const char version[] = "(egraph-graph 1)\n";
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  eg_graph *graph, *again;
  unsigned char *bytes;
  size_t size;
  assert_ok(kit_import(kit, &alloc, &graph));
  assert_ok(eg_graph_check(graph));
  char *whole = kit_alloc(kit, sizeof version + strlen(wanted), 1);
  memcpy(whole, version, sizeof version);
  memcpy(whole + sizeof version - 1, wanted, strlen(wanted) + 1);
  kit_expect_graph(graph, whole);
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  assert_ok(eg_onnx_parse(&alloc, "again", bytes, size, NULL, NULL, &again));
  kit_expect_graph(again, whole);
  eg_free(alloc, bytes, size, 1);
  eg_graph_destroy(again);
  eg_graph_destroy(graph);
  assert_int_equal(heap.live_bytes, 0);
  kit_end(kit);
}

EG_MAYBE_UNUSED static void kit_refuse(onnx_kit *kit, egraph_status status,
                                       const char *message) {
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  eg_graph *graph;
  assert_fails(kit_import(kit, &alloc, &graph), status, message);
  assert_int_equal(heap.live_bytes, 0);
  kit_end(kit);
}

#endif
