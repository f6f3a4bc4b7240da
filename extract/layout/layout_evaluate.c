// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_evaluate.h"

#include <math.h>

#include "base/groups.h"

// ---- index --------------------------------------------------------------------------

egraph_status eg_layout_rows_fill(eg_layout_rows *rows, size_t row_count,
                                  const eg_u32s *key) {
  return eg_group_items(key, row_count, &rows->begin, &rows->items);
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
  EG_TRY(eg_layout_rows_fill(&view->out, places, &p->arc_from));
  EG_TRY(eg_layout_rows_fill(&view->in, places, &p->arc_to));
  return eg_layout_rows_fill(&view->value_arcs, values, &view->arc_value);
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
                             &view->value_of);
}

/// Adds the owner of every item i to row key[i]; the owner is the row of `begin` that
/// contains item i.
static egraph_status invert_rows(eg_layout_rows *rows, size_t row_count,
                                 const eg_u32s *begin, const eg_u32s *key) {
  EG_LOCAL(eg_u32s, owner, rows->begin.alloc);
  EG_TRY(eg_u32s_resize(&owner, key->len));
  EG_TRY(eg_layout_rows_fill(rows, row_count, key));
  for (uint32_t r = 0; r + 1 < begin->len; r++)
    for (uint32_t i = begin->data[r]; i < begin->data[r + 1]; i++)
      owner.data[i] = r;
  for (size_t i = 0; i < rows->items.len; i++)
    rows->items.data[i] = owner.data[rows->items.data[i]];
  return EGRAPH_OK;
}

/// Sets the weights of one memory row, and adds them to the weights of all memory.
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

static egraph_status weigh_measures(eg_layout_view *view) {
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

static egraph_status build_view(eg_layout_view *view) {
  const eg_layout_problem *p = view->problem;
  EG_TRY(index_places(view));
  EG_TRY(index_strategies(view));
  EG_TRY(invert_rows(&view->users, eg_layout_place_count(p), &p->need_begin, &p->needs));
  EG_TRY(
      invert_rows(&view->ties, eg_layout_value_count(p), &p->tie_begin, &p->tie_members));
  return weigh_measures(view);
}

#define VIEW                                                                             \
  (eg_u32s, place_value, arc_value, op_of, value_of),                                    \
      (eg_layout_rows, strategies, out, in, value_arcs, users, ties)

egraph_status eg_layout_view_init(eg_layout_view *view, egraph_allocator alloc,
                                  const eg_layout_problem *problem) {
  *view = (eg_layout_view){.problem = problem};
  EG_INIT_MEMBERS(view, alloc, VIEW)
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++) {
    eg_doubles_init(&view->strategy_weight[m], alloc);
    eg_doubles_init(&view->arc_weight[m], alloc);
  }
  EG_RETURN_FILLED(build_view(view), eg_layout_view, view);
}

void eg_layout_view_deinit(eg_layout_view *view) {
  EG_DEINIT_MEMBERS(view, VIEW)
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++) {
    eg_doubles_deinit(&view->arc_weight[m]);
    eg_doubles_deinit(&view->strategy_weight[m]);
  }
}

// ---- solutions ----------------------------------------------------------------------
//
// A walk from the roots collects the needed values. Each of them has a Steiner
// arborescence over its arcs, from the layout that it is produced in to the needed
// layouts. With few terminals it is solved exactly by dynamic programming over sets of
// terminals (Dreyfus, Wagner 1971); with many, the nearest terminal joins next.

enum { EXACT_TERMINALS = 6 };
#define ROOT_BIT (UINT32_C(1) << 31)
// An entry of `back` tells how a cheapest tree goes on: 0 (not reached), END (a needed
// layout), SPLIT | set of needed layouts, or 2 + arc.
#define END UINT32_C(1)
#define SPLIT (UINT32_C(1) << 31)

void eg_layout_choice_init(eg_layout_choice *choice, egraph_allocator alloc) {
  eg_layout_choice_init_members(choice, alloc);
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    choice->sum[m] = INFINITY;
}

egraph_status eg_layout_choice_clear(eg_layout_choice *choice,
                                     const eg_layout_view *view) {
  EG_TRY(eg_fill_none(&choice->strategy, eg_layout_value_count(view->problem)));
  choice->arc_used.len = 0;
  return eg_bytes_resize(&choice->arc_used, eg_layout_arc_count(view->problem));
}

egraph_status eg_layout_choice_copy(eg_layout_choice *to, const eg_layout_choice *from) {
  assert(to != from);
  to->strategy.len = to->arc_used.len = 0;
  EG_TRY(eg_u32s_append(&to->strategy, from->strategy.data, from->strategy.len));
  EG_TRY(eg_bytes_append(&to->arc_used, from->arc_used.data, from->arc_used.len));
  memcpy(to->sum, from->sum, sizeof to->sum);
  return EGRAPH_OK;
}

