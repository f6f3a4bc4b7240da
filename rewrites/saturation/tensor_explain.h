// Finds the rewrites that make terms of a tensor e-graph equal.
//
// An explained e-graph (eg_tensor_egraph_create_explained) notes every rewrite that
// united something: the rule, the tensors of its variables, the attributes of all nodes
// of both sides. A tensor is the term that created its class; or, where the rule has a
// condition on a fact, a term that shows the fact by itself. So a noted rewrite is an
// equation between two terms that holds by its rule alone, whatever else is in the
// e-graph; the explainer (egraph/explain.h) gets all these equations, and finds the ones
// that an equality needs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_TENSOR_EXPLAIN_H
#define EG_REWRITES_TENSOR_EXPLAIN_H

#include "base/owner.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/tensor_egraph.h"

/// A rewrite that saturation applied, as the explained e-graph has noted it.
typedef struct eg_tensor_rewrite {
  uint32_t rule;
  // [pattern_var_count] classes that variables matched, by their ids at the match.
  const uint32_t *classes;
  const uint32_t *payloads; // [term_count] payloads of the terms that are operators
} eg_tensor_rewrite;

/// Notes a rewrite in the log of the engine; *out_words is the number of words, for
/// eg_engine_forget_notes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_tensor_rewrite_note(eg_tensor_egraph *egraph, const eg_rule *rule,
                                     const eg_tensor_rewrite *rewrite, size_t *out_words);

typedef struct eg_tensor_explainer eg_tensor_explainer;

/// Reads the rewrites that an explained e-graph has noted; `rules` are the rules of its
/// saturation. Both are borrowed; meanwhile the e-graph may change only its attributes.
/// O(notes). Fails with EGRAPH_E_ARGUMENT (not an explained e-graph), EGRAPH_E_MEMORY.
egraph_status eg_tensor_explainer_create(egraph_allocator alloc, eg_tensor_egraph *egraph,
                                         const eg_rules *rules,
                                         eg_tensor_explainer **out);
void eg_tensor_explainer_destroy(eg_tensor_explainer *explainer); // NULL is allowed
EG_HOLDER_DEFINE(eg_tensor_explainer)
/// Adds a term over numbered operands. An identity is its operand, except in the terms of
/// the e-graph. Fails with EGRAPH_E_MEMORY; the explainer can then only be destroyed.
egraph_status eg_tensor_explainer_add(eg_tensor_explainer *explainer,
                                      const eg_attrs *attrs, const uint32_t *operands,
                                      uint32_t count, uint32_t *out);
/// Returns the terms: operators with payloads of the e-graph's attributes. Borrowed until
/// a term is added.
const eg_ground_terms *eg_tensor_explainer_terms(const eg_tensor_explainer *explainer);
/// Marks the noted rewrites that make two terms equal. Fails with EGRAPH_E_ARGUMENT when
/// the terms are not known to be equal.
egraph_status eg_tensor_explainer_mark(eg_tensor_explainer *explainer, uint32_t a,
                                       uint32_t b);
/// Visits the marked rewrites in the order in which they were applied: the rule or its
/// case, and the terms that its left sides matched.
typedef egraph_status eg_tensor_rewrite_visit(void *user, const eg_rule *rule,
                                              const uint32_t *roots, uint32_t count);
egraph_status eg_tensor_explainer_visit(eg_tensor_explainer *explainer,
                                        eg_tensor_rewrite_visit *visit, void *user);
/// Returns the number of rewrites that the e-graph has noted.
uint32_t eg_tensor_explainer_count(const eg_tensor_explainer *explainer);

#endif
