// The pool of attribute lists.
//
//   lists: id -> eg_attrs in the arena (stable pointers)     index: contents -> id
//
// An entry becomes visible only after all its memory is allocated; memory that a failed
// call leaves in the arena is freed with the pool.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/sexpr.h"
#include "ops/einsum.h"

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

/// A list of integers or of floating-point numbers, as an attribute value.
typedef struct item_list {
  const void *data;
  uint32_t len;
} item_list;

enum { ITEM_BYTES = sizeof(int64_t) };
_Static_assert(sizeof(double) == ITEM_BYTES, "items of both kinds of lists");

static item_list attr_items(const eg_attr *slot) {
  if (slot->kind == EG_ATTR_INTS) return (item_list){slot->ints.data, slot->ints.len};
  assert(slot->kind == EG_ATTR_FLOATS);
  return (item_list){slot->floats.data, slot->floats.len};
}

static void set_list(eg_attr *slot, const void *data, uint32_t len) {
  if (slot->kind == EG_ATTR_INTS)
    slot->ints = (eg_ints){.data = data, .len = len};
  else
    slot->floats = (eg_floats){.data = data, .len = len};
}

static bool same_list(item_list a, item_list b) {
  return a.len == b.len &&
         (a.len == 0 || memcmp(a.data, b.data, a.len * (size_t)ITEM_BYTES) == 0);
}

