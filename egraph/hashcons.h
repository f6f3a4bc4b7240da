// What adding terms is made of: shared by hashcons.c and batches.c only.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_HASHCONS_H
#define EG_EGRAPH_HASHCONS_H

#include "egraph/engine_internal.h"

// ---- hashing --------------------------------------------------------------------------

static inline uint64_t eg_hash_head(uint32_t op, uint32_t payload, uint32_t arity) {
  uint64_t head = (uint64_t)op << 32 | payload;
  return (head + arity) * UINT64_C(0xd6e8feb86659fd93);
}

static inline uint64_t eg_hash_step(uint64_t hash, uint32_t word) {
  hash = (hash << 5) | (hash >> 59);
  return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/// Copies `count` classes as their roots; extends the hash by them.
static inline uint64_t eg_engine_copy_roots(eg_engine *engine, uint64_t hash,
                                            const eg_class *from, uint32_t count,
                                            eg_class *to) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t class = from[i].id;
    if (engine->up.data[class] != class) class = eg_engine_root_halving(engine, class);
    to[i].id = class;
    hash = eg_hash_step(hash, class);
  }
  return eg_hash_mix(hash);
}

// ---- heads ----------------------------------------------------------------------------

/// The number of the term's head, a new one if need be. Fails with EGRAPH_E_MEMORY.
static inline egraph_status eg_engine_intern_head(eg_engine *engine, const eg_term *term,
                                                  uint32_t *out) {
  eg_head head = {.op = term->op, .payload = term->payload, .arity = term->arity};
  *out = engine->last_head; // the same one comes many times in a row
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

// ---- terms ----------------------------------------------------------------------------

/// Whether numbers and children of a term are in range.
bool eg_engine_is_sound(const eg_engine *engine, const eg_term *term, uint32_t reason);
/// Says what is not. Returns EGRAPH_E_ARGUMENT.
egraph_status eg_engine_refuse(const eg_engine *engine, const eg_term *term,
                               uint32_t reason);
/// Fails with EGRAPH_E_ARGUMENT for a class that there is not.
egraph_status eg_engine_check_class(const eg_engine *engine, eg_class class);
/// As eg_engine_add, for a sound term with canonical children.
egraph_status eg_engine_add_canonical(eg_engine *engine, uint32_t head,
                                      const eg_term *term, uint64_t hash, uint32_t reason,
                                      eg_class *out_class);
/// As eg_engine_add_to, for a sound term with canonical children.
egraph_status eg_engine_add_canonical_to(eg_engine *engine, uint32_t head,
                                         const eg_term *term, uint64_t hash,
                                         eg_class class, uint32_t reason,
                                         bool *out_changed);

#endif
