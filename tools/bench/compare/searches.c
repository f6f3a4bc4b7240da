// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/compare/searches.h"

#include <string.h>

#include "optimize/search/plan_baselines.h"

// Kinds of results of the algorithms of the table.
enum { FINDS_graphs, FINDS_plans, FINDS_stages };

#define BASELINE_ENTRY(id, name, last, outer) {name, SEARCH_BASELINE, true, false},
#define EGRAPH_ALGORITHM(name, finds, function, what, paper)                             \
  {name, SEARCH_ALGORITHM, FINDS_##finds != FINDS_graphs, FINDS_##finds == FINDS_graphs},
static const search_entry ENTRIES[] = {
    {"egraph", SEARCH_OWN, true, true},
    {"egraph-overlap", SEARCH_OWN_OVERLAP, true, false},
    EG_BASELINE_LIST(BASELINE_ENTRY)
#include "include/egraph_algorithms.def"
};
#undef BASELINE_ENTRY
enum { ENTRY_COUNT = sizeof ENTRIES / sizeof *ENTRIES };

const search_entry *search_at(uint32_t index) {
  return index < ENTRY_COUNT ? &ENTRIES[index] : NULL;
}

const search_entry *search_find(const char *name) {
  for (uint32_t i = 0; i < ENTRY_COUNT; i++)
    if (strcmp(ENTRIES[i].name, name) == 0) return &ENTRIES[i];
  return NULL;
}
