// SPDX-License-Identifier: Apache-2.0
#include "extract/search/frontier_order.h"

#include <string.h>

#include "base/owner.h"

EG_OWNER_DEFINE(eg_frontier, (eg_u32s, order, place, slot))

static egraph_status take_order(eg_frontier *f, const eg_u32s *order) {
  f->order.len = 0;
  EG_TRY(eg_u32s_append(&f->order, order->data, order->len));
  EG_TRY(eg_u32s_resize(&f->place, order->len));
  for (uint32_t i = 0; i < order->len; i++)
    f->place.data[order->data[i]] = i;
  return EGRAPH_OK;
}

typedef struct slots {
  eg_u32s free; // of those that were taken before
  uint32_t count, open;
} slots;

static egraph_status open_class(eg_frontier *f, slots *s, uint32_t class) {
  if (f->slot.data[class] != EG_EXTRACT_NONE) return EGRAPH_OK;
  f->slot.data[class] = s->free.len != 0 ? eg_u32s_pop(&s->free) : s->count++;
  s->open++;
  return EGRAPH_OK;
}

/// A class has a bit from the first one that needs it until it is looked at.
static egraph_status take_slots(eg_frontier *f, slots *s) {
  const eg_extract_problem *problem = f->problem;
  uint64_t sum = 0;
  EG_TRY(eg_fill_none(&f->slot, problem->class_count));
  for (size_t i = 0; i < problem->roots.len; i++)
    EG_TRY(open_class(f, s, problem->roots.data[i]));
  for (uint32_t i = 0; i < f->order.len; i++) {
    uint32_t class = f->order.data[i];
    sum += s->open;
    if (f->slot.data[class] == EG_EXTRACT_NONE) continue;
    EG_TRY(eg_u32s_push(&s->free, f->slot.data[class]));
    s->open--;
    EG_EACH_MEMBER(f->index, class, member) {
      EG_EACH_CHILD(problem, member, child) {
        if (f->place.data[child] > i) EG_TRY(open_class(f, s, child));
      }
    }
  }
  f->width = s->count;
  f->mean_width = (uint32_t)(sum / (f->order.len + 1));
  return EGRAPH_OK;
}

static egraph_status measure(eg_frontier *f, const eg_u32s *order) {
  slots s = {.count = 0};
  eg_u32s_init(&s.free, f->order.alloc);
  EG_TRY(take_order(f, order));
  egraph_status status = take_slots(f, &s);
  eg_u32s_deinit(&s.free);
  return status;
}

/// Two orders: components one after the other, and by depth.
typedef struct orders {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_u32s component, children_first;
  eg_u32s waiting, queue, rank; // rank: [class] in the queue, children first
  eg_bytes derivable;
  eg_u32s depth; // [class] edges to it at most
  eg_u32s begin, parents_first, by_depth;
} orders;
EG_OWNER_DEFINE_STATIC(orders, (eg_bytes, derivable),
                       (eg_u32s, component, children_first, waiting, queue, rank, depth,
                        begin, parents_first, by_depth))

/// On a cycle an edge leads on where its child is derivable earlier: by the node that is
/// derivable first every class is.
static bool leads_on(const orders *o, uint32_t class, uint32_t child) {
  return o->component.data[class] != o->component.data[child] ||
         o->rank.data[child] < o->rank.data[class];
}

/// Stable, by ascending keys [class].
static egraph_status sort_classes(orders *o, const eg_u32s *classes, const uint32_t *key,
                                  eg_u32s *out) {
  uint32_t most = 0;
  for (size_t i = 0; i < classes->len; i++)
    if (key[classes->data[i]] > most) most = key[classes->data[i]];
  o->begin.len = 0;
  EG_TRY(eg_u32s_resize(&o->begin, (size_t)most + 2));
  memset(o->begin.data, 0, o->begin.len * sizeof(uint32_t));
  for (size_t i = 0; i < classes->len; i++)
    o->begin.data[key[classes->data[i]] + 1]++;
  for (size_t i = 1; i < o->begin.len; i++)
    o->begin.data[i] += o->begin.data[i - 1];
  EG_TRY(eg_u32s_resize(out, classes->len));
  for (size_t i = 0; i < classes->len; i++)
    out->data[o->begin.data[key[classes->data[i]]]++] = classes->data[i];
  return EGRAPH_OK;
}

/// Classes that nothing derives are last.
static egraph_status rank_classes(orders *o) {
  EG_TRY(eg_derivable_find(o->problem, o->index, NULL, 0, &o->derivable, &o->waiting,
                           &o->queue));
  for (uint32_t class = 0; class < o->problem->class_count; class ++)
    if (!o->derivable.data[class]) EG_TRY(eg_u32s_push(&o->queue, class));
  EG_TRY(eg_u32s_resize(&o->rank, o->queue.len));
  for (uint32_t i = 0; i < o->queue.len; i++)
    o->rank.data[o->queue.data[i]] = i;
  return EGRAPH_OK;
}

static egraph_status sort_by_component(orders *o) {
  EG_TRY(eg_components_find(o->problem, o->index, &o->component, &o->children_first));
  EG_TRY(rank_classes(o));
  EG_TRY(sort_classes(o, &o->queue, o->component.data, &o->parents_first));
  for (size_t i = 0, k = o->parents_first.len; i + 1 < k; i++) {
    uint32_t first = o->parents_first.data[i];
    o->parents_first.data[i] = o->parents_first.data[--k];
    o->parents_first.data[k] = first;
  }
  return EGRAPH_OK;
}

static egraph_status sort_by_depth(orders *o) {
  EG_TRY(eg_u32s_resize(&o->depth, o->problem->class_count));
  if (o->depth.len != 0) memset(o->depth.data, 0, o->depth.len * sizeof(uint32_t));
  for (size_t i = 0; i < o->parents_first.len; i++) {
    uint32_t class = o->parents_first.data[i], next = o->depth.data[class] + 1;
    EG_EACH_MEMBER(o->index, class, member) {
      EG_EACH_CHILD(o->problem, member, child) {
        if (leads_on(o, class, child) && o->depth.data[child] < next)
          o->depth.data[child] = next;
      }
    }
  }
  return sort_classes(o, &o->parents_first, o->depth.data, &o->by_depth);
}

egraph_status eg_frontier_find(eg_frontier *frontier, const eg_extract_problem *problem,
                               const eg_class_index *index) {
  orders o;
  orders_init(&o, frontier->order.alloc);
  frontier->problem = o.problem = problem;
  frontier->index = o.index = index;
  egraph_status status = sort_by_component(&o);
  if (status == EGRAPH_OK) status = sort_by_depth(&o);
  if (status == EGRAPH_OK) status = measure(frontier, &o.parents_first);
  uint32_t mean = frontier->mean_width;
  if (status == EGRAPH_OK) status = measure(frontier, &o.by_depth);
  if (status == EGRAPH_OK && frontier->mean_width > mean)
    status = measure(frontier, &o.parents_first);
  orders_deinit(&o);
  return status;
}
