// SPDX-License-Identifier: Apache-2.0
#include "base/strmap.h"

#include <string.h>

#include "base/memory.h"

// Allocation of uthash goes through a local variable `uhash_alloc` that every function
// using a HASH_ macro has in scope; a failed insertion sets the local variable
// `uhash_failed`; nothing calls exit().
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) uhash_alloc.resize(uhash_alloc.self, NULL, 0, (size))
#define uthash_free(pointer, size)                                                       \
  ((void)uhash_alloc.resize(uhash_alloc.self, (pointer), (size), 0))
#define uthash_nonfatal_oom(element) ((void)(element), uhash_failed = true)
#include <uthash.h>

struct eg_strmap_entry {
  UT_hash_handle hh;
  uint32_t value;
  size_t bytes; // bytes of the key, terminator included
  char key[];
};

void eg_strmap_init(eg_strmap *map, egraph_allocator alloc) {
  *map = (eg_strmap){.alloc = alloc};
}

void eg_strmap_deinit(eg_strmap *map) {
  egraph_allocator uhash_alloc = map->alloc;
  struct eg_strmap_entry *entry = map->entries, *next;
  HASH_CLEAR(hh, map->entries);
  for (; entry != NULL; entry = next) {
    next = entry->hh.next;
    eg_free(map->alloc, entry, 1, sizeof *entry + entry->bytes);
  }
  map->entries = NULL;
}

static struct eg_strmap_entry *lookup(const eg_strmap *map, const char *key) {
  struct eg_strmap_entry *entry;
  HASH_FIND_STR(map->entries, key, entry);
  return entry;
}

egraph_status eg_strmap_put(eg_strmap *map, const char *key, uint32_t value) {
  struct eg_strmap_entry *entry = lookup(map, key);
  if (entry != NULL) {
    entry->value = value;
    return EGRAPH_OK;
  }
  size_t bytes = strlen(key) + 1;
  EG_TRY(eg_alloc(map->alloc, 1, sizeof *entry + bytes, &entry));
  entry->value = value;
  entry->bytes = bytes;
  memcpy(entry->key, key, bytes);
  egraph_allocator uhash_alloc = map->alloc;
  bool uhash_failed = false;
  HASH_ADD_KEYPTR(hh, map->entries, entry->key, bytes - 1, entry);
  if (uhash_failed) {
    eg_free(map->alloc, entry, 1, sizeof *entry + bytes);
    return EG_FAIL(EGRAPH_E_MEMORY, "out of memory: could not add the name '%s'", key);
  }
  return EGRAPH_OK;
}

bool eg_strmap_find(const eg_strmap *map, const char *key, uint32_t *out) {
  const struct eg_strmap_entry *entry = lookup(map, key);
  if (entry == NULL) return false;
  *out = entry->value;
  return true;
}

size_t eg_strmap_len(const eg_strmap *map) { return HASH_COUNT(map->entries); }
