// Records of opaque nodes: an ONNX model around the one thing that is kept, so that the
// exporter can put it back.
//
// node     graph.node[0] as it was read; graph.value_info: declared types of its results;
//          graph.input: names of tensors that its sub-graphs use (they are operands
//          behind the formal ones)
// input    a graph input that is no tensor of ours: graph.input[0], no node
// constant an initializer of a foreign element type: graph.initializer[0], no node
// A node of the standard domain keeps the version of its operator set in opset_import;
// one of another domain, or with sub-graphs, the versions and functions of all other
// domains.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ONNX_OPAQUE_H
#define EG_PCG_ONNX_OPAQUE_H

/// Operator types of the records that stand for no node.
#define EG_ONNX_FOREIGN_INPUT "egraph:Input"
#define EG_ONNX_FOREIGN_INITIALIZER "egraph:Initializer"

#endif
