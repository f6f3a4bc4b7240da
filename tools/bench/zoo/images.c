// ResNeXt-50, Inception-v3, Wide-ResNet.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/zoo/builders.h"

static zoo_tensor picture(zoo_net *net, int64_t batch, int64_t size) {
  return zoo_input(net, "image", EGRAPH_FLOAT32, (zoo_shape){4, {batch, 3, size, size}});
}

static void classify(zoo_net *net, zoo_tensor x, int64_t classes) {
  zoo_output(net, zoo_dense(net, zoo_global_pool(net, x), classes, true, NULL));
}

// ---- ResNeXt-50 --------------------------------------------------------------------

static zoo_tensor resnext_block(zoo_net *net, zoo_tensor x, int64_t channels,
                                int64_t stride) {
  int64_t out = 2 * channels;
  zoo_tensor y = zoo_conv_relu(net, x, zoo_square(1, 1, true), channels, 1);
  y = zoo_conv_relu(net, y, zoo_square(3, stride, true), channels, 32);
  y = zoo_conv(net, y, zoo_square(1, 1, true), out, 1);
  if (stride != 1 || x.dims[1] != out)
    x = zoo_conv(net, x, zoo_square(1, stride, true), out, 1);
  return zoo_unary(net, "relu", zoo_binary(net, "add", y, x));
}

void zoo_build_resnext50(zoo_net *net, int64_t batch, const zoo_size *size) {
  static const int blocks[] = {3, 4, 6, 3};
  (void)size;
  zoo_tensor x = picture(net, batch, 224);
  x = zoo_conv_relu(net, x, zoo_square(7, 2, true), 64, 1);
  x = zoo_pool(net, "max-pool", x, zoo_square(3, 2, true));
  for (int stage = 0; stage < 4; stage++)
    for (int i = 0; i < blocks[stage]; i++)
      x = resnext_block(net, x, INT64_C(128) << stage, stage > 0 && i == 0 ? 2 : 1);
  classify(net, x, 1000);
}

// ---- Inception-v3 ------------------------------------------------------------------

/// A convolution {height, width, channels} in a branch of a block; a branch is a sequence
/// of convolutions.
typedef struct branch_step {
  int64_t height, width, channels;
} branch_step;
#define BRANCH(...)                                                                      \
  (const branch_step[]){__VA_ARGS__},                                                    \
      sizeof((const branch_step[]){__VA_ARGS__}) / sizeof(branch_step)

static zoo_tensor branch(zoo_net *net, zoo_tensor x, const branch_step *steps,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    zoo_window window = {steps[i].height, steps[i].width, 1, true};
    x = zoo_conv_relu(net, x, window, steps[i].channels, 1);
  }
  return x;
}

zoo_tensor zoo_halve(zoo_net *net, zoo_tensor x, int64_t channels) {
  return zoo_conv_relu(net, x, zoo_square(3, 2, false), channels, 1);
}

zoo_tensor zoo_shrink(zoo_net *net, zoo_tensor x) {
  return zoo_pool(net, "max-pool", x, zoo_square(3, 2, false));
}

zoo_tensor zoo_inception_stem(zoo_net *net, zoo_tensor image) {
  zoo_tensor x = zoo_halve(net, image, 32);
  x = zoo_conv_relu(net, x, zoo_square(3, 1, false), 32, 1);
  x = zoo_shrink(net, zoo_conv_relu(net, x, zoo_square(3, 1, true), 64, 1));
  x = zoo_conv_relu(net, x, zoo_square(1, 1, true), 80, 1);
  return zoo_shrink(net, zoo_conv_relu(net, x, zoo_square(3, 1, false), 192, 1));
}

static zoo_tensor smooth(zoo_net *net, zoo_tensor x) {
  return zoo_pool(net, "average-pool", x, zoo_square(3, 1, true));
}

static zoo_tensor inception_a(zoo_net *net, zoo_tensor x, int64_t pooled) {
  const zoo_tensor parts[] = {branch(net, x, BRANCH({1, 1, 64})),
                              branch(net, x, BRANCH({1, 1, 48}, {5, 5, 64})),
                              branch(net, x, BRANCH({1, 1, 64}, {3, 3, 96}, {3, 3, 96})),
                              branch(net, smooth(net, x), BRANCH({1, 1, pooled}))};
  return zoo_concat(net, parts, 4, 1);
}

static zoo_tensor inception_b(zoo_net *net, zoo_tensor x) {
  const zoo_tensor parts[] = {
      zoo_halve(net, x, 384),
      zoo_halve(net, branch(net, x, BRANCH({1, 1, 64}, {3, 3, 96})), 96),
      zoo_shrink(net, x)};
  return zoo_concat(net, parts, 3, 1);
}

