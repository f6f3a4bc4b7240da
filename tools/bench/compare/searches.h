// All searches that can be compared, from the tables that the library expands: its own
// search, the baselines, and published algorithms.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_COMPARE_SEARCHES_H
#define EG_TOOLS_BENCH_COMPARE_SEARCHES_H

#include "include/egraph.h"

typedef enum search_kind {
  SEARCH_OWN,
  SEARCH_OWN_OVERLAP, // egraph_search.overlap
  SEARCH_BASELINE,    // egraph_baselines.only
  SEARCH_ALGORITHM    // egraph_search.algorithm
} search_kind;

typedef struct search_entry {
  const char *name;
  search_kind kind;
  bool finds_plans, finds_graphs; // pipelines count as plans
} search_entry;

/// Returns the index-th search in the order of the rows, the product's own searches
/// first; NULL after the last.
const search_entry *search_at(uint32_t index);
/// Finds a search by name; NULL: there is none.
const search_entry *search_find(const char *name);

#endif
