// A search that goes on from a plan that is known ends with one that is no dearer, where
// the plan has nodes of several results whose parts are made otherwise, too.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/planner.h"
#include "optimize/space/step_info.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/unit/session_kit.h"

static const char MODEL[] =
    "(egraph-graph 1)(input x \"float32[64,64]\")"
    "(weight a \"float32[64,64]\")(weight b \"float32[64,64]\")"
    "(weight c \"float32[64,64]\")(weight d \"float32[64,64]\")"
    "(let p (matmul x a))(let q (matmul x b))(let r (matmul x c))(let s (matmul x d))"
    "(let pq (mul p q))(let rs (mul r s))(let y (mul pq rs))(output y)";

// Nobody reads the second half.
static const char HALF[] =
    "(egraph-graph 1)(input x \"float32[64,64]\")(weight a \"float32[32,64]\")"
    "(let [first second] (split :axis 1 :sizes [32 32] x))"
    "(let y (matmul first a))(output y)";

static bool has_several_results(const eg_graph *graph) {
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    if (eg_graph_node_at(graph, (eg_graph_node){n}).result_count > 1) return true;
  return false;
}

/// Plans a model, with the shipped rules where it is asked for, and goes on from the
/// plan.
static void go_on_from_plan(const char *model, bool has_rules) {
  eg_graph *graph = kit_parse("model", model);
  eg_rules *rules;
  eg_training_info info;
  eg_machine machine;
  eg_planning known, next;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  assert_ok(eg_forward_info_init(&info, eg_allocator_heap(), NULL));
  assert_ok(eg_machine_load(NULL, "dgx-h100*1", &machine));
  const eg_plan_context context = {.machine = &machine,
                                   .rules = has_rules ? rules : NULL};
  eg_planner_input input = {.context = &context,
                            .graph = graph,
                            .info = &info.info,
                            .mesh = &machine.meshes[0],
                            .budget = EG_LAYOUT_OPTIONS_DEFAULT};
  assert_ok(eg_planner_run(eg_allocator_heap(), &input, &known));
  assert_true(known.has_plan);
  assert_true(has_several_results(known.emitted.graph));
  input.known = &known.emitted.plan;
  assert_ok(eg_planner_run(eg_allocator_heap(), &input, &next));
  assert_true(next.has_plan && next.cost <= known.cost * (1 + 1e-9));
  eg_planning_deinit(&next);
  eg_planning_deinit(&known);
  eg_machine_deinit(&machine);
  eg_training_info_deinit(&info);
  eg_rules_destroy(rules);
  eg_graph_destroy(graph);
}

static void searches_go_on_from_joined_products(void **state) {
  (void)state;
  go_on_from_plan(MODEL, true);
}

static void searches_go_on_from_a_split_that_is_read_in_part(void **state) {
  (void)state;
  go_on_from_plan(HALF, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(searches_go_on_from_joined_products),
      cmocka_unit_test(searches_go_on_from_a_split_that_is_read_in_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
