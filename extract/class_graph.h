// The class graph of a problem: the nodes of a class, the nodes that use it, its strongly
// connected components, and the users of a class grouped by their own class. Every
// algorithm of extraction walks this graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_CLASS_GRAPH_H
#define EG_EXTRACT_CLASS_GRAPH_H

#include "base/owner.h"
#include "extract/containers.h"
#include "extract/problem.h"

/// members[member_begin[c] .. member_begin[c+1]) are the nodes of class c; users holds
/// likewise the nodes with child c, once per mention. Both lists are ascending.
typedef struct eg_class_index {
  eg_u32s member_begin, members;
  eg_u32s user_begin, users;
  eg_bytes is_root; // [class]
} eg_class_index;
EG_OWNER_DEFINE_STATIC(eg_class_index,
                       (eg_u32s, member_begin, members, user_begin, users),
                       (eg_bytes, is_root))

/// Builds or rebuilds the index. O(nodes + edges). Fails with EGRAPH_E_MEMORY.
egraph_status eg_class_index_build(eg_class_index *index,
                                   const eg_extract_problem *problem);

/// Loops over the nodes of a class, and over the nodes that use the class; `item` is the
/// loop variable.
#define EG_EACH_MEMBER(index, class, item)                                               \
  EG_EACH_OF_ROW_((index)->member_begin.data, (index)->members.data, class, item)
#define EG_EACH_USER(index, class, item)                                                 \
  EG_EACH_OF_ROW_((index)->user_begin.data, (index)->users.data, class, item)

static inline uint32_t eg_class_index_member_count(const eg_class_index *index,
                                                   uint32_t class) {
  return index->member_begin.data[class + 1] - index->member_begin.data[class];
}
static inline uint32_t eg_class_index_user_count(const eg_class_index *index,
                                                 uint32_t class) {
  return index->user_begin.data[class + 1] - index->user_begin.data[class];
}

// ---- strongly connected components ------------------------------------------------

/// Fills component[class], numbered so that no edge leads to a higher number, and
/// `order`, the classes by component, children first. O(nodes + edges), iterative.
egraph_status eg_components_find(const eg_extract_problem *problem,
                                 const eg_class_index *index, eg_u32s *component,
                                 eg_u32s *order);

// ---- users by their class ---------------------------------------------------------

// Nodes that use a class, grouped by their own class: linear programs add one row for
// each group.

/// Groups of the nodes that use a class: group g is in class classes[g], and its nodes,
/// ascending, are nodes[begin[g] .. begin[g + 1]).
typedef struct eg_user_groups {
  eg_u32s classes, begin, nodes;
  eg_u32s group_of; // [class] 1 + group; 0 between calls
} eg_user_groups;
EG_OWNER_DEFINE_STATIC(eg_user_groups, (eg_u32s, classes, begin, nodes, group_of))

/// Groups the nodes that use class `child` by their class, in the order of first nodes.
/// O(users), and O(classes) at the first call. Fails with EGRAPH_E_MEMORY.
egraph_status eg_user_groups_find(eg_user_groups *groups,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t child);

// ---- derivations ------------------------------------------------------------------

/// Flags the classes that are derivable through nodes with x above the threshold (x NULL:
/// through all nodes). Afterwards waiting[node] counts the node's children that are not
/// derivable; `queue` lists the derivable classes, children first. O(nodes + edges).
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_derivable_find(const eg_extract_problem *problem,
                                const eg_class_index *index, const double *x,
                                double threshold, eg_bytes *derivable, eg_u32s *waiting,
                                eg_u32s *queue);

#endif
