// Products with constant matrices: c = clip(a b + bias + z). b is packed once, in panels
// of at most 64 columns (AVX2: 24):
//
//   b                 packed
//   | 0 | 1 | 2 |     0 above, 1 above, 2 above, 0 below, 1 below, 2 below
//   |---+---+---|     (at most `block` rows each)
//   |   |   |   |
//
// A tile of rows of c is computed in registers (tiles.h), for all rows of a panel one
// tile after the other. The first tile of a panel needs its numbers faster than memory
// gives them, the others find them in the cache; so each tile prefetches a part of the
// next panel while it computes. oneDNN takes a tenth longer for BERT's products (Intel
// Xeon, family 6 model 167, one thread), two percent longer for the products of ViT and
// Swin; with AVX2 (AMD EPYC, family 25 model 1) 1.4 times as long for BERT's.
// Convolutions of one pixel gained nothing, in rows of channels or in blocks, so they
// stay oneDNN's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_PANELS_H
#define EG_EXEC_CPU_PANELS_H

#include "exec/cpu/cpu_builder.h"
#include "exec/cpu/tiles.h"

/// How a matrix of `depth` x `columns` is packed.
typedef struct eg_panels {
  const eg_tile_set *set;
  int64_t depth, columns;
  int64_t block;          // rows of a panel; the last ones have the rest
  int64_t vectors, count; // of a row; panels
} eg_panels;

/// Operands of a product; strides count elements.
typedef struct eg_panel_operands {
  const float *a, *packed;
  const float *bias; // of whole vectors; NULL: none
  const float *z;    // lies like c; NULL: none
  float *c;
  int64_t a_row, c_row;
  float low, high; // of the clip; infinite: none
} eg_panel_operands;

/// A product as an operator has it.
typedef struct eg_panel_product {
  int64_t rows, depth, columns;
  int64_t b_row, b_column; // strides of b as given
  bool has_bias, has_z;
  float low, high;
} eg_panel_product;

/// False where the processor has no such kernel.
bool eg_panels_work(void);
eg_panels eg_panels_of(int64_t depth, int64_t columns);
/// For products of at most `rows` rows: panels may be wider where these are few.
eg_panels eg_panels_of_rows(int64_t depth, int64_t columns, int64_t rows);
/// Elements of the packed matrix, columns of zeros included, which fill vectors.
int64_t eg_panels_elements(const eg_panels *p);
/// Where an element of the matrix is among them.
int64_t eg_panels_place(const eg_panels *p, int64_t row, int64_t column);
/// Rows [begin, end) of c in the columns of panels [first, last).
void eg_panels_multiply(const eg_panels *p, const eg_panel_operands *operands,
                        int64_t begin, int64_t end, int64_t first, int64_t last);
/// Appends the product of operands a and b, of which b and bias are weights. z may lie
/// where the result does.
egraph_status eg_cpu_add_panels(eg_cpu_builder *builder, const eg_panel_product *product,
                                const uint32_t operands[4]);

#endif
