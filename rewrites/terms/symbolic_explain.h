// Explains why two plain terms are equal: a sequence of rule applications turns one into
// the other.
//
// Explanations are on or off per e-graph. When on, the e-graph records every application
// of a rule that changed something, with the classes of its variables, and the term that
// created each class. An explainer replays these records: every application is an
// equation between two ground terms, the left and the right side of the rule. The replay
// stops when the equations make the two terms equal.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_EXPLAIN_H
#define EG_REWRITES_SYMBOLIC_EXPLAIN_H

#include "egraph/explain_log.h"
#include "rewrites/terms/symbolic.h"

/// Switches explanations on. Fails with EGRAPH_E_ARGUMENT when terms were added already.
egraph_status eg_symbolic_keep_explanations(eg_symbolic *symbolic);

/// Explains equalities of an e-graph, which it borrows. The e-graph may grow meanwhile,
/// but not go back to a saved state.
typedef struct eg_symbolic_explainer eg_symbolic_explainer;

/// Creates an explainer of the e-graph's equalities. Fails with EGRAPH_E_ARGUMENT when
/// explanations are not switched on, EGRAPH_E_MEMORY.
egraph_status eg_symbolic_explainer_create(const egraph_allocator *alloc,
                                           eg_symbolic *symbolic,
                                           eg_symbolic_explainer **out);
void eg_symbolic_explainer_destroy(eg_symbolic_explainer *explainer);

/// Reads a term without variables, which the e-graph need not contain, and returns its
/// number. Fails as eg_symbolic_add_term. After EGRAPH_E_MEMORY, here and below, an
/// explainer can only be destroyed.
egraph_status eg_symbolic_explainer_read(eg_symbolic_explainer *explainer,
                                         const char *file, const char *text, size_t size,
                                         uint32_t *out_term);
/// Finds the number of the term that created a class.
egraph_status eg_symbolic_explainer_class(eg_symbolic_explainer *explainer,
                                          eg_class class, uint32_t *out_term);
/// Explains an equality as eg_explainer_explain does; reasons are for
/// eg_symbolic_reason_of. O(applications until the terms became equal), without those
/// replayed before.
egraph_status eg_symbolic_explainer_explain(eg_symbolic_explainer *explainer,
                                            uint32_t from, uint32_t to, size_t max_words,
                                            eg_explanation *out);

/// Finds the rule to which a step's reason refers, and which of its left sides. False:
/// the caller has united the terms.
bool eg_symbolic_reason_of(uint32_t reason, uint32_t *out_rule, uint32_t *out_root);
/// Replays an explanation with the checker of egraph/explain_check.h: every step is an
/// instance of its rule, or a union of the log. Fails with EGRAPH_E_INTERNAL otherwise.
egraph_status eg_symbolic_check_explanation(const egraph_allocator *alloc,
                                            const eg_symbolic *symbolic,
                                            const eg_explanation *explanation);

/// Appends a term as text. Fails with EGRAPH_E_UNSUPPORTED when the term has more than
/// EG_SYMBOLIC_MAX_PRINTED nodes, each occurrence counted.
egraph_status eg_symbolic_print_ground(const eg_symbolic *symbolic,
                                       const eg_ground_terms *terms, uint32_t term,
                                       eg_text *out);

#endif
