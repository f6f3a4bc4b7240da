// h(c) is the h-max value: the cost of the dearest node in the cheapest derivation of c,
// zero exactly when c is derivable for free. S starts at a root with h > 0; a free node
// of a class in S must not be in the cut, so its child with the largest h (which is above
// zero) joins S. Prices only fall, so h is kept by relaxation from above.
//
// Only "h is zero" is kept exact, which suffices for correctness, and S is repaired from
// cut to cut: classes that became free leave S, and so do classes that only they
// supported. Repair leaves cycles behind that weaken the cuts; therefore S is built anew
// now and then. (Exact h, and S built anew for each cut, give bounds 2.5 % higher but
// take quadratic time on deep graphs: 90 % of 5.2 s for Inception-v3 went there; now the
// whole takes 0.6 s.)
// SPDX-License-Identifier: Apache-2.0
#include "extract/dual_ascent.h"

#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "extract/containers.h"

enum { REBUILD_EVERY = 16, STEPS_PER_LOOK = 16 };

typedef struct ascent {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  double *price;
  double bound;
  eg_doubles h;    // [class]
  eg_doubles seen; // [class] h when the users were last updated
  eg_doubles most; // [node] h of the dearest child at the last visit
  eg_cost_heap fallen;
  bool ready;        // h was exact at first; from now on only "h is zero" is
  eg_bytes in_set;   // [class]
  eg_u32s set;       // classes that joined since S was built anew
  eg_u32s leavers;   // classes of S that are free, or may support no node
  eg_u32s leaning;   // [class] nodes that lean on this class
  eg_u32s inside;    // [node] children in S
  eg_u32s support;   // [node of S] the child in S that the node leans on
  eg_u32s cut, lean; // nodes without a child in S: with a price, and free
  eg_u32s listed;    // [node] == stamp: already seen in cut
  uint32_t stamp;
  eg_ascent_limits limits;
  uint64_t work, asked; // asked: work when the clock was last read
  uint32_t charges;
  bool stopped;
  eg_cuts *cuts;
} ascent;
EG_OWNER_DEFINE_STATIC(ascent, (eg_doubles, h, seen, most), (eg_cost_heap, fallen),
                       (eg_bytes, in_set),
                       (eg_u32s, set, leavers, leaning, inside, support, cut, lean,
                        listed))

static bool ascent_is_late(ascent *a) {
  enum { ASK_EVERY = 1 << 16 };
  if (a->limits.max_cuts != 0 && a->charges >= a->limits.max_cuts) a->stopped = true;
  if (a->limits.max_work != 0 && a->work > a->limits.max_work) a->stopped = true;
  if (a->work - a->asked > ASK_EVERY) {
    double deadline = a->limits.deadline;
    eg_incumbent_count(a->limits.incumbent, STEPS_PER_LOOK * (a->work - a->asked));
    a->asked = a->work;
    if (deadline > 0 && eg_clock_seconds() > deadline) a->stopped = true;
    if (a->limits.incumbent != NULL && eg_incumbent_stop(a->limits.incumbent))
      a->stopped = true;
  }
  return a->stopped;
}

static double h_of_node(ascent *a, uint32_t node) {
  double most = 0;
  a->work++;
  EG_EACH_CHILD(a->problem, node, child) {
    double h = a->h.data[child];
    if (h > most) most = h;
  }
  a->most.data[node] = most;
  return most + a->price[node];
}

static egraph_status relax_node(ascent *a, uint32_t node) {
  uint32_t class = a->problem->node_class.data[node];
  double h = h_of_node(a, node);
  if (!(h < a->h.data[class]) || (h > 0 && a->ready)) return EGRAPH_OK;
  a->h.data[class] = h;
  if (!(h > 0) && a->in_set.data[class]) EG_TRY(eg_u32s_push(&a->leavers, class));
  return eg_cost_heap_add(&a->fallen, h, class);
}

/// Updates h, the h-max value: takes classes cheapest first, so that a class is final
/// when it is taken. Most users keep their h: their dearest child is another class.
static egraph_status propagate(ascent *a) {
  while (a->fallen.len != 0 && !ascent_is_late(a)) {
    eg_cost_entry top = eg_cost_heap_take(&a->fallen);
    double before = a->seen.data[top.item];
    if (!(a->h.data[top.item] < before)) continue;
    a->seen.data[top.item] = a->h.data[top.item];
    EG_EACH_USER(a->index, top.item, user) {
      if (!(a->most.data[user] > before)) EG_TRY(relax_node(a, user));
    }
  }
  return EGRAPH_OK;
}

