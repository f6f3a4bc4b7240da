// Every back-end of the build computes the graphs of backend_cases.def like the reference
// kernels, in every memory format, with one thread and with two. A plugin that the
// program is given is tested alone.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "exec/backend.h"
#include "exec/session.h"
#include "pcg/graph/weights.h"
#include "tests/testing.h"
#include "tests/unit/random_nodes.h"
#include "tests/unit/session_kit.h"

typedef struct backend_case {
  const char *name;
  double tolerance;
  const char *text;
} backend_case;

#define EG_CASE(name, tolerance, text) {#name, tolerance, "(egraph-graph 1)" text},
static const backend_case cases[] = {
#include "tests/unit/backend_cases.def"
};
#undef EG_CASE
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/// The plugin, by a name to create it with; the program's argument, "cuda:FILE".
static const char *plugin = "cuda";
static uint32_t first; // back-end that is tested

static const char *name_at(uint32_t index) {
  const char *name = eg_backend_at(index, plugin)->name;
  return strcmp(name, "cuda") == 0 ? plugin : name;
}

// ---- special values -------------------------------------------------------------

// Values that stand in for what is drawn: one at a place, or every `step`-th element.
typedef struct special_filling {
  const char *name;
  float value;
  uint32_t first, step; // step 0: the first alone
} special_filling;
static const special_filling fillings[] = {
    {"one NaN", NAN, 37, 0},
    {"the first NaN", NAN, 0, 0},
    {"some NaN", NAN, 3, 41},
    {"NaN", NAN, 0, 1},
    {"one infinity", INFINITY, 21, 0},
    {"some infinities", INFINITY, 5, 67},
    {"infinities", INFINITY, 0, 1},
    {"one negative infinity", -INFINITY, 21, 0},
    {"some negative infinities", -INFINITY, 5, 7},
    {"negative infinities", -INFINITY, 0, 1},
    {"negative zeros", -0.0f, 0, 2},
    {"subnormal numbers", 1e-40f, 0, 3},
    {"negative subnormal numbers", -1e-40f, 1, 2},
};
enum { FILLING_COUNT = sizeof fillings / sizeof fillings[0] };

static void put_specials(const kit_tensors *inputs, const special_filling *filling) {
  for (uint32_t t = 0; t < inputs->count; t++) {
    const eg_tensor *x = &inputs->items[t];
    if (x->type.dtype != EGRAPH_FLOAT32) continue;
    int64_t elements = eg_type_elements(&x->type);
    for (int64_t i = filling->first; i < elements; i += filling->step) {
      ((float *)x->data)[i] = filling->value;
      if (filling->step == 0) break;
    }
  }
}

static int kind_of(double x) { return isnan(x) ? 2 : isinf(x) ? (x > 0 ? 1 : -1) : 0; }

/// Elements that are NaN or infinite in one of the two alone, or, where kernels may
/// spread them, in the reference alone.
static uint32_t count_lost(const kit_tensors *want, const kit_tensors *have,
                           bool spreads) {
  uint32_t count = 0;
  for (uint32_t t = 0; t < want->count; t++)
    for (int64_t i = 0; i < eg_type_elements(&want->items[t].type); i++) {
      int a = kind_of(eg_tensor_get_double(&want->items[t], i));
      int b = kind_of(eg_tensor_get_double(&have->items[t], i));
      count += spreads ? a != 0 && b == 0 : a != b;
    }
  return count;
}

static uint32_t compare_specials(const eg_graph *graph, const char *backend,
                                 uint32_t threads, bool spreads, const char *what) {
  kit_tensors inputs, want, have;
  uint32_t failures = 0;
  for (size_t f = 0; f < FILLING_COUNT; f++) {
    kit_inputs_draw(graph, &inputs);
    put_specials(&inputs, &fillings[f]);
    kit_run(graph, "reference", 1, &inputs, &want);
    kit_run(graph, backend, threads, &inputs, &have);
    uint32_t lost = count_lost(&want, &have, spreads);
    if (lost != 0)
      print_error("%s on %s of %s: %u elements differ in being NaN or infinite\n", what,
                  backend, fillings[f].name, lost);
    failures += lost != 0;
    kit_tensors_deinit(&inputs);
    kit_tensors_deinit(&want);
    kit_tensors_deinit(&have);
  }
  return failures;
}

