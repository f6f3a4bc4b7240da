// Adding many terms of one head: their look-ups overlap.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "egraph/hashcons.h"

/// A batch with canonical children, and its hashes. Where a term will be looked for is on
/// its way to the cache.
typedef struct looked_up {
  eg_term term; // children: those of the first
  uint32_t head;
  eg_class *children;
  uint64_t hashes[EG_ENGINE_BATCH];
} looked_up;

EG_PREFETCHING prefetch(const eg_engine *engine, const looked_up *l, uint32_t count) {
  const eg_flatmap *table = &engine->table;
  if (table->capacity == 0) return;
  for (uint32_t i = 0; i < count; i++) {
    __builtin_prefetch(eg_flatmap_home(table, l->hashes[i]));
    __builtin_prefetch(eg_flatmap_home(table, l->hashes[i]) + 7); // where a miss ends
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
  if (eg_engine_is_sound(engine, &all, reason) && batch->arity <= EG_ENGINE_MAX_ARITY &&
      (classes == 0 || highest < engine->up.len))
    return EGRAPH_OK;
  all.arity = batch->arity;
  all.children = batch->children;
  while (eg_engine_is_sound(engine, &all, reason))
    all.children += batch->arity;
  return eg_engine_refuse(engine, &all, reason);
}

static egraph_status look_up(eg_engine *engine, const eg_term_batch *batch,
                             uint32_t reason, looked_up *out) {
  EG_TRY(check_batch(engine, batch, reason));
  size_t words = (size_t)batch->count * batch->arity;
  EG_TRY(eg_classes_reserve(&engine->scratch, words));
  eg_class *children = engine->scratch.data;
  out->term = (eg_term){batch->op, batch->payload, batch->arity, children};
  out->children = children;
  EG_TRY(eg_engine_intern_head(engine, &out->term, &out->head));
  uint64_t seed = eg_hash_head(batch->op, batch->payload, batch->arity);
  for (uint32_t i = 0; i < batch->count; i++) {
    size_t first = (size_t)i * batch->arity;
    out->hashes[i] = eg_engine_copy_roots(engine, seed, batch->children + first,
                                          batch->arity, children + first);
  }
  prefetch(engine, out, batch->count);
  return EGRAPH_OK;
}

/// Term `i`. What was added before it may have united its children with others.
static eg_term term_at(eg_engine *engine, looked_up *l, uint32_t i) {
  eg_term term = l->term;
  eg_class *children = l->children + (size_t)i * term.arity;
  term.children = children;
  for (uint32_t k = 0; k < term.arity; k++) {
    if (engine->up.data[children[k].id] == children[k].id) continue;
    uint64_t seed = eg_hash_head(term.op, term.payload, term.arity);
    l->hashes[i] = eg_engine_copy_roots(engine, seed, children, term.arity, children);
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
    EG_TRY(eg_engine_add_canonical(engine, l.head, &term, l.hashes[i], reason,
                                   &out_classes[i]));
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
    EG_TRY(eg_engine_check_class(engine, classes[i]));
    eg_term term = term_at(engine, &l, i);
    EG_TRY(eg_engine_add_canonical_to(engine, l.head, &term, l.hashes[i], classes[i],
                                      reason, &changed));
    *out_changed += changed;
  }
  return EGRAPH_OK;
}
