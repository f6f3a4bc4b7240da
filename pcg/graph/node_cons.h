// Adding nodes to a graph without repeating one: a node that the graph has is found
// instead of added.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_NODE_CONS_H
#define EG_PCG_NODE_CONS_H

#include "base/flatmap.h"
#include "ops/build.h"
#include "pcg/graph/graph.h"
#include "pcg/graph/provenance.h"

typedef struct eg_node_cons {
  eg_graph *graph;
  eg_flatmap nodes;  // attributes and operands -> node
  eg_stamps *stamps; // [values of the graph], or NULL: nobody wants them
  eg_stamp stamp;    // of the next result asked for
} eg_node_cons;

/// Enters the nodes that the graph has. Opaque ones are never equal to another. There are
/// no stamps.
egraph_status eg_node_cons_init(eg_node_cons *cons, eg_graph *graph);
void eg_node_cons_deinit(eg_node_cons *cons);
/// As eg_graph_add_node, or the results of the equal node, which keep their names.
egraph_status eg_node_cons_add(eg_node_cons *cons, const char *name,
                               const eg_attrs *attrs, const eg_value *inputs,
                               uint32_t count, const char *const *names,
                               eg_value *out_results);
/// Says what is asked for from here on.
static inline void eg_node_cons_stamp(eg_node_cons *cons, uint32_t of, eg_made made) {
  cons->stamp = (eg_stamp){.of = of, .made = made};
}
/// Stamps the next `count` values of the graph, which were added to it directly: inputs,
/// weights, results. Fails with EGRAPH_E_MEMORY.
egraph_status eg_node_cons_note(eg_node_cons *cons, uint32_t count);
/// A builder (ops/build.h) that adds to the graph. Its values are those of the graph,
/// with the same ids. `cons` must stay where it is.
eg_builder eg_node_cons_builder(eg_node_cons *cons);

static inline eg_ref eg_ref_of(eg_value value) { return (eg_ref){value.id}; }
static inline eg_value eg_value_of(eg_ref ref) { return (eg_value){ref.id}; }

#endif
