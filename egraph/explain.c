// Proofs from congruence closure. A vertex is a ground term. There are three structures
// over the vertices:
//
//   up       union-find, by number of vertices
//   table    terms by operator and classes of the children: one vertex per signature;
//            each such vertex is in the list of uses of every child's class
//   edges    every equation stated and every congruence found, in the order of time. An
//            edge that united two classes is part of the proof forest: `link` of a vertex
//            is the edge towards the root of its tree. There is no path compression: the
//            path through the tree is the explanation.
//
// A congruence f(a1..) = f(b1..) was found when older edges already connected ai and bi;
// the explanations of ai = bi below it use older edges only. So no explanation needs
// itself, whichever edges of the graph it uses.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/explain.h"

#include "base/hash.h"
#include "base/owner.h"

#define EG_VERTEX_NONE UINT32_MAX
#define EG_ROOT_BIT (UINT32_C(1) << 31)
#define EG_EDGE_CONGRUENCE UINT32_MAX // reason of an edge

typedef struct eg_edge {
  uint32_t ends[2]; // left and right side
  uint32_t next[2]; // next edge of the same end, or EG_VERTEX_NONE
  uint32_t reason;
  uint32_t cost; // estimated steps, at least 1
} eg_edge;
EG_VEC_DEFINE(eg_edges, eg_edge);

typedef struct eg_use {
  uint32_t vertex, next;
} eg_use;
EG_VEC_DEFINE(eg_uses, eg_use);

typedef struct eg_vertex {
  uint32_t up;    // parent, or EG_ROOT_BIT | size of the class
  uint32_t uses;  // roots: first of the list
  uint32_t link;  // edge of the proof forest
  uint32_t edges; // first edge of the vertex
  uint32_t slot;  // index in `visits` of a search, valid if that entry names the vertex
  bool is_keyed;  // the vertex is in the table
  bool is_copy;   // congruent to another vertex; in no table and no list
} eg_vertex;
EG_VEC_DEFINE(eg_vertices, eg_vertex);

/// A ground term (vertex) that the search for a path has visited.
typedef struct eg_visit {
  uint32_t vertex;
  uint32_t via;      // edge by which the search came, or EG_VERTEX_NONE
  uint32_t distance; // or the side, in a walk through the forest
} eg_visit;
EG_VEC_DEFINE(eg_visits, eg_visit);
EG_VEC_DEFINE(eg_keys, uint64_t);

struct eg_explainer {
  egraph_allocator alloc;
  eg_ground_terms terms;
  eg_vertices vertices; // [terms]
  eg_flatmap table;
  eg_uses uses;
  uint32_t free_uses;
  eg_edges edges;
  eg_u32s pending; // pairs of congruent vertices to be united
  eg_visits visits;
  eg_keys heap;
};

static uint32_t class_root(const eg_explainer *explainer, uint32_t vertex) {
  const eg_vertex *vertices = explainer->vertices.data;
  while ((vertices[vertex].up & EG_ROOT_BIT) == 0)
    vertex = vertices[vertex].up;
  return vertex;
}

static uint32_t other_end(const eg_edge *edge, uint32_t vertex) {
  return edge->ends[edge->ends[0] == vertex];
}

// ---- paths between equal terms ------------------------------------------------------

// Finds paths between two terms. The proof forest has exactly one path; walking up from
// both ends in turn finds it, at a cost that follows the length of the path. Dijkstra's
// algorithm then searches all edges for a path with a lower estimate, within this
// estimate and a fixed number of edges, so that an explanation stays linear in the number
// of its different parts.

enum {
  ESTIMATE_VISITS = 64, // vertices of a walk; a longer path counts as this many steps
  SEARCH_EDGES = 1 << 13
};

static bool find_visit(const eg_explainer *explainer, uint32_t vertex, uint32_t *out) {
  *out = explainer->vertices.data[vertex].slot;
  return *out < explainer->visits.len && explainer->visits.data[*out].vertex == vertex;
}

static egraph_status add_visit(eg_explainer *explainer, eg_visit visit) {
  explainer->vertices.data[visit.vertex].slot = (uint32_t)explainer->visits.len;
  return eg_visits_push(&explainer->visits, visit);
}

