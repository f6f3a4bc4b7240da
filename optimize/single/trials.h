// An optimized graph with open dimensions gets its trials (pcg/graph/open_sizes.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_TRIALS_H
#define EG_OPTIMIZE_SINGLE_TRIALS_H

#include "pcg/graph/open_sizes.h"

/// `result` is `original` rewritten at the sizes of the example. Rewrites it for the
/// sizes of the other trials: numbers that come from open dimensions become those of the
/// trial (`table`, of the original), and types are inferred anew. Outputs must have the
/// types that they have in the trials of the original. Fails with EGRAPH_E_UNSUPPORTED,
/// and the name, where that cannot be: a rewrite holds at the sizes of the example only.
/// Nothing is done where all sizes are fixed.
egraph_status eg_trials_follow(const eg_graph *original, const eg_size_table *table,
                               eg_graph *result);

#endif
