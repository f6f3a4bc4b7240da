// ONNX messages in memory: unpacks and packs them through our allocator, and refuses
// deep nesting.
//
// protobuf-c unpacks by recursion, so that a hostile file could overflow the stack; we
// first measure the nesting, without recursion.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_MESSAGE_H
#define EG_ONNX_MESSAGE_H

#include "pcg/graph/graph.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

enum { EG_ONNX_MAX_DEPTH = 64 };
/// The ONNX domain of operators that ONNX lacks, such as fused operators.
#define EG_ONNX_DOMAIN "egraph"

EG_VEC_DEFINE(eg_onnx_initializers, Onnx__TensorProto *);
EG_VEC_DEFINE(eg_onnx_infos, Onnx__ValueInfoProto *);
EG_VEC_DEFINE(eg_onnx_entries, Onnx__StringStringEntryProto *);

/// An allocator of protobuf-c that calls an egraph_allocator. Must not move while
/// messages that it allocated live.
typedef struct eg_onnx_heap {
  ProtobufCAllocator base;
  egraph_allocator alloc;
  bool failed; // an allocation failed
} eg_onnx_heap;

void eg_onnx_heap_init(eg_onnx_heap *heap, egraph_allocator alloc);

/// Unpacks a message of this type; free with eg_onnx_message_free. `file` and `what` are
/// for messages. Fails with EGRAPH_E_PARSE or EGRAPH_E_MEMORY.
egraph_status eg_onnx_message_unpack(eg_onnx_heap *heap,
                                     const ProtobufCMessageDescriptor *type,
                                     const char *file, const char *what, const void *data,
                                     size_t size, ProtobufCMessage **out);
/// Frees a message; NULL is allowed.
void eg_onnx_message_free(eg_onnx_heap *heap, ProtobufCMessage *message);
/// Frees the bytes of a field that was unpacked with the heap, and empties it.
void eg_onnx_bytes_free(eg_onnx_heap *heap, ProtobufCBinaryData *bytes);

/// Optional strings of the main graph that are absent become "" (protobuf-c has NULL
/// there): names, operator types, domains, keys and values. Sub-graphs and documentation
/// are left as they are.
egraph_status eg_onnx_fill_strings(eg_onnx_heap *heap, Onnx__ModelProto *model);

/// Casts a string to the type of protobuf-c fields; packing only reads it.
static inline char *eg_onnx_borrowed(const char *text) { return (char *)(uintptr_t)text; }

/// Returns the attribute of this name, or NULL.
const Onnx__AttributeProto *
eg_onnx_find_attribute(Onnx__AttributeProto *const *attributes, size_t count,
                       const char *name);
/// Returns the name of a node, or else of its first result; "" where a name is NULL.
const char *eg_onnx_name_of(const Onnx__NodeProto *node);

/// Returns the tensor type of a declared value; NULL if it has none, or `info` is NULL.
const Onnx__TypeProto__Tensor *eg_onnx_declared_tensor(const Onnx__ValueInfoProto *info);

/// Returns an optional string of a message; "" when it is absent.
static inline const char *eg_onnx_text(const char *text) {
  return text != NULL ? text : "";
}

/// A model in its own heap; all zeros before it is unpacked.
typedef struct eg_onnx_unpacked {
  eg_onnx_heap heap;
  Onnx__ModelProto *model;
} eg_onnx_unpacked;
/// Unpacks a model as eg_onnx_message_unpack; *out must stay where it is.
egraph_status eg_onnx_model_unpack(egraph_allocator alloc, const char *file,
                                   const char *what, const void *data, size_t size,
                                   eg_onnx_unpacked *out);
void eg_onnx_unpacked_deinit(eg_onnx_unpacked *unpacked);

/// The bytes of a message; all zeros before it is packed.
typedef struct eg_onnx_packed {
  egraph_allocator alloc;
  unsigned char *data;
  size_t size;
} eg_onnx_packed;
egraph_status eg_onnx_message_pack(egraph_allocator alloc,
                                   const ProtobufCMessage *message, eg_onnx_packed *out);
void eg_onnx_packed_deinit(eg_onnx_packed *packed);
/// Compares two messages; *out: they have the same bytes.
egraph_status eg_onnx_is_same_message(egraph_allocator alloc, const ProtobufCMessage *a,
                                      const ProtobufCMessage *b, bool *out);

// ---- messages in an arena -----------------------------------------------------------

/// Makes a message whose fields are all absent. *out_pointer is a pointer variable of its
/// type.
egraph_status eg_onnx_new(eg_arena *arena, const ProtobufCMessageDescriptor *type,
                          void *out_pointer);
/// Copies a message; both point to the same fields.
egraph_status eg_onnx_copy(eg_arena *arena, const void *message, void *out_pointer);
/// Copies the messages of a list of pointers, and the list.
egraph_status eg_onnx_copy_list(eg_arena *arena, const void *list, size_t count,
                                void *out_list);
/// Makes a tensor type of this shape; `element` is a TensorProto.DataType.
egraph_status eg_onnx_type_message(eg_arena *arena, int element, uint32_t rank,
                                   const int64_t *dims, Onnx__TypeProto **out);
/// Makes a tensor with these bytes (borrowed; NULL: without data).
egraph_status eg_onnx_tensor_message(eg_arena *arena, const eg_type *type,
                                     const void *data, Onnx__TensorProto **out);
/// Makes the metadata entry "<prefix><name>" = value (borrowed).
egraph_status eg_onnx_entry_message(eg_arena *arena, const char *prefix, const char *name,
                                    const char *value,
                                    Onnx__StringStringEntryProto **out);

// ---- graphs within nodes ------------------------------------------------------------

/// An iterator over the graphs in a node's attributes; begins as all zeros.
typedef struct eg_onnx_graphs {
  const Onnx__GraphProto *graph;
  size_t attribute, next;
} eg_onnx_graphs;
/// Moves to the next graph; false at the end.
bool eg_onnx_next_graph(const Onnx__NodeProto *node, eg_onnx_graphs *inout);

/// Replaces *inout by a copy of the graph with changes.
typedef egraph_status eg_onnx_graph_change(void *self, Onnx__GraphProto **inout);
/// Applies `change` to each graph in an attribute; `inout` is a copy to be modified.
egraph_status eg_onnx_change_graphs(eg_arena *arena, eg_onnx_graph_change *change,
                                    void *self, Onnx__AttributeProto *inout);
/// Applies `change` to each graph in the attributes of a node; `inout` is a copy that may
/// be modified.
egraph_status eg_onnx_change_all_graphs(eg_arena *arena, eg_onnx_graph_change *change,
                                        void *self, Onnx__NodeProto *inout);

/// Moves the raw data of the tensors into "<model_path>.data" and points the
/// tensors there; small tensors keep their data. The file is replaced as a whole.
/// Fails with EGRAPH_E_IO.
egraph_status eg_onnx_data_file_write(eg_arena *arena, const char *model_path,
                                      Onnx__TensorProto **tensors, size_t count);

#endif
