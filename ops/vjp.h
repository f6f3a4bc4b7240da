// Gradients in reverse mode ("vector-Jacobian products"): emits the cotangents of a
// node's operands from the cotangents of its results. They are nodes of the same operator
// table, so that rules, costs and kernels also apply to a backward pass.
//
// Operators without a gradient: `merge-gconv`, `opaque`, and those that only occur in
// backward passes and updates. Results that are not floating point have no cotangents, so
// comparisons and indices need no rule. At a kink, one slope is taken: 0 for relu, clip
// and abs; max and min of equal operands take the first operand; maxima over a dimension
// share the cotangent among equal elements, max-pool takes the first one. `reduce-prod`
// gives NaN for elements of 0.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_VJP_H
#define EG_OPS_VJP_H

#include "ops/build.h"

/// One node of the forward pass, and the cotangents to compute.
typedef struct eg_vjp {
  eg_builder *b; // eg_op_vjp sets its dtype to the dtype of operand 0
  const eg_attrs *attrs;
  const eg_ref *inputs, *results;
  uint32_t input_count, result_count;
  const eg_ref *cotangents; // [result_count] EG_REF_NONE: zero
  const bool *wanted;       // [input_count]
  eg_ref *out;              // [input_count] cotangents to emit; EG_REF_NONE: zero
} eg_vjp;

/// Emits the cotangents of the operands whose flag in `wanted` is set. Each has the
/// type of its operand. Fails with EGRAPH_E_UNSUPPORTED "merge-gconv: is not
/// differentiable; ...".
egraph_status eg_op_vjp(const eg_vjp *call);

#endif
