// Removing nodes: a smaller e-graph that knows fewer terms, of which all equalities that
// were known still hold.
//
// Dead nodes vanish too, and the memory is what the rest needs. Nodes get new ids, in the
// same order; classes keep theirs. A class that loses its last node is dropped
// (eg_engine_has_class), and with it the nodes that have it as a child, and so on. What
// is fresh stays so; reasons, the log of unions, that of explanations (explain_log.h) and
// analysis data stay. Pushed states are not touched.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_PRUNE_H
#define EG_EGRAPH_PRUNE_H

#include "egraph/engine.h"

/// Keeps the live nodes for which `keep` is true; NULL: all. *out_map (may be NULL;
/// initialized) gets the new id of each node, [old eg_engine_node_limit], EG_NODE_NONE
/// for those that are gone. Clean engine. O(its size); a second copy of it for the time
/// of the call. Fails with EGRAPH_E_ARGUMENT (a dirty engine) or EGRAPH_E_MEMORY; nothing
/// was removed then.
egraph_status eg_engine_prune(eg_engine *engine,
                              bool (*keep)(void *user, const eg_engine *, eg_node),
                              void *user, eg_u32s *out_map);

#endif
