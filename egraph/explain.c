// The congruence closure. A term that is added is looked up by its signature; when there
// is one, the two are congruent. A union puts the smaller tree of the proof forest,
// turned around, below the larger one, and then looks at the uses of the smaller class:
// each leaves the table under its old signature and returns under the new one, or turns
// out congruent to what is there, which waits as a pending union.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/explain.h"

#include "base/hash.h"
#include "egraph/explain_internal.h"

enum { MAX_COST = 1 << 20 };

egraph_status eg_explainer_create(const egraph_allocator *alloc, eg_explainer **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_explainer *explainer;
  EG_TRY(eg_alloc(heap, 1, sizeof *explainer, &explainer));
  explainer->alloc = heap;
  explainer->free_uses = EG_VERTEX_NONE;
  eg_ground_init(&explainer->terms, heap);
  eg_vertices_init(&explainer->vertices, heap);
  eg_flatmap_init(&explainer->table, heap);
  eg_uses_init(&explainer->uses, heap);
  eg_edges_init(&explainer->edges, heap);
  eg_u32s_init(&explainer->pending, heap);
  eg_visits_init(&explainer->visits, heap);
  eg_keys_init(&explainer->heap, heap);
  *out = explainer;
  return EGRAPH_OK;
}

void eg_explainer_destroy(eg_explainer *explainer) {
  if (explainer == NULL) return;
  eg_ground_deinit(&explainer->terms);
  eg_vertices_deinit(&explainer->vertices);
  eg_flatmap_deinit(&explainer->table);
  eg_uses_deinit(&explainer->uses);
  eg_edges_deinit(&explainer->edges);
  eg_u32s_deinit(&explainer->pending);
  eg_visits_deinit(&explainer->visits);
  eg_keys_deinit(&explainer->heap);
  eg_free(explainer->alloc, explainer, 1, sizeof *explainer);
}

const eg_ground_terms *eg_explainer_terms(const eg_explainer *explainer) {
  return &explainer->terms;
}

bool eg_explainer_are_equal(const eg_explainer *explainer, uint32_t a, uint32_t b) {
  return eg_explainer_root(explainer, a) == eg_explainer_root(explainer, b);
}

// ---- signatures ------------------------------------------------------------------

static uint32_t root_halving(eg_explainer *explainer, uint32_t vertex) {
  eg_vertex *vertices = explainer->vertices.data;
  while ((vertices[vertex].up & EG_ROOT_BIT) == 0) {
    uint32_t up = vertices[vertex].up;
    if ((vertices[up].up & EG_ROOT_BIT) == 0) vertices[vertex].up = vertices[up].up;
    vertex = up;
  }
  return vertex;
}

static uint64_t hash_signature(eg_explainer *explainer, const eg_ground *term) {
  uint64_t hash = eg_hash_combine(term->op, (uint64_t)term->payload << 32 | term->arity);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = eg_hash_combine(hash, root_halving(explainer, term->children[i]));
  return hash;
}

static bool has_signature(const void *user, uint32_t vertex, const void *key) {
  const eg_explainer *explainer = user;
  const eg_ground *term = key;
  eg_ground known = eg_ground_at(&explainer->terms, vertex);
  if (known.op != term->op || known.payload != term->payload ||
      known.arity != term->arity)
    return false;
  for (uint32_t i = 0; i < term->arity; i++)
    if (!eg_explainer_are_equal(explainer, known.children[i], term->children[i]))
      return false;
  return true;
}

// ---- uses ------------------------------------------------------------------------

static egraph_status reserve_uses(eg_explainer *explainer, uint32_t count) {
  return eg_uses_reserve(&explainer->uses, explainer->uses.len + count);
}

/// Room has been made.
static void push_use(eg_explainer *explainer, uint32_t root, uint32_t vertex) {
  uint32_t use = explainer->free_uses;
  if (use != EG_VERTEX_NONE)
    explainer->free_uses = explainer->uses.data[use].next;
  else
    use = (uint32_t)explainer->uses.len++;
  uint32_t *first = &explainer->vertices.data[root].uses;
  explainer->uses.data[use] = (eg_use){.vertex = vertex, .next = *first};
  *first = use;
}