egraph_status eg_layout_evaluator_init(eg_layout_evaluator *evaluator,
                                       egraph_allocator alloc,
                                       const eg_layout_view *view) {
  uint32_t values = eg_layout_value_count(view->problem);
  *evaluator = (eg_layout_evaluator){.view = view};
  eg_layout_evaluator_init_members(evaluator, alloc);
  egraph_status status = eg_bytes_resize(&evaluator->state, values);
  if (status == EGRAPH_OK) status = eg_u32s_resize(&evaluator->need_first, values);
  EG_RETURN_FILLED(status, eg_layout_evaluator, evaluator);
}

enum { WHITE, GREY, BLACK };

/// Walks depth first below one value; *ok: false at a value without strategy, or a cycle.
static egraph_status walk_inputs(eg_layout_evaluator *e, const uint32_t *strategy,
                                 uint32_t root, bool *ok) {
  const eg_layout_problem *p = e->view->problem;
  uint32_t next = root;
  for (;;) {
    if (e->state.data[next] == GREY ||
        (e->state.data[next] == WHITE && strategy[next] == EG_LAYOUT_NONE)) {
      *ok = false;
      return EGRAPH_OK;
    }
    if (e->state.data[next] == WHITE) {
      e->state.data[next] = GREY;
      uint32_t op = e->view->op_of.data[strategy[next]];
      EG_TRY(eg_u32s_push(&e->stack, next));
      EG_TRY(eg_u32s_push(&e->cursor, p->input_begin.data[op]));
    }
    for (;;) {
      if (e->stack.len == 0) return EGRAPH_OK;
      uint32_t value = e->stack.data[e->stack.len - 1];
      uint32_t at = e->cursor.data[e->stack.len - 1];
      if (at < p->input_begin.data[e->view->op_of.data[strategy[value]] + 1]) break;
      e->state.data[value] = BLACK;
      EG_TRY(eg_u32s_push(&e->order, value));
      e->stack.len--;
      e->cursor.len--;
    }
    next = p->inputs.data[e->cursor.data[e->cursor.len - 1]++];
  }
}

static egraph_status collect_values(eg_layout_evaluator *e, eg_layout_choice *choice,
                                    bool *ok) {
  const eg_u32s *roots = &e->view->problem->root_value;
  if (e->state.len != 0) memset(e->state.data, WHITE, e->state.len);
  e->stack.len = e->cursor.len = e->order.len = 0;
  for (size_t r = 0; r < roots->len && *ok; r++)
    EG_TRY(walk_inputs(e, choice->strategy.data, roots->data[r], ok));
  for (size_t v = 0; v < e->state.len; v++)
    if (e->state.data[v] == WHITE) choice->strategy.data[v] = EG_LAYOUT_NONE;
  return EGRAPH_OK;
}

static egraph_status add_need(eg_layout_evaluator *e, uint32_t value, uint32_t item) {
  assert(value < e->need_first.len);
  uint32_t next = e->need_first.data[value];
  e->need_first.data[value] = (uint32_t)e->needs.len + 1;
  return eg_layout_needs_push(&e->needs, (eg_layout_need){item, next});
}

static egraph_status list_needs(eg_layout_evaluator *e, const eg_layout_choice *choice) {
  const eg_layout_problem *p = e->view->problem;
  memset(e->need_first.data, 0, e->need_first.len * sizeof(uint32_t));
  e->needs.len = 0;
  // Adds the needs of roots first. The lists are read from the back: roots come last, and
  // layouts that operators need may serve them.
  for (uint32_t r = 0; r < p->root_value.len; r++)
    if (p->root_begin.data[r + 1] - p->root_begin.data[r] == 1)
      EG_TRY(
          add_need(e, p->root_value.data[r], p->root_places.data[p->root_begin.data[r]]));
    else if (p->root_begin.data[r] != p->root_begin.data[r + 1])
      EG_TRY(add_need(e, p->root_value.data[r], ROOT_BIT | r));
  for (size_t i = 0; i < e->order.len; i++) {
    uint32_t s = choice->strategy.data[e->order.data[i]];
    for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++)
      EG_TRY(add_need(e, e->view->place_value.data[p->needs.data[k]], p->needs.data[k]));
  }
  return EGRAPH_OK;
}

static bool serves(const eg_layout_problem *p, uint32_t place, uint32_t item) {
  if (!(item & ROOT_BIT)) return place == item;
  uint32_t root = item & ~ROOT_BIT;
  for (uint32_t k = p->root_begin.data[root]; k < p->root_begin.data[root + 1]; k++)
    if (p->root_places.data[k] == place) return true;
  return false;
}

