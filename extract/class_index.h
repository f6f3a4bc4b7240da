// Rows of a problem the other way round: the nodes of a class, and the nodes that use it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_CLASS_INDEX_H
#define EG_EXTRACT_CLASS_INDEX_H

#include "extract/bits.h"
#include "extract/problem.h"

/// members[member_begin[c] .. member_begin[c+1]) are the nodes of class c, users likewise
/// the nodes with child c (as often as they name it), both in ascending order.
typedef struct eg_class_index {
  eg_u32s member_begin, members;
  eg_u32s user_begin, users;
  eg_bytes is_root; // [class]
} eg_class_index;

void eg_class_index_init(eg_class_index *index, egraph_allocator alloc);
void eg_class_index_deinit(eg_class_index *index);
/// Builds or rebuilds. O(nodes + edges). Fails with EGRAPH_E_MEMORY.
egraph_status eg_class_index_build(eg_class_index *index,
                                   const eg_extract_problem *problem);

/// Visit the nodes of a class, and the nodes that use it; `item` is the loop variable.
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

#endif
