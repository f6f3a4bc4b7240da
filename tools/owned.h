// Local variables that own an object of the library: it is destroyed where their scope
// ends, however it ends.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_OWNED_H
#define EG_TOOLS_OWNED_H

#include "include/egraph.h"

/// OWNED(egraph_rules, rules): `egraph_rules *rules`, NULL at first.
#define OWNED(kind, name) __attribute__((cleanup(kind##_drop))) kind *name = NULL
/// Likewise `char *name`, a text that the library makes.
#define OWNED_TEXT(name) __attribute__((cleanup(owned_text_drop))) char *name = NULL

#define OWNED_KIND(kind)                                                                 \
  static inline void kind##_drop(kind **owned) { kind##_destroy(*owned); }
OWNED_KIND(egraph_arrays)
OWNED_KIND(egraph_costs)
OWNED_KIND(egraph_extraction)
OWNED_KIND(egraph_graph)
OWNED_KIND(egraph_plan)
OWNED_KIND(egraph_rules)
OWNED_KIND(egraph_session)
OWNED_KIND(egraph_shard)
OWNED_KIND(egraph_shard_plan)
#undef OWNED_KIND

static inline void owned_text_drop(char **owned) { egraph_string_free(NULL, *owned); }

#endif
