// Graphs with open dimensions: the same nodes at several sizes.
//
//   trial 0, the example   batch 11, seq 131   x [11,131,768]   :shape [11 131 12 64]
//   trial 1                batch  5, seq  29   x [5,29,768]     :shape [5 29 12 64]
//   trial 2                batch  3, seq  17   x [3,17,768]     :shape [3 17 12 64]
//
// A number that is the same in all trials is a constant. One that differs is an
// expression of the open dimensions: "batch", "12 * batch", "seq + 1". Whoever changes
// the graph changes its trials alike, so that the model can be written with the
// dimensions open.
//
// Sizes of the example have no factor in common with the constants of the model, so that
// a number tells where it comes from.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_OPEN_SIZES_H
#define EG_PCG_OPEN_SIZES_H

#include "pcg/graph/graph.h"

/// Whether all trials are the graph but for sizes: same nodes, operands, names, weights;
/// attributes differ in integers only. Fails with EGRAPH_E_UNSUPPORTED and names the
/// first node that is another. Weights of equal bytes are then shared.
egraph_status eg_open_sizes_match(eg_graph *graph, const eg_open_sizes *sizes);

/// A number at the sizes of each trial.
typedef struct eg_size {
  int64_t at[EG_TRIALS];
} eg_size;
/// factor * product of dims ^ power + offset; factor 0: a constant.
typedef struct eg_size_formula {
  int64_t factor, offset;
  uint8_t power[EG_MAX_OPEN_DIMS];
} eg_size_formula;

bool eg_size_is_constant(const eg_size *size);
/// Whether the size is a whole factor times `base` and an offset in all trials, and none
/// of these is a constant.
bool eg_size_is_multiple(const eg_size *size, const eg_size *base, int64_t *out_factor,
                         int64_t *out_offset);
/// The formula of least degree that gives the size in all trials, or false.
bool eg_size_fit(const eg_open_sizes *sizes, const eg_size *size, eg_size_formula *out);

/// What the numbers of a graph are in other trials, for numbers that rules have computed
/// from them.
typedef struct eg_size_table {
  const eg_open_sizes *sizes;
  eg_size *rows; // by the number in the example
  size_t count;
  egraph_allocator alloc;
} eg_size_table;
egraph_status eg_size_table_init(eg_size_table *table, const eg_graph *graph);
void eg_size_table_deinit(eg_size_table *table);
/// The size that is `value` in the example: one that the graph has, else a multiple of a
/// product of open dimensions, else a constant. False where the graph has two that differ
/// elsewhere.
bool eg_size_table_find(const eg_size_table *table, int64_t value, eg_size *out);
/// Whether one of the numbers is no constant.
bool eg_size_table_is_open(const eg_size_table *table, const int64_t *numbers,
                           uint32_t count);
/// The first number that the sizes of the example do not tell apart from a constant of
/// the graph, or false.
bool eg_size_table_is_ambiguous(const eg_size_table *table, int64_t *out);

#endif