static uint32_t next_up(const eg_explainer *explainer, uint32_t vertex) {
  uint32_t link = explainer->vertices.data[vertex].link;
  if (link == EG_VERTEX_NONE) return EG_VERTEX_NONE;
  return other_end(&explainer->edges.data[link], vertex);
}

/// Finds the first common term (vertex) of the paths from a and b to the roots of their
/// trees, or EG_VERTEX_NONE after `limit` vertices.
static egraph_status find_meeting(eg_explainer *explainer, uint32_t a, uint32_t b,
                                  size_t limit, uint32_t *out) {
  uint32_t ends[2] = {a, b}, known;
  explainer->visits.len = 0;
  *out = a;
  if (a == b) return EGRAPH_OK;
  for (uint32_t side = 0; side < 2; side++)
    EG_TRY(add_visit(explainer, (eg_visit){.vertex = ends[side], .distance = side}));
  *out = EG_VERTEX_NONE;
  for (bool moved = true; moved && explainer->visits.len <= limit;) {
    moved = false;
    for (uint32_t side = 0; side < 2; side++) {
      uint32_t next = next_up(explainer, ends[side]);
      if (next == EG_VERTEX_NONE) continue;
      moved = true;
      ends[side] = next;
      if (find_visit(explainer, next, &known)) {
        *out = next;
        return EGRAPH_OK;
      }
      EG_TRY(add_visit(explainer, (eg_visit){.vertex = next, .distance = side}));
    }
  }
  return EGRAPH_OK;
}

static uint32_t add_cost(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t cost_up_to(const eg_explainer *explainer, uint32_t vertex,
                           uint32_t meeting) {
  uint32_t total = 0;
  while (vertex != meeting) {
    total = add_cost(total,
                     explainer->edges.data[explainer->vertices.data[vertex].link].cost);
    vertex = next_up(explainer, vertex);
  }
  return total;
}

/// Estimates the steps of the path from a to b through the proof forest, which must
/// contain both; cuts off long walks.
static egraph_status estimate_way(eg_explainer *explainer, uint32_t a, uint32_t b,
                                  uint32_t *out_cost) {
  uint32_t meeting;
  EG_TRY(find_meeting(explainer, a, b, ESTIMATE_VISITS, &meeting));
  *out_cost = meeting == EG_VERTEX_NONE ? ESTIMATE_VISITS
                                        : add_cost(cost_up_to(explainer, a, meeting),
                                                   cost_up_to(explainer, b, meeting));
  return EGRAPH_OK;
}

/// Returns an edge as an item of a path, with its direction from `vertex`.
static uint32_t item_from(const eg_explainer *explainer, uint32_t edge, uint32_t vertex) {
  return 2 * edge + (explainer->edges.data[edge].ends[0] != vertex);
}

static void turn_around(uint32_t *items, size_t count) {
  for (size_t i = 0, k = count; i + 1 < k; i++) {
    uint32_t item = items[--k];
    items[k] = items[i];
    items[i] = item;
  }
}

/// Appends the edges of the path from a to b through the proof forest, over `meeting`.
static egraph_status walk_forest(const eg_explainer *explainer, uint32_t a, uint32_t b,
                                 uint32_t meeting, eg_u32s *inout_way) {
  const eg_vertex *vertices = explainer->vertices.data;
  for (; a != meeting; a = next_up(explainer, a))
    EG_TRY(eg_u32s_push(inout_way, item_from(explainer, vertices[a].link, a)));
  size_t middle = inout_way->len;
  for (; b != meeting; b = next_up(explainer, b))
    EG_TRY(eg_u32s_push(inout_way, item_from(explainer, vertices[b].link, b) ^ 1));
  turn_around(inout_way->data + middle, inout_way->len - middle);
  return EGRAPH_OK;
}

static egraph_status push_key(eg_keys *heap, uint64_t key) {
  EG_TRY(eg_keys_push(heap, key));
  size_t i = heap->len - 1;
  for (; i != 0 && heap->data[(i - 1) / 2] > key; i = (i - 1) / 2)
    heap->data[i] = heap->data[(i - 1) / 2];
  heap->data[i] = key;
  return EGRAPH_OK;
}

static uint64_t pop_key(eg_keys *heap) {
  uint64_t least = heap->data[0], last = eg_keys_pop(heap);
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < heap->len; i = child) {
    if (child + 1 < heap->len && heap->data[child + 1] < heap->data[child]) child++;
    if (heap->data[child] >= last) break;
    heap->data[i] = heap->data[child];
  }
  if (heap->len != 0) heap->data[i] = last;
  return least;
}

