// Models with open dimensions: what operators ask of sizes is a fact, and no more; models
// that their example does not fit are optimized, too.
// SPDX-License-Identifier: Apache-2.0
#define KIT_PATH "test_onnx_open_facts.onnx"
#include "ops/size.h"
#include "tests/unit/onnx_open_kit.h"

/// x: [1, 2, h, w], y: [h, 2]; a node that makes z.
typedef void build_node(onnx_kit *kit, const int64_t *numbers);

static void build_pool(onnx_kit *kit, const int64_t *numbers) {
  Onnx__NodeProto *pool = kit_node(kit, "AveragePool", "x", "z");
  kit_ints(kit, pool, "kernel_shape", 2, (const int64_t[]){numbers[0], 1});
  kit_ints(kit, pool, "strides", 2, (const int64_t[]){numbers[1], 1});
  kit_int(kit, pool, "ceil_mode", numbers[2]);
}

static void build_pad(onnx_kit *kit, const int64_t *numbers) {
  const int64_t pads[8] = {[2] = numbers[0], [6] = numbers[1]};
  (void)kit_weight(kit, "pads", "int64[8]", pads);
  (void)kit_node(kit, "Pad", "x,pads", "z");
}

/// The index that both operands have is h of the second, and h or w of the first.
static void build_einsum(onnx_kit *kit, const int64_t *numbers) {
  const char *equation = numbers[0] != 0 ? "abcd,de->abce" : "abcd,ce->abed";
  kit_string(kit, kit_node(kit, "Einsum", "x,y", "z"), "equation", equation);
}

static void build_top(onnx_kit *kit, const int64_t *numbers) {
  (void)kit_weight(kit, "k", "int64[1]", numbers);
  kit_int(kit, kit_node(kit, "TopK", "x,k", "z,i"), "axis", 2);
}

typedef struct asked_case {
  build_node *build;
  int64_t numbers[3];
  bool is_kept; // of which no fact is known
  int64_t size; // of h
  bool runs;    // in ONNX Runtime 1.32
} asked_case;

static const asked_case cases[] = {
    {build_pool, {3, 1, 0}, false, 2, true}, {build_pool, {3, 1, 0}, false, 1, false},
    {build_pool, {3, 2, 0}, false, 1, true}, {build_pool, {7, 4, 1}, false, 3, true},
    {build_pool, {9, 4, 1}, false, 3, true}, {build_pool, {9, 3, 1}, false, 2, false},
    {build_pad, {-2, 0}, false, 2, true},    {build_pad, {-2, 0}, false, 1, false},
    {build_pad, {-1, -2}, false, 3, true},   {build_pad, {-1, -2}, false, 2, false},
    {build_pad, {-2, 3}, true, 1, true},     {build_pad, {3, -1}, false, 1, true},
    {build_einsum, {0}, false, 1, true},     {build_einsum, {1}, true, 1, true},
    {build_top, {2}, false, 2, true},        {build_top, {2}, false, 1, false},
};

static void build_case(const asked_case *c) {
  onnx_kit kit;
  kit_begin(&kit, 17);
  Onnx__ValueInfoProto *x = kit_input(&kit, "x", "float32[1,2,3,4]");
  symbol(&kit, x, 2, "h");
  symbol(&kit, x, 3, "w");
  symbol(&kit, kit_input(&kit, "y", "float32[3,2]"), 0, "h");
  c->build(&kit, c->numbers);
  kit_output(&kit, "z");
  write_kit(&kit);
}

/// A fact that no runtime asks for is wrong at sizes at which the model runs.
static void operators_ask_what_runtimes_ask(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t sizes[2] = {cases[i].size, 5};
    build_case(&cases[i]);
    egraph_graph *graph = load(NULL);
    assert_int_equal(egraph_graph_info_of(graph).opaque_nodes, cases[i].is_kept);
    assert_int_equal(eg_open_sizes_admit(eg_graph_open_sizes(graph), sizes),
                     cases[i].runs);
    egraph_graph_destroy(graph);
  }
  (void)remove(path);
}

static void optimize_file(void) {
  egraph_result *result;
  egraph_graph *graph = load(NULL);
  assert_ok(egraph_graph_save(optimized(graph, &result), path));
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
}

