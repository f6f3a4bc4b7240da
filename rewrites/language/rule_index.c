// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_index.h"

#include <string.h>

#include "base/hash.h"

void eg_rule_index_init(eg_rule_index *index, egraph_allocator alloc, bool parallel) {
  *index = (eg_rule_index){.parallel = parallel};
  eg_rule_list_init(&index->list, alloc);
  eg_flatmap_init(&index->names, alloc);
  eg_flatmap_init(&index->keys, alloc);
}

void eg_rule_index_deinit(eg_rule_index *index) {
  eg_rule_list_deinit(&index->list);
  eg_flatmap_deinit(&index->names);
  eg_flatmap_deinit(&index->keys);
}

static uint64_t hash_text(const char *text) {
  return eg_hash_bytes(0, text, strlen(text));
}

static const char *key_of(const eg_rule_index *index, const eg_rule *rule) {
  return index->parallel ? rule->parallel_key : rule->key;
}

static bool same_name(const void *user, uint32_t id, const void *key) {
  const eg_rule_index *index = user;
  return strcmp(index->list.data[id]->name, key) == 0;
}

static bool same_key(const void *user, uint32_t id, const void *key) {
  const eg_rule_index *index = user;
  return strcmp(key_of(index, index->list.data[id]), key) == 0;
}

bool eg_rule_index_find(const eg_rule_index *index, const char *name, uint32_t *out) {
  return eg_flatmap_find(&index->names, hash_text(name), name, same_name, index, out);
}

bool eg_rule_index_find_equal(const eg_rule_index *index, const eg_rule *rule,
                              uint32_t *out) {
  const char *key = key_of(index, rule);
  return eg_flatmap_find(&index->keys, hash_text(key), key, same_key, index, out);
}

egraph_status eg_rule_index_add(eg_rule_index *index, eg_arena *arena,
                                const eg_rule *rule) {
  eg_rule *kept;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *kept, &kept));
  *kept = *rule;
  EG_TRY(eg_flatmap_reserve_one(&index->names));
  EG_TRY(eg_flatmap_reserve_one(&index->keys));
  uint32_t id = (uint32_t)index->list.len;
  EG_TRY(eg_rule_list_push(&index->list, kept));
  (void)eg_flatmap_insert(&index->names, hash_text(kept->name), id);
  (void)eg_flatmap_insert(&index->keys, hash_text(key_of(index, kept)), id);
  return EGRAPH_OK;
}

void eg_rule_index_shrink(eg_rule_index *index, size_t count) {
  while (index->list.len > count) {
    eg_rule *last = eg_rule_list_pop(&index->list);
    uint32_t id = (uint32_t)index->list.len;
    eg_flatmap_remove(&index->names, hash_text(last->name), id);
    eg_flatmap_remove(&index->keys, hash_text(key_of(index, last)), id);
  }
}
