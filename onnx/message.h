// ONNX messages in memory: unpacked and packed through our allocator, safe against
// nesting.
//
// protobuf-c unpacks by recursion, so that a hostile file could overflow the stack;
// nesting is measured beforehand, without recursion.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_MESSAGE_H
#define EG_ONNX_MESSAGE_H

#include "pcg/graph/graph.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

enum { EG_ONNX_MAX_DEPTH = 64 };
/// Of our fused operators.
#define EG_ONNX_DOMAIN "egraph"

/// A protobuf-c allocator over ours. Must not move while messages made with it live.
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
/// NULL is allowed.
void eg_onnx_message_free(eg_onnx_heap *heap, ProtobufCMessage *message);
/// Frees the bytes of a field that was unpacked with the heap, and empties it.
void eg_onnx_bytes_free(eg_onnx_heap *heap, ProtobufCBinaryData *bytes);

/// Optional strings of the main graph that are absent become "" (protobuf-c has NULL
/// there): names, operator types, domains, keys and values. Sub-graphs and documentation
/// are left as they are.
egraph_status eg_onnx_fill_strings(eg_onnx_heap *heap, Onnx__ModelProto *model);

/// An optional string of a message; "" when it is absent.
static inline const char *eg_onnx_text(const char *text) {
  return text != NULL ? text : "";
}

/// Packs into memory of the allocator; free with eg_free(alloc, *out, *out_size, 1).
egraph_status eg_onnx_message_pack(egraph_allocator alloc,
                                   const ProtobufCMessage *message, unsigned char **out,
                                   size_t *out_size);

/// Moves the raw data of the tensors into "<model_path>.data" and points the tensors
/// there; small ones stay. The file is replaced as a whole. Fails with EGRAPH_E_IO.
egraph_status eg_onnx_data_file_write(eg_arena *arena, const char *model_path,
                                      Onnx__TensorProto **tensors, size_t count);

#endif
