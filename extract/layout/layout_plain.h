// Layout problems as plain extraction problems, whose solver has the better presolve for
// large e-graphs with many alternatives.
//
// Landmarks are parts of every solution, whatever its layouts: values that every
// derivation of the roots needs (presolve/landmarks.h), and cuts. A cut is a set of
// operators; every solution has at least one of them. Cuts are found by dual ascent
// (dual_ascent.h) on a plain problem whose nodes are the operators, each at the cost of
// its cheapest strategy. A bound over layouts sees one value and its users at a time:
// alternatives that share inputs each seem to pay only a part of the inputs. A cut says
// that one alternative pays in full.
//
// The relaxation has a class per place, a node per strategy and per arc. It ignores ties,
// limits, and that a value has only one producer. Therefore its bound is valid, and its
// solution is optimal when it satisfies all three, which is often so.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_PLAIN_H
#define EG_EXTRACT_LAYOUT_LAYOUT_PLAIN_H

#include "base/owner.h"
#include "extract/layout/layout_search.h"

enum { EG_LAYOUT_CUT_VALUES = 6 };

typedef struct eg_layout_landmarks {
  eg_u32s values;
  eg_u32s cut_begin, cut_ops; // [cuts + 1]; of 2 to EG_LAYOUT_CUT_VALUES values
} eg_layout_landmarks;
EG_OWNER_DEFINE_MEMBERS(eg_layout_landmarks, (eg_u32s, values, cut_begin, cut_ops))

static inline uint32_t eg_layout_cut_count(const eg_layout_landmarks *landmarks) {
  return (uint32_t)landmarks->cut_begin.len - 1;
}

egraph_status eg_layout_landmarks_init(eg_layout_landmarks *landmarks,
                                       egraph_allocator alloc);
/// Finds values and sets of operators (cuts) that every solution of the active part uses,
/// with at most `max_work` visits of nodes for cuts (0: no limit). They stay landmarks
/// when more is deleted from `active`. Finds none when the deadline is near. Time and
/// memory: see eg_landmarks_find and eg_dual_ascent_run. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_landmarks_find(eg_layout_landmarks *landmarks,
                                       const eg_layout_active *active,
                                       const eg_layout_task *task, double deadline,
                                       uint64_t max_work);

/// Finds a bound and a solution by the plain relaxation, in a `share` of all work and of
/// the remaining time. `climbs`: solves it also at prices of memory, if its solution
/// exceeds memory limits. *out_done: a further call cannot find more.
egraph_status eg_layout_expand(eg_layout_search *search, const eg_layout_active *active,
                               double share, bool climbs, bool *out_done);

#endif
