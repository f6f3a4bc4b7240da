// A graph within a node, read as a model of its own: what it captures are inputs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_INNER_H
#define EG_ONNX_READ_INNER_H

#include "onnx/message.h"
#include "pcg/graph/graph.h"

/// A value that enters: of a type, or of bytes that are all that is known.
typedef struct eg_onnx_entering {
  const char *name;
  const eg_type *type;      // without open sizes; NULL: it is not of ours
  double bytes;             // without a type: below 0, they are not known
  bool is_weight;           // its bytes are the same in all runs
  const eg_buffer *content; // borrowed; NULL: not known, or a large one
} eg_onnx_entering;

/// A graph within a node, and what surrounds it.
typedef struct eg_onnx_inner {
  const Onnx__GraphProto *graph;
  const Onnx__ModelProto *record;   // operator sets and functions
  const eg_onnx_entering *entering; // formal operands, then captures, which may be more
  uint32_t count;
} eg_onnx_inner;

/// Reads the graph; its outputs have the names of the inner graph, each once: *out_places
/// [outputs of the inner graph] tells which one. *out is NULL where it cannot be read.
/// Fails with EGRAPH_E_MEMORY alone.
egraph_status eg_onnx_inner_read(eg_arena *arena, const eg_onnx_inner *inner,
                                 const uint32_t **out_places, eg_graph **out);

#endif
