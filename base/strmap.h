// A map from strings to uint32_t over uthash: names of rules, tensors, options.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_STRMAP_H
#define EG_BASE_STRMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

typedef struct eg_strmap {
  struct eg_strmap_entry *entries;
  egraph_allocator alloc;
} eg_strmap;

void eg_strmap_init(eg_strmap *map, egraph_allocator alloc);
void eg_strmap_deinit(eg_strmap *map);
/// Inserts or overwrites; the key is copied. Fails with EGRAPH_E_MEMORY; the map is
/// then unchanged.
egraph_status eg_strmap_put(eg_strmap *map, const char *key, uint32_t value);
/// Finds the value of a key; false when it is absent; *out is then untouched.
bool eg_strmap_find(const eg_strmap *map, const char *key, uint32_t *out);
size_t eg_strmap_len(const eg_strmap *map);

#endif
