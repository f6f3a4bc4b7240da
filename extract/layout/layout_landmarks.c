// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_landmarks.h"

#include "extract/dual_ascent.h"
#include "extract/presolve/landmarks.h"

typedef struct finder {
  eg_layout_landmarks *out;
  const eg_layout_active *active;
  const eg_layout_task *task;
  double deadline;
  uint64_t max_work;
  eg_extract_problem problem; // a class per value
  eg_u32s op;                 // [node]
  eg_u32s inputs;             // distinct ones of an operator
  eg_doubles price;           // [node]
  eg_class_index index;
  eg_landmarks landmarks;
  eg_cuts cuts;
} finder;

/// Of the cheapest strategy that is left; INFINITY: none is.
static double cost_of(const finder *f, uint32_t op) {
  const eg_layout_view *view = f->active->view;
  const eg_doubles *weight = &view->strategy_weight[f->task->objective];
  double least = INFINITY;
  for (uint32_t s = view->problem->strategy_begin.data[op];
       s < view->problem->strategy_begin.data[op + 1]; s++)
    if (f->active->strategy.data[s]) least = fmin(least, weight->data[s]);
  return least;
}

/// Nodes of the plain problem name a child once.
static egraph_status list_inputs(finder *f, uint32_t op) {
  const eg_layout_problem *p = f->active->view->problem;
  f->inputs.len = 0;
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++) {
    bool is_new = true;
    for (size_t k = 0; k < f->inputs.len && is_new; k++)
      is_new = f->inputs.data[k] != p->inputs.data[i];
    if (is_new) EG_TRY(eg_u32s_push(&f->inputs, p->inputs.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status add_nodes(finder *f) {
  const eg_layout_problem *p = f->active->view->problem;
  f->problem.class_count = eg_layout_value_count(p);
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++) {
    uint32_t value = p->operator_value.data[op], ignored;
    double cost = f->active->used.data[value] ? cost_of(f, op) : INFINITY;
    if (!(cost < INFINITY)) continue;
    EG_TRY(list_inputs(f, op));
    EG_TRY(eg_extract_problem_add_node(&f->problem, value, cost, f->inputs.data,
                                       (uint32_t)f->inputs.len, &ignored));
    EG_TRY(eg_u32s_push(&f->op, op));
    EG_TRY(eg_doubles_push(&f->price, cost));
  }
  return EGRAPH_OK;
}

/// What is required needs; all of that is a root from then on.
static egraph_status find_values(finder *f) {
  const eg_patience patience = {.deadline = f->deadline};
  eg_u32s *values = &f->out->values;
  bool done;
  EG_TRY(eg_class_index_build(&f->index, &f->problem));
  EG_TRY(eg_landmarks_find(&f->landmarks, &f->problem, &f->index, patience, &done));
  for (uint32_t v = 0; done && v < f->active->required.len; v++)
    if (f->active->required.data[v]) EG_TRY(eg_landmarks_list(&f->landmarks, v, values));
  for (size_t i = 0; i < values->len; i++)
    EG_TRY(eg_extract_problem_add_root(&f->problem, values->data[i]));
  return EGRAPH_OK;
}

/// Adds a cut, unless it has too many values, or one: then that is required.
static egraph_status keep_cut(finder *f, const uint32_t *nodes, uint32_t count) {
  eg_layout_landmarks *out = f->out;
  uint32_t values = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_new = true;
    for (uint32_t k = 0; k < i; k++)
      is_new = is_new && f->problem.node_class.data[nodes[k]] !=
                             f->problem.node_class.data[nodes[i]];
    values += is_new;
    if (values > EG_LAYOUT_CUT_VALUES) return EGRAPH_OK;
  }
  if (values < 2) return EGRAPH_OK;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_u32s_push(&out->cut_ops, f->op.data[nodes[i]]));
  return eg_u32s_push(&out->cut_begin, (uint32_t)out->cut_ops.len);
}

static egraph_status find_cuts(finder *f) {
  const eg_ascent_limits limits = {.deadline = f->deadline, .max_work = f->max_work};
  double ignored;
  EG_TRY(eg_class_index_build(&f->index, &f->problem));
  EG_TRY(eg_dual_ascent_run(&f->problem, &f->index, &f->out->values, limits,
                            f->price.data, &ignored, &f->cuts));
  for (uint32_t c = 0; c < eg_cuts_count(&f->cuts); c++) {
    uint32_t begin = f->cuts.begin.data[c];
    EG_TRY(keep_cut(f, f->cuts.nodes.data + begin, f->cuts.begin.data[c + 1] - begin));
  }
  return EGRAPH_OK;
}

static egraph_status find(finder *f) {
  EG_TRY(add_nodes(f));
  EG_TRY(find_values(f));
  return f->out->values.len == 0 ? EGRAPH_OK : find_cuts(f);
}

egraph_status eg_layout_landmarks_find(eg_layout_landmarks *landmarks,
                                       const eg_layout_active *active,
                                       const eg_layout_task *task, double deadline,
                                       uint64_t max_work) {
  egraph_allocator alloc = landmarks->values.alloc;
  finder f = {.out = landmarks,
              .active = active,
              .task = task,
              .deadline = deadline,
              .max_work = max_work};
  EG_TRY(eg_extract_problem_init(&f.problem, alloc));
  egraph_status status = eg_cuts_init(&f.cuts, alloc);
  eg_u32s_init(&f.op, alloc);
  eg_u32s_init(&f.inputs, alloc);
  eg_doubles_init(&f.price, alloc);
  eg_class_index_init(&f.index, alloc);
  eg_landmarks_init(&f.landmarks, alloc);
  if (status == EGRAPH_OK) status = find(&f);
  eg_landmarks_deinit(&f.landmarks);
  eg_class_index_deinit(&f.index);
  eg_doubles_deinit(&f.price);
  eg_u32s_deinit(&f.inputs);
  eg_u32s_deinit(&f.op);
  eg_cuts_deinit(&f.cuts);
  eg_extract_problem_deinit(&f.problem);
  return status;
}

egraph_status eg_layout_landmarks_init(eg_layout_landmarks *landmarks,
                                       egraph_allocator alloc) {
  eg_u32s_init(&landmarks->values, alloc);
  eg_u32s_init(&landmarks->cut_begin, alloc);
  eg_u32s_init(&landmarks->cut_ops, alloc);
  return eg_u32s_push(&landmarks->cut_begin, 0);
}

void eg_layout_landmarks_deinit(eg_layout_landmarks *landmarks) {
  eg_u32s_deinit(&landmarks->values);
  eg_u32s_deinit(&landmarks->cut_begin);
  eg_u32s_deinit(&landmarks->cut_ops);
}
