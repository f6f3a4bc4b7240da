// E-nodes that no plan uses, found before anything is enumerated for them: those that
// come too early for their operands, those that rules have made of what they are to leave
// as it is (step_info.h), and those that only lead back to where they come
// from, as y = reshape(z) where z is a reshape of y. Bounds by dual ascent see no cycles:
// a loop of nodes that cost nothing would hide the cost of everything behind it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_PLAN_LOOPS_H
#define EG_OPTIMIZE_SPACE_PLAN_LOOPS_H

#include "extract/bits.h"
#include "optimize/space/plan_space.h"

/// Flags by node. Of each value the phase must be known; operators are not there yet. A
/// node is flagged when an operand is made in a later phase than its value, or when every
/// derivation of an operand needs the value; no plan is lost. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_loops_find(const eg_plan_space *space, eg_bytes *out);

#endif
