// Checks a solution from the fields of the problem alone. The checker uses nothing of the
// solver, not even its tables; therefore an error of the solver cannot hide here.
//
// The first walk collects the needed values from the roots. Sweeps find the layouts that
// the chosen arcs reach from each value's source, and every need must be reached. Values
// whose inputs are all finished are finished in turn (Kahn); remaining values are cyclic.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/owner.h"
#include "extract/layout/layout_problem.h"

typedef struct walk {
  const eg_layout_problem *problem;
  const uint32_t *strategy;
  const uint8_t *arc_used;
  eg_u32s op;       // [value] operator of its strategy
  eg_u32s needed;   // values, in order of discovery
  eg_bytes seen;    // [value]
  eg_bytes reached; // [place]
} walk;
EG_OWNER_DEFINE_STATIC(walk, (eg_u32s, op, needed), (eg_bytes, seen, reached))

/// Finds the row that contains an item: begin[row] <= item < begin[row + 1].
static uint32_t find_row(const eg_u32s *begin, uint32_t item) {
  size_t low = 0, high = begin->len - 1;
  while (low + 1 < high) {
    size_t middle = low + (high - low) / 2;
    *(begin->data[middle] <= item ? &low : &high) = middle;
  }
  return (uint32_t)low;
}

static egraph_status need_strategy(walk *w, uint32_t value) {
  const eg_layout_problem *p = w->problem;
  if (w->seen.data[value]) return EGRAPH_OK;
  uint32_t s = w->strategy[value];
  if (s == EG_LAYOUT_NONE || s >= p->output.len)
    return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: value %u is needed and not produced",
                   value);
  uint32_t op = find_row(&p->strategy_begin, s);
  if (p->operator_value.data[op] != value)
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "certificate: strategy %u does not produce value %u", s, value);
  w->seen.data[value] = 1;
  w->op.data[value] = op;
  w->reached.data[p->output.data[s]] = 1;
  return eg_u32s_push(&w->needed, value);
}

static egraph_status collect_needed_values(walk *w) {
  const eg_layout_problem *p = w->problem;
  EG_TRY(eg_u32s_resize(&w->op, p->cost_times.len));
  EG_TRY(eg_bytes_resize(&w->seen, p->cost_times.len));
  EG_TRY(eg_bytes_resize(&w->reached, p->place_forbidden.len));
  for (size_t i = 0; i < p->root_value.len; i++)
    EG_TRY(need_strategy(w, p->root_value.data[i]));
  for (size_t done = 0; done < w->needed.len; done++) {
    uint32_t op = w->op.data[w->needed.data[done]];
    for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
      EG_TRY(need_strategy(w, p->inputs.data[i]));
  }
  for (size_t v = 0; v < p->cost_times.len; v++)
    if (!w->seen.data[v] && w->strategy[v] != EG_LAYOUT_NONE)
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: value %zu is not needed", v);
  return EGRAPH_OK;
}

static void mark_reached(walk *w) {
  const eg_layout_problem *p = w->problem;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t a = 0; a < p->arc_from.len; a++) {
      uint32_t from = p->arc_from.data[a], to = p->arc_to.data[a];
      if (!w->arc_used[a] || !w->reached.data[from] || w->reached.data[to]) continue;
      w->reached.data[to] = 1;
      moved = true;
    }
  }
}

static egraph_status check_places(const walk *w) {
  const eg_layout_problem *p = w->problem;
  for (size_t i = 0; i < w->needed.len; i++) {
    uint32_t s = w->strategy[w->needed.data[i]];
    for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++)
      if (!w->reached.data[p->needs.data[k]])
        return EG_FAIL(EGRAPH_E_INTERNAL,
                       "certificate: place %u is needed and not reached",
                       p->needs.data[k]);
  }
  for (size_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r], end = p->root_begin.data[r + 1];
    bool served = begin == end;
    for (uint32_t k = begin; k < end; k++)
      served = served || w->reached.data[p->root_places.data[k]];
    if (!served)
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: root %zu is not served", r);
  }
  for (size_t place = 0; place < p->place_forbidden.len; place++)
    if (w->reached.data[place] && p->place_forbidden.data[place])
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: place %zu is forbidden", place);
  for (size_t a = 0; a < p->arc_from.len; a++)
    if (w->arc_used[a] && !w->reached.data[p->arc_from.data[a]])
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: arc %zu starts where nothing is",
                     a);
  for (size_t a = 0; a < p->arc_from.len; a++)
    if (w->arc_used[a] && p->arc_forbidden.data[a])
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: arc %zu is forbidden", a);
  return EGRAPH_OK;
}

