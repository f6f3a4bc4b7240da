// SPDX-License-Identifier: Apache-2.0
#include "onnx/message.h"

#include <string.h>

#include "base/owner.h"

// protobuf-c frees blocks without giving their size, so each block has its size in front.
typedef union block_head {
  size_t size;
  max_align_t align;
} block_head;

static void *heap_alloc(void *self, size_t size) {
  eg_onnx_heap *heap = self;
  block_head *head = NULL;
  size_t total = size + sizeof *head;
  if (size <= PTRDIFF_MAX - sizeof *head)
    head = heap->alloc.resize(heap->alloc.self, NULL, 0, total);
  if (head == NULL) {
    heap->failed = true;
    return NULL;
  }
  head->size = total;
  return head + 1;
}

static void heap_free(void *self, void *pointer) {
  eg_onnx_heap *heap = self;
  if (pointer == NULL) return;
  block_head *head = (block_head *)pointer - 1;
  eg_free(heap->alloc, head, head->size, 1);
}

void eg_onnx_heap_init(eg_onnx_heap *heap, egraph_allocator alloc) {
  *heap = (eg_onnx_heap){.alloc = alloc};
  heap->base.alloc = heap_alloc;
  heap->base.free = heap_free;
  heap->base.allocator_data = heap;
}

// ---- nesting ------------------------------------------------------------------------

typedef struct wire_level {
  const ProtobufCMessageDescriptor *type;
  size_t end;
} wire_level;

typedef struct wire {
  const unsigned char *data;
  size_t at;
  wire_level level[EG_ONNX_MAX_DEPTH];
  size_t depth;
} wire;

static bool read_varint(wire *w, size_t end, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (w->at >= end) return false;
    unsigned char byte = w->data[w->at++];
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

typedef enum wire_result { WIRE_OK, WIRE_MALFORMED, WIRE_TOO_DEEP } wire_result;

// Skips a field with a length, or enters it when it is a message.
static wire_result step_delimited(wire *w, uint64_t tag) {
  const wire_level *level = &w->level[w->depth - 1];
  uint64_t length;
  if (!read_varint(w, level->end, &length) || length > level->end - w->at)
    return WIRE_MALFORMED;
  size_t end = w->at + (size_t)length;
  const ProtobufCFieldDescriptor *field =
      tag <= UINT32_MAX
          ? protobuf_c_message_descriptor_get_field(level->type, (unsigned)tag)
          : NULL;
  if (field == NULL || field->type != PROTOBUF_C_TYPE_MESSAGE) {
    w->at = end;
    return WIRE_OK;
  }
  if (w->depth == EG_ONNX_MAX_DEPTH) return WIRE_TOO_DEEP;
  w->level[w->depth++] = (wire_level){.type = field->descriptor, .end = end};
  return WIRE_OK;
}

static wire_result step_field(wire *w) {
  enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };
  size_t end = w->level[w->depth - 1].end;
  uint64_t key, ignored;
  if (!read_varint(w, end, &key)) return WIRE_MALFORMED;
  size_t fixed = 0;
  switch (key & 7) {
  case VARINT: return read_varint(w, end, &ignored) ? WIRE_OK : WIRE_MALFORMED;
  case DELIMITED: return step_delimited(w, key >> 3);
  case FIXED64: fixed = 8; break;
  case FIXED32: fixed = 4; break;
  default: return WIRE_MALFORMED; // groups do not occur in ONNX
  }
  if (end - w->at < fixed) return WIRE_MALFORMED;
  w->at += fixed;
  return WIRE_OK;
}

static wire_result check_wire(const ProtobufCMessageDescriptor *type,
                              const unsigned char *data, size_t size) {
  wire w = {.data = data, .depth = 1};
  w.level[0] = (wire_level){.type = type, .end = size};
  while (w.depth != 0) {
    if (w.at == w.level[w.depth - 1].end) {
      w.depth--;
      continue;
    }
    wire_result result = step_field(&w);
    if (result != WIRE_OK) return result;
  }
  return WIRE_OK;
}

// ---- messages -----------------------------------------------------------------------

