// The profiler: what it measures, what it calls unsupported, what is free. Times
// themselves are not asserted beyond being positive and finite.
// SPDX-License-Identifier: Apache-2.0
#include "exec/profile.h"
#include "pcg/graph/graph.h"
#include "tests/testing.h"
#include "tests/unit/session_kit.h"

typedef struct node_under_test {
  eg_graph *graph;
  eg_type inputs[8], results[4];
  eg_node_spec spec;
} node_under_test;

// The last node of a text graph.
static void node_init(node_under_test *t, const char *text) {
  t->graph = kit_parse("node", text);
  uint32_t last = eg_graph_node_count(t->graph) - 1;
  eg_graph_node_info info = eg_graph_node_at(t->graph, (eg_graph_node){last});
  t->spec = (eg_node_spec){.attrs = info.attrs,
                           .inputs = t->inputs,
                           .input_count = info.input_count,
                           .results = t->results,
                           .result_count = info.result_count};
  for (uint32_t i = 0; i < info.input_count; i++) {
    const eg_value_info *value = eg_graph_value(t->graph, info.inputs[i]);
    t->inputs[i] = value->type;
    if (value->kind == EG_VALUE_WEIGHT) t->spec.weight_mask |= UINT64_C(1) << i;
  }
  for (uint32_t i = 0; i < info.result_count; i++)
    t->results[i] = eg_graph_value(t->graph, info.results[i])->type;
}

static eg_profiler *open_profiler(const char *backend) {
  eg_profiler *profiler;
  eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  options.backend = backend;
  options.min_seconds = 0;
  options.repeats = 3;
  assert_ok(eg_profiler_create(NULL, &options, &profiler));
  return profiler;
}

static bool measure(eg_profiler *profiler, const char *text, eg_format format,
                    double *out_seconds) {
  node_under_test t;
  bool supported = false;
  eg_evidence evidence = {.samples = 0};
  *out_seconds = -1;
  node_init(&t, text);
  if (format != EG_FORMAT_PLAIN) {
    t.inputs[0].layout.format = (uint8_t)format;
    t.results[0].layout.format = (uint8_t)format;
  }
  assert_ok(eg_profiler_measure(profiler, &t.spec, out_seconds, &supported, &evidence));
  eg_graph_destroy(t.graph);
  return supported;
}

static const char conv_text[] =
    "(egraph-graph 1)(input x \"float32[1,32,14,14]\")(weight w \"float32[32,32,3,3]\")"
    "(weight b \"float32[32]\")"
    "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w b))";

static void nodes_are_measured_in_every_format(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  double seconds;
  for (int format = 0; format < EG_FORMAT_COUNT; format++) {
    if ((eg_profiler_formats(profiler) >> format & 1) == 0) continue;
    assert_true(measure(profiler, conv_text, (eg_format)format, &seconds));
    assert_true(seconds > 0 && seconds < 1);
  }
  eg_profiler_destroy(profiler);
}

static void in_place_nodes_are_measured(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  double seconds;
  assert_true(measure(profiler,
                      "(egraph-graph 1)(input x \"float32[1,64,8,8]\")"
                      "(input z \"float32[1,64,8,8]\")(let y (add x z))",
                      EG_FORMAT_PLAIN, &seconds));
  assert_true(seconds > 0);
  eg_profiler_destroy(profiler);
}

static void large_weights_are_measured(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  double seconds;
  for (int i = 0; i < 2; i++) // the second one finds the memory of the first
    assert_true(measure(profiler,
                        "(egraph-graph 1)(input x \"float32[4,256]\")"
                        "(weight w \"float32[256,256]\")(let y (matmul x w))",
                        EG_FORMAT_PLAIN, &seconds));
  assert_true(seconds > 0);
  eg_profiler_destroy(profiler);
}

static void nodes_without_a_kernel_are_measured_on_the_reference(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  double seconds;
  assert_true(measure(
      profiler, "(egraph-graph 1)(input x \"int64[4,9]\")(let y (cum-sum :axis 1 x))",
      EG_FORMAT_PLAIN, &seconds));
  assert_true(seconds > 0);
  eg_profiler_destroy(profiler);
}

static void a_format_without_a_kernel_is_unsupported(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  double seconds;
  assert_false(measure(profiler,
                       "(egraph-graph 1)(input x \"float32[1,32,3,3]\")(let y (max x x))",
                       EG_FORMAT_NHWC, &seconds));
  assert_true(seconds == -1); // untouched
  eg_profiler_destroy(profiler);
}

static void opaque_nodes_are_unsupported(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  double seconds;
  assert_false(measure(profiler,
                       "(egraph-graph 1)(input x \"float32[1,2]\")"
                       "(let z (opaque LSTM x) :types [\"float32[1,2]\"] :record \"00\")",
                       EG_FORMAT_PLAIN, &seconds));
  eg_profiler_destroy(profiler);
}

