// Exhaustive search for small layout problems, from the definition alone: every choice of
// strategies that the roots lead to, and for every value every subset of its arcs.
// Everything is small, so it recurses and uses fixed arrays.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_LAYOUT_BRUTE_H
#define EG_TESTS_LAYOUT_BRUTE_H

#include <math.h>
#include <stdlib.h>

#include "extract/layout/layout_problem.h"

enum { BRUTE_VALUES = 16, BRUTE_LAYOUTS = 6, BRUTE_KEPT = 8, BRUTE_FRONT = 4096 };

/// Cost, memory of all rows, memory of each row.
enum { BRUTE_COST, BRUTE_MEMORY, BRUTE_ROW, BRUTE_SUMS = 2 + EG_LAYOUT_MEMORY_ROWS };
typedef struct brute_sums {
  double sum[BRUTE_SUMS];
} brute_sums;

typedef struct brute_result {
  bool any;
  size_t count; // distinct choices of strategies that keep the limits
  brute_sums best[BRUTE_KEPT];
  double least_memory; // of all rows, whatever the limits; INFINITY: no solution at all
  double least_row[EG_LAYOUT_MEMORY_ROWS]; // of a row, likewise
  double least_rise; // of all limits alike, for a solution to be within them
} brute_result;

/// Arc subsets worth having for one value, source layout and set of layouts needed.
typedef struct brute_front {
  brute_sums *item;
  size_t len;
  bool is_known;
} brute_front;

typedef struct brute {
  const eg_layout_problem *p;
  uint32_t choice[BRUTE_VALUES], op[BRUTE_VALUES];
  uint32_t needed;
  brute_front cache[BRUTE_VALUES][BRUTE_LAYOUTS][1 << BRUTE_LAYOUTS];
  brute_sums front[BRUTE_FRONT], spare[BRUTE_FRONT];
  size_t front_len;
  brute_result *result;
} brute;

static inline bool brute_beats(const brute_sums *a, const brute_sums *b) {
  for (int m = 0; m < BRUTE_SUMS; m++)
    if (a->sum[m] > b->sum[m]) return false;
  return true;
}

// Adds to a front unless dominated; drops what it dominates.
static inline size_t brute_add(brute_sums *front, size_t len, brute_sums item) {
  for (size_t i = 0; i < len; i++)
    if (brute_beats(&front[i], &item)) return len;
  size_t kept = 0;
  for (size_t i = 0; i < len; i++)
    if (!brute_beats(&item, &front[i])) front[kept++] = front[i];
  if (kept == BRUTE_FRONT) abort();
  front[kept++] = item;
  return kept;
}

static inline bool brute_serves(const brute *b, uint32_t value, uint32_t reached,
                                uint32_t need) {
  const eg_layout_problem *p = b->p;
  uint32_t first = p->place_begin.data[value];
  if ((need & ~reached) != 0) return false;
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r], end = p->root_begin.data[r + 1];
    bool served = begin == end || p->root_value.data[r] != value;
    for (uint32_t i = begin; i < end && !served; i++)
      served = (reached >> (p->root_places.data[i] - first)) & 1;
    if (!served) return false;
  }
  for (uint32_t i = 0; i < eg_layout_layout_count(p, value); i++)
    if (((reached >> i) & 1) && p->place_forbidden.data[first + i]) return false;
  return true;
}

