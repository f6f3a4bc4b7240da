// Checks that the solution of a certificate is valid and has the claimed cost.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "tools/check_certificate/layout_problem_text.h"
#include "tools/check_certificate/rounding.h"

typedef struct solution_check {
  certificate *c;
  const layout_text *t;
  uint8_t *needed;          // [values] 1 while its inputs are visited, 2 after that
  uint8_t *derived;         // [places] reached from the places where values are computed
  uint32_t *stack, *cursor; // [values]
} solution_check;

static bool refuse(solution_check *k, const char *what) {
  return certificate_refuse(k->c, "%s", what);
}

/// Walks needed values depth first: each has a strategy, none may depend on itself.
static bool walk_solution(solution_check *k, uint32_t root) {
  const layout_text *t = k->t;
  uint32_t depth = 0, next = root;
  for (;;) {
    if (k->needed[next] == 1) return refuse(k, "a value of the solution needs itself");
    if (k->needed[next] == 0) {
      uint32_t s = t->choice[next];
      if (s == LAYOUT_NONE) return refuse(k, "a needed value has no strategy");
      if (layout_text_value_of(t, s) != next || t->strategy_out[s])
        return refuse(k, "a strategy is not one of its value, or ruled out");
      k->needed[next] = 1;
      k->stack[depth] = next;
      k->cursor[depth++] = t->input_begin[t->op_of[s]];
    }
    while (depth != 0) {
      uint32_t value = k->stack[depth - 1], op = t->op_of[t->choice[value]];
      if (k->cursor[depth - 1] < t->input_begin[op + 1]) break;
      k->needed[value] = 2;
      depth--;
    }
    if (depth == 0) return true;
    next = t->input[k->cursor[depth - 1]++];
  }
}

static bool find_needed(solution_check *k) {
  const layout_text *t = k->t;
  for (uint32_t r = 0; r < t->roots; r++)
    if (!walk_solution(k, t->root_value[r])) return false;
  for (uint32_t i = 0; i < t->forced_count; i++) {
    if (!walk_solution(k, layout_text_value_of(t, t->forced[i]))) return false;
    if (t->choice[layout_text_value_of(t, t->forced[i])] != t->forced[i])
      return refuse(k, "a forced strategy is not chosen");
  }
  for (uint32_t v = 0; v < t->values; v++)
    if ((t->choice[v] != LAYOUT_NONE) != (k->needed[v] != 0))
      return refuse(k, "a value has a strategy and is not needed");
  return true;
}

/// Marks layouts that the solution's transitions reach from those of computed values.
static bool reach_places(solution_check *k) {
  const layout_text *t = k->t;
  for (uint32_t v = 0; v < t->values; v++) {
    if (!k->needed[v]) continue;
    uint32_t s = t->choice[v];
    k->derived[t->output[s]] = 1;
    if (t->fixed[v] != LAYOUT_NONE && t->output[s] != t->place_begin[v] + t->fixed[v])
      return refuse(k, "a value is not made in the layout that it is fixed to");
    layout_text_spread(t, v, t->arc_used, k->derived);
  }
  for (uint32_t a = 0; a < t->arcs; a++)
    if (t->arc_used[a] && !k->derived[t->arc_from[a]])
      return refuse(k, "an arc in use starts where nothing is");
  for (uint32_t p = 0; p < t->places; p++)
    if (k->derived[p] && t->place_out[p]) return refuse(k, "a place is ruled out");
  return true;
}

static bool serve_needs(solution_check *k) {
  const layout_text *t = k->t;
  for (uint32_t v = 0; v < t->values; v++)
    for (uint32_t i = 0; k->needed[v] && i < t->need_begin[t->choice[v] + 1] -
                                                 t->need_begin[t->choice[v]];
         i++)
      if (!k->derived[t->need[t->need_begin[t->choice[v]] + i]])
        return refuse(k, "a need is not reached");
  for (uint32_t r = 0; r < t->roots; r++) {
    bool served = t->root_begin[r] == t->root_begin[r + 1];
    for (uint32_t i = t->root_begin[r]; i < t->root_begin[r + 1]; i++)
      served = served || k->derived[t->root_place[i]];
    if (!served) return refuse(k, "a root is not served");
  }
  return true;
}

static bool keep_ties(solution_check *k) {
  const layout_text *t = k->t;
  for (uint32_t i = 0; i < t->ties; i++) {
    uint32_t label = LAYOUT_NONE;
    for (uint32_t m = t->tie_begin[i]; m < t->tie_begin[i + 1]; m++) {
      uint32_t member = t->tie_member[m];
      uint32_t value = t->tie_sources[i] ? member : t->op_value[member];
      uint32_t s = t->choice[value];
      if (s == LAYOUT_NONE || (!t->tie_sources[i] && t->op_of[s] != member)) continue;
      uint32_t own = t->tie_sources[i] ? t->output[s] - t->place_begin[value]
                                       : s - t->strategy_begin[member];
      if (label != LAYOUT_NONE && own != label) return refuse(k, "a tie does not hold");
      label = own;
    }
  }
  return true;
}

/// Lower and upper bound of the cost or memory of the solution.
typedef struct interval {
  double low, high;
} interval;

static void count(interval *sum, double amount, double times) {
  sum->low = add_down(sum->low, multiply_down(amount, times));
  sum->high = add_up(sum->high, multiply_up(amount, times));
}

static bool price_solution(solution_check *k) {
  const layout_text *t = k->t;
  interval cost = {0, 0}, row[LAYOUT_ROWS] = {{0, 0}};
  for (uint32_t v = 0; v < t->values; v++) {
    uint32_t s = t->choice[v];
    if (s == LAYOUT_NONE) continue;
    count(&cost, t->cost[s], t->cost_times[v]);
    for (uint32_t r = 0; r < t->rows; r++)
      count(&row[r], t->memory[(size_t)s * LAYOUT_ROWS + r], t->memory_times[v]);
  }
  for (uint32_t a = 0; a < t->arcs; a++) {
    uint32_t v = t->place_value[t->arc_from[a]];
    if (!t->arc_used[a]) continue;
    count(&cost, t->arc_cost[a], t->cost_times[v]);
    for (uint32_t r = 0; r < t->rows; r++)
      count(&row[r], t->arc_memory[(size_t)a * LAYOUT_ROWS + r], t->memory_times[v]);
  }
  for (uint32_t r = 0; r < t->rows; r++)
    if (row[r].low > t->limit[r] * (1 + 1e-12))
      return refuse(k, "memory exceeds a limit");
  if (!(t->claimed_cost >= cost.low && t->claimed_cost <= cost.high))
    return certificate_refuse(k->c, "the solution costs between %.17g and %.17g",
                              cost.low, cost.high);
  return true;
}

bool layout_text_check_solution(certificate *c, const layout_text *t) {
  solution_check k = {.c = c, .t = t};
  return INPUT_ROOM(&c->in, k.needed, t->values) &&
         INPUT_ROOM(&c->in, k.derived, t->places) &&
         INPUT_ROOM(&c->in, k.stack, t->values) &&
         INPUT_ROOM(&c->in, k.cursor, t->values) && find_needed(&k) && reach_places(&k) &&
         serve_needs(&k) && keep_ties(&k) && price_solution(&k);
}
