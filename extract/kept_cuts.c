// A mark per part, "a cut is somewhere below", keeps the walk down from each node short:
// most parts are in no cut. Parts below a pair have smaller numbers, so one sweep sets
// all marks.
// SPDX-License-Identifier: Apache-2.0
#include "extract/kept_cuts.h"

#include <stdlib.h>

#include "base/owner.h"

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

static egraph_status mark(listing *l) {
  const eg_parts *parts = l->parts;
  size_t count = parts->leaf_count + parts->left.len;
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
  for (size_t i = 0; i < parts->left.len; i++)
    if (l->below.data[parts->left.data[i]] || l->below.data[parts->right.data[i]])
      l->below.data[parts->leaf_count + i] = 1;
  return EGRAPH_OK;
}

// Reports each cut that a part below `top` is in, perhaps more than once.
static egraph_status walk(listing *l, uint32_t top, uint32_t node) {
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
    EG_TRY(eg_u32s_push(&l->stack, l->parts->left.data[part - l->parts->leaf_count]));
    EG_TRY(eg_u32s_push(&l->stack, l->parts->right.data[part - l->parts->leaf_count]));
  }
  return EGRAPH_OK;
}

static int compare(const void *a, const void *b) {
  const entry *p = a, *q = b;
  if (p->cut != q->cut) return p->cut < q->cut ? -1 : 1;
  return (p->node > q->node) - (p->node < q->node);
}

static egraph_status emit(const listing *l, eg_cuts *out) {
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

static egraph_status list(listing *l, eg_cuts *out) {
  EG_TRY(mark(l));
  EG_TRY(walk(l, l->reduced->fixed, EG_EXTRACT_NONE));
  for (uint32_t n = 0; n < l->reduced->part.len; n++)
    EG_TRY(walk(l, l->reduced->part.data[n], n));
  if (l->found.len > 1) qsort(l->found.data, l->found.len, sizeof(entry), compare);
  return emit(l, out);
}

egraph_status eg_kept_cuts_list(const eg_reduced *reduced, const eg_parts *parts,
                                eg_cuts *out) {
  if (reduced->cuts.len == 0) return EGRAPH_OK;
  egraph_allocator alloc = reduced->part.alloc;
  listing l;
  listing_init(&l, alloc);
  l.reduced = reduced;
  l.parts = parts;
  egraph_status status = list(&l, out);
  listing_deinit(&l);
  return status;
}

egraph_status eg_kept_cuts_load(eg_reduced *reduced, eg_parts *parts,
                                const eg_cuts *cuts) {
  for (uint32_t i = 0; i < eg_cuts_count(cuts); i++) {
    uint32_t first = cuts->begin.data[i], id;
    EG_TRY(eg_parts_add_cut(parts, cuts->nodes.data + first,
                            cuts->begin.data[i + 1] - first, &id));
    EG_TRY(eg_u32s_push(&reduced->cuts, id));
  }
  return EGRAPH_OK;
}
