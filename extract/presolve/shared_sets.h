// Sets of small numbers with shared structure: binary tries whose equal parts exist once.
//
// A leaf holds 64 neighbouring numbers as bits; branches exist only where both sides hold
// something (Morrison 1968). Equal sets have the same id, so that comparing is O(1), and
// a union or intersection only walks where its operands differ. Sets that grow by a few
// members from one to the next (landmarks along a deep graph) thus take a few tens of
// bytes each, however large they are.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PRESOLVE_SHARED_SETS_H
#define EG_EXTRACT_PRESOLVE_SHARED_SETS_H

#include "base/flatmap.h"
#include "base/owner.h"
#include "extract/containers.h"

/// A set is the id of its node; 0 is the empty set. Parts of a set have smaller ids than
/// the set.
///
/// `code` is the middle of the range of words that the node covers, in half words: 2w + 1
/// for the leaf of word w; a branch ends in as many zero bits as it has levels below.
typedef struct eg_set_node {
  uint32_t code;
  uint32_t left, right; // of a leaf: lower and upper half of its word; else child nodes
} eg_set_node;
EG_VEC_DEFINE(eg_set_nodes, eg_set_node);

typedef struct eg_set_memo {
  uint32_t a, b, result; // b: with the operation in the top bit
} eg_set_memo;
EG_VEC_DEFINE(eg_set_memos, eg_set_memo);

typedef struct eg_sets {
  eg_set_nodes nodes; // [0]: the empty set
  eg_flatmap known;
  eg_set_memos memo; // results, overwritten at any time
  uint64_t steps;    // steps of all operations so far
} eg_sets;
EG_OWNER_DEFINE_STATIC(eg_sets, (eg_set_nodes, nodes), (eg_flatmap, known),
                       (eg_set_memos, memo))

/// Drops all sets and prepares for new ones.
egraph_status eg_sets_start(eg_sets *sets);
/// Frees the tables for adding sets. Sets can still be read; none can be added before
/// eg_sets_start or eg_sets_compact.
void eg_sets_finish(eg_sets *sets);

egraph_status eg_sets_single(eg_sets *sets, uint32_t member, uint32_t *out);
/// Makes the set {0 .. count - 1}. O(count).
egraph_status eg_sets_range(eg_sets *sets, uint32_t count, uint32_t *out);
/// Find or make the union, and the intersection, of a and b. O(part where they differ).
egraph_status eg_sets_union(eg_sets *sets, uint32_t a, uint32_t b, uint32_t *out);
egraph_status eg_sets_intersection(eg_sets *sets, uint32_t a, uint32_t b, uint32_t *out);
/// Drops every set that is no part of sets[ids[0 .. count)], and renumbers the ids.
/// O(nodes). Fails with EGRAPH_E_MEMORY.
egraph_status eg_sets_compact(eg_sets *sets, uint32_t *ids, size_t count);

static inline bool eg_sets_is_leaf(const eg_set_node *node) { return node->code & 1; }
static inline uint64_t eg_sets_word(const eg_set_node *leaf) {
  return leaf->left | (uint64_t)leaf->right << 32;
}
/// True when the set contains `member`. O(log numbers).
bool eg_sets_has(const eg_sets *sets, uint32_t set, uint32_t member);
/// Appends the members of a set, ascending.
egraph_status eg_sets_list(const eg_sets *sets, uint32_t set, eg_u32s *out);
/// Returns the part of `set` in the range of words of `code`: 0, a node in that range or
/// with that code, or, when `set` reaches beyond that range, a node above it.
uint32_t eg_sets_narrow(const eg_sets *sets, uint32_t set, uint32_t code);

#endif
