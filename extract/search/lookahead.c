// SPDX-License-Identifier: Apache-2.0
#include "extract/search/lookahead.h"

#include <math.h>
#include <string.h>

#include "extract/containers.h"

static egraph_status take_order(eg_frontier *f, const eg_u32s *order) {
  f->order.len = 0;
  EG_TRY(eg_u32s_append(&f->order, order->data, order->len));
  EG_TRY(eg_u32s_resize(&f->place, order->len));
  for (uint32_t i = 0; i < order->len; i++)
    f->place.data[order->data[i]] = i;
  return EGRAPH_OK;
}

typedef struct slots {
  eg_u32s free; // taken before, now unused
  uint32_t count, open;
} slots;
EG_OWNER_DEFINE_STATIC(slots, (eg_u32s, free))

static egraph_status open_class(eg_frontier *f, slots *s, uint32_t class) {
  if (f->slot.data[class] != EG_EXTRACT_NONE) return EGRAPH_OK;
  f->slot.data[class] = s->free.len != 0 ? eg_u32s_pop(&s->free) : s->count++;
  s->open++;
  return EGRAPH_OK;
}

/// Gives each class a bit (slot) from the first class that needs it until its own place
/// in the order.
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

static egraph_status measure_order(eg_frontier *f, const eg_u32s *order) {
  EG_LOCAL(slots, s, f->order.alloc);
  EG_TRY(take_order(f, order));
  return take_slots(f, &s);
}

/// Two orders of the classes: components one after the other, and by depth.
typedef struct orders {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_u32s component, children_first;
  eg_u32s waiting, queue, rank; // rank: [class] in the queue, children first
  eg_bytes derivable;
  eg_u32s depth; // [class] most edges on a path to it
  eg_u32s begin, parents_first, by_depth;
} orders;
EG_OWNER_DEFINE_STATIC(orders, (eg_bytes, derivable),
                       (eg_u32s, component, children_first, waiting, queue, rank, depth,
                        begin, parents_first, by_depth))

/// True for an edge that leaves its strongly connected component, or whose child has a
/// smaller rank (classes have ranks in the order in which they become derivable).
static bool leads_on(const orders *o, uint32_t class, uint32_t child) {
  return o->component.data[class] != o->component.data[child] ||
         o->rank.data[child] < o->rank.data[class];
}

/// Sorts classes by ascending key[class], stably.
static egraph_status sort_classes(orders *o, const eg_u32s *classes, const uint32_t *key,
                                  eg_u32s *out) {
  assert(classes->len == o->problem->class_count);
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

/// Ranks the classes, children first; classes without a derivation are last.
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
  EG_LOCAL(orders, o, frontier->order.alloc);
  frontier->problem = o.problem = problem;
  frontier->index = o.index = index;
  EG_TRY(sort_by_component(&o));
  EG_TRY(sort_by_depth(&o));
  EG_TRY(measure_order(frontier, &o.parents_first));
  uint32_t mean = frontier->mean_width;
  EG_TRY(measure_order(frontier, &o.by_depth));
  if (frontier->mean_width > mean) EG_TRY(measure_order(frontier, &o.parents_first));
  assert(frontier->order.len == problem->class_count);
  return EGRAPH_OK;
}

// ---- the problem by places ------------------------------------------------------------

/// Adds a node of a class, unless it needs its own class: then it is in no solution.
static egraph_status add_place_node(eg_lookahead *a, uint32_t place, uint32_t node) {
  const eg_frontier *f = a->frontier;
  size_t begin = a->children.len;
  EG_EACH_CHILD(f->problem, node, child) {
    uint32_t at = f->place.data[child];
    if (at > place) EG_TRY(eg_u32s_push(&a->children, at));
    if (at != place) continue;
    a->children.len = begin;
    return EGRAPH_OK;
  }
  if (a->children.len != begin)
    a->children.len =
        begin + eg_sort_unique(a->children.data + begin, a->children.len - begin);
  EG_TRY(eg_doubles_push(&a->cost, f->problem->cost.data[node]));
  return eg_u32s_push(&a->child_begin, (uint32_t)a->children.len);
}

static egraph_status add_place(eg_lookahead *a, uint32_t place) {
  assert(place < a->opened.len);
  const eg_frontier *f = a->frontier;
  uint32_t class = f->order.data[place];
  size_t first = a->children.len;
  a->slot.data[place] = f->slot.data[class];
  if (a->opened.data[place] != EG_EXTRACT_NONE) EG_EACH_MEMBER(f->index, class, node) {
      EG_TRY(add_place_node(a, place, node));
    }
  for (size_t i = first; i < a->children.len; i++) {
    uint32_t *opened = &a->opened.data[a->children.data[i]];
    if (*opened == EG_EXTRACT_NONE) *opened = place + 1;
  }
  return eg_u32s_push(&a->node_begin, (uint32_t)a->cost.len);
}

