// SPDX-License-Identifier: Apache-2.0
#include "extract/user_groups.h"

#include "base/owner.h"

EG_OWNER_DEFINE(eg_user_groups, (eg_u32s, classes, begin, nodes, group_of))

// begin[g + 2] counts group g, becomes where the group after it is filled next, and is
// its end when all are filled.
egraph_status eg_user_groups_find(eg_user_groups *groups,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t child) {
  const uint32_t *users = index->users.data, *class_of = problem->node_class.data;
  uint32_t first = index->user_begin.data[child],
           last = index->user_begin.data[child + 1];
  EG_TRY(eg_u32s_resize(&groups->group_of, problem->class_count));
  EG_TRY(eg_u32s_reserve(&groups->classes, last - first));
  EG_TRY(eg_u32s_reserve(&groups->begin, last - first + 2));
  EG_TRY(eg_u32s_reserve(&groups->nodes, last - first));
  groups->classes.len = 0;
  groups->begin.len = 2;
  groups->begin.data[0] = groups->begin.data[1] = 0;
  for (uint32_t u = first; u < last; u++) {
    uint32_t *group = &groups->group_of.data[class_of[users[u]]];
    if (*group == 0) {
      groups->classes.data[groups->classes.len++] = class_of[users[u]];
      groups->begin.data[groups->begin.len++] = 0;
      *group = (uint32_t)groups->classes.len;
    }
    groups->begin.data[*group + 1]++;
  }
  for (size_t g = 2; g < groups->begin.len; g++)
    groups->begin.data[g] += groups->begin.data[g - 1];
  groups->nodes.len = last - first;
  for (uint32_t u = first; u < last; u++)
    groups->nodes.data[groups->begin.data[groups->group_of.data[class_of[users[u]]]]++] =
        users[u];
  groups->begin.len--;
  for (size_t g = 0; g < groups->classes.len; g++)
    groups->group_of.data[groups->classes.data[g]] = 0;
  return EGRAPH_OK;
}
