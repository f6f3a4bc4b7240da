// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/zoo/layers.h"

#include <string.h>

enum { MAX_NAME = 32, MAX_ATTRIBUTES = 160, MAX_OPERANDS = 16 };

// ---- values ----------------------------------------------------------------------

static zoo_tensor of_shape(zoo_shape shape) {
  zoo_tensor out = {.rank = shape.rank};
  memcpy(out.dims, shape.dims, sizeof out.dims);
  return out;
}

static zoo_shape shape_of(zoo_tensor x) {
  zoo_shape out = {.rank = x.rank};
  memcpy(out.dims, x.dims, sizeof out.dims);
  return out;
}

zoo_tensor zoo_input(zoo_net *net, const char *name, egraph_dtype dtype,
                     zoo_shape shape) {
  zoo_tensor out = of_shape(shape);
  if (net->status == EGRAPH_OK)
    net->status = egraph_graph_add_input(net->graph, name, dtype, shape.rank, shape.dims,
                                         &out.value);
  return out;
}

static zoo_tensor named_weight(zoo_net *net, const char *name, zoo_shape shape,
                               const float *data) {
  zoo_tensor out = of_shape(shape);
  if (net->status == EGRAPH_OK)
    net->status = egraph_graph_add_weight(net->graph, name, EGRAPH_FLOAT32, shape.rank,
                                          shape.dims, data, &out.value);
  return out;
}

zoo_tensor zoo_frozen(zoo_net *net, const char *name, zoo_shape shape) {
  return named_weight(net, name, shape, NULL);
}

zoo_tensor zoo_constant(zoo_net *net, zoo_shape shape, const float *data) {
  char name[MAX_NAME];
  (void)snprintf(name, sizeof name, "w%u", net->made++);
  return named_weight(net, name, shape, data);
}

zoo_tensor zoo_weight(zoo_net *net, zoo_shape shape) {
  return zoo_constant(net, shape, NULL);
}

void zoo_output(zoo_net *net, zoo_tensor value) {
  if (net->status == EGRAPH_OK)
    net->status = egraph_graph_add_output(net->graph, NULL, value.value);
}

zoo_tensor zoo_op(zoo_net *net, const char *op, const char *attributes,
                  const zoo_tensor *operands, uint32_t count, zoo_shape shape) {
  zoo_tensor out = of_shape(shape);
  egraph_value values[MAX_OPERANDS];
  if (net->status != EGRAPH_OK) return out;
  for (uint32_t i = 0; i < count; i++)
    values[i] = operands[i].value;
  net->status =
      egraph_graph_add(net->graph, NULL, op, attributes, values, count, &out.value);
  return out;
}

// ---- layers ----------------------------------------------------------------------

zoo_tensor zoo_unary(zoo_net *net, const char *op, zoo_tensor x) {
  return zoo_op(net, op, NULL, &x, 1, shape_of(x));
}

zoo_tensor zoo_binary(zoo_net *net, const char *op, zoo_tensor a, zoo_tensor b) {
  return zoo_op(net, op, NULL, (zoo_tensor[]){a, b}, 2, shape_of(a));
}

zoo_tensor zoo_matmul(zoo_net *net, zoo_tensor a, zoo_tensor b, bool transposes_b) {
  zoo_shape shape = shape_of(a);
  shape.dims[a.rank - 1] = b.dims[b.rank - (transposes_b ? 2 : 1)];
  return zoo_op(net, "matmul", transposes_b ? ":transB 1" : NULL, (zoo_tensor[]){a, b}, 2,
                shape);
}

zoo_tensor zoo_dense(zoo_net *net, zoo_tensor x, int64_t units, bool has_bias,
                     const char *activation) {
  zoo_tensor w = zoo_weight(net, (zoo_shape){2, {x.dims[x.rank - 1], units}});
  zoo_tensor y = zoo_matmul(net, x, w, false);
  if (has_bias) y = zoo_binary(net, "add", y, zoo_weight(net, (zoo_shape){1, {units}}));
  return activation != NULL ? zoo_unary(net, activation, y) : y;
}

zoo_tensor zoo_norm(zoo_net *net, zoo_tensor x) {
  zoo_shape width = {1, {x.dims[x.rank - 1]}};
  zoo_tensor scale = zoo_weight(net, width), bias = zoo_weight(net, width);
  return zoo_op(net, "layer-normalization", NULL, (zoo_tensor[]){x, scale, bias}, 3,
                shape_of(x));
}

/// Appends " :name [1 2 3]" to the text.
static void add_ints(char text[MAX_ATTRIBUTES], const char *name, const int64_t *numbers,
                     uint32_t count) {
  size_t used = strlen(text);
  used += (size_t)snprintf(text + used, MAX_ATTRIBUTES - used, " :%s [", name);
  for (uint32_t i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, MAX_ATTRIBUTES - used,
                             i == 0 ? "%lld" : " %lld", (long long)numbers[i]);
  (void)snprintf(text + used, MAX_ATTRIBUTES - used, "]");
}

