// Every class has a choice, needed or not, and a count of the needed users of that
// choice. Switching a class to another node costs the classes whose count rises from 0
// with the new node, less the classes whose count falls to 0 without the old node. Adding
// before removing keeps both walks short when the two nodes share most of their
// descendants. Classes that are not needed search their best node, too, which makes them
// attractive in the next sweep.
//
// The choice is acyclic: a sweep fixes an order of the classes in which chosen children
// come first, and only takes nodes that agree with this order; the next sweep finds
// another order.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/local_search.h"

#include <math.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/owner.h"

enum {
  MAX_SWEEPS = 60,
  FIRST_WALK = 64,
  WALK_GROWTH = 4,
  LAST_WALK = 4096,
  STEPS_PER_COUNT = 8
};
// When two sweeps gain less than this relative amount, walks may become longer.
static const double LEAST_GAIN = 2e-3;

typedef struct recovery {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_incumbent *incumbent;
  uint64_t steps, limit;   // steps done, and their limit
  size_t walk;             // most counts to change on each side of a switch
  eg_u32s choice;          // [class]
  eg_u32s count;           // [class] needed users
  eg_u32s place;           // [class] in order
  eg_u32s order, waiting;  // classes, children first; waiting: [class]
  eg_u32s raised, lowered; // counts that the current trial has changed
  eg_u32s stack;           // nodes
} recovery;
EG_OWNER_DEFINE_STATIC(recovery, (eg_u32s, choice, count, place, order, waiting, raised,
                                  lowered, stack))

/// Counts the children of `node` once more (or once less); adds to *cost the classes that
/// become needed (or unneeded). *out_done: false when more than `limit` counts change;
/// the caller must then undo the change.
static egraph_status count_children(recovery *r, uint32_t node, bool more, size_t limit,
                                    double *cost, bool *out_done) {
  const eg_extract_problem *problem = r->problem;
  eg_u32s *trail = more ? &r->raised : &r->lowered;
  r->stack.len = 0;
  EG_TRY(eg_u32s_push(&r->stack, node));
  while (r->stack.len != 0 && trail->len <= limit) {
    uint32_t top = eg_u32s_pop(&r->stack);
    EG_EACH_CHILD(problem, top, child) {
      uint32_t *count = &r->count.data[child];
      EG_TRY(eg_u32s_push(trail, child));
      if (more ? (*count)++ != 0 : --*count != 0) continue;
      *cost += problem->cost.data[r->choice.data[child]];
      EG_TRY(eg_u32s_push(&r->stack, r->choice.data[child]));
    }
  }
  r->steps += STEPS_PER_COUNT * (1 + trail->len);
  *out_done = r->stack.len == 0;
  return EGRAPH_OK;
}

static void forget_trial(recovery *r) { r->raised.len = r->lowered.len = 0; }

static void undo_trial(recovery *r) {
  assert(r->count.len == r->problem->class_count);
  for (size_t i = 0; i < r->lowered.len; i++)
    r->count.data[r->lowered.data[i]]++;
  for (size_t i = 0; i < r->raised.len; i++)
    r->count.data[r->raised.data[i]]--;
  forget_trial(r);
}

static bool fits_order(const recovery *r, uint32_t node, uint32_t class) {
  EG_EACH_CHILD(r->problem, node, child) {
    if (r->place.data[child] >= r->place.data[class]) return false;
  }
  return true;
}

static egraph_status try_node(recovery *r, uint32_t class, uint32_t node) {
  assert(r->problem->node_class.data[node] == class);
  uint32_t old = r->choice.data[class];
  double added = r->problem->cost.data[node], removed = r->problem->cost.data[old];
  bool done;
  EG_TRY(count_children(r, node, true, r->walk, &added, &done));
  if (done) EG_TRY(count_children(r, old, false, r->walk, &removed, &done));
  if (done && added < removed - 1e-12 * removed) {
    r->choice.data[class] = node;
    forget_trial(r);
  } else {
    undo_trial(r);
  }
  return EGRAPH_OK;
}

