// A network, its gradients and its optimizers written by hand in plain C, to compare
// training steps with.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_TRAINING_PLAIN_H
#define EG_TESTS_UNIT_TRAINING_PLAIN_H

#include <math.h>

#include "pcg/training/training.h"
#include "tests/testing.h"

// y = tanh(x w1 + b1) w2, x [rows, 3], w1 [3, 5], w2 [5, 2]; mean of (y - target)^2.
enum { IN = 3, MID = 5, OUT = 2, ROWS = 8, PARAMS = 3 };

#define NETWORK(dtype, rows)                                                             \
  "(egraph-graph 1)(input x \"" dtype "[" rows ",3]\")(weight w1 \"" dtype "[3,5]\")"    \
  "(weight b1 \"" dtype "[5]\")(weight w2 \"" dtype "[5,2]\")"                           \
  "(let p (matmul x w1))(let a (add p b1))(let h (tanh a))(let y (matmul h w2))"         \
  "(output y)"

static const char *const param_names[PARAMS] = {"w1", "b1", "w2"};
static const int param_sizes[PARAMS] = {IN * MID, MID, MID *OUT};
enum { MOST = IN * MID };

/// The same network in plain C, with its optimizer.
typedef struct plain {
  eg_training_options options;
  double x[ROWS][IN], target[ROWS][OUT];
  double w[PARAMS][MOST], g[PARAMS][MOST], m[PARAMS][MOST], v[PARAMS][MOST];
  double loss;
} plain;

static inline void plain_row(plain *n, int row) {
  double h[MID], y[OUT], dh[MID] = {0};
  for (int j = 0; j < MID; j++) {
    double a = n->w[1][j];
    for (int i = 0; i < IN; i++)
      a += n->x[row][i] * n->w[0][i * MID + j];
    h[j] = tanh(a);
  }
  for (int k = 0; k < OUT; k++) {
    y[k] = 0;
    for (int j = 0; j < MID; j++)
      y[k] += h[j] * n->w[2][j * OUT + k];
    double difference = y[k] - n->target[row][k];
    n->loss += difference * difference / (ROWS * OUT);
    double dy = 2 * difference / (ROWS * OUT);
    for (int j = 0; j < MID; j++) {
      n->g[2][j * OUT + k] += h[j] * dy;
      dh[j] += n->w[2][j * OUT + k] * dy;
    }
  }
  for (int j = 0; j < MID; j++) {
    double da = dh[j] * (1 - h[j] * h[j]);
    n->g[1][j] += da;
    for (int i = 0; i < IN; i++)
      n->g[0][i * MID + j] += n->x[row][i] * da;
  }
}

static inline void plain_clip(plain *n) {
  double norm = 0;
  for (int p = 0; p < PARAMS; p++)
    for (int i = 0; i < param_sizes[p]; i++)
      norm += n->g[p][i] * n->g[p][i];
  norm = sqrt(norm);
  if (n->options.clip_norm == 0 || norm <= n->options.clip_norm) return;
  for (int p = 0; p < PARAMS; p++)
    for (int i = 0; i < param_sizes[p]; i++)
      n->g[p][i] *= n->options.clip_norm / norm;
}

static inline double plain_update(plain *n, int p, int i, double rate, int step) {
  const eg_training_options *o = &n->options;
  double w = n->w[p][i], g = n->g[p][i], *m = &n->m[p][i], *v = &n->v[p][i];
  if (o->optimizer != EG_OPTIMIZER_ADAMW) g += o->weight_decay * w;
  if (o->optimizer == EG_OPTIMIZER_SGD) return w - rate * g;
  if (o->optimizer == EG_OPTIMIZER_MOMENTUM) {
    *m = o->momentum * *m + g;
    return w - rate * *m;
  }
  *m = o->beta1 * *m + (1 - o->beta1) * g;
  *v = o->beta2 * *v + (1 - o->beta2) * g * g;
  double mean = *m / (1 - pow(o->beta1, step)), square = *v / (1 - pow(o->beta2, step));
  double kept = o->optimizer == EG_OPTIMIZER_ADAMW ? w - rate * o->weight_decay * w : w;
  return kept - rate * mean / (sqrt(square) + o->epsilon);
}

static inline void plain_step(plain *n, double rate, int step) {
  n->loss = 0;
  memset(n->g, 0, sizeof n->g);
  for (int row = 0; row < ROWS; row++)
    plain_row(n, row);
  plain_clip(n);
  for (int p = 0; p < PARAMS; p++)
    for (int i = 0; i < param_sizes[p]; i++)
      n->w[p][i] = plain_update(n, p, i, rate, step);
}

static inline void plain_init(plain *n, const eg_training_options *options) {
  eg_rng rng = {test_seed(9)};
  *n = (plain){.options = *options};
  for (int row = 0; row < ROWS; row++) {
    for (int i = 0; i < IN; i++)
      n->x[row][i] = 2 * eg_rng_unit(&rng) - 1;
    for (int k = 0; k < OUT; k++)
      n->target[row][k] = 2 * eg_rng_unit(&rng) - 1;
  }
  for (int p = 0; p < PARAMS; p++)
    for (int i = 0; i < param_sizes[p]; i++)
      n->w[p][i] = 2 * eg_rng_unit(&rng) - 1;
}

#endif