static zoo_tensor inception_c(zoo_net *net, zoo_tensor x, int64_t c) {
  const zoo_tensor parts[] = {
      branch(net, x, BRANCH({1, 1, 192})),
      branch(net, x, BRANCH({1, 1, c}, {1, 7, c}, {7, 1, 192})),
      branch(net, x, BRANCH({1, 1, c}, {7, 1, c}, {1, 7, c}, {7, 1, c}, {1, 7, 192})),
      branch(net, smooth(net, x), BRANCH({1, 1, 192}))};
  return zoo_concat(net, parts, 4, 1);
}

static zoo_tensor inception_d(zoo_net *net, zoo_tensor x) {
  const zoo_tensor parts[] = {
      zoo_halve(net, branch(net, x, BRANCH({1, 1, 192})), 320),
      zoo_halve(net, branch(net, x, BRANCH({1, 1, 192}, {1, 7, 192}, {7, 1, 192})), 192),
      zoo_shrink(net, x)};
  return zoo_concat(net, parts, 3, 1);
}

static zoo_tensor inception_e(zoo_net *net, zoo_tensor x) {
  zoo_tensor m = branch(net, x, BRANCH({1, 1, 384}));
  zoo_tensor n = branch(net, x, BRANCH({1, 1, 448}, {3, 3, 384}));
  const zoo_tensor parts[] = {branch(net, x, BRANCH({1, 1, 320})),
                              branch(net, m, BRANCH({1, 3, 384})),
                              branch(net, m, BRANCH({3, 1, 384})),
                              branch(net, n, BRANCH({1, 3, 384})),
                              branch(net, n, BRANCH({3, 1, 384})),
                              branch(net, smooth(net, x), BRANCH({1, 1, 192}))};
  return zoo_concat(net, parts, 6, 1);
}

void zoo_build_inception(zoo_net *net, int64_t batch, const zoo_size *size) {
  (void)size;
  zoo_tensor x = zoo_inception_stem(net, picture(net, batch, 299));
  static const int64_t pooled[] = {32, 64, 64}, inner[] = {128, 160, 160, 192};
  for (int i = 0; i < 3; i++)
    x = inception_a(net, x, pooled[i]);
  x = inception_b(net, x);
  for (int i = 0; i < 4; i++)
    x = inception_c(net, x, inner[i]);
  x = inception_e(net, inception_e(net, inception_d(net, x)));
  classify(net, x, 1000);
}

// ---- Wide-ResNet -------------------------------------------------------------------

/// Adds a convolution, and a batch normalization with given statistics.
static zoo_tensor normalized(zoo_net *net, zoo_tensor x, zoo_window window,
                             int64_t channels) {
  zoo_tensor operands[5] = {zoo_conv(net, x, window, channels, 1)};
  for (int i = 1; i < 5; i++)
    operands[i] = zoo_weight(net, (zoo_shape){1, {channels}});
  zoo_shape shape = {
      4, {operands[0].dims[0], channels, operands[0].dims[2], operands[0].dims[3]}};
  return zoo_op(net, "batch-normalization", NULL, operands, 5, shape);
}

/// Adds a block in which only the convolution of 3x3 has more channels, by a factor.
static zoo_tensor wide_block(zoo_net *net, zoo_tensor x, int64_t channels, int64_t inner,
                             int64_t stride) {
  int64_t out = 4 * channels;
  zoo_tensor y = normalized(net, x, zoo_square(1, 1, true), channels);
  y = normalized(net, zoo_unary(net, "relu", y), zoo_square(3, stride, true), inner);
  y = normalized(net, zoo_unary(net, "relu", y), zoo_square(1, 1, true), out);
  if (stride != 1 || x.dims[1] != out)
    x = normalized(net, x, zoo_square(1, stride, true), out);
  return zoo_unary(net, "relu", zoo_binary(net, "add", y, x));
}

void zoo_build_wide_resnet(zoo_net *net, int64_t batch, const zoo_size *size) {
  const int64_t blocks[] = {3, 4, size->layers == 101 ? 23 : 6, 3};
  zoo_tensor x = picture(net, batch, 224);
  x = normalized(net, x, zoo_square(7, 2, true), size->width);
  x = zoo_pool(net, "max-pool", zoo_unary(net, "relu", x), zoo_square(3, 2, true));
  for (int stage = 0; stage < 4; stage++)
    for (int64_t i = 0; i < blocks[stage]; i++) {
      int64_t channels = size->width << stage;
      x = wide_block(net, x, channels, channels * size->factor,
                     stage > 0 && i == 0 ? 2 : 1);
    }
  classify(net, x, 1024);
}
