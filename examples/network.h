// A small layer on the public API for writing networks down: seeded weights, and an error
// that sticks, so that a network reads as a list of layers and is checked once at its
// end.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXAMPLES_NETWORK_H
#define EG_EXAMPLES_NETWORK_H

#include "egraph.h"

typedef struct network {
  egraph_graph *graph;
  egraph_status status; // first failure; later calls do nothing
  uint64_t seed;
  unsigned made; // names so far
} network;

void network_open(network *net, uint64_t seed);
egraph_value network_input(network *net, const char *name, uint32_t rank,
                           const int64_t *dims);
/// A weight with values uniform in [low, high].
egraph_value network_weight(network *net, uint32_t rank, const int64_t *dims, double low,
                            double high);
/// Adds an operator with up to 5 operands.
egraph_value network_add(network *net, const char *op, const char *attributes,
                         uint32_t count, const egraph_value *inputs);

/// ResNet-50 (He et al. 2016) for 1x3x224x224, batch normalization kept, 1000 classes.
egraph_status build_resnet50(uint64_t seed, egraph_graph **out);
/// BERT encoder (Devlin et al. 2019): hidden 768, 12 heads, GELU and layer normalization
/// spelled out.
egraph_status build_bert(uint64_t seed, int layers, int64_t tokens, egraph_graph **out);

#endif