// ---- numbers --------------------------------------------------------------------

// Failures are counted, so that one run names them all.
static uint32_t compare_with_reference(const eg_graph *graph, const char *backend,
                                       uint32_t threads, double tolerance,
                                       const char *what) {
  kit_tensors inputs, want, have;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "reference", 1, &inputs, &want);
  kit_run(graph, backend, threads, &inputs, &have);
  double error = kit_error(&want, &have);
  bool failed = !(error <= tolerance);
  if (failed)
    print_error("%s on %s: error %g beyond %g\n", what, backend, error, tolerance);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  return failed;
}

static uint32_t run_case(const char *backend, uint32_t threads, const backend_case *c) {
  eg_graph *graph = kit_parse(c->name, c->text);
  uint32_t failures =
      compare_with_reference(graph, backend, threads, c->tolerance, c->name);
  eg_graph_destroy(graph);
  return failures;
}

static void every_case_agrees_with_the_reference(void **state) {
  (void)state;
  uint32_t failures = 0;
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++)
    for (size_t i = 0; i < CASE_COUNT; i++)
      failures += run_case(name_at(b), 1, &cases[i]);
  assert_int_equal(failures, 0);
}

static void two_threads_agree_too(void **state) {
  (void)state;
  uint32_t failures = 0;
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++)
    for (size_t i = 0; i < CASE_COUNT; i += 9)
      failures += run_case(name_at(b), 2, &cases[i]);
  assert_int_equal(failures, 0);
}

// ---- memory formats: the node between transitions -------------------------------

typedef struct lone_node {
  const eg_graph *graph;
  eg_graph_node_info info;
  eg_type inputs[8], results[8];
} lone_node;

static bool find_lone_node(const eg_graph *graph, lone_node *out) {
  if (eg_graph_node_count(graph) != 1) return false;
  out->graph = graph;
  out->info = eg_graph_node_at(graph, (eg_graph_node){0});
  if (out->info.input_count > 8 || out->info.result_count > 8) return false;
  for (uint32_t i = 0; i < out->info.input_count; i++)
    out->inputs[i] = eg_graph_value(graph, out->info.inputs[i])->type;
  for (uint32_t i = 0; i < out->info.result_count; i++)
    out->results[i] = eg_graph_value(graph, out->info.results[i])->type;
  return true;
}

static eg_value add_transition(eg_graph *graph, eg_value from, eg_format format) {
  eg_attrs identity = {.op = EG_OP_IDENTITY};
  eg_value out;
  assert_ok(eg_graph_add_node(graph, NULL, &identity, &from, 1, NULL, &out));
  assert_ok(eg_graph_set_format(graph, out, format));
  return out;
}

static eg_value add_leaf(eg_graph *to, const eg_graph *from, eg_value value) {
  const eg_value_info *info = eg_graph_value(from, value);
  eg_value out;
  if (eg_graph_find_value(to, info->name, &out)) return out;
  if (info->kind == EG_VALUE_INPUT)
    assert_ok(eg_graph_add_input(to, info->name, &info->type, &out));
  else
    assert_ok(eg_graph_add_weight(to, info->name, &info->type, info->data, &out));
  return out;
}

static eg_graph *with_formats(const lone_node *node, const eg_format_choice *choice) {
  eg_graph *graph;
  eg_value operands[8], results[8];
  assert_ok(eg_graph_create(NULL, &graph));
  for (uint32_t i = 0; i < node->info.input_count; i++) {
    operands[i] = add_leaf(graph, node->graph, node->info.inputs[i]);
    if (choice->input[i] != EG_FORMAT_PLAIN)
      operands[i] = add_transition(graph, operands[i], (eg_format)choice->input[i]);
  }
  assert_ok(eg_graph_add_node(graph, "node", node->info.attrs, operands,
                              node->info.input_count, NULL, results));
  for (uint32_t i = 0; i < node->info.result_count; i++) {
    assert_ok(eg_graph_set_format(graph, results[i], (eg_format)choice->output));
    eg_value back = add_transition(graph, results[i], EG_FORMAT_PLAIN);
    assert_ok(eg_graph_add_output(graph, NULL, back));
  }
  return graph;
}

