// Searches for plans beside the product's own (baselines/): what they find on steps whose
// plans are known, what they say of it, and what they refuse.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

#define EGRAPH_ALGORITHM(name, kind, row, what, paper) {name, #kind},
static const struct {
  const char *name, *kind;
} ALGORITHMS[] = {
#include "include/egraph_algorithms.def"
};
enum { COUNT = sizeof ALGORITHMS / sizeof *ALGORITHMS };

/// Of steps of any size.
static bool finds_plans(int i) {
  return strcmp(ALGORITHMS[i].kind, "plans") == 0 &&
         strcmp(ALGORITHMS[i].name, "exhaustive") != 0;
}

static const char TWO[] = "(egraph-graph 1)(input x \"float32[8,8]\")"
                          "(weight w \"float32[8,8]\")(let m (matmul x w))"
                          "(let y (relu m))(output y)";

/// In so little work that a walk at random ends soon.
static egraph_result *search_by(api_kit *kit, api_problem *problem, const char *name) {
  if (problem->search.work_limit == 0) problem->search.work_limit = 200;
  problem->search.algorithm = name;
  return api_optimize_layer(kit, problem);
}

/// Whether a plan says the same as another, to the last bit.
static bool is_same_plan(api_kit *kit, const egraph_result *a, const egraph_result *b) {
  char *mine, *other;
  assert_ok(egraph_plan_print(&kit->alloc, egraph_result_plan(a), false, &mine));
  assert_ok(egraph_plan_print(&kit->alloc, egraph_result_plan(b), false, &other));
  bool is_same = strcmp(mine, other) == 0;
  egraph_string_free(&kit->alloc, mine);
  egraph_string_free(&kit->alloc, other);
  return is_same;
}

/// Every one of them, on a step of training: its plan is one like any other, costs what
/// the report says, is no cheaper than the optimum, and is found again.
static void every_search_finds_a_plan(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  egraph_result *own = api_optimize_layer(kit, &problem);
  const egraph_report *best = egraph_result_report(own);
  assert_string_equal(best->status, "optimal");
  assert_null(best->algorithm);
  assert_true(best->proposals == 0 && best->excess_memory == 0);
  for (int i = 0; i < COUNT; i++) {
    if (!finds_plans(i)) continue;
    egraph_result *result = search_by(kit, &problem, ALGORITHMS[i].name);
    egraph_result *again = search_by(kit, &problem, ALGORITHMS[i].name);
    const egraph_report *r = egraph_result_report(result);
    egraph_plan_info info = egraph_plan_info_of(egraph_result_plan(result));
    assert_string_equal(r->algorithm, ALGORITHMS[i].name);
    assert_string_equal(r->status, "feasible");
    assert_true(r->bound == 0 && r->gap == 1 && r->excess_memory == 0);
    assert_true(r->proposals > 0 && r->search_work > 0);
    assert_true(r->search_seconds <= r->total_seconds);
    assert_true(r->cost_after >= best->cost_after * (1 - 1e-9));
    assert_true(fabs(info.cost - r->cost_after) <= 1e-12 * info.cost);
    assert_true(r->overlap_plans == r->meshes && r->overlapped > 0);
    assert_true(r->overlapped <= r->cost_after * (1 + 1e-12));
    assert_true(info.memory <= r->memory_limit);
    assert_true(is_same_plan(kit, result, again));
    assert_true(r->proposals == egraph_result_report(again)->proposals);
    assert_true(r->search_work == egraph_result_report(again)->search_work);
    egraph_result_destroy(again);
    egraph_result_destroy(result);
  }
  egraph_result_destroy(own);
}

/// Without rules the exact choice of layouts is the product's own search.
static void exact_layouts_are_the_optimum_without_rules(void **state) {
  api_kit *kit = *state;
  static const char *const names[] = {"algebra-first", "alpa-intra"};
  api_problem problem = api_training();
  egraph_result *own = api_optimize_layer(kit, &problem);
  double cost = egraph_result_report(own)->cost_after;
  for (int i = 0; i < 2; i++) {
    egraph_result *result = search_by(kit, &problem, names[i]);
    const egraph_report *r = egraph_result_report(result);
    assert_true(fabs(r->cost_after - cost) <= 1e-9 * cost);
    assert_string_equal(r->ended, "exhausted");
    egraph_result_destroy(result);
  }
  egraph_result_destroy(own);
}

