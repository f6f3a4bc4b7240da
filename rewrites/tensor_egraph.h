// The e-graph of a tensor program: the engine with operators from the table, attribute
// lists as payloads, and an analysis that knows every class's type, whether it needs
// weights only, and splat values.
//
// Leaves are INPUT and WEIGHT nodes named after the graph's values; a node with several
// results is a tuple class whose results are PART nodes. Every term is type-checked when
// it is added, so an ill-typed right side of a rule never enters. Two classes of
// different type can not be united (EGRAPH_E_TYPE names the rule: it is unsound).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_TENSOR_EGRAPH_H
#define EG_REWRITES_TENSOR_EGRAPH_H

#include "egraph/engine.h"
#include "pcg/graph.h"

/// What is known of a class. `results` > 1 or `tuple`: a node with several results, types
/// in `parts`.
typedef struct eg_tensor_fact {
  eg_type type;         // of a single result
  const eg_type *parts; // tuple: [part_count], owned by the e-graph
  uint32_t part_count;  // 0: not a tuple
  bool weight_only;     // computed from weights and fills alone
  bool splat;           // every element equals splat_value (known data or fill)
  double splat_value;
} eg_tensor_fact;

typedef struct eg_tensor_egraph eg_tensor_egraph;

/// Seeds an e-graph with a graph (kept by reference: it must live as long). Roots are its
/// outputs, in order.
egraph_status eg_tensor_egraph_create(const egraph_allocator *alloc,
                                      const eg_graph *graph, eg_tensor_egraph **out);
void eg_tensor_egraph_destroy(eg_tensor_egraph *egraph);

eg_engine *eg_tensor_egraph_engine(eg_tensor_egraph *egraph);
const eg_graph *eg_tensor_egraph_graph(const eg_tensor_egraph *egraph);
eg_attr_pool *eg_tensor_egraph_attrs(eg_tensor_egraph *egraph);
const eg_tensor_fact *eg_tensor_egraph_fact(const eg_tensor_egraph *egraph,
                                            eg_class class);
/// The class of the i-th graph output; of a graph value.
eg_class eg_tensor_egraph_root(const eg_tensor_egraph *egraph, uint32_t output);
eg_class eg_tensor_egraph_value_class(const eg_tensor_egraph *egraph, eg_value value);
/// Adds an operator node (attributes are interned), checked by the analysis.
egraph_status eg_tensor_egraph_add(eg_tensor_egraph *egraph, const eg_attrs *attrs,
                                   const eg_class *children, uint32_t count,
                                   uint32_t reason, eg_class *out);

#endif
