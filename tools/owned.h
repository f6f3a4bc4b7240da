// Local variables that own an object of the library, which is destroyed at every exit of
// their scope.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_OWNED_H
#define EG_TOOLS_OWNED_H

#include "include/egraph.h"

/// OWNED(egraph_rules, rules) declares `egraph_rules *rules`, NULL at first.
#define OWNED(kind, name) __attribute__((cleanup(kind##_drop))) kind *name = NULL
/// Declares `char *name` in the same way, for a text that the library returns.
#define OWNED_TEXT(name) __attribute__((cleanup(owned_text_drop))) char *name = NULL

#define OWNED_KIND(kind, destroy)                                                        \
  static inline void kind##_drop(kind **owned) { destroy(*owned); }
OWNED_KIND(egraph_arrays, egraph_arrays_destroy)
OWNED_KIND(egraph_costs, egraph_costs_destroy)
OWNED_KIND(egraph_extraction, egraph_extraction_destroy)
OWNED_KIND(egraph_graph, egraph_graph_destroy)
OWNED_KIND(egraph_plan, egraph_plan_destroy)
OWNED_KIND(egraph_result, egraph_result_destroy)
OWNED_KIND(egraph_rules, egraph_rules_destroy)
OWNED_KIND(egraph_session, egraph_session_destroy)
OWNED_KIND(egraph_simulation, egraph_simulation_destroy)
OWNED_KIND(egraph_shard, egraph_shard_destroy)
OWNED_KIND(egraph_shard_plan, egraph_shard_plan_destroy)
#undef OWNED_KIND

static inline void owned_text_drop(char **owned) { egraph_string_free(NULL, *owned); }

#endif
