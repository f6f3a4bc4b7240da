// A training step of a transformer block on a mesh of two axes, as a layout problem made
// for tests: 50 operators, nine layouts (each axis: replicated, rows or columns split),
// the block folded with a multiplicity, stashes that take memory, weights that leave the
// step as they entered it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_LAYOUT_CHAIN_H
#define EG_TESTS_LAYOUT_CHAIN_H

#include "extract/layout/layout_problem.h"
#include "tests/testing.h"

enum { CHAIN_DIGITS = 3, CHAIN_LAYOUTS = 9 }; // digit 0: whole, 1: rows, 2: columns

typedef struct chain {
  eg_layout_problem p;
  double blocks;
  double tokens, hidden; // sizes
} chain;

static const double CHAIN_WAYS[2] = {4, 8};          // devices on each axis
static const double CHAIN_SECONDS[2] = {4e-6, 1e-6}; // per unit that is moved

static inline double chain_share(uint32_t layout) {
  double share = 1;
  for (int axis = 0; axis < 2; axis++, layout /= CHAIN_DIGITS)
    if (layout % CHAIN_DIGITS != 0) share /= CHAIN_WAYS[axis];
  return share;
}

static inline uint32_t chain_layout(uint32_t first, uint32_t second) {
  return first + CHAIN_DIGITS * second;
}

// Seconds to gather (or all-reduce: twice) a tensor of which one device holds `size`
// afterwards.
static inline double chain_gather(int axis, double size) {
  return 10 + size * CHAIN_SECONDS[axis] * (CHAIN_WAYS[axis] - 1) / CHAIN_WAYS[axis];
}

static inline void chain_arcs(chain *c, uint32_t value, double size) {
  for (uint32_t layout = 0; layout < CHAIN_LAYOUTS; layout++)
    for (int axis = 0; axis < 2; axis++)
      for (uint32_t digit = 0; digit < CHAIN_DIGITS; digit++) {
        uint32_t unit = axis == 0 ? 1 : CHAIN_DIGITS;
        uint32_t own = layout / unit % CHAIN_DIGITS;
        if (digit == own) continue;
        uint32_t to = layout - own * unit + digit * unit;
        eg_layout_arc arc = {value, layout, to, 0, {0}};
        if (own != 0)
          arc.cost = chain_gather(axis, size * chain_share(to)) / (digit == 0 ? 1 : 2);
        assert_ok(eg_layout_problem_add_arc(&c->p, &arc));
      }
}

static inline uint32_t chain_value(chain *c, double size) {
  uint32_t value;
  assert_ok(
      eg_layout_problem_add_value(&c->p, CHAIN_LAYOUTS, c->blocks, c->blocks, &value));
  chain_arcs(c, value, size);
  return value;
}

// Element by element, or by rows only: all in one layout.
static inline uint32_t chain_map(chain *c, const uint32_t *inputs, uint32_t count,
                                 double size, bool rows_only) {
  uint32_t value = chain_value(c, size);
  assert_ok(eg_layout_problem_add_operator(&c->p, value, inputs, count, NULL));
  for (uint32_t layout = 0; layout < CHAIN_LAYOUTS; layout++) {
    if (rows_only && (layout % CHAIN_DIGITS == 2 || layout / CHAIN_DIGITS == 2)) continue;
    uint32_t needs[4] = {layout, layout, layout, layout};
    eg_layout_strategy s = {needs, layout, size * chain_share(layout) * 1e-6, {0}};
    assert_ok(eg_layout_problem_add_strategy(&c->p, &s));
  }
  return value;
}

// What one axis does in a matrix product: layouts of both inputs and the output, and what
// is paid for the sum (0: nothing, 1: reduce-scatter, 2: all-reduce).
static const uint8_t CHAIN_SPLITS[6][4] = {{0, 0, 0, 0}, {1, 0, 1, 0}, {0, 2, 2, 0},
                                           {2, 1, 0, 2}, {2, 1, 1, 1}, {2, 1, 2, 1}};

