// Writes weights: moves data to a file next to the model, and replaces values in a copy
// of a model file. Tensors of the message are replaced by copies only while it is packed.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/owner.h"
#include "onnx/message.h"
#include "onnx/onnx.h"
#include "onnx/tensor.h"
#include "ops/typing.h"

// ---- the file with the weights of a model -------------------------------------------

// Smaller tensors stay in the model, where tools look for shapes and scalars. Others
// begin at multiples of a cache line, so that a mapped file can be used directly.
enum { MIN_EXTERNAL_BYTES = 1024, ALIGNMENT = 64 };

static egraph_status put_number(eg_arena *arena, const char *key, uint64_t value,
                                Onnx__StringStringEntryProto **out) {
  enum { ROOM = 24 };
  char *text;
  EG_NEW(arena, ROOM, text);
  (void)snprintf(text, ROOM, "%" PRIu64, value);
  return eg_onnx_entry_message(arena, key, "", text, out);
}

static egraph_status set_external(eg_arena *arena, Onnx__TensorProto *tensor,
                                  const char *location, uint64_t offset) {
  Onnx__StringStringEntryProto **entries;
  EG_NEW(arena, 3, entries);
  EG_TRY(eg_onnx_entry_message(arena, "location", "", location, &entries[0]));
  EG_TRY(put_number(arena, "offset", offset, &entries[1]));
  EG_TRY(put_number(arena, "length", tensor->raw_data.len, &entries[2]));
  tensor->external_data = entries;
  tensor->n_external_data = 3;
  tensor->has_data_location = true;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  tensor->has_raw_data = false;
  tensor->raw_data = (ProtobufCBinaryData){0};
  return EGRAPH_OK;
}

static egraph_status failed(const char *path, const char *what) {
  return EG_FAIL(EGRAPH_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static egraph_status append(FILE *file, const char *path, const void *data, size_t size,
                            uint64_t *inout_at) {
  if (size != 0 && fwrite(data, 1, size, file) != size) return failed(path, "write it");
  *inout_at += size;
  return EGRAPH_OK;
}

static egraph_status append_tensors(FILE *file, const char *path, const char *location,
                                    eg_arena *arena, Onnx__TensorProto **tensors,
                                    size_t count) {
  static const unsigned char zeros[ALIGNMENT] = {0};
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    const ProtobufCBinaryData data = tensors[i]->raw_data;
    if (!tensors[i]->has_raw_data || data.len < MIN_EXTERNAL_BYTES) continue;
    EG_TRY(append(file, path, zeros, (size_t)(-at % ALIGNMENT), &at));
    EG_TRY(set_external(arena, tensors[i], location, at));
    // set_external has changed the message; `data` still points to the bytes.
    EG_TRY(append(file, path, data.data, data.len, &at));
  }
  return EGRAPH_OK;
}

static egraph_status suffixed(eg_arena *arena, const char *path, const char *suffix,
                              char **out) {
  size_t length = strlen(path), tail = strlen(suffix);
  EG_NEW(arena, length + tail + 1, *out);
  memcpy(*out, path, length);
  memcpy(*out + length, suffix, tail + 1);
  return EGRAPH_OK;
}

// Writes a file under another name and then renames it, because the graph that is written
// may map the old data file.
egraph_status eg_onnx_data_file_write(eg_arena *arena, const char *model_path,
                                      Onnx__TensorProto **tensors, size_t count) {
  char *path, *fresh;
  EG_TRY(suffixed(arena, model_path, ".data", &path));
  EG_TRY(suffixed(arena, path, ".new", &fresh));
  const char *slash = strrchr(path, '/');
  FILE *file = fopen(fresh, "wb");
  if (file == NULL) return failed(fresh, "create it");
  egraph_status status = append_tensors(file, fresh, slash != NULL ? slash + 1 : path,
                                        arena, tensors, count);
  if (fclose(file) != 0 && status == EGRAPH_OK) status = failed(fresh, "write it");
  if (status == EGRAPH_OK && rename(fresh, path) != 0)
    status = failed(path, "replace it");
  if (status != EGRAPH_OK) (void)remove(fresh);
  return status;
}

// ---- other weights ------------------------------------------------------------------

static const uint64_t MOST_EMBEDDED = UINT64_C(1500000000);
static const size_t MOST_BYTES = (size_t)1 << 31;

/// A pointer to a tensor in the model's protobuf message, and the original tensor.
typedef struct tensor_slot {
  Onnx__TensorProto **at, *original;
  eg_buffer *data; // external data of the model; NULL: none
} tensor_slot;
EG_VEC_DEFINE(tensor_slots, tensor_slot);
/// A pointer to a node in the model's protobuf message, and the original node.
typedef struct node_slot {
  Onnx__NodeProto **at, *original;
} node_slot;
EG_VEC_DEFINE(node_slots, node_slot);
EG_VEC_DEFINE(tensor_rows, Onnx__TensorProto *);

typedef struct replacer {
  egraph_allocator alloc;
  const char *file, *path; // model that is read; model to write
  char *base;              // directory of `file`
  const eg_arrays *arrays;
  eg_arena arena;
  tensor_slots slots;
  node_slots nodes;
  tensor_rows tensors; // copies
  uint64_t bytes;
  eg_u32s used; // [arrays] number of tensors that got its values
} replacer;
EG_OWNER_DEFINE_STATIC(replacer, (eg_arena, arena), (tensor_slots, slots),
                       (node_slots, nodes), (tensor_rows, tensors), (eg_u32s, used))

/// Puts a copy without data in the place of the tensor.
static egraph_status put_copy(replacer *r, Onnx__TensorProto **at,
                              Onnx__TensorProto **out) {
  Onnx__TensorProto *copy;
  EG_TRY(eg_onnx_copy(&r->arena, *at, &copy));
  EG_TRY(tensor_slots_push(&r->slots, (tensor_slot){.at = at, .original = *at}));
  copy->n_float_data = copy->n_int32_data = copy->n_string_data = 0;
  copy->n_int64_data = copy->n_double_data = copy->n_uint64_data = 0;
  copy->n_external_data = 0;
  copy->has_data_location = false;
  copy->has_raw_data = true;
  copy->raw_data = (ProtobufCBinaryData){0};
  *at = copy;
  *out = copy;
  return tensor_rows_push(&r->tensors, copy);
}

static void set_bytes(replacer *r, Onnx__TensorProto *copy, const void *data,
                      size_t size) {
  copy->raw_data = (ProtobufCBinaryData){size, (uint8_t *)(uintptr_t)data};
  r->bytes += size;
}

static egraph_status check_type(const replacer *r, const eg_array *array, bool is_known,
                                const eg_type *type) {
  const eg_type *have = &array->tensor.type;
  if (is_known && type->dtype == have->dtype && eg_type_same_shape(type, have))
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "%s: '%.200s' is %s there, and the values given are %s; give the model "
                 "that they come from",
                 r->file, array->name,
                 is_known ? eg_type_text_of(type).text : "no tensor",
                 eg_type_text_of(have).text);
}

