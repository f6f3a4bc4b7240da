// Computes the cost of a choice and checks that it is a solution, from the fields of the
// problem alone.
//
// The check uses nothing of the solver on purpose, not even its index or its evaluation;
// therefore an error of the solver cannot hide here. The first walk collects the needed
// classes from the roots and checks closure. The second walk removes classes whose
// children are all removed (Kahn). Classes that remain lie on a cycle.
// SPDX-License-Identifier: Apache-2.0
#include "extract/problem.h"

#include "base/owner.h"

typedef struct walk {
  const eg_extract_problem *problem;
  const uint32_t *choice;
  eg_u32s needed;  // classes, in order of discovery
  eg_u32s place;   // [class] 1 + position in needed, 0: not needed
  eg_u32s waiting; // [position] children not yet removed
} walk;
EG_OWNER_DEFINE_STATIC(walk, (eg_u32s, needed, place, waiting))

/// Lists a class that is needed, once, after checking its node.
static egraph_status need(walk *w, uint32_t class) {
  if (w->place.data[class] != 0) return EGRAPH_OK;
  uint32_t node = w->choice[class];
  if (node == EG_EXTRACT_NONE)
    return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: class %u is needed and has no node",
                   class);
  if (node >= w->problem->node_class.len || w->problem->node_class.data[node] != class)
    return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: node %u is not in class %u", node,
                   class);
  EG_TRY(eg_u32s_push(&w->needed, class));
  w->place.data[class] = (uint32_t)w->needed.len;
  return EGRAPH_OK;
}

static egraph_status collect_needed(walk *w) {
  const eg_extract_problem *problem = w->problem;
  EG_TRY(eg_u32s_resize(&w->place, problem->class_count));
  for (size_t i = 0; i < problem->roots.len; i++)
    EG_TRY(need(w, problem->roots.data[i]));
  for (size_t done = 0; done < w->needed.len; done++) {
    uint32_t node = w->choice[w->needed.data[done]];
    EG_EACH_CHILD(problem, node, child) { EG_TRY(need(w, child)); }
  }
  return EGRAPH_OK;
}

/// The parents of every needed class, in compressed rows, so that removing a class takes
/// time linear in the number of its parents.
typedef struct reverse {
  eg_u32s begin, parents;
} reverse;
EG_OWNER_DEFINE_STATIC(reverse, (eg_u32s, begin, parents))

static egraph_status fill_reverse(walk *w, reverse *r) {
  const eg_extract_problem *problem = w->problem;
  EG_TRY(eg_u32s_resize(&r->begin, w->needed.len + 2));
  EG_TRY(eg_u32s_resize(&w->waiting, w->needed.len));
  for (size_t at = 0; at < w->needed.len; at++) {
    uint32_t node = w->choice[w->needed.data[at]];
    uint32_t first = problem->child_begin.data[node];
    uint32_t last = problem->child_begin.data[node + 1];
    w->waiting.data[at] = last - first;
    for (uint32_t i = first; i < last; i++)
      r->begin.data[w->place.data[problem->children.data[i]] + 1]++;
  }
  for (size_t at = 1; at < r->begin.len; at++)
    r->begin.data[at] += r->begin.data[at - 1];
  EG_TRY(eg_u32s_resize(&r->parents, r->begin.data[w->needed.len + 1]));
  for (uint32_t at = 0; at < w->needed.len; at++) {
    uint32_t node = w->choice[w->needed.data[at]];
    EG_EACH_CHILD(problem, node, child) {
      r->parents.data[r->begin.data[w->place.data[child]]++] = at;
    }
  }
  return EGRAPH_OK;
}

/// Removes every class whose children are all removed; fails when a class remains: the
/// choice is cyclic. The parents of position p are r->parents[r->begin[p] .. r->begin[p
/// + 1]).
static egraph_status remove_all(walk *w, const reverse *r) {
  assert(w->waiting.len == w->needed.len);
  EG_LOCAL(eg_u32s, ready, w->needed.alloc);
  EG_TRY(eg_u32s_reserve(&ready, w->needed.len));
  for (uint32_t at = 0; at < w->needed.len; at++)
    if (w->waiting.data[at] == 0) ready.data[ready.len++] = at;
  for (size_t done = 0; done < ready.len; done++) {
    uint32_t at = ready.data[done];
    for (uint32_t i = r->begin.data[at]; i < r->begin.data[at + 1]; i++)
      if (--w->waiting.data[r->parents.data[i]] == 0)
        ready.data[ready.len++] = r->parents.data[i];
  }
  for (size_t at = 0; at < w->needed.len; at++)
    if (w->waiting.data[at] != 0)
      return EG_FAIL(EGRAPH_E_INTERNAL,
                     "certificate: the choice is cyclic, for instance below class %u",
                     w->needed.data[at]);
  return EGRAPH_OK;
}

/// Sums the costs with compensation (Neumaier), so that the order of the classes does
/// not matter.
static double total(const walk *w) {
  double sum = 0.0, lost = 0.0;
  for (size_t at = 0; at < w->needed.len; at++) {
    double cost = w->problem->cost.data[w->choice[w->needed.data[at]]];
    double next = sum + cost;
    double big = sum < 0 ? -sum : sum, small = cost < 0 ? -cost : cost;
    lost += big >= small ? (sum - next) + cost : (cost - next) + sum;
    sum = next;
  }
  return sum + lost;
}

egraph_status eg_extract_certify(egraph_allocator alloc,
                                 const eg_extract_problem *problem,
                                 const uint32_t *choice, double *out_cost) {
  assert(problem->child_begin.len == problem->node_class.len + (size_t)1);
  EG_LOCAL(walk, w, alloc);
  EG_LOCAL(reverse, r, alloc);
  w.problem = problem;
  w.choice = choice;
  EG_TRY(collect_needed(&w));
  EG_TRY(fill_reverse(&w, &r));
  EG_TRY(remove_all(&w, &r));
  *out_cost = total(&w);
  return EGRAPH_OK;
}
