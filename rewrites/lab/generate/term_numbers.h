// Terms in floating-point numbers: what is equal in the field because of the signs of its
// numbers, or of how it extends a function, need not be equal here.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_TERM_NUMBERS_H
#define EG_REWRITES_GENERATE_TERM_NUMBERS_H

#include "rewrites/lab/generate/term_space.h"

/// Whether two terms differ, by the reference kernels in float64, at one of a few random
/// points: by more than rounding does, where both are finite. Terms without a kernel for
/// these types do not. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_terms_differ(const eg_term_space *space, eg_term_code a, eg_term_code b,
                              uint64_t seed, bool *out_differ);

#endif
