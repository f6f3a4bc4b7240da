// Stores whole graphs as tuples of terms. The store has each term of all graphs of a
// search once, with its type; a graph is the list of the terms of its outputs. Therefore
// two graphs are equal exactly when their lists are equal, equal subexpressions of a
// graph are one term, and graphs that differ in one place share all terms that do not
// depend on it.
//
//   store   0: x   1: w   2: (matmul 0 1)   3: (relu 2)   4: (matmul :act relu 0 1)
//   graphs  [3] the given one   [4] another one
//
// The store is a tensor e-graph in which nothing is ever united: a class is a term. The
// operands of a term have smaller numbers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_TERM_STORE_H
#define EG_BASELINES_TERM_STORE_H

#include "base/vec.h"
#include "rewrites/saturation/tensor_egraph.h"

#define EG_TERM_NONE UINT32_MAX

typedef struct eg_term_store {
  egraph_allocator alloc;
  const eg_graph *given;
  eg_tensor_egraph *terms;
  eg_u32s node; // [terms] in the e-graph
  // [terms] a term with the same operator on the same types: itself, or the first term of
  // a series of eg_term_store_add_like
  eg_u32s like;
  eg_u32s seen; // [terms] the last walk that reached the term
  uint32_t walk;
  eg_u32s stack; // of a walk
} eg_term_store;

/// Begins with the terms of a graph, which is borrowed. Call deinit also after a failure.
egraph_status eg_term_store_init(eg_term_store *store, egraph_allocator alloc,
                                 const eg_graph *given);
void eg_term_store_deinit(eg_term_store *store);
size_t eg_term_store_bytes(const eg_term_store *store);

/// Returns the term of an output of the given graph.
uint32_t eg_term_store_root(const eg_term_store *store, uint32_t output);
/// Return a term's operator and operands, its attributes, and its type; borrowed until
/// the next addition.
eg_term eg_term_store_at(const eg_term_store *store, uint32_t term);
const eg_attrs *eg_term_store_attrs(const eg_term_store *store, uint32_t term);
const eg_tensor_fact *eg_term_store_fact(const eg_term_store *store, uint32_t term);
/// Returns the rule that first made a term; EG_REASON_SEED: a term of the given graph.
uint32_t eg_term_store_reason(const eg_term_store *store, uint32_t term);
/// Finds or adds the term of an operator on other terms. Fails with EGRAPH_E_TYPE for a
/// term that is ill-typed, or that the e-graph of terms
/// refuses (eg_tensor_egraph_restrict).
egraph_status eg_term_store_add(eg_term_store *store, const eg_attrs *attrs,
                                const uint32_t *operands, uint32_t count, uint32_t reason,
                                uint32_t *out);
/// Finds or adds a term with the operator of another term, on other operands of the same
/// types. Fails as eg_term_store_add.
egraph_status eg_term_store_add_like(eg_term_store *store, uint32_t like,
                                     const uint32_t *operands, uint32_t *out);

/// Lists the terms of a graph, operands before results.
egraph_status eg_term_store_collect(eg_term_store *store, const uint32_t *roots,
                                    uint32_t count, eg_u32s *out);
/// Writes a graph with the inputs, outputs and, for values that survive, names of the
/// given graph. `reasons`, initialized, gets the rule that made each node of
/// *out. (term_store.c)
egraph_status eg_term_store_emit(eg_term_store *store, const uint32_t *roots,
                                 uint32_t count, eg_u32s *reasons, eg_graph **out);

#endif