egraph_status eg_onnx_message_unpack(eg_onnx_heap *heap,
                                     const ProtobufCMessageDescriptor *type,
                                     const char *file, const char *what, const void *data,
                                     size_t size, ProtobufCMessage **out) {
  static const unsigned char none[1] = {0};
  const unsigned char *bytes = size != 0 ? data : none;
  wire_result checked = check_wire(type, bytes, size);
  if (checked == WIRE_TOO_DEEP)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: messages are nested more than %d deep", file,
                   EG_ONNX_MAX_DEPTH);
  heap->failed = false;
  ProtobufCMessage *message =
      checked == WIRE_OK ? protobuf_c_message_unpack(type, &heap->base, size, bytes)
                         : NULL;
  if (message != NULL) {
    *out = message;
    return EGRAPH_OK;
  }
  if (heap->failed)
    return EG_FAIL(EGRAPH_E_MEMORY, "%s: out of memory while reading %s", file, what);
  return EG_FAIL(EGRAPH_E_PARSE, "%s: this is no %s, or it is truncated or damaged", file,
                 what);
}

void eg_onnx_message_free(eg_onnx_heap *heap, ProtobufCMessage *message) {
  if (message != NULL) protobuf_c_message_free_unpacked(message, &heap->base);
}

void eg_onnx_bytes_free(eg_onnx_heap *heap, ProtobufCBinaryData *bytes) {
  heap_free(heap, bytes->data);
  *bytes = (ProtobufCBinaryData){0};
}

// ---- absent strings -----------------------------------------------------------------

static egraph_status fill_string(eg_onnx_heap *heap, char **text) {
  if (*text != NULL) return EGRAPH_OK;
  char *empty = heap_alloc(heap, 1);
  if (empty == NULL) return EG_FAIL(EGRAPH_E_MEMORY, "out of memory");
  empty[0] = '\0';
  *text = empty;
  return EGRAPH_OK;
}

static egraph_status fill_entries(eg_onnx_heap *heap,
                                  Onnx__StringStringEntryProto **entry, size_t count) {
  for (size_t i = 0; i < count; i++) {
    EG_TRY(fill_string(heap, &entry[i]->key));
    EG_TRY(fill_string(heap, &entry[i]->value));
  }
  return EGRAPH_OK;
}

static egraph_status fill_tensor(eg_onnx_heap *heap, Onnx__TensorProto *tensor) {
  EG_TRY(fill_string(heap, &tensor->name));
  return fill_entries(heap, tensor->external_data, tensor->n_external_data);
}

static egraph_status fill_infos(eg_onnx_heap *heap, Onnx__ValueInfoProto **info,
                                size_t count) {
  for (size_t i = 0; i < count; i++)
    EG_TRY(fill_string(heap, &info[i]->name));
  return EGRAPH_OK;
}

static egraph_status fill_node(eg_onnx_heap *heap, Onnx__NodeProto *node) {
  EG_TRY(fill_string(heap, &node->name));
  EG_TRY(fill_string(heap, &node->op_type));
  EG_TRY(fill_string(heap, &node->domain));
  for (size_t i = 0; i < node->n_attribute; i++) {
    EG_TRY(fill_string(heap, &node->attribute[i]->name));
    if (node->attribute[i]->t != NULL) EG_TRY(fill_tensor(heap, node->attribute[i]->t));
  }
  return EGRAPH_OK;
}

static egraph_status fill_graph(eg_onnx_heap *heap, Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_node; i++)
    EG_TRY(fill_node(heap, graph->node[i]));
  for (size_t i = 0; i < graph->n_initializer; i++)
    EG_TRY(fill_tensor(heap, graph->initializer[i]));
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];
    if (sparse->values != NULL) EG_TRY(fill_tensor(heap, sparse->values));
    if (sparse->indices != NULL) EG_TRY(fill_tensor(heap, sparse->indices));
  }
  EG_TRY(fill_infos(heap, graph->input, graph->n_input));
  EG_TRY(fill_infos(heap, graph->output, graph->n_output));
  return fill_infos(heap, graph->value_info, graph->n_value_info);
}

egraph_status eg_onnx_fill_strings(eg_onnx_heap *heap, Onnx__ModelProto *model) {
  for (size_t i = 0; i < model->n_opset_import; i++)
    EG_TRY(fill_string(heap, &model->opset_import[i]->domain));
  for (size_t i = 0; i < model->n_functions; i++) {
    EG_TRY(fill_string(heap, &model->functions[i]->name));
    EG_TRY(fill_string(heap, &model->functions[i]->domain));
  }
  EG_TRY(fill_entries(heap, model->metadata_props, model->n_metadata_props));
  return model->graph != NULL ? fill_graph(heap, model->graph) : EGRAPH_OK;
}

