// Evaluates both sides of an instance with the reference kernels and compares them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_VALUES_H
#define EG_REWRITES_VERIFY_VALUES_H

#include "rewrites/verify_draw.h"

typedef enum eg_verify_verdict {
  EG_VERIFY_EQUAL,    // within the bound
  EG_VERIFY_EXACT,    // equal, and nothing was rounded on the way
  EG_VERIFY_VACUOUS,  // nothing finite to compare, no kernel for it, or numbers too large
  EG_VERIFY_DIFFERENT // `text` says where
} eg_verify_verdict;

// How far values may be apart, relative to the largest number that occurs on either side;
// float32 rounds at every node, and constants of rules are matched up to 1e-6.
#define EG_VERIFY_BOUND_FLOAT64 1e-9
#define EG_VERIFY_BOUND_FLOAT32 1e-4

/// Data are drawn from `seed`. On DIFFERENT appends the element and both values to
/// `text`.
egraph_status eg_verify_compare(const egraph_allocator *alloc,
                                const eg_verify_instance *instance, uint64_t seed,
                                eg_verify_verdict *out, eg_text *text);

#endif