// Winograd's sums spread NaN, and so does padding that is multiplied with weights or
// cotangents.
static bool may_spread(const backend_case *c) {
  return strstr(c->text, "winograd") != NULL || strstr(c->text, "(input w") != NULL ||
         strstr(c->text, "conv-grad-weight") != NULL;
}

/// The case in every format but the plain one, with numbers or with special values.
static uint32_t run_formats(const char *backend, const backend_case *c, bool has_specials,
                            uint32_t *inout_failures) {
  eg_graph *graph = kit_parse(c->name, c->text);
  lone_node node;
  uint32_t count = 0;
  if (find_lone_node(graph, &node)) {
    eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
    count = eg_op_formats(node.info.attrs, node.inputs, node.info.input_count,
                          node.results, node.info.result_count, UINT32_MAX, choices);
    for (uint32_t i = 1; i < count; i++) { // choice 0 is plain
      eg_graph *formatted = with_formats(&node, &choices[i]);
      char what[96];
      snprintf(what, sizeof what, "%s in %s", c->name,
               eg_format_name((eg_format)choices[i].output));
      *inout_failures +=
          has_specials
              ? compare_specials(formatted, backend, 1, may_spread(c), what)
              : compare_with_reference(formatted, backend, 1, c->tolerance, what);
      eg_graph_destroy(formatted);
    }
  }
  eg_graph_destroy(graph);
  return count > 1 ? count - 1 : 0;
}

static void every_format_agrees_with_the_reference(void **state) {
  (void)state;
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++) {
    uint32_t tried = 0, failures = 0;
    for (size_t i = 0; i < CASE_COUNT; i++)
      tried += run_formats(name_at(b), &cases[i], false, &failures);
    assert_int_equal(failures, 0);
    assert_true(tried > 100); // the table covers formats at all
  }
}

/// Sums of many elements, each format over another order of them.
static void long_sums_keep_their_digits(void **state) {
  (void)state;
  static const char *const formats[] = {"plain", "nhwc", "nChw8c", "nChw16c"};
  static const char *const axes[] = {"[0 2 3]", "[2 3]"};
  char text[512];
  for (size_t f = 0; f < 4; f++)
    for (size_t a = 0; a < 2; a++) {
      (void)snprintf(text, sizeof text,
                     "(egraph-graph 1)(input x \"float32[4,16,113,97]\")(let p (abs x))"
                     "(let l (identity p) :node l :formats [%s])"
                     "(let y (reduce-sum :axes %s l))(output y)",
                     formats[f], axes[a]);
      eg_graph *graph = kit_parse("long sums", text);
      assert_int_equal(compare_with_reference(graph, "cpu", 1, 1e-6, formats[f]), 0);
      eg_graph_destroy(graph);
    }
  eg_graph *column = kit_parse("column", "(egraph-graph 1)(input x \"float32[100003,3]\")"
                                         "(let p (abs x))"
                                         "(let y (reduce-mean :axes [0] p))(output y)");
  assert_int_equal(compare_with_reference(column, "cpu", 1, 1e-6, "column"), 0);
  eg_graph_destroy(column);
}

/// Formats that fit tensors, but that operators do not have: files may say so.
static void formats_that_operators_do_not_have_are_computed_all_the_same(void **state) {
  (void)state;
  static const char *const nodes[] = {
      "(let y (reduce-mean :axes [0 2] a) :node y)",
      "(let y (reduce-sum :axes [2] a) :node y)",
      "(let y (softmax :axis 3 a) :node y)",
      "(let y (softmax :axis 1 x) :node y :formats [nhwc])",
      "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x v) :node y)",
      "(let y (pad :pads [0 0 1 1 0 0 1 1] a) :node y)"};
  char text[512];
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
    (void)snprintf(text, sizeof text,
                   "(egraph-graph 1)(input x \"float32[2,32,4,5]\")"
                   "(input w \"float32[32,32,3,3]\")"
                   "(let a (identity x) :node a :formats [nhwc])"
                   "(let v (identity w) :node v :formats [nhwc])%s"
                   "(let z (identity y) :node z)(output z)(output v)",
                   nodes[i]);
    eg_graph *graph = kit_parse("format", text);
    assert_int_equal(compare_with_reference(graph, "cpu", 1, 1e-4, nodes[i]), 0);
    eg_graph_destroy(graph);
  }
}