/// Records that the search reached a vertex, unless it knows a path of at most this cost.
static egraph_status reach_vertex(eg_explainer *explainer, eg_visit visit) {
  uint32_t index;
  if (find_visit(explainer, visit.vertex, &index)) {
    if (explainer->visits.data[index].distance <= visit.distance) return EGRAPH_OK;
    explainer->visits.data[index] = visit;
  } else {
    index = (uint32_t)explainer->visits.len;
    EG_TRY(add_visit(explainer, visit));
  }
  return push_key(&explainer->heap, (uint64_t)visit.distance << 32 | index);
}

/// Visits the edges of a vertex; *inout_edges counts them.
static egraph_status expand_vertex(eg_explainer *explainer, eg_visit from, uint32_t bound,
                                   uint32_t limit, uint32_t *inout_edges) {
  uint32_t edge = explainer->vertices.data[from.vertex].edges;
  while (edge != EG_VERTEX_NONE && *inout_edges < SEARCH_EDGES) {
    const eg_edge *e = &explainer->edges.data[edge];
    uint32_t distance = add_cost(from.distance, e->cost);
    if (edge < bound && distance < limit)
      EG_TRY(reach_vertex(explainer, (eg_visit){.vertex = other_end(e, from.vertex),
                                                .via = edge,
                                                .distance = distance}));
    edge = e->next[e->ends[0] != from.vertex];
    ++*inout_edges;
  }
  return EGRAPH_OK;
}

/// Searches a path from a to b that costs less than `limit`.
static egraph_status search_edges(eg_explainer *explainer, uint32_t a, uint32_t b,
                                  uint32_t bound, uint32_t limit, bool *out_found) {
  uint32_t edges = 0;
  explainer->visits.len = explainer->heap.len = 0;
  *out_found = false;
  EG_TRY(reach_vertex(explainer, (eg_visit){.vertex = a, .via = EG_VERTEX_NONE}));
  while (explainer->heap.len != 0 && edges < SEARCH_EDGES) {
    uint64_t key = pop_key(&explainer->heap);
    eg_visit visit = explainer->visits.data[(uint32_t)key];
    if (visit.distance != key >> 32) continue; // a nearer way was found since
    *out_found = visit.vertex == b;
    if (*out_found) return EGRAPH_OK;
    EG_TRY(expand_vertex(explainer, visit, bound, limit, &edges));
  }
  return EGRAPH_OK;
}

static egraph_status read_search(const eg_explainer *explainer, uint32_t a, uint32_t b,
                                 eg_u32s *inout_way) {
  size_t begin = inout_way->len;
  for (uint32_t index; b != a;) {
    bool found = find_visit(explainer, b, &index);
    assert(found && "the search came through it");
    (void)found;
    uint32_t via = explainer->visits.data[index].via;
    EG_TRY(eg_u32s_push(inout_way, item_from(explainer, via, b) ^ 1));
    b = other_end(&explainer->edges.data[via], b);
  }
  turn_around(inout_way->data + begin, inout_way->len - begin);
  return EGRAPH_OK;
}

/// Finds a path from a to b, which edges below `bound` connect, over these edges: appends
/// 2 * edge + (1 from right to left).
static egraph_status find_way(eg_explainer *explainer, uint32_t a, uint32_t b,
                              uint32_t bound, eg_u32s *inout_way) {
  uint32_t meeting;
  EG_TRY(find_meeting(explainer, a, b, SIZE_MAX, &meeting));
  assert(meeting != EG_VERTEX_NONE && "the terms are connected");
  uint32_t cost =
      add_cost(cost_up_to(explainer, a, meeting), cost_up_to(explainer, b, meeting));
  bool found = false;
  if (cost > 1) EG_TRY(search_edges(explainer, a, b, bound, cost, &found));
  if (found) return read_search(explainer, a, b, inout_way);
  return walk_forest(explainer, a, b, meeting, inout_way);
}

// ---- the congruence closure ---------------------------------------------------------

