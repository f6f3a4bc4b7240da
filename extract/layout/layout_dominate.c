// Domination. An arc goes when two others in a row do the same for no more in any measure
// that counts. A strategy goes when another one of its value does with no more: its needs
// are made from the needs of the first, its output is turned into the first one's output,
// and all that is paid on top. Only inputs of the first are used, so no cycle can arise,
// and what dominates is still there when the next one is judged.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_presolve.h"

enum { MAX_STRATEGIES = 600, MAX_ENTRIES = 1 << 20, MAX_PLACES = 256 };

typedef struct domination {
  eg_layout_active *active;
  const eg_layout_task *task;
  int measures[EG_LAYOUT_MEASURES], count; // that count; the objective first
  eg_sizes begin;                          // [values + 1] in far
  eg_doubles far; // [value][from][to][measure] of one cheapest path
  eg_u32s arc_at; // [from][to] of one value: 1 + arc
  size_t dropped;
} domination;

static double arc_weight(const domination *d, int k, uint32_t arc) {
  return d->active->view->arc_weight[d->measures[k]].data[arc];
}

static double strategy_weight(const domination *d, int k, uint32_t s) {
  return d->active->view->strategy_weight[d->measures[k]].data[s];
}

static bool is_covered(const domination *d, uint32_t arc, uint32_t first,
                       uint32_t second) {
  for (int k = 0; k < d->count; k++)
    if (arc_weight(d, k, first) + (second == arc ? 0 : arc_weight(d, k, second)) >
        arc_weight(d, k, arc))
      return false;
  return true;
}

// Parallel arcs: the second one goes, or the first when it is the dearer one.
static egraph_status enter_arcs(domination *d, uint32_t value, uint32_t places) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t base = p->place_begin.data[value];
  d->arc_at.len = 0;
  EG_TRY(eg_u32s_resize(&d->arc_at, (size_t)places * places));
  for (uint32_t i = view->value_arcs.begin.data[value];
       i < view->value_arcs.begin.data[value + 1]; i++) {
    uint32_t a = view->value_arcs.items.data[i];
    if (!d->active->arc.data[a]) continue;
    uint32_t *slot = d->arc_at.data + (p->arc_from.data[a] - base) * places +
                     (p->arc_to.data[a] - base);
    if (*slot == 0) {
      *slot = a + 1;
    } else if (is_covered(d, a, *slot - 1, a)) {
      d->active->arc.data[a] = 0;
      d->dropped++;
    } else if (is_covered(d, *slot - 1, a, *slot - 1)) {
      d->active->arc.data[*slot - 1] = 0;
      d->dropped++;
      *slot = a + 1;
    }
  }
  return EGRAPH_OK;
}

static egraph_status drop_arcs(domination *d, uint32_t value) {
  uint32_t places = eg_layout_layout_count(d->active->view->problem, value);
  if (places > MAX_PLACES || places < 2) return EGRAPH_OK;
  EG_TRY(enter_arcs(d, value, places));
  for (uint32_t from = 0; from < places; from++)
    for (uint32_t to = 0; to < places; to++) {
      uint32_t *slot = d->arc_at.data + from * places + to;
      for (uint32_t via = 0; via < places && *slot != 0; via++) {
        uint32_t one = d->arc_at.data[from * places + via];
        uint32_t two = d->arc_at.data[via * places + to];
        if (via == from || via == to || one == 0 || two == 0) continue;
        if (!is_covered(d, *slot - 1, one - 1, two - 1)) continue;
        d->active->arc.data[*slot - 1] = 0;
        d->dropped++;
        *slot = 0;
      }
    }
  return EGRAPH_OK;
}

static double *far_of(const domination *d, uint32_t from, uint32_t to) {
  const eg_layout_view *view = d->active->view;
  uint32_t value = view->place_value.data[from];
  uint32_t base = view->problem->place_begin.data[value];
  uint32_t places = eg_layout_layout_count(view->problem, value);
  return d->far.data + d->begin.data[value] +
         ((size_t)(from - base) * places + (to - base)) * (size_t)d->count;
}

static void measure_paths(domination *d, uint32_t value) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t base = p->place_begin.data[value], end = p->place_begin.data[value + 1];
  size_t bytes = (size_t)d->count * sizeof(double);
  for (uint32_t i = base; i < end; i++)
    for (uint32_t j = base; j < end; j++)
      for (int k = 0; k < d->count; k++)
        far_of(d, i, j)[k] = i == j ? 0 : INFINITY;
  for (uint32_t i = view->value_arcs.begin.data[value];
       i < view->value_arcs.begin.data[value + 1]; i++) {
    uint32_t a = view->value_arcs.items.data[i];
    double *entry = far_of(d, p->arc_from.data[a], p->arc_to.data[a]);
    if (!d->active->arc.data[a] || !(arc_weight(d, 0, a) < entry[0])) continue;
    for (int k = 0; k < d->count; k++)
      entry[k] = arc_weight(d, k, a);
  }
  for (uint32_t via = base; via < end; via++)
    for (uint32_t i = base; i < end; i++) {
      double first[EG_LAYOUT_MEASURES];
      memcpy(first, far_of(d, i, via), bytes);
      if (!isfinite(first[0])) continue;
      for (uint32_t j = base; j < end; j++) {
        double *entry = far_of(d, i, j), *second = far_of(d, via, j);
        if (!(first[0] + second[0] < entry[0])) continue;
        for (int k = 0; k < d->count; k++)
          entry[k] = first[k] + second[k];
      }
    }
}

