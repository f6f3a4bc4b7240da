// The text form of graphs: parse and print are inverse; errors have positions.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "pcg/graph/graph.h"

static const char sample[] =
    "(egraph-graph 1)\n"
    "(input x \"float32[1,16,8,8]\")\n"
    "(weight w \"float32[16,16,3,3]\")\n"
    "(weight b \"float32[4]\" [0.0 -1.5 0.10000000149011612 inf])\n"
    "(weight \"odd name\" \"int64[2]\" [9223372036854775807 -1])\n"
    "(weight flags \"bool[2]\" [1 0])\n"
    "(weight empty \"float32[0]\" [])\n"
    "(weight \"a\\\"b\\\\\" \"float16[]\" [0.5])\n"
    "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :act relu x w) :node "
    "conv1 :formats [nChw8c])\n"
    "(let [l r] (split :axis 1 :sizes [4 12] y) :formats [plain nhwc])\n"
    "(let [] (opaque Print l) :types [] :record \"\")\n"
    "(let [p q] (opaque \"My Op\" r b) :types [\"float32[1,2]\" none] :record "
    "\"00ff0a\")\n"
    "(let e (exp l))\n"
    "(output e)\n"
    "(output logits p)\n";

static void parse(const egraph_allocator *alloc, const char *text, eg_graph **out) {
  assert_ok(eg_graph_parse(alloc, "t", text, strlen(text), out));
  assert_ok(eg_graph_check(*out));
}

static void printing_inverts_parsing(void **state) {
  (void)state;
  test_heap heap = {0};
  egraph_allocator alloc = test_heap_allocator(&heap);
  eg_graph *graph;
  eg_text text;
  eg_text_init(&text, alloc);
  parse(&alloc, sample, &graph);
  assert_ok(eg_graph_print(graph, &text));
  assert_string_equal(eg_text_of(&text), sample);
  eg_value value;
  assert_true(eg_graph_find_value(graph, "a\"b\\", &value));
  assert_int_equal(eg_graph_value(graph, value)->type.rank, 0);
  assert_true(eg_graph_find_value(graph, "w", &value));
  assert_null(eg_graph_value(graph, value)->data);
  eg_graph_destroy(graph);
  eg_text_deinit(&text);
  assert_int_equal(heap.live_bytes, 0);
}

