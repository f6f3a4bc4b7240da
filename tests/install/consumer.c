// A program of somebody else: what it needs must be in the installed package.
// SPDX-License-Identifier: Apache-2.0
#include <egraph.h>
#include <string.h>

int main(void) {
  egraph_graph *graph = NULL;
  egraph_value x, y;
  const int64_t dims[] = {2, 3};
  egraph_status status = egraph_graph_create(NULL, &graph);
  if (status == EGRAPH_OK)
    status = egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, dims, &x);
  if (status == EGRAPH_OK) status = egraph_graph_add(graph, "y", "relu", NULL, &x, 1, &y);
  if (status == EGRAPH_OK) status = egraph_graph_add_output(graph, "y", y);
  if (status != EGRAPH_OK)
    fprintf(stderr, "%s\n", egraph_last_error());
  else
    printf("egraph %s: %u node\n", egraph_version(), egraph_graph_info_of(graph).nodes);
  egraph_graph_destroy(graph);
  return status == EGRAPH_OK ? 0 : 1;
}
