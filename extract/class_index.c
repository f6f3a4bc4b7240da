// SPDX-License-Identifier: Apache-2.0
#include "extract/class_index.h"

#include "base/owner.h"

EG_OWNER_DEFINE(eg_class_index, (eg_u32s, member_begin, members, user_begin, users),
                (eg_bytes, is_root))

static egraph_status size_rows(eg_u32s *begin, eg_u32s *items, size_t rows,
                               size_t count) {
  begin->len = 0;
  items->len = 0;
  EG_TRY(eg_u32s_resize(begin, rows + 2));
  return eg_u32s_resize(items, count);
}

// begin[row + 2] holds the row's length on entry; afterwards begin[row + 1] is where the
// row is filled next, so that filling leaves the final offsets behind.
static void offsets(eg_u32s *begin) {
  for (size_t i = 1; i < begin->len; i++)
    begin->data[i] += begin->data[i - 1];
}

egraph_status eg_class_index_build(eg_class_index *index,
                                   const eg_extract_problem *problem) {
  uint32_t nodes = eg_extract_node_count(problem);
  size_t edges = problem->children.len;
  EG_TRY(size_rows(&index->member_begin, &index->members, problem->class_count, nodes));
  EG_TRY(size_rows(&index->user_begin, &index->users, problem->class_count, edges));
  index->is_root.len = 0;
  EG_TRY(eg_bytes_resize(&index->is_root, problem->class_count));
  for (size_t i = 0; i < problem->roots.len; i++)
    index->is_root.data[problem->roots.data[i]] = 1;
  for (uint32_t n = 0; n < nodes; n++)
    index->member_begin.data[problem->node_class.data[n] + 2]++;
  for (size_t i = 0; i < edges; i++)
    index->user_begin.data[problem->children.data[i] + 2]++;
  offsets(&index->member_begin);
  offsets(&index->user_begin);
  for (uint32_t n = 0; n < nodes; n++) {
    uint32_t *slot = &index->member_begin.data[problem->node_class.data[n] + 1];
    index->members.data[(*slot)++] = n;
    EG_EACH_CHILD(problem, n, child) {
      index->users.data[index->user_begin.data[child + 1]++] = n;
    }
  }
  return EGRAPH_OK;
}
