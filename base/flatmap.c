// SPDX-License-Identifier: Apache-2.0
#include "base/flatmap.h"

#include <assert.h>
#include <string.h>

void eg_flatmap_init(eg_flatmap *map, egraph_allocator alloc) {
  *map = (eg_flatmap){.alloc = alloc};
}

void eg_flatmap_deinit(eg_flatmap *map) {
  eg_free(map->alloc, map->slots, map->capacity, sizeof *map->slots);
  eg_flatmap_init(map, map->alloc);
}

void eg_flatmap_clear(eg_flatmap *map) {
  if (map->capacity != 0) memset(map->slots, 0, map->capacity * sizeof *map->slots);
  map->len = 0;
}

static void place(eg_flat_slot *slots, uint32_t mask, uint64_t hash, uint32_t id) {
  uint32_t i = (uint32_t)hash & mask;
  while (slots[i].id_plus_one != 0)
    i = (i + 1) & mask;
  slots[i] = (eg_flat_slot){.id_plus_one = id + 1, .tag = (uint32_t)(hash >> 32)};
}

static egraph_status grow(eg_flatmap *map, uint32_t capacity, eg_flat_hash hash_of,
                          const void *user) {
  eg_flat_slot *slots;
  EG_TRY(eg_alloc(map->alloc, capacity, sizeof *slots, &slots));
  for (uint32_t i = 0; i < map->capacity; i++)
    if (map->slots[i].id_plus_one != 0) {
      uint32_t id = map->slots[i].id_plus_one - 1;
      place(slots, capacity - 1, hash_of(user, id), id);
    }
  eg_free(map->alloc, map->slots, map->capacity, sizeof *map->slots);
  map->slots = slots;
  map->capacity = capacity;
  return EGRAPH_OK;
}

static egraph_status capacity_for(uint32_t len, uint32_t *out) {
  uint32_t capacity = 16;
  while (capacity / 2 < len) {
    if (capacity > UINT32_MAX / 4)
      return EG_FAIL(EGRAPH_E_MEMORY, "hash table too large: %u entries", len);
    capacity *= 2;
  }
  *out = capacity;
  return EGRAPH_OK;
}

egraph_status eg_flatmap_reserve(eg_flatmap *map, uint32_t len) {
  assert(map->len == 0 && "reserve before the first insertion");
  uint32_t capacity;
  EG_TRY(capacity_for(len, &capacity));
  if (capacity <= map->capacity) return EGRAPH_OK;
  return grow(map, capacity, NULL, NULL);
}

egraph_status eg_flatmap_insert(eg_flatmap *map, uint64_t hash, uint32_t id,
                                eg_flat_hash hash_of, const void *user) {
  assert(id != UINT32_MAX);
  if (map->len >= map->capacity / 2) {
    uint32_t capacity;
    EG_TRY(capacity_for(map->len + 1, &capacity));
    EG_TRY(grow(map, capacity, hash_of, user));
  }
  place(map->slots, map->capacity - 1, hash, id);
  map->len++;
  return EGRAPH_OK;
}
