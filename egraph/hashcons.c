// The hash-cons maps terms to live nodes. Functions here add one term, or many terms of
// one head, whose look-ups overlap.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

// ---- hashing --------------------------------------------------------------------------

static uint64_t hash_head(uint32_t op, uint32_t payload, uint32_t arity) {
  uint64_t head = (uint64_t)op << 32 | payload;
  return (head + arity) * UINT64_C(0xd6e8feb86659fd93);
}

static uint64_t hash_step(uint64_t hash, uint32_t word) {
  hash = (hash << 5) | (hash >> 59);
  return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/// Copies the roots of `count` classes, and extends the hash by these roots.
static uint64_t copy_roots(eg_engine *engine, uint64_t hash, const eg_class *from,
                           uint32_t count, eg_class *to) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t class = from[i].id;
    if (engine->up.data[class] != class) class = eg_engine_root_halving(engine, class);
    to[i].id = class;
    hash = hash_step(hash, class);
  }
  return eg_hash_mix(hash);
}

// ---- heads ----------------------------------------------------------------------------

/// Interns a term's operator, payload and arity: *out is their number.
static egraph_status intern_head(eg_engine *engine, const eg_term *term, uint32_t *out) {
  eg_head head = {.op = term->op, .payload = term->payload, .arity = term->arity};
  *out = engine->last_head; // the same head comes many times in a row
  if (*out < engine->heads.len) {
    const eg_head *last = &engine->heads.data[*out];
    if (last->op == head.op && last->payload == head.payload && last->arity == head.arity)
      return EGRAPH_OK;
  }
  if (!eg_engine_find_head(engine, head, out))
    EG_TRY(eg_engine_add_head(engine, head, out));
  engine->last_head = *out;
  return EGRAPH_OK;
}

static bool is_head(const void *user, uint32_t id, const void *key) {
  const eg_engine *engine = user;
  return memcmp(&engine->heads.data[id], key, sizeof(eg_head)) == 0;
}

static egraph_status reserve_op(eg_engine *engine, uint32_t op) {
  if (op < engine->ops.len) return EGRAPH_OK;
  EG_TRY(eg_op_indexes_reserve(&engine->ops, (size_t)op + 1));
  // Reserves memory to mark every operator once, so that marking never allocates.
  EG_TRY(eg_u32s_reserve(&engine->ops_dirty, (size_t)op + 1));
  while (engine->ops.len <= op)
    engine->ops.data[engine->ops.len++] = (eg_op_index){.first_dead = UINT32_MAX};
  return EGRAPH_OK;
}

static uint64_t hash_of_head(const eg_head *head) {
  return eg_hash_mix(hash_head(head->op, head->payload, head->arity));
}

bool eg_engine_find_head(const eg_engine *engine, eg_head head, uint32_t *out) {
  return eg_flatmap_find(&engine->head_table, hash_of_head(&head), &head, is_head, engine,
                         out);
}

egraph_status eg_engine_add_head(eg_engine *engine, eg_head head, uint32_t *out) {
  if (engine->heads.len > EG_HEAD_MASK)
    return EG_FAIL(EGRAPH_E_MEMORY, "an e-graph holds at most 2^29 different heads");
  EG_TRY(reserve_op(engine, head.op));
  EG_TRY(eg_flatmap_reserve_one(&engine->head_table));
  uint32_t id = (uint32_t)engine->heads.len;
  EG_TRY(eg_heads_push(&engine->heads, head));
  eg_flatmap_put(&engine->head_table, hash_of_head(&head), id);
  *out = id;
  return EGRAPH_OK;
}

// ---- hashing --------------------------------------------------------------------------

uint64_t eg_engine_hash(const eg_term *term) {
  uint64_t hash = hash_head(term->op, term->payload, term->arity);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = hash_step(hash, term->children[i].id);
  return eg_hash_mix(hash);
}

