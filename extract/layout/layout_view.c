// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_view.h"

#define EACH_ROWS(X) X(strategies) X(out) X(in) X(value_arcs) X(users) X(labels) X(tied)
#define EACH_VECTOR(X) X(place_value) X(arc_value) X(op_of) X(value_of) X(label_values)

// Counting sort of items 0 .. count - 1 by key, key < rows; items stay in order.
static egraph_status invert(eg_layout_rows *rows, size_t row_count, const uint32_t *key,
                            size_t count) {
  EG_TRY(eg_u32s_resize(&rows->begin, row_count + 2));
  EG_TRY(eg_u32s_resize(&rows->items, count));
  for (size_t i = 0; i < count; i++)
    rows->begin.data[key[i] + 2]++;
  for (size_t r = 2; r < rows->begin.len; r++)
    rows->begin.data[r] += rows->begin.data[r - 1];
  for (uint32_t i = 0; i < count; i++)
    rows->items.data[rows->begin.data[key[i] + 1]++] = i;
  rows->begin.len = row_count + 1;
  return EGRAPH_OK;
}

static egraph_status index_places(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  uint32_t values = eg_layout_value_count(p), arcs = eg_layout_arc_count(p);
  uint32_t places = eg_layout_place_count(p);
  EG_TRY(eg_u32s_resize(&view->place_value, places));
  for (uint32_t v = 0; v < values; v++)
    for (uint32_t i = p->place_begin.data[v]; i < p->place_begin.data[v + 1]; i++)
      view->place_value.data[i] = v;
  EG_TRY(eg_u32s_resize(&view->arc_value, arcs));
  for (uint32_t a = 0; a < arcs; a++)
    view->arc_value.data[a] = view->place_value.data[p->arc_from.data[a]];
  EG_TRY(invert(&view->out, places, p->arc_from.data, arcs));
  EG_TRY(invert(&view->in, places, p->arc_to.data, arcs));
  return invert(&view->value_arcs, values, view->arc_value.data, arcs);
}

static egraph_status index_strategies(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  uint32_t count = eg_layout_strategy_count(p);
  EG_TRY(eg_u32s_resize(&view->op_of, count));
  EG_TRY(eg_u32s_resize(&view->value_of, count));
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++)
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
         s++) {
      view->op_of.data[s] = op;
      view->value_of.data[s] = p->operator_value.data[op];
    }
  EG_TRY(invert(&view->strategies, eg_layout_value_count(p), view->value_of.data, count));
  return invert(&view->users, eg_layout_place_count(p), p->needs.data, p->needs.len);
}

// users holds positions in needs so far.
static egraph_status name_users(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  eg_u32s owner;
  eg_u32s_init(&owner, view->op_of.alloc);
  EG_TRY(eg_u32s_resize(&owner, p->needs.len));
  for (uint32_t s = 0; s < eg_layout_strategy_count(p); s++)
    for (uint32_t i = p->need_begin.data[s]; i < p->need_begin.data[s + 1]; i++)
      owner.data[i] = s;
  for (size_t i = 0; i < view->users.items.len; i++)
    view->users.items.data[i] = owner.data[view->users.items.data[i]];
  eg_u32s_deinit(&owner);
  return EGRAPH_OK;
}

// One entry per tie and strategy that it binds.
typedef struct bindings {
  eg_u32s tie, strategy, label;
} bindings;

static egraph_status bind(bindings *b, uint32_t tie, uint32_t strategy, uint32_t label) {
  EG_TRY(eg_u32s_push(&b->tie, tie));
  EG_TRY(eg_u32s_push(&b->strategy, strategy));
  return eg_u32s_push(&b->label, label);
}

static bool is_repeated(const eg_layout_problem *p, uint32_t tie, uint32_t at) {
  for (uint32_t i = p->tie_begin.data[tie]; i < at; i++)
    if (p->tie_members.data[i] == p->tie_members.data[at]) return true;
  return false;
}

static egraph_status bind_member(const eg_layout_view *view, bindings *b, uint32_t tie,
                                 uint32_t member) {
  const eg_layout_problem *p = view->problem;
  if (p->tie_kind.data[tie] == EG_LAYOUT_TIE_STRATEGIES) {
    uint32_t first = p->strategy_begin.data[member];
    for (uint32_t s = first; s < p->strategy_begin.data[member + 1]; s++)
      EG_TRY(bind(b, tie, s, s - first));
    return EGRAPH_OK;
  }
  for (uint32_t i = view->strategies.begin.data[member];
       i < view->strategies.begin.data[member + 1]; i++) {
    uint32_t s = view->strategies.items.data[i];
    EG_TRY(bind(b, tie, s, p->output.data[s] - p->place_begin.data[member]));
  }
  return EGRAPH_OK;
}