static egraph_status prepare_ascent(ascent *a) {
  uint32_t classes = a->problem->class_count;
  EG_TRY(eg_doubles_resize(&a->h, classes));
  EG_TRY(eg_doubles_resize(&a->seen, classes));
  EG_TRY(eg_doubles_resize(&a->most, eg_extract_node_count(a->problem)));
  EG_TRY(eg_bytes_resize(&a->in_set, classes));
  EG_TRY(eg_u32s_resize(&a->leaning, classes));
  EG_TRY(eg_u32s_resize(&a->inside, eg_extract_node_count(a->problem)));
  EG_TRY(eg_u32s_resize(&a->listed, eg_extract_node_count(a->problem)));
  EG_TRY(eg_fill_none(&a->support, eg_extract_node_count(a->problem)));
  for (uint32_t class = 0; class < classes; class ++)
    a->h.data[class] = a->seen.data[class] = INFINITY;
  for (uint32_t n = 0; n < eg_extract_node_count(a->problem); n++)
    EG_TRY(relax_node(a, n));
  EG_TRY(propagate(a));
  a->work = a->asked = 0;
  a->ready = true;
  return EGRAPH_OK;
}

static bool is_in_set(const ascent *a, uint32_t node) {
  return a->in_set.data[a->problem->node_class.data[node]];
}

static void lean_on(ascent *a, uint32_t node, uint32_t class) {
  a->support.data[node] = class;
  a->leaning.data[class]++;
}

/// Handles a node of S without support: it leans on a child in S if there is one;
/// otherwise it joins the cut, or, if it is free, the list of nodes that need a child in
/// S. Classes that join later may outdate both lists; their readers check.
static egraph_status expose(ascent *a, uint32_t node) {
  a->work++;
  bool is_free = !(a->price[node] > 0);
  if (a->inside.data[node] == 0) return eg_u32s_push(is_free ? &a->lean : &a->cut, node);
  for (uint32_t i = a->problem->child_begin.data[node]; is_free; i++) {
    uint32_t child = a->problem->children.data[i];
    if (!a->in_set.data[child]) continue;
    lean_on(a, node, child);
    break;
  }
  return EGRAPH_OK;
}

static egraph_status join_set(ascent *a, uint32_t class) {
  a->in_set.data[class] = 1;
  EG_TRY(eg_u32s_push(&a->set, class));
  EG_EACH_USER(a->index, class, user) { a->inside.data[user]++; }
  EG_EACH_MEMBER(a->index, class, member) { EG_TRY(expose(a, member)); }
  return EGRAPH_OK;
}

/// Removes a class from S, the set whose cut is charged. Classes that only this class
/// supported may leave, too; nodes that leaned on it look for another child.
static egraph_status leave_set(ascent *a, uint32_t class) {
  a->in_set.data[class] = 0;
  a->leaning.data[class] = 0;
  EG_EACH_MEMBER(a->index, class, node) {
    uint32_t support = a->support.data[node];
    if (support == EG_EXTRACT_NONE) continue;
    a->support.data[node] = EG_EXTRACT_NONE;
    if (--a->leaning.data[support] == 0) EG_TRY(eg_u32s_push(&a->leavers, support));
  }
  EG_EACH_USER(a->index, class, node) {
    a->inside.data[node]--;
    bool leaned = a->support.data[node] == class;
    if (leaned) a->support.data[node] = EG_EXTRACT_NONE;
    if (is_in_set(a, node) && (leaned || a->inside.data[node] == 0))
      EG_TRY(expose(a, node));
  }
  return EGRAPH_OK;
}

/// Returns the child that is hardest to derive.
static uint32_t hardest_child(const ascent *a, uint32_t node) {
  uint32_t best = EG_EXTRACT_NONE;
  EG_EACH_CHILD(a->problem, node, child) {
    if (best == EG_EXTRACT_NONE || a->h.data[child] > a->h.data[best]) best = child;
  }
  return best;
}

/// Removes from S, the set of a cut, classes that are free or support nothing, then grows
/// S until no free node is in the cut.
static egraph_status repair_set(ascent *a, uint32_t root) {
  while (a->leavers.len != 0) {
    uint32_t class = eg_u32s_pop(&a->leavers);
    if (!a->in_set.data[class] || class == root) continue;
    if (a->h.data[class] > 0 && a->leaning.data[class] != 0) continue;
    EG_TRY(leave_set(a, class));
  }
  while (a->lean.len != 0) {
    uint32_t node = eg_u32s_pop(&a->lean);
    if (!is_in_set(a, node) || a->support.data[node] != EG_EXTRACT_NONE) continue;
    if (a->inside.data[node] != 0) {
      EG_TRY(expose(a, node));
      continue;
    }
    uint32_t child = hardest_child(a, node);
    assert(child != EG_EXTRACT_NONE && a->h.data[child] > 0);
    EG_TRY(join_set(a, child));
    lean_on(a, node, child);
  }
  return EGRAPH_OK;
}

