// Interned lists of tensor types: equal lists have one address. For the results of
// nodes with several.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_TYPE_LISTS_H
#define EG_REWRITES_TYPE_LISTS_H

#include "base/flatmap.h"
#include "ops/tensor.h"

typedef struct eg_type_list {
  const eg_type *types;
  uint32_t count;
} eg_type_list;
EG_VEC_DEFINE(eg_type_list_vec, eg_type_list);

typedef struct eg_type_lists {
  eg_arena arena;
  eg_type_list_vec lists;
  eg_flatmap map;
} eg_type_lists;

void eg_type_lists_init(eg_type_lists *lists, egraph_allocator alloc);
void eg_type_lists_deinit(eg_type_lists *lists);
/// *out is borrowed and stays valid for the life of `lists`.
egraph_status eg_type_lists_add(eg_type_lists *lists, const eg_type *types,
                                uint32_t count, const eg_type **out);
size_t eg_type_lists_bytes(const eg_type_lists *lists);

#endif