static void views_are_free(void **state) {
  (void)state;
  eg_profiler *profiler = open_profiler("cpu");
  static const char *const texts[] = {
      "(egraph-graph 1)(input x \"float32[4,6]\")(let y (reshape :shape [24] x))",
      "(egraph-graph 1)(input x \"float32[1,6,4]\")(let y (transpose :perm [1 0 2] x))",
      "(egraph-graph 1)(input x \"float32[1,6,4]\")(let [a b] (split :axis 1 :sizes [2 "
      "4] x))",
      "(egraph-graph 1)(input x \"float32[4,6]\")(input y \"float32[4,6]\")"
      "(let z (concat :axis 0 x y))"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    double seconds;
    assert_true(measure(profiler, texts[i], EG_FORMAT_PLAIN, &seconds));
    assert_true(seconds == 0);
  }
  double seconds;
  assert_true(
      measure(profiler,
              "(egraph-graph 1)(input x \"float32[4,6]\")(input y \"float32[4,6]\")"
              "(let z (concat :axis 1 x y))",
              EG_FORMAT_PLAIN, &seconds));
  assert_true(seconds > 0);
  eg_profiler_destroy(profiler);
}

static void a_slow_node_is_run_once(void **state) {
  (void)state;
  eg_profiler *profiler;
  eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  options.max_seconds = 0;
  options.repeats = 1000000000;
  assert_ok(eg_profiler_create(NULL, &options, &profiler));
  double seconds;
  assert_true(measure(profiler, conv_text, EG_FORMAT_PLAIN, &seconds));
  assert_true(seconds > 0);
  eg_profiler_destroy(profiler);
}

static void the_fingerprint_tells_threads_and_library(void **state) {
  (void)state;
  eg_profiler *profiler;
  eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  options.threads = 2;
  assert_ok(eg_profiler_create(NULL, &options, &profiler));
  eg_text one, two;
  eg_text_init(&one, eg_allocator_heap());
  eg_text_init(&two, eg_allocator_heap());
  assert_ok(eg_profiler_machine(profiler, &two));
  eg_profiler_destroy(profiler);
  profiler = open_profiler("cpu");
  assert_ok(eg_profiler_machine(profiler, &one));
  assert_string_not_equal(eg_text_of(&one), eg_text_of(&two));
  assert_non_null(strstr(eg_text_of(&two), "oneDNN"));
  assert_non_null(strstr(eg_text_of(&two), "2 threads"));
  eg_profiler_destroy(profiler);
  eg_text_deinit(&one);
  eg_text_deinit(&two);
}

static egraph_status measure_with(egraph_allocator alloc, void *user) {
  eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  options.min_seconds = 0;
  options.repeats = 1;
  eg_profiler *profiler;
  EG_TRY(eg_profiler_create(&alloc, &options, &profiler));
  node_under_test t;
  double seconds;
  bool supported;
  eg_evidence evidence;
  node_init(&t, user);
  egraph_status status =
      eg_profiler_measure(profiler, &t.spec, &seconds, &supported, &evidence);
  eg_graph_destroy(t.graph);
  eg_profiler_destroy(profiler);
  return status;
}

static void measuring_survives_failing_allocations(void **state) {
  (void)state;
  char conv[sizeof conv_text];
  memcpy(conv, conv_text, sizeof conv_text);
  test_every_allocation_failing(measure_with, conv);
}

/// Of an axis of one entry 1 is no index.
static void indices_of_one_entry_are_drawn(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(input x \"float32[1,4]\") (weight i \"int64[2]\") (let y (gather :axis 0 x i))",
      "(input x \"float32[1,4]\") (input i \"int64[1,4]\") (let y (gather-elements :axis "
      "0 "
      "x i))",
      "(input x \"float32[1,4]\") (input i \"int64[2,1]\") (let y (gather-nd x i))",
      "(input x \"float32[1,4]\") (input i \"int64[1,4]\") (input u \"float32[1,4]\") "
      "(let y (scatter-elements :axis 0 x i u))",
      "(input x \"float32[1,4]\") (input i \"int64[1,1]\") (input u \"float32[1,4]\") "
      "(let y (scatter-nd x i u))",
      "(input x \"float32[1,2,8,8]\") (input r \"float32[3,4]\") (input i \"int64[3]\") "
      "(let y (roi-align :output_height 2 :output_width 2 x r i))"};
  eg_profiler *profiler = open_profiler("cpu");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char text[512];
    double seconds;
    (void)snprintf(text, sizeof text, "(egraph-graph 1) %s (output y)", texts[i]);
    (void)measure(profiler, text, EG_FORMAT_PLAIN, &seconds);
    assert_true(seconds > 0);
  }
  eg_profiler_destroy(profiler);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_of_one_entry_are_drawn),
      cmocka_unit_test(nodes_are_measured_in_every_format),
      cmocka_unit_test(in_place_nodes_are_measured),
      cmocka_unit_test(large_weights_are_measured),
      cmocka_unit_test(nodes_without_a_kernel_are_measured_on_the_reference),
      cmocka_unit_test(a_format_without_a_kernel_is_unsupported),
      cmocka_unit_test(opaque_nodes_are_unsupported),
      cmocka_unit_test(views_are_free),
      cmocka_unit_test(a_slow_node_is_run_once),
      cmocka_unit_test(the_fingerprint_tells_threads_and_library),
      cmocka_unit_test(measuring_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
