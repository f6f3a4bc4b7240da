// The plan of one device that runs a graph as it stands.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan.h"
#include "tests/testing.h"
#include "tests/unit/session_kit.h"

// p is made of v, twice; u, and the second part of x, are of no use.
static const char text[] =
    "(egraph-graph 1)(input x \"float32[4,8]\")(input unused \"float32[2]\")"
    "(weight v \"float32[2,8]\")(weight idle \"float32[2,8]\")"
    "(let r (relu v))(let p (tanh r))(let [a b] (split :axis 0 :sizes [2 2] x))"
    "(let u (exp b))(let y (add a p))(let z (mul y p))(output z)(output p)";

static uint32_t states_of(const eg_plan *plan, const char *name, uint32_t *out_step) {
  eg_value value;
  uint32_t count = 0;
  assert_true(eg_graph_find_value(plan->graph, name, &value));
  for (size_t s = 0; s < plan->states.len; s++) {
    if (plan->states.data[s].value.id != value.id) continue;
    *out_step = plan->states.data[s].step;
    count++;
  }
  return count;
}

static void what_outputs_need_runs_in_the_order_of_the_graph(void **unused) {
  (void)unused;
  eg_graph *graph = kit_parse("test", text);
  eg_plan plan;
  eg_plan_init(&plan, eg_allocator_heap());
  assert_ok(eg_plan_of_graph(graph, &plan));
  assert_ok(eg_plan_check(&plan, eg_allocator_heap()));
  static const struct {
    const char *value;
    uint32_t states, step;
  } rows[] = {{"x", 1, EG_PLAN_NONE},
              {"unused", 1, EG_PLAN_NONE},
              {"v", 0, 0},
              {"idle", 0, 0},
              {"r", 0, 0},
              {"p", 1, EG_PLAN_NONE},
              {"a", 1, 0},
              {"b", 1, 0},
              {"u", 0, 0},
              {"y", 1, 1},
              {"z", 1, 2}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t step = 0;
    assert_int_equal(states_of(&plan, rows[i].value, &step), rows[i].states);
    assert_int_equal(step, rows[i].step);
  }
  assert_int_equal(plan.steps.len, 3);
  assert_int_equal(plan.output_states.len, 2);
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

static void values_keep_their_formats(void **unused) {
  (void)unused;
  eg_graph *graph = kit_parse("test", "(egraph-graph 1)(input x \"float32[1,16,4,4]\")"
                                      "(let y (identity x))(let z (relu y))(output z)");
  eg_value y;
  eg_plan plan;
  assert_true(eg_graph_find_value(graph, "y", &y));
  assert_ok(eg_graph_set_format(graph, y, EG_FORMAT_NCHW16C));
  eg_plan_init(&plan, eg_allocator_heap());
  assert_ok(eg_plan_of_graph(graph, &plan));
  assert_ok(eg_plan_check(&plan, eg_allocator_heap()));
  assert_int_equal(plan.steps.len, 2); // both are nodes
  for (size_t s = 0; s < plan.states.len; s++)
    assert_int_equal(plan.states.data[s].layout.format,
                     plan.states.data[s].value.id == y.id ? EG_FORMAT_NCHW16C
                                                          : EG_FORMAT_PLAIN);
  eg_plan_deinit(&plan);
  eg_graph_destroy(graph);
}

static egraph_status make(egraph_allocator alloc, void *user) {
  eg_plan plan;
  eg_plan_init(&plan, alloc);
  egraph_status status = eg_plan_of_graph(user, &plan);
  eg_plan_deinit(&plan);
  return status;
}

static void failing_allocations_are_survived(void **unused) {
  (void)unused;
  eg_graph *graph = kit_parse("test", text);
  test_every_allocation_failing(make, graph);
  eg_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_outputs_need_runs_in_the_order_of_the_graph),
      cmocka_unit_test(values_keep_their_formats),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
