// Builds networks as lists of layers, through the public API: weights without data,
// shapes that follow from the operands. The first failure is stored and read at the end.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_ZOO_LAYERS_H
#define EG_TOOLS_BENCH_ZOO_LAYERS_H

#include "include/egraph.h"

enum { ZOO_MAX_RANK = 5 };

/// A network under construction.
typedef struct zoo_net {
  egraph_graph *graph;
  egraph_status status; // first failure; later calls do nothing
  unsigned made;        // number of names so far
} zoo_net;

/// A value of a network, with its shape.
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
/// Adds a float32 weight without data.
zoo_tensor zoo_weight(zoo_net *net, zoo_shape shape);
/// Adds a float32 weight without data under this name, by which training knows that it
/// leaves the weight unchanged.
zoo_tensor zoo_frozen(zoo_net *net, const char *name, zoo_shape shape);
/// Adds a float32 constant with data.
zoo_tensor zoo_constant(zoo_net *net, zoo_shape shape, const float *data);
void zoo_output(zoo_net *net, zoo_tensor value);
/// Adds an operator by its spelling and attributes (NULL: none); `shape` is the shape of
/// its result.
zoo_tensor zoo_op(zoo_net *net, const char *op, const char *attributes,
                  const zoo_tensor *operands, uint32_t count, zoo_shape shape);

/// Adds an operator whose result has the shape of its first operand.
zoo_tensor zoo_unary(zoo_net *net, const char *op, zoo_tensor x);
zoo_tensor zoo_binary(zoo_net *net, const char *op, zoo_tensor a, zoo_tensor b);
zoo_tensor zoo_matmul(zoo_net *net, zoo_tensor a, zoo_tensor b, bool transposes_b);
/// Adds a product with a weight over the last dimension, a bias, and an activation
/// ("relu", or NULL).
zoo_tensor zoo_dense(zoo_net *net, zoo_tensor x, int64_t units, bool has_bias,
                     const char *activation);
/// Adds layer normalization with scale and bias.
zoo_tensor zoo_norm(zoo_net *net, zoo_tensor x);
zoo_tensor zoo_reshape(zoo_net *net, zoo_tensor x, zoo_shape shape);
/// Transposes; `order` is the order of dimensions as digits: "0213" is [0 2 1 3].
zoo_tensor zoo_transpose(zoo_net *net, zoo_tensor x, const char *order);
zoo_tensor zoo_concat(zoo_net *net, const zoo_tensor *parts, uint32_t count,
                      uint32_t axis);
/// Adds a look-up of rows of a table of weights [rows, width] by indices.
zoo_tensor zoo_embed(zoo_net *net, zoo_tensor table, zoo_tensor indices);

/// A sliding window over images [N,C,H,W]: size, stride and padding.
typedef struct zoo_window {
  int64_t height, width, stride;
  bool is_same; // padded so that a stride of 1 keeps the size; if uneven, more at the end
} zoo_window;
static inline zoo_window zoo_square(int64_t size, int64_t stride, bool is_same) {
  return (zoo_window){size, size, stride, is_same};
}
/// Adds a convolution without bias; `group` 1: not grouped.
zoo_tensor zoo_conv(zoo_net *net, zoo_tensor x, zoo_window window, int64_t channels,
                    int64_t group);
/// Adds a convolution and relu.
zoo_tensor zoo_conv_relu(zoo_net *net, zoo_tensor x, zoo_window window, int64_t channels,
                         int64_t group);
/// Adds "max-pool" or "average-pool".
zoo_tensor zoo_pool(zoo_net *net, const char *op, zoo_tensor x, zoo_window window);
/// Adds the mean of every channel: [N,C].
zoo_tensor zoo_global_pool(zoo_net *net, zoo_tensor x);

#endif
