// Sessions: memory sharing, folding, errors, timing, random graphs against the reference,
// failing allocations.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // feenableexcept
#include "exec/session.h"

#include <fenv.h>

#include "tests/testing.h"
#include "tests/unit/session_kit.h"

static eg_graph *opened; // by open_text: the session reads it

static eg_session *open_text(const char *text, const char *backend) {
  eg_session *session;
  eg_session_options options = EG_SESSION_OPTIONS_DEFAULT;
  options.backend = backend;
  opened = kit_parse("test", text);
  assert_ok(eg_session_create(NULL, opened, &options, &session));
  return session;
}

static void close_text(eg_session *session) {
  eg_session_destroy(session);
  eg_graph_destroy(opened);
}

static const eg_step_figures *step_named(const eg_session *session, const char *kernel,
                                         uint32_t *out_count) {
  const eg_step_figures *found = NULL;
  *out_count = 0;
  for (uint32_t i = 0; i < eg_rank_program_step_count(eg_session_program(session)); i++) {
    const eg_step_figures *step = eg_rank_program_step_at(eg_session_program(session), i);
    if (strncmp(step->kernel, kernel, strlen(kernel)) != 0) continue;
    found = step;
    ++*out_count;
  }
  return found;
}

static uint32_t count_steps(const eg_session *session, const char *kernel) {
  uint32_t count;
  (void)step_named(session, kernel, &count);
  return count;
}

// ---- memory ---------------------------------------------------------------------

static void pointwise_chains_run_in_place(void **state) {
  (void)state;
  eg_session *session = open_text(
      "(egraph-graph 1)(input x \"float32[64,64]\")(let a (relu x))(let b (tanh a))"
      "(let c (abs b))(output c)",
      "cpu");
  assert_int_equal(eg_rank_program_memory(eg_session_program(session)).arena,
                   64 * 64 * 4);
  assert_int_equal(eg_rank_program_step_count(eg_session_program(session)), 3);
  close_text(session);
}

static void an_einsum_that_is_a_matrix_product_runs_as_one(void **state) {
  (void)state;
  static const struct {
    const char *equation, *kernel;
  } rows[] = {{"abc,abd->cd", "oneDNN"},     {"bca,bca->", "oneDNN"},
              {"abc,abd->dc", "oneDNN"},     // bT aT
              {"abc,abd->acd", "oneDNN"},    // a batch
              {"abc,dbc->adb", "oneDNN"},    // a batch between the others
              {"abc,adc->bd", "oneDNN"},     // what is summed is copied together
              {"abc,acd->dab", "oneDNN"},    // so is the result
              {"abb,abc->ac", "reference"},  // a diagonal
              {"abc,abc->abc", "reference"}, // products of elements
              {"abc,abd->c", "reference"}};  // d is summed over one operand alone
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "(egraph-graph 1)(input x \"float32[3,8,8]\")(input y \"float32[3,8,8]\")"
             "(let z (einsum :equation \"%s\" x y))(output z)",
             rows[i].equation);
    eg_session *session = open_text(text, "cpu");
    assert_int_equal(count_steps(session, rows[i].kernel), 1);
    close_text(session);
  }
}

static void a_value_read_later_is_not_overwritten(void **state) {
  (void)state;
  eg_session *session =
      open_text("(egraph-graph 1)(input x \"float32[64,64]\")(let a (relu x))"
                "(let b (tanh a))(let c (add a b))(output c)",
                "cpu");
  assert_int_equal(eg_rank_program_memory(eg_session_program(session)).arena,
                   2 * 64 * 64 * 4);
  close_text(session);
}

static void concatenation_along_the_outermost_dimension_is_free(void **state) {
  (void)state;
  eg_session *session = open_text(
      "(egraph-graph 1)(input x \"float32[1,16,4,4]\")(input y \"float32[1,16,4,4]\")"
      "(let a (relu x))(let b (tanh y))(let c (concat :axis 1 a b))(output c)",
      "cpu");
  assert_int_equal(count_steps(session, "view"), 1);
  assert_int_equal(eg_rank_program_memory(eg_session_program(session)).arena,
                   2 * 16 * 16 * 4);
  close_text(session);
}

