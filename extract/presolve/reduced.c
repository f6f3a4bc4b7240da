// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/reduced.h"

#include <stdlib.h>

void eg_parts_init(eg_parts *parts, egraph_allocator alloc, uint32_t leaf_count) {
  parts->leaf_count = leaf_count;
  eg_parts_init_members(parts, alloc);
}

egraph_status eg_parts_join(eg_parts *parts, uint32_t a, uint32_t b, uint32_t *out) {
  if (a == EG_EXTRACT_NONE || b == EG_EXTRACT_NONE) {
    *out = a == EG_EXTRACT_NONE ? b : a;
    return EGRAPH_OK;
  }
  size_t part = parts->leaf_count + parts->pairs.len;
  if (part >= EG_EXTRACT_NONE)
    return EG_FAIL(EGRAPH_E_MEMORY, "extraction merged nodes more than 2^32 times");
  *out = (uint32_t)part;
  return eg_part_pairs_push(&parts->pairs, (eg_part_pair){a, b});
}

egraph_status eg_parts_add_cut(eg_parts *parts, const uint32_t *cut, uint32_t count,
                               uint32_t *out) {
  *out = (uint32_t)parts->cut_begin.len;
  EG_TRY(eg_u32s_push(&parts->cut_begin, (uint32_t)parts->cut_parts.len));
  return eg_u32s_append(&parts->cut_parts, cut, count);
}

static egraph_status visit_part(eg_parts *parts, uint32_t part) {
  if (parts->seen.data[part]) return EGRAPH_OK;
  parts->seen.data[part] = 1;
  return eg_u32s_push(&parts->stack, part);
}

/// Writes each original node in `part` (a set of nodes) to choice[its class], once.
static egraph_status expand_part(eg_parts *parts, uint32_t part,
                                 const eg_extract_problem *original, uint32_t *choice) {
  parts->stack.len = 0;
  if (part != EG_EXTRACT_NONE) EG_TRY(visit_part(parts, part));
  while (parts->stack.len != 0) {
    uint32_t top = eg_u32s_pop(&parts->stack);
    if (top < parts->leaf_count) {
      choice[original->node_class.data[top]] = top;
      continue;
    }
    eg_part_pair pair = parts->pairs.data[top - parts->leaf_count];
    EG_TRY(visit_part(parts, pair.left));
    EG_TRY(visit_part(parts, pair.right));
  }
  return EGRAPH_OK;
}

egraph_status eg_reduced_init(eg_reduced *reduced, egraph_allocator alloc) {
  eg_u32s_init(&reduced->part, alloc);
  eg_u32s_init(&reduced->cuts, alloc);
  reduced->fixed = EG_EXTRACT_NONE;
  reduced->offset = 0;
  return eg_extract_problem_init(&reduced->problem, alloc);
}

void eg_reduced_deinit(eg_reduced *reduced) {
  eg_u32s_deinit(&reduced->cuts);
  eg_u32s_deinit(&reduced->part);
  eg_extract_problem_deinit(&reduced->problem);
}

void eg_reduced_clear(eg_reduced *reduced, uint32_t class_count) {
  eg_extract_problem_clear(&reduced->problem, class_count);
  reduced->part.len = reduced->cuts.len = 0;
  reduced->fixed = EG_EXTRACT_NONE;
  reduced->offset = 0;
}

void eg_reduced_start(eg_reduced *reduced, const eg_reduced *from, uint32_t class_count) {
  eg_reduced_clear(reduced, class_count);
  reduced->fixed = from->fixed;
  reduced->offset = from->offset;
}

egraph_status eg_reduced_add_node(eg_reduced *reduced, uint32_t class, double cost,
                                  uint32_t part, const uint32_t *children,
                                  uint32_t count) {
  assert(class < reduced->problem.class_count);
  assert(reduced->part.len == reduced->problem.node_class.len);
  eg_extract_problem *problem = &reduced->problem;
  size_t first = problem->children.len;
  for (uint32_t i = 0; i < count; i++)
    if (children[i] == class) return EGRAPH_OK;
  EG_TRY(eg_u32s_reserve(&reduced->part, reduced->part.len + 1));
  EG_TRY(eg_extract_problem_add_node(problem, class, cost, children, count, NULL));
  EG_TRY(eg_u32s_push(&reduced->part, part));
  problem->children.len = first + eg_sort_unique(problem->children.data + first, count);
  problem->child_begin.data[problem->node_class.len] = (uint32_t)problem->children.len;
  return EGRAPH_OK;
}