typedef struct node_key {
  uint32_t head, arity;
  const eg_class *children;
} node_key;

static bool is_stored_node(const void *user, uint32_t node, const void *key) {
  const eg_engine *engine = user;
  const node_key *wanted = key;
  const uint32_t *words = engine->nodes.data + node;
  if ((*words & EG_HEAD_MASK) != wanted->head) return false;
  for (uint32_t i = 0; i < wanted->arity; i++)
    if (words[EG_FIRST_CHILD + i] != wanted->children[i].id) return false;
  return true;
}

bool eg_engine_find_stored(const eg_engine *engine, uint32_t head, const eg_term *term,
                           uint64_t hash, uint32_t *out_node) {
  node_key key = {head, term->arity, term->children};
  return eg_flatmap_find(&engine->table, hash, &key, is_stored_node, engine, out_node);
}

egraph_status eg_engine_canonical(eg_engine *engine, const eg_term *term, eg_term *out,
                                  uint64_t *out_hash) {
  if (engine->scratch.cap < term->arity)
    EG_TRY(eg_classes_reserve(&engine->scratch, term->arity));
  *out = *term;
  out->children = engine->scratch.data;
  *out_hash = copy_roots(engine, hash_head(term->op, term->payload, term->arity),
                         term->children, term->arity, engine->scratch.data);
  return EGRAPH_OK;
}

// ---- adding ---------------------------------------------------------------------------

/// True when numbers and children of a term are in range.
static bool is_sound(const eg_engine *engine, const eg_term *term, uint32_t reason) {
  bool sound = term->op <= EG_ENGINE_MAX_OP && term->arity <= EG_ENGINE_MAX_ARITY &&
               reason <= EG_REASON_SEED;
  for (uint32_t i = 0; sound && i < term->arity; i++)
    sound = term->children[i].id < engine->up.len;
  return sound;
}

/// Fails with EGRAPH_E_ARGUMENT, naming the number (operator, arity, ...) out of range.
static egraph_status refuse_term(const eg_engine *engine, const eg_term *term,
                                 uint32_t reason) {
  if (term->op > EG_ENGINE_MAX_OP)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "operator number %u is above %d", term->op,
                   (int)EG_ENGINE_MAX_OP);
  if (term->arity > EG_ENGINE_MAX_ARITY)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%u children, but at most %d are allowed",
                   term->arity, (int)EG_ENGINE_MAX_ARITY);
  if (reason > EG_REASON_SEED)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "reason %u is above 2^31 - 1", reason);
  uint32_t i = 0;
  while (term->children[i].id < engine->up.len)
    i++;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "child %u names class %u, but there are only %zu", i,
                 term->children[i].id, engine->up.len);
}

static egraph_status reserve_node(eg_engine *engine, uint32_t arity) {
  size_t words = engine->nodes.len + eg_engine_node_words(engine, arity);
  if (words >= EG_NONE)
    return EG_FAIL(EGRAPH_E_MEMORY, "an e-graph holds at most 8 GiB of nodes");
  EG_TRY(eg_u32s_reserve(&engine->nodes, words));
  return eg_flatmap_reserve_one(&engine->table);
}

static egraph_status reserve_data(eg_engine *engine, size_t classes) {
  if (engine->analysis.data_size == 0 || classes <= engine->data_cap) return EGRAPH_OK;
  size_t cap = engine->data_cap + engine->data_cap / 2 + 8;
  EG_TRY(eg_resize(engine->alloc, engine->data_cap, cap, engine->analysis.data_size,
                   &engine->data));
  engine->data_cap = cap;
  return EGRAPH_OK;
}

static egraph_status reserve_class(eg_engine *engine) {
  size_t classes = engine->up.len + 1;
  EG_TRY(eg_u32s_reserve(&engine->up, classes));
  EG_TRY(eg_flags_reserve(&engine->flags, classes));
  EG_TRY(eg_class_records_reserve(&engine->classes, classes));
  EG_TRY(reserve_data(engine, classes));
  if (engine->analysis.modify == NULL) return EGRAPH_OK;
  return eg_u32s_reserve(&engine->modify.items, engine->modify.items.len + 1);
}

