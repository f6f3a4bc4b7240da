// How long the sums of a graph are: in what order n terms are added decides some
// sqrt(n) units of rounding of their sum.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_SUM_TERMS_H
#define EG_EXEC_SUM_TERMS_H

#include "pcg/graph/graph.h"

/// out[value]: terms of the longest sum that the value depends on, at least 1. Operators
/// that are not typed count as none.
egraph_status eg_sum_terms(const eg_graph *graph, egraph_allocator alloc, double *out);

#endif