/// Lists the distinct needed layouts of a value, except when the layout of production or
/// another needed layout serves a need.
static egraph_status list_terminals(eg_layout_evaluator *e, uint32_t value,
                                    uint32_t source) {
  const eg_layout_problem *p = e->view->problem;
  e->terminals.len = 0;
  for (uint32_t at = e->need_first.data[value], item; at != 0;
       at = e->needs.data[at - 1].next) {
    item = e->needs.data[at - 1].item;
    bool served = serves(p, source, item);
    for (size_t i = 0; i < e->terminals.len && !served; i++)
      served = e->terminals.data[i] == item || (!(e->terminals.data[i] & ROOT_BIT) &&
                                                serves(p, e->terminals.data[i], item));
    if (!served) EG_TRY(eg_u32s_push(&e->terminals, item));
  }
  return EGRAPH_OK;
}

// ---- few terminals -----------------------------------------------------------------

typedef struct steiner {
  eg_layout_evaluator *e;
  const double *weight;
  uint32_t first, places; // places of the value
  const uint32_t *arcs;
  uint32_t arc_count;
} steiner;

static void start_row(const steiner *t, uint32_t set, double *row, uint32_t *back) {
  for (uint32_t i = 0; i < t->places; i++) {
    row[i] = INFINITY;
    back[i] = 0;
    if ((set & (set - 1)) == 0) {
      uint32_t item = t->e->terminals.data[eg_bits_lowest(set)];
      if (!serves(t->e->view->problem, t->first + i, item)) continue;
      row[i] = 0;
      back[i] = END;
    }
    for (uint32_t part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
      double both = t->e->table.data[part * t->places + i] +
                    t->e->table.data[(set ^ part) * t->places + i];
      if (!(both < row[i])) continue;
      row[i] = both;
      back[i] = SPLIT | part;
    }
  }
}

static void relax_row(const steiner *t, double *row, uint32_t *back) {
  const eg_layout_problem *p = t->e->view->problem;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = 0; i < t->arc_count; i++) {
      uint32_t a = t->arcs[i];
      uint32_t from = p->arc_from.data[a] - t->first, to = p->arc_to.data[a] - t->first;
      if (!(row[to] + t->weight[a] < row[from])) continue;
      row[from] = row[to] + t->weight[a];
      back[from] = 2 + a;
      moved = true;
    }
  }
}

static void trace_arcs(const steiner *t, uint32_t source, uint8_t *arc_used) {
  assert(t->e->terminals.len <= EXACT_TERMINALS);
  uint32_t sets[EXACT_TERMINALS + 1], at[EXACT_TERMINALS + 1];
  uint32_t depth = 1;
  sets[0] = (1u << t->e->terminals.len) - 1;
  at[0] = source - t->first;
  while (depth != 0) {
    uint32_t set = sets[depth - 1], place = at[depth - 1];
    uint32_t how = t->e->back.data[set * t->places + place];
    if (how == END) {
      depth--;
    } else if (how & SPLIT) {
      sets[depth - 1] = how & ~SPLIT;
      sets[depth] = set & ~how;
      at[depth++] = place;
    } else {
      arc_used[how - 2] = 1;
      at[depth - 1] = t->e->view->problem->arc_to.data[how - 2] - t->first;
    }
  }
}

static egraph_status join_exactly(const steiner *t, uint32_t source, uint8_t *arc_used,
                                  bool *ok) {
  assert(source >= t->first && source < t->first + t->places);
  eg_layout_evaluator *e = t->e;
  uint32_t sets = 1u << e->terminals.len;
  EG_TRY(eg_doubles_resize(&e->table, (size_t)sets * t->places));
  EG_TRY(eg_u32s_resize(&e->back, (size_t)sets * t->places));
  for (uint32_t set = 1; set < sets; set++) {
    double *row = e->table.data + (size_t)set * t->places;
    uint32_t *back = e->back.data + (size_t)set * t->places;
    start_row(t, set, row, back);
    relax_row(t, row, back);
  }
  *ok = isfinite(e->table.data[(sets - 1) * t->places + (source - t->first)]);
  if (*ok) trace_arcs(t, source, arc_used);
  return EGRAPH_OK;
}

// ---- many terminals ----------------------------------------------------------------

/// Computes distances from all layouts reached so far; `back`: the arc to each layout.
static void spread_distances(const steiner *t) {
  const eg_layout_problem *p = t->e->view->problem;
  double *far = t->e->table.data;
  for (uint32_t i = 0; i < t->places; i++)
    far[i] = t->e->reached.data[i] ? 0 : INFINITY;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = 0; i < t->arc_count; i++) {
      uint32_t a = t->arcs[i];
      uint32_t from = p->arc_from.data[a] - t->first, to = p->arc_to.data[a] - t->first;
      if (!(far[from] + t->weight[a] < far[to])) continue;
      far[to] = far[from] + t->weight[a];
      t->e->back.data[to] = a;
      moved = true;
    }
  }
}

