// The certificate: what a choice costs and that it is one, from the problem's rows alone.
//
// It deliberately uses nothing of the solver (not even its index or its evaluation), so
// that an error there cannot hide here. Two walks: one collects the needed classes from
// the roots and checks closure, one removes classes whose children are all removed
// (Kahn); what is left over lies on a cycle.
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

// Parents of every needed class, in rows, so that removal is linear.
typedef struct reverse {
  eg_u32s begin, parents;
} reverse;
EG_OWNER_DEFINE_STATIC(reverse, (eg_u32s, begin, parents))

static egraph_status reverse_build(walk *w, reverse *r) {
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

// After reverse_build the row of position p is parents[begin[p] .. begin[p + 1]).
static egraph_status remove_all(walk *w, const reverse *r) {
  eg_u32s ready;
  eg_u32s_init(&ready, w->needed.alloc);
  egraph_status status = eg_u32s_reserve(&ready, w->needed.len);
  if (status != EGRAPH_OK) return status;
  for (uint32_t at = 0; at < w->needed.len; at++)
    if (w->waiting.data[at] == 0) ready.data[ready.len++] = at;
  for (size_t done = 0; done < ready.len; done++) {
    uint32_t at = ready.data[done];
    for (uint32_t i = r->begin.data[at]; i < r->begin.data[at + 1]; i++)
      if (--w->waiting.data[r->parents.data[i]] == 0)
        ready.data[ready.len++] = r->parents.data[i];
  }
  size_t removed = ready.len;
  eg_u32s_deinit(&ready);
  if (removed == w->needed.len) return EGRAPH_OK;
  for (size_t at = 0; at < w->needed.len; at++)
    if (w->waiting.data[at] != 0)
      return EG_FAIL(EGRAPH_E_INTERNAL,
                     "certificate: the choice is cyclic, for instance below class %u",
                     w->needed.data[at]);
  return EGRAPH_OK;
}

// Compensated (Neumaier), so that the order of the classes does not show.
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
  walk w;
  walk_init(&w, alloc);
  w.problem = problem;
  w.choice = choice;
  reverse r;
  reverse_init(&r, alloc);
  egraph_status status;
  EG_TRY_GOTO(status, collect_needed(&w), done);
  EG_TRY_GOTO(status, reverse_build(&w, &r), done);
  EG_TRY_GOTO(status, remove_all(&w, &r), done);
  *out_cost = total(&w);
done:
  reverse_deinit(&r);
  walk_deinit(&w);
  return status;
}