static void concatenation_of_one_value_twice_is_copied(void **state) {
  (void)state;
  eg_session *session =
      open_text("(egraph-graph 1)(input x \"float32[2,8]\")(let a (relu x))"
                "(let c (concat :axis 0 a a))(output c)",
                "cpu");
  assert_int_equal(count_steps(session, "view"), 0);
  assert_int_equal(count_steps(session, "copy"), 1);
  close_text(session);
}

static void splits_and_reshapes_are_views(void **state) {
  (void)state;
  eg_session *session = open_text(
      "(egraph-graph 1)(input x \"float32[1,32,2,2]\")"
      "(let [a b] (split :axis 1 :sizes [16 16] x))(let r (reshape :shape [16 4] a))"
      "(let s (slice :starts [4 0] :ends [8 4] :steps [1 1] r))"
      "(let y (relu s))(let z (tanh b))(output y)(output z)",
      "cpu");
  assert_int_equal(count_steps(session, "view"), 3);
  assert_int_equal(eg_rank_program_step_count(eg_session_program(session)), 5);
  close_text(session);
}

static void packed_weights_are_held_once(void **state) {
  (void)state;
  eg_session *session =
      open_text("(egraph-graph 1)(input x \"float32[1,64,8,8]\")"
                "(weight w \"float32[64,64,3,3]\")(weight unused \"float32[1000]\")"
                "(let a (identity x) :formats [nhwc])"
                "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] a w)"
                " :formats [nhwc])(let z (identity y))(output z)",
                "cpu");
  // Once, in blocks of up to 24 channels: 72 for 64. Not twice.
  size_t bytes = 64 * 64 * 9 * sizeof(float);
  eg_rank_memory memory = eg_rank_program_memory(eg_session_program(session));
  assert_in_range(memory.weights + memory.packed, bytes, bytes / 64 * 72 + 4096);
  close_text(session);
}

static void equal_nodes_with_different_weights_stay_different(void **state) {
  (void)state;
  eg_graph *graph = kit_parse(
      "two", "(egraph-graph 1)(input x \"float32[4,8]\")(weight v \"float32[8,8]\")"
             "(weight w \"float32[8,8]\")(let a (matmul x v))(let b (matmul x w))"
             "(output a)(output b)");
  kit_tensors inputs, want, have;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "reference", 1, &inputs, &want);
  kit_run(graph, "cpu", 1, &inputs, &have);
  assert_true(kit_error(&want, &have) < 1e-5);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  eg_graph_destroy(graph);
}

static void outputs_in_any_format_come_back_row_major(void **state) {
  (void)state;
  static const char *const formats[] = {"nhwc", "nChw8c", "nChw16c"};
  for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
    char text[256];
    snprintf(text, sizeof text,
             "(egraph-graph 1)(input x \"float32[2,20,3,5]\")"
             "(let a (identity x) :formats [%s])(let y (abs a) :formats [%s])"
             "(output y)(output a)",
             formats[f], formats[f]);
    eg_graph *graph = kit_parse("formats", text);
    kit_tensors inputs, want, have;
    kit_inputs_draw(graph, &inputs);
    kit_run(graph, "reference", 1, &inputs, &want);
    kit_run(graph, "cpu", 1, &inputs, &have);
    assert_true(kit_error(&want, &have) == 0);
    assert_memory_equal(inputs.items[0].data, have.items[1].data,
                        eg_type_bytes(&inputs.items[0].type));
    kit_tensors_deinit(&inputs);
    kit_tensors_deinit(&want);
    kit_tensors_deinit(&have);
    eg_graph_destroy(graph);
  }
}

static void absent_weights_follow_seed_and_name(void **state) {
  (void)state;
  const char *text = "(egraph-graph 1)(weight w \"float32[4]\")(output w)";
  eg_graph *graph = kit_parse("weight", text);
  float first[4], second[4];
  for (uint64_t seed = 1; seed <= 2; seed++) {
    eg_session *session;
    eg_session_options options = {.backend = "cpu", .threads = 1, .seed = seed};
    eg_type type = eg_type_of(EGRAPH_FLOAT32, 1, (int64_t[]){4});
    eg_tensor out = {.type = type, .data = seed == 1 ? first : second};
    assert_ok(eg_session_create(NULL, graph, &options, &session));
    assert_ok(eg_session_run(session, NULL, &out));
    eg_session_destroy(session);
  }
  assert_memory_not_equal(first, second, sizeof first);
  eg_graph_destroy(graph);
}