egraph_status eg_reduced_copy_node(eg_reduced *reduced, const eg_extract_problem *from,
                                   uint32_t node, uint32_t part) {
  assert(node < eg_extract_node_count(from));
  uint32_t first = from->child_begin.data[node];
  return eg_reduced_add_node(reduced, from->node_class.data[node], from->cost.data[node],
                             part, from->children.data + first,
                             from->child_begin.data[node + 1] - first);
}

static egraph_status add_distinct_roots(eg_reduced *reduced,
                                        const eg_extract_problem *original) {
  EG_LOCAL(eg_bytes, seen, reduced->part.alloc);
  EG_TRY(eg_bytes_resize(&seen, original->class_count));
  for (size_t i = 0; i < original->roots.len; i++) {
    uint32_t root = original->roots.data[i];
    if (!seen.data[root]) EG_TRY(eg_extract_problem_add_root(&reduced->problem, root));
    seen.data[root] = 1;
  }
  return EGRAPH_OK;
}

egraph_status eg_reduced_from(eg_reduced *reduced, const eg_extract_problem *original) {
  eg_reduced_clear(reduced, original->class_count);
  EG_TRY(add_distinct_roots(reduced, original));
  for (uint32_t n = 0; n < eg_extract_node_count(original); n++)
    EG_TRY(eg_reduced_copy_node(reduced, original, n, n));
  return EGRAPH_OK;
}

egraph_status eg_reduced_copy(eg_reduced *to, const eg_reduced *from) {
  assert(to != from);
  const eg_extract_problem *p = &from->problem;
  eg_reduced_clear(to, p->class_count);
  eg_extract_problem *q = &to->problem;
  q->child_begin.len = 0;
  EG_TRY(eg_u32s_append(&q->child_begin, p->child_begin.data, p->child_begin.len));
  EG_TRY(eg_u32s_append(&q->node_class, p->node_class.data, p->node_class.len));
  EG_TRY(eg_doubles_append(&q->cost, p->cost.data, p->cost.len));
  EG_TRY(eg_u32s_append(&q->children, p->children.data, p->children.len));
  EG_TRY(eg_u32s_append(&q->roots, p->roots.data, p->roots.len));
  EG_TRY(eg_u32s_append(&to->part, from->part.data, from->part.len));
  EG_TRY(eg_u32s_append(&to->cuts, from->cuts.data, from->cuts.len));
  to->fixed = from->fixed;
  to->offset = from->offset;
  return EGRAPH_OK;
}

egraph_status eg_reduced_expand(const eg_reduced *reduced, eg_parts *parts,
                                const eg_extract_problem *original,
                                const uint32_t *reduced_choice, uint32_t *choice) {
  assert(reduced->part.len == eg_extract_node_count(&reduced->problem));
  parts->seen.len = 0;
  EG_TRY(eg_bytes_resize(&parts->seen, parts->leaf_count + parts->pairs.len));
  EG_TRY(expand_part(parts, reduced->fixed, original, choice));
  for (uint32_t class = 0; class < reduced->problem.class_count; class ++)
    if (reduced_choice[class] != EG_EXTRACT_NONE)
      EG_TRY(expand_part(parts, reduced->part.data[reduced_choice[class]], original,
                         choice));
  return EGRAPH_OK;
}

// ---- cuts on the way through presolve ---------------------------------------------

// Finds the nodes of each cut. A mark per part, "a cut names a part below this one",
// keeps the walk down from each node short: most parts are in no cut. Parts below a pair
// have smaller numbers, so one sweep sets all marks.

typedef struct entry {
  uint32_t cut, node;
} entry;
EG_VEC_DEFINE(entries, entry);

typedef struct listing {
  const eg_reduced *reduced;
  const eg_parts *parts;
  eg_u32s first, next; // [part], [place in cut_parts]: cuts that name the part
  eg_u32s cut_of;      // [place in cut_parts]
  eg_bytes below;      // [part]
  eg_bytes met;        // [cut] by the fixed part
  eg_u32s stack;
  entries found;
} listing;
EG_OWNER_DEFINE_STATIC(listing, (eg_u32s, first, next, cut_of, stack),
                       (eg_bytes, below, met), (entries, found))

static uint32_t cut_end(const eg_parts *parts, uint32_t cut) {
  return cut + 1 < parts->cut_begin.len ? parts->cut_begin.data[cut + 1]
                                        : (uint32_t)parts->cut_parts.len;
}