// A new term is looked up by its signature; if the table has the signature, the two terms
// are congruent. A union puts the smaller tree of the proof forest, turned around, below
// the larger one, and then visits the uses of the smaller class: each use leaves the
// table under its old signature and returns under the new one, or is congruent to the
// term there, and the pair becomes a pending union.

enum { MAX_COST = 1 << 20 };

#define OWNED                                                                            \
  (eg_ground, terms), (eg_vertices, vertices), (eg_flatmap, table), (eg_uses, uses),     \
      (eg_edges, edges), (eg_u32s, pending), (eg_visits, visits), (eg_keys, heap)

egraph_status eg_explainer_create(const egraph_allocator *alloc, eg_explainer **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_explainer *explainer;
  EG_TRY(eg_alloc(heap, 1, sizeof *explainer, &explainer));
  explainer->alloc = heap;
  explainer->free_uses = EG_VERTEX_NONE;
  EG_INIT_MEMBERS(explainer, heap, OWNED);
  *out = explainer;
  return EGRAPH_OK;
}

void eg_explainer_destroy(eg_explainer *explainer) {
  if (explainer == NULL) return;
  EG_DEINIT_MEMBERS(explainer, OWNED);
  eg_free(explainer->alloc, explainer, 1, sizeof *explainer);
}

const eg_ground_terms *eg_explainer_terms(const eg_explainer *explainer) {
  return &explainer->terms;
}

bool eg_explainer_are_equal(const eg_explainer *explainer, uint32_t a, uint32_t b) {
  assert(a < explainer->vertices.len && b < explainer->vertices.len);
  return class_root(explainer, a) == class_root(explainer, b);
}

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

/// Adds a term to the list of terms that use a class; memory must have been reserved.
static void push_use(eg_explainer *explainer, uint32_t root, uint32_t vertex) {
  assert(explainer->free_uses != EG_VERTEX_NONE ||
         explainer->uses.len < explainer->uses.cap);
  uint32_t use = explainer->free_uses;
  if (use != EG_VERTEX_NONE)
    explainer->free_uses = explainer->uses.data[use].next;
  else
    use = (uint32_t)explainer->uses.len++;
  uint32_t *first = &explainer->vertices.data[root].uses;
  explainer->uses.data[use] = (eg_use){.vertex = vertex, .next = *first};
  *first = use;
}

/// Reverses the edges of the proof forest between a vertex and the root of its tree.
static void reroot(eg_explainer *explainer, uint32_t vertex) {
  eg_vertex *vertices = explainer->vertices.data;
  uint32_t link = EG_VERTEX_NONE;
  while (vertex != EG_VERTEX_NONE) {
    uint32_t next = vertices[vertex].link;
    vertices[vertex].link = link;
    link = next;
    vertex = next == EG_VERTEX_NONE ? EG_VERTEX_NONE
                                    : other_end(&explainer->edges.data[next], vertex);
  }
}

static egraph_status estimate_congruence(eg_explainer *explainer, uint32_t a, uint32_t b,
                                         uint32_t *out) {
  uint32_t total = 0, arity = eg_ground_at(&explainer->terms, a).arity;
  for (uint32_t i = 0; i < arity && total < MAX_COST; i++) {
    uint32_t x = eg_ground_at(&explainer->terms, a).children[i];
    uint32_t y = eg_ground_at(&explainer->terms, b).children[i], cost = 0;
    if (x != y) EG_TRY(estimate_way(explainer, x, y, &cost));
    total += cost;
  }
  *out = total < 1 ? 1 : total < MAX_COST ? total : MAX_COST;
  return EGRAPH_OK;
}