// ---- errors ---------------------------------------------------------------------

static void an_opaque_node_is_named(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("opaque", "(egraph-graph 1)(input x \"float32[1,2]\")"
                                        "(let z (opaque LSTM x) :node rnn1 :types "
                                        "[\"float32[1,2]\"] :record \"00\")(output z)");
  eg_session *session;
  eg_session_options options = EG_SESSION_OPTIONS_DEFAULT;
  assert_fails(eg_session_create(NULL, graph, &options, &session), EGRAPH_E_UNSUPPORTED,
               "'rnn1'");
  assert_fails(eg_session_create(NULL, graph, &options, &session), EGRAPH_E_UNSUPPORTED,
               "'LSTM'");
  eg_graph_destroy(graph);
}

static void an_opaque_node_beside_the_outputs_is_ignored(void **state) {
  (void)state;
  eg_session *session =
      open_text("(egraph-graph 1)(input x \"float32[1,2]\")"
                "(let z (opaque LSTM x) :types [\"float32[1,2]\"] :record \"00\")"
                "(let y (relu x))(output y)",
                "cpu");
  assert_int_equal(eg_rank_program_step_count(eg_session_program(session)), 1);
  close_text(session);
}

static void wrong_tensors_are_refused(void **state) {
  (void)state;
  eg_session *session = open_text(
      "(egraph-graph 1)(input x \"float32[2,3]\")(let y (relu x))(output y)", "cpu");
  float data[6] = {0};
  eg_tensor good = {.type = eg_type_of(EGRAPH_FLOAT32, 2, (int64_t[]){2, 3}),
                    .data = data};
  eg_tensor wide = good, none = good;
  wide.type.dims[1] = 4;
  none.data = NULL;
  assert_fails(eg_session_run(session, &wide, &good), EGRAPH_E_TYPE, "input 'x'");
  assert_fails(eg_session_run(session, &good, &wide), EGRAPH_E_TYPE, "output 'y'");
  assert_fails(eg_session_run(session, &none, &good), EGRAPH_E_ARGUMENT, "no data");
  assert_ok(eg_session_run(session, &good, &good));
  close_text(session);
}

// ---- timing ---------------------------------------------------------------------

static void steps_are_timed_on_demand(void **state) {
  (void)state;
  eg_graph *graph = kit_parse("timed", "(egraph-graph 1)(input x \"float32[64,64]\")"
                                       "(weight w \"float32[64,64]\")"
                                       "(let y (matmul x w))(output y)");
  eg_session *session;
  eg_session_options options = EG_SESSION_OPTIONS_DEFAULT;
  kit_tensors inputs, outputs;
  kit_inputs_draw(graph, &inputs);
  kit_outputs_alloc(graph, &outputs);
  assert_ok(eg_session_create(NULL, graph, &options, &session));
  assert_ok(eg_session_run(session, inputs.items, outputs.items));
  assert_true(eg_rank_program_step_at(eg_session_program(session), 0)->seconds == 0);
  eg_rank_program_set_timing(eg_session_program(session), true);
  assert_ok(eg_session_run(session, inputs.items, outputs.items));
  const eg_step_figures *step = eg_rank_program_step_at(eg_session_program(session), 0);
  assert_true(step->seconds > 0);
  assert_true(step->flops == 2.0 * 64 * 64 * 64);
  assert_true(step->bytes >= 3.0 * 64 * 64 * 4);
  assert_int_equal(step->node.id, 0);
  assert_string_not_equal(step->kernel, "reference");
  eg_session_destroy(session);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&outputs);
  eg_graph_destroy(graph);
}

// ---- the floating-point environment of the host program ---------------------------