static void clear_set(ascent *a) {
  for (size_t s = 0; s < a->set.len; s++) {
    uint32_t class = a->set.data[s];
    if (!a->in_set.data[class]) continue;
    a->in_set.data[class] = 0;
    a->leaning.data[class] = 0;
    EG_EACH_MEMBER(a->index, class, member) { a->support.data[member] = EG_EXTRACT_NONE; }
    EG_EACH_USER(a->index, class, user) { a->inside.data[user]--; }
  }
  a->set.len = a->cut.len = a->lean.len = a->leavers.len = 0;
}

/// Keeps the nodes of a->cut that still have no child in S, once each; *out_charge is the
/// least price of these nodes.
static void sift_cut(ascent *a, double *out_charge) {
  size_t kept = 0;
  *out_charge = INFINITY;
  a->stamp++;
  a->work += a->cut.len;
  for (size_t i = 0; i < a->cut.len; i++) {
    uint32_t node = a->cut.data[i];
    if (a->inside.data[node] != 0 || !is_in_set(a, node) || !(a->price[node] > 0) ||
        a->listed.data[node] == a->stamp)
      continue;
    a->listed.data[node] = a->stamp;
    a->cut.data[kept++] = node;
    if (a->price[node] < *out_charge) *out_charge = a->price[node];
  }
  a->cut.len = kept;
}

static egraph_status charge_cut(ascent *a, double amount) {
  assert(amount > 0 && isfinite(amount));
  a->bound += amount;
  a->charges++;
  if (a->cuts != NULL) {
    EG_TRY(eg_u32s_append(&a->cuts->nodes, a->cut.data, a->cut.len));
    EG_TRY(eg_u32s_push(&a->cuts->begin, (uint32_t)a->cuts->nodes.len));
  }
  for (size_t i = 0; i < a->cut.len; i++) {
    uint32_t node = a->cut.data[i];
    a->price[node] -= amount;
    if (!(a->price[node] > 0)) EG_TRY(eg_u32s_push(&a->lean, node));
    EG_TRY(relax_node(a, node));
  }
  return propagate(a);
}

static egraph_status serve_root(ascent *a, uint32_t root) {
  for (uint32_t cuts = 0; a->h.data[root] > 0 && !ascent_is_late(a); cuts++) {
    if (cuts % REBUILD_EVERY == 0) {
      clear_set(a);
      EG_TRY(join_set(a, root));
    }
    EG_TRY(repair_set(a, root));
    double amount;
    sift_cut(a, &amount);
    if (!isfinite(amount)) {
      a->bound = INFINITY;
      return EGRAPH_OK;
    }
    EG_TRY(charge_cut(a, amount));
  }
  return EGRAPH_OK;
}

egraph_status eg_dual_ascent_run(const eg_extract_problem *problem,
                                 const eg_class_index *index, const eg_u32s *order,
                                 eg_ascent_limits limits, double *price,
                                 double *out_bound, eg_cuts *cuts) {
  EG_LOCAL_WITH(ascent, a, order->alloc, .problem = problem, .index = index,
                .price = price, .limits = limits, .cuts = cuts);
  assert(index->is_root.len == problem->class_count);
  egraph_status status = prepare_ascent(&a);
  for (size_t i = 0; status == EGRAPH_OK && i < order->len; i++)
    if (isfinite(a.bound) && !a.stopped) status = serve_root(&a, order->data[i]);
  eg_incumbent_count(limits.incumbent,
                     STEPS_PER_LOOK * (a.work - a.asked) + index->users.len);
  *out_bound = a.bound;
  return status;
}

// ---- in bulk: ascent by levels ----------------------------------------------------

// h(c) is the h-max value as above: the length of the longest path in the
// derivation of c that makes it shortest. For a root with value H and every t in [0, H)
// the classes with h > t are a set with a valid cut: the nodes of a class above t with
// all children at t or below. Over all t a node is charged the length of the interval
// from its hardest child to its class, at most its price, so that all these cuts can be
// paid at once: H more for the bound, by two searches in the manner of Dijkstra.
//
// Charging classes that the root does not lean on wastes their prices. So the sets shrink
// to the classes reached from the root: level(c) <= h(c) is the t up to which class c is
// in the set. The root has level H, and every node of a class with level l needs one
// child with level min(l, h of its hardest child). A node's charge is level(class) - the
// highest level of a child. The remaining prices serve the next round.

static const double LEAST_GAIN = 1e-3; // least gain to continue, relative to the bound
static const double ROUNDING = 1e-12;  // relative to H: smaller prices count as zero

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

