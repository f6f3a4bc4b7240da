// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_model.h"

#include <stdlib.h>

#include "base/owner.h"

#define OWNED (eg_bytes, kind), (eg_u32s, id, x_of, y_of, a_of), (eg_doubles, cost)

egraph_status eg_layout_model_init(eg_layout_model *model, egraph_allocator alloc) {
  *model = (eg_layout_model){.scale = 1};
  EG_INIT_MEMBERS(model, alloc, OWNED)
  return eg_lp_rows_init(&model->rows, alloc);
}

void eg_layout_model_deinit(eg_layout_model *model) {
  eg_lp_rows_deinit(&model->rows);
  EG_DEINIT_MEMBERS(model, OWNED)
}

static egraph_status add_column(eg_layout_model *model, eg_layout_column kind,
                                uint32_t id, double cost, uint32_t *out) {
  assert(model->kind.len == model->id.len && model->id.len == model->cost.len);
  *out = (uint32_t)model->cost.len;
  EG_TRY(eg_bytes_push(&model->kind, (uint8_t)kind));
  EG_TRY(eg_u32s_push(&model->id, id));
  return eg_doubles_push(&model->cost, cost * model->scale);
}

static egraph_status clear_model(eg_layout_model *model) {
  const eg_layout_problem *p = model->view->problem;
  eg_lp_rows_clear(&model->rows);
  model->kind.len = model->id.len = model->cost.len = 0;
  EG_TRY(eg_fill_none(&model->x_of, eg_layout_strategy_count(p)));
  EG_TRY(eg_fill_none(&model->y_of, eg_layout_value_count(p)));
  return eg_fill_none(&model->a_of, eg_layout_arc_count(p));
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
      EG_TRY(add_column(model, EG_LAYOUT_X, s, weight->data[s], &model->x_of.data[s]));
  return EGRAPH_OK;
}

static egraph_status add_members(eg_layout_model *model, uint32_t value,
                                 double coefficient) {
  const eg_layout_view *view = model->view;
  EG_EACH_ITEM(s, view->strategies, value) {
    uint32_t column = model->x_of.data[s];
    if (column != EG_LAYOUT_NONE)
      EG_TRY(eg_lp_rows_item(&model->rows, column, coefficient));
  }
  return EGRAPH_OK;
}

static egraph_status add_value_rows(eg_layout_model *model, uint32_t value) {
  const eg_layout_view *view = model->view;
  uint32_t count = 0, y;
  EG_EACH_ITEM(s, view->strategies, value)
    count += model->active->strategy.data[s];
  if (model->active->required.data[value]) {
    EG_TRY(add_members(model, value, 1));
    EG_TRY(eg_lp_rows_end(&model->rows, 1));
  }
  if (count < 2) return EGRAPH_OK;
  EG_TRY(add_members(model, value, -1));
  if (model->active->required.data[value]) return eg_lp_rows_end(&model->rows, -1);
  EG_TRY(add_column(model, EG_LAYOUT_Y, value, 0, &y));
  model->y_of.data[value] = y;
  EG_TRY(eg_lp_rows_item(&model->rows, y, 1));
  EG_TRY(eg_lp_rows_end(&model->rows, 0));
  EG_TRY(add_members(model, value, 1));
  EG_TRY(eg_lp_rows_item(&model->rows, y, -1));
  return eg_lp_rows_end(&model->rows, 0);
}

// ---- flows --------------------------------------------------------------------------
//
// Consumers of a value (layout_model.h), and the rows of flow conservation for
// each consumer.

/// One layout that a consumer of a value may need, and the column that is 1 if it does
/// (NONE: always). Owner (a value, or values + root) and turn identify a consumer.
typedef struct want {
  uint32_t value, owner, turn, place, column;
} want;

EG_VEC_DEFINE(wants, want);

typedef struct flows {
  eg_layout_model *model;
  wants wants;
  eg_bytes leads;  // [place] to a need of the current consumer
  eg_u32s queue;   // places
  eg_u32s flow_of; // [arc] column of the current consumer
} flows;
EG_OWNER_DEFINE_STATIC(flows, (wants, wants), (eg_bytes, leads),
                       (eg_u32s, queue, flow_of))

