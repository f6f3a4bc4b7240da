// The graphs that Tensat (MLSys'21) optimizes, rebuilt from the description of its
// benchmarks as bench/tensat.py does: one device, batch 1, no biases. Its "bert" is eight
// blocks of products without softmax, whose attention results are outputs.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/zoo/builders.h"

static zoo_tensor picture(zoo_net *net, int64_t batch, int64_t channels, int64_t size) {
  return zoo_input(net, "x", EGRAPH_FLOAT32,
                   (zoo_shape){4, {batch, channels, size, size}});
}

static zoo_tensor sum(zoo_net *net, zoo_tensor a, zoo_tensor b) {
  return zoo_binary(net, "add", a, b);
}

static zoo_tensor product(zoo_net *net, zoo_tensor a, zoo_tensor b) {
  return zoo_binary(net, "mul", a, b);
}

/// Adds a convolution with pads and relu.
static zoo_tensor same(zoo_net *net, zoo_tensor x, int64_t size, int64_t channels) {
  return zoo_conv_relu(net, x, zoo_square(size, 1, true), channels, 1);
}

// ---- bert, nasrnn ------------------------------------------------------------------

void zoo_build_tensat_bert(zoo_net *net, int64_t batch, const zoo_size *size) {
  enum { BLOCKS = 8, TOKENS = 64, HEADS = 16, WIDTH = 1024 };
  (void)batch, (void)size;
  const zoo_shape split = {3, {TOKENS, HEADS, WIDTH / HEADS}},
                  flat = {2, {TOKENS, WIDTH}};
  zoo_tensor x = zoo_unary(net, "relu", zoo_input(net, "x", EGRAPH_FLOAT32, flat));
  for (int i = 0; i < BLOCKS; i++) {
    zoo_tensor heads[3];
    for (int h = 0; h < 3; h++) {
      zoo_tensor wide = zoo_dense(net, x, WIDTH, false, NULL);
      heads[h] = zoo_transpose(net, zoo_reshape(net, wide, split), "102");
    }
    zoo_tensor out = zoo_matmul(net, heads[0], heads[1], false);
    out = zoo_transpose(net, zoo_matmul(net, out, heads[2], false), "102");
    zoo_output(net, zoo_reshape(net, out, flat));
    x = zoo_dense(net, x, WIDTH, false, NULL);
  }
  zoo_output(net, x);
}

void zoo_build_tensat_nasrnn(zoo_net *net, int64_t batch, const zoo_size *size) {
  enum { CELLS = 5, GATES = 8, WIDTH = 512 };
  static const char *const activation[GATES] = {
      "relu", "sigmoid", "tanh", "sigmoid", "sigmoid", "tanh", "sigmoid", "relu"};
  (void)batch, (void)size;
  const zoo_shape shape = {2, {1, WIDTH}};
  zoo_tensor h = zoo_weight(net, shape);
  for (int i = 0; i < CELLS; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "x%d", i);
    zoo_tensor x = zoo_input(net, name, EGRAPH_FLOAT32, shape), t[GATES];
    for (int g = 0; g < GATES; g++) {
      zoo_tensor left = zoo_dense(net, x, WIDTH, false, NULL);
      t[g] = sum(net, left, zoo_dense(net, h, WIDTH, false, NULL));
      t[g] = zoo_unary(net, activation[g], t[g]);
    }
    zoo_tensor m0 = sum(net, t[0], t[3]), m1 = sum(net, t[1], t[2]);
    zoo_tensor m2 = product(net, t[4], t[5]), m3 = product(net, t[6], t[7]);
    zoo_tensor m4 = sum(net, zoo_unary(net, "sigmoid", m1), zoo_unary(net, "tanh", m2));
    zoo_tensor m5 = product(net, zoo_unary(net, "tanh", m0), zoo_unary(net, "tanh", m3));
    m4 = zoo_unary(net, "tanh", m4);
    h = zoo_unary(net, "tanh", product(net, m4, zoo_unary(net, "tanh", m5)));
  }
  zoo_output(net, h);
}

// ---- residual networks ---------------------------------------------------------------

static zoo_tensor residual(zoo_net *net, zoo_tensor x, int64_t middle, int64_t out,
                           int64_t stride, int64_t group) {
  zoo_tensor y = same(net, x, 1, middle);
  y = zoo_conv_relu(net, y, zoo_square(3, stride, true), middle, group);
  y = zoo_conv(net, y, zoo_square(1, 1, true), out, 1);
  if (stride > 1 || x.dims[1] != out)
    x = zoo_conv_relu(net, x, zoo_square(1, stride, true), out, 1);
  return zoo_unary(net, "relu", sum(net, y, x));
}

static void residual_stages(zoo_net *net, zoo_tensor x, int64_t channels,
                            int64_t expansion, int64_t group) {
  static const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; stage++, channels *= 2)
    for (int i = 0; i < blocks[stage]; i++)
      x = residual(net, x, channels, expansion * channels, i == 0 && stage > 0 ? 2 : 1,
                   group);
  zoo_output(net, x);
}

