// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_view.h"

#include "base/owner.h"

EG_OWNER_DEFINE(eg_layout_rows, (eg_u32s, begin, items))

egraph_status eg_layout_rows_fill(eg_layout_rows *rows, size_t row_count,
                                  const uint32_t *key, size_t count) {
  EG_TRY(eg_u32s_resize(&rows->begin, row_count + 2));
  EG_TRY(eg_u32s_resize(&rows->items, count));
  for (size_t i = 0; i < count; i++)
    if (key[i] != EG_LAYOUT_NONE) rows->begin.data[key[i] + 2]++;
  for (size_t r = 2; r < rows->begin.len; r++)
    rows->begin.data[r] += rows->begin.data[r - 1];
  for (uint32_t i = 0; i < count; i++)
    if (key[i] != EG_LAYOUT_NONE) rows->items.data[rows->begin.data[key[i] + 1]++] = i;
  rows->begin.len = row_count + 1;
  rows->items.len = rows->begin.data[row_count];
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
  EG_TRY(eg_layout_rows_fill(&view->out, places, p->arc_from.data, arcs));
  EG_TRY(eg_layout_rows_fill(&view->in, places, p->arc_to.data, arcs));
  return eg_layout_rows_fill(&view->value_arcs, values, view->arc_value.data, arcs);
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
  return eg_layout_rows_fill(&view->strategies, eg_layout_value_count(p),
                             view->value_of.data, count);
}

/// Rows of the owners of items, by key: item i has key[i] and belongs to the row of
/// `begin` that holds it.
static egraph_status invert_rows(eg_layout_rows *rows, size_t row_count,
                                 const eg_u32s *begin, const eg_u32s *key) {
  eg_u32s owner;
  eg_u32s_init(&owner, rows->begin.alloc);
  egraph_status status = eg_u32s_resize(&owner, key->len);
  if (status == EGRAPH_OK)
    status = eg_layout_rows_fill(rows, row_count, key->data, key->len);
  for (uint32_t r = 0; status == EGRAPH_OK && r + 1 < begin->len; r++)
    for (uint32_t i = begin->data[r]; i < begin->data[r + 1]; i++)
      owner.data[i] = r;
  for (size_t i = 0; status == EGRAPH_OK && i < rows->items.len; i++)
    rows->items.data[i] = owner.data[rows->items.data[i]];
  eg_u32s_deinit(&owner);
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
  for (uint32_t s = 0; s < strategies; s++)
    view->strategy_weight[EG_LAYOUT_COST].data[s] =
        p->cost.data[s] * p->cost_times.data[view->value_of.data[s]];
  for (uint32_t a = 0; a < arcs; a++)
    view->arc_weight[EG_LAYOUT_COST].data[a] =
        p->arc_cost.data[a] * p->cost_times.data[view->arc_value.data[a]];
  for (uint32_t row = 0; row < p->memory_rows; row++)
    weigh_row(view, row);
  return EGRAPH_OK;
}

static egraph_status build(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  EG_TRY(index_places(view));
  EG_TRY(index_strategies(view));
  EG_TRY(invert_rows(&view->users, eg_layout_place_count(p), &p->need_begin, &p->needs));
  EG_TRY(
      invert_rows(&view->ties, eg_layout_value_count(p), &p->tie_begin, &p->tie_members));
  return weigh(view);
}

#define OWNED                                                                            \
  (eg_u32s, place_value, arc_value, op_of, value_of),                                    \
      (eg_layout_rows, strategies, out, in, value_arcs, users, ties)

egraph_status eg_layout_view_init(eg_layout_view *view, egraph_allocator alloc,
                                  const eg_layout_problem *problem) {
  *view = (eg_layout_view){.problem = problem};
  EG_INIT_MEMBERS(view, alloc, OWNED)
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++) {
    eg_doubles_init(&view->strategy_weight[m], alloc);
    eg_doubles_init(&view->arc_weight[m], alloc);
  }
  egraph_status status = build(view);
  if (status != EGRAPH_OK) eg_layout_view_deinit(view);
  return status;
}

void eg_layout_view_deinit(eg_layout_view *view) {
  EG_DEINIT_MEMBERS(view, OWNED)
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++) {
    eg_doubles_deinit(&view->arc_weight[m]);
    eg_doubles_deinit(&view->strategy_weight[m]);
  }
}
