// A matrix product as a stage: result = alpha op(a) op(b) + beta z, with bias and
// activation where cuBLASLt takes them along.
//
// cuBLASLt thinks in columns, our matrices lie in rows: a row-major matrix is its own
// transpose to it, so it computes resultT = bT aT, and b comes first in every call. Of
// the batch dimensions the innermost one is a strided batch, the others are a loop.
// float32 is computed as such, without TF32.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PRODUCT_STAGE_H
#define EG_EXEC_PRODUCT_STAGE_H

#include "exec/cuda/strided.h"

/// What is multiplied; steps and strides in elements.
typedef struct eg_product {
  int64_t m, n, k;
  bool trans_a, trans_b;
  int64_t step_a, step_b, step_result; // from row to row as stored; 0: rows are packed
  eg_loop_plan batch;                  // tensors: result, a, b
  egraph_dtype dtype;
  double alpha, beta;            // of the product, of z
  bool has_bias, has_z, has_act; // that go along; bias is a row, z lies as the result
  eg_act act;                    // RELU or GELU_TANH
} eg_product;

/// Appends the product. Places: result, a, b, then bias and z if they go along. Fails
/// with EGRAPH_E_UNSUPPORTED when there is no kernel for it with all that goes along.
egraph_status eg_cuda_add_product(eg_cuda_builder *builder, const eg_product *product,
                                  const eg_device_place *places);

#endif