zoo_tensor zoo_reshape(zoo_net *net, zoo_tensor x, zoo_shape shape) {
  char attributes[MAX_ATTRIBUTES] = "";
  add_ints(attributes, "shape", shape.dims, shape.rank);
  return zoo_op(net, "reshape", attributes, &x, 1, shape);
}

zoo_tensor zoo_transpose(zoo_net *net, zoo_tensor x, const char *order) {
  char attributes[MAX_ATTRIBUTES] = "";
  int64_t perm[ZOO_MAX_RANK];
  zoo_shape shape = {.rank = x.rank};
  for (uint32_t i = 0; i < x.rank; i++) {
    perm[i] = order[i] - '0';
    shape.dims[i] = x.dims[perm[i]];
  }
  add_ints(attributes, "perm", perm, x.rank);
  return zoo_op(net, "transpose", attributes, &x, 1, shape);
}

zoo_tensor zoo_concat(zoo_net *net, const zoo_tensor *parts, uint32_t count,
                      uint32_t axis) {
  char attributes[MAX_ATTRIBUTES];
  zoo_shape shape = shape_of(parts[0]);
  for (uint32_t i = 1; i < count; i++)
    shape.dims[axis] += parts[i].dims[axis];
  (void)snprintf(attributes, sizeof attributes, ":axis %u", axis);
  return zoo_op(net, "concat", attributes, parts, count, shape);
}

zoo_tensor zoo_embed(zoo_net *net, zoo_tensor table, zoo_tensor indices) {
  zoo_shape shape = shape_of(indices);
  shape.dims[shape.rank++] = table.dims[1];
  return zoo_op(net, "gather", ":axis 0", (zoo_tensor[]){table, indices}, 2, shape);
}

// ---- images ----------------------------------------------------------------------

/// Writes strides and pads; returns the shape of the result with `channels`.
static zoo_shape slide(zoo_tensor x, zoo_window w, int64_t channels,
                       char attributes[MAX_ATTRIBUTES]) {
  const int64_t kernel[2] = {w.height, w.width}, strides[2] = {w.stride, w.stride};
  int64_t pads[4] = {0};
  zoo_shape shape = {4, {x.dims[0], channels}};
  for (int i = 0; i < 2; i++) {
    int64_t size = x.dims[2 + i], *out = &shape.dims[2 + i];
    *out =
        w.is_same ? (size + w.stride - 1) / w.stride : (size - kernel[i]) / w.stride + 1;
    int64_t pad = (*out - 1) * w.stride + kernel[i] - size;
    if (!w.is_same || pad < 0) continue;
    pads[i] = pad / 2;
    pads[2 + i] = pad - pad / 2;
  }
  add_ints(attributes, "strides", strides, 2);
  add_ints(attributes, "pads", pads, 4);
  return shape;
}

static const int64_t DILATIONS[2] = {1, 1};

zoo_tensor zoo_conv(zoo_net *net, zoo_tensor x, zoo_window window, int64_t channels,
                    int64_t group) {
  char attributes[MAX_ATTRIBUTES] = "";
  zoo_shape shape = slide(x, window, channels, attributes);
  add_ints(attributes, "dilations", DILATIONS, 2);
  size_t used = strlen(attributes);
  if (group != 1)
    (void)snprintf(attributes + used, sizeof attributes - used, " :group %lld",
                   (long long)group);
  zoo_tensor w = zoo_weight(
      net, (zoo_shape){4, {channels, x.dims[1] / group, window.height, window.width}});
  return zoo_op(net, "conv", attributes, (zoo_tensor[]){x, w}, 2, shape);
}

zoo_tensor zoo_conv_relu(zoo_net *net, zoo_tensor x, zoo_window window, int64_t channels,
                         int64_t group) {
  return zoo_unary(net, "relu", zoo_conv(net, x, window, channels, group));
}

zoo_tensor zoo_pool(zoo_net *net, const char *op, zoo_tensor x, zoo_window window) {
  char attributes[MAX_ATTRIBUTES] = "";
  const int64_t kernel[2] = {window.height, window.width};
  zoo_shape shape = slide(x, window, x.dims[1], attributes);
  add_ints(attributes, "kernel_shape", kernel, 2);
  if (strcmp(op, "max-pool") == 0) add_ints(attributes, "dilations", DILATIONS, 2);
  return zoo_op(net, op, attributes, &x, 1, shape);
}

zoo_tensor zoo_global_pool(zoo_net *net, zoo_tensor x) {
  zoo_tensor y = zoo_op(net, "global-average-pool", NULL, &x, 1,
                        (zoo_shape){4, {x.dims[0], x.dims[1], 1, 1}});
  return zoo_reshape(net, y, (zoo_shape){2, {x.dims[0], x.dims[1]}});
}
