// The depth of the recursion is the number of values and their layouts; it is limited.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_walk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/groups.h"
#include "base/owner.h"

enum { MOST_PLACES = 1 << 14 };
enum { CLOCK_STEPS = 4096 }; // between two looks at the clock
static const double ROUNDING = 1e-12;

typedef struct sums {
  double cost, memory[EG_LAYOUT_MEMORY_ROWS];
} sums;
EG_VEC_DEFINE(sums_list, sums);

typedef struct walker {
  eg_plan_walk *walk;
  const eg_layout_problem *problem;
  eg_u32s order;                     // values, each after all values that need it
  eg_u32s operator_begin, operators; // [values + 1] of each value
  eg_u32s arc_begin, arcs;           // [places + 1] that lead to each place
  eg_u32s wanted;                    // [places] number of decided strategies that need it
  eg_u32s value_wanted;              // [values] likewise
  eg_u32s parent;                    // [places] arc into it, or NONE
  eg_u32s value_of;                  // [places]
  sums_list least;                   // [values] of its strategies
  eg_u32s todo;                      // places of the current value to be reached
  eg_layout_solution at;             // the decisions so far
  bool is_stopped;
} walker;
EG_OWNER_DEFINE_STATIC(walker,
                       (eg_u32s, order, operator_begin, operators, arc_begin, arcs,
                        wanted, value_wanted, parent, value_of, todo, at.strategy),
                       (eg_bytes, at.arc_used), (sums_list, least))

// ---- sums -----------------------------------------------------------------------------

static void add_sums(sums *to, const sums *more, double sign) {
  to->cost += sign * more->cost;
  for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
    to->memory[r] += sign * more->memory[r];
}

static sums sums_of_strategy(const walker *w, uint32_t v, uint32_t s) {
  sums out = {.cost = w->problem->cost.data[s] * w->problem->cost_times.data[v]};
  for (uint32_t r = 0; r < w->problem->memory_rows; r++)
    out.memory[r] = w->problem->memory[r].data[s] * w->problem->memory_times.data[v];
  return out;
}

static bool may_go_on(const walker *w, const sums *done, const sums *pending) {
  double cost = done->cost + pending->cost;
  if (cost > w->walk->most_cost * (1 + ROUNDING)) return false;
  for (uint32_t r = 0; r < w->problem->memory_rows; r++)
    if (done->memory[r] + pending->memory[r] >
        w->problem->memory_limit[r] * (1 + ROUNDING) + ROUNDING)
      return false;
  return true;
}

/// Counts steps of the walk; false: a limit of steps or time is reached.
static bool take_steps(walker *w, uint32_t steps) {
  bool is_time = (w->walk->steps + steps) / CLOCK_STEPS != w->walk->steps / CLOCK_STEPS;
  w->walk->steps += steps;
  if (w->walk->steps > w->walk->most_steps) w->is_stopped = true;
  if (is_time && eg_clock_seconds() > w->walk->deadline) w->is_stopped = true;
  return !w->is_stopped;
}

// ---- decisions ------------------------------------------------------------------------

static egraph_status decide_value(walker *w, uint32_t at, sums done, sums pending);

static egraph_status visit_leaf(walker *w, const sums *done) {
  if (!take_steps(w, w->walk->visit_steps)) return EGRAPH_OK;
  w->at.cost = done->cost;
  memcpy(w->at.memory, done->memory, sizeof w->at.memory);
  return w->walk->visit(w->walk->user, &w->at);
}

/// True when a place (value in a layout) is `from`, or on the path of chosen arcs to it.
static bool leads_to(const walker *w, uint32_t place, uint32_t from) {
  while (from != place && w->parent.data[from] != EG_LAYOUT_NONE)
    from = w->problem->arc_from.data[w->parent.data[from]];
  return from == place;
}

/// Tries all arcs that reach the places (layouts) in `todo`, from index `base` on, of the
/// value decided at position `at`; then decides the other values. Restores `todo`.
static egraph_status reach_places(walker *w, uint32_t at, size_t base, sums done,
                                  sums pending) {
  if (w->todo.len == base) return decide_value(w, at + 1, done, pending);
  uint32_t v = w->order.data[at],
           source = w->problem->output.data[w->at.strategy.data[v]];
  uint32_t place = eg_u32s_pop(&w->todo);
  size_t left = w->todo.len;
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = w->arc_begin.data[place];
       status == EGRAPH_OK && !w->is_stopped && i < w->arc_begin.data[place + 1]; i++) {
    uint32_t arc = w->arcs.data[i], from = w->problem->arc_from.data[arc];
    sums more = {.cost = w->problem->arc_cost.data[arc] * w->problem->cost_times.data[v]};
    sums next = done;
    for (uint32_t r = 0; r < w->problem->memory_rows; r++)
      more.memory[r] =
          w->problem->arc_memory[r].data[arc] * w->problem->memory_times.data[v];
    add_sums(&next, &more, 1);
    if (w->problem->place_forbidden.data[from] || w->problem->arc_forbidden.data[arc] ||
        leads_to(w, place, from))
      continue;
    if (!take_steps(w, 1) || !may_go_on(w, &next, &pending)) continue;
    bool is_new = from != source && w->parent.data[from] == EG_LAYOUT_NONE;
    for (size_t k = base; k < left; k++)
      is_new = is_new && w->todo.data[k] != from;
    if (is_new) status = eg_u32s_push(&w->todo, from);
    w->parent.data[place] = arc;
    w->at.arc_used.data[arc] = 1;
    if (status == EGRAPH_OK) status = reach_places(w, at, base, next, pending);
    w->todo.len = left;
    w->at.arc_used.data[arc] = 0;
    w->parent.data[place] = EG_LAYOUT_NONE;
  }
  EG_TRY(status);
  return eg_u32s_push(&w->todo, place);
}

