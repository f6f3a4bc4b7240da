// Two passes that look at reachability. "Reach" drops nodes without a derivation, then
// classes that no root reaches, and renumbers the classes. "Detach" drops edges to roots.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/presolve/presolve.h"

typedef struct sweep {
  eg_presolve *presolve;
  eg_u32s waiting; // [node] children without a derivation so far; 0: node can be used
  eg_u32s queue;   // classes
  eg_bytes derived, reached;
  eg_u32s number; // [class] new number
} sweep;
EG_OWNER_DEFINE_STATIC(sweep, (eg_u32s, waiting, queue, number),
                       (eg_bytes, derived, reached))

static egraph_status reach(sweep *s, uint32_t class) {
  if (s->reached.data[class]) return EGRAPH_OK;
  s->reached.data[class] = 1;
  return eg_u32s_push(&s->queue, class);
}

static egraph_status reach_all(sweep *s) {
  const eg_extract_problem *problem = &s->presolve->model.problem;
  const eg_class_index *index = &s->presolve->index;
  EG_TRY(eg_bytes_resize(&s->reached, problem->class_count));
  s->queue.len = 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    EG_TRY(reach(s, problem->roots.data[i]));
  for (size_t done = 0; done < s->queue.len; done++) {
    uint32_t class = s->queue.data[done];
    EG_EACH_MEMBER(index, class, node) {
      if (s->waiting.data[node] != 0) continue;
      EG_EACH_CHILD(problem, node, child) { EG_TRY(reach(s, child)); }
    }
  }
  return EGRAPH_OK;
}

static egraph_status rebuild(sweep *s, uint32_t classes) {
  const eg_reduced *model = &s->presolve->model;
  eg_reduced *next = &s->presolve->spare;
  eg_reduced_start(next, model, classes);
  for (size_t i = 0; i < model->problem.roots.len; i++)
    EG_TRY(eg_extract_problem_add_root(&next->problem,
                                       s->number.data[model->problem.roots.data[i]]));
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++) {
    uint32_t class = model->problem.node_class.data[n];
    if (s->waiting.data[n] != 0 || !s->reached.data[class]) continue;
    s->queue.len = 0;
    EG_EACH_CHILD(&model->problem, n, child) {
      EG_TRY(eg_u32s_push(&s->queue, s->number.data[child]));
    }
    EG_TRY(eg_reduced_add_node(next, s->number.data[class], model->problem.cost.data[n],
                               model->part.data[n], s->queue.data,
                               (uint32_t)s->queue.len));
  }
  return eg_presolve_swap(s->presolve);
}

static egraph_status sweep_all(sweep *s, bool *changed) {
  const eg_extract_problem *problem = &s->presolve->model.problem;
  EG_TRY(eg_derivable_find(problem, &s->presolve->index, NULL, 0, &s->derived,
                           &s->waiting, &s->queue));
  for (size_t i = 0; i < problem->roots.len; i++)
    if (!s->derived.data[problem->roots.data[i]]) s->presolve->closed = true;
  if (s->presolve->closed) return EGRAPH_OK;
  if (eg_presolve_late_now(s->presolve)) return EGRAPH_OK;
  EG_TRY(reach_all(s));
  if (eg_presolve_late_now(s->presolve)) return EGRAPH_OK;
  EG_TRY(eg_u32s_resize(&s->number, problem->class_count));
  uint32_t classes = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (s->reached.data[class]) s->number.data[class] = classes++;
  bool useless = classes != problem->class_count;
  for (uint32_t n = 0; !useless && n < eg_extract_node_count(problem); n++)
    useless = s->waiting.data[n] != 0;
  if (!useless) return EGRAPH_OK;
  *changed = true;
  s->presolve->has_landmarks = false;
  return rebuild(s, classes);
}

// A root is derived in any case. An edge to it matters only where it could be part of a
// cycle, that is inside a strongly connected component; elsewhere it goes.

typedef struct detaching {
  eg_presolve *presolve;
  eg_u32s component, order;
  eg_bytes drop; // [edge]
  size_t dropped;
} detaching;
EG_OWNER_DEFINE_STATIC(detaching, (eg_u32s, component, order), (eg_bytes, drop))

static egraph_status detach(detaching *d, bool *changed) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  const eg_class_index *index = &d->presolve->index;
  EG_TRY(eg_components_find(problem, index, &d->component, &d->order));
  if (eg_presolve_late_now(d->presolve)) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&d->drop, problem->children.len));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    for (uint32_t i = problem->child_begin.data[n]; i < problem->child_begin.data[n + 1];
         i++) {
      uint32_t child = problem->children.data[i], class = problem->node_class.data[n];
      d->drop.data[i] = index->is_root.data[child] &&
                        d->component.data[child] != d->component.data[class];
      d->dropped += d->drop.data[i];
    }
  return eg_presolve_drop(d->presolve, NULL, d->drop.data, d->dropped, changed);
}

EG_PASS_DEFINE(reach, sweep, sweep_all)
EG_PASS_DEFINE(detach, detaching, detach)
