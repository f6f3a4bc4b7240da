// Models with open dimensions: read, optimized, written, and read at sizes.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/sets/versions.h"

#define KIT_PATH "test_onnx_open.onnx"
#include "tests/unit/onnx_open_kit.h"

/// Two heads of an attention-like shuffle: the shape is computed from the input's.
static void build_shuffle(onnx_kit *kit) {
  kit_begin(kit, 13);
  Onnx__ValueInfoProto *x = kit_input(kit, "x", "float32[2,3,8]");
  symbol(kit, x, 0, "batch");
  symbol(kit, x, 1, "seq");
  (void)kit_weight(kit, "zero", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(kit, "one", "int64[1]", (const int64_t[]){1});
  (void)kit_weight(kit, "heads", "int64[2]", (const int64_t[]){2, 4});
  (void)kit_node(kit, "Shape", "x", "s");
  (void)kit_node(kit, "Gather", "s,zero", "b");
  (void)kit_node(kit, "Gather", "s,one", "l");
  kit_int(kit, kit_node(kit, "Concat", "b,l,heads", "shape"), "axis", 0);
  (void)kit_node(kit, "Reshape", "x,shape", "split");
  kit_ints(kit, kit_node(kit, "Transpose", "split", "moved"), "perm", 4,
           (const int64_t[]){0, 2, 1, 3});
  (void)kit_node(kit, "Relu", "moved", "y");
  kit_output(kit, "y");
}

/// The type of the only output, as text.
static void expect_output(const egraph_graph *graph, int64_t a, int64_t b) {
  const char *name;
  egraph_tensor type;
  assert_ok(egraph_graph_output(graph, 0, &name, &type));
  assert_int_equal(type.rank, 4);
  assert_int_equal(type.dims[0], a);
  assert_int_equal(type.dims[1], 2);
  assert_int_equal(type.dims[2], b);
}

/// Read open, optimized, written, and read with sizes that were in no trial.
static void a_model_stays_open(void **state) {
  (void)state;
  onnx_kit kit;
  egraph_dim dim;
  egraph_result *result;
  build_shuffle(&kit);
  write_kit(&kit);
  egraph_graph *graph = load(NULL);
  assert_int_equal(egraph_graph_open_dims(graph), 2);
  assert_ok(egraph_graph_open_dim(graph, 1, &dim));
  assert_string_equal(dim.name, "seq");
  assert_fails(egraph_graph_open_dim(graph, 2, &dim), EGRAPH_E_ARGUMENT,
               "there is no open dimension 2");
  egraph_graph *better = optimized(graph, &result);
  assert_int_equal(egraph_graph_open_dims(better), 2);
  assert_ok(egraph_graph_save(better, path));
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  const egraph_dim sizes[] = {{.name = "batch", .size = 6}, {.name = "seq", .size = 10}};
  graph = load(&(egraph_load_options){
      .size = sizeof(egraph_load_options), .dims = sizes, .dim_count = 2});
  assert_int_equal(egraph_graph_open_dims(graph), 0);
  expect_output(graph, 6, 10);
  egraph_graph_destroy(graph);
  // One is fixed, the other one stays.
  graph = load(&(egraph_load_options){
      .size = sizeof(egraph_load_options), .dims = sizes, .dim_count = 1});
  assert_int_equal(egraph_graph_open_dims(graph), 1);
  assert_int_equal(eg_graph_value(graph, eg_graph_input(graph, 0))->type.dims[0], 6);
  egraph_graph_destroy(graph);
  (void)remove(path);
}

static void sizes_are_checked(void **state) {
  (void)state;
  onnx_kit kit;
  egraph_graph *graph;
  build_shuffle(&kit);
  write_kit(&kit);
  const egraph_dim unknown = {.name = "height", .size = 6}, none = {.name = "seq"};
  assert_fails(
      egraph_graph_load(NULL, path,
                        &(egraph_load_options){.size = sizeof(egraph_load_options),
                                               .dims = &unknown,
                                               .dim_count = 1},
                        &graph),
      EGRAPH_E_ARGUMENT,
      "no symbolic dimension 'height'; symbolic dimensions are: batch, seq");
  assert_fails(
      egraph_graph_load(NULL, path,
                        &(egraph_load_options){.size = sizeof(egraph_load_options),
                                               .dims = &none,
                                               .dim_count = 1},
                        &graph),
      EGRAPH_E_ARGUMENT, "the size of dimension 'seq' is 0");
  assert_fails(egraph_graph_load(NULL, path,
                                 &(egraph_load_options){
                                     .size = sizeof(egraph_load_options), .batch = 4},
                                 &graph),
               EGRAPH_E_ARGUMENT, "there are several");
  graph = load(NULL);
  egraph_session *session;
  assert_fails(egraph_session_create(NULL, graph, NULL, &session), EGRAPH_E_UNSUPPORTED,
               "a session needs the sizes of all dimensions, and 'batch' is open");
  assert_fails(egraph_graph_save(graph, "test_onnx_open.egraph"), EGRAPH_E_UNSUPPORTED,
               "the text form of a graph needs the sizes");
  egraph_graph_destroy(graph);
  (void)remove(path);
}

/// The shape of a constant depends on the size: it is computed by nodes that are kept.
static void constants_of_open_shape_are_computed(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,3]"), 1, NULL);
  (void)kit_weight(&kit, "one", "int64[1]", (const int64_t[]){1});
  (void)kit_weight(&kit, "first", "int64[]", (const int64_t[]){0});
  (void)kit_weight(&kit, "step", "int64[]", (const int64_t[]){1});
  (void)kit_node(&kit, "Shape", "x", "s");
  (void)kit_node(&kit, "Gather", "s,step", "length");
  (void)kit_node(&kit, "Range", "first,length,step", "positions");
  kit_int(&kit, kit_node(&kit, "Cast", "positions", "p"), "to", 1);
  (void)kit_node(&kit, "Add", "x,p", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  egraph_graph *graph = load(NULL);
  egraph_dim dim;
  assert_ok(egraph_graph_open_dim(graph, 0, &dim));
  assert_string_equal(dim.name, "x.1");
  assert_true(egraph_graph_info_of(graph).opaque_nodes != 0);
  assert_ok(egraph_graph_save(graph, path));
  egraph_graph_destroy(graph);
  graph = load(&(egraph_load_options){.size = sizeof(egraph_load_options), .batch = 3});
  egraph_session *session;
  assert_int_equal(egraph_graph_info_of(graph).opaque_nodes, 0);
  assert_ok(egraph_session_create(NULL, graph, NULL, &session));
  float x[6] = {1, 1, 1, 2, 2, 2}, y[6];
  egraph_tensor in = {.dtype = EGRAPH_FLOAT32, .rank = 2, .dims = {2, 3}, .data = x};
  egraph_tensor out = in;
  out.data = y;
  assert_ok(egraph_session_run(session, &in, 1, &out, 1));
  const float expected[6] = {1, 2, 3, 2, 3, 4};
  assert_memory_equal(y, expected, sizeof y);
  egraph_session_destroy(session);
  egraph_graph_destroy(graph);
  (void)remove(path);
}

/// y has twice the length of every second element of x: n + 1 where n is odd, n where it
/// is even.
static void sizes_that_round_up_are_no_lines(void **state) {
  (void)state;
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2]"), 0, "n");
  (void)kit_weight(&kit, "zero", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(&kit, "end", "int64[1]", (const int64_t[]){INT64_MAX});
  (void)kit_weight(&kit, "two", "int64[1]", (const int64_t[]){2});
  (void)kit_node(&kit, "Slice", "x,zero,end,zero,two", "half");
  (void)kit_node(&kit, "Shape", "half", "s");
  (void)kit_node(&kit, "Mul", "s,two", "doubled");
  (void)kit_node(&kit, "ReduceMax", "half", "most");
  (void)kit_node(&kit, "Expand", "most,doubled", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  egraph_graph *graph = load(NULL);
  egraph_result *result;
  assert_ok(egraph_graph_save(optimized(graph, &result), path));
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  for (int64_t n = 5; n < 13; n++) {
    const char *name;
    egraph_tensor type;
    graph = load(&(egraph_load_options){.size = sizeof(egraph_load_options), .batch = n});
    assert_ok(egraph_graph_output(graph, 0, &name, &type));
    assert_int_equal(type.rank, 1);
    assert_int_equal(type.dims[0], (n + 1) / 2 * 2);
    egraph_graph_destroy(graph);
  }
  (void)remove(path);
}

/// The length of the only output at a size, and its rank.
static int64_t length_at(int64_t size, uint32_t *out_rank) {
  const egraph_load_options options = {.size = sizeof options, .batch = size};
  const char *name;
  egraph_tensor type;
  egraph_graph *graph = load(&options);
  assert_ok(egraph_graph_output(graph, 0, &name, &type));
  egraph_graph_destroy(graph);
  *out_rank = type.rank;
  return type.rank == 0 ? 1 : type.dims[0];
}

typedef struct sliced_case {
  int64_t start, end, step;
  bool is_kept; // an end in front of the first element has no spelling of its own
} sliced_case;

static void build_slice(const sliced_case *c) {
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,3]"), 0, "n");
  (void)kit_weight(&kit, "start", "int64[1]", &c->start);
  (void)kit_weight(&kit, "end", "int64[1]", &c->end);
  (void)kit_weight(&kit, "axis", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(&kit, "step", "int64[1]", &c->step);
  (void)kit_node(&kit, "Slice", "x,start,end,axis,step", "part");
  (void)kit_node(&kit, "Concat", "part,x", "y");
  kit_int(&kit, kit.graph.node[kit.graph.n_node - 1], "axis", 0);
  kit_output(&kit, "y");
  write_kit(&kit);
}

/// Bounds that lie behind the end at some sizes, or cross there.
static void slices_hold_at_every_size(void **state) {
  (void)state;
  static const sliced_case cases[] = {
      {0, 100, 1, false},        {0, 11, 1, false},          {-20, 1000, 1, false},
      {20, 1000, 1, false},      {-2, 2, 1, false},          {5, -5, 1, false},
      {0, INT64_MAX, 1, false},  {1, -1, 1, false},          {1, INT64_MAX, 2, false},
      {-4, INT64_MAX, 1, false}, {-1, INT64_MIN, -1, false}, {0, 3, 1, false},
      {-3, -1, 1, false},        {-1, -1000, -1, true},      {-1, -4, -1, true}};
  static const int64_t sizes[] = {2, 3, 4, 5, 11, 13, 50, 200, 3000};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t lengths[SIZES];
    uint32_t rank;
    egraph_result *result;
    build_slice(&cases[i]);
    for (size_t n = 0; n < SIZES; n++)
      lengths[n] = length_at(sizes[n], &rank);
    egraph_graph *graph = load(NULL);
    assert_int_equal(egraph_graph_info_of(graph).opaque_nodes != 0, cases[i].is_kept);
    assert_ok(egraph_graph_save(optimized(graph, &result), path));
    egraph_result_destroy(result);
    egraph_graph_destroy(graph);
    for (size_t n = 0; n < SIZES; n++)
      assert_int_equal(length_at(sizes[n], &rank), lengths[n]);
  }
  (void)remove(path);
}

/// Without axes a dimension is left out where it is 1, which an open one may be.
static void open_dimensions_may_be_squeezed(void **state) {
  (void)state;
  onnx_kit kit;
  uint32_t rank;
  egraph_result *result;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,3,1]"), 0, "n");
  (void)kit_node(&kit, "Squeeze", "x", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  egraph_graph *graph = load(NULL);
  assert_ok(egraph_graph_save(optimized(graph, &result), path));
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  (void)length_at(1, &rank);
  assert_int_equal(rank, 1);
  (void)length_at(5, &rank);
  assert_int_equal(rank, 2);
  (void)remove(path);
}

/// The least of a size and a number.
static void bounds_of_sizes_are_expressions(void **state) {
  (void)state;
  static const int64_t bounds[] = {100, INT64_MAX};
  for (size_t i = 0; i < 2; i++) {
    onnx_kit kit;
    uint32_t rank;
    kit_begin(&kit, 13);
    symbol(&kit, kit_input(&kit, "x", "float32[2,3]"), 0, "n");
    (void)kit_weight(&kit, "zero", "int64[1]", (const int64_t[]){0});
    (void)kit_weight(&kit, "bound", "int64[1]", &bounds[i]);
    (void)kit_node(&kit, "Shape", "x", "s");
    (void)kit_node(&kit, "Gather", "s,zero", "n");
    (void)kit_node(&kit, "Min", "n,bound", "least");
    (void)kit_node(&kit, "Slice", "x,zero,least", "part");
    (void)kit_node(&kit, "Relu", "part", "y");
    kit_output(&kit, "y");
    write_kit(&kit);
    egraph_graph *graph = load(NULL);
    egraph_result *result;
    assert_int_equal(egraph_graph_info_of(graph).opaque_nodes, 0);
    assert_ok(egraph_graph_save(optimized(graph, &result), path));
    egraph_result_destroy(result);
    egraph_graph_destroy(graph);
    assert_int_equal(length_at(200, &rank), i == 0 ? 100 : 200);
    assert_int_equal(length_at(7, &rank), 7);
  }
  (void)remove(path);
}

/// y: elements of x up to what the operator makes of n and a number; up to 5 or n, where
/// that is a truth.
static void build_decision(const char *op, int64_t number, bool is_truth) {
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,3]"), 0, "n");
  (void)kit_weight(&kit, "zero", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(&kit, "five", "int64[1]", (const int64_t[]){5});
  (void)kit_weight(&kit, "number", "int64[1]", &number);
  (void)kit_weight(&kit, "clipped", "int64[]", &number);
  (void)kit_node(&kit, "Shape", "x", "s");
  (void)kit_node(&kit, "Gather", "s,zero", "n");
  bool is_clip = strcmp(op, "Clip") == 0;
  (void)kit_node(&kit, op, is_clip ? "n,,clipped" : "n,number", "made");
  if (is_truth) (void)kit_node(&kit, "Where", "made,five,n", "end");
  (void)kit_node(&kit, "Slice", is_truth ? "x,zero,end" : "x,zero,made", "part");
  (void)kit_node(&kit, "Relu", "part", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
}

/// What a size and a number decide is decided at every size anew. n - 12 counts from the
/// end where it is negative.
static void decisions_by_size_are_kept(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int64_t number;
    bool is_truth;
    int64_t at_200, at_7;
  } cases[] = {{"Greater", 50, true, 5, 7},        {"Less", 50, true, 200, 5},
               {"Equal", 200, true, 5, 7},         {"LessOrEqual", 7, true, 200, 5},
               {"Equal", -1, true, 200, 7},        {"LessOrEqual", 0, true, 200, 7},
               {"Mod", 64, false, 8, 7},           {"Div", 16, false, 12, 0},
               {"Clip", 100, false, 100, 7},       {"Clip", INT64_MAX, false, 200, 7},
               {"Add", -1, false, 199, 6},         {"Sub", 250, false, 150, 0},
               {"Sub", 12, false, 188, 2},         {"Sub", 2, false, 198, 5},
               {"GreaterOrEqual", 100, true, 5, 7}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t rank;
    egraph_result *result;
    build_decision(cases[i].op, cases[i].number, cases[i].is_truth);
    egraph_graph *graph = load(NULL);
    assert_ok(egraph_graph_save(optimized(graph, &result), path));
    egraph_result_destroy(result);
    egraph_graph_destroy(graph);
    assert_int_equal(length_at(200, &rank), cases[i].at_200);
    assert_int_equal(length_at(7, &rank), cases[i].at_7);
  }
  (void)remove(path);
}

/// A plan made at one size names the weights of the model that is read at any: both
/// readings keep the same ones. Of 160 bytes 160 float32 are made, which is too many.
static void weights_are_the_same_as_at_a_size(void **state) {
  (void)state;
  static const char bytes[160] = "weights";
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,16]"), 0, "n");
  (void)kit_weight(&kit, "w", "int8[16,10]", bytes);
  (void)kit_weight(&kit, "scale", "float32[]", (const float[]){0.5F});
  (void)kit_node(&kit, "DequantizeLinear", "w,scale", "weight");
  (void)kit_node(&kit, "MatMul", "x,weight", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  egraph_graph *open = load(NULL);
  egraph_graph *at_3 =
      load(&(egraph_load_options){.size = sizeof(egraph_load_options), .batch = 3});
  assert_int_equal(egraph_graph_info_of(open).nodes, 2);
  assert_int_equal(egraph_graph_info_of(at_3).nodes, 2);
  egraph_graph_destroy(open);
  egraph_graph_destroy(at_3);
  (void)remove(path);
}

/// So that a model and what was made of it have the same example.
static void examples_are_taken(void **state) {
  (void)state;
  static const int64_t sizes[] = {127, 4, 22, 1};
  onnx_kit kit;
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,22]"), 0, "n");
  (void)kit_node(&kit, "Relu", "x", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const egraph_dim example = {.name = "n", .size = sizes[i]};
    egraph_dim dim;
    egraph_graph *graph = load(&(egraph_load_options){
        .size = sizeof(egraph_load_options), .examples = &example, .example_count = 1});
    assert_ok(egraph_graph_open_dim(graph, 0, &dim));
    assert_int_equal(dim.size, example.size);
    egraph_graph_destroy(graph);
  }
  (void)remove(path);
}

