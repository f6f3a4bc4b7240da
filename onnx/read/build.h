// A builder (ops/build.h) that emits into the graph under import, for importers that
// express an ONNX node by several of our operators.
//
//   EG_ONNX_BUILDER(write, call);
//   eg_ref x = eg_onnx_operand(&write, 0);
//   return eg_onnx_finish(&write, 0, EG_FORMULA(&write.b, "(mul x (tanh x))", "x", x));
//
// Everything that may decline comes before the first eg_onnx_finish.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_BUILD_H
#define EG_ONNX_READ_BUILD_H

#include "onnx/read/op.h"
#include "ops/build.h"

typedef struct eg_onnx_builder {
  const eg_onnx_call *call;
  eg_builder b;   // its values are tensors of the import
  uint32_t first; // number of the first tensor that is an intermediate result
  bool has_array; // an intermediate result is a constant with several elements
} eg_onnx_builder;

/// Begins a builder. Numbers of formulas have the dtype of operand 0, if it is known.
/// `write` must not move.
void eg_onnx_builder_init(eg_onnx_builder *write, const eg_onnx_call *call);
/// Defines a builder as a local variable.
#define EG_ONNX_BUILDER(name, call)                                                      \
  eg_onnx_builder name;                                                                  \
  eg_onnx_builder_init(&name, call)
/// Returns an operand of the node, or EG_REF_NONE if it is absent.
eg_ref eg_onnx_operand(const eg_onnx_builder *write, uint32_t index);
/// Makes a value result number `index` of the node, unless the result is unused. Returns
/// a failure of the builder. While the model is read with another batch size
/// (read/open.c), declines a node whose computation has constant arrays, because these
/// may depend on the batch.
egraph_status eg_onnx_finish(eg_onnx_builder *write, uint32_t index, eg_ref value);

/// Emits x in another shape: EG_ONNX_RESHAPE(&write, x, batch, heads, size).
#define EG_ONNX_RESHAPE(write, x, ...)                                                   \
  eg_build_reshape(&(write)->b, (x), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                   (const int64_t[]){__VA_ARGS__})
/// Emits a node with a list of attributes, for operators that ops/build.h has no
/// function for.
eg_ref eg_onnx_write(eg_onnx_builder *write, eg_attr_list list, const eg_ref *inputs,
                     uint32_t count);
/// Concatenates x and y along an axis.
eg_ref eg_onnx_concat(eg_onnx_builder *write, eg_ref x, eg_ref y, int64_t axis);
/// Takes elements [from, to) of one axis, with a step.
eg_ref eg_onnx_range_of(eg_onnx_builder *write, eg_ref x, uint32_t axis, int64_t from,
                        int64_t to, int64_t step);
/// Emits `count` int64 numbers from, from + 1, ... along `axis` of `rank` dimensions.
eg_ref eg_onnx_count_along(eg_onnx_builder *write, uint32_t rank, uint32_t axis,
                           int64_t from, int64_t count);
/// Emit a scalar of a dtype, and an int64 scalar.
eg_ref eg_onnx_number(eg_onnx_builder *write, egraph_dtype dtype, double value);
eg_ref eg_onnx_whole(eg_onnx_builder *write, int64_t value);

#endif