/// Tries each node of a class as its choice. A class that is not needed gets a user
/// during the trials.
static egraph_status try_class(recovery *r, uint32_t class) {
  bool idle = r->count.data[class] == 0, done = true;
  double ignored = 0;
  if (idle)
    EG_TRY(count_children(r, r->choice.data[class], true, r->walk, &ignored, &done));
  if (!done) {
    undo_trial(r);
    return EGRAPH_OK;
  }
  forget_trial(r);
  EG_EACH_MEMBER(r->index, class, node) {
    if (node != r->choice.data[class] && fits_order(r, node, class))
      EG_TRY(try_node(r, class, node));
  }
  if (idle)
    EG_TRY(count_children(r, r->choice.data[class], false, SIZE_MAX, &ignored, &done));
  forget_trial(r);
  return EGRAPH_OK;
}

/// Chooses nodes: the greedy choice, replaced by the best solution in the classes of this
/// solution. They need no class outside the solution, so the whole is acyclic.
static egraph_status choose_all(recovery *r, const eg_greedy *greedy) {
  EG_TRY(eg_u32s_resize(&r->choice, r->problem->class_count));
  EG_TRY(eg_greedy_run_some(greedy, r->problem->cost.data,
                            eg_incumbent_deadline(r->incumbent), r->choice.data));
  for (uint32_t class = 0; class < r->problem->class_count; class ++)
    if (r->incumbent->choice.data[class] != EG_EXTRACT_NONE)
      r->choice.data[class] = r->incumbent->choice.data[class];
  return EGRAPH_OK;
}

static bool recovery_is_late(recovery *r) {
  return r->steps > r->limit || eg_incumbent_stop(r->incumbent);
}

/// Orders classes children first; `deep`: each as late as possible, otherwise as early as
/// possible. Classes not reached in time are not in the order.
static egraph_status order_classes(recovery *r, bool deep) {
  const eg_extract_problem *problem = r->problem;
  r->order.len = r->stack.len = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    uint32_t node = r->choice.data[class];
    r->place.data[class] = EG_EXTRACT_NONE;
    if (node == EG_EXTRACT_NONE) continue;
    r->waiting.data[class] =
        problem->child_begin.data[node + 1] - problem->child_begin.data[node];
    if (r->waiting.data[class] == 0)
      EG_TRY(eg_u32s_push(deep ? &r->stack : &r->order, class));
  }
  for (size_t done = 0; done < r->order.len || r->stack.len != 0; done++) {
    if (done % 4096 == 0 && recovery_is_late(r)) break;
    if (deep) EG_TRY(eg_u32s_push(&r->order, eg_u32s_pop(&r->stack)));
    uint32_t class = r->order.data[done];
    r->place.data[class] = (uint32_t)done;
    EG_EACH_USER(r->index, class, user) {
      uint32_t owner = problem->node_class.data[user];
      if (r->choice.data[owner] != user || --r->waiting.data[owner] != 0) continue;
      EG_TRY(eg_u32s_push(deep ? &r->stack : &r->order, owner));
    }
  }
  return EGRAPH_OK;
}

/// Counts the needed users of each class; visits users first, so that counts are final
/// when they are read.
static void count_users(recovery *r) {
  const eg_extract_problem *problem = r->problem;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    r->count.data[class] = 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    r->count.data[problem->roots.data[i]]++;
  for (size_t i = r->order.len; i-- > 0;) {
    uint32_t class = r->order.data[i], node = r->choice.data[class];
    if (r->count.data[class] == 0) continue;
    EG_EACH_CHILD(problem, node, child) { r->count.data[child]++; }
  }
}

static egraph_status sweep_classes(recovery *r, uint32_t which) {
  EG_TRY(order_classes(r, which % 2 == 1));
  if (recovery_is_late(r)) return EGRAPH_OK;
  count_users(r);
  forget_trial(r);
  for (size_t i = 0; i < r->order.len; i++) {
    if (i % 256 == 0 && recovery_is_late(r)) break;
    EG_TRY(try_class(r, r->order.data[i]));
  }
  double cost;
  return eg_incumbent_offer(r->incumbent, r->choice.data, &cost);
}

static egraph_status sweep_until_stalled(recovery *r) {
  double before = r->incumbent->cost;
  for (uint32_t which = 0; which < MAX_SWEEPS && r->walk <= LAST_WALK; which++) {
    EG_TRY(sweep_classes(r, which));
    if (recovery_is_late(r)) break;
    if (which % 2 == 0) continue;
    if (before - r->incumbent->cost < LEAST_GAIN * before) r->walk *= WALK_GROWTH;
    before = r->incumbent->cost;
  }
  return EGRAPH_OK;
}

