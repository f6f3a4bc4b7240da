// The best S looks hard to find (nodes with several children make the cut value neither
// sub- nor supermodular). So every node leans on only one of its children: then S-cuts
// are cuts of a graph, and a maximum flow gives the best one. From this S starts a tabu
// search, which moves one class in or out and uses the true value. Only nodes with x > 0
// matter, and there are few.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/separate.h"

#include <math.h>

#include "extract/search/formulation.h"

// ---- maximum flow -----------------------------------------------------------------

// An arc with a smaller remaining capacity counts as full.
static const double EMPTY = 1e-9;

egraph_status eg_flow_start(eg_flow *flow, uint32_t vertices) {
  flow->first.len = flow->via.len = flow->arcs.len = 0;
  EG_TRY(eg_u32s_resize(&flow->first, vertices));
  EG_TRY(eg_u32s_resize(&flow->via, vertices));
  return eg_u32s_reserve(&flow->queue, vertices);
}

static egraph_status add_arc(eg_flow *flow, uint32_t from, uint32_t to, double capacity) {
  EG_TRY(eg_flow_arcs_push(&flow->arcs,
                           (eg_flow_arc){flow->first.data[from], to, capacity}));
  flow->first.data[from] = (uint32_t)flow->arcs.len;
  return EGRAPH_OK;
}

egraph_status eg_flow_add(eg_flow *flow, uint32_t from, uint32_t to, double capacity) {
  assert(from < flow->first.len && to < flow->first.len && capacity >= 0);
  EG_TRY(add_arc(flow, from, to, capacity));
  return add_arc(flow, to, from, 0.0);
}

/// Searches breadth first from `start`; backwards: along arcs whose reverse has capacity
/// left. Fills via; true when it reaches `goal` (goal == start: explores everything).
static bool explore_arcs(eg_flow *flow, uint32_t start, uint32_t goal, bool backwards) {
  const eg_flow_arc *arcs = flow->arcs.data;
  memset(flow->via.data, 0, flow->via.len * sizeof(uint32_t));
  flow->queue.len = 0;
  flow->queue.data[flow->queue.len++] = start;
  for (size_t done = 0; done < flow->queue.len; done++) {
    uint32_t at = flow->queue.data[done];
    for (uint32_t arc = flow->first.data[at]; arc != 0; arc = arcs[arc - 1].next) {
      uint32_t to = arcs[arc - 1].head, used = backwards ? (arc - 1) ^ 1 : arc - 1;
      if (to == start || flow->via.data[to] != 0 || arcs[used].capacity <= EMPTY)
        continue;
      flow->via.data[to] = arc;
      if (to == goal) return true;
      flow->queue.data[flow->queue.len++] = to;
    }
  }
  return false;
}

static void augment(eg_flow *flow, uint32_t source, uint32_t sink) {
  eg_flow_arc *arcs = flow->arcs.data;
  double room = INFINITY;
  for (uint32_t at = sink, arc; at != source; at = arcs[arc ^ 1].head) {
    arc = flow->via.data[at] - 1;
    if (arcs[arc].capacity < room) room = arcs[arc].capacity;
  }
  for (uint32_t at = sink, arc; at != source; at = arcs[arc ^ 1].head) {
    arc = flow->via.data[at] - 1;
    arcs[arc].capacity -= room;
    arcs[arc ^ 1].capacity += room;
  }
}

void eg_flow_min_cut(eg_flow *flow, uint32_t source, uint32_t sink, bool largest,
                     uint8_t *sink_side) {
  assert(source < flow->first.len && sink < flow->first.len && source != sink);
  while (explore_arcs(flow, source, sink, false))
    augment(flow, source, sink);
  uint32_t start = largest ? source : sink;
  (void)explore_arcs(flow, start, start, !largest);
  for (uint32_t at = 0; at < flow->first.len; at++) {
    bool seen = at == start || flow->via.data[at] != 0;
    if (at != source) sink_side[at] = largest ? !seen : seen;
  }
  sink_side[sink] = 1;
}

// ---- separation -------------------------------------------------------------------

