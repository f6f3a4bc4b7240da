// Products with constant matrices: c = clip(a b + bias + z). b is packed once, in panels
// of at most 64 columns:
//
//   b                 packed
//   | 0 | 1 | 2 |     0 above, 1 above, 2 above, 0 below, 1 below, 2 below
//   |---+---+---|     (at most DEPTH rows each)
//   |   |   |   |
//
// A tile of rows of c is computed in registers, for all rows of a panel one tile after
// the other. The first tile of a panel needs its numbers faster than memory gives them,
// the others find them in the cache; so each tile asks for some of the next panel ahead,
// while it computes. With BERT's products oneDNN takes a tenth longer (Intel Xeon, family
// 6 model 167, one thread), with those of ViT and Swin two percent. Convolutions of one
// pixel gained nothing on average (0.96 to 1.03), so they stay oneDNN's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_PANELS_H
#define EG_EXEC_CPU_PANELS_H

#include "exec/cpu/cpu_builder.h"

enum { EG_PANEL_VECTOR = 16 };

/// Strides count elements. Rows of a and c may lie in blocks of 16 columns.
typedef struct eg_panel_product {
  int64_t images, rows, depth, columns; // of each image; c is rows x columns
  int64_t a_image, a_row, a_block;      // from image to image, ...
  int64_t c_image, c_row, c_block;      // likewise; of z too
  int64_t b_row, b_column;              // of b as given,
  int64_t b_depth, b_columns;           // which has no padding channels
  bool has_bias, has_z;
  float low, high; // of the clip; infinite: none
} eg_panel_product;

/// False where the processor has no such kernel.
bool eg_panels_work(void);
/// Appends the product of operands a and b, of which b and bias are weights. z may lie
/// where the result does.
egraph_status eg_cpu_add_panels(eg_cpu_builder *builder, const eg_panel_product *product,
                                const uint32_t operands[4]);

#endif