static bool levels_are_late(levels *l) {
  enum { ASK_EVERY = 1 << 12 };
  if (!l->late && l->polls++ % ASK_EVERY == 0) l->late = eg_patience_ended(&l->patience);
  return l->late;
}

static egraph_status offer_level(levels *l, uint32_t node, double most) {
  uint32_t class = l->problem->node_class.data[node];
  double h = most + l->price[node];
  l->most.data[node] = most;
  if (!(h < l->h.data[class])) return EGRAPH_OK;
  l->h.data[class] = h;
  return eg_cost_heap_add(&l->heap, h, class);
}

/// Finds h by Knuth's generalization of Dijkstra's algorithm: a node is ready with its
/// last child, which is its hardest.
static egraph_status find_h(levels *l) {
  const eg_extract_problem *problem = l->problem;
  for (uint32_t c = 0; c < problem->class_count; c++)
    l->h.data[c] = INFINITY;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    l->most.data[n] = INFINITY;
    l->waiting.data[n] = problem->child_begin.data[n + 1] - problem->child_begin.data[n];
    if (l->waiting.data[n] == 0) EG_TRY(offer_level(l, n, 0));
  }
  while (l->heap.len != 0 && !levels_are_late(l)) {
    eg_cost_entry top = eg_cost_heap_take(&l->heap);
    if (top.cost > l->h.data[top.item]) continue;
    EG_EACH_USER(l->index, top.item, user) {
      if (--l->waiting.data[user] == 0) EG_TRY(offer_level(l, user, top.cost));
    }
  }
  return EGRAPH_OK;
}

/// Raises the level of one child of `node`, so that the node supports a class at `level`.
static egraph_status support_class(levels *l, uint32_t node, double level) {
  assert(level > 0);
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

/// Finds the level (see above) of each class that the root leans on. Takes the highest
/// levels first, so that a class is final when it is taken.
static egraph_status find_levels(levels *l, uint32_t root) {
  memset(l->level.data, 0, l->level.len * sizeof(double));
  l->level.data[root] = l->h.data[root];
  EG_TRY(eg_cost_heap_add(&l->heap, -l->h.data[root], root));
  while (l->heap.len != 0 && !levels_are_late(l)) {
    eg_cost_entry top = eg_cost_heap_take(&l->heap);
    if (-top.cost < l->level.data[top.item]) continue;
    EG_EACH_MEMBER(l->index, top.item, member) {
      EG_TRY(support_class(l, member, -top.cost));
    }
  }
  return EGRAPH_OK;
}

static void charge_levels(levels *l, double rounding) {
  for (uint32_t n = 0; n < eg_extract_node_count(l->problem); n++) {
    double level = l->level.data[l->problem->node_class.data[n]], below = 0;
    if (!(level > 0) || !isfinite(l->most.data[n])) continue;
    EG_EACH_CHILD(l->problem, n, child) { below = fmax(below, l->level.data[child]); }
    if (level > below) l->price[n] -= level - below;
    if (l->price[n] < rounding) l->price[n] = 0;
  }
}

egraph_status eg_level_ascent_run(egraph_allocator alloc,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t max_rounds,
                                  eg_patience patience, double *price,
                                  double *out_bound) {
  assert(index->is_root.len == problem->class_count);
  const eg_u32s *roots = &problem->roots;
  EG_LOCAL_WITH(levels, l, alloc, .problem = problem, .index = index, .price = price,
                .patience = patience);
  *out_bound = 0;
  EG_TRY(eg_doubles_resize(&l.h, problem->class_count));
  EG_TRY(eg_doubles_resize(&l.level, problem->class_count));
  EG_TRY(eg_doubles_resize(&l.most, eg_extract_node_count(problem)));
  EG_TRY(eg_u32s_resize(&l.waiting, eg_extract_node_count(problem)));
  for (uint32_t round = 0; round < max_rounds && roots->len != 0; round++) {
    EG_TRY(find_h(&l));
    if (l.late) return EGRAPH_OK;
    uint32_t root = roots->data[0];
    for (size_t i = 1; i < roots->len; i++)
      if (l.h.data[roots->data[i]] > l.h.data[root]) root = roots->data[i];
    double gain = l.h.data[root];
    if (!isfinite(gain)) {
      *out_bound = INFINITY;
      return EGRAPH_OK;
    }
    if (!(gain > LEAST_GAIN * *out_bound)) return EGRAPH_OK;
    EG_TRY(find_levels(&l, root));
    if (l.late) return EGRAPH_OK;
    charge_levels(&l, ROUNDING * gain);
    *out_bound += gain;
  }
  return EGRAPH_OK;
}
