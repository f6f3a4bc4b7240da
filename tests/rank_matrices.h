// Small matrices as ranks hold them: a value, what every rank has of it, and how these
// make up the value. Nothing here knows of factors, strategies or transitions.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_RANK_MATRICES_H
#define EG_TESTS_RANK_MATRICES_H

#include <stdbool.h>

#include "base/hash.h"

enum { RANKS = 2, SIDE = 4 };

typedef struct matrix {
  int rows, cols;
  double at[SIDE][SIDE];
} matrix;

typedef enum lying { NOWHERE, WHOLE, ROWS, COLUMNS, SUM } lying;

/// A value: what it is, and what every rank has of it.
typedef struct spread_matrix {
  matrix truth, of[RANKS];
  lying how;
} spread_matrix;

static inline bool same_matrix(const matrix *a, const matrix *b) {
  bool equal = a->rows == b->rows && a->cols == b->cols;
  for (int i = 0; equal && i < a->rows; i++)
    for (int j = 0; equal && j < a->cols; j++)
      equal = a->at[i][j] == b->at[i][j];
  return equal;
}

static inline matrix joined(const matrix *of, bool by_rows) {
  matrix all = of[0];
  for (int r = 1; r < RANKS; r++)
    for (int i = 0; i < of[r].rows; i++)
      for (int j = 0; j < of[r].cols; j++)
        all.at[by_rows ? all.rows + i : i][by_rows ? j : all.cols + j] = of[r].at[i][j];
  *(by_rows ? &all.rows : &all.cols) *= RANKS;
  return all;
}

static inline matrix block(const matrix *m, bool by_rows, int rank) {
  matrix part = {.rows = by_rows ? m->rows / RANKS : m->rows,
                 .cols = by_rows ? m->cols : m->cols / RANKS};
  for (int i = 0; i < part.rows; i++)
    for (int j = 0; j < part.cols; j++)
      part.at[i][j] =
          m->at[by_rows ? rank * part.rows + i : i][by_rows ? j : rank * part.cols + j];
  return part;
}

static inline matrix added(const matrix *of) {
  matrix sum = of[0];
  for (int r = 1; r < RANKS; r++)
    for (int i = 0; i < sum.rows; i++)
      for (int j = 0; j < sum.cols; j++)
        sum.at[i][j] += of[r].at[i][j];
  return sum;
}

static inline bool alike(const matrix *of) {
  for (int r = 1; r < RANKS; r++)
    if (of[r].rows != of[0].rows || of[r].cols != of[0].cols) return false;
  return true;
}

/// How the ranks' matrices make up the value.
static inline lying find_lying(const spread_matrix *m) {
  matrix all;
  if (!alike(m->of)) return NOWHERE;
  bool whole = true;
  for (int r = 0; r < RANKS; r++)
    whole = whole && same_matrix(&m->of[r], &m->truth);
  if (whole) return WHOLE;
  if (m->of[0].rows == m->truth.rows && m->of[0].cols == m->truth.cols) {
    all = added(m->of);
    return same_matrix(&all, &m->truth) ? SUM : NOWHERE;
  }
  bool by_rows = m->of[0].cols == m->truth.cols;
  if (m->of[0].rows * (by_rows ? RANKS : 1) != m->truth.rows ||
      m->of[0].cols * (by_rows ? 1 : RANKS) != m->truth.cols)
    return NOWHERE;
  all = joined(m->of, by_rows);
  if (!same_matrix(&all, &m->truth)) return NOWHERE;
  return by_rows ? ROWS : COLUMNS;
}

/// Lays a value out; sums have summands at random.
static inline bool lay_out(spread_matrix *m, lying how, eg_rng *rng) {
  m->how = how;
  if ((how == ROWS && m->truth.rows % RANKS != 0) ||
      (how == COLUMNS && m->truth.cols % RANKS != 0))
    return false;
  for (int r = 0; r < RANKS; r++)
    m->of[r] =
        how == ROWS || how == COLUMNS ? block(&m->truth, how == ROWS, r) : m->truth;
  for (int i = 0; how == SUM && i < m->truth.rows; i++)
    for (int j = 0; j < m->truth.cols; j++) {
      m->of[1].at[i][j] = (double)eg_rng_below(rng, 17) - 8;
      m->of[0].at[i][j] = m->truth.at[i][j] - m->of[1].at[i][j];
    }
  return true;
}

#endif
