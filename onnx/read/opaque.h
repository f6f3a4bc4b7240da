// Records of opaque nodes: an ONNX model around the one node, input or initializer that
// is opaque, so that the exporter can write it back.
//
// node     graph.node[0] as it was read; graph.value_info: declared types of its results;
//          graph.input: names of tensors that its sub-graphs use (they are operands
//          behind the formal ones)
// input    a graph input whose type we lack: graph.input[0], no node
// constant an initializer of an element type that we lack: graph.initializer[0], no node
//
// A record has, in opset_import, the version of the standard operator set if the node is
// of the standard domain or has sub-graphs. It has the versions of all other domains,
// and the functions that sub-graphs call, if the node is of another domain or has
// sub-graphs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_OPAQUE_H
#define EG_ONNX_READ_OPAQUE_H

#include "base/strmap.h"
#include "onnx/message.h"
#include "onnx/read/scopes.h"
#include "pcg/graph/graph.h"

/// In maps of tensor names: the value of a name that occurs in a sub-graph.
enum { EG_ONNX_INNER_NAME = 1 };

/// Adds names in sub-graphs of a node to `out`, unless `out` has them: the names that
/// `names_in` lists (read/scopes.h). Sub-graphs are nested at most EG_ONNX_MAX_DEPTH
/// deep.
egraph_status eg_onnx_inner_names(egraph_allocator alloc, const Onnx__NodeProto *node,
                                  eg_onnx_names_in *names_in, eg_strmap *out);

/// Operator types of the records of inputs and initializers.
#define EG_ONNX_FOREIGN_INPUT EG_OPAQUE_LEAF "Input"
#define EG_ONNX_FOREIGN_INITIALIZER EG_OPAQUE_LEAF "Initializer"

#endif
