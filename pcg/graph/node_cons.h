// Adds nodes to a graph without repetition: an equal node of the graph is found instead
// of added.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_NODE_CONS_H
#define EG_PCG_NODE_CONS_H

#include "base/flatmap.h"
#include "base/vec.h"
#include "ops/build.h"
#include "pcg/graph/graph.h"

// ---- stamps ----------------------------------------------------------------------

// Provenance: a stamp names the value of the forward graph for which a value of a
// training step was made. The maker of nodes sets it before (eg_node_cons.stamp). Stamps
// decide to which block of a model a value belongs, which value is the same one block
// later, and which value of a folded step represents it.
//
// The same maker requests the same nodes in the same order for like values. So values
// made for two like values of the forward graph are like each other when the rest of
// their stamps is equal. A node that is requested several times keeps its first stamp.

typedef enum eg_made {
  EG_MADE_COPY,      // the value itself
  EG_MADE_CAST,      // in another element type
  EG_MADE_LOSS,      // of an output: target and loss
  EG_MADE_SEED,      // of an output: the gradient that backward begins with
  EG_MADE_GRADIENT,  // of the node that makes the value; or zeros, for a weight
  EG_MADE_COTANGENT, // of a node: what it adds to the cotangents of its operands
  EG_MADE_SUM,       // of a weight: of its gradients over micro-batches
  EG_MADE_STATE,  // of a weight: sum and states as they enter; of the optimizer: inputs
  EG_MADE_NORM,   // of a weight: its part of the norm of all gradients
  EG_MADE_UPDATE, // of a weight: its next value and states
  EG_MADE_COMMON  // for the updates of all weights
} eg_made;

#define EG_STAMP_OF_NONE UINT32_MAX

typedef struct eg_stamp {
  uint32_t of; // value of the forward graph; EG_STAMP_OF_NONE: none in particular
  eg_made made;
  uint32_t variant; // the conditions on which the requested nodes depend
  uint32_t index;   // number of the result among the requested results
} eg_stamp;
EG_VEC_DEFINE(eg_stamps, eg_stamp);

/// Maps values of a training step to values of another, or the same, step: to the value
/// with the same stamp, except that like[`of`] replaces `of`; UINT32_MAX: none. `like`
/// maps values of the forward graph, UINT32_MAX: to none; EG_STAMP_OF_NONE stays. `out`
/// is initialized and empty. O(values * values made for one). Fails with EGRAPH_E_MEMORY.
egraph_status eg_stamps_map(const eg_stamps *from, const eg_stamps *to,
                            const eg_u32s *like, eg_u32s *out);

// ---- nodes -----------------------------------------------------------------------

typedef struct eg_node_cons {
  eg_graph *graph;
  eg_flatmap nodes;  // attributes and operands -> node
  eg_stamps *stamps; // [values of the graph]; NULL: none
  eg_stamp stamp;    // of the next requested result
} eg_node_cons;

/// Initializes the table of nodes with those of the graph. An opaque node equals no other
/// node. Values get no stamps.
egraph_status eg_node_cons_init(eg_node_cons *cons, eg_graph *graph);
void eg_node_cons_deinit(eg_node_cons *cons);
/// Adds a node like eg_graph_add_node, or returns the results of an equal node, which
/// keep their names.
egraph_status eg_node_cons_add(eg_node_cons *cons, const char *name,
                               const eg_attrs *attrs, const eg_value *inputs,
                               uint32_t count, const char *const *names,
                               eg_value *out_results);
/// Sets the stamp (source in the forward graph) of the nodes that are requested next.
static inline void eg_node_cons_stamp(eg_node_cons *cons, uint32_t of, eg_made made) {
  cons->stamp = (eg_stamp){.of = of, .made = made};
}
/// Gives the current stamp to the next `count` values of the graph, which were added to
/// it directly: inputs, weights, results. Fails with EGRAPH_E_MEMORY.
egraph_status eg_node_cons_note(eg_node_cons *cons, uint32_t count);
/// Returns a builder (ops/build.h) that adds to the graph. Its values are the graph's
/// values, with the same ids. `cons` must not move.
eg_builder eg_node_cons_builder(eg_node_cons *cons);

static inline eg_ref eg_ref_of(eg_value value) { return (eg_ref){value.id}; }
static inline eg_value eg_value_of(eg_ref ref) { return (eg_value){ref.id}; }

#endif