static egraph_status check_user(const walk *w) {
  const eg_layout_problem *p = w->problem;
  for (size_t i = 0; i < w->needed.len; i++) {
    uint32_t value = w->needed.data[i], s = w->strategy[value];
    uint32_t fixed = p->source_layout.data[value];
    if (p->forbidden.data[s])
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: strategy %u is forbidden", s);
    if (fixed != EG_LAYOUT_NONE &&
        p->output.data[s] != p->place_begin.data[value] + fixed)
      return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: value %u is not in its layout",
                     value);
  }
  return EGRAPH_OK;
}

static egraph_status check_ties(const walk *w) {
  const eg_layout_problem *p = w->problem;
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    uint32_t label = EG_LAYOUT_NONE;
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++) {
      uint32_t value = p->tie_members.data[i];
      if (!w->seen.data[value]) continue;
      uint32_t own = p->output.data[w->strategy[value]] - p->place_begin.data[value];
      if (label != EG_LAYOUT_NONE && label != own)
        return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: tie %u does not hold", t);
      label = own;
    }
  }
  return EGRAPH_OK;
}

static egraph_status check_acyclic(walk *w) {
  const eg_layout_problem *p = w->problem;
  size_t left = w->needed.len;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = w->needed.len; i-- > 0;) {
      uint32_t value = w->needed.data[i], op = w->op.data[value];
      if (w->seen.data[value] == 2) continue;
      bool ready = true;
      for (uint32_t k = p->input_begin.data[op]; k < p->input_begin.data[op + 1]; k++)
        ready = ready && w->seen.data[p->inputs.data[k]] == 2;
      if (!ready) continue;
      w->seen.data[value] = 2;
      left--;
      moved = true;
    }
  }
  if (left == 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL, "certificate: %zu values need themselves", left);
}

/// A sum with compensation (Neumaier): the order of its terms does not matter.
typedef struct total {
  double sum, lost;
} total;

static void add_to_total(total *t, double term) {
  double next = t->sum + term;
  t->lost += t->sum >= term ? (t->sum - next) + term : (term - next) + t->sum;
  t->sum = next;
}

static void sum_costs(const walk *w, double *out_cost, double *out_memory) {
  const eg_layout_problem *p = w->problem;
  total cost = {0}, memory[EG_LAYOUT_MEMORY_ROWS] = {{0}};
  for (size_t i = 0; i < w->needed.len; i++) {
    uint32_t value = w->needed.data[i], s = w->strategy[value];
    add_to_total(&cost, p->cost.data[s] * p->cost_times.data[value]);
    for (uint32_t r = 0; r < p->memory_rows; r++)
      add_to_total(&memory[r], p->memory[r].data[s] * p->memory_times.data[value]);
  }
  for (uint32_t a = 0; a < p->arc_from.len; a++) {
    if (!w->arc_used[a]) continue;
    uint32_t value = find_row(&p->place_begin, p->arc_from.data[a]);
    add_to_total(&cost, p->arc_cost.data[a] * p->cost_times.data[value]);
    for (uint32_t r = 0; r < p->memory_rows; r++)
      add_to_total(&memory[r], p->arc_memory[r].data[a] * p->memory_times.data[value]);
  }
  *out_cost = cost.sum + cost.lost;
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    out_memory[r] = memory[r].sum + memory[r].lost;
}

egraph_status eg_layout_certify(egraph_allocator alloc, const eg_layout_problem *problem,
                                const uint32_t *strategy, const uint8_t *arc_used,
                                double *out_cost,
                                double out_memory[EG_LAYOUT_MEMORY_ROWS]) {
  EG_LOCAL_WITH(walk, w, alloc, .problem = problem, .strategy = strategy,
                .arc_used = arc_used);
  EG_TRY(collect_needed_values(&w));
  mark_reached(&w);
  EG_TRY(check_places(&w));
  EG_TRY(check_user(&w));
  EG_TRY(check_ties(&w));
  EG_TRY(check_acyclic(&w));
  sum_costs(&w, out_cost, out_memory);
  for (uint32_t r = 0; r < problem->memory_rows; r++) {
    double limit = problem->memory_limit[r];
    if (out_memory[r] > limit * (1 + 1e-12))
      return EG_FAIL(EGRAPH_E_INTERNAL,
                     "certificate: memory %.17g in row %u exceeds %.17g", out_memory[r],
                     r, limit);
  }
  return EGRAPH_OK;
}