// ---- another batch than the file's ----------------------------------------------------

static void build_batch(onnx_kit *kit, const int64_t *shape, uint32_t count) {
  kit_begin(kit, 13);
  (void)kit_input(kit, "x", "float32[2,3,8]");
  kit_vector(kit, "shape", count, shape);
  (void)kit_node(kit, "Reshape", "x,shape", "y");
  kit_output(kit, "y");
  write_kit(kit);
}

static void expect_dims(int64_t batch, const int64_t *dims, uint32_t rank) {
  const char *name;
  egraph_tensor type;
  egraph_graph *graph =
      load(&(egraph_load_options){.size = sizeof(egraph_load_options), .batch = batch});
  assert_ok(egraph_graph_output(graph, 0, &name, &type));
  assert_int_equal(type.rank, rank);
  for (uint32_t i = 0; i < rank; i++)
    assert_int_equal(type.dims[i], dims[i]);
  egraph_graph_destroy(graph);
  (void)remove(path);
}

static void constant_shapes_follow_the_batch(void **state) {
  (void)state;
  onnx_kit kit;
  build_batch(&kit, (const int64_t[]){2, 24}, 2);
  expect_dims(5, (const int64_t[]){5, 24}, 2);
  build_batch(&kit, (const int64_t[]){6, 8}, 2); // batch times 3
  expect_dims(5, (const int64_t[]){15, 8}, 2);
  build_batch(&kit, (const int64_t[]){2, 3, 2, 4}, 4);
  expect_dims(1, (const int64_t[]){1, 3, 2, 4}, 4);
  build_batch(&kit, (const int64_t[]){1, 2, 24}, 3);
  expect_dims(4, (const int64_t[]){1, 4, 24}, 3);
  build_batch(&kit, (const int64_t[]){2, -1}, 2); // -1 would take the batch
  expect_dims(5, (const int64_t[]){5, 24}, 2);
}

