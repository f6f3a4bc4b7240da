// The best plan of a perceptron's training step in Alpa's space (OSDI'22), found without
// anything that plans: on two axes every matrix has 9 shardings, without partial sums;
// every product splits one of its loops along each axis, and is followed at once by the
// all-reduce of the loops it sums over; all else is paid along the cheapest way between
// two shardings. A layer sees the others through the shardings of its input x and of the
// gradient dx, so that a table of these goes from layer to layer.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_ALPA_MLP_H
#define EG_TESTS_UNIT_ALPA_MLP_H

#include <math.h>

#include "tests/testing.h"
#include "tests/unit/plan_models.h"

enum { ALPA_AXES = 2, ALPA_SPECS = 9, ALPA_STATES = ALPA_SPECS * ALPA_SPECS };
enum { ALPA_B, ALPA_I, ALPA_O };    // loops of a layer: batch, input, output
enum { ALPA_X, ALPA_W, ALPA_Y };    // its matrices, and their gradients
enum { ALPA_FW, ALPA_DW, ALPA_DX }; // its products
static const int alpa_dims[3][2] = {{ALPA_B, ALPA_I}, {ALPA_I, ALPA_O}, {ALPA_B, ALPA_O}};
static const int alpa_factors[3][3] = {
    {ALPA_X, ALPA_W, ALPA_Y}, {ALPA_X, ALPA_Y, ALPA_W}, {ALPA_Y, ALPA_W, ALPA_X}};

/// Cost of an axis: alpha + beta bytes. One of 1 device costs nothing.
typedef struct alpa_axis {
  int size;
  double alpha, beta;
} alpa_axis;

typedef struct alpa_layer {
  const alpa_axis *axes;
  double size[3];                                        // of the loops
  double move[3][ALPA_SPECS][ALPA_SPECS];                // [matrix][from][to]
  double product[3][ALPA_SPECS][ALPA_SPECS][ALPA_SPECS]; // [product][operands][result]
} alpa_layer;

// A sharding is a digit per axis, 0: not along it, else 1 + dimension.
static inline int alpa_digit(int spec, int axis) {
  return axis == 0 ? spec / 3 : spec % 3;
}

static inline double alpa_cost(const alpa_axis *axis, double volume, double bytes,
                               double constant) {
  double others = axis->size - 1.0;
  if (axis->size == 1) return 0;
  return axis->alpha + axis->beta * volume * others / axis->size * bytes + constant;
}

static inline double alpa_all_reduce(const alpa_axis *axis, double bytes) {
  return alpa_cost(axis, 2, bytes, 0.01);
}

/// Bytes of a matrix as it is cut along all axes but one.
static inline double alpa_bytes(const alpa_layer *l, int matrix, int spec, int without) {
  double bytes = 4 * l->size[alpa_dims[matrix][0]] * l->size[alpa_dims[matrix][1]];
  for (int a = 0; a < ALPA_AXES; a++)
    if (a != without && alpa_digit(spec, a) != 0) bytes /= l->axes[a].size;
  return bytes;
}

/// One digit changes: slice, all-gather, or all-to-all. The second axis cuts finer.
static inline double alpa_step(const alpa_layer *l, int matrix, int from, int to) {
  int axis = alpa_digit(from, 0) != alpa_digit(to, 0) ? 0 : 1;
  int other = alpa_digit(from, 1 - axis), was = alpa_digit(from, axis),
      is = alpa_digit(to, axis);
  if (alpa_digit(to, 1 - axis) != other) return (double)INFINITY;
  if (axis == 0 && other != 0 && (other == was || other == is)) return (double)INFINITY;
  double bytes = alpa_bytes(l, matrix, from, axis);
  if (was == 0) return 0;
  if (is == 0) return alpa_cost(&l->axes[axis], 1, bytes, 0.1);
  return alpa_cost(&l->axes[axis], 0.5, bytes, 0.001);
}

static inline void alpa_fill_moves(alpa_layer *l, int matrix) {
  double(*move)[ALPA_SPECS] = l->move[matrix];
  for (int i = 0; i < ALPA_SPECS; i++)
    for (int j = 0; j < ALPA_SPECS; j++)
      move[i][j] = i == j ? 0 : alpa_step(l, matrix, i, j);
  for (int k = 0; k < ALPA_SPECS; k++)
    for (int i = 0; i < ALPA_SPECS; i++)
      for (int j = 0; j < ALPA_SPECS; j++)
        move[i][j] = fmin(move[i][j], move[i][k] + move[k][j]);
}

