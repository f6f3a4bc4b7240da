// Kernels on the OpenMP runtime's threads, as by default, and on egraph's own, once that
// is requested: the same bits, and names of machines that differ.
// SPDX-License-Identifier: Apache-2.0
#include "exec/backend.h"
#include "exec/cpu/kernel_threads.h"
#include "tests/unit/session_kit.h"

enum { THREADS = 3 };

static void machine_of(uint32_t threads, eg_text *out) {
  eg_backend *backend;
  assert_ok(eg_backend_create(NULL, "cpu", &(eg_backend_options){.threads = threads},
                              &backend));
  assert_ok(backend->vtable->describe(backend, out));
  eg_backend_destroy(backend);
}

// A convolution with relu (which loses NaN), a product on panels, loops of egraph.
static eg_graph *parse_graph(void) {
  return kit_parse("threads",
                   "(egraph-graph 1)(input x \"float32[2,16,24,24]\")"
                   "(weight w \"float32[32,16,3,3]\")(weight m \"float32[24,40]\")"
                   "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w))"
                   "(let r (relu y))(let z (matmul r m))(let t (tanh z))"
                   "(let s (softmax :axis -1 t))(output s)(output r)");
}

static void own_threads_are_used_on_request_with_the_same_bits(void **state) {
  (void)state;
  EG_LOCAL(eg_text, one, eg_allocator_heap());
  EG_LOCAL(eg_text, before, eg_allocator_heap());
  EG_LOCAL(eg_text, after, eg_allocator_heap());
  eg_graph *graph = parse_graph();
  kit_tensors inputs, single, runtime, own;
  eg_omp_runtime found;
  kit_inputs_draw(graph, &inputs);
  ((float *)inputs.items[0].data)[1000] = NAN;
  assert_false(eg_omp_takes_teams()); // the default
  kit_run(graph, "cpu", 1, &inputs, &single);
  kit_run(graph, "cpu", THREADS, &inputs, &runtime);
  machine_of(1, &one);
  machine_of(THREADS, &before);
  assert_null(strstr(eg_text_of(&one), "OpenMP"));
  bool is_changed = eg_cpu_use_own_threads();
  assert_int_equal(eg_cpu_use_own_threads(), is_changed); // again: the same
  machine_of(THREADS, &after);
  kit_run(graph, "cpu", THREADS, &inputs, &own);
  assert_true(kit_error(&single, &runtime) == 0);
  assert_true(kit_error(&runtime, &own) == 0);
  if (eg_omp_find(&found)) {
    assert_non_null(strstr(eg_text_of(&before), "3 threads of OpenMP"));
    assert_int_equal(strcmp(eg_text_of(&before), eg_text_of(&after)) != 0, is_changed);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&single);
  kit_tensors_deinit(&runtime);
  kit_tensors_deinit(&own);
  eg_graph_destroy(graph);
  if (!is_changed) skip(); // this oneDNN or system does not allow it
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_threads_are_used_on_request_with_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