/// Embeds external data of a tensor, so that the copy of the model needs no other file.
static egraph_status embed(replacer *r, Onnx__TensorProto **at, const eg_type *type) {
  eg_buffer *data = NULL;
  Onnx__TensorProto *copy, *original = *at;
  EG_TRY(eg_onnx_tensor_data(r->alloc, original, type, r->base, &data));
  if (data == NULL)
    return EG_FAIL(EGRAPH_E_IO,
                   "%s: the data of '%.200s' is not there (%.200s), so that the model "
                   "cannot be copied; put the file beside it",
                   r->file, original->name, eg_onnx_tensor_location(original));
  egraph_status status = put_copy(r, at, &copy);
  if (status != EGRAPH_OK) {
    eg_buffer_release(data);
    return status;
  }
  r->slots.data[r->slots.len - 1].data = data;
  set_bytes(r, copy, eg_buffer_data(data), eg_buffer_size(data));
  return EGRAPH_OK;
}

static egraph_status visit_tensor(replacer *r, const char *name, Onnx__TensorProto **at) {
  bool is_known;
  eg_type type = {.rank = 0};
  const eg_array *array = eg_arrays_find(r->arrays, name);
  EG_TRY(eg_onnx_tensor_type(*at, &is_known, &type));
  bool is_beside = (*at)->has_data_location &&
                   (*at)->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  if (array == NULL) {
    r->bytes += (*at)->raw_data.len;
    return is_beside && is_known ? embed(r, at, &type) : EGRAPH_OK;
  }
  Onnx__TensorProto *copy;
  EG_TRY(check_type(r, array, is_known, &type));
  EG_TRY(put_copy(r, at, &copy));
  set_bytes(r, copy, array->tensor.data, eg_type_bytes(&type));
  r->used.data[array - r->arrays->rows.data]++;
  return EGRAPH_OK;
}

static egraph_status visit_node(replacer *r, const Onnx__NodeProto *node) {
  bool is_constant = strcmp(node->op_type, "Constant") == 0 && node->n_output == 1;
  for (size_t i = 0; i < node->n_attribute; i++)
    if (node->attribute[i]->t != NULL)
      EG_TRY(visit_tensor(r, is_constant ? node->output[0] : "", &node->attribute[i]->t));
  return EGRAPH_OK;
}