static uint32_t nearest_place(const steiner *t, size_t *out_terminal) {
  uint32_t best = t->places;
  for (size_t k = 0; k < t->e->terminals.len; k++)
    for (uint32_t i = 0; i < t->places; i++)
      if (serves(t->e->view->problem, t->first + i, t->e->terminals.data[k]) &&
          isfinite(t->e->table.data[i]) &&
          (best == t->places || t->e->table.data[i] < t->e->table.data[best])) {
        best = i;
        *out_terminal = k;
      }
  return best;
}

static egraph_status join_nearest(const steiner *t, uint32_t source, uint8_t *arc_used,
                                  bool *ok) {
  assert(source >= t->first && source < t->first + t->places);
  eg_layout_evaluator *e = t->e;
  EG_TRY(eg_doubles_resize(&e->table, t->places));
  EG_TRY(eg_u32s_resize(&e->back, t->places));
  EG_TRY(eg_bytes_resize(&e->reached, t->places));
  memset(e->reached.data, 0, t->places);
  e->reached.data[source - t->first] = 1;
  while (e->terminals.len != 0) {
    size_t terminal = 0;
    spread_distances(t);
    uint32_t place = nearest_place(t, &terminal);
    *ok = place != t->places;
    if (!*ok) return EGRAPH_OK;
    while (!e->reached.data[place]) {
      e->reached.data[place] = 1;
      arc_used[e->back.data[place]] = 1;
      place = e->view->problem->arc_from.data[e->back.data[place]] - t->first;
    }
    e->terminals.data[terminal] = e->terminals.data[--e->terminals.len];
  }
  return EGRAPH_OK;
}

static egraph_status join_terminals(eg_layout_evaluator *e, const double *arc_weight,
                                    uint32_t value, eg_layout_choice *choice, bool *ok) {
  const eg_layout_view *view = e->view;
  const eg_layout_problem *p = view->problem;
  uint32_t source = p->output.data[choice->strategy.data[value]];
  EG_TRY(list_terminals(e, value, source));
  if (e->terminals.len == 0) return EGRAPH_OK;
  uint32_t begin = view->value_arcs.begin.data[value];
  steiner t = {.e = e,
               .weight = arc_weight,
               .first = p->place_begin.data[value],
               .places = eg_layout_layout_count(p, value),
               .arcs = view->value_arcs.items.data + begin,
               .arc_count = view->value_arcs.begin.data[value + 1] - begin};
  return (e->terminals.len <= EXACT_TERMINALS ? join_exactly : join_nearest)(
      &t, source, choice->arc_used.data, ok);
}

static bool ties_hold(const eg_layout_view *view, const eg_layout_choice *choice) {
  const eg_layout_problem *p = view->problem;
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    uint32_t layout = EG_LAYOUT_NONE;
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++) {
      uint32_t s = choice->strategy.data[p->tie_members.data[i]];
      if (s == EG_LAYOUT_NONE) continue;
      uint32_t own = eg_layout_output(view, s);
      if (layout != EG_LAYOUT_NONE && own != layout) return false;
      layout = own;
    }
  }
  return true;
}

static void add_up(const eg_layout_evaluator *e, eg_layout_choice *choice) {
  const eg_layout_view *view = e->view;
  memset(choice->sum, 0, sizeof choice->sum);
  for (int m = 0; m < eg_layout_measure_count(view); m++) {
    double sum = 0;
    for (size_t v = 0; v < choice->strategy.len; v++)
      if (choice->strategy.data[v] != EG_LAYOUT_NONE)
        sum += view->strategy_weight[m].data[choice->strategy.data[v]];
    for (size_t a = 0; a < choice->arc_used.len; a++)
      if (choice->arc_used.data[a]) sum += view->arc_weight[m].data[a];
    choice->sum[m] = sum;
  }
}

egraph_status eg_layout_evaluate(eg_layout_evaluator *evaluator, const double *arc_weight,
                                 eg_layout_choice *choice, bool *out_valid) {
  assert(choice->strategy.len == eg_layout_value_count(evaluator->view->problem));
  eg_layout_evaluator *e = evaluator;
  *out_valid = true;
  if (choice->arc_used.len != 0) memset(choice->arc_used.data, 0, choice->arc_used.len);
  EG_TRY(collect_values(e, choice, out_valid));
  if (!*out_valid || !ties_hold(e->view, choice)) {
    *out_valid = false;
    return EGRAPH_OK;
  }
  if (e->order.len != 0) EG_TRY(list_needs(e, choice));
  for (size_t i = 0; i < e->order.len && *out_valid; i++)
    EG_TRY(join_terminals(e, arc_weight, e->order.data[i], choice, out_valid));
  add_up(e, choice);
  return EGRAPH_OK;
}
