// Networks as lists of layers, on the public API: weights without data, shapes that
// follow from the operands, and an error that sticks and is read once at the end.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_LAYERS_H
#define EG_TOOLS_BENCH_ZOO_LAYERS_H

#include "include/egraph.h"

enum { ZOO_MAX_RANK = 5 };

/// A network that is written down.
typedef struct zoo_net {
  egraph_graph *graph;
  egraph_status status; // first failure; later calls do nothing
  unsigned made;        // names so far
} zoo_net;

/// A value of it, with its shape.
typedef struct zoo_tensor {
  egraph_value value;
  uint32_t rank;
  int64_t dims[ZOO_MAX_RANK];
} zoo_tensor;

/// A shape: (zoo_shape){3, {64, 3, 224}}.
typedef struct zoo_shape {
  uint32_t rank;
  int64_t dims[ZOO_MAX_RANK];
} zoo_shape;

zoo_tensor zoo_input(zoo_net *net, const char *name, egraph_dtype dtype, zoo_shape shape);
/// A float32 weight without data.
zoo_tensor zoo_weight(zoo_net *net, zoo_shape shape);
/// The same under a name of its own, by which training leaves it as it is.
zoo_tensor zoo_frozen(zoo_net *net, const char *name, zoo_shape shape);
/// A float32 constant with data.
zoo_tensor zoo_constant(zoo_net *net, zoo_shape shape, const float *data);
void zoo_output(zoo_net *net, zoo_tensor value);
/// Any operator, by its spelling and attributes (NULL: none); `shape` is its result's.
zoo_tensor zoo_op(zoo_net *net, const char *op, const char *attributes,
                  const zoo_tensor *operands, uint32_t count, zoo_shape shape);

/// An operator whose result has the shape of its first operand.
zoo_tensor zoo_unary(zoo_net *net, const char *op, zoo_tensor x);
zoo_tensor zoo_binary(zoo_net *net, const char *op, zoo_tensor a, zoo_tensor b);
zoo_tensor zoo_matmul(zoo_net *net, zoo_tensor a, zoo_tensor b, bool transposes_b);
/// A product with a weight over the last dimension, plus a bias; an activation ("relu")
/// after it, or NULL.
zoo_tensor zoo_dense(zoo_net *net, zoo_tensor x, int64_t units, bool has_bias,
                     const char *activation);
/// Layer normalization with scale and bias.
zoo_tensor zoo_norm(zoo_net *net, zoo_tensor x);
zoo_tensor zoo_reshape(zoo_net *net, zoo_tensor x, zoo_shape shape);
/// `order`: of the dimensions, "[0 2 1 3]" as digits: "0213".
zoo_tensor zoo_transpose(zoo_net *net, zoo_tensor x, const char *order);
zoo_tensor zoo_concat(zoo_net *net, const zoo_tensor *parts, uint32_t count,
                      uint32_t axis);
/// Rows of a table of weights [rows, width], by indices.
zoo_tensor zoo_embed(zoo_net *net, zoo_tensor table, zoo_tensor indices);

/// A window over [N,C,H,W].
typedef struct zoo_window {
  int64_t height, width, stride;
  bool is_same; // padded so that a stride of 1 keeps the size; the odd row stands behind
} zoo_window;
static inline zoo_window zoo_square(int64_t size, int64_t stride, bool is_same) {
  return (zoo_window){size, size, stride, is_same};
}
/// A convolution without bias; `group` 1: plain.
zoo_tensor zoo_conv(zoo_net *net, zoo_tensor x, zoo_window window, int64_t channels,
                    int64_t group);
/// The same and relu.
zoo_tensor zoo_conv_relu(zoo_net *net, zoo_tensor x, zoo_window window, int64_t channels,
                         int64_t group);
/// "max-pool" or "average-pool".
zoo_tensor zoo_pool(zoo_net *net, const char *op, zoo_tensor x, zoo_window window);
/// The mean of every channel: [N,C].
zoo_tensor zoo_global_pool(zoo_net *net, zoo_tensor x);

#endif
