// Closes the equalities of terms. A term is in the table under the representatives that
// its operands had at the time. Whenever one of these loses its class, the term is
// entered again; if the table has a term with the same operands, the two are equal.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/replay/replay_closure.h"

#include <assert.h>

#include "base/hash.h"
#include "base/owner.h"

#define NONE UINT32_MAX

EG_OWNER_DEFINE(eg_replay_closure, (eg_u32s, up, uses, next, last, sizes, user, pending),
                (eg_flatmap, table))

static uint32_t find_root(const eg_replay_closure *c, uint32_t term) {
  while (c->up.data[term] != term)
    term = c->up.data[term];
  return term;
}

bool eg_replay_closure_are_equal(const eg_replay_closure *closure, uint32_t a,
                                 uint32_t b) {
  return find_root(closure, a) == find_root(closure, b);
}

static uint64_t hash_congruent(const eg_replay_closure *c, const eg_ground *term) {
  uint64_t hash = eg_hash_combine(term->op, (uint64_t)term->payload << 32 | term->arity);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = eg_hash_combine(hash, find_root(c, term->children[i]));
  return hash;
}

static bool is_congruent(const void *user, uint32_t id, const void *key) {
  const eg_replay_closure *c = user;
  eg_ground a = eg_ground_at(c->terms, id), b = *(const eg_ground *)key;
  if (a.op != b.op || a.payload != b.payload || a.arity != b.arity) return false;
  for (uint32_t i = 0; i < a.arity; i++)
    if (!eg_replay_closure_are_equal(c, a.children[i], b.children[i])) return false;
  return true;
}

/// Enters a term into the table, or records the equal term that the table has.
static egraph_status enter_term(eg_replay_closure *c, uint32_t term) {
  eg_ground ground = eg_ground_at(c->terms, term);
  uint64_t hash = hash_congruent(c, &ground);
  uint32_t pair[2] = {term};
  if (!eg_flatmap_find(&c->table, hash, &ground, is_congruent, c, &pair[1]))
    return eg_flatmap_insert(&c->table, hash, term);
  return pair[0] == pair[1] ? EGRAPH_OK : eg_u32s_append(&c->pending, pair, 2);
}

static void add_use(eg_replay_closure *c, uint32_t term, uint32_t use) {
  c->next.data[use] = c->uses.data[term];
  if (c->uses.data[term] == NONE) c->last.data[term] = use;
  c->uses.data[term] = use;
  c->sizes.data[term]++;
}

static egraph_status unite_two(eg_replay_closure *c, uint32_t a, uint32_t b) {
  uint32_t keep = find_root(c, a), drop = find_root(c, b);
  if (keep == drop) return EGRAPH_OK;
  if (c->sizes.data[keep] < c->sizes.data[drop]) {
    uint32_t smaller = keep;
    keep = drop;
    drop = smaller;
  }
  uint32_t first = c->uses.data[drop];
  c->up.data[drop] = keep;
  c->sizes.data[keep] += c->sizes.data[drop] + 1;
  for (uint32_t use = first; use != NONE; use = c->next.data[use])
    EG_TRY(enter_term(c, c->user.data[use]));
  if (first == NONE) return EGRAPH_OK;
  c->next.data[c->last.data[drop]] = c->uses.data[keep];
  if (c->uses.data[keep] == NONE) c->last.data[keep] = c->last.data[drop];
  c->uses.data[keep] = first;
  return EGRAPH_OK;
}

static egraph_status unite_pending(eg_replay_closure *c) {
  while (c->pending.len != 0) {
    uint32_t b = eg_u32s_pop(&c->pending), a = eg_u32s_pop(&c->pending);
    EG_TRY(unite_two(c, a, b));
  }
  return EGRAPH_OK;
}

egraph_status eg_replay_closure_unite(eg_replay_closure *closure, uint32_t a,
                                      uint32_t b) {
  EG_TRY(unite_two(closure, a, b));
  return unite_pending(closure);
}

egraph_status eg_replay_closure_start(eg_replay_closure *closure,
                                      const eg_ground_terms *terms) {
  eg_replay_closure *c = closure;
  uint32_t count = eg_ground_count(terms), operands = 0;
  assert(c->up.len == 0);
  c->terms = terms;
  EG_TRY(eg_u32s_resize(&c->up, count));
  EG_TRY(eg_u32s_resize(&c->uses, count));
  EG_TRY(eg_u32s_resize(&c->last, count));
  EG_TRY(eg_u32s_resize(&c->sizes, count));
  for (uint32_t t = 0; t < count; t++) {
    c->up.data[t] = t;
    c->uses.data[t] = NONE;
    operands += eg_ground_at(terms, t).arity;
  }
  EG_TRY(eg_u32s_resize(&c->user, operands));
  EG_TRY(eg_u32s_resize(&c->next, operands));
  operands = 0;
  for (uint32_t t = 0; t < count; t++) {
    eg_ground ground = eg_ground_at(terms, t);
    for (uint32_t i = 0; i < ground.arity; i++, operands++) {
      c->user.data[operands] = t;
      add_use(c, ground.children[i], operands);
    }
    EG_TRY(enter_term(c, t));
  }
  return unite_pending(c);
}