egraph_status eg_lookahead_build(eg_lookahead *ahead, const eg_frontier *frontier) {
  assert(frontier->slot.len == frontier->order.len);
  uint32_t count = (uint32_t)frontier->order.len;
  ahead->frontier = frontier;
  ahead->children.len = ahead->cost.len = ahead->pairs.len = ahead->alone.len = 0;
  ahead->child_begin.len = ahead->node_begin.len = 0;
  EG_TRY(eg_u32s_resize(&ahead->slot, count));
  EG_TRY(eg_doubles_resize(&ahead->alone, count));
  EG_TRY(eg_fill_none(&ahead->opened, count));
  for (size_t i = 0; i < frontier->problem->roots.len; i++)
    ahead->opened.data[frontier->place.data[frontier->problem->roots.data[i]]] = 0;
  EG_TRY(eg_u32s_push(&ahead->child_begin, 0));
  EG_TRY(eg_u32s_push(&ahead->node_begin, 0));
  for (uint32_t place = 0; place < count; place++)
    EG_TRY(add_place(ahead, place));
  return EGRAPH_OK;
}

// ---- a search from a set --------------------------------------------------------------

typedef struct search {
  eg_lookahead *ahead;
  eg_incumbent *incumbent;
  eg_u32s begin, places; // state s is places[begin[s] .. begin[s + 1]), ascending
  eg_doubles cost;       // [state] cost of the nodes that led to it
  eg_cost_heap open;     // by the lower bounds of states
  eg_u32s holder;        // [slot] place of the class that is open there
  eg_u32s set;
  uint64_t work, counted; // counted: the part that the incumbent has counted
  bool late;
} search;
EG_OWNER_DEFINE_STATIC(search, (eg_u32s, begin, places, holder, set), (eg_doubles, cost),
                       (eg_cost_heap, open))

static egraph_status add_state_of_search(search *s, double cost, double least) {
  const uint32_t *row = s->places.data + s->begin.data[s->cost.len];
  size_t count = s->places.len - s->begin.data[s->cost.len];
  double sum = cost + eg_lookahead_of(s->ahead, row, count);
  s->work += 16 + count * (s->ahead->pairs.len == 0 ? 2 : count + 2);
  EG_TRY(eg_u32s_push(&s->begin, (uint32_t)s->places.len));
  EG_TRY(eg_doubles_push(&s->cost, cost));
  if (!isfinite(sum)) return EGRAPH_OK;
  return eg_cost_heap_add(&s->open, sum > least ? sum : least, (uint32_t)s->cost.len - 1);
}

/// Derives the first class of the state by each of its nodes: merges the other classes
/// and the children of the node.
static egraph_status expand_state(search *s, eg_cost_entry top) {
  assert(top.item < s->cost.len);
  const eg_lookahead *a = s->ahead;
  uint32_t place = s->places.data[s->begin.data[top.item]];
  for (uint32_t n = a->node_begin.data[place]; n < a->node_begin.data[place + 1]; n++) {
    uint32_t i = s->begin.data[top.item] + 1, k = a->child_begin.data[n];
    uint32_t i_end = s->begin.data[top.item + 1], k_end = a->child_begin.data[n + 1];
    while (i < i_end || k < k_end) {
      uint32_t other = i < i_end ? s->places.data[i] : UINT32_MAX;
      uint32_t child = k < k_end ? a->children.data[k] : UINT32_MAX;
      i += other <= child;
      k += child <= other;
      EG_TRY(eg_u32s_push(&s->places, other < child ? other : child));
    }
    EG_TRY(add_state_of_search(s, s->cost.data[top.item] + a->cost.data[n], top.cost));
  }
  return EGRAPH_OK;
}

enum { MOST_PLACES = 1 << 23 }; // most places of states at a time

/// Finds a bound of s->set, which is ascending; INFINITY: the set has no derivation.
static egraph_status bound_set(search *s, uint32_t states, double *out) {
  assert(s->set.len != 0 || s->ahead->frontier->problem->roots.len == 0);
  s->begin.len = s->places.len = s->cost.len = s->open.len = 0;
  EG_TRY(eg_u32s_push(&s->begin, 0));
  EG_TRY(eg_u32s_append(&s->places, s->set.data, s->set.len));
  EG_TRY(add_state_of_search(s, 0, 0));
  for (uint32_t k = 0; k < states && s->open.len != 0; k++) {
    if (s->places.len > MOST_PLACES) break;
    uint32_t first = s->open.data[0].item;
    if (s->begin.data[first] == s->begin.data[first + 1]) break; // no class is open
    EG_TRY(expand_state(s, eg_cost_heap_take(&s->open)));
  }
  *out = s->open.len != 0 ? s->open.data[0].cost : INFINITY;
  return EGRAPH_OK;
}

