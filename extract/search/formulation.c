// Finds cuts. A class is founded at threshold t when it is derivable through nodes with
// x > t. The other classes are a set S that only nodes with x <= t leave. Therefore
// every class of S with a larger sum violates the loop formula of S. Reducing S to the
// classes that such a class reaches through nodes in use keeps the violation and makes
// the row shorter.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/formulation.h"

#include "base/owner.h"
#include "extract/class_graph.h"

static const double THRESHOLDS[] = {1e-6, 0.1, 0.3, 0.5}, VIOLATION = 1e-3, IN_USE = 1e-6;

egraph_status eg_formulation_init(eg_formulation *model, egraph_allocator alloc) {
  eg_class_index_init(&model->index, alloc);
  eg_bytes_init(&model->pays, alloc);
  return eg_reduced_init(&model->reduced, alloc);
}

void eg_formulation_deinit(eg_formulation *model) {
  eg_reduced_deinit(&model->reduced);
  eg_bytes_deinit(&model->pays);
  eg_class_index_deinit(&model->index);
}

// ---- nodes that can be in a solution ----------------------------------------------

static egraph_status mark_class(uint32_t class, eg_bytes *done, eg_u32s *queue) {
  assert(class < done->len);
  if (done->data[class]) return EGRAPH_OK;
  done->data[class] = 1;
  return eg_u32s_push(queue, class);
}

static egraph_status find_founded(const eg_extract_problem *problem,
                                  const eg_class_index *index, const double *x,
                                  double threshold, eg_bytes *founded) {
  EG_LOCAL(eg_u32s, waiting, founded->alloc);
  EG_LOCAL(eg_u32s, queue, founded->alloc);
  return eg_derivable_find(problem, index, x, threshold, founded, &waiting, &queue);
}

static bool all_founded(const eg_extract_problem *problem, uint32_t node,
                        const uint8_t *founded) {
  EG_EACH_CHILD(problem, node, child) {
    if (!founded[child]) return false;
  }
  return true;
}

/// Flags the classes that the roots reach through nodes whose children are all derivable.
static egraph_status find_reached(const eg_extract_problem *problem,
                                  const eg_class_index *index, const uint8_t *founded,
                                  eg_bytes *reached) {
  EG_LOCAL(eg_u32s, queue, reached->alloc);
  EG_TRY(eg_bytes_resize(reached, problem->class_count));
  for (size_t i = 0; i < problem->roots.len; i++)
    EG_TRY(mark_class(problem->roots.data[i], reached, &queue));
  for (size_t done = 0; done < queue.len; done++)
    EG_EACH_MEMBER(index, queue.data[done], node) {
      if (!all_founded(problem, node, founded)) continue;
      EG_EACH_CHILD(problem, node, child) { EG_TRY(mark_class(child, reached, &queue)); }
    }
  return EGRAPH_OK;
}

static egraph_status find_paying(eg_formulation *model) {
  const eg_extract_problem *problem = &model->reduced.problem;
  EG_LOCAL(eg_u32s, queue, model->pays.alloc);
  model->pays.len = 0;
  EG_TRY(eg_bytes_resize(&model->pays, problem->class_count));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (problem->cost.data[n] < 0)
      EG_TRY(mark_class(problem->node_class.data[n], &model->pays, &queue));
  for (size_t done = 0; done < queue.len; done++)
    EG_EACH_USER(&model->index, queue.data[done], user) {
      EG_TRY(mark_class(problem->node_class.data[user], &model->pays, &queue));
    }
  return EGRAPH_OK;
}

static egraph_status copy_useful(eg_reduced *to, const eg_reduced *all,
                                 const uint8_t *founded, const uint8_t *reached) {
  const eg_extract_problem *problem = &all->problem;
  eg_reduced_clear(to, problem->class_count);
  EG_TRY(eg_u32s_append(&to->problem.roots, problem->roots.data, problem->roots.len));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (reached[problem->node_class.data[n]] && all_founded(problem, n, founded))
      EG_TRY(eg_reduced_copy_node(to, problem, n, all->part.data[n]));
  return EGRAPH_OK;
}

