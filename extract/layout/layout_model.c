// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_model.h"

egraph_status eg_layout_model_init(eg_layout_model *model, egraph_allocator alloc) {
  *model = (eg_layout_model){.scale = 1};
  eg_bytes_init(&model->kind, alloc);
  eg_u32s_init(&model->id, alloc);
  eg_doubles_init(&model->cost, alloc);
  eg_u32s_init(&model->x_of, alloc);
  eg_u32s_init(&model->y_of, alloc);
  eg_u32s_init(&model->a_of, alloc);
  return eg_lp_rows_init(&model->rows, alloc);
}

void eg_layout_model_deinit(eg_layout_model *model) {
  eg_lp_rows_deinit(&model->rows);
  eg_u32s_deinit(&model->a_of);
  eg_u32s_deinit(&model->y_of);
  eg_u32s_deinit(&model->x_of);
  eg_doubles_deinit(&model->cost);
  eg_u32s_deinit(&model->id);
  eg_bytes_deinit(&model->kind);
}

egraph_status eg_layout_model_add_column(eg_layout_model *model, eg_layout_column kind,
                                         uint32_t id, double cost, uint32_t *out) {
  *out = (uint32_t)model->cost.len;
  EG_TRY(eg_bytes_push(&model->kind, (uint8_t)kind));
  EG_TRY(eg_u32s_push(&model->id, id));
  return eg_doubles_push(&model->cost, cost * model->scale);
}

static egraph_status fill_none(eg_u32s *row, size_t len) {
  row->len = 0;
  EG_TRY(eg_u32s_resize(row, len));
  if (len != 0) memset(row->data, 0xff, len * sizeof(uint32_t));
  return EGRAPH_OK;
}

static egraph_status clear(eg_layout_model *model) {
  const eg_layout_problem *p = model->view->problem;
  eg_lp_rows_clear(&model->rows);
  model->kind.len = model->id.len = model->cost.len = 0;
  EG_TRY(fill_none(&model->x_of, eg_layout_strategy_count(p)));
  EG_TRY(fill_none(&model->y_of, eg_layout_value_count(p)));
  return fill_none(&model->a_of, eg_layout_arc_count(p));
}

static double largest_weight(const eg_layout_model *model, int measure) {
  const eg_layout_active *active = model->active;
  double largest = 0;
  for (size_t s = 0; s < active->strategy.len; s++)
    if (active->strategy.data[s] &&
        model->view->strategy_weight[measure].data[s] > largest)
      largest = model->view->strategy_weight[measure].data[s];
  for (size_t a = 0; a < active->arc.len; a++)
    if (active->arc.data[a] && model->view->arc_weight[measure].data[a] > largest)
      largest = model->view->arc_weight[measure].data[a];
  return largest;
}

static egraph_status add_strategies(eg_layout_model *model) {
  const eg_doubles *weight = &model->view->strategy_weight[model->task->objective];
  for (uint32_t s = 0; s < model->active->strategy.len; s++)
    if (model->active->strategy.data[s])
      EG_TRY(eg_layout_model_add_column(model, EG_LAYOUT_X, s, weight->data[s],
                                        &model->x_of.data[s]));
  return EGRAPH_OK;
}

static egraph_status add_members(eg_layout_model *model, uint32_t value,
                                 double coefficient) {
  const eg_layout_view *view = model->view;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t column = model->x_of.data[view->strategies.items.data[i]];
    if (column != EG_LAYOUT_NONE)
      EG_TRY(eg_lp_rows_item(&model->rows, column, coefficient));
  }
  return EGRAPH_OK;
}

static egraph_status add_value(eg_layout_model *model, uint32_t value) {
  const eg_layout_view *view = model->view;
  uint32_t count = 0, y;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++)
    count += model->active->strategy.data[view->strategies.items.data[i]];
  if (model->active->required.data[value]) {
    EG_TRY(add_members(model, value, 1));
    EG_TRY(eg_lp_rows_end(&model->rows, 1));
  }
  if (count < 2) return EGRAPH_OK;
  EG_TRY(add_members(model, value, -1));
  if (model->active->required.data[value]) return eg_lp_rows_end(&model->rows, -1);
  EG_TRY(eg_layout_model_add_column(model, EG_LAYOUT_Y, value, 0, &y));
  model->y_of.data[value] = y;
  EG_TRY(eg_lp_rows_item(&model->rows, y, 1));
  EG_TRY(eg_lp_rows_end(&model->rows, 0));
  EG_TRY(add_members(model, value, 1));
  EG_TRY(eg_lp_rows_item(&model->rows, y, -1));
  return eg_lp_rows_end(&model->rows, 0);
}

// ---- ties --------------------------------------------------------------------------

/// The strategies of a value that produce it in the layout of this number.
static egraph_status add_layout(eg_layout_model *model, uint32_t value, uint32_t layout,
                                double coefficient, bool *any) {
  const eg_layout_view *view = model->view;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t s = view->strategies.items.data[i];
    if (model->x_of.data[s] == EG_LAYOUT_NONE || eg_layout_output(view, s) != layout)
      continue;
    *any = true;
    EG_TRY(eg_lp_rows_item(&model->rows, model->x_of.data[s], coefficient));
  }
  return EGRAPH_OK;
}

static void forget_row(eg_lp_rows *rows) {
  rows->columns.len = rows->coefficients.len = rows->begin.data[rows->begin.len - 1];
}