egraph_status eg_local_search_run(const eg_greedy *greedy, eg_incumbent *incumbent,
                                  uint64_t steps) {
  if (!isfinite(incumbent->cost) || eg_incumbent_stop(incumbent)) return EGRAPH_OK;
  uint32_t classes = greedy->problem->class_count;
  EG_LOCAL_WITH(recovery, r, greedy->alloc, .problem = greedy->problem,
                .index = greedy->index, .incumbent = incumbent, .limit = steps,
                .walk = FIRST_WALK);
  EG_TRY(choose_all(&r, greedy));
  EG_TRY(eg_u32s_resize(&r.count, classes));
  EG_TRY(eg_u32s_resize(&r.place, classes));
  EG_TRY(eg_u32s_resize(&r.waiting, classes));
  if (!recovery_is_late(&r)) EG_TRY(sweep_until_stalled(&r));
  eg_incumbent_count(incumbent, r.steps);
  return EGRAPH_OK;
}

// ---- greedy runs on perturbed costs -----------------------------------------------

// A greedy walk over- or under-estimates sharing. The costs are changed in three ways in
// turn: divide the cost of a node by the number of users of its class in the best
// solution (each user's equal share); make the nodes of the best solution cheap, so that
// other nodes join them; and add random noise to both.

// On larger problems one round takes as long as a sweep of the local search above, and
// the sweep gains a hundred times more.
enum { MAX_NODES = 100000 };

typedef struct bend {
  const eg_greedy *greedy;
  eg_incumbent *incumbent;
  eg_rng rng;
  eg_u32s uses;    // [class] in the best solution
  eg_doubles cost; // [node]
  eg_u32s choice;  // [class]
} bend;
EG_OWNER_DEFINE_STATIC(bend, (eg_u32s, uses, choice), (eg_doubles, cost))

static void count_uses(bend *b) {
  const eg_extract_problem *problem = b->greedy->problem;
  if (b->uses.len != 0) memset(b->uses.data, 0, b->uses.len * sizeof(uint32_t));
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    uint32_t node = b->incumbent->choice.data[class];
    if (node == EG_EXTRACT_NONE) continue;
    EG_EACH_CHILD(problem, node, child) { b->uses.data[child]++; }
  }
}

static void bend_costs(bend *b, uint32_t round) {
  assert(b->cost.len == b->greedy->problem->node_class.len);
  const eg_extract_problem *problem = b->greedy->problem;
  double noise = round < 3 ? 0.0 : 0.05 * (double)(1 + round % 8);
  for (uint32_t n = 0; n < problem->node_class.len; n++) {
    uint32_t class = problem->node_class.data[n];
    double cost = problem->cost.data[n];
    if (round % 3 != 1 && b->uses.data[class] > 1) cost /= (double)b->uses.data[class];
    if (round % 3 != 0 && b->incumbent->choice.data[class] == n) cost *= 0.25;
    b->cost.data[n] = cost * (1 + noise * (eg_rng_unit(&b->rng) - 0.5));
  }
}

egraph_status eg_perturb_run(const eg_greedy *greedy, eg_incumbent *incumbent,
                             uint32_t rounds, uint64_t seed) {
  const eg_extract_problem *problem = greedy->problem;
  if (problem->node_class.len > MAX_NODES) return EGRAPH_OK;
  EG_LOCAL_WITH(bend, b, greedy->alloc, .greedy = greedy, .incumbent = incumbent,
                .rng = (eg_rng){seed});
  EG_TRY(eg_u32s_resize(&b.uses, problem->class_count));
  EG_TRY(eg_doubles_resize(&b.cost, problem->node_class.len));
  EG_TRY(eg_u32s_resize(&b.choice, problem->class_count));
  for (uint32_t round = 0; round < rounds; round++) {
    if (!isfinite(incumbent->cost) || eg_incumbent_stop(incumbent)) break;
    count_uses(&b);
    bend_costs(&b, round);
    eg_incumbent_count(incumbent, 32 * (uint64_t)problem->node_class.len);
    EG_TRY(eg_greedy_run(greedy, EG_GREEDY_TREE, b.cost.data, b.choice.data));
    double cost;
    EG_TRY(eg_incumbent_offer(incumbent, b.choice.data, &cost));
  }
  return EGRAPH_OK;
}