/// Replaces a node whose value was known before training, such as a copy of an
/// initializer, by a constant of the same name.
static egraph_status put_constant(replacer *r, Onnx__NodeProto **at,
                                  const eg_array *array) {
  static char type[] = "Constant", value[] = "value", domain[] = "";
  Onnx__NodeProto *node;
  Onnx__AttributeProto *attribute, **attributes;
  const eg_tensor *tensor = &array->tensor;
  EG_TRY(eg_onnx_copy(&r->arena, *at, &node));
  EG_TRY(eg_onnx_new(&r->arena, &onnx__attribute_proto__descriptor, &attribute));
  EG_TRY(eg_onnx_tensor_message(&r->arena, &tensor->type, tensor->data, &attribute->t));
  EG_NEW(&r->arena, 1, attributes);
  EG_TRY(node_slots_push(&r->nodes, (node_slot){.at = at, .original = *at}));
  attribute->t->has_raw_data = true;
  r->bytes += attribute->t->raw_data.len;
  attribute->name = value;
  attribute->has_type = true;
  attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  node->op_type = type;
  node->domain = domain;
  node->n_input = 0;
  node->n_attribute = 1;
  node->attribute = attributes;
  attributes[0] = attribute;
  *at = node;
  return EGRAPH_OK;
}

static egraph_status replace_node(replacer *r, Onnx__GraphProto *graph,
                                  const eg_array *array) {
  for (size_t n = 0; graph != NULL && n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    if (node->n_output == 1 && strcmp(node->output[0], array->name) == 0)
      return put_constant(r, &graph->node[n], array);
  }
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "%s has no initializer, and no value, '%.200s' to take the values of; "
                 "give the model that they come from",
                 r->file, array->name);
}

static egraph_status visit_all(replacer *r, Onnx__ModelProto *model) {
  Onnx__GraphProto *graph = model->graph;
  EG_TRY(eg_u32s_resize(&r->used, r->arrays->rows.len));
  for (size_t i = 0; graph != NULL && i < graph->n_initializer; i++)
    EG_TRY(visit_tensor(r, graph->initializer[i]->name, &graph->initializer[i]));
  for (size_t n = 0; graph != NULL && n < graph->n_node; n++)
    EG_TRY(visit_node(r, graph->node[n]));
  for (size_t i = 0; i < r->used.len; i++)
    if (r->used.data[i] == 0) EG_TRY(replace_node(r, graph, &r->arrays->rows.data[i]));
  return EGRAPH_OK;
}

static egraph_status write_model(replacer *r, const Onnx__ModelProto *model) {
  EG_OWNED(eg_onnx_packed, bytes);
  if (r->bytes > MOST_EMBEDDED)
    EG_TRY(eg_onnx_data_file_write(&r->arena, r->path, r->tensors.data, r->tensors.len));
  EG_TRY(eg_onnx_message_pack(r->alloc, &model->base, &bytes));
  return eg_file_write(r->path, bytes.data, bytes.size);
}

static egraph_status replace_in(replacer *r, Onnx__ModelProto *model) {
  egraph_status status = visit_all(r, model);
  if (status == EGRAPH_OK) status = write_model(r, model);
  for (size_t i = r->slots.len; i-- > 0;) {
    *r->slots.data[i].at = r->slots.data[i].original;
    eg_buffer_release(r->slots.data[i].data);
  }
  for (size_t i = r->nodes.len; i-- > 0;)
    *r->nodes.data[i].at = r->nodes.data[i].original;
  return status;
}

egraph_status eg_onnx_replace_weights(egraph_allocator alloc, const char *model,
                                      const eg_arrays *arrays, const char *path) {
  EG_LOCAL(replacer, r, alloc);
  EG_OWNED(eg_onnx_unpacked, file);
  char *data;
  size_t size;
  r.alloc = alloc;
  r.file = model;
  r.path = path;
  r.arrays = arrays;
  EG_TRY(eg_file_read(alloc, model, MOST_BYTES, &data, &size));
  egraph_status status =
      eg_onnx_model_unpack(alloc, model, "ONNX model", data, size, &file);
  eg_free(alloc, data, size + 1, 1);
  EG_TRY(status);
  EG_TRY(eg_onnx_fill_strings(&file.heap, file.model));
  EG_TRY(eg_file_folder(alloc, model, &r.base));
  status = replace_in(&r, file.model);
  eg_string_free(alloc, r.base);
  return status;
}