const Onnx__AttributeProto *
eg_onnx_find_attribute(Onnx__AttributeProto *const *attributes, size_t count,
                       const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(eg_onnx_text(attributes[i]->name), name) == 0) return attributes[i];
  return NULL;
}

const char *eg_onnx_name_of(const Onnx__NodeProto *node) {
  if (node == NULL) return "";
  if (eg_onnx_text(node->name)[0] != '\0') return node->name;
  return node->n_output != 0 ? node->output[0] : "";
}

const Onnx__TypeProto__Tensor *eg_onnx_declared_tensor(const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto *type = info != NULL ? info->type : NULL;
  bool is_tensor =
      type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  return is_tensor ? type->tensor_type : NULL;
}

egraph_status eg_onnx_model_unpack(egraph_allocator alloc, const char *file,
                                   const char *what, const void *data, size_t size,
                                   eg_onnx_unpacked *out) {
  ProtobufCMessage *message = NULL;
  eg_onnx_heap_init(&out->heap, alloc);
  EG_TRY(eg_onnx_message_unpack(&out->heap, &onnx__model_proto__descriptor, file, what,
                                data, size, &message));
  out->model = (Onnx__ModelProto *)message;
  return EGRAPH_OK;
}

void eg_onnx_unpacked_deinit(eg_onnx_unpacked *unpacked) {
  if (unpacked->model != NULL)
    eg_onnx_message_free(&unpacked->heap, &unpacked->model->base);
}

egraph_status eg_onnx_message_pack(egraph_allocator alloc,
                                   const ProtobufCMessage *message, eg_onnx_packed *out) {
  size_t size = protobuf_c_message_get_packed_size(message);
  EG_TRY(eg_resize(alloc, 0, size, 1, &out->data));
  (void)protobuf_c_message_pack(message, out->data);
  out->alloc = alloc;
  out->size = size;
  return EGRAPH_OK;
}

void eg_onnx_packed_deinit(eg_onnx_packed *packed) {
  if (packed->data != NULL) eg_free(packed->alloc, packed->data, packed->size, 1);
}

egraph_status eg_onnx_is_same_message(egraph_allocator alloc, const ProtobufCMessage *a,
                                      const ProtobufCMessage *b, bool *out) {
  EG_OWNED(eg_onnx_packed, first);
  EG_OWNED(eg_onnx_packed, second);
  EG_TRY(eg_onnx_message_pack(alloc, a, &first));
  EG_TRY(eg_onnx_message_pack(alloc, b, &second));
  *out = first.size == second.size &&
         (first.size == 0 || memcmp(first.data, second.data, first.size) == 0);
  return EGRAPH_OK;
}

// ---- messages in an arena -----------------------------------------------------------

egraph_status eg_onnx_new(eg_arena *arena, const ProtobufCMessageDescriptor *type,
                          void *out_pointer) {
  void *message;
  EG_TRY(eg_arena_alloc(arena, 1, type->sizeof_message, &message));
  protobuf_c_message_init(type, message);
  memcpy(out_pointer, &message, sizeof message);
  return EGRAPH_OK;
}

egraph_status eg_onnx_copy(eg_arena *arena, const void *message, void *out_pointer) {
  const size_t size = ((const ProtobufCMessage *)message)->descriptor->sizeof_message;
  void *copy;
  EG_TRY(eg_arena_alloc(arena, 1, size, &copy));
  memcpy(copy, message, size);
  memcpy(out_pointer, &copy, sizeof copy);
  return EGRAPH_OK;
}

egraph_status eg_onnx_copy_list(eg_arena *arena, const void *list, size_t count,
                                void *out_list) {
  unsigned char *copies;
  EG_TRY(eg_arena_alloc(arena, count, sizeof(void *), &copies));
  for (size_t i = 0; i < count; i++) {
    void *message;
    memcpy(&message, (const unsigned char *)list + i * sizeof message, sizeof message);
    EG_TRY(eg_onnx_copy(arena, message, copies + i * sizeof message));
  }
  memcpy(out_list, &copies, sizeof copies);
  return EGRAPH_OK;
}

