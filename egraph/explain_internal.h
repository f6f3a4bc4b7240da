// What an explainer holds, for the files that read it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_INTERNAL_H
#define EG_EGRAPH_EXPLAIN_INTERNAL_H

#include "egraph/explain.h"

#define EG_VERTEX_NONE UINT32_MAX
#define EG_ROOT_BIT (UINT32_C(1) << 31)
#define EG_EDGE_CONGRUENCE UINT32_MAX // reason of an edge

typedef struct eg_edge {
  uint32_t ends[2]; // left and right side
  uint32_t next[2]; // edge of the same end, or EG_VERTEX_NONE
  uint32_t reason;
  uint32_t cost; // steps that it is estimated to need, at least 1
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
  uint32_t slot;  // of a search: index in `visits`, valid when that names the vertex
  bool is_keyed;  // in the table
  bool is_copy;   // congruent to another one, in no table and no list
} eg_vertex;
EG_VEC_DEFINE(eg_vertices, eg_vertex);

/// What a search knows of a vertex.
typedef struct eg_visit {
  uint32_t vertex;
  uint32_t via;      // edge that led here, or EG_VERTEX_NONE
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

static inline uint32_t eg_explainer_root(const eg_explainer *explainer, uint32_t vertex) {
  const eg_vertex *vertices = explainer->vertices.data;
  while ((vertices[vertex].up & EG_ROOT_BIT) == 0)
    vertex = vertices[vertex].up;
  return vertex;
}

static inline uint32_t eg_edge_other(const eg_edge *edge, uint32_t vertex) {
  return edge->ends[edge->ends[0] == vertex];
}

/// A way from a to b, which are connected by edges below `bound`, over such edges:
/// appends 2 * edge + (1 when it is gone from right to left).
egraph_status eg_explainer_find_way(eg_explainer *explainer, uint32_t a, uint32_t b,
                                    uint32_t bound, eg_u32s *inout_way);

#endif