static int compare_wants(const void *a, const void *b) {
  const want *x = a, *y = b;
#define BY(field)                                                                        \
  if (x->field != y->field) return x->field < y->field ? -1 : 1
  BY(value);
  BY(owner);
  BY(turn);
  BY(place);
  BY(column);
  return 0;
}

/// Lists the layouts that a strategy needs; a layout of a value that it needs twice is
/// listed once.
static egraph_status list_strategy(flows *f, uint32_t s) {
  const eg_layout_view *view = f->model->view;
  const eg_layout_problem *p = view->problem;
  uint32_t begin = p->need_begin.data[s], end = p->need_begin.data[s + 1];
  for (uint32_t i = begin; i < end; i++) {
    want w = {.value = view->place_value.data[p->needs.data[i]],
              .owner = view->value_of.data[s],
              .place = p->needs.data[i],
              .column = f->model->x_of.data[s]};
    bool again = false;
    for (uint32_t k = begin; k < i; k++) {
      again = again || p->needs.data[k] == w.place;
      w.turn += view->place_value.data[p->needs.data[k]] == w.value;
    }
    if (!again) EG_TRY(wants_push(&f->wants, w));
  }
  return EGRAPH_OK;
}

static egraph_status list_root(flows *f, uint32_t root) {
  const eg_layout_problem *p = f->model->view->problem;
  uint32_t begin = p->root_begin.data[root], end = p->root_begin.data[root + 1];
  want w = {.value = p->root_value.data[root],
            .owner = eg_layout_value_count(p) + root,
            .column = EG_LAYOUT_NONE};
  uint32_t usable = 0;
  for (uint32_t i = begin; i < end; i++)
    usable += f->model->active->derivable.data[p->root_places.data[i]];
  for (uint32_t i = begin; i < end; i++) {
    w.place = p->root_places.data[i];
    if (!f->model->active->derivable.data[w.place]) continue;
    if (usable > 1) {
      EG_TRY(add_column(f->model, EG_LAYOUT_ROOT, root, 0, &w.column));
      EG_TRY(eg_lp_rows_item(&f->model->rows, w.column, 1));
    }
    EG_TRY(wants_push(&f->wants, w));
  }
  return usable > 1 ? eg_lp_rows_end(&f->model->rows, 1) : EGRAPH_OK;
}

static egraph_status list_wants(flows *f) {
  const eg_layout_problem *p = f->model->view->problem;
  for (uint32_t s = 0; s < f->model->x_of.len; s++)
    if (f->model->x_of.data[s] != EG_LAYOUT_NONE) EG_TRY(list_strategy(f, s));
  for (uint32_t r = 0; r < p->root_value.len; r++)
    EG_TRY(list_root(f, r));
  if (f->wants.len > 1) qsort(f->wants.data, f->wants.len, sizeof(want), compare_wants);
  return EGRAPH_OK;
}

bool eg_layout_is_paid(const eg_layout_model *model, uint32_t arc) {
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    if (eg_layout_counts(model->task, m) && model->view->arc_weight[m].data[arc] > 0)
      return true;
  return false;
}

