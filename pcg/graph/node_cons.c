// Adds nodes without repetition, and stamps (sources) of their values. A node is hashed
// by the id of its attributes in the graph's pool and by its operands.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/node_cons.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"

_Static_assert(sizeof(eg_ref) == sizeof(eg_value), "both are one id");

typedef struct node_key {
  const eg_attrs *attrs; // interned
  uint64_t hash;
  const eg_value *inputs;
  uint32_t count;
} node_key;

static bool is_key(const void *user, uint32_t id, const void *key) {
  const node_key *k = key;
  eg_graph_node_info node = eg_graph_node_at(user, (eg_graph_node){id});
  return node.attrs == k->attrs && node.input_count == k->count &&
         (k->count == 0 ||
          memcmp(node.inputs, k->inputs, k->count * sizeof *k->inputs) == 0);
}

/// Makes a node's hash key. Interns attributes, so that equal ones have one address.
static egraph_status make_node_key(eg_node_cons *cons, const eg_attrs *attrs,
                                   const eg_value *inputs, uint32_t count,
                                   node_key *out) {
  eg_attr_pool *pool = eg_graph_attrs(cons->graph);
  eg_attrs_id id;
  EG_TRY(eg_attr_pool_add(pool, attrs, &id));
  *out =
      (node_key){.attrs = eg_attr_pool_get(pool, id), .inputs = inputs, .count = count};
  out->hash = eg_hash_combine(id.id, count);
  for (uint32_t i = 0; i < count; i++)
    out->hash = eg_hash_combine(out->hash, inputs[i].id);
  return EGRAPH_OK;
}

static egraph_status enter_node(eg_node_cons *cons, uint32_t id) {
  eg_graph_node_info node = eg_graph_node_at(cons->graph, (eg_graph_node){id});
  node_key key;
  uint32_t found;
  if (node.attrs->op == EG_OP_OPAQUE) return EGRAPH_OK;
  EG_TRY(make_node_key(cons, node.attrs, node.inputs, node.input_count, &key));
  if (eg_flatmap_find(&cons->nodes, key.hash, &key, is_key, cons->graph, &found))
    return EGRAPH_OK;
  EG_TRY(eg_flatmap_reserve_one(&cons->nodes));
  eg_flatmap_put(&cons->nodes, key.hash, id);
  return EGRAPH_OK;
}

egraph_status eg_node_cons_init(eg_node_cons *cons, eg_graph *graph) {
  *cons = (eg_node_cons){.graph = graph};
  eg_flatmap_init(&cons->nodes, eg_graph_allocator(graph));
  egraph_status status = EGRAPH_OK;
  for (uint32_t n = 0; status == EGRAPH_OK && n < eg_graph_node_count(graph); n++)
    status = enter_node(cons, n);
  if (status != EGRAPH_OK) eg_node_cons_deinit(cons);
  return status;
}

void eg_node_cons_deinit(eg_node_cons *cons) { eg_flatmap_deinit(&cons->nodes); }

egraph_status eg_node_cons_note(eg_node_cons *cons, uint32_t count) {
  for (uint32_t i = 0; i < count && cons->stamps != NULL; i++, cons->stamp.index++)
    EG_TRY(eg_stamps_push(cons->stamps, cons->stamp));
  return EGRAPH_OK;
}

egraph_status eg_node_cons_add(eg_node_cons *cons, const char *name,
                               const eg_attrs *attrs, const eg_value *inputs,
                               uint32_t count, const char *const *names,
                               eg_value *out_results) {
  node_key key;
  uint32_t id;
  EG_TRY(make_node_key(cons, attrs, inputs, count, &key));
  if (eg_flatmap_find(&cons->nodes, key.hash, &key, is_key, cons->graph, &id)) {
    eg_graph_node_info node = eg_graph_node_at(cons->graph, (eg_graph_node){id});
    memcpy(out_results, node.results, node.result_count * sizeof *out_results);
    cons->stamp.index += node.result_count;
    return EGRAPH_OK;
  }
  EG_TRY(eg_flatmap_reserve_one(&cons->nodes));
  EG_TRY(eg_graph_add_node(cons->graph, name, attrs, inputs, count, names, out_results));
  id = eg_graph_node_count(cons->graph) - 1;
  eg_flatmap_put(&cons->nodes, key.hash, id);
  return eg_node_cons_note(
      cons, eg_graph_node_at(cons->graph, (eg_graph_node){id}).result_count);
}

static egraph_status emit_into_graph(void *self, const eg_attrs *attrs,
                                     const eg_ref *inputs, uint32_t count,
                                     eg_ref *out_results) {
  return eg_node_cons_add(self, NULL, attrs, (const eg_value *)(const void *)inputs,
                          count, NULL, (eg_value *)(void *)out_results);
}

static const eg_type *type_of_value(void *self, eg_ref value) {
  return &eg_graph_value(((eg_node_cons *)self)->graph, eg_value_of(value))->type;
}

eg_builder eg_node_cons_builder(eg_node_cons *cons) {
  return (eg_builder){.self = cons,
                      .emit = emit_into_graph,
                      .type_of = type_of_value,
                      .alloc = eg_graph_allocator(cons->graph),
                      .dtype = EGRAPH_FLOAT32};
}

// ---- stamps -------------------------------------------------------------------------

#define NONE UINT32_MAX

typedef struct stamp_index {
  eg_u32s first, next; // [values of the forward graph, and none], [values]
} stamp_index;
EG_OWNER_DEFINE_STATIC(stamp_index, (eg_u32s, first, next))

static uint32_t list_of(const stamp_index *index, uint32_t of) {
  return of == EG_STAMP_OF_NONE ? (uint32_t)index->first.len - 1 : of;
}

static egraph_status fill_index(stamp_index *index, const eg_stamps *stamps) {
  uint32_t lists = 1;
  for (size_t v = 0; v < stamps->len; v++)
    if (stamps->data[v].of != EG_STAMP_OF_NONE && stamps->data[v].of + 2 > lists)
      lists = stamps->data[v].of + 2;
  EG_TRY(eg_u32s_fill(&index->first, lists, NONE));
  for (uint32_t v = 0; v < stamps->len; v++) {
    uint32_t *first = &index->first.data[list_of(index, stamps->data[v].of)];
    EG_TRY(eg_u32s_push(&index->next, *first));
    *first = v;
  }
  return EGRAPH_OK;
}

static uint32_t find_like_stamp(const stamp_index *index, const eg_stamps *stamps,
                                eg_stamp like) {
  uint32_t list = list_of(index, like.of);
  uint32_t v = list < index->first.len ? index->first.data[list] : NONE;
  for (; v != NONE; v = index->next.data[v]) {
    const eg_stamp *stamp = &stamps->data[v];
    if (stamp->made == like.made && stamp->variant == like.variant &&
        stamp->index == like.index)
      break;
  }
  return v;
}

egraph_status eg_stamps_map(const eg_stamps *from, const eg_stamps *to,
                            const eg_u32s *like, eg_u32s *out) {
  EG_LOCAL(stamp_index, index, out->alloc);
  EG_TRY(fill_index(&index, to));
  for (size_t v = 0; v < from->len; v++) {
    eg_stamp stamp = from->data[v];
    bool is_like = stamp.of == EG_STAMP_OF_NONE || like->data[stamp.of] != NONE;
    if (stamp.of != EG_STAMP_OF_NONE) stamp.of = like->data[stamp.of];
    EG_TRY(eg_u32s_push(out, is_like ? find_like_stamp(&index, to, stamp) : NONE));
  }
  return EGRAPH_OK;
}