// ---- windows ------------------------------------------------------------------------
// A window is a ball of classes around a chosen class. The problem of the window has all
// nodes of its classes, and elsewhere only the chosen nodes; presolve folds these away,
// so a window of a few hundred classes takes milliseconds. The size of windows follows
// the size after presolve, not the clock, so that results repeat.

enum { EASY_NODES = 150, HARD_NODES = 400, MIN_WINDOW = 20, TREE_LIMIT = 2 };
static const uint64_t WINDOW_WORK = 1000; // million steps; a window rarely takes as many

typedef struct lns {
  egraph_allocator alloc;
  eg_incumbent *incumbent;
  const eg_class_index *index;
  const eg_lns_options *options;
  eg_rng rng;
  eg_u32s chosen; // classes of the solution
  eg_u32s ball;   // classes of the window, breadth first
  eg_bytes in_ball;
  eg_u32s number;  // [class] in the window's problem, or NONE
  eg_u32s node_of; // [window node]
  eg_u32s row, choice;
  eg_extract_problem *problem; // problem of the window
  size_t window;
} lns;
EG_OWNER_DEFINE_STATIC(lns, (eg_u32s, chosen, ball, number, node_of, row, choice),
                       (eg_bytes, in_ball))

static egraph_status list_chosen(lns *l) {
  const eg_extract_problem *whole = l->incumbent->problem;
  l->chosen.len = 0;
  for (uint32_t class = 0; class < whole->class_count; class ++)
    if (l->incumbent->choice.data[class] != EG_EXTRACT_NONE)
      EG_TRY(eg_u32s_push(&l->chosen, class));
  return EGRAPH_OK;
}

static egraph_status visit_class(lns *l, uint32_t class) {
  if (l->in_ball.data[class] || l->ball.len >= l->window) return EGRAPH_OK;
  l->in_ball.data[class] = 1;
  return eg_u32s_push(&l->ball, class);
}

static egraph_status grow_ball(lns *l, uint32_t center) {
  assert(center < l->in_ball.len);
  const eg_extract_problem *whole = l->incumbent->problem;
  for (size_t i = 0; i < l->ball.len; i++)
    l->in_ball.data[l->ball.data[i]] = 0;
  l->ball.len = 0;
  EG_TRY(visit_class(l, center));
  for (size_t done = 0; done < l->ball.len; done++) {
    uint32_t class = l->ball.data[done];
    EG_EACH_MEMBER(l->index, class, node) {
      EG_EACH_CHILD(whole, node, child) { EG_TRY(visit_class(l, child)); }
    }
    EG_EACH_USER(l->index, class, user) {
      EG_TRY(visit_class(l, whole->node_class.data[user]));
    }
  }
  return EGRAPH_OK;
}

static egraph_status number_class(lns *l, uint32_t class) {
  if (l->number.data[class] != EG_EXTRACT_NONE) return EGRAPH_OK;
  return eg_extract_problem_add_class(l->problem, &l->number.data[class]);
}

/// Adds a node to the window's problem unless one of its children is outside.
static egraph_status add_window_node(lns *l, uint32_t node) {
  const eg_extract_problem *whole = l->incumbent->problem;
  l->row.len = 0;
  EG_EACH_CHILD(whole, node, its_class) {
    uint32_t child = l->number.data[its_class];
    if (child == EG_EXTRACT_NONE) return EGRAPH_OK;
    EG_TRY(eg_u32s_push(&l->row, child));
  }
  EG_TRY(eg_u32s_push(&l->node_of, node));
  return eg_extract_problem_add_node(
      l->problem, l->number.data[whole->node_class.data[node]], whole->cost.data[node],
      l->row.data, (uint32_t)l->row.len, NULL);
}

static egraph_status build_window(lns *l) {
  const eg_extract_problem *whole = l->incumbent->problem;
  eg_extract_problem_clear(l->problem, 0);
  l->node_of.len = 0;
  EG_TRY(eg_fill_none(&l->number, whole->class_count));
  for (size_t i = 0; i < l->chosen.len; i++)
    EG_TRY(number_class(l, l->chosen.data[i]));
  for (size_t i = 0; i < l->ball.len; i++)
    EG_TRY(number_class(l, l->ball.data[i]));
  for (size_t i = 0; i < l->chosen.len; i++)
    if (!l->in_ball.data[l->chosen.data[i]])
      EG_TRY(add_window_node(l, l->incumbent->choice.data[l->chosen.data[i]]));
  for (size_t i = 0; i < l->ball.len; i++)
    EG_EACH_MEMBER(l->index, l->ball.data[i], member) {
      EG_TRY(add_window_node(l, member));
    }
  for (size_t i = 0; i < whole->roots.len; i++)
    EG_TRY(eg_extract_problem_add_root(l->problem, l->number.data[whole->roots.data[i]]));
  return EGRAPH_OK;
}