bool eg_attr_same(const eg_attr *a, const eg_attr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: return a->i == b->i;
  case EG_ATTR_FLOAT: return float_bits(a->f) == float_bits(b->f);
  case EG_ATTR_INTS:
  case EG_ATTR_FLOATS: return same_list(attr_items(a), attr_items(b));
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

static uint64_t hash_items(uint64_t hash, item_list list) {
  hash = eg_hash_combine(hash, list.len);
  for (uint32_t i = 0; i < list.len; i++) {
    uint64_t bits;
    memcpy(&bits, (const char *)list.data + i * (size_t)ITEM_BYTES, sizeof bits);
    hash = eg_hash_combine(hash, bits);
  }
  return hash;
}

static uint64_t hash_slot(uint64_t hash, const eg_attr *slot) {
  switch (slot->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: return eg_hash_combine(hash, (uint64_t)slot->i);
  case EG_ATTR_FLOAT: return eg_hash_combine(hash, float_bits(slot->f));
  case EG_ATTR_INTS:
  case EG_ATTR_FLOATS: return hash_items(hash, attr_items(slot));
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

static egraph_status copy_list(eg_arena *arena, item_list from, eg_attr *to) {
  void *data;
  if (from.len == 0) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, from.len, ITEM_BYTES, &data));
  memcpy(data, from.data, from.len * (size_t)ITEM_BYTES);
  set_list(to, data, from.len);
  return EGRAPH_OK;
}

egraph_status eg_attr_copy(eg_arena *arena, const eg_attr *from, eg_attr *to) {
  *to = *from;
  switch (from->kind) {
  case EG_ATTR_INTS:
  case EG_ATTR_FLOATS: return copy_list(arena, attr_items(from), to);
  case EG_ATTR_STRING:
    return eg_arena_string(arena, from->text, strlen(from->text), &to->text);
  case EG_ATTR_INT:
  case EG_ATTR_FLOAT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: break;
  }
  return EGRAPH_OK;
}

static egraph_status copy_attrs(eg_arena *arena, const eg_attrs *from, eg_attrs **out) {
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

egraph_status eg_attr_pool_add(eg_attr_pool *pool, const eg_attrs *attrs,
                               eg_attrs_id *out) {
  EG_TRY(check_list(attrs));
  char text[EG_EINSUM_TEXT];
  eg_attr equation;
  const eg_attrs einsum = {.op = EG_OP_EINSUM, .count = 1, .slots = &equation};
  if (attrs->op == EG_OP_EINSUM) {
    assert(attrs->count == 1);
    equation = *eg_attr_at(attrs, EG_A_EINSUM_EQUATION);
    if (eg_einsum_canonical(equation.text, text)) equation.text = text;
    attrs = &einsum;
  }
  uint64_t hash = hash_list(attrs);
  if (eg_flatmap_find(&pool->index, hash, attrs, entry_equals, pool, &out->id))
    return EGRAPH_OK;
  EG_TRY(attr_lists_reserve(&pool->lists, pool->lists.len + 1));
  eg_attrs *list;
  EG_TRY(copy_attrs(&pool->arena, attrs, &list));
  uint32_t id = (uint32_t)pool->lists.len;
  EG_TRY(eg_flatmap_insert(&pool->index, hash, id));
  pool->lists.data[pool->lists.len++] = list;
  out->id = id;
  return EGRAPH_OK;
}

const eg_attrs *eg_attr_pool_get(const eg_attr_pool *pool, eg_attrs_id id) {
  assert(id.id < pool->lists.len);
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

// ---- text -----------------------------------------------------------------------------

static egraph_status malformed(const eg_op_info *op, const eg_attr_info *info,
                               const char *text) {
  static const char *const wanted[] = {
#define KIND_TEXT(id, meaning) [id] = meaning,
      EG_ATTR_KIND_LIST(KIND_TEXT)
#undef KIND_TEXT
  };
  return EG_FAIL(EGRAPH_E_PARSE,
                 "%s: attribute %s wants a value of the form: %s; got '%s'", op->name,
                 info->name, wanted[info->kind], text);
}

static egraph_status unknown_symbol(const eg_op_info *op, const eg_attr_info *info,
                                    const char *text) {
  char list[256] = "";
  for (size_t i = 0; info->symbols[i] != NULL; i++) {
    size_t used = strlen(list);
    (void)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : " ",
                   info->symbols[i]);
  }
  return EG_FAIL(EGRAPH_E_PARSE, "%s: attribute %s is one of: %s; got '%s'", op->name,
                 info->name, list, text);
}

static bool is_separator(char c) { return c == ' ' || c == '\t' || c == '\n'; }

enum { MAX_NUMBER = 40 };

/// Copies the next number of an attribute's list as text and moves *cursor behind it;
/// false if no number follows.
static bool next_item(const char **cursor, char number[MAX_NUMBER]) {
  while (is_separator(**cursor))
    ++*cursor;
  size_t length = strcspn(*cursor, " \t\n]");
  if (length == 0 || length >= MAX_NUMBER) return false;
  memcpy(number, *cursor, length);
  number[length] = '\0';
  *cursor += length;
  return true;
}

static size_t most_items(const char *text) { return strlen(text) / 2 + 1; }

/// True when both the list and the text end here.
static bool ends_list(const char *text) { return text[0] == ']' && text[1] == '\0'; }

// Parses "[1 2 3]". Sets *well_formed.
static egraph_status parse_list(eg_arena *arena, const char *text, bool *well_formed,
                                eg_attr *inout) {
  char number[MAX_NUMBER];
  void *data;
  uint32_t len = 0;
  *well_formed = false;
  if (*text != '[') return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(arena, most_items(text++), ITEM_BYTES, &data));
  for (; next_item(&text, number); len++)
    if (!(inout->kind == EG_ATTR_INTS ? eg_parse_int64(number, (int64_t *)data + len)
                                      : eg_parse_double(number, (double *)data + len)))
      return EGRAPH_OK;
  *well_formed = ends_list(text);
  set_list(inout, data, len);
  return EGRAPH_OK;
}

// Parses a literal in quotes; any other text is the string itself.
static egraph_status parse_string(eg_arena *arena, const char *text, const char **out) {
  size_t length = strlen(text);
  if (*text != '"') return eg_arena_string(arena, text, length, out);
  eg_sexpr file;
  EG_TRY(eg_sexpr_parse(arena, "string", text, length, &file));
  if (file.count != 1 || file.children[0].kind != EG_SEXPR_STRING)
    return EG_FAIL(EGRAPH_E_PARSE, "'%s' is not one string in quotes", text);
  *out = file.children[0].text;
  return EGRAPH_OK;
}

static egraph_status parse_symbol(const eg_op_info *op, const eg_attr_info *info,
                                  const char *text, int64_t *out) {
  for (int64_t i = 0; info->symbols[i] != NULL; i++)
    if (strcmp(info->symbols[i], text) == 0) {
      *out = i;
      return EGRAPH_OK;
    }
  return unknown_symbol(op, info, text);
}

egraph_status eg_attr_parse(eg_arena *arena, eg_op op, uint16_t slot, const char *text,
                            eg_attr *out) {
  const eg_op_info *row = eg_op_info_of(op);
  assert(slot < row->attr_count);
  const eg_attr_info *info = &row->attrs[slot];
  eg_attr value = {.kind = info->kind};
  bool well_formed = true;
  egraph_dtype dtype = EGRAPH_FLOAT32;
  switch (info->kind) {
  case EG_ATTR_INT: well_formed = eg_parse_int64(text, &value.i); break;
  case EG_ATTR_FLOAT: well_formed = eg_parse_double(text, &value.f); break;
  case EG_ATTR_INTS:
  case EG_ATTR_FLOATS: EG_TRY(parse_list(arena, text, &well_formed, &value)); break;
  case EG_ATTR_SYMBOL: EG_TRY(parse_symbol(row, info, text, &value.i)); break;
  case EG_ATTR_DTYPE:
    well_formed = eg_dtype_find(text, &dtype);
    value.i = dtype;
    break;
  case EG_ATTR_STRING: EG_TRY(parse_string(arena, text, &value.text)); break;
  }
  if (!well_formed) return malformed(row, info, text);
  *out = value;
  return EGRAPH_OK;
}

static egraph_status print_list(eg_text *text, const eg_attr *list) {
  for (uint32_t i = 0; i < attr_items(list).len; i++) {
    eg_text_append(text, i == 0 ? "[" : " ");
    if (list->kind == EG_ATTR_INTS)
      eg_text_printf(text, "%" PRId64, list->ints.data[i]);
    else
      eg_text_double(text, list->floats.data[i]);
  }
  return eg_text_append(text, attr_items(list).len == 0 ? "[]" : "]");
}

egraph_status eg_attr_print(eg_text *text, eg_op op, uint16_t slot,
                            const eg_attr *value) {
  const eg_op_info *row = eg_op_info_of(op);
  assert(slot < row->attr_count && value->kind == row->attrs[slot].kind);
  switch (value->kind) {
  case EG_ATTR_INT: return eg_text_printf(text, "%" PRId64, value->i);
  case EG_ATTR_FLOAT: return eg_text_double(text, value->f);
  case EG_ATTR_INTS:
  case EG_ATTR_FLOATS: return print_list(text, value);
  case EG_ATTR_SYMBOL: return eg_text_append(text, row->attrs[slot].symbols[value->i]);
  case EG_ATTR_DTYPE: return eg_text_append(text, eg_dtype_name((egraph_dtype)value->i));
  case EG_ATTR_STRING: return eg_text_quoted(text, value->text);
  }
  return EGRAPH_OK;
}

egraph_status eg_attrs_print(eg_text *text, const eg_attrs *attrs) {
  eg_op op = (eg_op)attrs->op;
  const eg_op_info *row = eg_op_info_of(op);
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_attr_info *info = &row->attrs[i];
    eg_attr usual = eg_attr_default(op, i);
    bool required = *info->default_text == '\0';
    if (!required && eg_attr_same(&attrs->slots[i], &usual)) continue;
    eg_text_printf(text, " :%s ", info->name);
    eg_attr_print(text, op, i, &attrs->slots[i]);
  }
  return eg_text_status(text);
}