static void what_does_not_follow_is_refused(void **state) {
  (void)state;
  onnx_kit kit;
  egraph_graph *graph;
  const egraph_load_options five = {.size = sizeof five, .batch = 5};
  build_batch(&kit, (const int64_t[]){3, 16}, 2);
  assert_fails(egraph_graph_load(NULL, path, &five, &graph), EGRAPH_E_UNSUPPORTED,
               "no entry of its shape is where the batch is");
  kit_begin(&kit, 13);
  (void)kit_input(&kit, "x", "float32[2,3]");
  (void)kit_input(&kit, "z", "float32[4,3]");
  kit_output(&kit, "x");
  kit_output(&kit, "z");
  write_kit(&kit);
  assert_fails(egraph_graph_load(NULL, path, &five, &graph), EGRAPH_E_UNSUPPORTED,
               "the model has no one batch");
  kit_begin(&kit, 13);
  (void)kit_input(&kit, "x", "float32[2,3]");
  (void)kit_weight(&kit, "w", "float32[2,3]", (const float[6]){1});
  (void)kit_node(&kit, "Add", "x,w", "y");
  kit_output(&kit, "y");
  write_kit(&kit);
  assert_fails(egraph_graph_load(NULL, path, &five, &graph), EGRAPH_E_UNSUPPORTED,
               "a batch of 5 in the place of 2");
  (void)remove(path);
}