enum { TABU_STEPS = 40, TABU_TENURE = 6, TABU_PATIENCE = 12, FLOW_TRIALS = 3 };
static const double SUPPORT = 1e-7;

typedef struct separator {
  const eg_separate_options *options;
  eg_lp_rows *rows;
  eg_extract_problem *support; // nodes with x > 0
  eg_class_index index;        // index of support
  eg_doubles x;                // [support node]
  eg_doubles y;                // [class]
  eg_doubles reach;            // [class] estimate of the derivable part of y
  eg_u32s active;              // classes with y > 0
  eg_flow flow;
  eg_bytes in_set, best_set; // [class]
  eg_u32s inside;            // [support node] children in the set
  eg_u32s tabu;              // [class] step until which the class must not move
  eg_u32s targets, needed;
  uint32_t target, found;
} separator;
EG_OWNER_DEFINE_STATIC(separator, (eg_class_index, index), (eg_doubles, x, y, reach),
                       (eg_u32s, active, inside, tabu, targets, needed), (eg_flow, flow),
                       (eg_bytes, in_set, best_set))

static egraph_status build_support(separator *s) {
  const eg_extract_problem *problem = &s->options->presolve->model.problem;
  s->support->class_count = problem->class_count;
  EG_TRY(eg_doubles_resize(&s->y, problem->class_count));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    if (s->options->x[n] <= SUPPORT) continue;
    uint32_t class = problem->node_class.data[n];
    uint32_t first = problem->child_begin.data[n];
    s->y.data[class] += s->options->x[n];
    EG_TRY(eg_doubles_push(&s->x, s->options->x[n]));
    EG_TRY(eg_extract_problem_add_node(s->support, class, 0,
                                       problem->children.data + first,
                                       problem->child_begin.data[n + 1] - first, NULL));
  }
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (s->y.data[class] > 0) EG_TRY(eg_u32s_push(&s->active, class));
  EG_TRY(eg_bytes_resize(&s->in_set, problem->class_count));
  EG_TRY(eg_bytes_resize(&s->best_set, problem->class_count));
  EG_TRY(eg_u32s_resize(&s->tabu, problem->class_count));
  EG_TRY(eg_u32s_resize(&s->inside, s->x.len));
  return eg_class_index_build(&s->index, s->support);
}

/// Estimates from below, in a few sweeps up and down, how far classes are derived:
/// reach(n) = min(x_n, reach of its children), reach(c) = sum over its nodes.
static egraph_status estimate_reach(separator *s) {
  enum { SWEEPS = 50 };
  EG_TRY(eg_doubles_resize(&s->reach, s->support->class_count));
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    bool moved = false;
    for (size_t i = 0; i < s->active.len; i++) {
      uint32_t class = s->active.data[sweep % 2 ? s->active.len - 1 - i : i];
      double sum = 0;
      EG_EACH_MEMBER(&s->index, class, node) {
        double least = s->x.data[node];
        EG_EACH_CHILD(s->support, node, child) {
          if (s->reach.data[child] < least) least = s->reach.data[child];
        }
        sum += least;
      }
      if (sum > s->reach.data[class] + 1e-9) moved = true;
      if (sum > s->reach.data[class]) s->reach.data[class] = sum;
    }
    if (!moved) break;
  }
  return EGRAPH_OK;
}

/// Returns the child that a node leans on: in the first trial the child with the least
/// reach, later often a random one.
static uint32_t supporter(separator *s, uint32_t node, uint32_t trial) {
  assert(s->support->child_begin.data[node] != s->support->child_begin.data[node + 1]);
  uint32_t first = s->support->child_begin.data[node];
  uint32_t count = s->support->child_begin.data[node + 1] - first;
  const uint32_t *children = s->support->children.data + first;
  if (trial > 0 && eg_rng_below(s->options->rng, 3) != 0)
    return children[eg_rng_below(s->options->rng, count)];
  uint32_t best = children[0];
  for (uint32_t i = 1; i < count; i++)
    if (s->reach.data[children[i]] < s->reach.data[best]) best = children[i];
  return best;
}