// ---- the proof forest ------------------------------------------------------------

/// Turns the edges between a vertex and the root of its tree around.
static void reroot(eg_explainer *explainer, uint32_t vertex) {
  eg_vertex *vertices = explainer->vertices.data;
  uint32_t link = EG_VERTEX_NONE;
  while (vertex != EG_VERTEX_NONE) {
    uint32_t next = vertices[vertex].link;
    vertices[vertex].link = link;
    link = next;
    vertex = next == EG_VERTEX_NONE ? EG_VERTEX_NONE
                                    : eg_edge_other(&explainer->edges.data[next], vertex);
  }
}

static egraph_status estimate_congruence(eg_explainer *explainer, uint32_t a, uint32_t b,
                                         uint32_t *out) {
  uint32_t total = 0, arity = eg_ground_at(&explainer->terms, a).arity;
  for (uint32_t i = 0; i < arity && total < MAX_COST; i++) {
    uint32_t x = eg_ground_at(&explainer->terms, a).children[i];
    uint32_t y = eg_ground_at(&explainer->terms, b).children[i], cost = 0;
    if (x != y) EG_TRY(eg_explainer_estimate(explainer, x, y, &cost));
    total += cost;
  }
  *out = total < 1 ? 1 : total < MAX_COST ? total : MAX_COST;
  return EGRAPH_OK;
}

static egraph_status add_edge(eg_explainer *explainer, uint32_t a, uint32_t b,
                              uint32_t reason, uint32_t *out) {
  eg_edge edge = {.ends = {a, b}, .reason = reason, .cost = 1};
  if (explainer->edges.len >= UINT32_MAX / 2)
    return EG_FAIL(EGRAPH_E_MEMORY, "more than 2^31 equations");
  if (reason == EG_EDGE_CONGRUENCE)
    EG_TRY(estimate_congruence(explainer, a, b, &edge.cost));
  *out = (uint32_t)explainer->edges.len;
  for (uint32_t i = 0; i < 2; i++)
    edge.next[i] = explainer->vertices.data[edge.ends[i]].edges;
  EG_TRY(eg_edges_push(&explainer->edges, edge));
  for (uint32_t i = 0; i < 2; i++)
    explainer->vertices.data[edge.ends[i]].edges = *out;
  return EGRAPH_OK;
}

// ---- uniting ---------------------------------------------------------------------

/// The uses of a class leave the table, under the signatures that they have before the
/// class is united with another one.
static void unkey_uses(eg_explainer *explainer, uint32_t root) {
  for (uint32_t use = explainer->vertices.data[root].uses; use != EG_VERTEX_NONE;
       use = explainer->uses.data[use].next) {
    uint32_t vertex = explainer->uses.data[use].vertex;
    if (!explainer->vertices.data[vertex].is_keyed) continue;
    eg_ground term = eg_ground_at(&explainer->terms, vertex);
    eg_flatmap_remove(&explainer->table, hash_signature(explainer, &term), vertex);
    explainer->vertices.data[vertex].is_keyed = false;
  }
}

/// Enters a vertex under its signature, or notes what it is congruent to.
static egraph_status key_vertex(eg_explainer *explainer, uint32_t vertex) {
  eg_ground term = eg_ground_at(&explainer->terms, vertex);
  uint64_t hash = hash_signature(explainer, &term);
  uint32_t pair[2] = {vertex};
  if (eg_flatmap_find(&explainer->table, hash, &term, has_signature, explainer,
                      &pair[1])) {
    explainer->vertices.data[vertex].is_copy = true;
    return eg_u32s_append(&explainer->pending, pair, 2);
  }
  EG_TRY(eg_flatmap_insert(&explainer->table, hash, vertex));
  explainer->vertices.data[vertex].is_keyed = true;
  return EGRAPH_OK;
}

