// h(c) is the h-max value of dual_ascent.c: the length of the longest path in the
// derivation of c that makes it shortest. For a root with value H and every t in [0, H)
// the classes with h > t are a set with a valid cut: the nodes of a class above t with
// all children at t or below. Over all t a node is charged the length of the interval
// from its hardest child to its class, at most its price, so that all these cuts can be
// paid at once: H more for the bound, by two searches in the manner of Dijkstra.
//
// Charging classes that the root does not lean on wastes their prices. So the sets shrink
// to what is reached from the root: level(c) <= h(c) says up to which t class c is in.
// The root has level H, and every node of a class with level l needs one child with level
// min(l, h of its hardest child). A node's charge is level(class) - the highest level of
// a child. What is left over serves the next round.
// SPDX-License-Identifier: Apache-2.0
#include "extract/level_ascent.h"

#include <math.h>

#include "base/owner.h"
#include "extract/cost_heap.h"

static const double LEAST_GAIN = 1e-3; // of the bound, to go on
static const double ROUNDING = 1e-12;  // of H: prices below are zero

typedef struct levels {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  double *price;
  eg_doubles h, level; // [class]
  eg_doubles most;     // [node] h of the hardest child; INFINITY: no derivation
  eg_u32s waiting;     // [node] children without h
  eg_cost_heap heap;
  eg_patience patience;
  uint32_t polls;
  bool late;
} levels;
EG_OWNER_DEFINE_STATIC(levels, (eg_doubles, h, level, most), (eg_u32s, waiting),
                       (eg_cost_heap, heap))

static bool is_late(levels *l) {
  enum { ASK_EVERY = 1 << 12 };
  if (!l->late && l->polls++ % ASK_EVERY == 0) l->late = eg_patience_ended(&l->patience);
  return l->late;
}

static egraph_status offer(levels *l, uint32_t node, double most) {
  uint32_t class = l->problem->node_class.data[node];
  double h = most + l->price[node];
  l->most.data[node] = most;
  if (!(h < l->h.data[class])) return EGRAPH_OK;
  l->h.data[class] = h;
  return eg_cost_heap_add(&l->heap, h, class);
}

// Knuth's generalization of Dijkstra's algorithm: a node is ready with its last child,
// which is its hardest.
static egraph_status find_h(levels *l) {
  const eg_extract_problem *problem = l->problem;
  for (uint32_t c = 0; c < problem->class_count; c++)
    l->h.data[c] = INFINITY;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    l->most.data[n] = INFINITY;
    l->waiting.data[n] = problem->child_begin.data[n + 1] - problem->child_begin.data[n];
    if (l->waiting.data[n] == 0) EG_TRY(offer(l, n, 0));
  }
  while (l->heap.len != 0 && !is_late(l)) {
    eg_cost_entry top = eg_cost_heap_take(&l->heap);
    if (top.cost > l->h.data[top.item]) continue;
    EG_EACH_USER(l->index, top.item, user) {
      if (--l->waiting.data[user] == 0) EG_TRY(offer(l, user, top.cost));
    }
  }
  return EGRAPH_OK;
}

// One child of `node` gets the level that it needs to support a class at `level`.
static egraph_status support(levels *l, uint32_t node, double level) {
  double needed = fmin(level, l->most.data[node]);
  uint32_t hardest = EG_EXTRACT_NONE;
  if (!(needed > 0) || !isfinite(l->most.data[node])) return EGRAPH_OK;
  EG_EACH_CHILD(l->problem, node, child) {
    if (l->level.data[child] >= needed) return EGRAPH_OK;
    if (hardest == EG_EXTRACT_NONE || l->h.data[child] > l->h.data[hardest])
      hardest = child;
  }
  l->level.data[hardest] = needed;
  return eg_cost_heap_add(&l->heap, -needed, hardest);
}

// Highest levels first, so that a class is final when it is taken.
static egraph_status find_levels(levels *l, uint32_t root) {
  memset(l->level.data, 0, l->level.len * sizeof(double));
  l->level.data[root] = l->h.data[root];
  EG_TRY(eg_cost_heap_add(&l->heap, -l->h.data[root], root));
  while (l->heap.len != 0 && !is_late(l)) {
    eg_cost_entry top = eg_cost_heap_take(&l->heap);
    if (-top.cost < l->level.data[top.item]) continue;
    EG_EACH_MEMBER(l->index, top.item, member) { EG_TRY(support(l, member, -top.cost)); }
  }
  return EGRAPH_OK;
}

static void charge(levels *l, double rounding) {
  for (uint32_t n = 0; n < eg_extract_node_count(l->problem); n++) {
    double level = l->level.data[l->problem->node_class.data[n]], below = 0;
    if (!(level > 0) || !isfinite(l->most.data[n])) continue;
    EG_EACH_CHILD(l->problem, n, child) { below = fmax(below, l->level.data[child]); }
    if (level > below) l->price[n] -= level - below;
    if (l->price[n] < rounding) l->price[n] = 0;
  }
}

static egraph_status prepare_levels(levels *l) {
  EG_TRY(eg_doubles_resize(&l->h, l->problem->class_count));
  EG_TRY(eg_doubles_resize(&l->level, l->problem->class_count));
  EG_TRY(eg_doubles_resize(&l->most, eg_extract_node_count(l->problem)));
  return eg_u32s_resize(&l->waiting, eg_extract_node_count(l->problem));
}

static egraph_status ascend(levels *l, uint32_t max_rounds, double *bound) {
  EG_TRY(prepare_levels(l));
  const eg_u32s *roots = &l->problem->roots;
  for (uint32_t round = 0; round < max_rounds && roots->len != 0; round++) {
    EG_TRY(find_h(l));
    if (l->late) return EGRAPH_OK;
    uint32_t root = roots->data[0];
    for (size_t i = 1; i < roots->len; i++)
      if (l->h.data[roots->data[i]] > l->h.data[root]) root = roots->data[i];
    double gain = l->h.data[root];
    if (!isfinite(gain)) {
      *bound = INFINITY;
      return EGRAPH_OK;
    }
    if (!(gain > LEAST_GAIN * *bound)) return EGRAPH_OK;
    EG_TRY(find_levels(l, root));
    if (l->late) return EGRAPH_OK;
    charge(l, ROUNDING * gain);
    *bound += gain;
  }
  return EGRAPH_OK;
}

egraph_status eg_level_ascent_run(egraph_allocator alloc,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t max_rounds,
                                  eg_patience patience, double *price,
                                  double *out_bound) {
  levels l;
  levels_init(&l, alloc);
  l.problem = problem;
  l.index = index;
  l.price = price;
  l.patience = patience;
  *out_bound = 0;
  egraph_status status = ascend(&l, max_rounds, out_bound);
  levels_deinit(&l);
  return status;
}