// exp overflows, x / x is NaN at zero, relu compares with NaN, rounding is everywhere.
static void run_with_flags(const char *backend, uint32_t threads, int flags, bool traps) {
  eg_graph *graph =
      kit_parse("flags", "(egraph-graph 1)(input x \"float32[4,4096]\")(let a (exp x))"
                         "(let b (div x x))(let c (relu b))(let d (mul a c))(output d)");
  eg_session_options options = {.backend = backend, .threads = threads, .seed = 7};
  eg_session *session;
  kit_tensors inputs, outputs;
  kit_inputs_draw(graph, &inputs);
  kit_outputs_alloc(graph, &outputs);
  float *x = inputs.items[0].data;
  x[0] = 0;
  x[1] = 1e30f;
  (void)feclearexcept(FE_ALL_EXCEPT);
  (void)feraiseexcept(flags);
  assert_ok(eg_session_create(NULL, graph, &options, &session));
#ifdef __GLIBC__
  if (traps) (void)feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
  egraph_status status = eg_session_run(session, inputs.items, outputs.items);
  int after = fetestexcept(FE_ALL_EXCEPT);
#ifdef __GLIBC__
  int enabled = fedisableexcept(FE_ALL_EXCEPT);
  assert_int_equal(enabled, traps ? FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW : 0);
#endif
  assert_ok(status);
  assert_int_equal(after, flags);
  const float *d = outputs.items[0].data;
  assert_true(isnan(d[0]) && isinf(d[1]));
  eg_session_destroy(session);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&outputs);
  eg_graph_destroy(graph);
}

static void the_host_keeps_its_floating_point_flags(void **state) {
  (void)state;
  static const char *const backends[] = {"cpu", "reference"};
  static const int flags[] = {0, FE_DIVBYZERO, FE_INVALID | FE_UNDERFLOW};
  for (size_t b = 0; b < 2; b++)
    for (size_t f = 0; f < 3; f++)
      for (uint32_t threads = 1; threads <= 2; threads++)
        run_with_flags(backends[b], threads, flags[f], false);
}

static void runs_do_not_trap_where_the_host_wants_traps(void **state) {
  (void)state;
  run_with_flags("cpu", 1, 0, true);
  run_with_flags("reference", 1, 0, true);
}

// ---- random graphs --------------------------------------------------------------

// Images of 16 or 32 channels, all in one pool of values; every step adds a node in a
// random format that fits.
typedef struct generator {
  eg_rng rng;
  eg_graph *graph;
  eg_value pool[40];
  uint32_t count, weights;
} generator;

static eg_value pick(generator *g) { return g->pool[eg_rng_below(&g->rng, g->count)]; }

static const eg_type *type_of(const generator *g, eg_value value) {
  return &eg_graph_value(g->graph, value)->type;
}

static eg_value add_weight(generator *g, uint32_t rank, const int64_t *dims) {
  eg_value out;
  char name[16];
  snprintf(name, sizeof name, "w%u", g->weights++);
  eg_type type = eg_type_of(EGRAPH_FLOAT32, rank, dims);
  assert_ok(eg_graph_add_weight(g->graph, name, &type, NULL, &out));
  return out;
}

static eg_value in_format(generator *g, eg_value value, eg_format format) {
  if (type_of(g, value)->layout.format == format) return value;
  eg_attrs identity = {.op = EG_OP_IDENTITY};
  eg_value out;
  assert_ok(eg_graph_add_node(g->graph, NULL, &identity, &value, 1, NULL, &out));
  assert_ok(eg_graph_set_format(g->graph, out, format));
  return out;
}

static void add_result(generator *g, eg_op op, const eg_attr *slots,
                       const eg_value *operands, uint32_t count, eg_format format) {
  eg_attrs attrs = {
      .op = (uint16_t)op, .count = eg_op_info_of(op)->attr_count, .slots = slots};
  eg_value out;
  assert_ok(eg_graph_add_node(g->graph, NULL, &attrs, operands, count, NULL, &out));
  assert_ok(eg_graph_set_format(g->graph, out, format));
  g->pool[g->count++] = out;
}

