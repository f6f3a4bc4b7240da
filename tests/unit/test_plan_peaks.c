// Steps of equal blocks whose peak of memory is behind the blocks, where the loss is: all
// that the blocks keep is held there. Limits between the peak of the cheapest plan and
// the least peak have plans of blocks that differ, and bounds close to them.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

// The meshes of the machine; a fraction of a second of work for each.
static const char *const meshes[] = {"gpu=8", "gpu-outer=2,gpu-inner=4",
                                     "gpu-outer=4,gpu-inner=2"};
enum { MESHES = sizeof meshes / sizeof *meshes, WORK = 300 };
enum { BLOCKS = 12, ROWS = 256, WIDTH = 128, CLASSES = 8192 };

static egraph_value weight(egraph_graph *graph, const char *name, int64_t columns) {
  egraph_value w;
  assert_ok(egraph_graph_add_weight(graph, name, EGRAPH_FLOAT32, 2,
                                    (int64_t[]){WIDTH, columns}, NULL, &w));
  return w;
}

/// Blocks of a product and a tanh, then a product with many columns.
static egraph_graph *make_model(const egraph_allocator *alloc) {
  egraph_graph *graph;
  egraph_value x;
  assert_ok(egraph_graph_create(alloc, &graph));
  assert_ok(egraph_graph_add_input(graph, "x", EGRAPH_FLOAT32, 2,
                                   (int64_t[]){ROWS, WIDTH}, &x));
  for (int i = 0; i < BLOCKS; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "w%d", i);
    const egraph_value operands[] = {x, weight(graph, name, WIDTH)};
    assert_ok(egraph_graph_add(graph, NULL, "matmul", NULL, operands, 2, &x));
    assert_ok(egraph_graph_add(graph, NULL, "tanh", NULL, &x, 1, &x));
  }
  const egraph_value operands[] = {x, weight(graph, "head", CLASSES)};
  assert_ok(egraph_graph_add(graph, NULL, "matmul", NULL, operands, 2, &x));
  assert_ok(egraph_graph_add_output(graph, "y", x));
  return graph;
}

/// `mesh`: NULL: all meshes of the machine. `memory`: bytes of a device; 0: as the
/// machine has.
static egraph_result *plan_on(api_kit *kit, const char *mesh, double memory,
                              bool no_fold) {
  api_problem problem = api_target("dgx-h100*1", mesh);
  egraph_graph *graph = make_model(&kit->alloc);
  egraph_result *result;
  problem.trains = true;
  problem.training.optimizer = "adam";
  problem.training.loss = "mean-squared-error";
  problem.search.no_fold = no_fold;
  problem.search.groups = 0; // with them searches within a limit take more work
  problem.search.work_limit = mesh == NULL ? MESHES * WORK : WORK;
  if (memory > 0) problem.target.memory_limit = memory;
  assert_ok(api_optimize(&kit->alloc, graph, &problem, &result));
  egraph_graph_destroy(graph);
  return result;
}

static egraph_result *plan_within(api_kit *kit, double memory, bool no_fold) {
  return plan_on(kit, "gpu=8", memory, no_fold);
}

static double peak_of(const egraph_result *result) {
  return egraph_plan_info_of(egraph_result_plan(result)).memory;
}

static void bounds_are_close_between_the_peaks(void **state) {
  api_kit *kit = *state;
  egraph_result *all = plan_within(kit, 0, false);
  double most = peak_of(all), cost = egraph_result_report(all)->cost_after;
  for (int i = 1; i <= 3; i++) {
    double limit = floor(most * (1 - 0.01 * i));
    egraph_result *folded = plan_within(kit, limit, false);
    egraph_result *whole = plan_within(kit, limit, true);
    const egraph_report *a = egraph_result_report(folded);
    const egraph_report *b = egraph_result_report(whole);
    print_message("limit %.0f of %.0f: %.9g, gap %.4f; whole %.9g, gap %.4f\n", limit,
                  most, a->cost_after, a->gap, b->cost_after, b->gap);
    assert_true(a->blocks >= 2);
    assert_true(peak_of(folded) <= limit && peak_of(whole) <= limit);
    assert_true(a->bound <= b->cost_after * (1 + 1e-9));
    assert_true(b->bound <= a->cost_after * (1 + 1e-9));
    assert_true(a->cost_after >= cost * (1 - 1e-9));
    assert_true(a->gap <= 0.02);
    cost = a->cost_after; // less memory is never cheaper
    egraph_result_destroy(whole);
    egraph_result_destroy(folded);
  }
  egraph_result_destroy(all);
}

/// Meshes begin with the price of memory of the mesh before. Together, with as much work
/// for each as alone, they are no dearer than any alone, but for the gap at which a
/// search ends.
static void meshes_together_are_as_good_as_each(void **state) {
  static const double LATE_GAP = 1e-3;
  api_kit *kit = *state;
  egraph_result *free = plan_within(kit, 0, false);
  double limit = floor(0.97 * peak_of(free));
  egraph_result *all = plan_on(kit, NULL, limit, false);
  const egraph_report *a = egraph_result_report(all);
  assert_true(peak_of(all) <= limit && a->bound <= a->cost_after);
  for (size_t m = 0; m < MESHES; m++) {
    egraph_result *alone = plan_on(kit, meshes[m], limit, false);
    const egraph_report *b = egraph_result_report(alone);
    print_message("%s: %.9g, bound %.9g; all %.9g, bound %.9g\n", meshes[m],
                  b->cost_after, b->bound, a->cost_after, a->bound);
    assert_true(peak_of(alone) <= limit && b->bound <= b->cost_after);
    assert_true(a->bound <= b->cost_after * (1 + 1e-9));
    assert_true(a->cost_after <= b->cost_after * (1 + LATE_GAP));
    egraph_result_destroy(alone);
  }
  egraph_result_destroy(all);
  egraph_result_destroy(free);
}

int main(void) {
  const struct CMUnitTest tests[] = {api_test(bounds_are_close_between_the_peaks),
                                     api_test(meshes_together_are_as_good_as_each)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
