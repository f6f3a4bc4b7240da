// A graph written from what was chosen of a space: with the inputs of the original, its
// weights where they are needed, and its names where a value survives. Who chose says
// which nodes, in which order.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_GRAPH_WRITER_H
#define EG_OPTIMIZE_SPACE_GRAPH_WRITER_H

#include "optimize/space/plan_space.h"

typedef struct eg_graph_writer {
  const eg_plan_space *space; // borrowed
  const eg_graph *original;   // the graph of its e-graph
  eg_graph *graph;            // that is written; the caller's
  // [space values] first value of the graph that a value is, or EG_SPACE_NONE: of inputs
  // and constants, and of what the caller notes.
  eg_u32s made;
  eg_u32s enode;      // [nodes of the graph] e-node that it is; EG_NODE_NONE: a reorder
  const char **names; // [space values] of the original; NULL: none, or given out
  uint32_t next_name;
  bool names_nodes; // as their first result; false, as at first: they have none
  eg_u32s stack;
  eg_arena scratch; // of one node
} eg_graph_writer;

/// Creates the graph with the original's header and inputs. Fails with EGRAPH_E_MEMORY.
egraph_status eg_graph_writer_init(eg_graph_writer *writer, const eg_plan_space *space);
/// Leaves the graph alone.
void eg_graph_writer_deinit(eg_graph_writer *writer);

/// Writes an input or a constant unless it is there: a constant with what it is made of.
/// `leaf`: the e-node of a value that is not made ahead.
egraph_status eg_graph_writer_entry(eg_graph_writer *writer, uint32_t value,
                                    eg_node leaf);
/// Writes an e-node that makes `value`; EG_NODE_NONE: an identity, to change its format.
/// `operands` and *out_first are values of the graph; results are numbered on from the
/// first.
egraph_status eg_graph_writer_node(eg_graph_writer *writer, uint32_t value, eg_node node,
                                   const eg_value *operands, uint32_t count,
                                   eg_value *out_first);
/// The attributes of an e-node; of an identity for EG_NODE_NONE.
const eg_attrs *eg_graph_writer_attrs(const eg_graph_writer *writer, eg_node node);

#endif
