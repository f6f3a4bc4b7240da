// Products of quantized numbers: at which positions their operands are, and the product
// of plain integers that they contain.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_QUANTIZED_H
#define EG_OPS_QUANTIZED_H

#include "ops/ops.h"

enum { EG_NO_OPERAND = -1 };

/// Numbers of a quantized product's operands; EG_NO_OPERAND: the operand is absent.
typedef struct eg_quantized_operands {
  int x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
} eg_quantized_operands;
eg_quantized_operands eg_quantized_operands_of(const eg_attrs *attrs, uint32_t count);

enum { EG_QUANTIZED_SLOTS = 16 };
/// Returns the attributes of the unquantized product: matmul or conv, no activation.
eg_attrs eg_quantized_product(const eg_attrs *attrs, eg_attr slots[EG_QUANTIZED_SLOTS]);

/// Returns the shape in which a scale or zero point broadcasts against its operand `of`
/// (`is_weight`: the second operand of the product); the elements stay in order.
eg_type eg_quantized_view(const eg_attrs *attrs, const eg_type *vector, const eg_type *of,
                          bool is_weight);
/// Returns the shape in which a scale or zero point broadcasts against the product.
eg_type eg_quantized_result_view(const eg_attrs *attrs, const eg_type *vector,
                                 const eg_type *result, bool is_weight);

#endif