egraph_status eg_formulation_build(eg_formulation *model,
                                   const eg_extract_problem *original) {
  egraph_allocator alloc = model->pays.alloc;
  EG_LOCAL(eg_bytes, founded, alloc);
  EG_LOCAL(eg_bytes, reached, alloc);
  EG_OWNED(eg_reduced, all);
  EG_TRY(eg_reduced_init(&all, alloc));
  EG_TRY(eg_reduced_from(&all, original));
  EG_TRY(eg_class_index_build(&model->index, &all.problem));
  EG_TRY(find_founded(&all.problem, &model->index, NULL, 0, &founded));
  EG_TRY(find_reached(&all.problem, &model->index, founded.data, &reached));
  EG_TRY(copy_useful(&model->reduced, &all, founded.data, reached.data));
  EG_TRY(eg_class_index_build(&model->index, &model->reduced.problem));
  return find_paying(model);
}

// ---- rows ------------------------------------------------------------------------

egraph_status eg_rows_add_members(eg_lp_rows *rows, const eg_class_index *index,
                                  uint32_t class, double coefficient) {
  EG_EACH_MEMBER(index, class, member) {
    EG_TRY(eg_lp_rows_item(rows, member, coefficient));
  }
  return EGRAPH_OK;
}

egraph_status eg_rows_of_child(eg_lp_rows *rows, const eg_extract_problem *problem,
                               const eg_class_index *index, uint32_t child,
                               eg_user_groups *groups) {
  EG_TRY(eg_user_groups_find(groups, problem, index, child));
  for (size_t g = 0; g < groups->classes.len; g++) {
    for (uint32_t i = groups->begin.data[g]; i < groups->begin.data[g + 1]; i++)
      EG_TRY(eg_lp_rows_item(rows, groups->nodes.data[i], -1));
    EG_TRY(eg_rows_add_members(rows, index, child, 1));
    EG_TRY(eg_lp_rows_end(rows, 0));
  }
  return EGRAPH_OK;
}

static egraph_status add_class_rows(const eg_formulation *model, uint32_t class,
                                    eg_lp_rows *rows) {
  if (model->index.is_root.data[class]) {
    EG_TRY(eg_rows_add_members(rows, &model->index, class, 1));
    EG_TRY(eg_lp_rows_end(rows, 1));
  }
  if (eg_class_index_member_count(&model->index, class) < 2) return EGRAPH_OK;
  EG_TRY(eg_rows_add_members(rows, &model->index, class, -1));
  return eg_lp_rows_end(rows, -1);
}

static egraph_status add_reach_row(const eg_formulation *model, uint32_t class,
                                   eg_lp_rows *rows) {
  if (model->index.is_root.data[class] || !model->pays.data[class] ||
      eg_class_index_member_count(&model->index, class) == 0)
    return EGRAPH_OK;
  EG_EACH_USER(&model->index, class, user) { EG_TRY(eg_lp_rows_item(rows, user, 1)); }
  EG_TRY(eg_rows_add_members(rows, &model->index, class, -1));
  return eg_lp_rows_end(rows, 0);
}

egraph_status eg_formulation_rows(const eg_formulation *model, eg_lp_rows *rows) {
  assert(model->index.is_root.len == model->reduced.problem.class_count);
  const eg_extract_problem *problem = &model->reduced.problem;
  EG_LOCAL(eg_user_groups, groups, model->pays.alloc);
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    EG_TRY(add_class_rows(model, class, rows));
    EG_TRY(add_reach_row(model, class, rows));
    if (!model->index.is_root.data[class])
      EG_TRY(eg_rows_of_child(rows, problem, &model->index, class, &groups));
  }
  return EGRAPH_OK;
}

// ---- cuts ------------------------------------------------------------------------

static double class_value(const eg_formulation *model, const double *x, uint32_t class) {
  double sum = 0;
  EG_EACH_MEMBER(&model->index, class, member) { sum += x[member]; }
  return sum;
}

