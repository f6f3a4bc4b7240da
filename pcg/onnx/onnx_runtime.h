// What ONNX Runtime's CPU provider loads (onnx_runtime.def): its kernels have fewer
// element types than ONNX allows.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ONNX_RUNTIME_H
#define EG_PCG_ONNX_RUNTIME_H

#include "ops/ops.h"
#include "third_party/onnx/onnx-ml.pb-c.h"

/// Whether a node of the standard domain is loaded in an operator set. `dtype` [inputs]
/// are of TensorProto, 0: not known. True where nothing is known.
bool eg_onnx_is_loaded(const Onnx__NodeProto *node, const int *dtype, int64_t opset);

/// Whether a node of ours on operands of this element type is loaded as we write it; of
/// the first operand that is not bool, bool where all are. True for operators that no
/// model has.
bool eg_onnx_is_op_loaded(eg_op op, egraph_dtype dtype);

#endif