static inline uint32_t chain_matmul(chain *c, uint32_t a, uint32_t b, double rows,
                                    double inner, double columns) {
  uint32_t value = chain_value(c, rows * columns), inputs[2] = {a, b};
  assert_ok(eg_layout_problem_add_operator(&c->p, value, inputs, 2, NULL));
  for (int i = 0; i < 36; i++) {
    const uint8_t *x = CHAIN_SPLITS[i % 6], *y = CHAIN_SPLITS[i / 6];
    uint32_t needs[2] = {chain_layout(x[0], y[0]), chain_layout(x[1], y[1])};
    uint32_t output = chain_layout(x[2], y[2]);
    double split = (i % 6 ? CHAIN_WAYS[0] : 1) * (i / 6 ? CHAIN_WAYS[1] : 1);
    double cost = rows * inner * columns / split * 2e-9;
    if (x[3]) cost += x[3] * chain_gather(0, rows * columns * chain_share(y[2] * 3));
    if (y[3]) cost += y[3] * chain_gather(1, rows * columns * chain_share(x[2]));
    eg_layout_strategy s = {needs, output, cost, {0}};
    assert_ok(eg_layout_problem_add_strategy(&c->p, &s));
  }
  return value;
}

// The transposed view of a value: rows and columns change places, free of charge.
static inline uint32_t chain_transpose(chain *c, uint32_t a, double size) {
  static const uint8_t FLIP[3] = {0, 2, 1};
  uint32_t value = chain_value(c, size);
  assert_ok(eg_layout_problem_add_operator(&c->p, value, &a, 1, NULL));
  for (uint32_t layout = 0; layout < CHAIN_LAYOUTS; layout++) {
    eg_layout_strategy s = {
        &layout, chain_layout(FLIP[layout % 3], FLIP[layout / 3]), 0, {0}};
    assert_ok(eg_layout_problem_add_strategy(&c->p, &s));
  }
  return value;
}

static inline uint32_t chain_source(chain *c, double size, double bytes) {
  uint32_t value = chain_value(c, size);
  assert_ok(eg_layout_problem_add_operator(&c->p, value, NULL, 0, NULL));
  for (uint32_t layout = 0; layout < CHAIN_LAYOUTS; layout++) {
    eg_layout_strategy s = {NULL, layout, 0, {size * bytes * chain_share(layout)}};
    assert_ok(eg_layout_problem_add_strategy(&c->p, &s));
  }
  return value;
}

/// A value made of another one in the same layout, which takes memory.
static inline uint32_t chain_keep(chain *c, uint32_t value, double size, double bytes) {
  uint32_t kept;
  assert_ok(
      eg_layout_problem_add_value(&c->p, CHAIN_LAYOUTS, c->blocks, c->blocks, &kept));
  assert_ok(eg_layout_problem_add_operator(&c->p, kept, &value, 1, NULL));
  for (uint32_t layout = 0; layout < CHAIN_LAYOUTS; layout++) {
    eg_layout_strategy s = {&layout, layout, 0, {size * bytes * chain_share(layout)}};
    assert_ok(eg_layout_problem_add_strategy(&c->p, &s));
  }
  chain_arcs(c, kept, size);
  return kept;
}

// Gradients of y = x w: from dy, the stashed x and the weight. Updates the weight, which
// leaves in the layout it entered in. Returns dx.
static inline uint32_t chain_grad(chain *c, uint32_t dy, uint32_t stash, uint32_t weight,
                                  double rows, double inner, double columns) {
  uint32_t turned = chain_transpose(c, stash, rows * inner);
  uint32_t dw = chain_matmul(c, turned, dy, inner, rows, columns);
  uint32_t both[2] = {weight, dw};
  uint32_t updated = chain_map(c, both, 2, inner * columns, false);
  uint32_t left = chain_keep(c, updated, inner * columns, 12); // state of the optimizer
  uint32_t ends[2] = {weight, left};
  assert_ok(eg_layout_problem_tie(&c->p, ends, 2));
  assert_ok(eg_layout_problem_add_root(&c->p, left, NULL, 0));
  uint32_t back = chain_transpose(c, weight, inner * columns);
  return chain_matmul(c, dy, back, rows, columns, inner);
}