static eg_format random_format(generator *g, int64_t channels) {
  eg_format format = (eg_format)eg_rng_below(&g->rng, EG_FORMAT_COUNT);
  return channels % eg_format_block(format) == 0 ? format : EG_FORMAT_NHWC;
}

static void add_conv(generator *g) {
  eg_value x = pick(g);
  int64_t channels = type_of(g, x)->dims[1], made = eg_rng_below(&g->rng, 2) ? 16 : 32;
  eg_attr slots[16];
  eg_attrs_defaults(EG_OP_CONV, slots);
  static const int64_t ones[] = {1, 1}, pads[] = {1, 1, 1, 1};
  slots[EG_A_CONV_STRIDES - EG_A_BASE_CONV].ints = (eg_ints){ones, 2};
  slots[EG_A_CONV_PADS - EG_A_BASE_CONV].ints = (eg_ints){pads, 4};
  slots[EG_A_CONV_DILATIONS - EG_A_BASE_CONV].ints = (eg_ints){ones, 2};
  slots[EG_A_CONV_ACT - EG_A_BASE_CONV].i = (int64_t)eg_rng_below(&g->rng, 2);
  slots[EG_A_CONV_ALGORITHM - EG_A_BASE_CONV].i = (int64_t)eg_rng_below(&g->rng, 3);
  eg_format format = random_format(g, 16);
  eg_value operands[4] = {in_format(g, x, format),
                          add_weight(g, 4, (int64_t[]){made, channels, 3, 3}),
                          add_weight(g, 1, &made)};
  uint32_t count = 3;
  eg_value z = pick(g);
  if (type_of(g, z)->dims[1] == made) operands[count++] = in_format(g, z, format);
  add_result(g, EG_OP_CONV, slots, operands, count, format);
}

static void add_binary(generator *g) {
  eg_value a = pick(g), b = pick(g);
  if (type_of(g, a)->dims[1] != type_of(g, b)->dims[1]) return;
  eg_format format = random_format(g, type_of(g, a)->dims[1]);
  eg_value operands[] = {in_format(g, a, format), in_format(g, b, format)};
  add_result(g, eg_rng_below(&g->rng, 2) ? EG_OP_ADD : EG_OP_MAX, NULL, operands, 2,
             format);
}

static void add_unary(generator *g) {
  eg_value x = pick(g);
  eg_format format = random_format(g, type_of(g, x)->dims[1]);
  x = in_format(g, x, format);
  add_result(g, eg_rng_below(&g->rng, 2) ? EG_OP_RELU : EG_OP_TANH, NULL, &x, 1, format);
}

// Concatenates two images and takes a part of the result, which may be a view of memory
// that others use.
static void add_concat_split(generator *g) {
  eg_value pair[] = {pick(g), pick(g)}, whole, parts[2];
  eg_format format = random_format(g, 16);
  int64_t sizes[2];
  for (int i = 0; i < 2; i++) {
    sizes[1 - i] = type_of(g, pair[i])->dims[1];
    pair[i] = in_format(g, pair[i], format);
  }
  eg_attr axis[2] = {{.kind = EG_ATTR_INT, .i = 1}};
  eg_attrs concat = {.op = EG_OP_CONCAT, .count = 1, .slots = axis};
  assert_ok(eg_graph_add_node(g->graph, NULL, &concat, pair, 2, NULL, &whole));
  assert_ok(eg_graph_set_format(g->graph, whole, format));
  axis[1] = (eg_attr){.kind = EG_ATTR_INTS, .ints = {sizes, 2}};
  eg_attrs split = {.op = EG_OP_SPLIT, .count = 2, .slots = axis};
  assert_ok(eg_graph_add_node(g->graph, NULL, &split, &whole, 1, NULL, parts));
  for (int i = 0; i < 2; i++) {
    assert_ok(eg_graph_set_format(g->graph, parts[i], format));
    g->pool[g->count++] = parts[i];
  }
}

