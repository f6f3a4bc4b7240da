// A hash table with open addressing from a 32-bit tag (the upper half of the hash) to a
// 32-bit id. It is the only hash table of the hot path.
//
//   slots: | id+1, tag | 0, - | id+1, tag | ...
//   power of two many, load <= 3/4, linear probing
//
// The entries live in the caller's vector; the map stores only their indices, and the
// caller's `equal` compares entries. The tag alone determines the home slot; growing and
// removing therefore never read an entry. Removal shifts later slots back: there are
// no tombstones.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_FLATMAP_H
#define EG_BASE_FLATMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

typedef struct eg_flat_slot {
  uint32_t id_plus_one; // 0: free
  uint32_t tag;
} eg_flat_slot;

typedef struct eg_flatmap {
  eg_flat_slot *slots;
  uint32_t capacity; // power of two, or 0
  uint32_t len;
  egraph_allocator alloc;
} eg_flatmap;

void eg_flatmap_init(eg_flatmap *map, egraph_allocator alloc);
void eg_flatmap_deinit(eg_flatmap *map);
/// Removes every entry, but keeps the memory.
void eg_flatmap_clear(eg_flatmap *map);
/// Reserves memory for `len` entries. Fails with EGRAPH_E_MEMORY; the map is
/// then unchanged.
egraph_status eg_flatmap_reserve(eg_flatmap *map, uint32_t len);

/// Returns true when the caller's entry `id` equals the key that is looked up.
typedef bool (*eg_flat_equal)(const void *user, uint32_t id, const void *key);

/// Returns the slot where the search for a hash begins, for prefetching; the map must
/// have slots.
static inline const eg_flat_slot *eg_flatmap_home(const eg_flatmap *map, uint64_t hash) {
  return &map->slots[(uint32_t)(hash >> 32) & (map->capacity - 1)];
}

/// Looks up `key` with hash `hash`. Expected O(1).
static inline bool eg_flatmap_find(const eg_flatmap *map, uint64_t hash, const void *key,
                                   eg_flat_equal equal, const void *user,
                                   uint32_t *out_id) {
  if (map->capacity == 0) return false;
  uint32_t mask = map->capacity - 1, tag = (uint32_t)(hash >> 32);
  for (uint32_t i = tag & mask;; i = (i + 1) & mask) {
    const eg_flat_slot *slot = &map->slots[i];
    if (slot->id_plus_one == 0) return false;
    if (slot->tag == tag && equal(user, slot->id_plus_one - 1, key)) {
      *out_id = slot->id_plus_one - 1;
      return true;
    }
  }
}

/// Reserves memory for one more entry, so that eg_flatmap_put may be called.
static inline egraph_status eg_flatmap_reserve_one(eg_flatmap *map) {
  if (map->len < map->capacity - map->capacity / 4) return EGRAPH_OK;
  return eg_flatmap_reserve(map, map->len + 1);
}

/// Inserts `id` (not UINT32_MAX), whose key must be absent. The caller has called
/// eg_flatmap_reserve_one. Expected O(1).
static inline void eg_flatmap_put(eg_flatmap *map, uint64_t hash, uint32_t id) {
  uint32_t mask = map->capacity - 1, tag = (uint32_t)(hash >> 32), i = tag & mask;
  while (map->slots[i].id_plus_one != 0)
    i = (i + 1) & mask;
  map->slots[i] = (eg_flat_slot){.id_plus_one = id + 1, .tag = tag};
  map->len++;
}

/// Inserts `id`, with more memory if necessary. Amortized O(1). Fails with
/// EGRAPH_E_MEMORY; the map is then unchanged.
static inline egraph_status eg_flatmap_insert(eg_flatmap *map, uint64_t hash,
                                              uint32_t id) {
  EG_TRY(eg_flatmap_reserve_one(map));
  eg_flatmap_put(map, hash, id);
  return EGRAPH_OK;
}

/// Removes entry `id`, which was inserted with `hash` and must be present.
void eg_flatmap_remove(eg_flatmap *map, uint64_t hash, uint32_t id);
/// Replaces entry `id`, which must be present, by `new_id`, which has the same key.
void eg_flatmap_replace(eg_flatmap *map, uint64_t hash, uint32_t id, uint32_t new_id);

#endif
