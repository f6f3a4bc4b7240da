// Compares both sides of an instance.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_COMPARE_H
#define EG_REWRITES_VERIFY_COMPARE_H

#include "rewrites/lab/verify/data.h"

typedef enum eg_verify_verdict {
  EG_VERIFY_EQUAL,    // within the bound
  EG_VERIFY_EXACT,    // equal, and nothing was rounded on the way
  EG_VERIFY_VACUOUS,  // nothing finite to compare, no kernel for it, or numbers too large
  EG_VERIFY_DIFFERENT // the text says where
} eg_verify_verdict;

/// Whether the sides are equal, and the class that a rule is in at best that has such an
/// instance.
typedef struct eg_verify_comparison {
  eg_verify_verdict verdict;
  egraph_math math;
  egraph_dtype dtype; // of the first result
  bool is_empty;      // VACUOUS, because no result has an element;
  bool is_large;      // because the kernels would take too long
} eg_verify_comparison;

/// Clears the arena, which tensors are in. On DIFFERENT, and
/// where `math` is beyond the class of the rule, writes the element and both values to
/// `text`. Data that are not plain decide of floating-point results the class alone.
egraph_status eg_verify_compare(eg_arena *arena, const eg_verify_instance *instance,
                                const eg_verify_source *source, eg_verify_comparison *out,
                                eg_text *text);

#endif