static void malformed_text_is_refused_with_a_position(void **state) {
  (void)state;
  static const struct {
    const char *text;
    egraph_status status;
    const char *message;
  } cases[] = {
      {"", EGRAPH_E_PARSE, "t:1:1: a graph file begins with"},
      {"(egraph-graph 2)", EGRAPH_E_PARSE, "newer version"},
      {"(input x \"float32[1]\")", EGRAPH_E_PARSE, "begins with"},
      {"(egraph-graph 1)\n(inputs)", EGRAPH_E_PARSE, "t:2:1: expected (input"},
      {"(egraph-graph 1)\n(input x)", EGRAPH_E_PARSE, "(input name"},
      {"(egraph-graph 1)\n(input :x \"float32[1]\")", EGRAPH_E_PARSE, "(input name"},
      {"(egraph-graph 1)\n(input x \"float33[1]\")", EGRAPH_E_PARSE, "t:2:10"},
      {"(egraph-graph 1)\n(input x [1])", EGRAPH_E_PARSE, "expected a type"},
      {"(egraph-graph 1)\n(input x \"float32[1]\")(input x \"float32[1]\")",
       EGRAPH_E_PARSE, "'x' is taken"},
      {"(egraph-graph 1)\n(input x \"float32[4611686018427387904,4]\")", EGRAPH_E_TYPE,
       "t:2"},
      {"(egraph-graph 1)\n(weight x \"float32[2]\" [1.0])", EGRAPH_E_PARSE,
       "with 2 numbers"},
      {"(egraph-graph 1)\n(weight x \"float32[1]\" [a])", EGRAPH_E_PARSE, "a number"},
      {"(egraph-graph 1)\n(weight x \"int8[1]\" [128])", EGRAPH_E_PARSE, "does not fit"},
      {"(egraph-graph 1)\n(weight x \"int8[1]\" [1.5])", EGRAPH_E_PARSE, "an integer"},
      {"(egraph-graph 1)\n(let y (relu z))", EGRAPH_E_PARSE, "no tensor 'z'"},
      {"(egraph-graph 1)\n(let y (fancy z))", EGRAPH_E_PARSE, "no operator 'fancy'"},
      {"(egraph-graph 1)\n(let y (input :name a))", EGRAPH_E_PARSE, "no node"},
      {"(egraph-graph 1)\n(let y relu)", EGRAPH_E_PARSE, "(let result"},
      {"(egraph-graph 1)\n(let y ([a] b))", EGRAPH_E_PARSE, "(let result"},
      {"(egraph-graph 1)\n(let y (relu))", EGRAPH_E_TYPE, "t:2:1: relu (node 0)"},
      {"(egraph-graph 1)\n(let y (fill :shape [1] :shape [1]))", EGRAPH_E_PARSE, "twice"},
      {"(egraph-graph 1)\n(let y (fill :shape))", EGRAPH_E_PARSE, "has no value"},
      {"(egraph-graph 1)\n(let y (fill :shape (1)))", EGRAPH_E_PARSE, "expected a value"},
      {"(egraph-graph 1)\n(let y (fill :form [1]))", EGRAPH_E_PARSE,
       "no attribute 'form'"},
      {"(egraph-graph 1)\n(let y (fill))", EGRAPH_E_PARSE, "needs the attribute :shape"},
      {"(egraph-graph 1)\n(let y (fill :shape 3))", EGRAPH_E_PARSE, "shape"},
      {"(egraph-graph 1)\n(let [a b] (fill :shape [1]))", EGRAPH_E_PARSE, "1 results"},
      {"(egraph-graph 1)\n(let (a) (fill :shape [1]))", EGRAPH_E_PARSE,
       "name of a result"},
      {"(egraph-graph 1)\n(let a (fill :shape [1]) :node)", EGRAPH_E_PARSE, "no value"},
      {"(egraph-graph 1)\n(let a (fill :shape [1]) :color red)", EGRAPH_E_PARSE, ":node"},
      {"(egraph-graph 1)\n(let a (fill :shape [1]) :formats [nhwc])", EGRAPH_E_TYPE,
       "nhwc"},
      {"(egraph-graph 1)\n(let a (fill :shape [1]) :formats [x])", EGRAPH_E_PARSE,
       "format"},
      {"(egraph-graph 1)\n(let a (fill :shape [1]) :formats [])", EGRAPH_E_PARSE,
       "one format per result"},
      {"(egraph-graph 1)\n(let a (opaque))", EGRAPH_E_PARSE, "(opaque operator-type"},
      {"(egraph-graph 1)\n(let a (opaque O) :types [])", EGRAPH_E_PARSE, "0 types"},
      {"(egraph-graph 1)\n(let a (opaque O) :record \"0\")", EGRAPH_E_PARSE,
       "two digits"},
      {"(egraph-graph 1)\n(let a (opaque O) :record \"0g\")", EGRAPH_E_PARSE, "0-9"},
      {"(egraph-graph 1)\n(output y)", EGRAPH_E_PARSE, "no tensor 'y'"},
      {"(egraph-graph 1)\n(output)", EGRAPH_E_PARSE, "(output tensor)"},
      {"(egraph-graph 1)\n(output (a))", EGRAPH_E_PARSE, "(output tensor)"},
      {"(egraph-graph 1)\n(input x", EGRAPH_E_PARSE, "t:2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_heap heap = {0};
    egraph_allocator alloc = test_heap_allocator(&heap);
    eg_graph *graph;
    assert_fails(
        eg_graph_parse(&alloc, "t", cases[i].text, strlen(cases[i].text), &graph),
        cases[i].status, cases[i].message);
    assert_int_equal(heap.live_bytes, 0);
  }
}

static egraph_status round_trip(egraph_allocator alloc, void *user) {
  (void)user;
  eg_graph *graph;
  EG_TRY(eg_graph_parse(&alloc, "t", sample, strlen(sample), &graph));
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_graph_print(graph, &text);
  eg_text_deinit(&text);
  eg_graph_destroy(graph);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  (void)state;
  test_every_allocation_failing(round_trip, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(printing_inverts_parsing),
      cmocka_unit_test(malformed_text_is_refused_with_a_position),
      cmocka_unit_test(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
