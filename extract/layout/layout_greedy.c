// Greedy solutions. Places settle in the order of their tree cost (Knuth), which ranks
// the values. Then values are visited from the roots down, high rank first: each needed
// value takes the strategy that costs least together with the arcs to the layouts needed
// so far. The strategy uses only inputs of lower rank, so the choice is acyclic, and it
// respects the layouts that ties have taken.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "extract/containers.h"
#include "extract/layout/layout_search.h"

typedef struct greedy {
  eg_layout_search *search;
  const eg_layout_active *active;
  const double *favour;
  const double *price;      // [memory rows], in the objective
  eg_doubles cost;          // [place] tree cost
  eg_doubles sum;           // [strategy]
  eg_u32s waiting;          // [strategy]
  eg_u32s rank, by_rank;    // [value], 1 + rank
  eg_bytes settled, needed; // [place]
  eg_bytes value_needed;    // [value]
  eg_u32s label;            // [tie]
  eg_doubles far;           // [place of a value]
  eg_cost_heap heap;
} greedy;
EG_OWNER_DEFINE_STATIC(greedy, (eg_doubles, cost, sum, far),
                       (eg_u32s, waiting, rank, by_rank, label),
                       (eg_bytes, settled, needed, value_needed), (eg_cost_heap, heap))

/// Returns the weight of a strategy or arc: the objective, plus memory at its prices.
static double priced_weight(const greedy *g, const eg_doubles *weight, uint32_t at) {
  double cost = weight[g->search->task->objective].data[at];
  for (uint32_t r = 0; r < g->search->view->problem->memory_rows; r++)
    cost += g->price[r] * weight[EG_LAYOUT_ROW + r].data[at];
  return cost;
}

static double strategy_cost(const greedy *g, uint32_t s) {
  double cost = priced_weight(g, g->search->view->strategy_weight, s);
  return g->favour == NULL ? cost : cost * (1.001 - g->favour[s]);
}

static double arc_cost(const greedy *g, uint32_t a) {
  return priced_weight(g, g->search->view->arc_weight, a);
}

static egraph_status offer_place(greedy *g, uint32_t place, double cost) {
  if (g->settled.data[place] || cost >= g->cost.data[place]) return EGRAPH_OK;
  g->cost.data[place] = cost;
  return eg_cost_heap_add(&g->heap, cost, place);
}

static egraph_status settle_place(greedy *g, uint32_t place) {
  assert(!g->settled.data[place]);
  const eg_layout_view *view = g->search->view;
  const eg_layout_problem *p = view->problem;
  uint32_t value = view->place_value.data[place];
  g->settled.data[place] = 1;
  if (g->rank.data[value] == 0) {
    EG_TRY(eg_u32s_push(&g->by_rank, value));
    g->rank.data[value] = (uint32_t)g->by_rank.len;
  }
  EG_EACH_ITEM(a, view->out, place) {
    if (g->active->arc.data[a])
      EG_TRY(offer_place(g, p->arc_to.data[a], g->cost.data[place] + arc_cost(g, a)));
  }
  EG_EACH_ITEM(s, view->users, place) {
    g->sum.data[s] += g->cost.data[place];
    if (--g->waiting.data[s] == 0 && g->active->strategy.data[s])
      EG_TRY(offer_place(g, p->output.data[s], g->sum.data[s]));
  }
  return EGRAPH_OK;
}

static egraph_status settle_all(greedy *g) {
  const eg_layout_problem *p = g->search->view->problem;
  for (size_t place = 0; place < g->cost.len; place++)
    g->cost.data[place] = INFINITY;
  for (uint32_t s = 0; s < g->sum.len; s++) {
    g->sum.data[s] = strategy_cost(g, s);
    g->waiting.data[s] = p->need_begin.data[s + 1] - p->need_begin.data[s];
    if (g->waiting.data[s] == 0 && g->active->strategy.data[s])
      EG_TRY(offer_place(g, p->output.data[s], g->sum.data[s]));
  }
  while (g->heap.len != 0) {
    eg_cost_entry entry = eg_cost_heap_take(&g->heap);
    if (!g->settled.data[entry.item]) EG_TRY(settle_place(g, entry.item));
  }
  return EGRAPH_OK;
}

/// Fills far[place]: the least cost of converting a value to layout `to`.
static void spread_back(greedy *g, uint32_t value, uint32_t to) {
  const eg_layout_view *view = g->search->view;
  const eg_layout_problem *p = view->problem;
  uint32_t base = p->place_begin.data[value];
  for (uint32_t i = 0; i < eg_layout_layout_count(p, value); i++)
    g->far.data[i] = base + i == to ? 0 : INFINITY;
  for (bool moved = true; moved;) {
    moved = false;
    EG_EACH_ITEM(a, view->value_arcs, value) {
      double *from = &g->far.data[p->arc_from.data[a] - base];
      double way = g->far.data[p->arc_to.data[a] - base] + arc_cost(g, a);
      if (!g->active->arc.data[a] || !(way < *from)) continue;
      *from = way;
      moved = true;
    }
  }
}

static bool may_take(const greedy *g, uint32_t value, uint32_t s) {
  const eg_layout_view *view = g->search->view;
  const eg_layout_problem *p = view->problem;
  if (!g->active->strategy.data[s]) return false;
  for (uint32_t i = p->need_begin.data[s]; i < p->need_begin.data[s + 1]; i++) {
    uint32_t rank = g->rank.data[view->place_value.data[p->needs.data[i]]];
    if (rank == 0 || rank >= g->rank.data[value]) return false;
  }
  EG_EACH_ITEM(tie, view->ties, value) {
    uint32_t taken = g->label.data[tie];
    if (taken != EG_LAYOUT_NONE && taken != eg_layout_output(view, s)) return false;
  }
  return true;
}