/// What a matrix looks like when loop[axis] is split.
static inline int alpa_spec(int matrix, const int *loop) {
  int spec = 0;
  for (int a = 0; a < ALPA_AXES; a++) {
    int digit = 0;
    for (int d = 0; d < 2; d++)
      if (alpa_dims[matrix][d] == loop[a]) digit = d + 1;
    spec = 3 * spec + digit;
  }
  return spec;
}

static inline void alpa_fill_split(alpa_layer *l, int product, const int *loop) {
  int spec[3];
  const int *matrix = alpa_factors[product];
  for (int m = 0; m < 3; m++)
    spec[m] = alpa_spec(matrix[m], loop);
  double sum = 0;
  for (int a = 0; a < ALPA_AXES; a++)
    if (alpa_digit(spec[2], a) == 0)
      sum += alpa_all_reduce(&l->axes[a], alpa_bytes(l, matrix[2], spec[2], a));
  for (int a = 0; a < ALPA_SPECS; a++)
    for (int b = 0; b < ALPA_SPECS; b++)
      for (int c = 0; c < ALPA_SPECS; c++) {
        double *best = &l->product[product][a][b][c];
        *best =
            fmin(*best, l->move[matrix[0]][a][spec[0]] + l->move[matrix[1]][b][spec[1]] +
                            sum + l->move[matrix[2]][spec[2]][c]);
      }
}

static inline void alpa_layer_init(alpa_layer *l, const alpa_axis *axes, int batch,
                                   int input, int output) {
  *l = (alpa_layer){.axes = axes, .size = {batch, input, output}};
  for (int m = 0; m < 3; m++)
    alpa_fill_moves(l, m);
  double *all = &l->product[0][0][0][0];
  for (size_t i = 0; i < sizeof l->product / sizeof *all; i++)
    all[i] = (double)INFINITY;
  for (int p = 0; p < 3; p++)
    for (int s = 0; s < ALPA_SPECS; s++)
      alpa_fill_split(l, p, (const int[]){s / 3, s % 3});
}

/// The loss is a sum over y, in sharding `spec`: a scalar to reduce.
static inline double alpa_loss(const alpa_axis *axes, int spec) {
  double cost = 0;
  for (int a = 0; a < ALPA_AXES; a++)
    if (alpa_digit(spec, a) != 0) cost += alpa_all_reduce(&axes[a], 4);
  return cost;
}

/// Least cost of the forward product into y, what makes its gradient e, and the two
/// backward products, with the weight w there before and after. `d` is that of dx.
static inline double alpa_best(const alpa_layer *l, bool first, bool last, int x, int d,
                               int y, int dy) {
  double best = (double)INFINITY;
  for (int e = 0; e < ALPA_SPECS; e++) {
    double to_e = l->move[ALPA_Y][y][e];
    to_e += last ? alpa_loss(l->axes, y) : l->move[ALPA_Y][dy][e];
    for (int w = 0; w < ALPA_SPECS; w++)
      best =
          fmin(best, to_e + l->product[ALPA_FW][x][w][y] + l->product[ALPA_DW][x][e][w] +
                         (first ? 0 : l->product[ALPA_DX][e][w][d]));
  }
  return best;
}

static inline double alpa_mlp(const alpa_axis *axes, const mlp_model *m) {
  static alpa_layer layer;
  double now[ALPA_STATES] = {0}, next[ALPA_STATES], best = (double)INFINITY;
  for (int i = 0; i < m->layers; i++) {
    int from = i % 2 == 0 ? m->width : m->hidden, to = i % 2 == 0 ? m->hidden : m->width;
    bool first = i == 0, last = i == m->layers - 1;
    alpa_layer_init(&layer, axes, m->batch, from, to);
    for (int n = 0; n < ALPA_STATES; n++) {
      next[n] = (double)INFINITY;
      for (int s = 0; s < ALPA_STATES; s++)
        next[n] = fmin(next[n], now[s] + alpa_best(&layer, first, last, s / ALPA_SPECS,
                                                   s % ALPA_SPECS, n / ALPA_SPECS,
                                                   n % ALPA_SPECS));
    }
    memcpy(now, next, sizeof now);
  }
  for (int n = 0; n < ALPA_STATES; n++)
    best = fmin(best, now[n]);
  return best;
}

#endif
