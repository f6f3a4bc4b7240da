// A small layer on the public API for building networks: seeded weights, and a first
// error that stays. A network is therefore a list of layers with one check at its end.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXAMPLES_NETWORK_H
#define EG_EXAMPLES_NETWORK_H

#include "egraph.h"

typedef struct network {
  egraph_graph *graph;
  egraph_status status; // first failure; later calls do nothing
  uint64_t seed;
  unsigned made; // number of names so far
} network;

void network_open(network *net, uint64_t seed);
egraph_value network_input(network *net, const char *name, uint32_t rank,
                           const int64_t *dims);
/// Adds a weight with values uniform in [low, high].
egraph_value network_weight(network *net, uint32_t rank, const int64_t *dims, double low,
                            double high);
/// Adds an operator with up to 5 operands.
egraph_value network_add(network *net, const char *op, const char *attributes,
                         uint32_t count, const egraph_value *inputs);
#define ADD1(net, op, attrs, a) network_add(net, op, attrs, 1, (egraph_value[]){a})
#define ADD2(net, op, attrs, a, b) network_add(net, op, attrs, 2, (egraph_value[]){a, b})
/// Makes `y` the output `name` and stores the graph, or destroys it after a failure.
/// Returns the first failure.
egraph_status network_close(network *net, const char *name, egraph_value y,
                            egraph_graph **out);

/// Builds ResNet-50 (He et al. 2016) for 1x3x224x224, with batch normalization and
/// 1000 classes.
egraph_status build_resnet50(uint64_t seed, egraph_graph **out);
/// Builds a BERT encoder (Devlin et al. 2019): hidden 768, 12 heads, GELU and layer
/// normalization as elementary operators.
egraph_status build_bert(uint64_t seed, int layers, int64_t tokens, egraph_graph **out);

#endif