/// A branch that depends on an open dimension is kept.
static void branches_by_size_are_kept(void **state) {
  (void)state;
  static const char *const names[] = {"then_branch", "else_branch"};
  static const char *const ops[] = {"Relu", "Exp"};
  onnx_kit kit, branches[2];
  kit_begin(&kit, 13);
  symbol(&kit, kit_input(&kit, "x", "float32[2,3]"), 0, "batch");
  (void)kit_weight(&kit, "zero", "int64[1]", (const int64_t[]){0});
  (void)kit_weight(&kit, "one", "int64[1]", (const int64_t[]){1});
  (void)kit_node(&kit, "Shape", "x", "s");
  (void)kit_node(&kit, "Gather", "s,zero", "n");
  (void)kit_node(&kit, "Equal", "n,one", "c");
  Onnx__NodeProto *node = kit_node(&kit, "If", "c", "y");
  for (size_t i = 0; i < 2; i++) {
    kit_begin(&branches[i], 13);
    (void)kit_node(&branches[i], ops[i], "x", "b");
    kit_output(&branches[i], "b");
    kit_attr(&kit, node, names[i], ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g =
        &branches[i].graph;
  }
  kit_output(&kit, "y");
  write_kit(&kit);
  egraph_graph *graph = load(NULL);
  unsigned char *bytes;
  size_t size;
  assert_ok(eg_onnx_pack(graph, &bytes, &size));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  assert_non_null(model);
  bool is_kept = false;
  for (size_t i = 0; i < model->graph->n_node; i++)
    is_kept = is_kept || strcmp(model->graph->node[i]->op_type, "If") == 0;
  assert_true(is_kept);
  onnx__model_proto__free_unpacked(model, NULL);
  eg_free(eg_allocator_heap(), bytes, size, 1);
  egraph_graph_destroy(graph);
  // At a given size the branch is known.
  const egraph_load_options one = {.size = sizeof one, .batch = 1};
  graph = load(&one);
  assert_int_equal(egraph_graph_info_of(graph).opaque_nodes, 0);
  egraph_graph_destroy(graph);
  for (size_t i = 0; i < 2; i++)
    kit_end(&branches[i]);
  (void)remove(path);
}

/// Elements of the convolution's kernel after optimization, at the sizes given, if any.
static int64_t optimized_kernel(const egraph_load_options *sizes) {
  egraph_result *result;
  egraph_graph *graph = load(sizes);
  const egraph_graph *better = optimized(graph, &result);
  int64_t elements = 0;
  for (uint32_t i = 0; i < eg_graph_value_count(better); i++) {
    const eg_value_info *info = eg_graph_value(better, (eg_value){i});
    if (info->kind == EG_VALUE_WEIGHT) elements += eg_type_elements(&info->type);
  }
  egraph_result_destroy(result);
  egraph_graph_destroy(graph);
  return elements;
}

/// At these sizes one tap of nine sees pixels; at larger ones all do.
static void rules_hold_at_every_size(void **state) {
  (void)state;
  onnx_kit kit;
  float kernel[36];
  for (uint32_t i = 0; i < 36; i++)
    kernel[i] = (float)i + 1;
  kit_begin(&kit, 13);
  Onnx__ValueInfoProto *x = kit_input(&kit, "x", "float32[1,2,7,7]");
  symbol(&kit, x, 2, "height");
  symbol(&kit, x, 3, "width");
  (void)kit_weight(&kit, "w", "float32[2,2,3,3]", kernel);
  Onnx__NodeProto *conv = kit_node(&kit, "Conv", "x,w", "y");
  kit_ints(&kit, conv, "dilations", 2, (const int64_t[]){200, 200});
  kit_ints(&kit, conv, "pads", 4, (const int64_t[]){200, 200, 200, 200});
  kit_output(&kit, "y");
  write_kit(&kit);
  const egraph_dim dims[] = {{.name = "height", .size = 64},
                             {.name = "width", .size = 80}};
  const egraph_load_options fixed = {.size = sizeof fixed, .dims = dims, .dim_count = 2};
  assert_int_equal(optimized_kernel(&fixed), 4);
  assert_int_equal(optimized_kernel(NULL), 36);
  (void)remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_stays_open),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(constants_of_open_shape_are_computed),
      cmocka_unit_test(sizes_that_round_up_are_no_lines),
      cmocka_unit_test(slices_hold_at_every_size),
      cmocka_unit_test(open_dimensions_may_be_squeezed),
      cmocka_unit_test(bounds_of_sizes_are_expressions),
      cmocka_unit_test(decisions_by_size_are_kept),
      cmocka_unit_test(weights_are_the_same_as_at_a_size),
      cmocka_unit_test(examples_are_taken),
      cmocka_unit_test(constant_shapes_follow_the_batch),
      cmocka_unit_test(what_does_not_follow_is_refused),
      cmocka_unit_test(branches_by_size_are_kept),
      cmocka_unit_test(rules_hold_at_every_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
