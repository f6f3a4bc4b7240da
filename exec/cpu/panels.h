// Products with constant matrices: c = clip(a b + bias + z). b is packed once, into
// panels of at most 64 columns (AVX2: 24):
//
//   b                 packed
//   | 0 | 1 | 2 |     0 above, 1 above, 2 above, 0 below, 1 below, 2 below
//   |---+---+---|     (at most `block` rows each)
//   |   |   |   |
//
// A tile of rows of c is computed in registers (tiles.h); the tiles of a panel are
// computed one after the other. The first tile of a panel needs its numbers faster than
// memory delivers them; later tiles find them in the cache. Therefore each tile
// prefetches a part of the next panel while it computes. oneDNN takes 10 % longer for
// BERT's products (Intel Xeon, family 6 model 167, one thread), 2 % longer for the
// products of ViT and Swin; with AVX2 (AMD EPYC, family 25 model 1) 1.4 times as long for
// BERT's. Convolutions with kernels of one pixel are not faster on panels, with channels
// in rows or in blocks, so oneDNN computes them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_PANELS_H
#define EG_EXEC_CPU_PANELS_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/tiles.h"

/// How a matrix of `depth` x `columns` is packed into panels of columns.
typedef struct eg_panels {
  const eg_tile_set *set;
  int64_t depth, columns;
  int64_t block; // rows of a panel; panels at the bottom of b have the remaining rows
  int64_t vectors, count; // vectors of a row; number of panels
} eg_panels;

/// The operands of a product; strides count elements.
typedef struct eg_panel_operands {
  const float *a, *packed;
  const float *bias; // bias, filled up to whole vectors; NULL: none
  const float *z;    // z, stored like c; NULL: none
  float *c;
  int64_t a_row, c_row;
  float low, high; // bounds of the clip; infinite: none
} eg_panel_operands;

/// A product of a tensor and a constant matrix that an operator computes.
typedef struct eg_panel_product {
  int64_t rows, depth, columns;
  int64_t b_row, b_column; // strides of b before packing
  bool has_bias, has_z;
  float low, high;
} eg_panel_product;

/// True when the processor has vectors for which egraph has a product kernel (tiles.h).
bool eg_panels_work(void);
eg_panels eg_panels_of(int64_t depth, int64_t columns);
/// Returns the packing for products of at most `rows` rows; few rows allow wider panels.
eg_panels eg_panels_of_rows(int64_t depth, int64_t columns, int64_t rows);
/// Returns the number of elements of the packed matrix, including columns of zeros that
/// fill the last vector of a row.
int64_t eg_panels_elements(const eg_panels *p);
/// Returns the index, in the packed matrix, of the element at a row and a column.
int64_t eg_panels_place(const eg_panels *p, int64_t row, int64_t column);
/// Packs b, whose strides are `b_row` and `b_column`.
void eg_panels_pack(const eg_panels *p, const float *b, int64_t b_row, int64_t b_column,
                    float *packed);
/// True when b, stored by rows without gaps, is equal to its packed form.
bool eg_panels_are_rows(const eg_panels *p);
/// Computes rows [begin, end) of c in the columns of panels [first, last).
void eg_panels_multiply(const eg_panels *p, const eg_panel_operands *operands,
                        int64_t begin, int64_t end, int64_t first, int64_t last);
/// Appends the product of operands a and b; b and bias are weights. z may lie in the
/// memory of the result.
egraph_status eg_cpu_add_panels(eg_cpu_builder *builder, const eg_panel_product *product,
                                const uint32_t operands[4]);

#endif
