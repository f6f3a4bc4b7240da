// The store is never rebuilt: what is added is found by its hash and read by its number
// at once; the indexes that a rebuild makes are for matching, which happens elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/term_store.h"

#include <stdlib.h>

#include "base/owner.h"

#define MEMBERS (eg_u32s, node, like, seen, stack)

// ---- terms ----------------------------------------------------------------------------

static const eg_engine *engine_of(const eg_term_store *store) {
  return eg_tensor_egraph_engine_of(store->terms);
}

/// The next term: `like` another one, or itself.
static egraph_status note_term(eg_term_store *store, uint32_t node, uint32_t like) {
  EG_TRY(eg_u32s_push(&store->seen, 0));
  EG_TRY(eg_u32s_push(&store->like, like));
  return eg_u32s_push(&store->node, node);
}

egraph_status eg_term_store_init(eg_term_store *store, egraph_allocator alloc,
                                 const eg_graph *given) {
  *store = (eg_term_store){.alloc = alloc, .given = given};
  EG_INIT_MEMBERS(store, alloc, MEMBERS)
  EG_TRY(eg_tensor_egraph_create(&alloc, given, &store->terms));
  const eg_engine *engine = engine_of(store);
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    assert(eg_engine_class_of(engine, n).id == store->node.len);
    EG_TRY(note_term(store, n.id, (uint32_t)store->node.len));
  }
  return EGRAPH_OK;
}

void eg_term_store_deinit(eg_term_store *store) {
  eg_tensor_egraph_destroy(store->terms);
  store->terms = NULL;
  EG_DEINIT_MEMBERS(store, MEMBERS)
}

size_t eg_term_store_bytes(const eg_term_store *store) {
  return eg_tensor_egraph_bytes(store->terms) +
         (store->node.cap + store->like.cap + store->seen.cap + store->stack.cap) *
             sizeof(uint32_t);
}

uint32_t eg_term_store_root(const eg_term_store *store, uint32_t output) {
  return eg_tensor_egraph_root(store->terms, output).id;
}

eg_term eg_term_store_at(const eg_term_store *store, uint32_t term) {
  return eg_engine_term(engine_of(store), (eg_node){*eg_u32s_at(&store->node, term)});
}

const eg_attrs *eg_term_store_attrs(const eg_term_store *store, uint32_t term) {
  return eg_tensor_egraph_attrs_at(store->terms, eg_term_store_at(store, term).payload);
}

uint32_t eg_term_store_reason(const eg_term_store *store, uint32_t term) {
  return eg_engine_node_reason(engine_of(store),
                               (eg_node){*eg_u32s_at(&store->node, term)});
}

const eg_tensor_fact *eg_term_store_fact(const eg_term_store *store, uint32_t term) {
  return eg_tensor_egraph_fact(store->terms, (eg_class){term});
}

egraph_status eg_term_store_add(eg_term_store *store, const eg_attrs *attrs,
                                const uint32_t *operands, uint32_t count, uint32_t reason,
                                uint32_t *out) {
  _Static_assert(sizeof(eg_class) == sizeof(uint32_t), "a term is a class");
  uint32_t next = eg_engine_node_limit(engine_of(store));
  eg_class class;
  EG_TRY(eg_tensor_egraph_add(store->terms, attrs,
                              (const eg_class *)(const void *)operands, count, reason,
                              &class));
  *out = class.id;
  return class.id == store->node.len ? note_term(store, next, class.id) : EGRAPH_OK;
}

egraph_status eg_term_store_add_like(eg_term_store *store, uint32_t like,
                                     const uint32_t *operands, uint32_t *out) {
  uint32_t arity = eg_term_store_at(store, like).arity;
  size_t count = store->node.len;
  EG_TRY(eg_term_store_add(store, eg_term_store_attrs(store, like), operands, arity,
                           eg_term_store_reason(store, like), out));
  if (*out != count) return EGRAPH_OK; // it was there
  eg_term term = eg_term_store_at(store, like);
  bool is_like = true;
  for (uint32_t i = 0; is_like && i < arity; i++)
    is_like = eg_term_store_fact(store, operands[i])->weight_only ==
              eg_term_store_fact(store, term.children[i].id)->weight_only;
  if (is_like) store->like.data[*out] = store->like.data[like];
  return EGRAPH_OK;
}

// ---- walks over a graph ---------------------------------------------------------------

static void begin_walk(eg_term_store *store) {
  store->stack.len = 0;
  store->walk++;
}

static egraph_status reach(eg_term_store *store, uint32_t term) {
  if (store->seen.data[term] == store->walk) return EGRAPH_OK;
  store->seen.data[term] = store->walk;
  return eg_u32s_push(&store->stack, term);
}

/// Takes a term that the walk has reached, and reaches its operands.
static egraph_status step(eg_term_store *store, uint32_t *out) {
  *out = eg_u32s_pop(&store->stack);
  eg_term term = eg_term_store_at(store, *out);
  for (uint32_t i = 0; i < term.arity; i++)
    EG_TRY(reach(store, term.children[i].id));
  return EGRAPH_OK;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

egraph_status eg_term_store_collect(eg_term_store *store, const uint32_t *roots,
                                    uint32_t count, eg_u32s *out) {
  out->len = 0;
  begin_walk(store);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(reach(store, roots[i]));
  while (store->stack.len != 0) {
    uint32_t number;
    EG_TRY(step(store, &number));
    EG_TRY(eg_u32s_push(out, number));
  }
  if (out->len != 0) qsort(out->data, out->len, sizeof *out->data, by_number);
  return EGRAPH_OK;
}
