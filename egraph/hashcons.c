// The hash-cons: terms to live nodes, and adding one.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/hashcons.h"

#include <string.h>

// ---- heads: operator, payload and arity, numbered ----------------------------

static bool is_head(const void *user, uint32_t id, const void *key) {
  const eg_engine *engine = user;
  return memcmp(&engine->heads.data[id], key, sizeof(eg_head)) == 0;
}

static egraph_status reserve_op(eg_engine *engine, uint32_t op) {
  if (op < engine->ops.len) return EGRAPH_OK;
  EG_TRY(eg_op_indexes_reserve(&engine->ops, (size_t)op + 1));
  // Every operator can become dirty once, so that marking one never allocates.
  EG_TRY(eg_u32s_reserve(&engine->ops_dirty, (size_t)op + 1));
  while (engine->ops.len <= op)
    engine->ops.data[engine->ops.len++] = (eg_op_index){.first_dead = UINT32_MAX};
  return EGRAPH_OK;
}

static uint64_t hash_of_head(const eg_head *head) {
  return eg_hash_mix(eg_hash_head(head->op, head->payload, head->arity));
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
  uint64_t hash = eg_hash_head(term->op, term->payload, term->arity);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = eg_hash_step(hash, term->children[i].id);
  return eg_hash_mix(hash);
}

typedef struct node_key {
  uint32_t head, arity;
  const eg_class *children;
} node_key;

static bool is_node(const void *user, uint32_t node, const void *key) {
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
  return eg_flatmap_find(&engine->table, hash, &key, is_node, engine, out_node);
}

egraph_status eg_engine_canonical(eg_engine *engine, const eg_term *term, eg_term *out,
                                  uint64_t *out_hash) {
  if (engine->scratch.cap < term->arity)
    EG_TRY(eg_classes_reserve(&engine->scratch, term->arity));
  *out = *term;
  out->children = engine->scratch.data;
  *out_hash =
      eg_engine_copy_roots(engine, eg_hash_head(term->op, term->payload, term->arity),
                           term->children, term->arity, engine->scratch.data);
  return EGRAPH_OK;
}

// ---- adding ---------------------------------------------------------------------------

bool eg_engine_is_sound(const eg_engine *engine, const eg_term *term, uint32_t reason) {
  bool sound = term->op <= EG_ENGINE_MAX_OP && term->arity <= EG_ENGINE_MAX_ARITY &&
               reason <= EG_REASON_SEED;
  for (uint32_t i = 0; sound && i < term->arity; i++)
    sound = term->children[i].id < engine->up.len;
  return sound;
}

egraph_status eg_engine_refuse(const eg_engine *engine, const eg_term *term,
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

/// Room has been made.
static uint32_t append_class(eg_engine *engine) {
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

/// Room has been made; the term has canonical children.
static void append_node(eg_engine *engine, const eg_term *term, uint64_t hash,
                        uint32_t head, uint32_t class, uint32_t reason) {
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

/// A canonical term that is not there yet becomes a node of a new class.
static egraph_status add_new(eg_engine *engine, uint32_t head, const eg_term *term,
                             uint64_t hash, uint32_t reason, eg_class *out_class) {
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

egraph_status eg_engine_add_canonical(eg_engine *engine, uint32_t head,
                                      const eg_term *term, uint64_t hash, uint32_t reason,
                                      eg_class *out_class) {
  uint32_t node;
  if (!eg_engine_find_stored(engine, head, term, hash, &node))
    return add_new(engine, head, term, hash, reason, out_class);
  out_class->id = eg_engine_root_halving(engine, eg_engine_class_word(engine, node));
  return EGRAPH_OK;
}

egraph_status eg_engine_add(eg_engine *engine, const eg_term *term, uint32_t reason,
                            eg_class *out_class) {
  if (!eg_engine_is_sound(engine, term, reason))
    return eg_engine_refuse(engine, term, reason);
  eg_term canonical; // a copy: term->children may point into our own nodes
  uint64_t hash;
  uint32_t head;
  EG_TRY(eg_engine_canonical(engine, term, &canonical, &hash));
  EG_TRY(eg_engine_intern_head(engine, term, &head));
  return eg_engine_add_canonical(engine, head, &canonical, hash, reason, out_class);
}

egraph_status eg_engine_check_class(const eg_engine *engine, eg_class class) {
  if (class.id < engine->up.len) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "class %u, but there are only %zu", class.id,
                 engine->up.len);
}

egraph_status eg_engine_add_canonical_to(eg_engine *engine, uint32_t head,
                                         const eg_term *term, uint64_t hash,
                                         eg_class class, uint32_t reason,
                                         bool *out_changed) {
  eg_class added;
  uint32_t node;
  // They look at every class.
  if (engine->record || engine->analysis.data_size != 0 ||
      eg_engine_logs(engine, reason)) {
    EG_TRY(eg_engine_add_canonical(engine, head, term, hash, reason, &added));
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
  if (!eg_engine_is_sound(engine, term, reason))
    return eg_engine_refuse(engine, term, reason);
  EG_TRY(eg_engine_check_class(engine, class));
  eg_term canonical;
  uint64_t hash;
  uint32_t head;
  EG_TRY(eg_engine_canonical(engine, term, &canonical, &hash));
  EG_TRY(eg_engine_intern_head(engine, term, &head));
  return eg_engine_add_canonical_to(engine, head, &canonical, hash, class, reason,
                                    out_changed);
}

// ---- looking up -----------------------------------------------------------------------

/// As is_node, modulo the unions made so far.
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
  uint64_t hash = eg_hash_head(term->op, term->payload, term->arity);
  for (uint32_t i = 0; i < term->arity; i++) {
    if (term->children[i].id >= engine->up.len) return false;
    hash = eg_hash_step(hash, eg_engine_root(engine, term->children[i].id));
  }
  uint32_t node;
  if (!eg_flatmap_find(&engine->table, eg_hash_mix(hash), term, is_congruent, engine,
                       &node))
    return false;
  out_class->id = eg_engine_root(engine, eg_engine_class_word(engine, node));
  return true;
}
