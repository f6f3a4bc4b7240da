// The longest sums of graphs: of one operator, along a path, of the longer of two paths.
// SPDX-License-Identifier: Apache-2.0
#include "exec/step_check.h"
#include "tests/testing.h"

typedef struct sum_case {
  const char *lines; // one of them makes y
  double terms;
} sum_case;

static const sum_case cases[] = {
    {"(input x \"float32[2,3]\") (let y (relu x))", 1},
    {"(input x \"float32[2,3]\") (let y (transpose :perm [1 0] x))", 1},
    {"(input x \"float32[2,3]\") (let y (reduce-sum :axes [0 1] x))", 6},
    {"(input x \"float32[2,3]\") (weight w \"float32[3,5]\") (let y (matmul x w))", 3},
    {"(input x \"float32[1,4,9,9]\") (weight w \"float32[6,2,3,3]\")"
     "(let y (conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1] :group 2 x w))",
     18},
    {"(input x \"float32[2,4,9,9]\") (input d \"float32[2,6,7,7]\") (let y "
     "(conv-grad-weight :strides [1 1] :pads [0 0 0 0] :dilations [1 1] :kernel_shape "
     "[3 3] x d))",
     98},
    {"(input x \"float32[2,7]\") (let s (reduce-sum :axes [1] x)) (let r (relu s)) "
     "(let y (reduce-sum :axes [0] r))",
     7},
    {"(input x \"float32[2,7]\") (let s (reduce-sum :axes [0] x)) (let t (reduce-sum "
     ":axes [1] x)) (let y (add s t))",
     7}};

static void the_longest_sum_on_the_way_counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    double terms[16];
    eg_graph *graph;
    eg_value y;
    (void)snprintf(text, sizeof text, "(egraph-graph 1) %s (output y)", cases[i].lines);
    assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
    assert_true(eg_graph_value_count(graph) <= 16);
    assert_ok(eg_sum_terms(graph, eg_allocator_heap(), terms));
    assert_true(eg_graph_find_value(graph, "y", &y));
    if (terms[y.id] != cases[i].terms) fail_msg("%s: %g", cases[i].lines, terms[y.id]);
    eg_graph_destroy(graph);
  }
}

static egraph_status count(egraph_allocator alloc, void *user) {
  double terms[16];
  return eg_sum_terms(user, alloc, terms);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const char *text = "(egraph-graph 1) (input x \"float32[2,3]\") (let y (relu x)) "
                     "(output y)";
  eg_graph *graph;
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
  test_every_allocation_failing(count, graph);
  eg_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_longest_sum_on_the_way_counts),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
