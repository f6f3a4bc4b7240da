// A window is a ball of classes around a chosen class. The problem of the window has all
// nodes of its classes, and elsewhere only the chosen ones; presolve folds those away, so
// a window of a few hundred classes takes milliseconds. The size of windows follows the
// size after presolve, not the clock, so that results repeat.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/lns.h"

#include <math.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/owner.h"

enum { EASY_NODES = 150, HARD_NODES = 400, MIN_WINDOW = 20, TREE_LIMIT = 2 };
static const uint64_t WINDOW_WORK =
    1000; // million steps; a safety net, normally out of reach

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
  eg_extract_problem problem; // of the window
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

static egraph_status visit(lns *l, uint32_t class) {
  if (l->in_ball.data[class] || l->ball.len >= l->window) return EGRAPH_OK;
  l->in_ball.data[class] = 1;
  return eg_u32s_push(&l->ball, class);
}

static egraph_status grow_ball(lns *l, uint32_t center) {
  const eg_extract_problem *whole = l->incumbent->problem;
  for (size_t i = 0; i < l->ball.len; i++)
    l->in_ball.data[l->ball.data[i]] = 0;
  l->ball.len = 0;
  EG_TRY(visit(l, center));
  for (size_t done = 0; done < l->ball.len; done++) {
    uint32_t class = l->ball.data[done];
    EG_EACH_MEMBER(l->index, class, node) {
      EG_EACH_CHILD(whole, node, child) { EG_TRY(visit(l, child)); }
    }
    EG_EACH_USER(l->index, class, user) {
      EG_TRY(visit(l, whole->node_class.data[user]));
    }
  }
  return EGRAPH_OK;
}

static egraph_status number_class(lns *l, uint32_t class) {
  if (l->number.data[class] != EG_EXTRACT_NONE) return EGRAPH_OK;
  return eg_extract_problem_add_class(&l->problem, &l->number.data[class]);
}

// Adds the node unless one of its children is out of sight.
static egraph_status add_node(lns *l, uint32_t node) {
  const eg_extract_problem *whole = l->incumbent->problem;
  l->row.len = 0;
  EG_EACH_CHILD(whole, node, its_class) {
    uint32_t child = l->number.data[its_class];
    if (child == EG_EXTRACT_NONE) return EGRAPH_OK;
    EG_TRY(eg_u32s_push(&l->row, child));
  }
  EG_TRY(eg_u32s_push(&l->node_of, node));
  return eg_extract_problem_add_node(
      &l->problem, l->number.data[whole->node_class.data[node]], whole->cost.data[node],
      l->row.data, (uint32_t)l->row.len, NULL);
}

static egraph_status build_window(lns *l) {
  const eg_extract_problem *whole = l->incumbent->problem;
  eg_extract_problem_clear(&l->problem, 0);
  l->node_of.len = 0;
  EG_TRY(eg_fill_none(&l->number, whole->class_count));
  for (size_t i = 0; i < l->chosen.len; i++)
    EG_TRY(number_class(l, l->chosen.data[i]));
  for (size_t i = 0; i < l->ball.len; i++)
    EG_TRY(number_class(l, l->ball.data[i]));
  for (size_t i = 0; i < l->chosen.len; i++)
    if (!l->in_ball.data[l->chosen.data[i]])
      EG_TRY(add_node(l, l->incumbent->choice.data[l->chosen.data[i]]));
  for (size_t i = 0; i < l->ball.len; i++)
    EG_EACH_MEMBER(l->index, l->ball.data[i], member) { EG_TRY(add_node(l, member)); }
  for (size_t i = 0; i < whole->roots.len; i++)
    EG_TRY(
        eg_extract_problem_add_root(&l->problem, l->number.data[whole->roots.data[i]]));
  return EGRAPH_OK;
}

// The solution as a choice of the window's problem.
static egraph_status seed_window(lns *l, eg_incumbent *window) {
  EG_TRY(eg_fill_none(&l->choice, l->problem.class_count));
  for (uint32_t n = 0; n < l->node_of.len; n++) {
    uint32_t node = l->node_of.data[n];
    if (l->incumbent->choice.data[l->incumbent->problem->node_class.data[node]] == node)
      l->choice.data[l->problem.node_class.data[n]] = n;
  }
  double cost;
  return eg_incumbent_offer(window, l->choice.data, &cost);
}

static egraph_status adopt(lns *l, const eg_incumbent *window) {
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
  eg_incumbent window;
  EG_TRY(eg_incumbent_init(&window, l->alloc, &l->problem, &options));
  window.outer = l->incumbent;
  window.outer_rest = -INFINITY;
  window.rest_cost = INFINITY;
  window.tree_limit = TREE_LIMIT;
  uint32_t nodes = 0;
  egraph_status status = seed_window(l, &window);
  if (status == EGRAPH_OK) status = l->options->solve(l->alloc, &window, &nodes);
  if (status == EGRAPH_OK) status = adopt(l, &window);
  eg_incumbent_deinit(&window);
  if (nodes < EASY_NODES && l->window < l->incumbent->problem->class_count)
    l->window += l->window / 4;
  if (nodes > HARD_NODES && l->window > MIN_WINDOW)
    l->window -= l->window / (nodes > 2 * HARD_NODES ? 2 : 4);
  return status;
}

static egraph_status slide(lns *l) {
  const eg_extract_problem *whole = l->incumbent->problem;
  EG_TRY(eg_bytes_resize(&l->in_ball, whole->class_count));
  EG_TRY(list_chosen(l));
  uint64_t first = l->incumbent->work.done;
  for (uint32_t failures = 0; failures < l->options->max_failures;) {
    if (l->chosen.len == 0 || eg_incumbent_stop(l->incumbent)) break;
    if (l->incumbent->work.done - first > l->options->steps) break;
    double before = l->incumbent->cost;
    uint32_t center = l->chosen.data[eg_rng_below(&l->rng, l->chosen.len)];
    EG_TRY(grow_ball(l, center));
    EG_TRY(build_window(l));
    EG_TRY(solve_window(l));
    bool better = l->incumbent->cost < eg_incumbent_cutoff_of(l->incumbent, before);
    failures = better ? 0 : failures + 1;
    if (l->incumbent->cost < before) EG_TRY(list_chosen(l)); // however little
  }
  return EGRAPH_OK;
}

egraph_status eg_lns_run(egraph_allocator alloc, eg_incumbent *incumbent,
                         const eg_class_index *index, const eg_lns_options *options) {
  lns l;
  lns_init(&l, alloc);
  l.alloc = alloc;
  l.incumbent = incumbent;
  l.index = index;
  l.options = options;
  l.rng = (eg_rng){options->seed};
  l.window = options->window_classes;
  EG_TRY(eg_extract_problem_init(&l.problem, alloc));
  egraph_status status = slide(&l);
  lns_deinit(&l);
  eg_extract_problem_deinit(&l.problem);
  return status;
}
