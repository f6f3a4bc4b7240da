// Which values may be in memory formats: graphs as text, the marked values by name.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "optimize/space/format_region.h"
#include "tests/testing.h"

#define CONV "(conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] "

static void print_marked(eg_tensor_egraph *egraph, const eg_graph *graph,
                         const bool *marked, eg_text *out) {
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    eg_class class = eg_tensor_egraph_value_class(egraph, (eg_value){v});
    if (marked[class.id])
      assert_ok(eg_text_printf(out, " %s", eg_graph_value(graph, (eg_value){v})->name));
  }
}

static void expect_marked(const char *text, const char *want) {
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  bool *marked;
  eg_text got;
  egraph_allocator heap = eg_allocator_heap();
  assert_ok(eg_graph_parse(NULL, "t", text, strlen(text), &graph));
  assert_ok(eg_tensor_egraph_create(NULL, graph, &egraph));
  uint32_t limit = eg_engine_node_limit(eg_tensor_egraph_engine_of(egraph));
  assert_ok(eg_alloc(heap, limit, sizeof *marked, &marked));
  assert_ok(eg_format_region_find(egraph, heap, marked));
  eg_text_init(&got, heap);
  assert_ok(eg_text_append(&got, ""));
  print_marked(egraph, graph, marked, &got);
  assert_string_equal(eg_text_of(&got), want);
  eg_text_deinit(&got);
  eg_free(heap, marked, limit, sizeof *marked);
  eg_tensor_egraph_destroy(egraph);
  eg_graph_destroy(graph);
}

static void what_is_connected_to_a_convolution_is_marked(void **state) {
  (void)state;
  expect_marked("(egraph-graph 1)(input x \"float32[1,16,8,8]\")"
                "(input u \"float32[1,16,8,8]\")(weight w \"float32[16,16,3,3]\")"
                "(let r (relu x))(let c " CONV "r w))(let t (tanh c))"
                "(let s (softmax :axis 1 t))(let q (exp s))(let v (relu u))"
                "(output q)(output v)",
                " x r c t");
}

static void a_transpose_ends_the_region(void **state) {
  (void)state;
  expect_marked("(egraph-graph 1)(input x \"float32[1,16,8,8]\")"
                "(weight w \"float32[16,16,3,3]\")(let c " CONV "x w))"
                "(let l (transpose :perm [0 2 3 1] c))(let e (exp l))"
                "(let b (transpose :perm [0 3 1 2] e))(let a (add b x))"
                "(let o (transpose :perm [0 2 1 3] e))(output a)(output o)",
                " x c b a");
}

static void gradients_leave_weights_plain(void **state) {
  (void)state;
  expect_marked("(egraph-graph 1)(input x \"float32[2,16,8,8]\")"
                "(input w \"float32[16,16,3,3]\")(input d \"float32[2,16,8,8]\")"
                "(let c " CONV "x w))(let r (relu c))(let m (mul r d))"
                "(let g (conv-grad-weight :strides [1 1] :pads [1 1 1 1] "
                ":dilations [1 1] :kernel_shape [3 3] x m))"
                "(let s (reduce-sum :axes [0 2 3] :keepdims 0 m))"
                "(let u (sub w g))(output u)(output s)",
                " x d c r m");
}

/// With more operands than formats are offered for, a concatenation is plain, but it does
/// not cut the region in two.
static void many_operands_do_not_cut_the_region(void **state) {
  (void)state;
  char text[2048], want[256] = " x c";
  int at = snprintf(text, sizeof text,
                    "(egraph-graph 1)(input x \"float32[1,16,8,8]\")"
                    "(weight w \"float32[16,16,3,3]\")(let c " CONV "x w))"
                    "(let k (concat :axis 1");
  for (int i = 0; i <= EG_MAX_FORMAT_OPERANDS; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, " c");
  (void)snprintf(text + at, sizeof text - (size_t)at,
                 "))(let r (relu k))(let p (global-average-pool r))(output p)");
  (void)strcat(want, " k r p");
  expect_marked(text, want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_connected_to_a_convolution_is_marked),
      cmocka_unit_test(a_transpose_ends_the_region),
      cmocka_unit_test(gradients_leave_weights_plain),
      cmocka_unit_test(many_operands_do_not_cut_the_region),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