/// Fills the start set of the tabu search: the sink side of a minimum cut to s->target.
static egraph_status flow_set(separator *s, uint32_t trial) {
  assert(s->target < s->support->class_count);
  uint32_t source = s->support->class_count;
  EG_TRY(eg_flow_start(&s->flow, source + 1));
  for (uint32_t n = 0; n < s->x.len; n++) {
    bool leaf = s->support->child_begin.data[n] == s->support->child_begin.data[n + 1];
    EG_TRY(eg_flow_add(&s->flow, leaf ? source : supporter(s, n, trial),
                       s->support->node_class.data[n], s->x.data[n]));
  }
  eg_flow_min_cut(&s->flow, source, s->target, trial % 2 == 0, s->in_set.data);
  return EGRAPH_OK;
}

static double count_inside(separator *s) {
  double value = 0;
  for (uint32_t n = 0; n < s->x.len; n++) {
    uint32_t inside = 0;
    EG_EACH_CHILD(s->support, n, child) { inside += s->in_set.data[child]; }
    s->inside.data[n] = inside;
    if (inside == 0 && s->in_set.data[s->support->node_class.data[n]])
      value += s->x.data[n];
  }
  return value;
}

/// Returns the change of the cut value when `class` moves in or out of the set.
static double change_of(const separator *s, uint32_t class) {
  double own = 0, others = 0;
  uint32_t threshold = s->in_set.data[class];
  EG_EACH_MEMBER(&s->index, class, node) {
    if (s->inside.data[node] == 0) own += s->x.data[node];
  }
  EG_EACH_USER(&s->index, class, node) {
    if (s->in_set.data[s->support->node_class.data[node]] &&
        s->inside.data[node] == threshold)
      others += s->x.data[node];
  }
  return threshold ? others - own : own - others;
}

static void flip_class(separator *s, uint32_t class) {
  s->in_set.data[class] = !s->in_set.data[class];
  uint32_t step = s->in_set.data[class] ? 1u : UINT32_MAX;
  EG_EACH_USER(&s->index, class, user) { s->inside.data[user] += step; }
}

static bool best_flip(const separator *s, uint32_t step, double *out_change,
                      uint32_t *out_class) {
  bool any = false;
  for (size_t i = 0; i < s->active.len; i++) {
    uint32_t class = s->active.data[i];
    if (class == s->target || s->tabu.data[class] > step) continue;
    double change = change_of(s, class);
    if (any && change >= *out_change) continue;
    any = true;
    *out_change = change;
    *out_class = class;
  }
  return any;
}

/// Improves the class set by tabu search; leaves the best in best_set, returns its value.
static double tabu_search(separator *s) {
  double value = count_inside(s), best = value;
  memcpy(s->best_set.data, s->in_set.data, s->in_set.len);
  memset(s->tabu.data, 0, s->tabu.len * sizeof(uint32_t));
  uint32_t last = 0;
  for (uint32_t step = 1; step <= TABU_STEPS && step - last <= TABU_PATIENCE; step++) {
    double change = 0;
    uint32_t class = 0;
    if (!best_flip(s, step, &change, &class)) break;
    flip_class(s, class);
    s->tabu.data[class] = step + TABU_TENURE;
    value += change;
    if (value >= best - 1e-9) continue;
    best = value;
    last = step;
    memcpy(s->best_set.data, s->in_set.data, s->in_set.len);
  }
  return best;
}

/// Adds the S-cut of the class set as a row over all nodes, not only nodes with x > 0.
/// Members of a target that is no root are on both sides; members that are in the cut
/// cancel out.
static egraph_status emit_set(separator *s) {
  const eg_presolve *presolve = s->options->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  bool is_root = presolve->index.is_root.data[s->target];
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    uint32_t class = problem->node_class.data[n];
    if (!s->best_set.data[class]) continue;
    bool inside = false;
    for (uint32_t i = problem->child_begin.data[n];
         i < problem->child_begin.data[n + 1] && !inside; i++)
      inside = s->best_set.data[problem->children.data[i]];
    double coefficient = (inside ? 0.0 : 1.0) - (class == s->target && !is_root);
    if (coefficient > 0 || coefficient < 0)
      EG_TRY(eg_lp_rows_item(s->rows, n, coefficient));
  }
  s->found++;
  return eg_lp_rows_end(s->rows, is_root ? 1.0 : 0.0);
}

