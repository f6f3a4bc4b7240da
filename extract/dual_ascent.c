// h(c) is the h-max value: the dearest node on the way to the cheapest derivation of c,
// zero exactly when c is derivable for free. S starts at a root with h > 0; a node of a
// class in S that is free must not be in the cut, so its child with the largest h (which
// is above zero) joins S. Prices only fall, so h is kept by relaxation from above.
// SPDX-License-Identifier: Apache-2.0
#include "extract/dual_ascent.h"

#include <math.h>

egraph_status eg_cuts_init(eg_cuts *cuts, egraph_allocator alloc) {
  eg_u32s_init(&cuts->begin, alloc);
  eg_u32s_init(&cuts->nodes, alloc);
  return eg_u32s_push(&cuts->begin, 0);
}

void eg_cuts_deinit(eg_cuts *cuts) {
  eg_u32s_deinit(&cuts->nodes);
  eg_u32s_deinit(&cuts->begin);
}

typedef struct ascent {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  double *price;
  double bound;
  eg_doubles h; // [class]
  eg_u32s queue;
  eg_bytes queued;
  eg_u32s mark; // [class] == stamp: in S
  uint32_t stamp;
  eg_u32s set; // classes of S
  eg_u32s cut; // nodes
  eg_cuts *cuts;
} ascent;

static double h_of_node(const ascent *a, uint32_t node) {
  double most = 0;
  for (uint32_t i = a->problem->child_begin.data[node];
       i < a->problem->child_begin.data[node + 1]; i++) {
    double h = a->h.data[a->problem->children.data[i]];
    if (h > most) most = h;
  }
  return most + a->price[node];
}

static egraph_status relax(ascent *a, uint32_t node) {
  uint32_t class = a->problem->node_class.data[node];
  double h = h_of_node(a, node);
  if (!(h < a->h.data[class])) return EGRAPH_OK;
  a->h.data[class] = h;
  if (a->queued.data[class]) return EGRAPH_OK;
  a->queued.data[class] = 1;
  return eg_u32s_push(&a->queue, class);
}

static egraph_status propagate(ascent *a) {
  for (size_t done = 0; done < a->queue.len; done++) {
    uint32_t class = a->queue.data[done];
    a->queued.data[class] = 0;
    for (uint32_t i = a->index->user_begin.data[class];
         i < a->index->user_begin.data[class + 1]; i++)
      EG_TRY(relax(a, a->index->users.data[i]));
  }
  a->queue.len = 0;
  return EGRAPH_OK;
}

static egraph_status prepare(ascent *a) {
  uint32_t classes = a->problem->class_count;
  EG_TRY(eg_doubles_resize(&a->h, classes));
  EG_TRY(eg_bytes_resize(&a->queued, classes));
  EG_TRY(eg_u32s_resize(&a->mark, classes));
  for (uint32_t class = 0; class < classes; class ++)
    a->h.data[class] = INFINITY;
  for (uint32_t n = 0; n < eg_extract_node_count(a->problem); n++)
    EG_TRY(relax(a, n));
  return propagate(a);
}

static egraph_status join_set(ascent *a, uint32_t class) {
  a->mark.data[class] = a->stamp;
  return eg_u32s_push(&a->set, class);
}

static bool has_child_in_set(const ascent *a, uint32_t node) {
  for (uint32_t i = a->problem->child_begin.data[node];
       i < a->problem->child_begin.data[node + 1]; i++)
    if (a->mark.data[a->problem->children.data[i]] == a->stamp) return true;
  return false;
}

// The child that is hardest to derive.
static uint32_t supporter(const ascent *a, uint32_t node) {
  uint32_t best = EG_EXTRACT_NONE;
  for (uint32_t i = a->problem->child_begin.data[node];
       i < a->problem->child_begin.data[node + 1]; i++) {
    uint32_t child = a->problem->children.data[i];
    if (best == EG_EXTRACT_NONE || a->h.data[child] > a->h.data[best]) best = child;
  }
  return best;
}

static egraph_status grow_set(ascent *a, uint32_t root) {
  a->stamp++;
  a->set.len = 0;
  EG_TRY(join_set(a, root));
  for (size_t done = 0; done < a->set.len; done++) {
    uint32_t class = a->set.data[done];
    for (uint32_t m = a->index->member_begin.data[class];
         m < a->index->member_begin.data[class + 1]; m++) {
      uint32_t node = a->index->members.data[m];
      if (a->price[node] > 0 || has_child_in_set(a, node)) continue;
      uint32_t child = supporter(a, node);
      assert(child != EG_EXTRACT_NONE && a->h.data[child] > 0);
      EG_TRY(join_set(a, child));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_cut(ascent *a, double *out_charge) {
  a->cut.len = 0;
  *out_charge = INFINITY;
  for (size_t i = 0; i < a->set.len; i++) {
    uint32_t class = a->set.data[i];
    for (uint32_t m = a->index->member_begin.data[class];
         m < a->index->member_begin.data[class + 1]; m++) {
      uint32_t node = a->index->members.data[m];
      if (has_child_in_set(a, node)) continue;
      EG_TRY(eg_u32s_push(&a->cut, node));
      if (a->price[node] < *out_charge) *out_charge = a->price[node];
    }
  }
  return EGRAPH_OK;
}

static egraph_status keep_cut(ascent *a) {
  if (a->cuts == NULL) return EGRAPH_OK;
  EG_TRY(eg_u32s_append(&a->cuts->nodes, a->cut.data, a->cut.len));
  return eg_u32s_push(&a->cuts->begin, (uint32_t)a->cuts->nodes.len);
}

static egraph_status charge(ascent *a, double amount) {
  a->bound += amount;
  EG_TRY(keep_cut(a));
  for (size_t i = 0; i < a->cut.len; i++) {
    uint32_t node = a->cut.data[i];
    a->price[node] -= amount;
    EG_TRY(relax(a, node));
  }
  return propagate(a);
}

static egraph_status ascend(ascent *a, const eg_u32s *order, uint32_t max_cuts) {
  EG_TRY(prepare(a));
  for (size_t i = 0; i < order->len; i++) {
    uint32_t root = order->data[i];
    while (a->h.data[root] > 0 && max_cuts > 0) {
      double amount;
      EG_TRY(grow_set(a, root));
      EG_TRY(find_cut(a, &amount));
      if (!isfinite(amount)) {
        a->bound = INFINITY;
        return EGRAPH_OK;
      }
      EG_TRY(charge(a, amount));
      max_cuts--;
    }
  }
  return EGRAPH_OK;
}

egraph_status eg_dual_ascent_run(const eg_extract_problem *problem,
                                 const eg_class_index *index, const eg_u32s *order,
                                 uint32_t max_cuts, double *price, double *out_bound,
                                 eg_cuts *cuts) {
  egraph_allocator alloc = order->alloc;
  ascent a = {.problem = problem, .index = index, .price = price, .cuts = cuts};
  eg_doubles_init(&a.h, alloc);
  eg_u32s_init(&a.queue, alloc);
  eg_bytes_init(&a.queued, alloc);
  eg_u32s_init(&a.mark, alloc);
  eg_u32s_init(&a.set, alloc);
  eg_u32s_init(&a.cut, alloc);
  egraph_status status = ascend(&a, order, max_cuts);
  *out_bound = a.bound;
  eg_u32s_deinit(&a.cut);
  eg_u32s_deinit(&a.set);
  eg_u32s_deinit(&a.mark);
  eg_bytes_deinit(&a.queued);
  eg_u32s_deinit(&a.queue);
  eg_doubles_deinit(&a.h);
  return status;
}
