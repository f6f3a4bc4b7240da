// One text for all substitutions that are the same up to the names of variables, the
// direction, the order of results, and the laws of sums and products: those of elements
// are commutative and associative, those of matrices associative.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_IMPORT_CANONICAL_H
#define EG_REWRITES_IMPORT_CANONICAL_H

#include "rewrites/lab/import/substitution.h"

/// Overwrites `out`. Where these laws alone make both sides the same, they are not
/// applied: such substitutions are instances of the laws, and not all one. "" for one
/// that is too large to tell. Fails with EGRAPH_E_MEMORY. O(n! n log n) for n <= 6
/// variables; with more of them their names are those of their first occurrence, which
/// tells less.
egraph_status eg_subst_canonical(const eg_substitution *subst, egraph_allocator alloc,
                                 eg_text *out);

#endif
