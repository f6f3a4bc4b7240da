// Which measurements decide between an optimum and its rivals, and that they are repeated
// until the order is clear.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/testing.h"

#include "base/clock.h"
#include "optimize/single/optimizer.h"

/// A device whose first timing of an operator is off by a tenth, with a spread that says
/// so; later ones are right.
typedef struct device {
  uint32_t calls;
  bool is_noisy, never_settles;
  double pause; // seconds that a timing takes
  double drift; // every timing is shorter by this factor than the one before
} device;

static double true_seconds(const eg_node_spec *spec) {
  return 1e-9 * eg_node_spec_bytes(spec);
}

static egraph_status measure(void *self, const eg_node_spec *spec, double *out_seconds,
                             bool *out_supported, eg_evidence *out_evidence) {
  device *d = self;
  double seconds = true_seconds(spec);
  d->calls++;
  *out_supported = true;
  *out_seconds = d->is_noisy ? 1.1 * seconds : seconds;
  if (d->drift > 0) *out_seconds *= pow(d->drift, d->calls);
  for (double end = eg_clock_seconds() + d->pause; eg_clock_seconds() < end;)
    ;
  *out_evidence =
      (eg_evidence){.samples = d->is_noisy ? 4 : 100000, .spread = 0.3 * seconds};
  if (d->never_settles)
    *out_evidence = (eg_evidence){.samples = 1, .spread = 1e6 * seconds};
  return EGRAPH_OK;
}

/// Two products after each other, or one of the product of their weights.
static const char two_products[] = "(egraph-graph 1)\n"
                                   "(input x \"float32[8,64]\")\n"
                                   "(weight a \"float32[64,64]\")\n"
                                   "(weight b \"float32[64,64]\")\n"
                                   "(let y (matmul x a))\n"
                                   "(let z (matmul y b))\n"
                                   "(let r (relu z))\n"
                                   "(output r)\n";

/// Products of several shapes.
static const char four_products[] = "(egraph-graph 1)\n"
                                    "(input x \"float32[8,64]\")\n"
                                    "(weight a \"float32[64,48]\")\n"
                                    "(weight b \"float32[48,80]\")\n"
                                    "(weight c \"float32[80,24]\")\n"
                                    "(weight d \"float32[24,96]\")\n"
                                    "(let p (matmul x a))\n"
                                    "(let q (matmul p b))\n"
                                    "(let y (relu q))\n"
                                    "(let s (matmul y c))\n"
                                    "(let t (matmul s d))\n"
                                    "(let z (relu t))\n"
                                    "(output z)\n";

static egraph_report optimize_graph(const char *text, device *d, eg_cost_model *costs,
                                    double settle_limit) {
  eg_graph *graph;
  egraph_rules *rules;
  eg_optimization *result;
  const eg_measurer measurer = {.measure = measure, .self = d};
  egraph_search search = egraph_search_default();
  search.settle_limit = settle_limit;
  search.math = EGRAPH_MATH_FAST; // products are regrouped
  assert_ok(eg_graph_parse(NULL, "g", text, strlen(text), &graph));
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  const eg_optimizer_input input = {.graph = graph,
                                    .rules = rules,
                                    .costs = costs,
                                    .measurer = &measurer,
                                    .search = &search};
  assert_ok(eg_optimizer_run(eg_allocator_heap(), &input, &result));
  egraph_report report = result->report;
  eg_optimization_destroy(result);
  egraph_rules_destroy(rules);
  eg_graph_destroy(graph);
  return report;
}

static egraph_report optimize(device *d, eg_cost_model *costs, double settle_limit) {
  return optimize_graph(two_products, d, costs, settle_limit);
}

static eg_cost_model *open_model(void) {
  const eg_cost_options options = {.machine = "test cpu"};
  eg_cost_model *model;
  assert_ok(eg_cost_model_create(NULL, &options, &model));
  return model;
}

/// Small errors decide nothing: nothing is measured again.
static void a_clear_order_needs_nothing(void **state) {
  (void)state;
  device d = {.calls = 0};
  eg_cost_model *costs = open_model();
  egraph_report report = optimize(&d, costs, 10);
  assert_true(report.is_order_clear);
  assert_int_equal(report.measured_again, 0);
  assert_int_equal(d.calls, report.measured);
  eg_cost_model_destroy(costs);
}

/// Errors as large as the costs are never cleared: the time ends it, and that is said;
/// without time nothing is repeated.
static void an_order_that_is_never_clear_ends(void **state) {
  (void)state;
  device d = {.never_settles = true};
  eg_cost_model *costs = open_model();
  egraph_report report = optimize(&d, costs, 0.05);
  assert_true(report.measured_again > 0);
  assert_false(report.is_order_clear);
  // The proof is of the costs as they are at the end.
  assert_string_equal(report.status, "optimal");
  assert_int_equal(d.calls > report.measured, 1);
  eg_cost_model_destroy(costs);
  d = (device){.never_settles = true};
  costs = open_model();
  report = optimize(&d, costs, 0);
  assert_int_equal(report.measured_again, 0);
  assert_int_equal(d.calls, report.measured);
  eg_cost_model_destroy(costs);
}

/// The time ends before all that decides is measured: the rest keeps its cost, so that
/// what the first round proved is of the costs that the last one has.
static void what_the_time_did_not_reach_keeps_its_cost(void **state) {
  (void)state;
  device d = {.never_settles = true, .pause = 0.03, .drift = 0.9};
  eg_cost_model *costs = open_model();
  egraph_report report = optimize_graph(four_products, &d, costs, 0.02);
  assert_true(report.measured_again > 0);
  assert_int_equal(d.calls, report.measured + report.measured_again);
  assert_int_equal(eg_cost_requested(costs), 0);
  assert_true(report.bound <= report.cost_after * (1 + 1e-9));
  eg_cost_model_destroy(costs);
}

/// Measured in noise first: entries that decide get more samples until they do not.
static void what_decides_is_measured_until_it_is_clear(void **state) {
  (void)state;
  device d = {.is_noisy = true};
  eg_cost_model *costs = open_model();
  egraph_report noisy = optimize(&d, costs, 0);
  d.is_noisy = false;
  // All is known now, so that only what decides is measured.
  egraph_report report = optimize(&d, costs, 10);
  assert_int_equal(report.measured, 0);
  assert_true(report.is_order_clear);
  assert_true(report.cost_after <= noisy.cost_after);
  eg_cost_model_destroy(costs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_clear_order_needs_nothing),
      cmocka_unit_test(an_order_that_is_never_clear_ends),
      cmocka_unit_test(what_the_time_did_not_reach_keeps_its_cost),
      cmocka_unit_test(what_decides_is_measured_until_it_is_clear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
