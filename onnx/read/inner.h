// Reads a graph within a node as a model of its own: the names that it captures
// become inputs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_INNER_H
#define EG_ONNX_READ_INNER_H

#include "onnx/message.h"
#include "pcg/graph/graph.h"

/// A value that enters a graph within a node: its type, or only its bytes, are known.
typedef struct eg_onnx_entering {
  const char *name;
  const eg_type *type;      // without open sizes; NULL: a type that we lack
  double bytes;             // size of a value without a type; below 0: not known
  bool is_weight;           // its content is the same in all runs
  const eg_buffer *content; // borrowed; NULL: not known, or large
} eg_onnx_entering;

/// A graph within a node, with its model and the values that enter.
typedef struct eg_onnx_inner {
  const Onnx__GraphProto *graph;
  const Onnx__ModelProto *record;   // has operator sets and functions
  const eg_onnx_entering *entering; // formal operands, then captures; some may be unused
  uint32_t count;
} eg_onnx_inner;

/// Reads a graph within a node as graph *out. Outputs of the same name become one output:
/// output i of the graph within the node is output (*out_places)[i] of *out. *out is NULL
/// if the graph cannot be read. Fails only with EGRAPH_E_MEMORY.
egraph_status eg_onnx_inner_read(eg_arena *arena, const eg_onnx_inner *inner,
                                 const uint32_t **out_places, eg_graph **out);

#endif
