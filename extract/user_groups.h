// The users of a class, grouped by the class that they are in: what rows aggregated by
// class are written from.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_USER_GROUPS_H
#define EG_EXTRACT_USER_GROUPS_H

#include "extract/class_index.h"

/// After find: group g is in class classes[g], and its nodes, ascending, are
/// nodes[begin[g] .. begin[g + 1]).
typedef struct eg_user_groups {
  eg_u32s classes, begin, nodes;
  eg_u32s group_of; // [class] 1 + group; 0 between calls
} eg_user_groups;

void eg_user_groups_init(eg_user_groups *groups, egraph_allocator alloc);
void eg_user_groups_deinit(eg_user_groups *groups);
/// Groups the users of `child`, in the order of their first node. O(users), and
/// O(classes) at the first call. Fails with EGRAPH_E_MEMORY.
egraph_status eg_user_groups_find(eg_user_groups *groups,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t child);

#endif
