// Stores terms in one pool of words, with a hash table over it. Copying walks the graph
// with its own stack: terms may be deeper than the call stack.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/ground.h"

#include "base/hash.h"
#include "base/owner.h"

enum { HEAD_WORDS = 2 };

void eg_ground_init(eg_ground_terms *terms, egraph_allocator alloc) {
  eg_u32s_init(&terms->words, alloc);
  eg_u32s_init(&terms->offsets, alloc);
  eg_flatmap_init(&terms->map, alloc);
}

void eg_ground_deinit(eg_ground_terms *terms) {
  eg_u32s_deinit(&terms->words);
  eg_u32s_deinit(&terms->offsets);
  eg_flatmap_deinit(&terms->map);
}

static uint64_t hash_ground(const eg_ground *term) {
  uint64_t hash = eg_hash_combine(term->op, (uint64_t)term->payload << 32 | term->arity);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = eg_hash_combine(hash, term->children[i]);
  return hash;
}

eg_ground eg_ground_at(const eg_ground_terms *terms, uint32_t term) {
  size_t begin = *eg_u32s_at(&terms->offsets, term);
  size_t end =
      term + 1 < terms->offsets.len ? terms->offsets.data[term + 1] : terms->words.len;
  const uint32_t *words = terms->words.data + begin;
  return (eg_ground){.op = words[0],
                     .payload = words[1],
                     .arity = (uint32_t)(end - begin) - HEAD_WORDS,
                     .children = words + HEAD_WORDS};
}

static bool is_same_ground(const void *user, uint32_t id, const void *key) {
  const eg_ground *term = key;
  eg_ground known = eg_ground_at(user, id);
  return known.op == term->op && known.payload == term->payload &&
         known.arity == term->arity &&
         (known.arity == 0 || memcmp(known.children, term->children,
                                     known.arity * sizeof *known.children) == 0);
}

egraph_status eg_ground_add(eg_ground_terms *terms, const eg_ground *term,
                            uint32_t *out) {
  uint64_t hash = hash_ground(term);
  if (eg_flatmap_find(&terms->map, hash, term, is_same_ground, terms, out))
    return EGRAPH_OK;
  size_t begin = terms->words.len, end = begin + HEAD_WORDS + term->arity;
  if (end >= UINT32_MAX / 2) return EG_FAIL(EGRAPH_E_MEMORY, "more than 8 GiB of terms");
  EG_TRY(eg_u32s_reserve(&terms->words, end));
  EG_TRY(eg_u32s_reserve(&terms->offsets, terms->offsets.len + 1));
  EG_TRY(eg_flatmap_insert(&terms->map, hash, eg_ground_count(terms)));
  uint32_t *words = terms->words.data + begin;
  words[0] = term->op;
  words[1] = term->payload;
  for (uint32_t i = 0; i < term->arity; i++)
    words[HEAD_WORDS + i] = term->children[i];
  terms->words.len = end;
  *out = eg_ground_count(terms);
  terms->offsets.data[terms->offsets.len++] = (uint32_t)begin;
  return EGRAPH_OK;
}

egraph_status eg_ground_replace(eg_ground_terms *terms, uint32_t term, uint32_t position,
                                uint32_t child, eg_u32s *scratch, uint32_t *out) {
  eg_ground changed = eg_ground_at(terms, term);
  EG_TRY(eg_u32s_resize(scratch, changed.arity));
  memcpy(scratch->data, changed.children, changed.arity * sizeof *scratch->data);
  *eg_u32s_at(scratch, position) = child;
  changed.children = scratch->data;
  return eg_ground_add(terms, &changed, out);
}

// ---- copying ---------------------------------------------------------------------

EG_OWNER_DEFINE(eg_ground_copier, (eg_flatmap, map), (eg_u32s, pairs, stack, row))

static bool is_pair_of(const void *user, uint32_t index, const void *key) {
  const eg_ground_copier *copier = user;
  return copier->pairs.data[2 * index] == *(const uint32_t *)key;
}

static bool find_copy(const eg_ground_copier *copier, uint32_t term, uint32_t *out) {
  uint32_t index;
  if (!eg_flatmap_find(&copier->map, eg_hash_mix(term), &term, is_pair_of, copier,
                       &index))
    return false;
  *out = copier->pairs.data[2 * index + 1];
  return true;
}

/// Copies a term if its children have been copied; else pushes the missing children.
static egraph_status copy_one(eg_ground_copier *copier, uint32_t term) {
  assert(copier->stack.len != 0);
  eg_ground copy = eg_ground_at(copier->from, term);
  EG_TRY(eg_u32s_resize(&copier->row, copy.arity));
  size_t missing = copier->stack.len;
  for (uint32_t i = 0; i < copy.arity; i++)
    if (!find_copy(copier, copy.children[i], &copier->row.data[i]))
      EG_TRY(eg_u32s_push(&copier->stack, copy.children[i]));
  if (copier->stack.len != missing) return EGRAPH_OK;
  copier->stack.len--;
  uint32_t pair[2] = {term};
  copy.children = copier->row.data;
  EG_TRY(eg_ground_add(copier->to, &copy, &pair[1]));
  EG_TRY(eg_flatmap_reserve_one(&copier->map));
  EG_TRY(eg_u32s_append(&copier->pairs, pair, 2));
  return eg_flatmap_insert(&copier->map, eg_hash_mix(term),
                           (uint32_t)(copier->pairs.len / 2 - 1));
}

egraph_status eg_ground_copy(eg_ground_copier *copier, uint32_t term, uint32_t *out) {
  assert(copier->from != NULL && copier->to != NULL);
  copier->stack.len = 0;
  EG_TRY(eg_u32s_push(&copier->stack, term));
  while (copier->stack.len != 0) {
    uint32_t top = copier->stack.data[copier->stack.len - 1], ignored;
    if (find_copy(copier, top, &ignored))
      copier->stack.len--;
    else
      EG_TRY(copy_one(copier, top));
  }
  bool found = find_copy(copier, term, out);
  assert(found && "it was just copied");
  (void)found;
  return EGRAPH_OK;
}