static egraph_status try_target(separator *s, uint32_t target) {
  assert(target < s->support->class_count);
  s->target = target;
  double y = s->options->presolve->index.is_root.data[target] ? 1.0 : s->y.data[target];
  for (uint32_t trial = 0; trial < FLOW_TRIALS; trial++) {
    EG_TRY(flow_set(s, trial));
    if (tabu_search(s) < y - s->options->violation) return emit_set(s);
  }
  return EGRAPH_OK;
}

/// Orders the target classes of cuts: roots first, then other classes, both shuffled;
/// leaves out fully derived classes.
static egraph_status order_targets(separator *s) {
  for (int roots = 1; roots >= 0; roots--) {
    size_t from = s->targets.len;
    for (size_t i = 0; i < s->active.len; i++) {
      uint32_t class = s->active.data[i];
      if (s->options->presolve->index.is_root.data[class] == roots &&
          s->reach.data[class] < s->y.data[class] - s->options->violation)
        EG_TRY(eg_u32s_push(&s->targets, class));
    }
    if (s->targets.len > from)
      eg_shuffle(s->options->rng, s->targets.data + from, s->targets.len - from);
  }
  return EGRAPH_OK;
}

static egraph_status add_landmark_row(separator *s, uint32_t class, uint32_t need) {
  const eg_class_index *index = &s->options->presolve->index;
  if (need == class || index->is_root.data[need] ||
      eg_class_index_member_count(index, need) == 0 ||
      s->y.data[class] - s->y.data[need] < s->options->violation)
    return EGRAPH_OK;
  EG_TRY(eg_rows_add_members(s->rows, index, need, 1));
  EG_TRY(eg_rows_add_members(s->rows, index, class, -1));
  s->found++;
  return eg_lp_rows_end(s->rows, 0.0);
}

static egraph_status add_landmark_rows(separator *s) {
  const eg_presolve *presolve = s->options->presolve;
  if (!presolve->has_landmarks) return EGRAPH_OK;
  for (size_t i = 0; i < s->active.len && s->found < s->options->max_rows / 2; i++) {
    s->needed.len = 0;
    EG_TRY(eg_landmarks_list(&presolve->landmarks, s->active.data[i], &s->needed));
    for (size_t k = 0; k < s->needed.len; k++)
      EG_TRY(add_landmark_row(s, s->active.data[i], s->needed.data[k]));
  }
  return EGRAPH_OK;
}

/// Adds usage rows for classes that are derived more than they are used.
static egraph_status add_usage_rows(separator *s) {
  const eg_class_index *index = &s->options->presolve->index;
  for (size_t i = 0; i < s->active.len; i++) {
    uint32_t class = s->active.data[i];
    if (index->is_root.data[class]) continue;
    double used = 0;
    EG_EACH_USER(&s->index, class, user) { used += s->x.data[user]; }
    if (s->y.data[class] - used < s->options->violation) continue;
    EG_EACH_USER(index, class, user) { EG_TRY(eg_lp_rows_item(s->rows, user, 1.0)); }
    EG_TRY(eg_rows_add_members(s->rows, index, class, -1));
    EG_TRY(eg_lp_rows_end(s->rows, 0.0));
  }
  return EGRAPH_OK;
}

egraph_status eg_separate_run(egraph_allocator alloc, const eg_separate_options *options,
                              eg_lp_rows *rows) {
  EG_OWNED(eg_extract_problem, support);
  EG_TRY(eg_extract_problem_init(&support, alloc));
  EG_LOCAL_WITH(separator, s, alloc, .support = &support, .options = options,
                .rows = rows);
  EG_TRY(build_support(&s));
  EG_TRY(estimate_reach(&s));
  EG_TRY(add_usage_rows(&s));
  EG_TRY(add_landmark_rows(&s));
  EG_TRY(order_targets(&s));
  for (size_t i = 0; i < s.targets.len && s.found < options->max_rows; i++)
    EG_TRY(try_target(&s, s.targets.data[i]));
  return EGRAPH_OK;
}
