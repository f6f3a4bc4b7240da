// Records of opaque nodes: an ONNX model around the one node, input or initializer that
// is kept, so that the exporter can write it back.
//
// node     graph.node[0] as it was read; graph.value_info: declared types of its results;
//          graph.input: names of tensors that its sub-graphs use (they are operands
//          behind the formal ones)
// input    a graph input that is no tensor of ours: graph.input[0], no node
// constant an initializer of a foreign element type: graph.initializer[0], no node
// A node of the standard domain, or with sub-graphs, keeps the version of the standard
// operator set in opset_import; one of another domain, or with sub-graphs, the versions
// of all other domains, and the functions that are called in its sub-graphs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_OPAQUE_H
#define EG_ONNX_READ_OPAQUE_H

#include "base/strmap.h"
#include "onnx/message.h"
#include "onnx/read/scopes.h"
#include "pcg/graph/graph.h"

/// The value that names of sub-graphs have in maps of names.
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