static egraph_status add_edge(eg_explainer *explainer, uint32_t a, uint32_t b,
                              uint32_t reason, uint32_t *out) {
  assert(a < explainer->vertices.len && b < explainer->vertices.len);
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

/// Removes the terms that use a class from the table, under their current signatures,
/// before the class is united with another.
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

/// Enters a term under its signature; if a congruent one is there, queues their union.
static egraph_status key_vertex(eg_explainer *explainer, uint32_t vertex) {
  assert(!explainer->vertices.data[vertex].is_keyed);
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

/// Moves the list of terms that use a class, which is no longer a root, to its root.
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

static egraph_status unite_vertices(eg_explainer *explainer, uint32_t a, uint32_t b,
                                    uint32_t reason) {
  assert(a != b);
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
    EG_TRY(unite_vertices(explainer, a, b, EG_EDGE_CONGRUENCE));
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
  EG_TRY(unite_vertices(explainer, left, right, reason));
  return unite_pending(explainer);
}

static egraph_status add_vertex(eg_explainer *explainer, uint32_t vertex) {
  assert(vertex == explainer->vertices.len);
  EG_TRY(eg_vertices_push(&explainer->vertices, (eg_vertex){.up = EG_ROOT_BIT | 1,
                                                            .uses = EG_VERTEX_NONE,
                                                            .link = EG_VERTEX_NONE,
                                                            .edges = EG_VERTEX_NONE}));
  EG_TRY(key_vertex(explainer, vertex));
  if (explainer->vertices.data[vertex].is_copy) return unite_pending(explainer);
  uint32_t arity = eg_ground_at(&explainer->terms, vertex).arity;
  EG_TRY(eg_uses_reserve(&explainer->uses, explainer->uses.len + arity));
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

// ---- from paths to steps ------------------------------------------------------------

// A way between two terms is a sequence of edges; for a congruence among the edges, it
// needs the ways between the children, which use older edges. Each way is found once and
// kept with its pair of terms, for either direction. One walk through the ways writes the
// steps, with a stack: a congruence goes down into child i, and an equation writes the
// whole term anew along the position. At the end, if a term occurs twice, the steps
// between are cut out.

/// A path of edges between two terms, from the lower to the higher term number.
typedef struct way {
  uint32_t ends[2], bound, begin, count;
} way;
EG_VEC_DEFINE(way_vec, way);

/// A position within a path (way) while the steps of an explanation are written.
typedef struct frame {
  uint32_t way, done; // done: items passed
  uint32_t child;     // child of the current congruence
  bool reversed;
} frame;
EG_VEC_DEFINE(frame_vec, frame);

typedef struct writer {
  eg_explainer *explainer;
  size_t max_words;
  way_vec ways;
  eg_flatmap map; // pair of terms -> way
  eg_u32s items;  // items of all ways
  frame_vec stack;
  eg_u32s position; // child numbers down to the top frame
  eg_u32s levels;   // terms of `out` at each level of the position, the whole term first
  eg_ground_copier copier;
  eg_u32s scratch;
  eg_explanation *out;
} writer;
EG_OWNER_DEFINE_STATIC(writer, (way_vec, ways), (eg_flatmap, map),
                       (eg_u32s, items, position, levels, scratch), (frame_vec, stack),
                       (eg_ground_copier, copier))

EG_OWNER_DEFINE(eg_explanation, (eg_ground, terms), (eg_steps, steps),
                (eg_u32s, positions))

static bool is_way_of(const void *user, uint32_t index, const void *key) {
  const writer *w = user;
  return memcmp(w->ways.data[index].ends, key, sizeof w->ways.data[index].ends) == 0;
}

static egraph_status fill_way(writer *w, way *out) {
  out->begin = (uint32_t)w->items.len;
  EG_TRY(find_way(w->explainer, out->ends[0], out->ends[1], out->bound, &w->items));
  if (w->items.len > UINT32_MAX / 2)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the explanation has too many parts");
  out->count = (uint32_t)w->items.len - out->begin;
  return EGRAPH_OK;
}

/// Finds a path between two terms over edges below `bound`. A known path for a larger
/// bound may use later edges; then another path is found, and both are valid.
static egraph_status way_between(writer *w, uint32_t a, uint32_t b, uint32_t bound,
                                 uint32_t *out) {
  way wanted = {.ends = {a < b ? a : b, a < b ? b : a}, .bound = bound};
  uint64_t hash = eg_hash_combine(wanted.ends[0], wanted.ends[1]);
  bool known = eg_flatmap_find(&w->map, hash, wanted.ends, is_way_of, w, out);
  if (known && w->ways.data[*out].bound <= bound) return EGRAPH_OK;
  EG_TRY(fill_way(w, &wanted));
  EG_TRY(way_vec_reserve(&w->ways, w->ways.len + 1));
  uint32_t index = (uint32_t)w->ways.len;
  if (known)
    eg_flatmap_replace(&w->map, hash, *out, index);
  else
    EG_TRY(eg_flatmap_insert(&w->map, hash, index));
  w->ways.data[w->ways.len++] = wanted;
  *out = index;
  return EGRAPH_OK;
}

/// Enters the path from a to b, whose steps begin at the term a.
static egraph_status push_frame(writer *w, uint32_t a, uint32_t b, uint32_t bound) {
  frame top = {.reversed = a > b};
  uint32_t term;
  EG_TRY(way_between(w, a, b, bound, &top.way));
  EG_TRY(eg_ground_copy(&w->copier, a, &term));
  EG_TRY(eg_u32s_push(&w->levels, term));
  return frame_vec_push(&w->stack, top);
}

static egraph_status check_room(const writer *w) {
  const eg_explanation *out = w->out;
  size_t words = out->terms.words.len + out->positions.len +
                 out->steps.len * (sizeof(eg_step) / sizeof(uint32_t));
  if (words <= w->max_words) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "the explanation has more than %zu steps, and takes more than %zu words",
                 out->steps.len, w->max_words);
}

/// Replaces the subterm at the current position by `term` in the whole term.
static egraph_status rewrite(writer *w, uint32_t term) {
  assert(w->levels.len == w->position.len + 1);
  size_t level = w->levels.len - 1;
  w->levels.data[level] = term;
  for (; level-- > 0;)
    EG_TRY(eg_ground_replace(&w->out->terms, w->levels.data[level],
                             w->position.data[level], w->levels.data[level + 1],
                             &w->scratch, &w->levels.data[level]));
  return EGRAPH_OK;
}

static egraph_status write_step(writer *w, const eg_edge *edge, bool backward) {
  assert(edge->reason != EG_EDGE_CONGRUENCE);
  uint32_t term;
  eg_step step = {.before = w->levels.data[0],
                  .reason = edge->reason,
                  .backward = backward,
                  .position = (uint32_t)w->out->positions.len,
                  .depth = (uint32_t)w->position.len};
  EG_TRY(eg_ground_copy(&w->copier, edge->ends[!backward], &term));
  EG_TRY(rewrite(w, term));
  step.after = w->levels.data[0];
  EG_TRY(eg_u32s_append(&w->out->positions, w->position.data, w->position.len));
  EG_TRY(eg_steps_push(&w->out->steps, step));
  return check_room(w);
}

/// Enters the next child that a congruence changes, or steps over the congruence.
static egraph_status enter_child(writer *w, uint32_t edge, bool backward) {
  assert(w->explainer->edges.data[edge].reason == EG_EDGE_CONGRUENCE);
  const eg_edge *e = &w->explainer->edges.data[edge];
  eg_ground before = eg_ground_at(&w->explainer->terms, e->ends[backward]);
  eg_ground after = eg_ground_at(&w->explainer->terms, e->ends[!backward]);
  frame *top = &w->stack.data[w->stack.len - 1];
  while (top->child < before.arity &&
         before.children[top->child] == after.children[top->child])
    top->child++;
  if (top->child == before.arity) {
    top->child = 0;
    top->done++;
    return EGRAPH_OK;
  }
  uint32_t child = top->child++;
  EG_TRY(eg_u32s_push(&w->position, child));
  return push_frame(w, before.children[child], after.children[child], edge);
}

static egraph_status advance_frame(writer *w) {
  frame *top = &w->stack.data[w->stack.len - 1];
  const way *current = &w->ways.data[top->way];
  if (top->done == current->count) {
    w->stack.len--;
    w->levels.len--;
    if (w->stack.len != 0) w->position.len--;
    return EGRAPH_OK;
  }
  uint32_t index = top->reversed ? current->count - 1 - top->done : top->done;
  uint32_t item = w->items.data[current->begin + index] ^ top->reversed;
  const eg_edge *edge = &w->explainer->edges.data[item / 2];
  if (edge->reason == EG_EDGE_CONGRUENCE) return enter_child(w, item / 2, item & 1);
  top->done++;
  return write_step(w, edge, item & 1);
}

static egraph_status write_steps(writer *w, uint32_t from, uint32_t to) {
  EG_TRY(eg_ground_copy(&w->copier, from, &w->out->from));
  EG_TRY(eg_ground_copy(&w->copier, to, &w->out->to));
  if (from == to) return EGRAPH_OK;
  EG_TRY(push_frame(w, from, to, UINT32_MAX));
  while (w->stack.len != 0)
    EG_TRY(advance_frame(w));
  return EGRAPH_OK;
}

/// Cuts cycles out of an explanation: after each step, continues from the last step that
/// leaves the same term.
static egraph_status cut_cycles(eg_explanation *e, eg_u32s *last) {
  EG_TRY(eg_u32s_resize(last, eg_ground_count(&e->terms)));
  for (size_t i = 0; i < e->steps.len; i++)
    last->data[e->steps.data[i].before] = (uint32_t)i;
  size_t kept = 0;
  for (uint32_t term = e->from; term != e->to;) {
    eg_step step = e->steps.data[last->data[term]];
    e->steps.data[kept++] = step;
    term = step.after;
  }
  e->steps.len = kept;
  return EGRAPH_OK;
}

/// Moves the positions of the steps that remain together.
static void compact_positions(eg_explanation *e) {
  uint32_t kept = 0;
  for (size_t i = 0; i < e->steps.len; i++) {
    eg_step *step = &e->steps.data[i];
    if (step->depth != 0)
      memmove(e->positions.data + kept, e->positions.data + step->position,
              step->depth * sizeof *e->positions.data);
    step->position = kept;
    kept += step->depth;
  }
  e->positions.len = kept;
}

egraph_status eg_explainer_explain(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   size_t max_words, eg_explanation *out) {
  size_t count = explainer->vertices.len;
  if (from >= count || to >= count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there are %zu terms, but no term %u", count,
                   from >= count ? from : to);
  if (!eg_explainer_are_equal(explainer, from, to))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the two terms are not known to be equal");
  EG_LOCAL_WITH(writer, w, explainer->alloc, .explainer = explainer,
                .max_words = max_words, .out = out);
  w.copier.from = &explainer->terms;
  w.copier.to = &out->terms;
  EG_TRY(write_steps(&w, from, to));
  w.scratch.len = 0;
  EG_TRY(cut_cycles(out, &w.scratch));
  compact_positions(out);
  return EGRAPH_OK;
}

// ---- reasons without steps ----------------------------------------------------------
// Collects the equations behind an equality. Each congruence on a path adds the paths
// between the children, by older edges. An edge is visited once.

EG_OWNER_DEFINE(eg_reasons, (eg_u32s, reasons, seen, way, stack))

/// Pushes a pair of terms onto the stack, with the bound of the edges in their path.
static egraph_status push_pair(eg_reasons *r, uint32_t a, uint32_t b, uint32_t bound) {
  const uint32_t pair[3] = {a, b, bound};
  return a == b ? EGRAPH_OK : eg_u32s_append(&r->stack, pair, 3);
}

static egraph_status collect_edge(const eg_explainer *explainer, uint32_t index,
                                  eg_reasons *r) {
  const eg_edge *edge = &explainer->edges.data[index];
  if (r->seen.data[index] != 0) return EGRAPH_OK;
  r->seen.data[index] = 1;
  if (edge->reason != EG_EDGE_CONGRUENCE) return eg_u32s_push(&r->reasons, edge->reason);
  eg_ground a = eg_ground_at(&explainer->terms, edge->ends[0]);
  eg_ground b = eg_ground_at(&explainer->terms, edge->ends[1]);
  for (uint32_t i = 0; i < a.arity; i++)
    EG_TRY(push_pair(r, a.children[i], b.children[i], index));
  return EGRAPH_OK;
}

egraph_status eg_explainer_collect(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   eg_reasons *r) {
  size_t count = explainer->vertices.len;
  if (from >= count || to >= count || !eg_explainer_are_equal(explainer, from, to))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "terms %u and %u of %zu are not known to be equal",
                   from, to, count);
  EG_TRY(eg_u32s_resize(&r->seen, explainer->edges.len));
  r->stack.len = 0;
  EG_TRY(push_pair(r, from, to, UINT32_MAX));
  while (r->stack.len != 0) {
    r->stack.len -= 3;
    const uint32_t *pair = r->stack.data + r->stack.len;
    r->way.len = 0;
    EG_TRY(find_way(explainer, pair[0], pair[1], pair[2], &r->way));
    for (size_t i = 0; i < r->way.len; i++)
      EG_TRY(collect_edge(explainer, r->way.data[i] / 2, r));
  }
  return EGRAPH_OK;
}
