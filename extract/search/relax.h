// The linear relaxation of one presolved model: cutting planes, fixing by reduced costs,
// and upper bounds that its solutions guide. A node of the search tree (branch.c) is
// bounded by it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_RELAX_H
#define EG_EXTRACT_SEARCH_RELAX_H

#include "extract/search/extract_search.h"

typedef enum eg_relax_outcome {
  EG_RELAX_CLOSED, // nothing below the cutoff
  EG_RELAX_SHRUNK, // many nodes can go (drop): presolve again
  EG_RELAX_OPEN,   // x is as good as the cuts make it: branch
  EG_RELAX_STOPPED // out of time
} eg_relax_outcome;

typedef struct eg_relax {
  double bound;   // of the total, offset included
  eg_doubles x;   // [node]
  eg_bytes drop;  // [node] cannot be in a solution below the cutoff
  size_t dropped; // how many
} eg_relax;

void eg_relax_init(eg_relax *relax, egraph_allocator alloc);
void eg_relax_deinit(eg_relax *relax);
/// Needs presolve's landmarks or does without. Fails with EGRAPH_E_MEMORY or
/// EGRAPH_E_INTERNAL (GLPK).
egraph_status eg_relax_run(eg_relax *relax, eg_extract_search *search,
                           eg_presolve *presolve, eg_relax_outcome *out);

#endif
