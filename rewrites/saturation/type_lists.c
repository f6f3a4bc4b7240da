// The map goes from the hash of a list to its place in `lists`.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/type_lists.h"

#include <string.h>

#include "base/hash.h"

void eg_type_lists_init(eg_type_lists *lists, egraph_allocator alloc) {
  eg_arena_init(&lists->arena, alloc);
  eg_type_list_vec_init(&lists->lists, alloc);
  eg_flatmap_init(&lists->map, alloc);
}

void eg_type_lists_deinit(eg_type_lists *lists) {
  eg_arena_deinit(&lists->arena);
  eg_type_list_vec_deinit(&lists->lists);
  eg_flatmap_deinit(&lists->map);
}

static bool same_list(const void *user, uint32_t id, const void *key) {
  const eg_type_lists *lists = user;
  const eg_type_list *a = &lists->lists.data[id], *b = key;
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (!eg_type_same(&a->types[i], &b->types[i])) return false;
  return true;
}

egraph_status eg_type_lists_add(eg_type_lists *lists, const eg_type *types,
                                uint32_t count, const eg_type **out) {
  eg_type_list list = {.types = types, .count = count};
  uint64_t hash = eg_hash_combine(0, count);
  for (uint32_t i = 0; i < count; i++)
    hash = eg_hash_combine(hash, eg_type_hash(&types[i]));
  uint32_t id;
  if (eg_flatmap_find(&lists->map, hash, &list, same_list, lists, &id)) {
    *out = lists->lists.data[id].types;
    return EGRAPH_OK;
  }
  eg_type *copy;
  EG_TRY(eg_arena_alloc(&lists->arena, count, sizeof *copy, &copy));
  if (count != 0) memcpy(copy, types, count * sizeof *copy);
  list.types = copy;
  EG_TRY(eg_flatmap_reserve_one(&lists->map));
  EG_TRY(eg_type_list_vec_push(&lists->lists, list));
  (void)eg_flatmap_insert(&lists->map, hash, (uint32_t)lists->lists.len - 1);
  *out = copy;
  return EGRAPH_OK;
}

size_t eg_type_lists_bytes(const eg_type_lists *lists) {
  return lists->arena.bytes + lists->lists.cap * sizeof *lists->lists.data +
         lists->map.capacity * sizeof *lists->map.slots;
}
