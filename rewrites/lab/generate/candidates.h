// Candidates: pairs of terms with one value that may become useful rules.
//
// A pair is left out when
//
//   - its terms differ at another point of the field, or in floating-point numbers: the
//     equality was an accident;
//   - it also holds with a variable in place of a subterm of both sides: it is an
//   instance;
//   - it has no direction in which every variable is bound;
//   - it reads like another pair once leaves are variables: the other pair counts it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_CANDIDATES_H
#define EG_REWRITES_GENERATE_CANDIDATES_H

#include "rewrites/lab/generate/draft.h"

typedef struct eg_candidate {
  eg_term_code left, right;
  uint32_t instances; // number of pairs that read like this one
  uint8_t size_left, size_right;
  // Number of variables of the left side; not in state files, because the order of
  // candidates implies it.
  uint8_t variables;
  bool is_guarded; // guards for candidates of its shape have been searched
} eg_candidate;
EG_VEC_DEFINE(eg_candidates, eg_candidate);

typedef struct eg_candidate_counts {
  uint64_t pairs, accidents, generalized, undirected, repeated;
} eg_candidate_counts;

/// Appends the pairs that may become rules (see above), the smallest first. Among
/// candidates of one size, the candidates with most variables come first, because the
/// others are their instances with equal variables.
egraph_status eg_candidates_sift(eg_term_space *space, const eg_term_pairs *pairs,
                                 eg_candidates *out, eg_candidate_counts *counts);

/// Computes two terms with the reference kernels in float64 on a few random inputs. Sets
/// *out_differ when they differ by more than rounding on an input where both are finite.
/// Terms without a kernel for these types do not differ. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_terms_differ(const eg_term_space *space, eg_term_code a, eg_term_code b,
                              uint64_t seed, bool *out_differ);

#endif
