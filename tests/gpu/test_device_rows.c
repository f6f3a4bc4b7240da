// Which operators have a kernel on the device, over the emulator, or on a device: all
// that the conformance suite has cases for, but for a list. Without this the suite would
// pass on reference kernels alone.
// SPDX-License-Identifier: Apache-2.0
#include "exec/backend.h"
#include "tests/gpu/device_name.h"
#include "tests/unit/session_kit.h"

typedef struct row_case {
  const char *name, *text;
} row_case;
#define EG_CASE(name, tolerance, text) {#name, "(egraph-graph 1)" text},
static const row_case cases[] = {
#include "tests/unit/backend_cases.def"
};
#undef EG_CASE

// Their operator, or what they ask of it, has no kernel there.
static const char *const on_the_host[] = {
    "gemm_factors", "gru",          "gru_linear",       "gru_of_softsign", "lstm",
    "lstm_clip",    "lstm_coupled", "lstm_of_data",     "pad_reflect",     "resize",
    "rnn",          "rope",         "rope_per_element", "rope_rows_first", "shape",
    "top_k"};

static bool is_listed(const char *name) {
  for (size_t i = 0; i < sizeof on_the_host / sizeof *on_the_host; i++)
    if (strcmp(on_the_host[i], name) == 0) return true;
  return false;
}

/// Plain float32 and float64 operands; others may be refused.
static bool is_plain(const eg_node_spec *spec) {
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].layout.format != EG_FORMAT_PLAIN ||
        (spec->inputs[i].dtype != EGRAPH_FLOAT32 &&
         spec->inputs[i].dtype != EGRAPH_FLOAT64))
      return false;
  return spec->results[0].layout.format == EG_FORMAT_PLAIN;
}

/// The kernel that a case is expected to run on.
static const char *expected_kernel(const char *name) {
  static const char *const rows[][2] = {{"einsum", "cuBLASLt"},
                                        {"einsum_batch", "cuBLASLt"},
                                        {"einsum_batch_inside", "cuBLASLt"},
                                        {"einsum_broadcast", "cuBLASLt"},
                                        {"einsum_diagonal", "CUDA contraction"},
                                        {"einsum_interleaved", "cuBLASLt"},
                                        {"einsum_other_order", "cuBLASLt"},
                                        {"einsum_outer", "cuBLASLt"},
                                        {"einsum_spread", "cuBLASLt"},
                                        {"einsum_three", "CUDA contraction"},
                                        {"einsum_transposed", "cuBLASLt"},
                                        {"einsum_weight_gradient", "cuBLASLt"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i][0], name) == 0) return rows[i][1];
  return NULL;
}

static bool is_native(eg_backend *backend, const char *name, const eg_node_spec *spec) {
  const char *expected = expected_kernel(name);
  eg_program *program;
  assert_ok(
      backend->vtable->compile(backend, &(eg_compile_request){.spec = spec}, &program));
  bool native = program->info.native;
  if (native == (strcmp(program->info.kernel, "reference on the host") == 0))
    fail_msg("'%s' says native %d", program->info.kernel, native);
  if (expected != NULL && strcmp(program->info.kernel, expected) != 0)
    fail_msg("%s runs on %s, not %s", name, program->info.kernel, expected);
  eg_program_destroy(program);
  return native;
}

enum { MOST_TENSORS = 64 };

static uint32_t check_node(eg_backend *backend, const char *name, const eg_graph *graph,
                           eg_graph_node node) {
  eg_graph_node_info info = eg_graph_node_at(graph, node);
  eg_type inputs[MOST_TENSORS], results[MOST_TENSORS];
  assert_true(info.input_count <= MOST_TENSORS && info.result_count <= MOST_TENSORS);
  for (uint32_t i = 0; i < info.input_count; i++)
    inputs[i] = eg_graph_value(graph, info.inputs[i])->type;
  for (uint32_t i = 0; i < info.result_count; i++)
    results[i] = eg_graph_value(graph, info.results[i])->type;
  const eg_node_spec spec = {.attrs = info.attrs,
                             .inputs = inputs,
                             .input_count = info.input_count,
                             .results = results,
                             .result_count = info.result_count};
  if (!is_listed(name) && !is_plain(&spec)) return 0;
  bool native = is_native(backend, name, &spec);
  if (native != is_listed(name)) return 0;
  print_error("%s: %s is %snative\n", name, eg_op_info_of((eg_op)info.attrs->op)->name,
              native ? "" : "not ");
  return 1;
}

static uint32_t check_case(eg_backend *backend, const row_case *c) {
  eg_graph *graph = kit_parse(c->name, c->text);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++)
    wrong += check_node(backend, c->name, graph, (eg_graph_node){i});
  eg_graph_destroy(graph);
  return wrong;
}

static void operators_have_kernels_on_the_device(void **state) {
  (void)state;
  eg_backend *backend;
  eg_backend_options options = {.threads = 1};
  uint32_t wrong = 0;
  assert_ok(eg_backend_create(NULL, device_name(), &options, &backend));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    wrong += check_case(backend, &cases[i]);
  eg_backend_destroy(backend);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_have_kernels_on_the_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
