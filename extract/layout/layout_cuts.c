// Operators are put together as the nodes of a plain extraction problem, whose separation
// does the work; a row over nodes becomes a row over the strategies of their operators.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_cuts.h"

#include "extract/class_graph.h"

enum { MAX_ROWS = 40 };
static const double VIOLATION = 1e-3;

static bool is_left(const eg_layout_model *model, uint32_t op) {
  const eg_layout_problem *p = model->view->problem;
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (model->x_of.data[s] != EG_LAYOUT_NONE) return true;
  return false;
}

static egraph_status add_nodes(eg_layout_cuts *cuts, const eg_layout_model *model,
                               eg_reduced *reduced) {
  const eg_layout_problem *p = model->view->problem;
  eg_u32s row;
  eg_u32s_init(&row, cuts->alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t op = 0; status == EGRAPH_OK && op < eg_layout_operator_count(p); op++) {
    uint32_t begin = p->input_begin.data[op], count = p->input_begin.data[op + 1] - begin;
    if (!is_left(model, op)) continue;
    row.len = 0;
    status = eg_u32s_append(&row, p->inputs.data + begin, count);
    if (status == EGRAPH_OK)
      status = eg_reduced_add_node(reduced, p->operator_value.data[op], 0, op, row.data,
                                   count);
    if (status == EGRAPH_OK) status = eg_u32s_push(&cuts->node_op, op);
  }
  eg_u32s_deinit(&row);
  return status;
}

static egraph_status find_cycles(eg_layout_cuts *cuts) {
  eg_u32s component, order;
  eg_u32s_init(&component, cuts->alloc);
  eg_u32s_init(&order, cuts->alloc);
  const eg_extract_problem *problem = &cuts->presolve.model.problem;
  egraph_status status =
      eg_components_find(problem, &cuts->presolve.index, &component, &order);
  if (status == EGRAPH_OK)
    for (uint32_t i = 1; i < problem->class_count; i++)
      if (component.data[order.data[i]] == component.data[order.data[i - 1]])
        cuts->is_cyclic = true;
  eg_u32s_deinit(&order);
  eg_u32s_deinit(&component);
  return status;
}

static egraph_status load(eg_layout_cuts *cuts, const eg_layout_model *model,
                          eg_reduced *reduced) {
  uint32_t values = eg_layout_value_count(model->view->problem);
  eg_reduced_clear(reduced, values);
  EG_TRY(add_nodes(cuts, model, reduced));
  for (uint32_t v = 0; v < values; v++)
    if (model->active->required.data[v])
      EG_TRY(eg_extract_problem_add_root(&reduced->problem, v));
  EG_TRY(eg_doubles_resize(&cuts->node_x, cuts->node_op.len));
  EG_TRY(eg_presolve_load(&cuts->presolve, reduced));
  for (uint32_t v = 0; v < values; v++)
    if (eg_class_index_member_count(&cuts->presolve.index, v) > 1)
      cuts->has_alternatives = true;
  return find_cycles(cuts);
}

egraph_status eg_layout_cuts_init(eg_layout_cuts *cuts, egraph_allocator alloc,
                                  const eg_layout_model *model) {
  *cuts = (eg_layout_cuts){.alloc = alloc, .rng = {1}};
  eg_reduced reduced;
  eg_parts_init(&cuts->parts, alloc, 0);
  EG_TRY(eg_presolve_init(&cuts->presolve, alloc, &cuts->parts));
  eg_u32s_init(&cuts->node_op, alloc);
  eg_doubles_init(&cuts->node_x, alloc);
  egraph_status status = eg_reduced_init(&reduced, alloc);
  if (status == EGRAPH_OK) {
    status = load(cuts, model, &reduced);
    eg_reduced_deinit(&reduced);
  }
  if (status != EGRAPH_OK) eg_layout_cuts_deinit(cuts);
  return status;
}

void eg_layout_cuts_deinit(eg_layout_cuts *cuts) {
  eg_doubles_deinit(&cuts->node_x);
  eg_u32s_deinit(&cuts->node_op);
  eg_presolve_deinit(&cuts->presolve);
  eg_parts_deinit(&cuts->parts);
}

static egraph_status translate(const eg_layout_cuts *cuts, const eg_layout_model *model,
                               const eg_lp_rows *from, eg_lp_rows *to) {
  const eg_layout_problem *p = model->view->problem;
  for (uint32_t r = 0; r < eg_lp_rows_count(from); r++) {
    for (uint32_t i = from->begin.data[r]; i < from->begin.data[r + 1]; i++) {
      uint32_t op = cuts->node_op.data[from->columns.data[i]];
      for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
           s++)
        if (model->x_of.data[s] != EG_LAYOUT_NONE)
          EG_TRY(eg_lp_rows_item(to, model->x_of.data[s], from->coefficients.data[i]));
    }
    EG_TRY(eg_lp_rows_end(to, from->lower.data[r]));
  }
  return EGRAPH_OK;
}

egraph_status eg_layout_cuts_separate(eg_layout_cuts *cuts, const eg_layout_model *model,
                                      const double *x, eg_lp_rows *rows) {
  const eg_layout_problem *p = model->view->problem;
  for (size_t n = 0; n < cuts->node_op.len; n++) {
    uint32_t op = cuts->node_op.data[n];
    cuts->node_x.data[n] = 0;
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
      if (model->x_of.data[s] != EG_LAYOUT_NONE)
        cuts->node_x.data[n] += x[model->x_of.data[s]];
  }
  eg_separate_options options = {.presolve = &cuts->presolve,
                                 .x = cuts->node_x.data,
                                 .violation = VIOLATION,
                                 .max_rows = MAX_ROWS,
                                 .rng = &cuts->rng};
  eg_lp_rows found;
  EG_TRY(eg_lp_rows_init(&found, cuts->alloc));
  egraph_status status = eg_separate_run(cuts->alloc, &options, &found);
  if (status == EGRAPH_OK) status = translate(cuts, model, &found, rows);
  eg_lp_rows_deinit(&found);
  return status;
}
