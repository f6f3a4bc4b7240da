// A program of somebody else: what it needs must be in the installed package.
// Usage: consumer [PLAN], which it runs as one rank of several.
// SPDX-License-Identifier: Apache-2.0
#include <egraph.h>
#include <string.h>

static int run_rank(const char *file) {
  float x[16 * 8] = {0}, y[16 * 8];
  egraph_tensor input = {.dtype = EGRAPH_FLOAT32, .rank = 2, .dims = {16, 8}, .data = x};
  egraph_tensor output = input;
  output.data = y;
  egraph_plan *plan = NULL;
  uint32_t rank;
  egraph_status status = egraph_plan_load(NULL, file, &plan);
  if (status == EGRAPH_OK)
    status = egraph_plan_run_rank(NULL, plan, "mpi", NULL, &input, 1, &output, 1, &rank);
  if (status != EGRAPH_OK) fprintf(stderr, "%s\n", egraph_last_error());
  egraph_plan_destroy(plan);
  return status == EGRAPH_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc > 1) return run_rank(argv[1]);
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