// ---- all sets, from the last class up -------------------------------------------------

/// Moves back in the order: the class at `place` is now needed, and the classes that it
/// is first to need are not.
static void step_back(search *s, uint32_t place) {
  const eg_lookahead *a = s->ahead;
  for (uint32_t n = a->node_begin.data[place]; n < a->node_begin.data[place + 1]; n++)
    for (uint32_t i = a->child_begin.data[n]; i < a->child_begin.data[n + 1]; i++) {
      uint32_t child = a->children.data[i];
      if (a->opened.data[child] == place + 1)
        s->holder.data[a->slot.data[child]] = EG_EXTRACT_NONE;
    }
  s->holder.data[a->slot.data[place]] = place;
}

static egraph_status bound_pairs(search *s, uint32_t place, uint32_t states) {
  eg_lookahead *a = s->ahead;
  for (uint32_t slot = 0; slot < s->holder.len; slot++) {
    uint32_t other = s->holder.data[slot];
    if (other == EG_EXTRACT_NONE || other == place) continue;
    s->set.len = 0;
    EG_TRY(eg_u32s_push(&s->set, place));
    EG_TRY(eg_u32s_push(&s->set, other));
    EG_TRY(bound_set(s, states, &a->pairs.data[(size_t)place * s->holder.len + slot]));
  }
  return EGRAPH_OK;
}

static bool search_is_late(search *s, uint64_t steps) {
  enum { ASK_EVERY = 1 << 18 };
  if (s->work > steps) s->late = true;
  if (s->work - s->counted < ASK_EVERY) return s->late;
  eg_incumbent_count(s->incumbent, s->work - s->counted);
  s->counted = s->work;
  if (s->incumbent != NULL && eg_incumbent_stop(s->incumbent)) s->late = true;
  return s->late;
}

static egraph_status bound_all_classes(search *s, const eg_lookahead_options *options) {
  eg_lookahead *a = s->ahead;
  size_t width = a->frontier->width;
  EG_TRY(eg_fill_none(&s->holder, width));
  if (options->in_pairs) EG_TRY(eg_doubles_resize(&a->pairs, a->alone.len * width));
  for (uint32_t place = (uint32_t)a->alone.len; place-- > 0;) {
    if (a->opened.data[place] == EG_EXTRACT_NONE) continue;
    if (search_is_late(s, options->steps)) break;
    step_back(s, place);
    s->set.len = 0;
    EG_TRY(eg_u32s_push(&s->set, place));
    EG_TRY(bound_set(s, options->states, &a->alone.data[place]));
    if (options->in_pairs) EG_TRY(bound_pairs(s, place, options->states));
  }
  return EGRAPH_OK;
}

/// Bounds the roots. This search may take as many states as the bounds of all
/// classes together.
static egraph_status bound_roots(search *s, double *out_bound) {
  const eg_lookahead *a = s->ahead;
  s->set.len = 0;
  for (uint32_t place = 0; place < a->alone.len; place++)
    if (a->opened.data[place] == 0) EG_TRY(eg_u32s_push(&s->set, place));
  double bound;
  EG_TRY(bound_set(s, (uint32_t)a->alone.len, &bound));
  if (bound > *out_bound) *out_bound = bound;
  return EGRAPH_OK;
}

uint64_t eg_lookahead_steps(const eg_lookahead *ahead,
                            const eg_lookahead_options *options) {
  enum { STEPS_ALONE = 100, STEPS_IN_PAIRS = 150 }; // steps of a state, on average
  uint64_t states = (uint64_t)options->states * ahead->alone.len;
  if (!options->in_pairs) return STEPS_ALONE * states;
  return STEPS_IN_PAIRS * states * (ahead->frontier->mean_width + 1);
}

egraph_status eg_lookahead_run(eg_lookahead *ahead, eg_incumbent *incumbent,
                               const eg_lookahead_options *options, double *out_bound) {
  assert(ahead->node_begin.len == ahead->slot.len + 1);
  EG_LOCAL_WITH(search, s, ahead->alone.alloc, .ahead = ahead, .incumbent = incumbent);
  EG_TRY(bound_all_classes(&s, options));
  if (!s.late) EG_TRY(bound_roots(&s, out_bound));
  eg_incumbent_count(incumbent, s.work - s.counted);
  return EGRAPH_OK;
}
