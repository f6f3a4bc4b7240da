// Rotary position embedding (RoFormer, section 3.4.2): sizes of `rope`, and the rotation
// of rows, which the reference kernel and the CPU share. Letters of dimensions:
//
//   x, result  [.., H, S, D], or rows first [.., S, H, D]
//   tables     [.., S, R/2], or per element [.., S, R]
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_ROPE_H
#define EG_OPS_ROPE_H

#include "ops/ops.h"

/// The operands of rope.
enum { EG_ROPE_X, EG_ROPE_COS, EG_ROPE_SIN };

/// Sizes of a rope, as loops [batch, outer, inner] over rows of `depth` elements.
typedef struct eg_rope {
  int64_t batch, outer, inner, depth;
  int64_t pairs; // R/2
  bool is_interleaved, is_per_element;
  // The row of the tables moves by this many elements along both loops; one is 0.
  int64_t outer_step, inner_step;
  // Leading dimensions of x, and strides of both tables along them.
  uint32_t leading;
  int64_t dims[EGRAPH_MAX_RANK], strides[2][EGRAPH_MAX_RANK];
} eg_rope;

/// True when a node has one of rope's attributes, which are switches.
static inline bool eg_rope_has(const eg_attrs *attrs, uint16_t attr) {
  return eg_attr_at(attrs, attr)->i != 0;
}
/// Returns the dimension of x that its heads, or its rows, have.
static inline uint32_t eg_rope_dim(const eg_attrs *attrs, const eg_type *x,
                                   bool of_rows) {
  bool is_first = of_rows == eg_rope_has(attrs, EG_A_ROPE_ROWS_FIRST);
  return x->rank - (is_first ? 3 : 2);
}
/// Returns the number of pairs, R/2, that a table of known width rotates.
static inline int64_t eg_rope_pairs(const eg_attrs *attrs, const eg_type *table) {
  return table->dims[table->rank - 1] /
         (eg_rope_has(attrs, EG_A_ROPE_PER_ELEMENT) ? 2 : 1);
}
/// Returns the type [.., S, columns of a table] to which a table broadcasts; `x` and
/// `table` are operands.
eg_type eg_rope_angles(const eg_attrs *attrs, const eg_type *x, const eg_type *table);
/// Returns sizes and strides of a node that inference accepted; all sizes are numbers.
eg_rope eg_rope_of(const eg_attrs *attrs, const eg_type *inputs);

/// Rotates all rows of `outer` units [begin, end), counted over the batch. The result may
/// be x.
void eg_rope_rotate_f32(const eg_rope *rope, const float *x, const float *cosines,
                        const float *sines, float *y, int64_t begin, int64_t end);
void eg_rope_rotate_f64(const eg_rope *rope, const double *x, const double *cosines,
                        const double *sines, double *y, int64_t begin, int64_t end);

#endif
