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

static egraph_status derive(sweep *s, uint32_t node) {
  uint32_t class = s->presolve->model.problem.node_class.data[node];
  if (s->derived.data[class]) return EGRAPH_OK;
  s->derived.data[class] = 1;
  return eg_u32s_push(&s->queue, class);
}

static egraph_status derive_all(sweep *s) {
  const eg_extract_problem *problem = &s->presolve->model.problem;
  const eg_class_index *index = &s->presolve->index;
  uint32_t nodes = eg_extract_node_count(problem);
  EG_TRY(eg_u32s_resize(&s->waiting, nodes));
  EG_TRY(eg_bytes_resize(&s->derived, problem->class_count));
  for (uint32_t n = 0; n < nodes; n++) {
    s->waiting.data[n] = problem->child_begin.data[n + 1] - problem->child_begin.data[n];
    if (s->waiting.data[n] == 0) EG_TRY(derive(s, n));
  }
  for (size_t done = 0; done < s->queue.len; done++) {
    uint32_t class = s->queue.data[done];
    EG_EACH_USER(index, class, user) {
      if (--s->waiting.data[user] == 0) EG_TRY(derive(s, user));
    }
  }
  return EGRAPH_OK;
}

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

static egraph_status renumber(sweep *s, uint32_t *out_classes) {
  const eg_extract_problem *problem = &s->presolve->model.problem;
  EG_TRY(eg_u32s_resize(&s->number, problem->class_count));
  uint32_t classes = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (s->reached.data[class]) s->number.data[class] = classes++;
  *out_classes = classes;
  return EGRAPH_OK;
}

static egraph_status rebuild(sweep *s, uint32_t classes) {
  const eg_reduced *model = &s->presolve->model;
  eg_reduced *next = &s->presolve->spare;
  eg_reduced_clear(next, classes);
  next->fixed = model->fixed;
  next->offset = model->offset;
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
  EG_TRY(derive_all(s));
  for (size_t i = 0; i < problem->roots.len; i++)
    if (!s->derived.data[problem->roots.data[i]]) s->presolve->closed = true;
  if (s->presolve->closed) return EGRAPH_OK;
  if (eg_presolve_late_now(s->presolve)) return EGRAPH_OK;
  EG_TRY(reach_all(s));
  if (eg_presolve_late_now(s->presolve)) return EGRAPH_OK;
  uint32_t classes;
  EG_TRY(renumber(s, &classes));
  bool useless = classes != problem->class_count;
  for (uint32_t n = 0; !useless && n < eg_extract_node_count(problem); n++)
    useless = s->waiting.data[n] != 0;
  if (!useless) return EGRAPH_OK;
  *changed = true;
  s->presolve->has_landmarks = false;
  return rebuild(s, classes);
}

egraph_status eg_pass_reach(eg_presolve *presolve, bool *changed) {
  sweep s;
  sweep_init(&s, presolve->alloc);
  s.presolve = presolve;
  egraph_status status = sweep_all(&s, changed);
  sweep_deinit(&s);
  return status;
}

// A root is derived in any case. An edge to it matters only where it could be part of a
// cycle, that is inside a strongly connected component; elsewhere it goes.

static egraph_status detach(eg_presolve *presolve, eg_u32s *component, eg_u32s *order,
                            eg_bytes *drop, bool *changed) {
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY(eg_components_find(problem, &presolve->index, component, order));
  if (eg_presolve_late_now(presolve)) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(drop, problem->children.len));
  bool any = false;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    for (uint32_t i = problem->child_begin.data[n]; i < problem->child_begin.data[n + 1];
         i++) {
      uint32_t child = problem->children.data[i];
      uint32_t class = problem->node_class.data[n];
      if (!presolve->index.is_root.data[child] ||
          component->data[child] == component->data[class])
        continue;
      drop->data[i] = 1;
      any = true;
    }
  if (!any) return EGRAPH_OK;
  *changed = true;
  return eg_presolve_filter(presolve, NULL, drop->data);
}

egraph_status eg_pass_detach(eg_presolve *presolve, bool *changed) {
  eg_u32s component, order;
  eg_bytes drop;
  eg_u32s_init(&component, presolve->alloc);
  eg_u32s_init(&order, presolve->alloc);
  eg_bytes_init(&drop, presolve->alloc);
  egraph_status status = detach(presolve, &component, &order, &drop, changed);
  eg_bytes_deinit(&drop);
  eg_u32s_deinit(&order);
  eg_u32s_deinit(&component);
  return status;
}