/// Appends an e-class. Memory must have been reserved.
static uint32_t append_class(eg_engine *engine) {
  assert(engine->up.len < engine->up.cap);
  uint32_t class = (uint32_t)engine->up.len++;
  engine->up.data[class] = class;
  engine->flags.data[engine->flags.len++] = 0;
  engine->classes.data[engine->classes.len++] = (eg_class_record){.parents = EG_NONE};
  engine->class_count++;
  if (engine->analysis.modify != NULL) {
    engine->modify.items.data[engine->modify.items.len++] = class;
    engine->flags.data[class] |= EG_FLAG_MODIFY;
  }
  return class;
}

/// Appends an e-node with canonical children. Memory must have been reserved.
static void append_node(eg_engine *engine, const eg_term *term, uint64_t hash,
                        uint32_t head, uint32_t class, uint32_t reason) {
  assert(engine->nodes.len + eg_engine_node_words(engine, term->arity) <=
         engine->nodes.cap);
  uint32_t node = (uint32_t)engine->nodes.len;
  uint32_t *words = engine->nodes.data + node;
  *words++ = head | EG_NODE_BIT | EG_FRESH_BIT;
  *words++ = class;
  for (uint32_t i = 0; i < term->arity; i++)
    *words++ = term->children[i].id;
  for (uint32_t i = 0; i < term->arity; i++)
    *words++ = EG_NONE;
  if (engine->record) *words = reason;
  engine->nodes.len += eg_engine_node_words(engine, term->arity);
  engine->child_words += term->arity;
  eg_flatmap_put(&engine->table, hash, node);
}

/// Adds a new canonical term as a node of a new class.
static egraph_status add_new(eg_engine *engine, uint32_t head, const eg_term *term,
                             uint64_t hash, uint32_t reason, eg_class *out_class) {
  assert(head < engine->heads.len);
  EG_TRY(reserve_node(engine, term->arity));
  EG_TRY(reserve_class(engine));
  if (engine->has_log) EG_TRY(eg_log_reserve_class(engine, term->arity));
  const eg_analysis *analysis = &engine->analysis;
  if (analysis->data_size != 0) {
    unsigned char *data = engine->data + engine->up.len * analysis->data_size;
    memset(data, 0, analysis->data_size);
    EG_TRY(analysis->make(analysis->self, engine, term, data));
  }
  uint32_t class = append_class(engine);
  append_node(engine, term, hash, head, class, reason);
  if (engine->has_log) eg_log_class(engine, head, term);
  out_class->id = class;
  return EGRAPH_OK;
}

/// Adds a term as eg_engine_add does; the term must be in range, with canonical children.
static egraph_status add_canonical(eg_engine *engine, uint32_t head, const eg_term *term,
                                   uint64_t hash, uint32_t reason, eg_class *out_class) {
  uint32_t node;
  if (!eg_engine_find_stored(engine, head, term, hash, &node))
    return add_new(engine, head, term, hash, reason, out_class);
  out_class->id = eg_engine_root_halving(engine, eg_engine_class_word(engine, node));
  return EGRAPH_OK;
}

egraph_status eg_engine_add(eg_engine *engine, const eg_term *term, uint32_t reason,
                            eg_class *out_class) {
  if (!is_sound(engine, term, reason)) return refuse_term(engine, term, reason);
  eg_term canonical; // a copy: term->children may point into our own nodes
  uint64_t hash;
  uint32_t head;
  EG_TRY(eg_engine_canonical(engine, term, &canonical, &hash));
  EG_TRY(intern_head(engine, term, &head));
  return add_canonical(engine, head, &canonical, hash, reason, out_class);
}