/// Takes the cheapest strategy of a value that may_take allows; false when may_take
/// allows no strategy of finite cost.
static bool take_strategy(greedy *g, uint32_t value) {
  assert(g->rank.data[value] != 0);
  const eg_layout_view *view = g->search->view;
  const eg_layout_problem *p = view->problem;
  uint32_t best = EG_LAYOUT_NONE, first = p->place_begin.data[value];
  double *sum = g->sum.data;
  EG_EACH_ITEM(s, view->strategies, value) {
    sum[s] = strategy_cost(g, s);
    for (uint32_t i = p->need_begin.data[s]; i < p->need_begin.data[s + 1]; i++)
      if (!g->needed.data[p->needs.data[i]]) sum[s] += g->cost.data[p->needs.data[i]];
  }
  for (uint32_t place = first; place < p->place_begin.data[value + 1]; place++) {
    if (!g->needed.data[place]) continue;
    spread_back(g, value, place);
    EG_EACH_ITEM(s, view->strategies, value)
      sum[s] += g->far.data[p->output.data[s] - first];
  }
  EG_EACH_ITEM(s, view->strategies, value) {
    if (may_take(g, value, s) && isfinite(sum[s]) &&
        (best == EG_LAYOUT_NONE || sum[s] < sum[best]))
      best = s;
  }
  if (best == EG_LAYOUT_NONE) return false;
  g->search->trial.strategy.data[value] = best;
  for (uint32_t i = p->need_begin.data[best]; i < p->need_begin.data[best + 1]; i++) {
    g->needed.data[p->needs.data[i]] = 1;
    g->value_needed.data[view->place_value.data[p->needs.data[i]]] = 1;
  }
  EG_EACH_ITEM(tie, view->ties, value)
    g->label.data[tie] = eg_layout_output(view, best);
  return true;
}

/// Marks the cheapest layout of each root as needed.
static void need_roots(greedy *g) {
  const eg_layout_problem *p = g->search->view->problem;
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t best = EG_LAYOUT_NONE;
    for (uint32_t i = p->root_begin.data[r]; i < p->root_begin.data[r + 1]; i++) {
      uint32_t place = p->root_places.data[i];
      if (best == EG_LAYOUT_NONE || g->cost.data[place] < g->cost.data[best])
        best = place;
    }
    if (best != EG_LAYOUT_NONE) g->needed.data[best] = 1;
    g->value_needed.data[p->root_value.data[r]] = 1;
  }
}

static egraph_status walk_greedily(greedy *g, bool *out_ok) {
  const eg_layout_problem *p = g->search->view->problem;
  uint32_t places = eg_layout_place_count(p), values = eg_layout_value_count(p);
  EG_TRY(eg_doubles_resize(&g->cost, places));
  EG_TRY(eg_doubles_resize(&g->far, places));
  EG_TRY(eg_bytes_resize(&g->settled, places));
  EG_TRY(eg_bytes_resize(&g->needed, places));
  EG_TRY(eg_doubles_resize(&g->sum, eg_layout_strategy_count(p)));
  EG_TRY(eg_u32s_resize(&g->waiting, eg_layout_strategy_count(p)));
  EG_TRY(eg_u32s_resize(&g->rank, values));
  EG_TRY(eg_bytes_resize(&g->value_needed, values));
  EG_TRY(eg_fill_none(&g->label, eg_layout_tie_count(p)));
  EG_TRY(settle_all(g));
  need_roots(g);
  EG_TRY(eg_layout_choice_clear(&g->search->trial, g->search->view));
  *out_ok = true;
  for (size_t i = g->by_rank.len; i-- > 0 && *out_ok;)
    if (g->value_needed.data[g->by_rank.data[i]])
      *out_ok = take_strategy(g, g->by_rank.data[i]);
  return *out_ok ? eg_layout_search_offer(g->search, out_ok) : EGRAPH_OK;
}

/// Finds memory prices at which the limited rows cost about as much as the objective;
/// false when no memory row in use is limited.
static bool find_usual_prices(const eg_layout_search *search, double *price) {
  const eg_layout_view *view = search->view;
  bool any = false;
  for (uint32_t r = 0; r < view->problem->memory_rows; r++) {
    double value = 0, memory = 0;
    price[r] = 0;
    if (!isfinite(search->task->limit[EG_LAYOUT_ROW + r])) continue;
    for (size_t s = 0; s < view->op_of.len; s++) {
      value += view->strategy_weight[search->task->objective].data[s];
      memory += view->strategy_weight[EG_LAYOUT_ROW + r].data[s];
    }
    price[r] = memory > 0 ? value / memory : 0;
    any = any || price[r] > 0;
  }
  return any;
}

egraph_status eg_layout_greedy(eg_layout_search *search, const eg_layout_active *active,
                               const double *favour) {
  static const double FACTORS[] = {0, 0.1, 1, 10, 1000};
  double usual[EG_LAYOUT_MEMORY_ROWS] = {0}, price[EG_LAYOUT_MEMORY_ROWS] = {0};
  bool ok = false, is_limited = find_usual_prices(search, usual);
  for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS && !ok; i++) {
    if (i != 0 && !is_limited) break;
    for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
      price[r] = usual[r] * FACTORS[i];
    EG_LOCAL_WITH(greedy, g, search->alloc, .search = search, .active = active,
                  .favour = favour, .price = price);
    EG_TRY(walk_greedily(&g, &ok));
  }
  return EGRAPH_OK;
}
