// The pool of attribute lists.
//
//   lists: id -> eg_attrs in the arena (stable pointers)     index: contents -> id
//
// An entry is only visible when everything it needs was allocated; what a failed call
// leaves behind in the arena is freed with the pool.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "ops/einsum_labels.h"

EG_VEC_DEFINE(attr_lists, eg_attrs *);

struct eg_attr_pool {
  egraph_allocator alloc;
  eg_arena arena;
  attr_lists lists;
  eg_flatmap index;
};

static uint64_t float_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static bool same_ints(eg_ints a, eg_ints b) {
  return a.len == b.len &&
         (a.len == 0 || memcmp(a.data, b.data, a.len * sizeof *a.data) == 0);
}

static bool same_floats(eg_floats a, eg_floats b) {
  return a.len == b.len &&
         (a.len == 0 || memcmp(a.data, b.data, a.len * sizeof *a.data) == 0);
}

bool eg_attr_same(const eg_attr *a, const eg_attr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: return a->i == b->i;
  case EG_ATTR_FLOAT: return float_bits(a->f) == float_bits(b->f);
  case EG_ATTR_INTS: return same_ints(a->ints, b->ints);
  case EG_ATTR_FLOATS: return same_floats(a->floats, b->floats);
  case EG_ATTR_STRING: return strcmp(a->text, b->text) == 0;
  }
  return false;
}

bool eg_attrs_same(const eg_attrs *a, const eg_attrs *b) {
  if (a->op != b->op || a->count != b->count) return false;
  for (uint16_t i = 0; i < a->count; i++)
    if (!eg_attr_same(&a->slots[i], &b->slots[i])) return false;
  return true;
}

static uint64_t hash_slot(uint64_t hash, const eg_attr *slot) {
  switch (slot->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: return eg_hash_combine(hash, (uint64_t)slot->i);
  case EG_ATTR_FLOAT: return eg_hash_combine(hash, float_bits(slot->f));
  case EG_ATTR_INTS:
    hash = eg_hash_combine(hash, slot->ints.len);
    for (uint32_t i = 0; i < slot->ints.len; i++)
      hash = eg_hash_combine(hash, (uint64_t)slot->ints.data[i]);
    return hash;
  case EG_ATTR_FLOATS:
    hash = eg_hash_combine(hash, slot->floats.len);
    for (uint32_t i = 0; i < slot->floats.len; i++)
      hash = eg_hash_combine(hash, float_bits(slot->floats.data[i]));
    return hash;
  case EG_ATTR_STRING: return eg_hash_bytes(hash, slot->text, strlen(slot->text));
  }
  return hash;
}

static uint64_t hash_list(const eg_attrs *attrs) {
  uint64_t hash = eg_hash_combine(attrs->op, attrs->count);
  for (uint16_t i = 0; i < attrs->count; i++)
    hash = hash_slot(hash, &attrs->slots[i]);
  return hash;
}

static bool entry_equals(const void *user, uint32_t id, const void *key) {
  const eg_attr_pool *pool = user;
  return eg_attrs_same(pool->lists.data[id], key);
}

egraph_status eg_attr_pool_create(const egraph_allocator *alloc, eg_attr_pool **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_attr_pool *pool;
  EG_TRY(eg_alloc(heap, 1, sizeof *pool, &pool));
  pool->alloc = heap;
  eg_arena_init(&pool->arena, heap);
  attr_lists_init(&pool->lists, heap);
  eg_flatmap_init(&pool->index, heap);
  *out = pool;
  return EGRAPH_OK;
}

void eg_attr_pool_destroy(eg_attr_pool *pool) {
  if (pool == NULL) return;
  eg_flatmap_deinit(&pool->index);
  attr_lists_deinit(&pool->lists);
  eg_arena_deinit(&pool->arena);
  eg_free(pool->alloc, pool, 1, sizeof *pool);
}

static egraph_status copy_ints(eg_arena *arena, eg_ints *inout) {
  int64_t *data;
  if (inout->len == 0) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, inout->len, sizeof *data, &data));
  memcpy(data, inout->data, inout->len * sizeof *data);
  inout->data = data;
  return EGRAPH_OK;
}

static egraph_status copy_floats(eg_arena *arena, eg_floats *inout) {
  double *data;
  if (inout->len == 0) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, inout->len, sizeof *data, &data));
  memcpy(data, inout->data, inout->len * sizeof *data);
  inout->data = data;
  return EGRAPH_OK;
}

egraph_status eg_attr_copy(eg_arena *arena, const eg_attr *from, eg_attr *to) {
  *to = *from;
  switch (from->kind) {
  case EG_ATTR_INTS: return copy_ints(arena, &to->ints);
  case EG_ATTR_FLOATS: return copy_floats(arena, &to->floats);
  case EG_ATTR_STRING:
    return eg_arena_string(arena, from->text, strlen(from->text), &to->text);
  case EG_ATTR_INT:
  case EG_ATTR_FLOAT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: break;
  }
  return EGRAPH_OK;
}

