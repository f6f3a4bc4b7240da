// Shapes of two operands that broadcast: whether one is stretched, and how to make it so.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_OPERANDS_H
#define EG_REWRITES_INSTANCE_OPERANDS_H

#include "rewrites/lab/instances/instance_choose.h"

/// Which operand is stretched: 0, 1, or this.
enum { EG_BOTH_OPERANDS = 2 };

typedef enum eg_operand_fit {
  EG_OPERANDS_EQUAL,
  EG_OPERANDS_STRETCHED,
  EG_OPERANDS_STRETCHED_BATCH // of factors
} eg_operand_fit;

/// Whether the other one makes it larger, and (`is_empty`) it has no elements.
bool eg_operands_are_stretched(const eg_type *types, uint32_t which, bool is_empty);
/// A factor without its matrices.
eg_type eg_operand_batch(const eg_type *type);
/// Gives operand 0 or 1 a shape beside that of the other one, which is known.
void eg_operands_fit(eg_operand_fit how, uint32_t which, eg_verify_choice *choice,
                     uint32_t operand);

/// A factor of a matrix product that has rows and columns, and nothing to sum.
void eg_operand_empty_sum(eg_verify_choice *choice, uint32_t operand);

#endif