static inline void brute_subsets(brute *b, uint32_t value, uint32_t source, uint32_t need,
                                 brute_front *out) {
  const eg_layout_problem *p = b->p;
  uint32_t arcs[16], count = 0, first = p->place_begin.data[value];
  for (uint32_t a = 0; a < p->arc_from.len; a++)
    if (p->arc_from.data[a] >= first &&
        p->arc_from.data[a] < p->place_begin.data[value + 1])
      arcs[count++] = a;
  static brute_sums found[BRUTE_FRONT];
  size_t len = 0;
  for (uint32_t set = 0; set < 1u << count; set++) {
    uint32_t reached = 1u << source, before = 0;
    brute_sums sums = {{0}};
    while (before != reached) {
      before = reached;
      for (uint32_t i = 0; i < count; i++)
        if (((set >> i) & 1) && ((reached >> (p->arc_from.data[arcs[i]] - first)) & 1))
          reached |= 1u << (p->arc_to.data[arcs[i]] - first);
    }
    for (uint32_t i = 0; i < count; i++) {
      if (!((set >> i) & 1)) continue;
      sums.sum[BRUTE_COST] += p->arc_cost.data[arcs[i]] * p->cost_times.data[value];
      for (uint32_t r = 0; r < p->memory_rows; r++) {
        double row = p->arc_memory[r].data[arcs[i]] * p->memory_times.data[value];
        sums.sum[BRUTE_MEMORY] += row;
        sums.sum[BRUTE_ROW + r] += row;
      }
    }
    if (brute_serves(b, value, reached, need)) len = brute_add(found, len, sums);
  }
  out->is_known = true;
  out->len = len;
  out->item = malloc((len + 1) * sizeof *out->item);
  if (out->item == NULL) abort();
  memcpy(out->item, found, len * sizeof *found);
}

static inline bool brute_is_acyclic(const brute *b) {
  uint32_t done = 0, before = 1;
  while (done != before) {
    before = done;
    for (uint32_t v = 0; v < b->p->cost_times.len; v++) {
      if (!((b->needed >> v) & 1)) continue;
      bool ready = true;
      uint32_t op = b->op[v];
      for (uint32_t i = b->p->input_begin.data[op]; i < b->p->input_begin.data[op + 1];
           i++)
        ready = ready && ((done >> b->p->inputs.data[i]) & 1);
      if (ready) done |= 1u << v;
    }
  }
  return done == b->needed;
}

static inline bool brute_ties_hold(const brute *b) {
  const eg_layout_problem *p = b->p;
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++)
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++)
      for (uint32_t k = p->tie_begin.data[t]; k < i; k++) {
        uint32_t v = p->tie_members.data[i], w = p->tie_members.data[k];
        if (((b->needed >> v) & 1) && ((b->needed >> w) & 1) &&
            p->output.data[b->choice[v]] - p->place_begin.data[v] !=
                p->output.data[b->choice[w]] - p->place_begin.data[w])
          return false;
      }
  return true;
}

/// Cheaper first, among equals the one of less memory.
static inline int brute_compare(const brute_sums *a, const brute_sums *b) {
  for (int m = BRUTE_COST; m <= BRUTE_MEMORY; m++)
    if (fabs(a->sum[m] - b->sum[m]) > 1e-9 * fabs(b->sum[m]))
      return a->sum[m] < b->sum[m] ? -1 : 1;
  return 0;
}

/// How much the limits must rise for these sums.
static inline double brute_rise(const eg_layout_problem *p, const brute_sums *sums) {
  double rise = -INFINITY;
  for (uint32_t r = 0; r < p->memory_rows; r++)
    rise = fmax(rise, sums->sum[BRUTE_ROW + r] - p->memory_limit[r]);
  return rise;
}

static inline bool brute_is_within(const eg_layout_problem *p, const brute_sums *sums) {
  for (uint32_t r = 0; r < p->memory_rows; r++)
    if (sums->sum[BRUTE_ROW + r] > p->memory_limit[r] * (1 + 1e-12)) return false;
  return true;
}

static inline void brute_keep(brute *b) {
  brute_result *r = b->result;
  brute_sums best = {{INFINITY, INFINITY}};
  for (size_t i = 0; i < b->front_len; i++) {
    r->least_memory = fmin(r->least_memory, b->front[i].sum[BRUTE_MEMORY]);
    r->least_rise = fmin(r->least_rise, brute_rise(b->p, &b->front[i]));
    for (int k = 0; k < EG_LAYOUT_MEMORY_ROWS; k++)
      r->least_row[k] = fmin(r->least_row[k], b->front[i].sum[BRUTE_ROW + k]);
    if (!brute_is_within(b->p, &b->front[i])) continue;
    if (isinf(best.sum[BRUTE_COST]) || brute_compare(&b->front[i], &best) < 0)
      best = b->front[i];
  }
  if (isinf(best.sum[BRUTE_COST])) return;
  r->any = true;
  size_t at = r->count < BRUTE_KEPT ? r->count : BRUTE_KEPT;
  r->count++;
  while (at > 0 && r->best[at - 1].sum[BRUTE_COST] > best.sum[BRUTE_COST]) {
    if (at < BRUTE_KEPT) r->best[at] = r->best[at - 1];
    at--;
  }
  if (at < BRUTE_KEPT) r->best[at] = best;
}

