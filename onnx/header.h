// The header of a graph that was read from an ONNX file: an ONNX model without nodes,
// with the names, documentation and metadata of the file.
//
// model        producer, domain, version, documentation, metadata (but for ours), device
//              configurations
// graph        name, documentation, metadata; value_info: documentation and metadata of
//              inputs, outputs and tensors, by name; initializer: the same of weights
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_HEADER_H
#define EG_ONNX_HEADER_H

#include "pcg/graph/graph.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

/// Producer and graph name of models that were not read from a file.
#define EG_ONNX_OWN_NAME "egraph"
/// Prefix of the metadata keys that we write; a header does not store their entries.
#define EG_ONNX_OWN_PREFIX "egraph."

/// Sets the header of a graph that has the model's outputs already. Sets none if the
/// model has nothing that a header stores. `arena` is for scratch memory.
egraph_status eg_onnx_header_read(eg_arena *arena, const Onnx__ModelProto *model,
                                  eg_graph *graph);
/// Copies the entries of a header into a model, which then points into `header`. The
/// model keeps its own metadata, inputs, outputs, value_info and initializers; lists that
/// grow are in `arena`.
egraph_status eg_onnx_header_write(eg_arena *arena, const Onnx__ModelProto *header,
                                   Onnx__ModelProto *inout);

#endif
