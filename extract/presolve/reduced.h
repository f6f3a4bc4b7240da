// A reduced problem and the way back: the same kind of rows, plus the original nodes that
// each node represents.
//
// Merging a class into its only user makes one node out of two. Such a node carries a
// *part*: either a node of the original problem, or a pair of parts. Expanding the parts
// of the chosen nodes, and the part of all nodes fixed by presolve, gives the original
// choice; no pass needs code of its own for the way back.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PRESOLVE_REDUCED_H
#define EG_EXTRACT_PRESOLVE_REDUCED_H

#include "base/owner.h"
#include "extract/containers.h"
#include "extract/dual_ascent.h"
#include "extract/problem.h"

typedef struct eg_part_pair {
  uint32_t left, right;
} eg_part_pair;
EG_VEC_DEFINE(eg_part_pairs, eg_part_pair);

/// Parts of all reduced problems of one solve. Part p < leaf_count is node p of the
/// original problem; other parts are pairs. Parts are only added, never changed.
typedef struct eg_parts {
  uint32_t leaf_count;
  eg_part_pairs pairs;
  eg_bytes seen; // scratch of expand
  eg_u32s stack;
  eg_u32s cut_begin, cut_parts; // cut i: one of cut_parts[cut_begin[i] ..) is chosen
} eg_parts;
EG_OWNER_DEFINE_MEMBERS(eg_parts, (eg_part_pairs, pairs), (eg_bytes, seen),
                        (eg_u32s, stack, cut_begin, cut_parts))

void eg_parts_init(eg_parts *parts, egraph_allocator alloc, uint32_t leaf_count);
/// Returns in *out the union of two sets of original nodes (parts);
/// EG_EXTRACT_NONE: empty.
egraph_status eg_parts_join(eg_parts *parts, uint32_t a, uint32_t b, uint32_t *out);
/// Records a cut: solutions contain one of `count` parts (sets of original nodes).
/// eg_reduced.cuts lists the cuts of a model.
egraph_status eg_parts_add_cut(eg_parts *parts, const uint32_t *cut, uint32_t count,
                               uint32_t *out);

/// A reduced problem. Children of a node are ascending and distinct, and never its own
/// class; roots are distinct. A class may be empty; then no node uses it.
typedef struct eg_reduced {
  eg_extract_problem problem;
  eg_u32s part;   // [node]
  eg_u32s cuts;   // cuts of eg_parts that every solution of this model meets
  uint32_t fixed; // part of all nodes that are decided
  double offset;  // its cost
} eg_reduced;

egraph_status eg_reduced_init(eg_reduced *reduced, egraph_allocator alloc);
void eg_reduced_deinit(eg_reduced *reduced);
/// Empties `reduced` and gives it `class_count` classes; keeps its memory.
void eg_reduced_clear(eg_reduced *reduced, uint32_t class_count);
/// Copies the whole original problem: node n represents original node n.
egraph_status eg_reduced_from(eg_reduced *reduced, const eg_extract_problem *original);
egraph_status eg_reduced_copy(eg_reduced *to, const eg_reduced *from);
/// As eg_reduced_clear, but copies the nodes that `from` has decided, and their cost.
void eg_reduced_start(eg_reduced *reduced, const eg_reduced *from, uint32_t class_count);
/// Adds a node with its children sorted. Nodes that are their own child are left out.
egraph_status eg_reduced_add_node(eg_reduced *reduced, uint32_t class, double cost,
                                  uint32_t part, const uint32_t *children,
                                  uint32_t count);
/// Adds a copy of `node`, which represents the original nodes in `part`.
egraph_status eg_reduced_copy_node(eg_reduced *reduced, const eg_extract_problem *from,
                                   uint32_t node, uint32_t part);
/// Expands a choice of the reduced problem into choice[original class].
egraph_status eg_reduced_expand(const eg_reduced *reduced, eg_parts *parts,
                                const eg_extract_problem *original,
                                const uint32_t *reduced_choice, uint32_t *choice);

// ---- cuts on the way through presolve ---------------------------------------------

// Cuts are rows of nodes of which every solution has one; these were found on an earlier
// model and are still valid. Presolve turns the landmarks of the roots into roots and
// drops the edges to them; afterwards linear program and dual ascent cannot see that some
// node must use them. On sums closed under associativity and commutativity these cuts
// close most of the gap.

/// Appends the cuts of `reduced` as rows of its nodes. A node is in a row when its part
/// contains a part of the cut; cuts that the fixed part meets are left out.
/// O(parts + nodes * parts of a node that are in cuts).
egraph_status eg_reduced_list_cuts(const eg_reduced *reduced, const eg_parts *parts,
                                   eg_cuts *out);
/// Turns rows of nodes of a problem into cuts of the model that copies the problem
/// (eg_reduced_from): the inverse of eg_reduced_list_cuts.
egraph_status eg_reduced_load_cuts(eg_reduced *reduced, eg_parts *parts,
                                   const eg_cuts *cuts);

#endif