static egraph_status mark_leading(flows *f, const want *wanted, size_t count) {
  const eg_layout_view *view = f->model->view;
  const eg_layout_problem *p = view->problem;
  for (uint32_t i = p->place_begin.data[wanted->value];
       i < p->place_begin.data[wanted->value + 1]; i++)
    f->leads.data[i] = 0;
  f->queue.len = 0;
  for (size_t i = 0; i < count; i++) {
    if (f->leads.data[wanted[i].place]) continue;
    f->leads.data[wanted[i].place] = 1;
    EG_TRY(eg_u32s_push(&f->queue, wanted[i].place));
  }
  for (size_t done = 0; done < f->queue.len; done++) {
    uint32_t place = f->queue.data[done];
    EG_EACH_ITEM(a, view->in, place) {
      uint32_t from = p->arc_from.data[a];
      if (!f->model->active->arc.data[a] || f->leads.data[from]) continue;
      f->leads.data[from] = 1;
      EG_TRY(eg_u32s_push(&f->queue, from));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_arc_column(flows *f, uint32_t arc, uint32_t *out) {
  const eg_doubles *weight = &f->model->view->arc_weight[f->model->task->objective];
  if (f->model->a_of.data[arc] == EG_LAYOUT_NONE)
    EG_TRY(add_column(f->model, EG_LAYOUT_A, arc, weight->data[arc],
                      &f->model->a_of.data[arc]));
  *out = f->model->a_of.data[arc];
  return EGRAPH_OK;
}

/// Adds a flow column of a consumer for each arc; with a single consumer, the column of a
/// paid arc serves as its flow.
static egraph_status add_flow_columns(flows *f, uint32_t value, bool single) {
  eg_layout_model *model = f->model;
  const eg_layout_view *view = model->view;
  EG_EACH_ITEM(a, view->value_arcs, value) {
    uint32_t paid, flow;
    f->flow_of.data[a] = EG_LAYOUT_NONE;
    if (!model->active->arc.data[a] || !f->leads.data[view->problem->arc_to.data[a]])
      continue;
    if (single && eg_layout_is_paid(model, a)) {
      EG_TRY(add_arc_column(f, a, &f->flow_of.data[a]));
      continue;
    }
    EG_TRY(add_column(model, EG_LAYOUT_F, a, 0, &flow));
    f->flow_of.data[a] = flow;
    if (!eg_layout_is_paid(model, a)) continue;
    EG_TRY(add_arc_column(f, a, &paid));
    EG_TRY(eg_lp_rows_item(&model->rows, paid, 1));
    EG_TRY(eg_lp_rows_item(&model->rows, flow, -1));
    EG_TRY(eg_lp_rows_end(&model->rows, 0));
  }
  return EGRAPH_OK;
}

static egraph_status add_arcs_of(flows *f, const eg_u32s *begin, const eg_u32s *items,
                                 uint32_t place, double coefficient, bool *any) {
  for (uint32_t i = begin->data[place]; i < begin->data[place + 1]; i++) {
    uint32_t column = f->flow_of.data[items->data[i]];
    if (column == EG_LAYOUT_NONE) continue;
    *any = true;
    EG_TRY(eg_lp_rows_item(&f->model->rows, column, coefficient));
  }
  return EGRAPH_OK;
}

static egraph_status add_conservation(flows *f, uint32_t place, const want *wanted,
                                      size_t count) {
  eg_layout_model *model = f->model;
  const eg_layout_view *view = model->view;
  uint32_t value = view->place_value.data[place];
  double lower = 0;
  bool asks = false, ignored = false;
  for (size_t i = 0; i < count; i++) {
    if (wanted[i].place != place) continue;
    asks = true;
    if (wanted[i].column == EG_LAYOUT_NONE)
      lower = 1;
    else
      EG_TRY(eg_lp_rows_item(&model->rows, wanted[i].column, -1));
  }
  EG_TRY(add_arcs_of(f, &view->out.begin, &view->out.items, place, -1, &asks));
  if (!asks) return EGRAPH_OK; // the row would be empty
  EG_TRY(add_arcs_of(f, &view->in.begin, &view->in.items, place, 1, &ignored));
  EG_EACH_ITEM(s, view->strategies, value) {
    if (model->x_of.data[s] != EG_LAYOUT_NONE && view->problem->output.data[s] == place)
      EG_TRY(eg_lp_rows_item(&model->rows, model->x_of.data[s], 1));
  }
  return eg_lp_rows_end(&model->rows, lower);
}

static egraph_status add_consumer(flows *f, const want *wanted, size_t count,
                                  bool single) {
  assert(count != 0);
  const eg_layout_problem *p = f->model->view->problem;
  uint32_t value = wanted->value;
  EG_TRY(mark_leading(f, wanted, count));
  EG_TRY(add_flow_columns(f, value, single));
  for (uint32_t i = p->place_begin.data[value]; i < p->place_begin.data[value + 1]; i++)
    if (f->leads.data[i]) EG_TRY(add_conservation(f, i, wanted, count));
  return EGRAPH_OK;
}

static bool is_same_consumer(const want *a, const want *b) {
  return a->value == b->value && a->owner == b->owner && a->turn == b->turn;
}

static egraph_status add_consumers(flows *f) {
  EG_TRY(list_wants(f));
  const want *all = f->wants.data;
  size_t begin = 0, value_end = 0, value_consumers = 0;
  while (begin < f->wants.len) {
    if (begin == value_end) {
      value_consumers = 1;
      for (value_end++;
           value_end < f->wants.len && all[value_end].value == all[begin].value;
           value_end++)
        value_consumers += !is_same_consumer(&all[value_end - 1], &all[value_end]);
    }
    size_t end = begin + 1;
    while (end < f->wants.len && is_same_consumer(&all[begin], &all[end]))
      end++;
    EG_TRY(add_consumer(f, all + begin, end - begin, value_consumers == 1));
    begin = end;
  }
  return EGRAPH_OK;
}

static egraph_status add_flows(eg_layout_model *model) {
  const eg_layout_problem *p = model->view->problem;
  EG_LOCAL(flows, f, model->cost.alloc);
  f.model = model;
  EG_TRY(eg_bytes_resize(&f.leads, eg_layout_place_count(p)));
  EG_TRY(eg_u32s_resize(&f.flow_of, eg_layout_arc_count(p)));
  return add_consumers(&f);
}

// ---- ties --------------------------------------------------------------------------

/// Adds to the row the strategies that produce a value in a layout; sets *any if any do.
static egraph_status add_layout(eg_layout_model *model, uint32_t value, uint32_t layout,
                                double coefficient, bool *any) {
  const eg_layout_view *view = model->view;
  EG_EACH_ITEM(s, view->strategies, value) {
    if (model->x_of.data[s] == EG_LAYOUT_NONE || eg_layout_output(view, s) != layout)
      continue;
    *any = true;
    EG_TRY(eg_lp_rows_item(&model->rows, model->x_of.data[s], coefficient));
  }
  return EGRAPH_OK;
}

static void forget_row(eg_lp_rows *rows) {
  assert(rows->begin.len != 0);
  rows->columns.len = rows->coefficients.len = rows->begin.data[rows->begin.len - 1];
}

/// Adds rows: a member of the tie has the layout only if the required member `hub` has it
/// (hub NONE: only if the tie's column t is 1).
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
    EG_EACH_ITEM(s, view->strategies, member) {
      uint32_t label = eg_layout_output(view, s);
      if (model->active->strategy.data[s] && label >= labels) labels = label + 1;
    }
  }
  for (uint32_t label = 0; label < labels; label++) {
    uint32_t t = EG_LAYOUT_NONE;
    if (hub == EG_LAYOUT_NONE) EG_TRY(add_column(model, EG_LAYOUT_T, tie, 0, &t));
    EG_TRY(add_agreement(model, tie, label, hub, t));
  }
  if (hub != EG_LAYOUT_NONE || labels == 0) return EGRAPH_OK;
  for (uint32_t label = 0; label < labels; label++)
    EG_TRY(eg_lp_rows_item(&model->rows, first + label, -1));
  return eg_lp_rows_end(&model->rows, -1);
}

// ---- limits and excluded solutions -------------------------------------------------

/// Adds the row of a limit; adds none when all strategies and arcs together keep it.
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

/// Adds a row that forbids choosing all strategies of a solution together.
static egraph_status exclude_solution(eg_layout_model *model, const eg_u32s *strategy) {
  assert(strategy->len == model->active->used.len);
  double count = 0;
  for (size_t v = 0; v < strategy->len; v++) {
    uint32_t s = strategy->data[v];
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
  assert(active->view != NULL);
  model->view = active->view;
  model->active = active;
  model->task = task;
  EG_TRY(clear_model(model));
  double largest = largest_weight(model, (int)task->objective);
  model->scale = isfinite(typical) && typical > 0 ? 1000 / typical
                 : largest > 0                    ? 100 / largest
                                                  : 1;
  EG_TRY(add_strategies(model));
  for (uint32_t v = 0; v < active->used.len; v++)
    if (active->used.data[v]) EG_TRY(add_value_rows(model, v));
  EG_TRY(add_flows(model));
  for (uint32_t t = 0; t < eg_layout_tie_count(active->view->problem); t++)
    EG_TRY(add_tie(model, t));
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    EG_TRY(add_limit(model, m));
  for (size_t i = 0; task->excluded != NULL && i < task->excluded->len; i++)
    EG_TRY(exclude_solution(model, &task->excluded->data[i].strategy));
  return EGRAPH_OK;
}
