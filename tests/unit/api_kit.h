// What the tests of the public API share: a counting heap around every test, small graphs
// written with public functions only, and temporary files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_API_KIT_H
#define EG_TESTS_API_KIT_H

#include <stdlib.h>

#include "include/egraph.h"
#include "tests/testing.h"

typedef struct api_kit {
  test_heap heap;
  egraph_allocator alloc;
  char path[128]; // a name for a temporary file, absent at the start of a test
} api_kit;

static inline int api_kit_setup(void **state) {
  api_kit *kit = test_calloc(1, sizeof *kit);
  kit->alloc = test_heap_allocator(&kit->heap);
  *state = kit;
  return 0;
}

static inline int api_kit_teardown(void **state) {
  api_kit *kit = *state;
  if (kit->path[0] != '\0') (void)remove(kit->path);
  assert_int_equal(kit->heap.live_bytes, 0);
  assert_int_equal(kit->heap.live_blocks, 0);
  test_free(kit);
  return 0;
}

#define api_test(f) cmocka_unit_test_setup_teardown(f, api_kit_setup, api_kit_teardown)

/// x[4,8] · w[8,6] -> relu -> "y"; w without data.
static inline egraph_status api_build_layer(egraph_graph *graph) {
  egraph_value x, w, y;
  egraph_status status =
      egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){4, 8}, &x);
  if (status == EGRAPH_OK)
    status = egraph_graph_add_weight(graph, "w", EGRAPH_FLOAT32, 2, (int64_t[]){8, 6},
                                     NULL, &w);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, "mm", "matmul", NULL, (egraph_value[]){x, w}, 2, &y);
  if (status == EGRAPH_OK)
    status = egraph_graph_add(graph, NULL, "relu", NULL, &y, 1, &y);
  return status == EGRAPH_OK ? egraph_graph_add_output(graph, "y", y) : status;
}

static inline egraph_graph *api_layer(const egraph_allocator *alloc) {
  egraph_graph *graph;
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(api_build_layer(graph));
  return graph;
}

/// x[16,16], then so often a product with a weight w<i>[16,16] and a relu -> "y".
static inline egraph_graph *api_deep(const egraph_allocator *alloc, uint32_t layers) {
  egraph_graph *graph;
  egraph_value x, w;
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(
      egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2, (int64_t[]){16, 16}, &x));
  for (uint32_t i = 0; i < layers; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "w%u", i);
    assert_ok(egraph_graph_add_weight(graph, name, EGRAPH_FLOAT32, 2, (int64_t[]){16, 16},
                                      NULL, &w));
    assert_ok(
        egraph_graph_add(graph, NULL, "matmul", NULL, (egraph_value[]){x, w}, 2, &x));
    assert_ok(egraph_graph_add(graph, NULL, "relu", NULL, &x, 1, &x));
  }
  assert_ok(egraph_graph_add_output(graph, "y", x));
  return graph;
}

/// A rule file of one rule that shortens the layer.
static const char api_fusion_rules[] =
    "(egraph-rules 1)\n"
    "(rule fuse (source \"test\") (lhs (relu (matmul ?x ?w)))\n"
    "  (rhs (matmul :act relu ?x ?w)))\n";

/// Every node costs a microsecond, so that fewer are better on every machine.
static inline bool api_unit_cost(void *user, const egraph_cost_query *query,
                                 double *out_seconds) {
  (void)user;
  (void)query;
  *out_seconds = 1e-6;
  return true;
}

static inline void api_write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/// The bytes of a file; free() them.
static inline char *api_read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *out_size = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(*out_size + 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, *out_size, file), *out_size);
  data[*out_size] = '\0';
  assert_int_equal(fclose(file), 0);
  return data;
}

/// A call of egraph_optimize: groups by value, given where they are wanted.
typedef struct api_problem {
  const egraph_rules *rules;
  egraph_costs_options costs; // with size 0: none
  bool targets, trains;
  egraph_target target;
  egraph_training training;
  egraph_search search;
  egraph_constraints constraints; // given where it says something, likewise baselines
  egraph_baselines compare;
  bool (*progress)(void *user, const char *phase, const char *line);
  void *user;
} api_problem;

static inline api_problem api_problem_default(void) {
  return (api_problem){.target = egraph_target_default(),
                       .training = egraph_training_default(),
                       .search = egraph_search_default(),
                       .constraints = egraph_constraints_default(),
                       .compare = egraph_baselines_default()};
}

/// The graph itself on `machine`.
static inline api_problem api_target(const char *machine, const char *mesh) {
  api_problem problem = api_problem_default();
  problem.targets = true;
  problem.target.machine = machine;
  problem.target.mesh = mesh;
  return problem;
}

/// A step with Adam on two ranks of this host.
static inline api_problem api_training(void) {
  api_problem problem = api_target("host*2", "cpu=2");
  problem.trains = true;
  problem.training.optimizer = "adam";
  problem.training.loss = "mean-squared-error";
  return problem;
}

static inline egraph_status api_optimize(const egraph_allocator *alloc,
                                         const egraph_graph *graph,
                                         const api_problem *problem,
                                         egraph_result **out) {
  const egraph_options options = {
      .size = sizeof options,
      .target = problem->targets ? &problem->target : NULL,
      .training = problem->trains ? &problem->training : NULL,
      .search = &problem->search,
      .constraints =
          problem->constraints.file != NULL || problem->constraints.text != NULL
              ? &problem->constraints
              : NULL,
      .compare = problem->compare.all || problem->compare.only != NULL ? &problem->compare
                                                                       : NULL,
      .progress = problem->progress,
      .user = problem->user};
  egraph_costs *costs = NULL;
  egraph_status status = EGRAPH_OK;
  if (problem->costs.size != 0)
    status = egraph_costs_create(alloc, &problem->costs, &costs);
  if (status == EGRAPH_OK)
    status = egraph_optimize(alloc, graph, problem->rules, costs, &options, out);
  egraph_costs_destroy(costs);
  return status;
}

/// Its plan alone.
static inline egraph_status api_plan(const egraph_allocator *alloc,
                                     const egraph_graph *graph,
                                     const api_problem *problem, egraph_plan **out) {
  egraph_result *result = NULL;
  egraph_status status = api_optimize(alloc, graph, problem, &result);
  if (status == EGRAPH_OK) status = egraph_result_take_plan(result, out);
  egraph_result_destroy(result);
  return status;
}

/// Of api_layer.
static inline egraph_result *api_optimize_layer(api_kit *kit,
                                                const api_problem *problem) {
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_result *result;
  assert_ok(api_optimize(&kit->alloc, graph, problem, &result));
  egraph_graph_destroy(graph); // the result stands alone
  return result;
}

static inline egraph_plan *api_plan_layer(api_kit *kit, const api_problem *problem) {
  egraph_result *result = api_optimize_layer(kit, problem);
  egraph_plan *plan;
  assert_ok(egraph_result_take_plan(result, &plan));
  egraph_result_destroy(result);
  return plan;
}

/// Of api_layer; what fails.
static inline egraph_status api_try_layer(api_kit *kit, const api_problem *problem) {
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_result *result = NULL;
  egraph_status status = api_optimize(&kit->alloc, graph, problem, &result);
  egraph_graph_destroy(graph);
  assert_null(result);
  return status;
}

#endif