static eg_graph *random_graph(eg_rng rng) {
  generator g = {.rng = rng};
  assert_ok(eg_graph_create(NULL, &g.graph));
  for (int64_t i = 0; i < 2; i++) {
    eg_type type = eg_type_of(EGRAPH_FLOAT32, 4, (int64_t[]){1, 16 + 16 * i, 6, 6});
    char name[8];
    snprintf(name, sizeof name, "x%d", (int)i);
    assert_ok(eg_graph_add_input(g.graph, name, &type, &g.pool[g.count++]));
  }
  void (*const steps[])(generator *) = {add_conv, add_binary, add_unary,
                                        add_concat_split};
  for (uint32_t i = 0; i < 12; i++)
    steps[eg_rng_below(&g.rng, 4)](&g);
  for (uint32_t i = 0; i < 3; i++) {
    eg_value out = in_format(&g, pick(&g), EG_FORMAT_PLAIN);
    char name[8];
    snprintf(name, sizeof name, "y%u", i);
    assert_ok(eg_graph_add_output(g.graph, name, out));
  }
  return g.graph;
}

// Convolutions deep, so that the bound is that of a dozen roundings in a row with
// Winograd among them.
static void random_graphs_agree_with_the_reference(void **state) {
  (void)state;
  eg_rng rng = {test_seed(17)};
  for (size_t round = 0; round < test_rounds(60); round++) {
    eg_graph *graph = random_graph(rng);
    eg_rng_next(&rng);
    kit_tensors inputs, want, have;
    kit_inputs_draw(graph, &inputs);
    kit_run(graph, "reference", 1, &inputs, &want);
    kit_run(graph, "cpu", 1, &inputs, &have);
    double error = kit_error(&want, &have);
    if (!(error < 1e-3)) fail_msg("round %zu: error %g", round, error);
    kit_tensors_deinit(&inputs);
    kit_tensors_deinit(&want);
    kit_tensors_deinit(&have);
    eg_graph_destroy(graph);
  }
}

// ---- failing allocations --------------------------------------------------------

static egraph_status create_with(egraph_allocator alloc, void *user) {
  eg_session *session;
  eg_session_options options = {.backend = user, .threads = 1, .seed = 1};
  eg_graph *graph = kit_parse(
      "oom",
      "(egraph-graph 1)(input x \"float32[1,16,4,4]\")(weight w \"float32[16,16,1,1]\")"
      "(weight s \"float32[16,1,1,1]\")(weight b \"float32[16]\")(let v (mul w s))"
      "(let a (identity x) :formats [nhwc])"
      "(let y (conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1] :act relu a v b)"
      " :formats [nhwc])(let z (identity y))(let [p q] (split :axis 1 :sizes [8 8] z))"
      "(let r (erf p))(output r)(output q)");
  egraph_status status = eg_session_create(&alloc, graph, &options, &session);
  if (status == EGRAPH_OK) eg_session_destroy(session);
  eg_graph_destroy(graph);
  return status;
}

static void creation_survives_failing_allocations(void **state) {
  (void)state;
  test_every_allocation_failing(create_with, "reference");
  test_every_allocation_failing(create_with, "cpu");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pointwise_chains_run_in_place),
      cmocka_unit_test(an_einsum_that_is_a_matrix_product_runs_as_one),
      cmocka_unit_test(a_value_read_later_is_not_overwritten),
      cmocka_unit_test(concatenation_along_the_outermost_dimension_is_free),
      cmocka_unit_test(concatenation_of_one_value_twice_is_copied),
      cmocka_unit_test(splits_and_reshapes_are_views),
      cmocka_unit_test(packed_weights_are_held_once),
      cmocka_unit_test(equal_nodes_with_different_weights_stay_different),
      cmocka_unit_test(outputs_in_any_format_come_back_row_major),
      cmocka_unit_test(absent_weights_follow_seed_and_name),
      cmocka_unit_test(an_opaque_node_is_named),
      cmocka_unit_test(an_opaque_node_beside_the_outputs_is_ignored),
      cmocka_unit_test(wrong_tensors_are_refused),
      cmocka_unit_test(steps_are_timed_on_demand),
      cmocka_unit_test(random_graphs_agree_with_the_reference),
      cmocka_unit_test(creation_survives_failing_allocations),
      cmocka_unit_test(the_host_keeps_its_floating_point_flags),
      cmocka_unit_test(runs_do_not_trap_where_the_host_wants_traps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
