// Explanations: why two terms are equal, given equations between terms.
//
//   equations  0: a = b     1: f(b) = c
//   question   why g(f(a)) = g(c)?
//   answer     g(f(a))  -- equation 0 at position 0.0 -->  g(f(b))
//                       -- equation 1 at position 0   -->  g(c)
//
// An explainer is the congruence closure of ground terms, apart from any e-graph: terms
// are added, equations between them stated, and questions asked in any order. Each
// equation carries a reason, a number of the caller that the answer's steps name. Source:
// Nieuwenhuis and Oliveras, "Proof-producing congruence closure" (RTA 2005); Flatt et
// al., "Small proofs from congruence closure" (FMCAD 2022).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_H
#define EG_EGRAPH_EXPLAIN_H

#include <stdbool.h>

#include "egraph/ground.h"

/// One application of one equation, below `depth` levels of the term.
typedef struct eg_step {
  uint32_t before, after; // whole terms, of eg_explanation.terms
  uint32_t reason;        // of the equation
  bool backward;          // from its right to its left side
  uint32_t position;      // of the first of `depth` child numbers, from the root on
  uint32_t depth;
} eg_step;
EG_VEC_DEFINE(eg_steps, eg_step);

/// A way from one term to another; no term occurs twice on it. It owns all it refers to.
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

/// The number of a term whose children are numbers given before; a new one, or that which
/// it has. The children must not be borrowed from eg_explainer_terms. O(arity) expected.
/// Fails with EGRAPH_E_ARGUMENT (unknown child) or EGRAPH_E_MEMORY; after the latter the
/// explainer can only be destroyed.
egraph_status eg_explainer_add(eg_explainer *explainer, const eg_ground *term,
                               uint32_t *out);
/// States that two terms are equal, for a reason of at most EG_EXPLAIN_MAX_REASON. Fails
/// as eg_explainer_add does. O(log terms) amortized per child word.
egraph_status eg_explainer_state(eg_explainer *explainer, uint32_t left, uint32_t right,
                                 uint32_t reason);
#define EG_EXPLAIN_MAX_REASON (UINT32_MAX >> 1)
/// Whether the equality of two terms follows from what was stated.
bool eg_explainer_are_equal(const eg_explainer *explainer, uint32_t a, uint32_t b);
const eg_ground_terms *eg_explainer_terms(const eg_explainer *explainer);

/// Explains why two terms are equal, with few steps: the way is short in the graph of all
/// equations stated, where congruences count as the steps that they are estimated to
/// need; it is not always the shortest. *out must have been initialized. Fails with
/// EGRAPH_E_ARGUMENT when the terms are not equal, EGRAPH_E_UNSUPPORTED when steps and
/// terms together exceed max_words words (the number of steps can be exponential), or
/// EGRAPH_E_MEMORY.
egraph_status eg_explainer_explain(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   size_t max_words, eg_explanation *out);
enum { EG_EXPLAIN_MAX_WORDS = 1 << 27 };

/// Why some terms are equal, without the steps: the reasons of the equations behind it,
/// from which it follows by congruence. As many as there are different equations, where
/// the steps repeat them. Only terms of one explainer, which states nothing meanwhile.
typedef struct eg_reasons {
  eg_u32s reasons;    // each once
  eg_u32s seen;       // [edges] 1: it was looked at
  eg_u32s way, stack; // scratch
} eg_reasons;
void eg_reasons_init(eg_reasons *reasons, egraph_allocator alloc);
void eg_reasons_deinit(eg_reasons *reasons);
/// Adds what makes two terms equal. O(length of the ways that were not gone before).
/// Fails with EGRAPH_E_ARGUMENT when they are not known to be equal, or EGRAPH_E_MEMORY.
egraph_status eg_explainer_collect(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   eg_reasons *inout);

#endif