void zoo_build_tensat_resnext50(zoo_net *net, int64_t batch, const zoo_size *size) {
  (void)size;
  zoo_tensor x =
      zoo_conv_relu(net, picture(net, batch, 3, 224), zoo_square(7, 2, true), 64, 1);
  x = zoo_pool(net, "max-pool", x, zoo_square(3, 2, true));
  residual_stages(net, x, 128, 2, 32);
}

void zoo_build_tensat_resnet50(zoo_net *net, int64_t batch, const zoo_size *size) {
  (void)size;
  residual_stages(net, picture(net, batch, 64, 56), 64, 4, 1);
}

// ---- nasnet ----------------------------------------------------------------------

static zoo_tensor separable(zoo_net *net, zoo_tensor x, int64_t size, int64_t channels,
                            int64_t stride) {
  x = zoo_conv(net, x, zoo_square(size, stride, true), x.dims[1], x.dims[1]);
  return zoo_conv(net, x, zoo_square(1, 1, true), channels, 1);
}

static zoo_tensor fit(zoo_net *net, zoo_tensor previous, zoo_tensor current,
                      int64_t channels) {
  bool is_same = previous.dims[2] == current.dims[2];
  return zoo_conv_relu(net, previous, zoo_square(is_same ? 1 : 3, is_same ? 1 : 2, true),
                       channels, 1);
}

static zoo_tensor window_of_3(zoo_net *net, const char *op, zoo_tensor x,
                              int64_t stride) {
  return zoo_pool(net, op, x, zoo_square(3, stride, true));
}

static zoo_tensor normal_cell(zoo_net *net, zoo_tensor previous, zoo_tensor current,
                              int64_t c) {
  zoo_tensor p = fit(net, previous, current, c), x = same(net, current, 1, c);
  const zoo_tensor parts[] = {
      sum(net, separable(net, x, 3, c, 1), x),
      sum(net, separable(net, p, 3, c, 1), separable(net, x, 3, c, 1)),
      sum(net, window_of_3(net, "average-pool", x, 1), p),
      sum(net, window_of_3(net, "average-pool", p, 1),
          window_of_3(net, "average-pool", p, 1)),
      sum(net, separable(net, p, 3, c, 1), separable(net, p, 3, c, 1))};
  return zoo_concat(net, parts, 5, 1);
}

static zoo_tensor reduction_cell(zoo_net *net, zoo_tensor previous, zoo_tensor current,
                                 int64_t c) {
  zoo_tensor p = fit(net, previous, current, c), x = same(net, current, 1, c);
  zoo_tensor out0 = sum(net, separable(net, p, 7, c, 2), separable(net, x, 5, c, 2));
  zoo_tensor out1 =
      sum(net, window_of_3(net, "max-pool", x, 2), separable(net, p, 7, c, 2));
  const zoo_tensor parts[] = {
      out0, out1,
      sum(net, window_of_3(net, "average-pool", x, 2), separable(net, p, 5, c, 2)),
      sum(net, window_of_3(net, "max-pool", x, 2), separable(net, out0, 3, c, 1)),
      sum(net, window_of_3(net, "average-pool", out0, 1), out1)};
  return zoo_concat(net, parts, 5, 1);
}

void zoo_build_tensat_nasnet(zoo_net *net, int64_t batch, const zoo_size *size) {
  (void)size;
  zoo_tensor x =
      zoo_conv_relu(net, picture(net, batch, 3, 224), zoo_square(7, 2, true), 64, 1);
  x = zoo_pool(net, "max-pool", x, zoo_square(3, 2, true));
  for (int64_t c = 128; c <= 512; c *= 2) {
    zoo_tensor previous = x, current = x;
    for (int i = 0; i < 5; i++) {
      zoo_tensor next = normal_cell(net, previous, current, c);
      previous = current;
      current = next;
    }
    x = reduction_cell(net, previous, current, 2 * c);
  }
  zoo_output(net, x);
}

// ---- inception -------------------------------------------------------------------

/// Adds a convolution of a window that need not be square, with pads and relu.
static zoo_tensor flat(zoo_net *net, zoo_tensor x, int64_t height, int64_t width,
                       int64_t channels) {
  return zoo_conv_relu(net, x, (zoo_window){height, width, 1, true}, channels, 1);
}

static zoo_tensor inception_a(zoo_net *net, zoo_tensor x, int64_t pooled) {
  zoo_tensor average = window_of_3(net, "average-pool", x, 1);
  const zoo_tensor parts[] = {same(net, x, 1, 64), same(net, same(net, x, 1, 48), 5, 64),
                              same(net, same(net, same(net, x, 1, 64), 3, 96), 3, 96),
                              same(net, average, 1, pooled)};
  return zoo_concat(net, parts, 4, 1);
}