static inline void chain_init(chain *c, double blocks, double tokens, double hidden) {
  *c = (chain){.blocks = blocks, .tokens = tokens, .hidden = hidden};
  assert_ok(eg_layout_problem_init(&c->p, eg_allocator_heap()));
  double t = tokens, h = hidden, act = t * h;
  uint32_t w_qkv = chain_source(c, 3 * h * h, 2), w_o = chain_source(c, h * h, 2);
  uint32_t w_up = chain_source(c, 4 * h * h, 2), w_down = chain_source(c, 4 * h * h, 2);
  uint32_t x = chain_source(c, act, 0), dr = chain_source(c, act, 0);
  // Forward.
  uint32_t n1 = chain_map(c, &x, 1, act, true);
  uint32_t qkv = chain_matmul(c, n1, w_qkv, t, h, 3 * h);
  uint32_t att = chain_map(c, &qkv, 1, act, false);
  uint32_t o = chain_matmul(c, att, w_o, t, h, h);
  uint32_t sum1[2] = {x, o};
  uint32_t r1 = chain_map(c, sum1, 2, act, false);
  uint32_t n2 = chain_map(c, &r1, 1, act, true);
  uint32_t up = chain_matmul(c, n2, w_up, t, h, 4 * h);
  uint32_t gelu = chain_map(c, &up, 1, 4 * act, false);
  uint32_t down = chain_matmul(c, gelu, w_down, t, 4 * h, h);
  uint32_t sum2[2] = {r1, down};
  uint32_t r2 = chain_map(c, sum2, 2, act, false);
  // What backward needs.
  uint32_t k_n1 = chain_keep(c, n1, act, 2), k_qkv = chain_keep(c, qkv, 3 * act, 2);
  uint32_t k_att = chain_keep(c, att, act, 2), k_n2 = chain_keep(c, n2, act, 2);
  uint32_t k_up = chain_keep(c, up, 4 * act, 2), k_gelu = chain_keep(c, gelu, 4 * act, 2);
  // Backward.
  uint32_t d_gelu = chain_grad(c, dr, k_gelu, w_down, t, 4 * h, h);
  uint32_t pair[2] = {d_gelu, k_up};
  uint32_t d_up = chain_map(c, pair, 2, 4 * act, false);
  uint32_t d_n2 = chain_grad(c, d_up, k_n2, w_up, t, h, 4 * h);
  uint32_t into1[3] = {dr, d_n2, k_n2};
  uint32_t d_r1 = chain_map(c, into1, 3, act, true);
  uint32_t d_att = chain_grad(c, d_r1, k_att, w_o, t, h, h);
  uint32_t pair2[2] = {d_att, k_qkv};
  uint32_t d_qkv = chain_map(c, pair2, 2, 3 * act, false);
  uint32_t d_n1 = chain_grad(c, d_qkv, k_n1, w_qkv, t, h, 3 * h);
  uint32_t into0[3] = {d_r1, d_n1, k_n1};
  uint32_t dx = chain_map(c, into0, 3, act, true);
  // The block before and after are alike.
  uint32_t forward[2] = {x, r2}, backward[2] = {dr, dx};
  assert_ok(eg_layout_problem_tie(&c->p, forward, 2));
  assert_ok(eg_layout_problem_tie(&c->p, backward, 2));
  assert_ok(eg_layout_problem_add_root(&c->p, r2, NULL, 0));
  assert_ok(eg_layout_problem_add_root(&c->p, dx, NULL, 0));
}

static inline void chain_deinit(chain *c) { eg_layout_problem_deinit(&c->p); }

#endif
