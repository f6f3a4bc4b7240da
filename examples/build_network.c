// Writes a real network, built through the C API with seeded weights, to an ONNX file.
//   build_network resnet50 resnet50.onnx        build_network bert bert.onnx [layers]
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "network.h"

enum { TOKENS = 128, BERT_BASE_LAYERS = 12, SEED = 7 };

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s resnet50|bert FILE.onnx [layers]\n", argv[0]);
    return 2;
  }
  int layers = argc > 3 ? atoi(argv[3]) : BERT_BASE_LAYERS;
  egraph_graph *graph = NULL;
  egraph_status status = EGRAPH_E_ARGUMENT;
  if (strcmp(argv[1], "resnet50") == 0) {
    status = build_resnet50(SEED, &graph);
  } else if (strcmp(argv[1], "bert") == 0 && layers > 0) {
    status = build_bert(SEED, layers, TOKENS, &graph);
  } else {
    fprintf(stderr, "%s: unknown network '%s', or no layers\n", argv[0], argv[1]);
    return 2;
  }
  if (status == EGRAPH_OK) status = egraph_graph_save(graph, argv[2]);
  if (status == EGRAPH_OK) {
    egraph_graph_info info = egraph_graph_info_of(graph);
    printf("%s: %u operators, %.2f GFLOP, %.0f MB of weights\n", argv[2], info.nodes,
           1e-9 * info.flops, 1e-6 * (double)info.weight_bytes);
  } else {
    fprintf(stderr, "%s: %s\n", argv[0], egraph_last_error());
  }
  egraph_graph_destroy(graph);
  return status == EGRAPH_OK ? 0 : 1;
}