static egraph_status copy_list(eg_arena *arena, const eg_attrs *from, eg_attrs **out) {
  eg_attrs *list;
  eg_attr *slots = NULL;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *list, &list));
  if (from->count != 0) EG_TRY(eg_arena_alloc(arena, from->count, sizeof *slots, &slots));
  for (uint16_t i = 0; i < from->count; i++)
    EG_TRY(eg_attr_copy(arena, &from->slots[i], &slots[i]));
  *list = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  *out = list;
  return EGRAPH_OK;
}

static egraph_status check_list(const eg_attrs *attrs) {
  if (attrs->op >= EG_OP_COUNT)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no operator number %u", attrs->op);
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  if (attrs->count != info->attr_count)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%s: got %u attributes, the operator table has %u; start from "
                   "eg_attrs_defaults",
                   info->name, attrs->count, info->attr_count);
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_attr *slot = &attrs->slots[i];
    bool holds = slot->kind == info->attrs[i].kind &&
                 (slot->kind != EG_ATTR_STRING || slot->text != NULL);
    if (!holds)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "%s: attribute %s has a value of the wrong kind; start from "
                     "eg_attrs_defaults",
                     info->name, info->attrs[i].name);
  }
  return EGRAPH_OK;
}

/// The equation of an einsum, canonical where it can be read and is not too long.
static eg_attr canonical_equation(const eg_attrs *attrs, char text[EG_EINSUM_TEXT]) {
  eg_attr equation = *eg_attr_at(attrs, EG_A_EINSUM_EQUATION);
  assert(attrs->count == 1);
  if (eg_einsum_canonical(equation.text, text)) equation.text = text;
  return equation;
}

egraph_status eg_attr_pool_add(eg_attr_pool *pool, const eg_attrs *attrs,
                               eg_attrs_id *out) {
  EG_TRY(check_list(attrs));
  char text[EG_EINSUM_TEXT];
  eg_attr equation;
  const eg_attrs einsum = {.op = EG_OP_EINSUM, .count = 1, .slots = &equation};
  if (attrs->op == EG_OP_EINSUM) {
    equation = canonical_equation(attrs, text);
    attrs = &einsum;
  }
  uint64_t hash = hash_list(attrs);
  if (eg_flatmap_find(&pool->index, hash, attrs, entry_equals, pool, &out->id))
    return EGRAPH_OK;
  EG_TRY(attr_lists_reserve(&pool->lists, pool->lists.len + 1));
  eg_attrs *list;
  EG_TRY(copy_list(&pool->arena, attrs, &list));
  uint32_t id = (uint32_t)pool->lists.len;
  EG_TRY(eg_flatmap_insert(&pool->index, hash, id));
  pool->lists.data[pool->lists.len++] = list;
  out->id = id;
  return EGRAPH_OK;
}

const eg_attrs *eg_attr_pool_get(const eg_attr_pool *pool, eg_attrs_id id) {
  return *attr_lists_at(&pool->lists, id.id);
}

size_t eg_attr_pool_bytes(const eg_attr_pool *pool) {
  return sizeof *pool + pool->arena.bytes + pool->lists.cap * sizeof *pool->lists.data +
         pool->index.capacity * sizeof *pool->index.slots;
}

// ---- open dimensions ----------------------------------------------------------------

bool eg_attrs_any_open(const eg_attrs *attrs) {
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_attr *slot = &attrs->slots[i];
    if (slot->kind == EG_ATTR_INT && eg_size_is_open(slot->i)) return true;
    if (slot->kind == EG_ATTR_INTS && eg_size_any_open(slot->ints.data, slot->ints.len))
      return true;
  }
  return false;
}

static egraph_status slot_at_sizes(eg_arena *arena, const eg_attr *slot,
                                   const int64_t *dims, eg_attr *out) {
  int64_t *data;
  *out = *slot;
  if (slot->kind == EG_ATTR_INT) out->i = eg_size_at(slot->i, dims);
  if (slot->kind != EG_ATTR_INTS || !eg_size_any_open(slot->ints.data, slot->ints.len))
    return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, slot->ints.len, sizeof *data, &data));
  for (uint32_t i = 0; i < slot->ints.len; i++)
    data[i] = eg_size_at(slot->ints.data[i], dims);
  out->ints.data = data;
  return EGRAPH_OK;
}

egraph_status eg_attrs_at_sizes(eg_arena *arena, const eg_attrs *attrs,
                                const int64_t *dims, eg_attrs *out) {
  eg_attr *slots;
  *out = *attrs;
  if (!eg_attrs_any_open(attrs)) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, attrs->count, sizeof *slots, &slots));
  for (uint16_t i = 0; i < attrs->count; i++)
    EG_TRY(slot_at_sizes(arena, &attrs->slots[i], dims, &slots[i]));
  out->slots = slots;
  return EGRAPH_OK;
}
