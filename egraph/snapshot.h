// Copies of an engine, and a stack of its earlier states.
//
//   eg_engine_push(e);  ...additions, unions, rebuilds...  eg_engine_pop(e);
//
// A restored engine is as it was, to the last id: it behaves from then on as if the calls
// in between had not been made. Dirty engines can be pushed too. Analysis data are copied
// as bytes; what they point to is the caller's and must outlive the state.
// Cost: copying is O(size), a memcpy of the flat arrays without their spare room; pop and
// drop copy nothing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_SNAPSHOT_H
#define EG_EGRAPH_SNAPSHOT_H

#include "egraph/engine.h"

/// An engine of its own in the same state, without the pushed ones. The same calls give
/// the same results on both. Fails with EGRAPH_E_MEMORY.
egraph_status eg_engine_clone(const eg_engine *engine, eg_engine **out);

/// Saves the state. Fails with EGRAPH_E_MEMORY; nothing was saved then.
egraph_status eg_engine_push(eg_engine *engine);
/// Goes back to the state saved last, which is no longer saved then. Fails with
/// EGRAPH_E_ARGUMENT when there is none. Borrowed pointers into the engine end here.
egraph_status eg_engine_pop(eg_engine *engine);
/// Keeps the present state and forgets the one saved last. Fails as eg_engine_pop.
egraph_status eg_engine_drop(eg_engine *engine);

#endif