/// Fails with EGRAPH_E_ARGUMENT for an unknown class.
static egraph_status check_class(const eg_engine *engine, eg_class class) {
  if (class.id < engine->up.len) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "class %u, but there are only %zu", class.id,
                 engine->up.len);
}

/// Adds a term in range, with canonical children, to a class, as eg_engine_add_to does.
static egraph_status add_canonical_to(eg_engine *engine, uint32_t head,
                                      const eg_term *term, uint64_t hash, eg_class class,
                                      uint32_t reason, bool *out_changed) {
  eg_class added;
  uint32_t node;
  // A new term gets a class of its own: the log and the analysis need every class.
  if (engine->record || engine->analysis.data_size != 0 ||
      eg_engine_logs(engine, reason)) {
    EG_TRY(add_canonical(engine, head, term, hash, reason, &added));
    return eg_engine_unite(engine, class, added, reason, out_changed);
  }
  if (eg_engine_find_stored(engine, head, term, hash, &node)) {
    added.id = eg_engine_class_word(engine, node);
    return eg_engine_unite(engine, class, added, reason, out_changed);
  }
  EG_TRY(reserve_node(engine, term->arity));
  append_node(engine, term, hash, head, eg_engine_root_halving(engine, class.id), reason);
  *out_changed = true;
  return EGRAPH_OK;
}

egraph_status eg_engine_add_to(eg_engine *engine, const eg_term *term, eg_class class,
                               uint32_t reason, bool *out_changed) {
  if (!is_sound(engine, term, reason)) return refuse_term(engine, term, reason);
  EG_TRY(check_class(engine, class));
  eg_term canonical;
  uint64_t hash;
  uint32_t head;
  EG_TRY(eg_engine_canonical(engine, term, &canonical, &hash));
  EG_TRY(intern_head(engine, term, &head));
  return add_canonical_to(engine, head, &canonical, hash, class, reason, out_changed);
}

// ---- looking up -----------------------------------------------------------------------

/// True when a node equals the term `key`, after the children of both are replaced by
/// their roots.
static bool is_congruent(const void *user, uint32_t node, const void *key) {
  const eg_engine *engine = user;
  const eg_term *term = key;
  const eg_head *head = eg_engine_head(engine, node);
  if (head->op != term->op || head->payload != term->payload ||
      head->arity != term->arity)
    return false;
  const uint32_t *children = eg_engine_children(engine, node);
  for (uint32_t i = 0; i < term->arity; i++)
    if (children[i] != eg_engine_root(engine, term->children[i].id)) return false;
  return true;
}

bool eg_engine_find_term(const eg_engine *engine, const eg_term *term,
                         eg_class *out_class) {
  uint64_t hash = hash_head(term->op, term->payload, term->arity);
  for (uint32_t i = 0; i < term->arity; i++) {
    if (term->children[i].id >= engine->up.len) return false;
    hash = hash_step(hash, eg_engine_root(engine, term->children[i].id));
  }
  uint32_t node;
  if (!eg_flatmap_find(&engine->table, eg_hash_mix(hash), term, is_congruent, engine,
                       &node))
    return false;
  out_class->id = eg_engine_root(engine, eg_engine_class_word(engine, node));
  return true;
}

// ---- many terms of one head ---------------------------------------------------------

/// A batch of terms with canonical children, and its hashes. The hash table's slots of
/// the terms are being loaded into the cache.
typedef struct looked_up {
  eg_term term; // with the children of the first term
  uint32_t head;
  eg_class *children;
  uint64_t hashes[EG_ENGINE_BATCH];
} looked_up;

EG_PREFETCHING prefetch(const eg_engine *engine, const looked_up *l, uint32_t count) {
  const eg_flatmap *table = &engine->table;
  if (table->capacity == 0) return;
  for (uint32_t i = 0; i < count; i++) {
    __builtin_prefetch(eg_flatmap_home(table, l->hashes[i]));
    __builtin_prefetch(eg_flatmap_home(table, l->hashes[i]) + 7); // a miss ends here
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t id = eg_flatmap_home(table, l->hashes[i])->id_plus_one;
    if (id != 0) __builtin_prefetch(engine->nodes.data + id - 1);
  }
}