// Room for the paths of every value; false when they take too much.
static egraph_status begin_paths(domination *d, bool *out_fits) {
  const eg_layout_problem *p = d->active->view->problem;
  size_t total = 0;
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++) {
    size_t places = eg_layout_layout_count(p, v);
    EG_TRY(eg_sizes_push(&d->begin, total));
    total += places * places * (size_t)d->count;
    *out_fits = total <= MAX_ENTRIES;
    if (!*out_fits) return EGRAPH_OK;
  }
  EG_TRY(eg_doubles_resize(&d->far, total));
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    measure_paths(d, v);
  return EGRAPH_OK;
}

// The cheapest way from a need of `s` to the place; NULL when there is none.
static const double *way_from(const domination *d, uint32_t s, uint32_t place) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  const double *best = NULL;
  for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++) {
    uint32_t need = p->needs.data[k];
    if (view->place_value.data[need] != view->place_value.data[place]) continue;
    const double *way = far_of(d, need, place);
    if (isfinite(way[0]) && (best == NULL || way[0] < best[0])) best = way;
  }
  return best;
}

static bool has_room(const domination *d, const double *sum, uint32_t s) {
  for (int k = 0; k < d->count; k++)
    if (sum[k] > strategy_weight(d, k, s)) return false;
  return true;
}

static bool dominates(const domination *d, uint32_t by, uint32_t s) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  double sum[EG_LAYOUT_MEASURES];
  const double *way = far_of(d, p->output.data[by], p->output.data[s]);
  for (int k = 0; k < d->count; k++)
    sum[k] = strategy_weight(d, k, by) + way[k];
  if (!has_room(d, sum, s)) return false;
  uint32_t value = view->value_of.data[s];
  bool is_tied = view->ties.begin.data[value] != view->ties.begin.data[value + 1];
  if (is_tied && p->output.data[by] != p->output.data[s]) return false;
  for (uint32_t i = p->need_begin.data[by]; i < p->need_begin.data[by + 1]; i++) {
    way = way_from(d, s, p->needs.data[i]);
    if (way == NULL) return false;
    for (int k = 0; k < d->count; k++)
      sum[k] += way[k];
    if (!has_room(d, sum, s)) return false;
  }
  return true;
}

static void drop_strategies(domination *d, uint32_t value) {
  const eg_layout_view *view = d->active->view;
  uint32_t begin = view->strategies.begin.data[value];
  uint32_t end = view->strategies.begin.data[value + 1];
  if (end - begin > MAX_STRATEGIES) return;
  const uint32_t *all = view->strategies.items.data;
  uint8_t *alive = d->active->strategy.data;
  for (uint32_t i = end; i-- > begin;)
    for (uint32_t j = begin; j < end && alive[all[i]]; j++) {
      if (j == i || !alive[all[j]] || !dominates(d, all[j], all[i])) continue;
      alive[all[i]] = 0;
      d->dropped++;
    }
}

static egraph_status dominate(domination *d) {
  const eg_layout_problem *p = d->active->view->problem;
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (d->active->used.data[v]) EG_TRY(drop_arcs(d, v));
  if (d->task->excluded != NULL && d->task->excluded->len != 0) return EGRAPH_OK;
  bool fits = true;
  EG_TRY(begin_paths(d, &fits));
  if (!fits) return EGRAPH_OK;
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (d->active->used.data[v]) drop_strategies(d, v);
  return EGRAPH_OK;
}

egraph_status eg_layout_dominate(eg_layout_active *active, const eg_layout_task *task,
                                 bool *changed) {
  domination d = {.active = active, .task = task};
  d.measures[d.count++] = (int)task->objective;
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    if (m != (int)task->objective && eg_layout_counts(task, m)) d.measures[d.count++] = m;
  eg_sizes_init(&d.begin, active->strategy.alloc);
  eg_doubles_init(&d.far, active->strategy.alloc);
  eg_u32s_init(&d.arc_at, active->strategy.alloc);
  egraph_status status = dominate(&d);
  *changed |= d.dropped != 0;
  eg_u32s_deinit(&d.arc_at);
  eg_doubles_deinit(&d.far);
  eg_sizes_deinit(&d.begin);
  return status;
}
