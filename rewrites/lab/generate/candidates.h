// Candidates: pairs of terms of one value that may be useful rules.
//
// A pair is left out when it
//   - differs at another point of the field, or in floating-point numbers: it was an
//   accident;
//   - holds with a variable in place of a subterm that both sides have: it is an
//   instance;
//   - has no direction in which every variable is bound;
//   - reads as another one does, once leaves are variables: that one counts it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_CANDIDATES_H
#define EG_REWRITES_GENERATE_CANDIDATES_H

#include "rewrites/lab/generate/draft.h"

typedef struct eg_candidate {
  eg_term_code left, right;
  uint32_t instances; // pairs that read like this one
  uint8_t size_left, size_right;
  uint8_t variables; // of the left side; not in state files, which have them in order
  bool is_guarded;   // conditions of its shape have been searched
} eg_candidate;
EG_VEC_DEFINE(eg_candidates, eg_candidate);

typedef struct eg_candidate_counts {
  uint64_t pairs, accidents, generalized, undirected, repeated;
} eg_candidate_counts;

/// Appends the candidates among pairs, the smallest first; among those of one size the
/// most variables first: the others are instances with equal variables.
egraph_status eg_candidates_sift(eg_term_space *space, const eg_term_pairs *pairs,
                                 eg_candidates *out, eg_candidate_counts *counts);

/// True in *out_differ when two terms, computed by the reference kernels in float64,
/// differ by more than rounding at one of a few random points, where both are finite.
/// Terms without a kernel for these types do not differ. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_terms_differ(const eg_term_space *space, eg_term_code a, eg_term_code b,
                              uint64_t seed, bool *out_differ);

#endif
