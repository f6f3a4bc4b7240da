// Searches for plans against all plans: on random tiny graphs on four devices no search
// beats the exhaustive one, and how far each is from it is printed.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>

#include "tests/unit/api_kit.h"

enum { OPERATORS = 4 };

/// Four devices on which an exchange takes about as long as an operator.
static const char MACHINE[] =
    "(egraph-machine 1)\n(name four)\n"
    "(device (kind \"a device\") (profile \"four\") (overhead 1e-7) (slowdown 1.0)\n"
    "  (memory 1e10) (bandwidth 1e11) (peak (float32 1e12)))\n"
    "(link wire (latency 1e-6) (bandwidth 4e10))\n(axis gpu 4 wire)\n(mesh (gpu 4))\n";

typedef struct distance {
  const char *name; // NULL: the product's own, by simulated seconds
  double most;      // times the shortest that it may take: measured, with some room
  double worst, sum;
  uint32_t exact;
} distance;

static uint32_t draw_below(uint64_t *state, uint32_t count) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((*state >> 33) % count);
}

/// A chain of operators with branches, all of one shape.
static egraph_graph *draw_graph(api_kit *kit, uint64_t *state) {
  static const char *const unary[] = {"relu", "tanh", "neg"};
  static const int sizes[] = {256, 1024, 2048}, heights[] = {6, 64, 1022};
  char text[2048];
  int n = sizes[draw_below(state, 3)], rows = heights[draw_below(state, 3)];
  size_t used = (size_t)snprintf(
      text, sizeof text, "(egraph-graph 1)(input v0 \"float32[%d,%d]\")", rows, n);
  for (uint32_t i = 1; i <= OPERATORS; i++) {
    uint32_t from = draw_below(state, 4) == 0 ? draw_below(state, i) : i - 1;
    uint32_t kind = draw_below(state, 5);
    const char *form = kind < 2   ? "(weight w%u \"float32[%d,%d]\")"
                                    "(let v%u (matmul v%u w%u))"
                       : kind < 4 ? "(let v%u (%s v%u))"
                                  : "(let v%u (add v%u v%u))";
    int length;
    if (kind < 2)
      length = snprintf(text + used, sizeof text - used, form, i, n, n, i, from, i);
    else if (kind < 4)
      length = snprintf(text + used, sizeof text - used, form, i,
                        unary[draw_below(state, 3)], from);
    else
      length = snprintf(text + used, sizeof text - used, form, i, i - 1, from);
    used += (size_t)length;
  }
  (void)snprintf(text + used, sizeof text - used, "(output v%d)", OPERATORS);
  egraph_graph *graph;
  assert_ok(
      egraph_graph_parse(&kit->alloc, "drawn.egraph", text, strlen(text), NULL, &graph));
  return graph;
}

static double seconds_by(api_kit *kit, const egraph_graph *graph, const char *name) {
  api_problem problem = api_target(kit->path, "gpu=4");
  egraph_result *result;
  problem.search.algorithm = name;
  problem.search.overlap = name == NULL;
  problem.search.work_limit = name == NULL ? 2000 : 200;
  if (name != NULL && strcmp(name, "exhaustive") == 0) problem.search.work_limit = 100000;
  assert_ok(api_optimize(&kit->alloc, graph, &problem, &result));
  double seconds = egraph_result_report(result)->overlapped;
  egraph_result_destroy(result);
  return seconds;
}

static void no_search_beats_all_plans(void **state) {
  api_kit *kit = *state;
  distance all[] = {{.name = NULL, .most = 1.02},
                    {.name = "alpa-intra", .most = 1.3},
                    {.name = "mcmc", .most = 1.3},
                    {.name = "optcnn", .most = 1.3},
                    {.name = "unity", .most = 1.3}};
  enum { COUNT = sizeof all / sizeof *all };
  uint64_t random = 7;
  uint32_t graphs = (uint32_t)test_rounds(12);
  (void)snprintf(kit->path, sizeof kit->path, "test_plan_search_distance.machine");
  api_write_file(kit->path, MACHINE, strlen(MACHINE));
  for (uint32_t g = 0; g < graphs; g++) {
    egraph_graph *graph = draw_graph(kit, &random);
    double shortest = seconds_by(kit, graph, "exhaustive");
    for (int i = 0; i < COUNT; i++) {
      double times = seconds_by(kit, graph, all[i].name) / shortest;
      assert_true(times >= 1 - 1e-9);
      all[i].worst = fmax(all[i].worst, times);
      all[i].sum += times;
      all[i].exact += times <= 1 + 1e-9;
    }
    egraph_graph_destroy(graph);
  }
  for (int i = 0; i < COUNT; i++) {
    printf("%-12s shortest in %2u of %u, mean %.4f, worst %.4f times the shortest\n",
           all[i].name != NULL ? all[i].name : "own", all[i].exact, graphs,
           all[i].sum / graphs, all[i].worst);
    assert_true(all[i].worst <= all[i].most);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {api_test(no_search_beats_all_plans)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
