// A class with a single node that costs nothing is only a name for its children: users
// take the children instead. A root with a single node is paid first, once and for all,
// which makes it free.
//
//   u -> {c, x},  c = {n -> {a, b}} free    becomes    u -> {a, b, x}, and u stands for n
//
// A batch takes classes none of which is a child of another, so that one substitution
// step suffices. Rows of users may grow; past a small limit the class is left alone.
// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/presolve.h"

#include "base/owner.h"

enum { MAX_GROWTH = 16 };

typedef struct batch {
  eg_presolve *presolve;
  eg_bytes chosen, blocked; // [class]
  bool any;
  eg_u32s row;
} batch;
EG_OWNER_DEFINE_STATIC(batch, (eg_bytes, chosen, blocked), (eg_u32s, row))

// Moves cost and part of the only node of a root into the fixed part.
static egraph_status pay_roots(eg_presolve *presolve, bool *changed) {
  eg_reduced *model = &presolve->model;
  for (size_t i = 0; i < model->problem.roots.len; i++) {
    uint32_t class = model->problem.roots.data[i];
    if (eg_class_index_member_count(&presolve->index, class) != 1) continue;
    uint32_t node =
        presolve->index.members.data[presolve->index.member_begin.data[class]];
    if (model->part.data[node] == EG_EXTRACT_NONE) continue;
    EG_TRY(eg_parts_join(presolve->parts, model->fixed, model->part.data[node],
                         &model->fixed));
    model->part.data[node] = EG_EXTRACT_NONE;
    model->offset += model->problem.cost.data[node];
    model->problem.cost.data[node] = 0;
    *changed = true;
  }
  return EGRAPH_OK;
}

static uint32_t only_node(const batch *b, uint32_t class) {
  return b->presolve->index.members.data[b->presolve->index.member_begin.data[class]];
}

static bool is_small(const batch *b, uint32_t class, uint32_t children) {
  uint32_t users = eg_class_index_user_count(&b->presolve->index, class);
  return children < 2 || users < 2 ||
         (uint64_t)(users - 1) * (children - 1) <= MAX_GROWTH;
}

static void choose(batch *b, uint32_t class) {
  const eg_extract_problem *problem = &b->presolve->model.problem;
  if (eg_class_index_member_count(&b->presolve->index, class) != 1) return;
  uint32_t node = only_node(b, class);
  if (problem->cost.data[node] > 0 || b->blocked.data[class]) return;
  uint32_t first = problem->child_begin.data[node];
  uint32_t last = problem->child_begin.data[node + 1];
  if (!is_small(b, class, last - first)) return;
  for (uint32_t i = first; i < last; i++)
    if (b->chosen.data[problem->children.data[i]]) return;
  for (uint32_t i = first; i < last; i++)
    b->blocked.data[problem->children.data[i]] = 1;
  b->chosen.data[class] = 1;
  b->any = true;
}

// Appends the child, or what it collapses to.
static egraph_status take_child(batch *b, uint32_t child) {
  const eg_extract_problem *problem = &b->presolve->model.problem;
  if (!b->chosen.data[child]) return eg_u32s_push(&b->row, child);
  uint32_t node = only_node(b, child);
  uint32_t first = problem->child_begin.data[node];
  return eg_u32s_append(&b->row, problem->children.data + first,
                        problem->child_begin.data[node + 1] - first);
}

static egraph_status substitute_node(batch *b, uint32_t node) {
  const eg_reduced *model = &b->presolve->model;
  uint32_t part = model->part.data[node];
  b->row.len = 0;
  EG_EACH_CHILD(&model->problem, node, child) {
    EG_TRY(take_child(b, child));
    if (b->chosen.data[child] && !b->presolve->index.is_root.data[child])
      EG_TRY(eg_parts_join(b->presolve->parts, part,
                           model->part.data[only_node(b, child)], &part));
  }
  return eg_reduced_add_node(&b->presolve->spare, model->problem.node_class.data[node],
                             model->problem.cost.data[node], part, b->row.data,
                             (uint32_t)b->row.len);
}

// A collapsed root leaves its children as roots.
static egraph_status substitute_roots(batch *b) {
  const eg_extract_problem *problem = &b->presolve->model.problem;
  b->row.len = 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    if (!b->chosen.data[problem->roots.data[i]])
      EG_TRY(eg_u32s_push(&b->row, problem->roots.data[i]));
  size_t kept = b->row.len;
  for (size_t i = 0; i < problem->roots.len; i++)
    if (b->chosen.data[problem->roots.data[i]])
      EG_TRY(take_child(b, problem->roots.data[i]));
  uint8_t *is_root = b->presolve->index.is_root.data; // rebuilt by the swap
  for (size_t i = 0; i < b->row.len; i++) {
    if (i >= kept && is_root[b->row.data[i]]) continue;
    is_root[b->row.data[i]] = 1;
    EG_TRY(eg_extract_problem_add_root(&b->presolve->spare.problem, b->row.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status substitute(batch *b) {
  const eg_reduced *model = &b->presolve->model;
  eg_reduced *next = &b->presolve->spare;
  eg_reduced_start(next, model, model->problem.class_count);
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++)
    if (!b->chosen.data[model->problem.node_class.data[n]]) EG_TRY(substitute_node(b, n));
  EG_TRY(substitute_roots(b));
  return eg_presolve_swap(b->presolve);
}

static egraph_status collapse(batch *b, bool *changed) {
  uint32_t classes = b->presolve->model.problem.class_count;
  EG_TRY(pay_roots(b->presolve, changed));
  EG_TRY(eg_bytes_resize(&b->chosen, classes));
  EG_TRY(eg_bytes_resize(&b->blocked, classes));
  for (uint32_t class = 0; class < classes; class ++)
    choose(b, class);
  if (!b->any) return EGRAPH_OK;
  *changed = true;
  return substitute(b);
}

EG_PASS_DEFINE(collapse, batch, collapse)
