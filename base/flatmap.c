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

static void place(eg_flat_slot *slots, uint32_t mask, eg_flat_slot entry) {
  uint32_t i = entry.tag & mask;
  while (slots[i].id_plus_one != 0)
    i = (i + 1) & mask;
  slots[i] = entry;
}

static egraph_status grow(eg_flatmap *map, uint32_t capacity) {
  eg_flat_slot *slots;
  EG_TRY(eg_alloc(map->alloc, capacity, sizeof *slots, &slots));
  for (uint32_t i = 0; i < map->capacity; i++)
    if (map->slots[i].id_plus_one != 0) place(slots, capacity - 1, map->slots[i]);
  eg_free(map->alloc, map->slots, map->capacity, sizeof *map->slots);
  map->slots = slots;
  map->capacity = capacity;
  return EGRAPH_OK;
}

/// Finds the capacity for `len` entries. Hash-consing a million nodes (math24) is faster
/// at load 3/4 than at 1/2: the tags make a longer probe cheap, and a table of half the
/// size has fewer cache misses.
static egraph_status capacity_for(uint32_t len, uint32_t *out) {
  uint32_t capacity = 16;
  while (capacity - capacity / 4 < len) {
    if (capacity > UINT32_MAX / 4)
      return EG_FAIL(EGRAPH_E_MEMORY, "hash table too large: %u entries", len);
    capacity *= 2;
  }
  *out = capacity;
  return EGRAPH_OK;
}

egraph_status eg_flatmap_reserve(eg_flatmap *map, uint32_t len) {
  uint32_t capacity;
  EG_TRY(capacity_for(len, &capacity));
  if (capacity <= map->capacity) return EGRAPH_OK;
  return grow(map, capacity);
}

static uint32_t slot_of(const eg_flatmap *map, uint64_t hash, uint32_t id) {
  uint32_t mask = map->capacity - 1, i = (uint32_t)(hash >> 32) & mask;
  while (map->slots[i].id_plus_one != id + 1) {
    assert(map->slots[i].id_plus_one != 0 && "the entry is present");
    i = (i + 1) & mask;
  }
  return i;
}

void eg_flatmap_remove(eg_flatmap *map, uint64_t hash, uint32_t id) {
  uint32_t mask = map->capacity - 1, hole = slot_of(map, hash, id);
  for (uint32_t i = (hole + 1) & mask; map->slots[i].id_plus_one != 0;
       i = (i + 1) & mask) {
    // The entry at i may move back to the hole unless its home slot is after the hole.
    uint32_t home = map->slots[i].tag & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    map->slots[hole] = map->slots[i];
    hole = i;
  }
  map->slots[hole].id_plus_one = 0;
  map->len--;
}

void eg_flatmap_replace(eg_flatmap *map, uint64_t hash, uint32_t id, uint32_t new_id) {
  map->slots[slot_of(map, hash, id)].id_plus_one = new_id + 1;
}