egraph_status eg_onnx_type_message(eg_arena *arena, int element, uint32_t rank,
                                   const int64_t *dims, Onnx__TypeProto **out) {
  Onnx__TypeProto__Tensor *tensor;
  Onnx__TensorShapeProto *shape;
  EG_TRY(eg_onnx_new(arena, &onnx__type_proto__descriptor, out));
  EG_TRY(eg_onnx_new(arena, &onnx__type_proto__tensor__descriptor, &tensor));
  EG_TRY(eg_onnx_new(arena, &onnx__tensor_shape_proto__descriptor, &shape));
  EG_NEW(arena, rank, shape->dim);
  for (; shape->n_dim < rank; shape->n_dim++) {
    Onnx__TensorShapeProto__Dimension *dim;
    EG_TRY(eg_onnx_new(arena, &onnx__tensor_shape_proto__dimension__descriptor, &dim));
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = dims[shape->n_dim];
    shape->dim[shape->n_dim] = dim;
  }
  tensor->has_elem_type = true;
  tensor->elem_type = element;
  tensor->shape = shape;
  (*out)->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  (*out)->tensor_type = tensor;
  return EGRAPH_OK;
}

egraph_status eg_onnx_tensor_message(eg_arena *arena, const eg_type *type,
                                     const void *data, Onnx__TensorProto **out) {
  Onnx__TensorProto *tensor;
  EG_TRY(eg_onnx_new(arena, &onnx__tensor_proto__descriptor, &tensor));
  EG_NEW(arena, type->rank, tensor->dims);
  for (uint32_t i = 0; i < type->rank; i++)
    tensor->dims[i] = type->dims[i];
  tensor->n_dims = type->rank;
  tensor->has_data_type = true;
  tensor->data_type = eg_dtype_onnx(type->dtype);
  tensor->has_raw_data = data != NULL && eg_type_bytes(type) != 0;
  if (tensor->has_raw_data)
    tensor->raw_data =
        (ProtobufCBinaryData){eg_type_bytes(type), (uint8_t *)(uintptr_t)data};
  *out = tensor;
  return EGRAPH_OK;
}

egraph_status eg_onnx_entry_message(eg_arena *arena, const char *prefix, const char *name,
                                    const char *value,
                                    Onnx__StringStringEntryProto **out) {
  size_t head = strlen(prefix), tail = strlen(name);
  EG_TRY(eg_onnx_new(arena, &onnx__string_string_entry_proto__descriptor, out));
  EG_NEW(arena, head + tail + 1, (*out)->key);
  memcpy((*out)->key, prefix, head);
  memcpy((*out)->key + head, name, tail + 1);
  (*out)->value = eg_onnx_borrowed(value);
  return EGRAPH_OK;
}

// ---- graphs within nodes ------------------------------------------------------------

bool eg_onnx_next_graph(const Onnx__NodeProto *node, eg_onnx_graphs *inout) {
  for (; inout->attribute < node->n_attribute; inout->attribute++, inout->next = 0) {
    const Onnx__AttributeProto *attr = node->attribute[inout->attribute];
    while (inout->next <= attr->n_graphs) {
      size_t at = inout->next++;
      inout->graph = at == 0 ? attr->g : attr->graphs[at - 1];
      if (inout->graph != NULL) return true;
    }
  }
  return false;
}

egraph_status eg_onnx_change_graphs(eg_arena *arena, eg_onnx_graph_change *change,
                                    void *self, Onnx__AttributeProto *inout) {
  Onnx__GraphProto *const *old = inout->graphs;
  if (inout->g != NULL) EG_TRY(change(self, &inout->g));
  EG_NEW(arena, inout->n_graphs, inout->graphs);
  for (size_t i = 0; i < inout->n_graphs; i++) {
    inout->graphs[i] = old[i];
    EG_TRY(change(self, &inout->graphs[i]));
  }
  return EGRAPH_OK;
}

egraph_status eg_onnx_change_all_graphs(eg_arena *arena, eg_onnx_graph_change *change,
                                        void *self, Onnx__NodeProto *inout) {
  Onnx__AttributeProto *const *old = inout->attribute;
  EG_NEW(arena, inout->n_attribute, inout->attribute);
  for (size_t i = 0; i < inout->n_attribute; i++) {
    inout->attribute[i] = old[i];
    if (old[i]->g == NULL && old[i]->n_graphs == 0) continue;
    EG_TRY(eg_onnx_copy(arena, old[i], &inout->attribute[i]));
    EG_TRY(eg_onnx_change_graphs(arena, change, self, inout->attribute[i]));
  }
  return EGRAPH_OK;
}
