// Kept nodes in a newer operator set than theirs, where the conversion is known: lists
// that were attributes became operands (axes of reductions, sizes of Split).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_ONNX_CONVERT_H
#define EG_PCG_ONNX_CONVERT_H

#include "pcg/onnx/onnx_writer.h"

/// The sets in which an operator of this set means the same, once it is converted.
eg_onnx_sets eg_onnx_reach_of(const char *op_type, int64_t opset);
/// Brings a node from an operator set into the one that is written, and the nodes of
/// graphs within it; constants go before it into the body. `inout` is a copy of the
/// caller's whose lists may be replaced. Nothing happens to nodes that mean the same
/// there.
egraph_status eg_onnx_convert(eg_onnx_body *body, int64_t from, Onnx__NodeProto *inout);

#endif
