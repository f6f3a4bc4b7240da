// Terms of a replay: each distinct term once, with the facts that follow from the
// operator table and the data of the given graph alone. An identity is its operand.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REPLAY_TERMS_H
#define EG_REWRITES_REPLAY_TERMS_H

#include "rewrites/replay/explained.h"
#include "rewrites/saturation/tensor_facts.h"

EG_VEC_DEFINE(eg_replay_facts, eg_tensor_fact);
EG_VEC_DEFINE(eg_replay_buffers, eg_buffer *);

typedef struct eg_replay_terms {
  egraph_allocator alloc;
  const eg_graph *given; // borrowed
  size_t max_bytes;      // limit of all data from which one constant is computed
  eg_attr_pool *attrs;
  eg_ground_terms ground; // payloads are ids of `attrs`; constants as in an explanation
  eg_replay_facts facts;  // [terms]
  eg_tensor_facts of;
  eg_u32s values;       // [values of the given graph] terms
  uint32_t given_count; // terms of the given graph, which come first
  // [terms] 1 + index in `buffers` of the first result of a term; only constants, and
  // terms while a constant is computed, have one; 0: none.
  eg_u32s data;
  eg_replay_buffers buffers;
  eg_u32s made, stack, operands; // scratch
} eg_replay_terms;

void eg_replay_terms_init(eg_replay_terms *terms, egraph_allocator alloc);
/// Adds the terms of the given graph. Fails with EGRAPH_E_TYPE, EGRAPH_E_MEMORY.
egraph_status eg_replay_terms_start(eg_replay_terms *terms, const eg_graph *given,
                                    size_t max_bytes);
void eg_replay_terms_deinit(eg_replay_terms *terms);
/// Adds a term over numbered operands, new or not. Fails with EGRAPH_E_TYPE when the term
/// is ill-typed, or a leaf that the given graph lacks; EGRAPH_E_MEMORY.
egraph_status eg_replay_terms_add(eg_replay_terms *terms, const eg_attrs *attrs,
                                  const uint32_t *operands, uint32_t count,
                                  uint32_t *out);
/// Adds a weight with the value of a term, which the reference kernels compute. Fails
/// with EGRAPH_E_ARGUMENT when the value needs more than weights with data and fills, or
/// more than max_bytes; EGRAPH_E_UNSUPPORTED, EGRAPH_E_MEMORY.
egraph_status eg_replay_terms_add_constant(eg_replay_terms *terms, uint32_t of,
                                           uint32_t *out);
/// Computes the bytes of a tensor that depends on weights and fills only; the caller
/// releases them. Fails as eg_replay_terms_add_constant.
egraph_status eg_replay_terms_compute(eg_replay_terms *terms, uint32_t term,
                                      eg_buffer **out);
/// Checks a term that the given graph lacks: *out_fit is true when its types can
/// represent its constants, as right sides of rules require. Fails with EGRAPH_E_MEMORY.
egraph_status eg_replay_terms_fit(const eg_replay_terms *terms, uint32_t term,
                                  bool *out_fit);

/// Returns the attributes of a term; NULL for a constant.
const eg_attrs *eg_replay_terms_attrs(const eg_replay_terms *terms, uint32_t term);
const eg_tensor_fact *eg_replay_terms_fact(const eg_replay_terms *terms, uint32_t term);
/// Returns the bytes of a weight or constant; NULL: it has none, or is another term.
const eg_buffer *eg_replay_terms_data(const eg_replay_terms *terms, uint32_t term);

#endif