/// The uses of a class that is no root any more go to its root.
static egraph_status move_uses(eg_explainer *explainer, uint32_t from, uint32_t into) {
  eg_vertex *vertices = explainer->vertices.data;
  uint32_t use = vertices[from].uses;
  vertices[from].uses = EG_VERTEX_NONE;
  while (use != EG_VERTEX_NONE) {
    eg_use *entry = &explainer->uses.data[use];
    uint32_t next = entry->next, vertex = entry->vertex;
    if (!vertices[vertex].is_copy && !vertices[vertex].is_keyed)
      EG_TRY(key_vertex(explainer, vertex));
    uint32_t *list =
        vertices[vertex].is_copy ? &explainer->free_uses : &vertices[into].uses;
    entry->next = *list;
    *list = use;
    use = next;
  }
  return EGRAPH_OK;
}

static egraph_status unite(eg_explainer *explainer, uint32_t a, uint32_t b,
                           uint32_t reason) {
  eg_vertex *vertices = explainer->vertices.data;
  uint32_t keep = root_halving(explainer, a), drop = root_halving(explainer, b), edge;
  if (keep == drop && reason == EG_EDGE_CONGRUENCE) return EGRAPH_OK;
  EG_TRY(add_edge(explainer, a, b, reason, &edge));
  if (keep == drop) return EGRAPH_OK;
  if (vertices[keep].up < vertices[drop].up) {
    uint32_t smaller = keep;
    keep = drop;
    drop = smaller;
    b = a;
  }
  reroot(explainer, b);
  vertices[b].link = edge;
  unkey_uses(explainer, drop);
  vertices[keep].up += vertices[drop].up & ~EG_ROOT_BIT;
  vertices[drop].up = keep;
  return move_uses(explainer, drop, keep);
}

static egraph_status unite_pending(eg_explainer *explainer) {
  while (explainer->pending.len != 0) {
    uint32_t b = eg_u32s_pop(&explainer->pending), a = eg_u32s_pop(&explainer->pending);
    EG_TRY(unite(explainer, a, b, EG_EDGE_CONGRUENCE));
  }
  return EGRAPH_OK;
}

egraph_status eg_explainer_state(eg_explainer *explainer, uint32_t left, uint32_t right,
                                 uint32_t reason) {
  size_t count = explainer->vertices.len;
  if (left >= count || right >= count || reason > EG_EXPLAIN_MAX_REASON)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "equation of terms %u and %u of %zu, reason %u",
                   left, right, count, reason);
  if (left == right) return EGRAPH_OK;
  EG_TRY(unite(explainer, left, right, reason));
  return unite_pending(explainer);
}

// ---- adding ----------------------------------------------------------------------

static egraph_status add_vertex(eg_explainer *explainer, uint32_t vertex) {
  EG_TRY(eg_vertices_push(&explainer->vertices, (eg_vertex){.up = EG_ROOT_BIT | 1,
                                                            .uses = EG_VERTEX_NONE,
                                                            .link = EG_VERTEX_NONE,
                                                            .edges = EG_VERTEX_NONE}));
  EG_TRY(key_vertex(explainer, vertex));
  if (explainer->vertices.data[vertex].is_copy) return unite_pending(explainer);
  uint32_t arity = eg_ground_at(&explainer->terms, vertex).arity;
  EG_TRY(reserve_uses(explainer, arity));
  for (uint32_t i = 0; i < arity; i++) {
    uint32_t child = eg_ground_at(&explainer->terms, vertex).children[i];
    push_use(explainer, root_halving(explainer, child), vertex);
  }
  return EGRAPH_OK;
}

egraph_status eg_explainer_add(eg_explainer *explainer, const eg_ground *term,
                               uint32_t *out) {
  for (uint32_t i = 0; i < term->arity; i++)
    if (term->children[i] >= explainer->vertices.len)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "child %u is term %u of %zu", i,
                     term->children[i], explainer->vertices.len);
  EG_TRY(eg_ground_add(&explainer->terms, term, out));
  if (*out < explainer->vertices.len) return EGRAPH_OK;
  if (*out >= EG_ROOT_BIT - 1) return EG_FAIL(EGRAPH_E_MEMORY, "more than 2^31 terms");
  return add_vertex(explainer, *out);
}