// Threads share the units of a layer, its sequences or its directions; steps are several
// blocks.
static void recurrent_layers_have_the_same_bits_on_several_threads(void **state) {
  (void)state;
  static const struct {
    const char *node;
    int gates, ways, steps, batch, hidden;
  } rows[] = {{"lstm", 4, 1, 9, 1, 256},
              {"lstm", 4, 1, 9, 1, 384},
              {"gru", 3, 1, 9, 2, 256},
              {"gru :linear_before_reset 1 :direction reverse", 3, 1, 9, 1, 256},
              {"gru :direction bidirectional", 3, 2, 9, 1, 288},
              {"rnn :direction reverse", 1, 1, 150, 16, 40},
              {"lstm :direction bidirectional", 4, 2, 90, 9, 24}};
  char text[512];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int layout = 0; layout < 2; layout++) {
      int units = rows[i].gates * rows[i].hidden, ways = rows[i].ways;
      (void)snprintf(text, sizeof text,
                     "(egraph-graph 1)(input x \"float32[%d,%d,32]\")"
                     "(weight w \"float32[%d,%d,32]\")(weight r \"float32[%d,%d,%d]\")"
                     "(weight b \"float32[%d,%d]\")(let [y p%s] (%s :layout %d x w r b))"
                     "(output y)",
                     layout == 0 ? rows[i].steps : rows[i].batch,
                     layout == 0 ? rows[i].batch : rows[i].steps, ways, units, ways,
                     units, rows[i].hidden, ways, 2 * units,
                     rows[i].gates == 4 ? " q" : "", rows[i].node, layout);
      kit_check_cpu(text, 2 + (uint32_t)(i + (size_t)layout) % 3, 1e-5);
    }
}

static void the_cpu_keeps_nan_and_infinities(void **state) {
  (void)state;
  uint32_t failures = 0;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    eg_graph *graph = kit_parse(cases[i].name, cases[i].text);
    for (uint32_t threads = 1; threads <= (i % 9 == 0 ? 2u : 1u); threads++)
      failures +=
          compare_specials(graph, "cpu", threads, may_spread(&cases[i]), cases[i].name);
    eg_graph_destroy(graph);
    (void)run_formats("cpu", &cases[i], true, &failures);
  }
  assert_int_equal(failures, 0);
}

// ---- random nodes ---------------------------------------------------------------

typedef struct random_family {
  const char *name;
  void (*generate)(random_node *);
  double tolerance;
} random_family;

static const random_family families[] = {
    {"binary", random_binary, 1e-6},
    {"matmul", random_matmul, 2e-4},
    {"einsum", random_einsum, 2e-4},
    {"conv", random_conv, 1e-4},
    {"pool", random_pool, 1e-5},
    {"reduction", random_reduction, 1e-4},
    {"transpose", random_transpose, 0},
    {"slice", random_slice, 0},
    {"concat-split", random_concat_split, 0},
    {"softmax", random_softmax, 1e-5},
    {"resize", random_resize, 1e-5},
    {"norm", random_norm, 1e-3},
    {"recurrent", random_recurrent, 1e-5},
};

static uint32_t run_random(const random_family *family, eg_rng rng, uint32_t threads) {
  random_node node = {.rng = rng};
  eg_text_init(&node.text, eg_allocator_heap());
  assert_ok(eg_text_append(&node.text, "(egraph-graph 1)"));
  family->generate(&node);
  backend_case c = {family->name, family->tolerance, eg_text_of(&node.text)};
  uint32_t failures = 0;
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++) {
    if (b == 0) continue; // the reference itself
    failures += run_case(name_at(b), threads, &c);
    (void)run_formats(name_at(b), &c, false, &failures);
  }
  if (failures != 0) print_error("%s\n", c.text);
  eg_text_deinit(&node.text);
  return failures;
}

static void random_nodes_agree_with_the_reference(void **state) {
  (void)state;
  eg_rng rng = {test_seed(23)};
  uint32_t failures = 0;
  for (size_t round = 0; round < test_rounds(40); round++)
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
      failures += run_random(&families[f], rng, 1 + round % 2);
      (void)eg_rng_next(&rng);
    }
  assert_int_equal(failures, 0);
}

// ---- the contract of the interface ----------------------------------------------