static egraph_status mark_cut_parts(listing *l) {
  const eg_parts *parts = l->parts;
  size_t count = parts->leaf_count + parts->pairs.len;
  EG_TRY(eg_u32s_resize(&l->first, count));
  EG_TRY(eg_bytes_resize(&l->below, count));
  EG_TRY(eg_u32s_resize(&l->next, parts->cut_parts.len));
  EG_TRY(eg_u32s_resize(&l->cut_of, parts->cut_parts.len));
  EG_TRY(eg_bytes_resize(&l->met, parts->cut_begin.len));
  for (size_t i = 0; i < l->reduced->cuts.len; i++) {
    uint32_t cut = l->reduced->cuts.data[i];
    for (uint32_t at = parts->cut_begin.data[cut]; at < cut_end(parts, cut); at++) {
      uint32_t part = parts->cut_parts.data[at];
      l->cut_of.data[at] = cut;
      l->next.data[at] = l->first.data[part];
      l->first.data[part] = at + 1;
      l->below.data[part] = 1;
    }
  }
  for (size_t i = 0; i < parts->pairs.len; i++)
    if (l->below.data[parts->pairs.data[i].left] ||
        l->below.data[parts->pairs.data[i].right])
      l->below.data[parts->leaf_count + i] = 1;
  return EGRAPH_OK;
}

/// Reports each cut that names a part below `top`, perhaps more than once.
static egraph_status walk_parts(listing *l, uint32_t top, uint32_t node) {
  l->stack.len = 0;
  if (top != EG_EXTRACT_NONE) EG_TRY(eg_u32s_push(&l->stack, top));
  while (l->stack.len != 0) {
    uint32_t part = eg_u32s_pop(&l->stack);
    if (!l->below.data[part]) continue;
    for (uint32_t at = l->first.data[part]; at != 0; at = l->next.data[at - 1]) {
      uint32_t cut = l->cut_of.data[at - 1];
      if (node == EG_EXTRACT_NONE)
        l->met.data[cut] = 1;
      else if (!l->met.data[cut])
        EG_TRY(entries_push(&l->found, (entry){cut, node}));
    }
    if (part < l->parts->leaf_count) continue;
    eg_part_pair pair = l->parts->pairs.data[part - l->parts->leaf_count];
    EG_TRY(eg_u32s_push(&l->stack, pair.left));
    EG_TRY(eg_u32s_push(&l->stack, pair.right));
  }
  return EGRAPH_OK;
}

static int compare_entries(const void *a, const void *b) {
  const entry *p = a, *q = b;
  if (p->cut != q->cut) return p->cut < q->cut ? -1 : 1;
  return (p->node > q->node) - (p->node < q->node);
}

static egraph_status emit_cuts(const listing *l, eg_cuts *out) {
  for (size_t i = 0; i < l->found.len; i++) {
    const entry *e = &l->found.data[i];
    bool fresh = i == 0 || e[-1].cut != e->cut;
    if (fresh && out->nodes.len != out->begin.data[out->begin.len - 1])
      EG_TRY(eg_u32s_push(&out->begin, (uint32_t)out->nodes.len));
    if (fresh || e[-1].node != e->node) EG_TRY(eg_u32s_push(&out->nodes, e->node));
  }
  if (l->found.len != 0) EG_TRY(eg_u32s_push(&out->begin, (uint32_t)out->nodes.len));
  return EGRAPH_OK;
}

egraph_status eg_reduced_list_cuts(const eg_reduced *reduced, const eg_parts *parts,
                                   eg_cuts *out) {
  if (reduced->cuts.len == 0) return EGRAPH_OK;
  EG_LOCAL_WITH(listing, l, reduced->part.alloc, .reduced = reduced, .parts = parts);
  EG_TRY(mark_cut_parts(&l));
  EG_TRY(walk_parts(&l, reduced->fixed, EG_EXTRACT_NONE));
  for (uint32_t n = 0; n < reduced->part.len; n++)
    EG_TRY(walk_parts(&l, reduced->part.data[n], n));
  if (l.found.len > 1) qsort(l.found.data, l.found.len, sizeof(entry), compare_entries);
  return emit_cuts(&l, out);
}

egraph_status eg_reduced_load_cuts(eg_reduced *reduced, eg_parts *parts,
                                   const eg_cuts *cuts) {
  assert(reduced->part.len == eg_extract_node_count(&reduced->problem));
  for (uint32_t i = 0; i < eg_cuts_count(cuts); i++) {
    uint32_t first = cuts->begin.data[i], id;
    EG_TRY(eg_parts_add_cut(parts, cuts->nodes.data + first,
                            cuts->begin.data[i + 1] - first, &id));
    EG_TRY(eg_u32s_push(&reduced->cuts, id));
  }
  return EGRAPH_OK;
}