static inline void brute_finish(brute *b) {
  const eg_layout_problem *p = b->p;
  if (!brute_is_acyclic(b) || !brute_ties_hold(b)) return;
  b->front_len = 1;
  b->front[0] = (brute_sums){{0}};
  for (uint32_t v = 0; v < p->cost_times.len; v++) {
    if (!((b->needed >> v) & 1)) continue;
    uint32_t need = 0, s = b->choice[v], first = p->place_begin.data[v];
    for (uint32_t w = 0; w < p->cost_times.len; w++)
      if ((b->needed >> w) & 1)
        for (uint32_t i = p->need_begin.data[b->choice[w]];
             i < p->need_begin.data[b->choice[w] + 1]; i++)
          if (p->needs.data[i] >= first && p->needs.data[i] < p->place_begin.data[v + 1])
            need |= 1u << (p->needs.data[i] - first);
    brute_front *arcs = &b->cache[v][p->output.data[s] - first][need];
    if (!arcs->is_known) brute_subsets(b, v, p->output.data[s] - first, need, arcs);
    size_t len = 0;
    for (size_t i = 0; i < b->front_len; i++)
      for (size_t k = 0; k < arcs->len; k++) {
        brute_sums sums = b->front[i];
        for (int m = 0; m < BRUTE_SUMS; m++)
          sums.sum[m] += arcs->item[k].sum[m];
        sums.sum[BRUTE_COST] += p->cost.data[s] * p->cost_times.data[v];
        for (uint32_t r = 0; r < p->memory_rows; r++) {
          double row = p->memory[r].data[s] * p->memory_times.data[v];
          sums.sum[BRUTE_MEMORY] += row;
          sums.sum[BRUTE_ROW + r] += row;
        }
        len = brute_add(b->spare, len, sums);
      }
    memcpy(b->front, b->spare, len * sizeof *b->front);
    b->front_len = len;
    if (len == 0) return;
  }
  brute_keep(b);
}

static inline void brute_enumerate(brute *b, uint32_t decided) {
  const eg_layout_problem *p = b->p;
  uint32_t open = b->needed & ~decided, value = 0;
  if (open == 0) {
    brute_finish(b);
    return;
  }
  while (!((open >> value) & 1))
    value++;
  uint32_t needed = b->needed;
  for (uint32_t op = 0; op < p->operator_value.len; op++) {
    if (p->operator_value.data[op] != value) continue;
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
         s++) {
      uint32_t fixed = p->source_layout.data[value];
      if (p->forbidden.data[s] || (fixed != EG_LAYOUT_NONE &&
                                   p->output.data[s] != eg_layout_place(p, value, fixed)))
        continue;
      b->choice[value] = s;
      b->op[value] = op;
      for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
        b->needed |= 1u << p->inputs.data[i];
      brute_enumerate(b, decided | 1u << value);
      b->needed = needed;
    }
  }
}

static inline void brute_force(const eg_layout_problem *p, brute_result *out) {
  static brute b;
  b = (brute){.p = p, .result = out};
  *out = (brute_result){.least_memory = INFINITY, .least_rise = INFINITY};
  for (int k = 0; k < EG_LAYOUT_MEMORY_ROWS; k++)
    out->least_row[k] = INFINITY;
  for (uint32_t r = 0; r < p->root_value.len; r++)
    b.needed |= 1u << p->root_value.data[r];
  brute_enumerate(&b, 0);
  for (uint32_t v = 0; v < BRUTE_VALUES; v++)
    for (uint32_t l = 0; l < BRUTE_LAYOUTS; l++)
      for (uint32_t n = 0; n < 1u << BRUTE_LAYOUTS; n++)
        free(b.cache[v][l][n].item);
}

#endif