/// True when a value made in layout `number` obeys its ties: all decided values that are
/// tied to v are made in the same layout.
static bool keeps_ties(const walker *w, uint32_t v, uint32_t number) {
  const eg_layout_problem *p = w->problem;
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    bool is_in = false;
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++)
      is_in = is_in || p->tie_members.data[i] == v;
    for (uint32_t i = p->tie_begin.data[t]; is_in && i < p->tie_begin.data[t + 1]; i++) {
      uint32_t other = p->tie_members.data[i];
      uint32_t strategy = other == v ? EG_LAYOUT_NONE : w->at.strategy.data[other];
      if (strategy != EG_LAYOUT_NONE &&
          p->output.data[strategy] - p->place_begin.data[other] != number)
        return false;
    }
  }
  return true;
}

static bool is_allowed(const walker *w, uint32_t v, uint32_t s) {
  const eg_layout_problem *p = w->problem;
  uint32_t place = p->output.data[s], number = place - p->place_begin.data[v];
  if (p->forbidden.data[s] || p->place_forbidden.data[place]) return false;
  if (p->source_layout.data[v] != EG_LAYOUT_NONE && p->source_layout.data[v] != number)
    return false;
  for (uint32_t n = p->need_begin.data[s]; n < p->need_begin.data[s + 1]; n++)
    if (p->place_forbidden.data[p->needs.data[n]]) return false;
  return keeps_ties(w, v, number);
}

/// Adds the layouts that a strategy reads to the counts, or (!wants) subtracts them.
static void want(walker *w, uint32_t s, bool wants, sums *pending) {
  const eg_layout_problem *p = w->problem;
  for (uint32_t n = p->need_begin.data[s]; n < p->need_begin.data[s + 1]; n++) {
    uint32_t place = p->needs.data[n], v = w->value_of.data[place];
    uint32_t *count = &w->value_wanted.data[v];
    if (wants && *count == 0) add_sums(pending, &w->least.data[v], 1);
    *count = wants ? *count + 1 : *count - 1;
    w->wanted.data[place] += wants ? 1 : UINT32_MAX;
  }
}

static egraph_status choose_strategy_of(walker *w, uint32_t at, uint32_t s, sums done,
                                        sums pending) {
  const eg_layout_problem *p = w->problem;
  uint32_t v = w->order.data[at], source = p->output.data[s];
  sums mine = sums_of_strategy(w, v, s);
  add_sums(&done, &mine, 1);
  want(w, s, true, &pending);
  w->at.strategy.data[v] = s;
  size_t base = w->todo.len;
  egraph_status status = EGRAPH_OK;
  for (uint32_t place = p->place_begin.data[v];
       status == EGRAPH_OK && place < p->place_begin.data[v + 1]; place++)
    if (w->wanted.data[place] != 0 && place != source)
      status = eg_u32s_push(&w->todo, place);
  if (status == EGRAPH_OK && may_go_on(w, &done, &pending))
    status = reach_places(w, at, base, done, pending);
  w->todo.len = base;
  w->at.strategy.data[v] = EG_LAYOUT_NONE;
  want(w, s, false, &pending);
  return status;
}

static egraph_status decide_value(walker *w, uint32_t at, sums done, sums pending) {
  const eg_layout_problem *p = w->problem;
  while (at < w->order.len && w->value_wanted.data[w->order.data[at]] == 0)
    at++;
  if (at == w->order.len) return visit_leaf(w, &done);
  uint32_t v = w->order.data[at];
  add_sums(&pending, &w->least.data[v], -1);
  for (uint32_t i = w->operator_begin.data[v]; i < w->operator_begin.data[v + 1]; i++) {
    uint32_t o = w->operators.data[i];
    for (uint32_t s = p->strategy_begin.data[o]; s < p->strategy_begin.data[o + 1]; s++) {
      if (!take_steps(w, 1)) return EGRAPH_OK;
      if (is_allowed(w, v, s)) EG_TRY(choose_strategy_of(w, at, s, done, pending));
    }
  }
  return EGRAPH_OK;
}

// ---- indexes --------------------------------------------------------------------------

