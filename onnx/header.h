// The header of a graph that was read from an ONNX file: what the model says beside its
// nodes, as a model without them.
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

/// Producer and graph name of what no file was read for.
#define EG_ONNX_OWN_NAME "egraph"
/// Keys of metadata that belong to us begin so; they are written anew.
#define EG_ONNX_OWN_PREFIX "egraph."

/// Sets the header of the graph, which has the model's outputs, from the model; none
/// where the model says nothing. `arena` is for what is made on the way.
egraph_status eg_onnx_header_read(eg_arena *arena, const Onnx__ModelProto *model,
                                  eg_graph *graph);
/// Puts what a header says into a model: `header` must live as long. What the model has
/// already (metadata, inputs, outputs, value_info, initializer) stays; lists that grow
/// are in `arena`.
egraph_status eg_onnx_header_write(eg_arena *arena, const Onnx__ModelProto *header,
                                   Onnx__ModelProto *inout);

#endif