/// x without its last two rows meets x: it does so at sizes 1 to 3 alone, which no fact
/// tells, so that what is written cannot be read at the example.
static void the_example_may_not_fit(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  Onnx__ValueInfoProto *x = kit_input(&kit, "x", "float32[3,4]");
  symbol(&kit, x, 0, "n");
  (void)kit_weight(&kit, "zero", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(&kit, "two", "int64[1]", (const int64_t[]){2});
  (void)kit_node(&kit, "Shape", "x", "s");
  (void)kit_node(&kit, "Gather", "s,zero", "n");
  (void)kit_node(&kit, "Sub", "n,two", "end");
  (void)kit_node(&kit, "Slice", "x,zero,end,zero", "part");
  (void)kit_node(&kit, "Max", "x,part", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  optimize_file();
  egraph_graph *graph = load(NULL);
  assert_int_equal(egraph_graph_open_dims(graph), 1);
  egraph_graph_destroy(graph);
  (void)remove(path);
}

/// A shape of x with n / 4 in it, which copies a dimension where it is 0: kept as it is
/// in set 13. A shape of ours that may hold a 0 needs set 14, which the other is in, too.
static void kept_reshapes_take_newer_sets(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[8,3]"), 0, "n");
  (void)kit_weight(&kit, "zero", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(&kit, "five", "int64[1]", (const int64_t[]){5});
  (void)kit_weight(&kit, "last", "int64[1]", (const int64_t[]){INT64_MAX});
  (void)kit_weight(&kit, "four", "int64[1]", (const int64_t[]){4});
  (void)kit_weight(&kit, "three", "int64[1]", (const int64_t[]){3});
  (void)kit_node(&kit, "Shape", "x", "s");
  (void)kit_node(&kit, "Gather", "s,zero", "n");
  (void)kit_node(&kit, "Div", "n,four", "quarter");
  kit_int(&kit, kit_node(&kit, "Concat", "four,quarter,three", "split"), "axis", 0);
  (void)kit_node(&kit, "Reshape", "x,split", "y");
  kit_output(&kit, "y");
  (void)kit_node(&kit, "Slice", "x,five,last,zero", "rest");
  (void)kit_weight(&kit, "flat", "int64[1]", (const int64_t[]){-1});
  (void)kit_node(&kit, "Reshape", "rest,flat", "z");
  (void)kit_weight(&kit, "kept", "int64[3]", (const int64_t[]){1, 1, -1});
  (void)kit_node(&kit, "Reshape", "z,kept", "z3");
  (void)kit_node(&kit, "Relu", "z3", "r");
  kit_output(&kit, "r");
  write_kit(&kit);
  optimize_file();
  egraph_graph *graph = load(NULL);
  assert_int_equal(egraph_graph_info_of(graph).opaque_nodes, 1);
  egraph_graph_destroy(graph);
  (void)remove(path);
}

/// Positions of all elements of some images: at the example they are a table that is too
/// large to be computed.
static void tables_may_be_large_at_the_example(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  Onnx__ValueInfoProto *x = kit_input(&kit, "x", "float32[8,3,32,32]");
  const char *const names[] = {"n", NULL, "h", "w"};
  for (uint32_t i = 0; i < 4; i++)
    if (names[i] != NULL) symbol(&kit, x, i, names[i]);
  (void)kit_weight(&kit, "flat", "int64[1]", (const int64_t[]){-1});
  (void)kit_weight(&kit, "twice", "int64[1]", (const int64_t[]){2});
  (void)kit_weight(&kit, "zero", "int64[]", (const int64_t[]){0});
  (void)kit_weight(&kit, "one", "int64[]", (const int64_t[]){1});
  (void)kit_node(&kit, "Reshape", "x,flat", "row");
  (void)kit_node(&kit, "Tile", "row,twice", "z");
  (void)kit_node(&kit, "Shape", "z", "s");
  (void)kit_node(&kit, "Squeeze", "s", "count");
  (void)kit_node(&kit, "Range", "zero,count,one", "at");
  kit_declare(&kit, "at", "int64[1]");
  symbol(&kit, kit.infos[kit.graph.n_value_info - 1], 0, "length");
  kit_declare(&kit, "y", "float32[1]");
  symbol(&kit, kit.infos[kit.graph.n_value_info - 1], 0, "length");
  kit_int(&kit, kit_node(&kit, "Cast", "at", "position"), "to", 1);
  (void)kit_node(&kit, "Add", "z,position", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  optimize_file();
  egraph_graph *graph = load(NULL);
  assert_int_equal(egraph_graph_open_dims(graph), 3);
  egraph_graph_destroy(graph);
  (void)remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_ask_what_runtimes_ask),
      cmocka_unit_test(the_example_may_not_fit),
      cmocka_unit_test(kept_reshapes_take_newer_sets),
      cmocka_unit_test(tables_may_be_large_at_the_example),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
