// Einsums: reads an equation as labels, and describes its loop nest.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_EINSUM_H
#define EG_OPS_EINSUM_H

#include "ops/build.h"

typedef struct eg_einsum {
  eg_labels *operands; // [operands] in memory of the caller
  eg_labels result;
  int64_t sizes[EG_MAX_LABELS]; // size of every label
} eg_einsum;

/// Reads the equation of a node that inference accepted. Labels are numbered from 0.
egraph_status eg_einsum_labels(const eg_attrs *attrs, const eg_type *inputs,
                               uint32_t count, eg_einsum *out);
/// Fails with EGRAPH_E_PARSE when a term names more dimensions than a tensor can have.
egraph_status eg_einsum_check(const char *equation);
enum { EG_EINSUM_TEXT = 1024 };
/// Writes the canonical text of an equation: letters a, b, .. in the order in which they
/// first appear, an explicit result, no spaces. Equations that differ only in letters get
/// the same text. Returns false, with `out` undefined, for an equation that is malformed
/// or too long. Does not check operands, as inference does.
bool eg_einsum_canonical(const char *equation, char out[EG_EINSUM_TEXT]);

// ---- nests ----------------------------------------------------------------------------

// An einsum is described as a loop nest; if it is one batched matrix product, its labels
// are also sorted into groups. Every label has a stride per tensor, 0 in tensors without
// it: diagonals and broadcast dimensions need no special case. An einsum of two operands
// is a product when every label is in one of four groups:
//
//   found in      result, a, b     result, a     result, b     a, b
//   is            batch            row           column        summed

/// Tensors of the loop nest of an einsum: the result, then at most three operands.
enum { EG_EINSUM_RESULT, EG_EINSUM_A, EG_EINSUM_B, EG_EINSUM_TENSORS = 4 };

typedef struct eg_einsum_nest {
  uint32_t labels, tensors;
  int64_t sizes[EG_MAX_LABELS];
  int64_t strides[EG_EINSUM_TENSORS][EG_MAX_LABELS];
  bool is_result[EG_MAX_LABELS];
  bool has_diagonal;
} eg_einsum_nest;

/// Labels of one group (batch, rows, columns or summed), outermost first.
typedef struct eg_einsum_group {
  uint32_t count;
  uint32_t labels[EG_MAX_LABELS];
  int64_t size;
} eg_einsum_group;

typedef struct eg_einsum_groups {
  eg_einsum_group batch, rows, columns, summed;
} eg_einsum_groups;

/// Describes the loop nest of an einsum that inference accepted. Fails with
/// EGRAPH_E_UNSUPPORTED when the node has more than three operands.
egraph_status eg_einsum_nest_of(const eg_attrs *attrs, const eg_type *inputs,
                                uint32_t count, const eg_type *result,
                                eg_einsum_nest *out);
/// Sorts the einsum's labels into batch, rows, columns and summed; labels of size 1 are
/// in no group. Rows, columns and batch are in the order of the result, summed labels in
/// the order of a. False unless the einsum is a product of two operands.
bool eg_einsum_group_labels(const eg_einsum_nest *nest, eg_einsum_groups *out);
/// True when a tensor is a batch of matrices with these rows and columns whose rows or
/// columns are contiguous. *out_step is the stride from row to row or, if *out_is_turned,
/// from column to column.
bool eg_einsum_is_matrix(const eg_einsum_nest *nest, uint32_t tensor,
                         const eg_einsum_group *rows, const eg_einsum_group *columns,
                         int64_t *out_step, bool *out_is_turned);
/// Lists the labels of a tensor in the order batch, rows, columns, with their strides
/// when the tensor is packed in this order. Returns the number of labels.
uint32_t eg_einsum_packed(const eg_einsum_nest *nest, const eg_einsum_groups *groups,
                          const eg_einsum_group *rows, const eg_einsum_group *columns,
                          uint32_t *out_labels, int64_t *out_strides);

#endif
