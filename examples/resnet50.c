// Builds ResNet-50: a stem, 16 bottleneck blocks in four stages, global pooling and
// a classifier.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "network.h"

static egraph_value vector(network *net, int64_t channels, double low, double high) {
  return network_weight(net, 1, &channels, low, high);
}

static egraph_value conv_bn(network *net, egraph_value x, int64_t in, int64_t out,
                            int64_t kernel, int64_t stride) {
  double bound = sqrt(3.0 / (double)(in * kernel * kernel));
  egraph_value w =
      network_weight(net, 4, (int64_t[]){out, in, kernel, kernel}, -bound, bound);
  char attrs[128];
  int pad = (int)kernel / 2, s = (int)stride;
  (void)snprintf(attrs, sizeof attrs,
                 ":strides [%d %d] :pads [%d %d %d %d] :dilations [1 1]", s, s, pad, pad,
                 pad, pad);
  egraph_value y = ADD2(net, "conv", attrs, x, w);
  egraph_value bn[] = {y, vector(net, out, 0.8, 1.2), vector(net, out, -0.1, 0.1),
                       vector(net, out, -0.1, 0.1), vector(net, out, 0.5, 1.5)};
  return network_add(net, "batch-normalization", NULL, 5, bn);
}

static egraph_value bottleneck(network *net, egraph_value x, int64_t in, int64_t width,
                               int64_t stride) {
  egraph_value y = ADD1(net, "relu", NULL, conv_bn(net, x, in, width, 1, 1));
  y = ADD1(net, "relu", NULL, conv_bn(net, y, width, width, 3, stride));
  y = conv_bn(net, y, width, 4 * width, 1, 1);
  if (in != 4 * width) x = conv_bn(net, x, in, 4 * width, 1, stride);
  return ADD1(net, "relu", NULL, ADD2(net, "add", NULL, y, x));
}

egraph_status build_resnet50(uint64_t seed, egraph_graph **out) {
  static const int blocks[] = {3, 4, 6, 3};
  network net;
  network_open(&net, seed);
  egraph_value x = network_input(&net, "image", 4, (int64_t[]){1, 3, 224, 224});
  x = ADD1(&net, "relu", NULL, conv_bn(&net, x, 3, 64, 7, 2));
  x = ADD1(&net, "max-pool",
           ":kernel_shape [3 3] :strides [2 2] :pads [1 1 1 1] :dilations [1 1]", x);
  int64_t channels = 64;
  for (int stage = 0; stage < 4; stage++) {
    int64_t width = INT64_C(64) << stage;
    for (int block = 0; block < blocks[stage]; block++) {
      x = bottleneck(&net, x, channels, width, block == 0 && stage != 0 ? 2 : 1);
      channels = 4 * width;
    }
  }
  x = ADD1(&net, "flatten", ":axis 1", ADD1(&net, "global-average-pool", NULL, x));
  double bound = sqrt(3.0 / 2048.0);
  egraph_value classifier[] = {
      x, network_weight(&net, 2, (int64_t[]){1000, 2048}, -bound, bound),
      vector(&net, 1000, -0.1, 0.1)};
  x = network_add(&net, "gemm", ":transB 1", 3, classifier);
  return network_close(&net, "logits", x, out);
}
