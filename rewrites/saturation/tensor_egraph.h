// The e-graph of a tensor program: the engine with operators from the table, attribute
// lists as payloads, and an analysis that keeps the facts of every class.
//
// Leaves are INPUT and WEIGHT nodes named after the graph's values; a node with several
// results is a tuple class whose results are PART nodes. Every term is type-checked when
// it is added, so an ill-typed right side of a rule never enters. Two classes of
// different type can not be united (EGRAPH_E_TYPE names the rule: it is unsound).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_TENSOR_EGRAPH_H
#define EG_REWRITES_TENSOR_EGRAPH_H

#include "base/owner.h"
#include "egraph/explain_log.h"
#include "rewrites/saturation/tensor_facts.h"

typedef struct eg_tensor_egraph eg_tensor_egraph;

/// Creates an e-graph from a graph, which must live as long (it is kept by reference).
/// Roots are its outputs, in order.
egraph_status eg_tensor_egraph_create(const egraph_allocator *alloc,
                                      const eg_graph *graph, eg_tensor_egraph **out);
/// Creates an e-graph as eg_tensor_egraph_create does, and records the data that explain
/// equalities (tensor_explain.h): the log of the engine, the rewrites that saturation
/// notes, and terms that prove facts.
egraph_status eg_tensor_egraph_create_explained(const egraph_allocator *alloc,
                                                const eg_graph *graph,
                                                eg_tensor_egraph **out);
/// Creates an e-graph without nodes or roots. Added terms have the leaves and opaque
/// nodes of the graph, which is kept by reference.
egraph_status eg_tensor_egraph_create_empty(const egraph_allocator *alloc,
                                            const eg_graph *graph,
                                            eg_tensor_egraph **out);
void eg_tensor_egraph_destroy(eg_tensor_egraph *egraph);
EG_HOLDER_DEFINE(eg_tensor_egraph)
egraph_allocator eg_tensor_egraph_allocator(const eg_tensor_egraph *egraph);

eg_engine *eg_tensor_egraph_engine(eg_tensor_egraph *egraph);
const eg_engine *eg_tensor_egraph_engine_of(const eg_tensor_egraph *egraph);
const eg_graph *eg_tensor_egraph_graph(const eg_tensor_egraph *egraph);
eg_attr_pool *eg_tensor_egraph_attrs(eg_tensor_egraph *egraph);
/// Returns the attributes that a node with this payload has.
const eg_attrs *eg_tensor_egraph_attrs_at(const eg_tensor_egraph *egraph,
                                          uint32_t payload);
const eg_tensor_fact *eg_tensor_egraph_fact(const eg_tensor_egraph *egraph,
                                            eg_class class);
/// Return the class of the i-th graph output, and of a graph value.
eg_class eg_tensor_egraph_root(const eg_tensor_egraph *egraph, uint32_t output);
eg_class eg_tensor_egraph_value_class(const eg_tensor_egraph *egraph, eg_value value);
/// Finds the graph value that an e-node of the given graph computes (the first one where
/// the graph has equal nodes; of a tuple, its first result). False for nodes that rules
/// have added. O(log nodes).
bool eg_tensor_egraph_seed_value(const eg_tensor_egraph *egraph, eg_node node,
                                 eg_value *out);
/// Seals a class: from now on patterns match its nodes only as a root, so that no rule
/// spans both the operators that produce the value and the operators that use it. Classes
/// united with it become sealed, too. Rebuild afterwards. Fails with EGRAPH_E_MEMORY.
egraph_status eg_tensor_egraph_seal(eg_tensor_egraph *egraph, eg_class class);
/// Refuses nodes without kernels from now on, so that a back-end that runs the graph can
/// run every variant. Does nothing when a node of the graph itself has no kernel. Fails
/// as `kernels`.
egraph_status eg_tensor_egraph_restrict(eg_tensor_egraph *egraph,
                                        eg_kernel_types *kernels);
/// Returns how many times a node was refused because it has no kernel.
uint64_t eg_tensor_egraph_left_out(const eg_tensor_egraph *egraph);
/// Adds an operator node (attributes are interned), checked by the analysis.
egraph_status eg_tensor_egraph_add(eg_tensor_egraph *egraph, const eg_attrs *attrs,
                                   const eg_class *children, uint32_t count,
                                   uint32_t reason, eg_class *out);
/// Computes the facts (type, ...) that a node would have. Fails with EGRAPH_E_TYPE.
egraph_status eg_tensor_egraph_infer(eg_tensor_egraph *egraph, const eg_attrs *attrs,
                                     const eg_tensor_fact *const *children,
                                     uint32_t count, eg_tensor_fact *out);
bool eg_tensor_egraph_is_explained(const eg_tensor_egraph *egraph);
/// Returns the terms that prove facts (eg_tensor_fact.weight_term, splat_term):
/// operators with payloads, and EG_WITNESS_CLASS for the term that created the class of
/// that number.
const eg_ground_terms *eg_tensor_egraph_witnesses(const eg_tensor_egraph *egraph);
#define EG_WITNESS_CLASS UINT32_MAX
/// Returns the bytes that the e-graph's engine, attributes and facts use.
size_t eg_tensor_egraph_bytes(const eg_tensor_egraph *egraph);

#endif
