// Reads a TensorProto: its type, and its bytes, from memory or from a file next to
// the model.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_TENSOR_H
#define EG_ONNX_TENSOR_H

#include "onnx/message.h"

/// Reads the type of a tensor. *out_known is false for element types that we lack
/// (strings, complex numbers). Fails with EGRAPH_E_PARSE on invalid dimensions.
egraph_status eg_onnx_tensor_type(const Onnx__TensorProto *proto, bool *out_known,
                                  eg_type *out);
/// Reads the bytes of a tensor of this type, row-major. External data is mapped from the
/// directory `base`; *out is NULL when the data is absent (no location, no such file, or
/// no base). Fails with EGRAPH_E_PARSE when sizes disagree or the location leaves the
/// directory, EGRAPH_E_IO when the file is too short.
egraph_status eg_onnx_tensor_data(egraph_allocator alloc, const Onnx__TensorProto *proto,
                                  const eg_type *type, const char *base, eg_buffer **out);
/// Maps bytes of `location`, relative to the directory `base`. *out stays NULL when there
/// is no such file. Fails with EGRAPH_E_PARSE when the location is absolute or leaves the
/// directory (also through symbolic links), EGRAPH_E_IO when the file is too short or
/// unreadable.
egraph_status eg_onnx_external_map(egraph_allocator alloc, const char *base,
                                   const char *location, uint64_t offset, size_t size,
                                   eg_buffer **out);
/// Returns the name of the file with external data, "" if there is none.
const char *eg_onnx_tensor_location(const Onnx__TensorProto *proto);

#endif