static void names_are_unique_and_required_members_there(void **state) {
  (void)state;
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++) {
    const eg_backend_vtable *vtable = eg_backend_at(b, plugin);
    assert_non_null(vtable->create);
    assert_non_null(vtable->destroy);
    assert_non_null(vtable->describe);
    assert_non_null(vtable->formats);
    assert_non_null(vtable->memory_create);
    assert_non_null(vtable->memory_destroy);
    assert_non_null(vtable->compile);
    for (uint32_t other = 0; other < b; other++)
      assert_string_not_equal(vtable->name, name_at(other));
  }
}

static void an_unknown_backend_is_refused_by_name(void **state) {
  (void)state;
  eg_backend *backend;
  eg_backend_options options = {.threads = 1};
  assert_fails(eg_backend_create(NULL, "abacus", &options, &backend), EGRAPH_E_ARGUMENT,
               "no back-end 'abacus' in this build; there are 'reference', 'cpu', and "
               "'cuda' as a plugin");
}

static void device_memory_is_zeroed_and_aligned(void **state) {
  (void)state;
  eg_backend_options options = {.threads = 1};
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++) {
    eg_backend *backend;
    eg_device_memory memory, none;
    unsigned char bytes[100];
    memset(bytes, 1, sizeof bytes);
    assert_ok(eg_backend_create(NULL, name_at(b), &options, &backend));
    assert_ok(backend->vtable->memory_create(backend, sizeof bytes, &memory));
    assert_ok(backend->vtable->memory_create(backend, 0, &none));
    assert_int_equal((uintptr_t)memory.address % EG_DEVICE_ALIGNMENT, 0);
    assert_ok(eg_backend_download(backend, bytes, memory.address, sizeof bytes));
    for (size_t i = 0; i < sizeof bytes; i++)
      assert_int_equal(bytes[i], 0);
    assert_null(none.address);
    eg_device_memory_destroy(backend, &memory);
    eg_device_memory_destroy(backend, &none);
    eg_backend_destroy(backend);
  }
}

static void every_backend_describes_its_machine(void **state) {
  (void)state;
  eg_backend_options options = {.threads = 1};
  for (uint32_t b = first; eg_backend_at(b, plugin) != NULL; b++) {
    eg_backend *backend;
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_backend_create(NULL, name_at(b), &options, &backend));
    assert_ok(backend->vtable->describe(backend, &text));
    assert_non_null(strstr(eg_text_of(&text), "1 thread"));
    assert_true((backend->vtable->formats(backend) & 1u << EG_FORMAT_PLAIN) != 0);
    // A device says how much memory it has, the host's is not the back-end's to tell.
    assert_true(backend->vtable->host_memory == (backend->total_bytes == 0));
    eg_backend_destroy(backend);
    eg_text_deinit(&text);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) {
    eg_backend *backend;
    plugin = argv[1];
    if (eg_backend_create(NULL, plugin, &(eg_backend_options){.threads = 1}, &backend) !=
        EGRAPH_OK) {
      print_message("skipped: %s\n", egraph_last_error());
      return 77;
    }
    eg_backend_destroy(backend);
    while (eg_backend_at(first + 1, plugin) != NULL)
      first++;
  }
  const struct CMUnitTest of_all[] = {
      cmocka_unit_test(names_are_unique_and_required_members_there),
      cmocka_unit_test(an_unknown_backend_is_refused_by_name),
      cmocka_unit_test(device_memory_is_zeroed_and_aligned),
      cmocka_unit_test(every_backend_describes_its_machine),
      cmocka_unit_test(every_case_agrees_with_the_reference),
      cmocka_unit_test(every_format_agrees_with_the_reference),
      cmocka_unit_test(two_threads_agree_too),
      cmocka_unit_test(random_nodes_agree_with_the_reference),
  };
  const struct CMUnitTest of_the_cpu[] = {
      cmocka_unit_test(long_sums_keep_their_digits),
      cmocka_unit_test(formats_that_operators_do_not_have_are_computed_all_the_same),
      cmocka_unit_test(recurrent_layers_have_the_same_bits_on_several_threads),
      cmocka_unit_test(the_cpu_keeps_nan_and_infinities),
  };
  int failures = cmocka_run_group_tests(of_all, NULL, NULL);
  if (first == 0) failures += cmocka_run_group_tests(of_the_cpu, NULL, NULL);
  return failures;
}