/// Flags in `set` the classes not derivable that `class` reaches through nodes in use.
static egraph_status collect_set(const eg_formulation *model, const double *x,
                                 const uint8_t *founded, uint32_t class, eg_bytes *set,
                                 eg_u32s *queue) {
  assert(!founded[class]);
  const eg_extract_problem *problem = &model->reduced.problem;
  set->len = queue->len = 0;
  EG_TRY(eg_bytes_resize(set, problem->class_count));
  EG_TRY(mark_class(class, set, queue));
  for (size_t done = 0; done < queue->len; done++)
    EG_EACH_MEMBER(&model->index, queue->data[done], node) {
      if (!(x[node] > IN_USE)) continue;
      EG_EACH_CHILD(problem, node, child) {
        if (!founded[child]) EG_TRY(mark_class(child, set, queue));
      }
    }
  return EGRAPH_OK;
}

static bool leaves_set(const eg_extract_problem *problem, uint32_t node,
                       const uint8_t *set) {
  EG_EACH_CHILD(problem, node, child) {
    if (set[child]) return false;
  }
  return true;
}

/// Adds the loop formula (no cycle) of a set for `class`. Members of `class` that leave
/// the set are on both sides of the row and cancel out.
static egraph_status add_loop_row(const eg_formulation *model, const double *x,
                                  const eg_u32s *classes, const uint8_t *set,
                                  uint32_t class, eg_lp_rows *rows) {
  assert(set[class]);
  const eg_extract_problem *problem = &model->reduced.problem;
  size_t start = rows->columns.len;
  double activity = 0;
  for (size_t i = 0; i < classes->len; i++) {
    uint32_t other = classes->data[i];
    EG_EACH_MEMBER(&model->index, other, node) {
      bool leaves = leaves_set(problem, node, set);
      if (leaves == (other == class)) continue;
      double sign = other == class ? -1 : 1;
      activity += sign * x[node];
      EG_TRY(eg_lp_rows_item(rows, node, sign));
    }
  }
  if (activity < -VIOLATION) return eg_lp_rows_end(rows, 0);
  rows->columns.len = rows->coefficients.len = start;
  return EGRAPH_OK;
}

typedef struct separation {
  const eg_formulation *model;
  const double *x;
  eg_bytes founded, covered, set;
  eg_u32s queue;
} separation;
EG_OWNER_DEFINE_STATIC(separation, (eg_bytes, founded, covered, set), (eg_u32s, queue))

static egraph_status cut_at(separation *s, double threshold, uint32_t last_row,
                            eg_lp_rows *rows) {
  const eg_extract_problem *problem = &s->model->reduced.problem;
  EG_TRY(find_founded(problem, &s->model->index, s->x, threshold, &s->founded));
  s->covered.len = 0;
  EG_TRY(eg_bytes_resize(&s->covered, problem->class_count));
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    if (eg_lp_rows_count(rows) >= last_row) return EGRAPH_OK;
    if (s->founded.data[class] || s->covered.data[class] ||
        class_value(s->model, s->x, class) < VIOLATION)
      continue;
    EG_TRY(collect_set(s->model, s->x, s->founded.data, class, &s->set, &s->queue));
    uint32_t before = eg_lp_rows_count(rows);
    EG_TRY(add_loop_row(s->model, s->x, &s->queue, s->set.data, class, rows));
    if (eg_lp_rows_count(rows) == before) continue;
    for (size_t i = 0; i < s->queue.len; i++)
      s->covered.data[s->queue.data[i]] = 1;
  }
  return EGRAPH_OK;
}

egraph_status eg_formulation_cuts(const eg_formulation *model, const double *x,
                                  uint32_t max_rows, eg_lp_rows *rows) {
  assert(max_rows != 0);
  EG_LOCAL_WITH(separation, s, model->pays.alloc, .model = model, .x = x);
  uint32_t before = eg_lp_rows_count(rows);
  for (size_t i = 0; i < sizeof THRESHOLDS / sizeof *THRESHOLDS; i++)
    if (eg_lp_rows_count(rows) == before)
      EG_TRY(cut_at(&s, THRESHOLDS[i], before + max_rows, rows));
  return EGRAPH_OK;
}
