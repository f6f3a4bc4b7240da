// Writes a graph from chosen nodes of a plan space: with the inputs of the original, its
// needed weights, and its names for values that survive. The caller chooses the nodes and
// their order.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_GRAPH_WRITER_H
#define EG_OPTIMIZE_SPACE_GRAPH_WRITER_H

#include "optimize/space/plan_space.h"

typedef struct eg_graph_writer {
  const eg_plan_space *space; // borrowed
  const eg_graph *original;   // the graph of its e-graph
  eg_graph *graph;            // the written graph; owned by the caller
  // [space values] first value of the written graph, or EG_SPACE_NONE; for inputs,
  // constants, and values that the caller enters.
  eg_u32s made;
  eg_u32s enode;      // [nodes of the graph] its e-node; EG_NODE_NONE: a reorder
  const char **names; // [space values] names of the original; NULL: none, or used already
  uint32_t next_name;
  bool names_nodes; // after their first result; false (default): nodes have no names
  eg_u32s stack;
  eg_arena scratch; // of one node
} eg_graph_writer;

/// Creates the graph with the original's header and inputs. Fails with EGRAPH_E_MEMORY.
egraph_status eg_graph_writer_init(eg_graph_writer *writer, const eg_plan_space *space);
/// Frees the writer, not the graph.
void eg_graph_writer_deinit(eg_graph_writer *writer);

/// Writes an input or a constant unless it is written already; a constant with the values
/// it is computed from. `leaf`: the e-node of a value that is not computed ahead.
egraph_status eg_graph_writer_entry(eg_graph_writer *writer, uint32_t value,
                                    eg_node leaf);
/// Writes an e-node that makes `value`; EG_NODE_NONE: an identity that changes the
/// value's memory format. `operands` and *out_first are values of the graph; further
/// results have the next numbers.
egraph_status eg_graph_writer_node(eg_graph_writer *writer, uint32_t value, eg_node node,
                                   const eg_value *operands, uint32_t count,
                                   eg_value *out_first);
/// Returns the attributes of an e-node; EG_NODE_NONE: the attributes of an identity.
const eg_attrs *eg_graph_writer_attrs(const eg_graph_writer *writer, eg_node node);

#endif
