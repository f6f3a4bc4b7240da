// Lists the items of each row one row after the other, as in a compressed sparse matrix.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_GROUPS_H
#define EG_BASE_GROUPS_H

#include "base/vec.h"

/// Groups items: row[i] is the row of item i, or UINT32_MAX for no row. The items of row
/// r become items[begin[r] .. begin[r + 1]), in ascending order. `begin` and `items` must
/// be empty before. O(items + rows). Fails with EGRAPH_E_MEMORY.
static inline egraph_status eg_group_items(const eg_u32s *row, size_t rows,
                                           eg_u32s *begin, eg_u32s *items) {
  EG_TRY(eg_u32s_resize(begin, rows + 2));
  EG_TRY(eg_u32s_resize(items, row->len));
  for (size_t i = 0; i < row->len; i++)
    if (row->data[i] != UINT32_MAX) begin->data[row->data[i] + 2]++;
  for (size_t r = 0; r < rows; r++)
    begin->data[r + 2] += begin->data[r + 1];
  for (size_t i = 0; i < row->len; i++)
    if (row->data[i] != UINT32_MAX)
      items->data[begin->data[row->data[i] + 1]++] = (uint32_t)i;
  begin->len = rows + 1;
  items->len = begin->data[rows];
  return EGRAPH_OK;
}

#endif