static egraph_status invert_bindings(eg_layout_view *view, const bindings *b) {
  const eg_layout_problem *p = view->problem;
  size_t count = b->tie.len;
  EG_TRY(invert(&view->labels, eg_layout_strategy_count(p), b->strategy.data, count));
  EG_TRY(invert(&view->tied, p->tie_kind.len, b->tie.data, count));
  EG_TRY(eg_u32s_resize(&view->label_values, count));
  for (size_t i = 0; i < count; i++) {
    uint32_t at = view->labels.items.data[i];
    view->label_values.data[i] = b->label.data[at];
    view->labels.items.data[i] = b->tie.data[at];
    view->tied.items.data[i] = b->strategy.data[view->tied.items.data[i]];
  }
  return EGRAPH_OK;
}

static egraph_status index_ties(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  bindings b;
  eg_u32s_init(&b.tie, view->op_of.alloc);
  eg_u32s_init(&b.strategy, view->op_of.alloc);
  eg_u32s_init(&b.label, view->op_of.alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t t = 0; t < p->tie_kind.len; t++)
    for (uint32_t i = p->tie_begin.data[t];
         status == EGRAPH_OK && i < p->tie_begin.data[t + 1]; i++)
      if (!is_repeated(p, t, i))
        status = bind_member(view, &b, t, p->tie_members.data[i]);
  if (status == EGRAPH_OK) status = invert_bindings(view, &b);
  eg_u32s_deinit(&b.label);
  eg_u32s_deinit(&b.strategy);
  eg_u32s_deinit(&b.tie);
  return status;
}

/// Weights in one memory row, and in all of them together.
static void weigh_row(eg_layout_view *view, uint32_t row) {
  const eg_layout_problem *p = view->problem;
  eg_doubles *own = &view->strategy_weight[EG_LAYOUT_ROW + row];
  for (uint32_t s = 0; s < own->len; s++) {
    own->data[s] = p->memory[row].data[s] * p->memory_times.data[view->value_of.data[s]];
    view->strategy_weight[EG_LAYOUT_MEMORY].data[s] += own->data[s];
  }
  own = &view->arc_weight[EG_LAYOUT_ROW + row];
  for (uint32_t a = 0; a < own->len; a++) {
    own->data[a] =
        p->arc_memory[row].data[a] * p->memory_times.data[view->arc_value.data[a]];
    view->arc_weight[EG_LAYOUT_MEMORY].data[a] += own->data[a];
  }
}

static egraph_status weigh(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  uint32_t strategies = eg_layout_strategy_count(p), arcs = eg_layout_arc_count(p);
  for (int m = 0; m < eg_layout_measure_count(view); m++) {
    EG_TRY(eg_doubles_resize(&view->strategy_weight[m], strategies));
    EG_TRY(eg_doubles_resize(&view->arc_weight[m], arcs));
  }
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    for (uint32_t first = view->strategies.begin.data[v], i = first;
         i < view->strategies.begin.data[v + 1]; i++) {
      uint32_t s = view->strategies.items.data[i];
      view->strategy_weight[EG_LAYOUT_COST].data[s] =
          p->cost.data[s] * p->cost_times.data[v];
      view->strategy_weight[EG_LAYOUT_NUMBERS].data[s] = i - first;
    }
  for (uint32_t a = 0; a < arcs; a++) {
    uint32_t v = view->arc_value.data[a];
    view->arc_weight[EG_LAYOUT_COST].data[a] =
        p->arc_cost.data[a] * p->cost_times.data[v];
    view->arc_weight[EG_LAYOUT_TRANSITIONS].data[a] = 1;
  }
  for (uint32_t row = 0; row < p->memory_rows; row++)
    weigh_row(view, row);
  return EGRAPH_OK;
}

static egraph_status build(eg_layout_view *view) {
  EG_TRY(index_places(view));
  EG_TRY(index_strategies(view));
  EG_TRY(name_users(view));
  EG_TRY(index_ties(view));
  return weigh(view);
}

egraph_status eg_layout_view_init(eg_layout_view *view, egraph_allocator alloc,
                                  const eg_layout_problem *problem) {
  *view = (eg_layout_view){.problem = problem};
#define INIT_ROWS(field)                                                                 \
  eg_u32s_init(&view->field.begin, alloc);                                               \
  eg_u32s_init(&view->field.items, alloc);
#define INIT_VECTOR(field) eg_u32s_init(&view->field, alloc);
  EACH_ROWS(INIT_ROWS)
  EACH_VECTOR(INIT_VECTOR)
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++) {
    eg_doubles_init(&view->strategy_weight[m], alloc);
    eg_doubles_init(&view->arc_weight[m], alloc);
  }
  egraph_status status = build(view);
  if (status != EGRAPH_OK) eg_layout_view_deinit(view);
  return status;
}

void eg_layout_view_deinit(eg_layout_view *view) {
#define DEINIT_ROWS(field)                                                               \
  eg_u32s_deinit(&view->field.items);                                                    \
  eg_u32s_deinit(&view->field.begin);
#define DEINIT_VECTOR(field) eg_u32s_deinit(&view->field);
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++) {
    eg_doubles_deinit(&view->arc_weight[m]);
    eg_doubles_deinit(&view->strategy_weight[m]);
  }
  EACH_VECTOR(DEINIT_VECTOR)
  EACH_ROWS(DEINIT_ROWS)
}
