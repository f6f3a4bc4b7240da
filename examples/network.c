// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <stdlib.h>

void network_open(network *net, uint64_t seed) {
  *net = (network){.seed = seed};
  net->status = egraph_graph_create(NULL, &net->graph);
}

egraph_value network_input(network *net, const char *name, uint32_t rank,
                           const int64_t *dims) {
  egraph_value value = {0};
  if (net->status == EGRAPH_OK)
    net->status =
        egraph_graph_add_input(net->graph, name, EGRAPH_FLOAT32, rank, dims, &value);
  return value;
}

static double next_unit(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) * 0x1.0p-53;
}

egraph_value network_weight(network *net, uint32_t rank, const int64_t *dims, double low,
                            double high) {
  egraph_value value = {0};
  if (net->status != EGRAPH_OK) return value;
  char name[32];
  (void)snprintf(name, sizeof name, "weight_%u", net->made++);
  size_t count = 1;
  for (uint32_t i = 0; i < rank; i++)
    count *= (size_t)dims[i];
  float *data = malloc(count * sizeof *data);
  if (data == NULL) {
    net->status = EGRAPH_E_MEMORY;
    return value;
  }
  for (size_t i = 0; i < count; i++)
    data[i] = (float)(low + (high - low) * next_unit(&net->seed));
  net->status =
      egraph_graph_add_weight(net->graph, name, EGRAPH_FLOAT32, rank, dims, data, &value);
  free(data);
  return value;
}

egraph_value network_add(network *net, const char *op, const char *attributes,
                         uint32_t count, const egraph_value *inputs) {
  egraph_value value = {0};
  if (net->status == EGRAPH_OK)
    net->status =
        egraph_graph_add(net->graph, NULL, op, attributes, inputs, count, &value);
  return value;
}

egraph_status network_close(network *net, const char *name, egraph_value y,
                            egraph_graph **out) {
  if (net->status == EGRAPH_OK)
    net->status = egraph_graph_add_output(net->graph, name, y);
  if (net->status == EGRAPH_OK)
    *out = net->graph;
  else
    egraph_graph_destroy(net->graph);
  return net->status;
}