// hub, or t when it is NONE, has the label or the member has not.
static egraph_status add_agreement(eg_layout_model *model, uint32_t tie, uint32_t label,
                                   uint32_t hub, uint32_t t) {
  const eg_layout_problem *p = model->view->problem;
  for (uint32_t m = p->tie_begin.data[tie]; m < p->tie_begin.data[tie + 1]; m++) {
    uint32_t member = p->tie_members.data[m];
    bool any = false, ignored = false;
    if (member == hub) continue;
    EG_TRY(add_layout(model, member, label, -1, &any));
    if (!any) continue;
    if (hub == EG_LAYOUT_NONE)
      EG_TRY(eg_lp_rows_item(&model->rows, t, 1));
    else
      EG_TRY(add_layout(model, hub, label, 1, &ignored));
    EG_TRY(eg_lp_rows_end(&model->rows, 0));
  }
  return EGRAPH_OK;
}

static egraph_status add_tie(eg_layout_model *model, uint32_t tie) {
  const eg_layout_view *view = model->view;
  const eg_layout_problem *p = view->problem;
  uint32_t hub = EG_LAYOUT_NONE, labels = 0, first = eg_layout_model_columns(model);
  for (uint32_t m = p->tie_begin.data[tie]; m < p->tie_begin.data[tie + 1]; m++) {
    uint32_t member = p->tie_members.data[m];
    if (hub == EG_LAYOUT_NONE && model->active->required.data[member]) hub = member;
    for (uint32_t i = view->strategies.begin.data[member];
         i < view->strategies.begin.data[member + 1]; i++) {
      uint32_t s = view->strategies.items.data[i], label = eg_layout_output(view, s);
      if (model->active->strategy.data[s] && label >= labels) labels = label + 1;
    }
  }
  for (uint32_t label = 0; label < labels; label++) {
    uint32_t t = EG_LAYOUT_NONE;
    if (hub == EG_LAYOUT_NONE)
      EG_TRY(eg_layout_model_add_column(model, EG_LAYOUT_T, tie, 0, &t));
    EG_TRY(add_agreement(model, tie, label, hub, t));
  }
  if (hub != EG_LAYOUT_NONE || labels == 0) return EGRAPH_OK;
  for (uint32_t label = 0; label < labels; label++)
    EG_TRY(eg_lp_rows_item(&model->rows, first + label, -1));
  return eg_lp_rows_end(&model->rows, -1);
}

// ---- limits and excluded solutions -------------------------------------------------

// Left out when even everything together keeps the limit.
static egraph_status add_limit(eg_layout_model *model, int measure) {
  const eg_layout_view *view = model->view;
  double limit = model->task->limit[measure], all = 0;
  if (!isfinite(limit)) return EGRAPH_OK;
  double largest = largest_weight(model, measure);
  if (!(largest > 0)) return EGRAPH_OK;
  for (uint32_t j = 0; j < eg_layout_model_columns(model); j++) {
    uint32_t kind = model->kind.data[j], id = model->id.data[j];
    if (kind != EG_LAYOUT_X && kind != EG_LAYOUT_A) continue;
    double weight = kind == EG_LAYOUT_X ? view->strategy_weight[measure].data[id]
                                        : view->arc_weight[measure].data[id];
    if (!(weight > 0)) continue;
    all += weight;
    EG_TRY(eg_lp_rows_item(&model->rows, j, -weight / largest));
  }
  if (all > limit) return eg_lp_rows_end(&model->rows, -limit / largest);
  forget_row(&model->rows);
  return EGRAPH_OK;
}

static egraph_status add_excluded(eg_layout_model *model,
                                  const eg_layout_choice *choice) {
  double count = 0;
  for (size_t v = 0; v < choice->strategy.len; v++) {
    uint32_t s = choice->strategy.data[v];
    if (s == EG_LAYOUT_NONE) continue;
    if (model->x_of.data[s] == EG_LAYOUT_NONE) {
      forget_row(&model->rows);
      return EGRAPH_OK;
    }
    count++;
    EG_TRY(eg_lp_rows_item(&model->rows, model->x_of.data[s], -1));
  }
  return eg_lp_rows_end(&model->rows, 1 - count);
}

egraph_status eg_layout_model_build(eg_layout_model *model,
                                    const eg_layout_active *active,
                                    const eg_layout_task *task, double typical) {
  model->view = active->view;
  model->active = active;
  model->task = task;
  EG_TRY(clear(model));
  double largest = largest_weight(model, (int)task->objective);
  model->scale = isfinite(typical) && typical > 0 ? 1000 / typical
                 : largest > 0                    ? 100 / largest
                                                  : 1;
  EG_TRY(add_strategies(model));
  for (uint32_t v = 0; v < active->used.len; v++)
    if (active->used.data[v]) EG_TRY(add_value(model, v));
  EG_TRY(eg_layout_model_add_flows(model));
  for (uint32_t t = 0; t < eg_layout_tie_count(active->view->problem); t++)
    EG_TRY(add_tie(model, t));
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    EG_TRY(add_limit(model, m));
  for (size_t i = 0; task->excluded != NULL && i < task->excluded->len; i++)
    EG_TRY(add_excluded(model, &task->excluded->data[i]));
  return EGRAPH_OK;
}
