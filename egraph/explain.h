// Explanations: why two terms are equal, given equations between terms.
//
//   equations  0: a = b     1: f(b) = c
//   question   why g(f(a)) = g(c)?
//   answer     g(f(a))  -- equation 0 at position 0.0 -->  g(f(b))
//                       -- equation 1 at position 0   -->  g(c)
//
// An explainer is the congruence closure of ground terms, independent of any e-graph:
// terms, equations and questions come in any order. Each equation carries a reason, a
// number of the caller that the answer's steps name. Source: Nieuwenhuis and Oliveras,
// "Proof-producing congruence closure" (RTA 2005); Flatt et al., "Small proofs from
// congruence closure" (FMCAD 2022).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_H
#define EG_EGRAPH_EXPLAIN_H

#include <stdbool.h>

#include "base/owner.h"
#include "egraph/ground.h"

/// One application of an equation to the subterm `depth` levels below the root of
/// the term.
typedef struct eg_step {
  uint32_t before, after; // whole terms, of eg_explanation.terms
  uint32_t reason;        // reason of the equation
  bool backward;          // from the right to the left side of the equation
  uint32_t position;      // place of the first of `depth` child numbers, from the root on
  uint32_t depth;
} eg_step;
EG_VEC_DEFINE(eg_steps, eg_step);

/// A path of rewrite steps from one term to another, without repeated terms. The
/// explanation owns all its data.
typedef struct eg_explanation {
  eg_ground_terms terms;
  uint32_t from, to;
  eg_steps steps;
  eg_u32s positions;
} eg_explanation;

void eg_explanation_init(eg_explanation *explanation, egraph_allocator alloc);
void eg_explanation_deinit(eg_explanation *explanation);

typedef struct eg_explainer eg_explainer;

egraph_status eg_explainer_create(const egraph_allocator *alloc, eg_explainer **out);
void eg_explainer_destroy(eg_explainer *explainer);
EG_HOLDER_DEFINE(eg_explainer)

/// Adds a term whose children are known terms; *out is its number, new or not. The
/// children must not be borrowed from eg_explainer_terms. O(arity) expected. Fails with
/// EGRAPH_E_ARGUMENT (unknown child) or EGRAPH_E_MEMORY; after the latter the explainer
/// can only be destroyed.
egraph_status eg_explainer_add(eg_explainer *explainer, const eg_ground *term,
                               uint32_t *out);
/// States that two terms are equal, for a reason of at most EG_EXPLAIN_MAX_REASON. Fails
/// as eg_explainer_add does. O(log terms) amortized per child word.
egraph_status eg_explainer_state(eg_explainer *explainer, uint32_t left, uint32_t right,
                                 uint32_t reason);
#define EG_EXPLAIN_MAX_REASON (UINT32_MAX >> 1)
/// True when the equality of two terms follows from the stated equations.
bool eg_explainer_are_equal(const eg_explainer *explainer, uint32_t a, uint32_t b);
const eg_ground_terms *eg_explainer_terms(const eg_explainer *explainer);

/// Explains the equality of two terms with few steps. The path is short, but not
/// always the shortest, in the graph of all stated equations, where a congruence
/// counts as its estimated number of steps. *out must have been initialized. Fails
/// with EGRAPH_E_ARGUMENT when the terms are not equal, EGRAPH_E_UNSUPPORTED when
/// steps and terms together exceed max_words words (the number of steps can be
/// exponential), or EGRAPH_E_MEMORY.
egraph_status eg_explainer_explain(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   size_t max_words, eg_explanation *out);
enum { EG_EXPLAIN_MAX_WORDS = 1 << 27 };

/// The reasons of the equations behind some equalities, also of equations used through
/// congruence, each once and without steps. The terms belong to one explainer, to which
/// no equation is added meanwhile.
typedef struct eg_reasons {
  eg_u32s reasons;    // each once
  eg_u32s seen;       // [edges] 1: visited
  eg_u32s way, stack; // scratch
} eg_reasons;
void eg_reasons_init(eg_reasons *reasons, egraph_allocator alloc);
void eg_reasons_deinit(eg_reasons *reasons);
/// Adds the reasons that make two terms equal. O(length of paths not visited
/// before). Fails with EGRAPH_E_ARGUMENT when the terms are not known to be equal,
/// or EGRAPH_E_MEMORY.
egraph_status eg_explainer_collect(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   eg_reasons *inout);

#endif