static egraph_status check_batch(const eg_engine *engine, const eg_term_batch *batch,
                                 uint32_t reason) {
  assert(batch->count <= EG_ENGINE_BATCH);
  eg_term all = {.op = batch->op, .arity = 0};
  uint32_t highest = 0, classes = batch->count * batch->arity;
  for (uint32_t i = 0; i < classes; i++)
    highest = batch->children[i].id > highest ? batch->children[i].id : highest;
  if (is_sound(engine, &all, reason) && batch->arity <= EG_ENGINE_MAX_ARITY &&
      (classes == 0 || highest < engine->up.len))
    return EGRAPH_OK;
  all.arity = batch->arity;
  all.children = batch->children;
  while (is_sound(engine, &all, reason))
    all.children += batch->arity;
  return refuse_term(engine, &all, reason);
}

static egraph_status look_up(eg_engine *engine, const eg_term_batch *batch,
                             uint32_t reason, looked_up *out) {
  assert(batch->count <= EG_ENGINE_BATCH);
  EG_TRY(check_batch(engine, batch, reason));
  size_t words = (size_t)batch->count * batch->arity;
  EG_TRY(eg_classes_reserve(&engine->scratch, words));
  eg_class *children = engine->scratch.data;
  out->term = (eg_term){batch->op, batch->payload, batch->arity, children};
  out->children = children;
  EG_TRY(intern_head(engine, &out->term, &out->head));
  uint64_t seed = hash_head(batch->op, batch->payload, batch->arity);
  for (uint32_t i = 0; i < batch->count; i++) {
    size_t first = (size_t)i * batch->arity;
    out->hashes[i] =
        copy_roots(engine, seed, batch->children + first, batch->arity, children + first);
  }
  prefetch(engine, out, batch->count);
  return EGRAPH_OK;
}

/// Returns term `i`. Earlier terms of the batch may have united its children with
/// other classes.
static eg_term term_at(eg_engine *engine, looked_up *l, uint32_t i) {
  eg_term term = l->term;
  eg_class *children = l->children + (size_t)i * term.arity;
  term.children = children;
  for (uint32_t k = 0; k < term.arity; k++) {
    if (engine->up.data[children[k].id] == children[k].id) continue;
    uint64_t seed = hash_head(term.op, term.payload, term.arity);
    l->hashes[i] = copy_roots(engine, seed, children, term.arity, children);
    break;
  }
  return term;
}

egraph_status eg_engine_add_batch(eg_engine *engine, const eg_term_batch *batch,
                                  uint32_t reason, eg_class *out_classes) {
  looked_up l;
  EG_TRY(look_up(engine, batch, reason, &l));
  for (uint32_t i = 0; i < batch->count; i++) {
    eg_term term = l.term; // nothing is united here
    term.children = l.children + (size_t)i * term.arity;
    EG_TRY(add_canonical(engine, l.head, &term, l.hashes[i], reason, &out_classes[i]));
  }
  return EGRAPH_OK;
}

egraph_status eg_engine_add_batch_to(eg_engine *engine, const eg_term_batch *batch,
                                     const eg_class *classes, uint32_t reason,
                                     uint32_t *out_changed) {
  looked_up l;
  *out_changed = 0;
  EG_TRY(look_up(engine, batch, reason, &l));
  for (uint32_t i = 0; i < batch->count; i++) {
    bool changed;
    EG_TRY(check_class(engine, classes[i]));
    eg_term term = term_at(engine, &l, i);
    EG_TRY(add_canonical_to(engine, l.head, &term, l.hashes[i], classes[i], reason,
                            &changed));
    *out_changed += changed;
  }
  return EGRAPH_OK;
}