/// Offers the best solution of the whole as a choice of the window's problem.
static egraph_status seed_window(lns *l, eg_incumbent *window) {
  assert(l->node_of.len == eg_extract_node_count(l->problem));
  EG_TRY(eg_fill_none(&l->choice, l->problem->class_count));
  for (uint32_t n = 0; n < l->node_of.len; n++) {
    uint32_t node = l->node_of.data[n];
    if (l->incumbent->choice.data[l->incumbent->problem->node_class.data[node]] == node)
      l->choice.data[l->problem->node_class.data[n]] = n;
  }
  double cost;
  return eg_incumbent_offer(window, l->choice.data, &cost);
}

static egraph_status adopt_window(lns *l, const eg_incumbent *window) {
  assert(window->problem == l->problem);
  const eg_extract_problem *whole = l->incumbent->problem;
  l->choice.len = 0;
  EG_TRY(eg_u32s_resize(&l->choice, whole->class_count));
  for (uint32_t class = 0; class < whole->class_count; class ++) {
    uint32_t small = l->number.data[class];
    uint32_t node = small == EG_EXTRACT_NONE ? small : window->choice.data[small];
    l->choice.data[class] = node == EG_EXTRACT_NONE ? node : l->node_of.data[node];
  }
  double cost;
  return eg_incumbent_offer(l->incumbent, l->choice.data, &cost);
}

static egraph_status solve_window(lns *l) {
  eg_extract_options options = *l->incumbent->options;
  options.work_limit = WINDOW_WORK;
  options.threads = 1;
  EG_OWNED(eg_incumbent, window);
  EG_TRY(eg_incumbent_init(&window, l->alloc, l->problem, &options));
  window.outer = l->incumbent;
  window.outer_rest = -INFINITY;
  window.rest_cost = INFINITY;
  window.tree_limit = TREE_LIMIT;
  uint32_t nodes = 0;
  EG_TRY(seed_window(l, &window));
  EG_TRY(l->options->solve(l->alloc, &window, &nodes));
  EG_TRY(adopt_window(l, &window));
  if (nodes < EASY_NODES && l->window < l->incumbent->problem->class_count)
    l->window += l->window / 4;
  if (nodes > HARD_NODES && l->window > MIN_WINDOW)
    l->window -= l->window / (nodes > 2 * HARD_NODES ? 2 : 4);
  return EGRAPH_OK;
}

egraph_status eg_lns_run(egraph_allocator alloc, eg_incumbent *incumbent,
                         const eg_class_index *index, const eg_lns_options *options) {
  assert(isfinite(incumbent->cost)); // holds a solution
  EG_OWNED(eg_extract_problem, problem);
  EG_TRY(eg_extract_problem_init(&problem, alloc));
  EG_LOCAL_WITH(lns, l, alloc, .problem = &problem, .alloc = alloc,
                .incumbent = incumbent, .index = index, .options = options,
                .rng = (eg_rng){options->seed}, .window = options->window_classes);
  EG_TRY(eg_bytes_resize(&l.in_ball, incumbent->problem->class_count));
  EG_TRY(list_chosen(&l));
  uint64_t first = incumbent->work.done;
  for (uint32_t failures = 0; failures < options->max_failures;) {
    if (l.chosen.len == 0 || eg_incumbent_stop(incumbent)) break;
    if (incumbent->work.done - first > options->steps) break;
    double before = incumbent->cost;
    EG_TRY(grow_ball(&l, l.chosen.data[eg_rng_below(&l.rng, l.chosen.len)]));
    EG_TRY(build_window(&l));
    EG_TRY(solve_window(&l));
    bool better = incumbent->cost < eg_incumbent_cutoff_of(incumbent, before);
    failures = better ? 0 : failures + 1;
    if (incumbent->cost < before) EG_TRY(list_chosen(&l)); // however little
  }
  return EGRAPH_OK;
}
