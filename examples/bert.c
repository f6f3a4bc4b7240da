// Builds a BERT encoder as exporters write it: layer normalization and GELU consist of
// elementary operators.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "network.h"

enum { HIDDEN = 768, HEADS = 12, HEAD = HIDDEN / HEADS, INNER = 4 * HIDDEN };

static egraph_value scalar(network *net, double value) {
  return network_weight(net, 0, NULL, value, value);
}

static egraph_value linear(network *net, egraph_value x, int64_t in, int64_t out) {
  double bound = sqrt(3.0 / (double)in);
  egraph_value w = network_weight(net, 2, (int64_t[]){in, out}, -bound, bound);
  egraph_value b = network_weight(net, 1, &out, -0.1, 0.1);
  return ADD2(net, "add", NULL, ADD2(net, "matmul", NULL, x, w), b);
}

static egraph_value layer_norm(network *net, egraph_value x) {
  static const int64_t hidden = HIDDEN;
  static const char mean[] = ":axes [2]";
  egraph_value d = ADD2(net, "sub", NULL, x, ADD1(net, "reduce-mean", mean, x));
  egraph_value v =
      ADD1(net, "reduce-mean", mean, ADD2(net, "pow", NULL, d, scalar(net, 2.0)));
  egraph_value s = ADD1(net, "sqrt", NULL, ADD2(net, "add", NULL, v, scalar(net, 1e-5)));
  egraph_value n = ADD2(net, "mul", NULL, ADD2(net, "div", NULL, d, s),
                        network_weight(net, 1, &hidden, 0.8, 1.2));
  return ADD2(net, "add", NULL, n, network_weight(net, 1, &hidden, -0.1, 0.1));
}

static egraph_value gelu(network *net, egraph_value x) {
  egraph_value e =
      ADD1(net, "erf", NULL, ADD2(net, "div", NULL, x, scalar(net, sqrt(2.0))));
  egraph_value one = ADD2(net, "add", NULL, e, scalar(net, 1.0));
  return ADD2(net, "mul", NULL, ADD2(net, "mul", NULL, x, one), scalar(net, 0.5));
}

static egraph_value split_heads(network *net, egraph_value x, int64_t tokens,
                                const char *perm) {
  char shape[64];
  (void)snprintf(shape, sizeof shape, ":shape [1 %d %d %d]", (int)tokens, HEADS, HEAD);
  return ADD1(net, "transpose", perm, ADD1(net, "reshape", shape, x));
}

static egraph_value attention(network *net, egraph_value x, int64_t tokens) {
  egraph_value q =
      split_heads(net, linear(net, x, HIDDEN, HIDDEN), tokens, ":perm [0 2 1 3]");
  egraph_value k =
      split_heads(net, linear(net, x, HIDDEN, HIDDEN), tokens, ":perm [0 2 3 1]");
  egraph_value v =
      split_heads(net, linear(net, x, HIDDEN, HIDDEN), tokens, ":perm [0 2 1 3]");
  egraph_value scores = ADD2(net, "div", NULL, ADD2(net, "matmul", NULL, q, k),
                             scalar(net, sqrt((double)HEAD)));
  egraph_value mixed =
      ADD2(net, "matmul", NULL, ADD1(net, "softmax", ":axis 3", scores), v);
  char shape[64];
  (void)snprintf(shape, sizeof shape, ":shape [1 %d %d]", (int)tokens, HIDDEN);
  egraph_value joined =
      ADD1(net, "reshape", shape, ADD1(net, "transpose", ":perm [0 2 1 3]", mixed));
  return linear(net, joined, HIDDEN, HIDDEN);
}

egraph_status build_bert(uint64_t seed, int layers, int64_t tokens, egraph_graph **out) {
  network net;
  network_open(&net, seed);
  egraph_value x = network_input(&net, "tokens", 3, (int64_t[]){1, tokens, HIDDEN});
  for (int layer = 0; layer < layers; layer++) {
    x = layer_norm(&net, ADD2(&net, "add", NULL, attention(&net, x, tokens), x));
    egraph_value inner = gelu(&net, linear(&net, x, HIDDEN, INNER));
    x = layer_norm(&net, ADD2(&net, "add", NULL, linear(&net, inner, INNER, HIDDEN), x));
  }
  return network_close(&net, "encoded", x, out);
}
