// Random layout problems that exhaustive search can solve: transitions of any cost, ties,
// user constraints, alternatives, several roots.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_LAYOUT_DRAW_H
#define EG_TESTS_LAYOUT_DRAW_H

#include "tests/layout_brute.h"
#include "tests/testing.h"

enum { DRAW_VALUES = 6, DRAW_LAYOUTS = 6, DRAW_OPERATORS = 10 };

static inline uint32_t draw_below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

static inline double draw_amount(eg_rng *rng, bool integers) {
  if (draw_below(rng, 4) == 0) return 0;
  return integers ? (double)draw_below(rng, 7) : eg_rng_unit(rng) * 3;
}

static inline void draw_arcs(eg_rng *rng, eg_layout_problem *p, uint32_t value,
                             bool integers) {
  uint32_t layouts = eg_layout_layout_count(p, value);
  uint32_t count = layouts == 1 ? 0 : draw_below(rng, layouts == 2 ? 4 : 9);
  for (uint32_t i = 0; i < count; i++) {
    eg_layout_arc arc = {value,
                         draw_below(rng, layouts),
                         draw_below(rng, layouts),
                         draw_amount(rng, integers),
                         {0}};
    if (draw_below(rng, 3) == 0) arc.memory[0] = draw_amount(rng, integers);
    assert_ok(eg_layout_problem_add_arc(p, &arc));
  }
}

static inline void draw_operator(eg_rng *rng, eg_layout_problem *p, uint32_t value,
                                 bool integers, bool plain) {
  uint32_t inputs[3], count = value == 0 ? 0 : draw_below(rng, 4), op;
  for (uint32_t i = 0; i < count; i++) // mostly downwards, now and then a cycle
    inputs[i] = draw_below(
        rng, draw_below(rng, 4) == 0 && !plain ? eg_layout_value_count(p) : value);
  assert_ok(eg_layout_problem_add_operator(p, value, inputs, count, &op));
  uint32_t strategies = 1 + draw_below(rng, 4);
  for (uint32_t s = 0; s < strategies; s++) {
    uint32_t needs[3];
    for (uint32_t i = 0; i < count; i++)
      needs[i] = draw_below(rng, eg_layout_layout_count(p, inputs[i]));
    eg_layout_strategy strategy = {needs,
                                   draw_below(rng, eg_layout_layout_count(p, value)),
                                   draw_amount(rng, integers),
                                   {draw_amount(rng, integers)}};
    assert_ok(eg_layout_problem_add_strategy(p, &strategy));
  }
}

static inline void draw_ties(eg_rng *rng, eg_layout_problem *p) {
  uint32_t count = draw_below(rng, 3), values = eg_layout_value_count(p);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t members[3] = {draw_below(rng, values), draw_below(rng, values),
                           draw_below(rng, values)};
    assert_ok(eg_layout_problem_tie(p, members, 2 + draw_below(rng, 2)));
  }
}

static inline void draw_user(eg_rng *rng, eg_layout_problem *p) {
  uint32_t value = draw_below(rng, eg_layout_value_count(p));
  uint32_t layout = draw_below(rng, eg_layout_layout_count(p, value));
  uint32_t op = draw_below(rng, eg_layout_operator_count(p));
  switch (draw_below(rng, 8)) {
  case 0: assert_ok(eg_layout_problem_forbid_layout(p, value, layout)); break;
  case 1: assert_ok(eg_layout_problem_fix_layout(p, value, layout)); break;
  case 2: assert_ok(eg_layout_problem_forbid_strategy(p, op, 0)); break;
  default: break;
  }
}

static inline void draw_roots(eg_rng *rng, eg_layout_problem *p) {
  uint32_t roots = 1 + draw_below(rng, 2), values = eg_layout_value_count(p);
  for (uint32_t i = 0; i < roots; i++) {
    uint32_t value = i == 0 ? values - 1 : draw_below(rng, values);
    uint32_t count = draw_below(rng, 3), layouts[2];
    for (uint32_t k = 0; k < count; k++)
      layouts[k] = draw_below(rng, eg_layout_layout_count(p, value));
    assert_ok(eg_layout_problem_add_root(p, value, layouts, count));
  }
}

/// `plain`: acyclic.
static inline void draw_problem(eg_rng *rng, eg_layout_problem *p, bool integers,
                                bool plain) {
  assert_ok(eg_layout_problem_init(p, eg_allocator_heap()));
  uint32_t values = 1 + draw_below(rng, DRAW_VALUES);
  for (uint32_t v = 0; v < values; v++) {
    uint32_t value,
        layouts = 1 + draw_below(rng, draw_below(rng, 4) == 0 ? DRAW_LAYOUTS : 3);
    double times = draw_below(rng, 4) == 0 ? 3 : 1;
    assert_ok(eg_layout_problem_add_value(p, layouts, times,
                                          draw_below(rng, 8) ? times : 2, &value));
    draw_arcs(rng, p, value, integers);
  }
  for (uint32_t v = 0; v < values; v++)
    draw_operator(rng, p, v, integers, plain);
  while (eg_layout_operator_count(p) < DRAW_OPERATORS && draw_below(rng, 3) != 0)
    draw_operator(rng, p, draw_below(rng, values), integers, plain);
  draw_ties(rng, p);
  draw_user(rng, p);
  draw_roots(rng, p);
}

/// A limit between the least memory there is and what the cheapest takes; sometimes
/// below.
static inline void draw_limit(eg_rng *rng, eg_layout_problem *p,
                              const brute_result *free) {
  if (!free->any || draw_below(rng, 3) == 0) return;
  double least = free->least_memory, most = free->best[0].sum[BRUTE_MEMORY];
  if (draw_below(rng, 8) == 0)
    p->memory_limit[0] = least * 0.75;
  else
    p->memory_limit[0] = least + (most - least) * (draw_below(rng, 5) / 4.0);
}

/// Memory of strategies and arcs in more rows, up to `rows` in all.
static inline void draw_rows(eg_rng *rng, eg_layout_problem *p, uint32_t rows,
                             bool integers) {
  p->memory_rows = rows;
  for (uint32_t r = 1; r < rows; r++) {
    for (size_t s = 0; s < p->memory[r].len; s++)
      p->memory[r].data[s] = draw_amount(rng, integers);
    for (size_t a = 0; a < p->arc_memory[r].len; a++)
      if (draw_below(rng, 3) == 0) p->arc_memory[r].data[a] = draw_amount(rng, integers);
  }
}

/// Limits that bind in no row, in one, in several, or that nothing keeps: between the
/// least of each row and what the cheapest takes of it, now and then a little below.
static inline void draw_limits(eg_rng *rng, eg_layout_problem *p,
                               const brute_result *free) {
  for (uint32_t r = 0; r < p->memory_rows && free->any; r++) {
    double least = free->least_row[r], most = free->best[0].sum[BRUTE_ROW + r];
    if (draw_below(rng, 4) == 0) continue;
    p->memory_limit[r] = draw_below(rng, 10) == 0
                             ? least * 0.75
                             : least + (most - least) * (draw_below(rng, 5) / 4.0);
  }
}

#endif