/// A plan that does not fit is handed out, with what a device lacks.
static void a_plan_that_does_not_fit_says_by_how_much(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.target.memory_limit = 100;
  for (int i = 0; i < COUNT; i++) {
    if (!finds_plans(i)) continue;
    egraph_result *result = search_by(kit, &problem, ALGORITHMS[i].name);
    const egraph_report *r = egraph_result_report(result);
    egraph_plan_info info = egraph_plan_info_of(egraph_result_plan(result));
    assert_true(r->excess_memory > 0);
    assert_true(r->excess_memory == info.memory - 100);
    egraph_result_destroy(result);
  }
}

/// Work decides where a search ends, and what it finds by then is a plan.
static void a_limit_of_work_ends_every_search(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.search.work_limit = 1;
  for (int i = 0; i < COUNT; i++) {
    if (!finds_plans(i)) continue;
    egraph_result *result = search_by(kit, &problem, ALGORITHMS[i].name);
    assert_non_null(egraph_result_plan(result));
    egraph_result_destroy(result);
  }
}

static void what_a_search_is_not_for_is_refused(void **state) {
  api_kit *kit = *state;
  egraph_graph *graph = api_layer(&kit->alloc);
  egraph_result *result;
  api_problem problem = api_problem_default();
  problem.search.algorithm = "alpa-intra";
  assert_fails(api_optimize(&kit->alloc, graph, &problem, &result), EGRAPH_E_UNSUPPORTED,
               "'alpa-intra' finds a plan, no graph for one device; name a target");
  problem = api_training();
  problem.search.algorithm = "alpa-intra";
  problem.search.certify = true;
  assert_fails(
      api_optimize(&kit->alloc, graph, &problem, &result), EGRAPH_E_UNSUPPORTED,
      "'alpa-intra' finds a plan, no graph for one device: it takes no certificate");
  problem.search.certify = false;
  problem.compare.all = true;
  assert_fails(
      api_optimize(&kit->alloc, graph, &problem, &result), EGRAPH_E_UNSUPPORTED,
      "'alpa-intra' finds a plan, no graph for one device: it takes no baselines");
  egraph_graph_destroy(graph);
}

static egraph_status search_in(egraph_allocator alloc, void *user) {
  const api_problem *problem = user;
  egraph_graph *graph;
  egraph_status status =
      egraph_graph_parse(&alloc, "two.egraph", TWO, sizeof TWO - 1, NULL, &graph);
  if (status != EGRAPH_OK) return status;
  egraph_result *result;
  status = api_optimize(&alloc, graph, problem, &result);
  if (status == EGRAPH_OK) egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char *const names[] = {"mcmc", "optcnn", "unity", "exhaustive"};
  api_problem problem = api_target("host*2", "cpu=2");
  problem.search.work_limit = 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    problem.search.algorithm = names[i];
    test_every_allocation_failing(search_in, &problem);
  }
}

/// A step of several micro-batches, and a pin that every search keeps to.
static void searches_keep_to_constraints(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.training.micro_batches = 3;
  problem.constraints.text = "(pin w cpu=S1)";
  for (int i = 0; i < COUNT; i++) {
    if (!finds_plans(i)) continue;
    egraph_result *result = search_by(kit, &problem, ALGORITHMS[i].name);
    char *text;
    assert_ok(egraph_plan_print(&kit->alloc, egraph_result_plan(result), false, &text));
    assert_non_null(strstr(text, " w@S1"));
    egraph_string_free(&kit->alloc, text);
    egraph_result_destroy(result);
  }
}

static bool stop_at_once(void *user, const char *phase, const char *line) {
  (void)user, (void)phase, (void)line;
  return true;
}

static void cancelling_ends_a_walk(void **state) {
  api_kit *kit = *state;
  api_problem problem = api_training();
  problem.search.work_limit = 100000;
  problem.progress = stop_at_once;
  egraph_result *result = search_by(kit, &problem, "mcmc");
  assert_string_equal(egraph_result_report(result)->ended, "cancelled");
  egraph_result_destroy(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(every_search_finds_a_plan),
      api_test(exact_layouts_are_the_optimum_without_rules),
      api_test(a_plan_that_does_not_fit_says_by_how_much),
      api_test(a_limit_of_work_ends_every_search),
      api_test(what_a_search_is_not_for_is_refused),
      api_test(searches_keep_to_constraints),
      api_test(cancelling_ends_a_walk),
      api_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