/// Orders the values, each after all values that may read it; *out_is_walkable is false
/// if there is a cycle.
static egraph_status order_values(walker *w, bool *out_is_walkable) {
  const eg_layout_problem *p = w->problem;
  uint32_t values = eg_layout_value_count(p);
  // [values] number of operators that read the value and are not yet ordered
  EG_LOCAL(eg_u32s, users, w->order.alloc);
  EG_TRY(eg_u32s_resize(&users, values));
  for (size_t i = 0; i < p->inputs.len; i++)
    users.data[p->inputs.data[i]]++;
  for (uint32_t v = 0; v < values; v++)
    if (users.data[v] == 0) EG_TRY(eg_u32s_push(&w->order, v));
  for (size_t at = 0; at < w->order.len; at++) {
    uint32_t v = w->order.data[at];
    for (uint32_t k = w->operator_begin.data[v]; k < w->operator_begin.data[v + 1]; k++) {
      uint32_t o = w->operators.data[k];
      for (uint32_t i = p->input_begin.data[o]; i < p->input_begin.data[o + 1]; i++)
        if (--users.data[p->inputs.data[i]] == 0)
          EG_TRY(eg_u32s_push(&w->order, p->inputs.data[i]));
    }
  }
  *out_is_walkable = w->order.len == values;
  return EGRAPH_OK;
}

static void find_least_cost(walker *w, uint32_t v) {
  const eg_layout_problem *p = w->problem;
  sums *least = &w->least.data[v];
  bool is_first = true;
  for (uint32_t i = w->operator_begin.data[v]; i < w->operator_begin.data[v + 1]; i++) {
    uint32_t o = w->operators.data[i];
    for (uint32_t s = p->strategy_begin.data[o]; s < p->strategy_begin.data[o + 1]; s++) {
      sums mine = sums_of_strategy(w, v, s);
      least->cost = is_first ? mine.cost : fmin(least->cost, mine.cost);
      for (int r = 0; r < EG_LAYOUT_MEMORY_ROWS; r++)
        least->memory[r] =
            is_first ? mine.memory[r] : fmin(least->memory[r], mine.memory[r]);
      is_first = false;
    }
  }
}

static bool has_simple_roots(const eg_layout_problem *p) {
  for (size_t i = 0; i < p->root_value.len; i++)
    if (p->root_begin.data[i + 1] - p->root_begin.data[i] > 1) return false;
  return true;
}

static egraph_status prepare_walk(walker *w, bool *out_is_walkable) {
  const eg_layout_problem *p = w->problem;
  uint32_t values = eg_layout_value_count(p), places = eg_layout_place_count(p);
  EG_TRY(eg_group_items(&p->operator_value, values, &w->operator_begin, &w->operators));
  EG_TRY(eg_group_items(&p->arc_to, places, &w->arc_begin, &w->arcs));
  EG_TRY(eg_u32s_resize(&w->wanted, places));
  EG_TRY(eg_u32s_resize(&w->value_wanted, values));
  EG_TRY(sums_list_resize(&w->least, values));
  EG_TRY(eg_bytes_resize(&w->at.arc_used, eg_layout_arc_count(p)));
  for (uint32_t v = 0; v < values; v++) {
    find_least_cost(w, v);
    EG_TRY(eg_u32s_push(&w->at.strategy, EG_LAYOUT_NONE));
    for (uint32_t i = p->place_begin.data[v]; i < p->place_begin.data[v + 1]; i++) {
      EG_TRY(eg_u32s_push(&w->value_of, v));
      EG_TRY(eg_u32s_push(&w->parent, EG_LAYOUT_NONE));
    }
  }
  return order_values(w, out_is_walkable);
}

egraph_status eg_plan_walk_run(eg_plan_walk *walk, egraph_allocator alloc,
                               const eg_layout_problem *problem) {
  assert(walk->visit != NULL);
  walk->steps = 0;
  walk->is_complete = false;
  if (eg_layout_value_count(problem) > EG_WALK_VALUES ||
      eg_layout_place_count(problem) > MOST_PLACES || !has_simple_roots(problem))
    return EGRAPH_OK;
  EG_LOCAL_WITH(walker, w, alloc, .walk = walk, .problem = problem);
  const eg_layout_problem *p = w.problem;
  sums done = {.cost = 0}, pending = {.cost = 0};
  bool is_walkable = false, is_possible = true;
  EG_TRY(prepare_walk(&w, &is_walkable));
  if (!is_walkable) return EGRAPH_OK;
  for (size_t i = 0; i < p->root_value.len; i++) {
    uint32_t v = p->root_value.data[i];
    if (w.value_wanted.data[v]++ == 0) add_sums(&pending, &w.least.data[v], 1);
    if (p->root_begin.data[i] == p->root_begin.data[i + 1]) continue;
    uint32_t place = p->root_places.data[p->root_begin.data[i]];
    is_possible = is_possible && !p->place_forbidden.data[place];
    w.wanted.data[place]++;
  }
  if (is_possible) EG_TRY(decide_value(&w, 0, done, pending));
  w.walk->is_complete = !w.is_stopped;
  return EGRAPH_OK;
}