static zoo_tensor inception_c(zoo_net *net, zoo_tensor x, int64_t c) {
  zoo_tensor a = flat(net, flat(net, same(net, x, 1, c), 1, 7, c), 7, 1, 192);
  zoo_tensor b = flat(net, flat(net, same(net, x, 1, c), 7, 1, c), 1, 7, c);
  b = flat(net, flat(net, b, 7, 1, c), 1, 7, 192);
  zoo_tensor average = window_of_3(net, "average-pool", x, 1);
  const zoo_tensor parts[] = {same(net, x, 1, 192), a, b, same(net, average, 1, 192)};
  return zoo_concat(net, parts, 4, 1);
}

static zoo_tensor both_ways(zoo_net *net, zoo_tensor x) {
  const zoo_tensor parts[] = {flat(net, x, 1, 3, 384), flat(net, x, 3, 1, 384)};
  return zoo_concat(net, parts, 2, 1);
}

static zoo_tensor inception_e(zoo_net *net, zoo_tensor x, const char *pool) {
  zoo_tensor m = same(net, x, 1, 384), n = same(net, same(net, x, 1, 448), 3, 384);
  const zoo_tensor parts[] = {same(net, x, 1, 320), both_ways(net, m), both_ways(net, n),
                              same(net, window_of_3(net, pool, x, 1), 1, 192)};
  return zoo_concat(net, parts, 4, 1);
}

void zoo_build_tensat_inception(zoo_net *net, int64_t batch, const zoo_size *size) {
  static const int64_t pooled[] = {32, 64, 64}, inner[] = {128, 160, 160, 192};
  (void)size;
  zoo_tensor x = zoo_inception_stem(net, picture(net, batch, 3, 299));
  for (int i = 0; i < 3; i++)
    x = inception_a(net, x, pooled[i]);
  zoo_tensor b = same(net, same(net, x, 1, 64), 3, 96);
  x = zoo_concat(
      net,
      (zoo_tensor[]){zoo_halve(net, x, 384), zoo_halve(net, b, 96),
                     zoo_pool(net, "average-pool", x, zoo_square(3, 2, false))},
      3, 1);
  for (int i = 0; i < 4; i++)
    x = inception_c(net, x, inner[i]);
  b = flat(net, flat(net, same(net, x, 1, 192), 1, 7, 192), 7, 1, 192);
  x = zoo_concat(net,
                 (zoo_tensor[]){zoo_halve(net, same(net, x, 1, 192), 320),
                                zoo_halve(net, b, 192), zoo_shrink(net, x)},
                 3, 1);
  x = inception_e(net, inception_e(net, x, "average-pool"), "max-pool");
  zoo_output(net, zoo_pool(net, "average-pool", x, zoo_square(8, 1, false)));
}

// ---- squeezenet, vgg19 ----------------------------------------------------------------

static zoo_tensor flat_output(zoo_net *net, zoo_tensor x) {
  return zoo_reshape(net, x,
                     (zoo_shape){2, {x.dims[0], x.dims[1] * x.dims[2] * x.dims[3]}});
}

void zoo_build_tensat_squeezenet(zoo_net *net, int64_t batch, const zoo_size *size) {
  static const struct {
    int64_t squeezed, expanded;
    bool shrinks;
  } fires[] = {{16, 64, true},  {16, 64, false},  {32, 128, true},  {32, 128, false},
               {48, 192, true}, {48, 192, false}, {64, 256, false}, {64, 256, false}};
  (void)size;
  zoo_tensor x = zoo_halve(net, picture(net, batch, 3, 224), 64);
  for (size_t i = 0; i < sizeof fires / sizeof *fires; i++) {
    if (fires[i].shrinks) x = zoo_shrink(net, x);
    x = same(net, x, 1, fires[i].squeezed);
    const zoo_tensor parts[] = {same(net, x, 1, fires[i].expanded),
                                same(net, x, 3, fires[i].expanded)};
    x = zoo_concat(net, parts, 2, 1);
  }
  x = same(net, x, 1, 1000);
  x = zoo_pool(net, "average-pool", x, zoo_square(x.dims[2], 1, false));
  zoo_output(net, flat_output(net, x));
}

/// Adds a product with a weight [output, input], which is transposed first.
static zoo_tensor turned_dense(zoo_net *net, zoo_tensor x, int64_t units) {
  zoo_tensor w = zoo_weight(net, (zoo_shape){2, {units, x.dims[1]}});
  return zoo_matmul(net, x, zoo_transpose(net, w, "10"), false);
}

void zoo_build_tensat_vgg19(zoo_net *net, int64_t batch, const zoo_size *size) {
  static const struct {
    int repeats;
    int64_t channels;
  } stages[] = {{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}};
  (void)size;
  zoo_tensor x = picture(net, batch, 3, 224);
  for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
    for (int i = 0; i < stages[s].repeats; i++)
      x = same(net, x, 3, stages[s].channels);
    x = zoo_pool(net, "max-pool", x, zoo_square(2, 2, false));
  }
  x = zoo_unary(net, "relu", turned_dense(net, flat_output(net, x), 4096));
  x = zoo_unary(net, "relu", turned_dense(net, x, 4096));
  zoo_output(net, turned_dense(net, x, 1000));
}
