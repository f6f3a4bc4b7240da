// The work of nodes that the table does not know, as far as their records tell it: bytes
// of tensors of foreign types, and what graphs within nodes compute.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_WEIGH_H
#define EG_ONNX_READ_WEIGH_H

#include "pcg/graph/graph.h"

/// Notes in a graph the work of all its opaque nodes (eg_graph_set_opaque_work). Graphs
/// within nodes are read as models of their own, on operands at their example sizes; what
/// one that cannot be read gives is of unknown size. Records that are not of ONNX say
/// nothing. Fails with EGRAPH_E_MEMORY alone.
egraph_status eg_onnx_weigh(eg_graph *graph);

#endif
