// The emulator finds each planted fault, by name and in every order of threads, and
// nothing in the same kernel without it. Streams do their work when somebody waits;
// captures hold what a graph can hold.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/planted_kernels.h"
#include "tests/testing.h"

static cudaStream_t stream;
static int *memory;

static int setup(void **state) {
  (void)state;
  assert_int_equal(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
  assert_int_equal(
      cudaMallocAsync((void **)&memory, PLANTED_ELEMENTS * sizeof *memory, stream),
      cudaSuccess);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  assert_int_equal(cudaFreeAsync(memory, stream), cudaSuccess);
  return cudaStreamDestroy(stream) == cudaSuccess ? 0 : -1;
}

/// What the wait for the kernel says.
static cudaError_t run(const planted *p, bool has_fault) {
  assert_int_equal(planted_launch(p, has_fault, memory, stream), cudaSuccess);
  return cudaStreamSynchronize(stream);
}

static void planted_faults_are_found(void **state) {
  (void)state;
  for (int seed = 1; seed <= 20; seed++) {
    char text[16];
    snprintf(text, sizeof text, "%d", seed);
    test_set_variable("EG_EMULATED_SEED", text);
    for (size_t i = 0; i < planted_count; i++) {
      const planted *p = &planted_kernels[i];
      cudaError_t code = run(p, true);
      if (code != cudaErrorLaunchFailure ||
          strncmp(cudaGetErrorString(code), p->finding, strlen(p->finding)) != 0)
        fail_msg("%s, seed %d: %d %s", p->name, seed, (int)code,
                 cudaGetErrorString(code));
      code = run(p, false);
      if (code != cudaSuccess)
        fail_msg("%s without its fault, seed %d: %s", p->name, seed,
                 cudaGetErrorString(code));
    }
  }
}

static void votes_and_shuffles_give_what_they_should(void **state) {
  (void)state;
  int out[PLANTED_ELEMENTS];
  const planted *p = &planted_kernels[planted_count - 1];
  assert_string_equal(p->name, "vote");
  assert_int_equal(planted_launch(p, false, memory, stream), cudaSuccess);
  assert_int_equal(
      cudaMemcpyAsync(out, memory, sizeof out, cudaMemcpyDeviceToHost, stream),
      cudaSuccess);
  assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
  for (int i = 0; i < PLANTED_ELEMENTS; i++)
    assert_int_equal(out[i], 1);
}

static void a_stream_works_when_somebody_waits(void **state) {
  (void)state;
  int out = -1;
  assert_int_equal(cudaMemsetAsync(memory, 0, sizeof out, stream), cudaSuccess);
  assert_int_equal(
      cudaMemcpyAsync(&out, memory, sizeof out, cudaMemcpyDeviceToHost, stream),
      cudaSuccess);
  assert_int_equal(out, -1);
  assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
  assert_int_equal(out, 0);
}

static void copies_stay_within_a_piece_of_memory(void **state) {
  (void)state;
  size_t bytes = PLANTED_ELEMENTS * sizeof *memory + 1;
  assert_int_equal(cudaMemsetAsync(memory, 0, bytes, stream), cudaSuccess);
  assert_int_equal(cudaStreamSynchronize(stream), cudaErrorInvalidValue);
}

static void captured_work_runs_as_often_as_its_graph(void **state) {
  (void)state;
  int out = 0, zero = 0;
  const planted *counter = &planted_kernels[8];
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  assert_string_equal(counter->name, "global race");
  assert_int_equal(
      cudaMemcpyAsync(memory, &zero, sizeof zero, cudaMemcpyHostToDevice, stream),
      cudaSuccess);
  assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                   cudaSuccess);
  assert_int_equal(planted_launch(counter, false, memory, stream), cudaSuccess);
  assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 3; i++)
    assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
  assert_int_equal(
      cudaMemcpyAsync(&out, memory, sizeof out, cudaMemcpyDeviceToHost, stream),
      cudaSuccess);
  assert_int_equal(cudaGraphExecDestroy(exec), cudaSuccess);
  assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
  assert_int_equal(out, 3 * PLANTED_ELEMENTS);
}

static cudaError_t copy_host(void) {
  int host = 0;
  return cudaMemcpyAsync(memory, &host, sizeof host, cudaMemcpyHostToDevice, stream);
}
static cudaError_t allocate(void) {
  void *more;
  return cudaMallocAsync(&more, 8, stream);
}
static cudaError_t wait_for_stream(void) { return cudaStreamSynchronize(stream); }

static void calls_that_no_graph_holds_break_a_capture(void **state) {
  (void)state;
  cudaError_t (*const calls[])(void) = {copy_host, allocate, wait_for_stream};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    cudaGraph_t graph;
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                     cudaSuccess);
    assert_int_equal(calls[i](), cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(stream, &graph),
                     cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
    assert_int_equal(cudaStreamSynchronize(stream), cudaErrorStreamCaptureInvalidated);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
  }
}

static void a_stream_belongs_to_a_device(void **state) {
  (void)state;
  assert_int_equal(cudaSetDevice(1), cudaSuccess);
  assert_int_equal(planted_launch(planted_kernels, false, memory, stream),
                   cudaErrorInvalidResourceHandle);
  assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

#define EG_ON_STREAM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      EG_ON_STREAM(planted_faults_are_found),
      EG_ON_STREAM(votes_and_shuffles_give_what_they_should),
      EG_ON_STREAM(a_stream_works_when_somebody_waits),
      EG_ON_STREAM(copies_stay_within_a_piece_of_memory),
      EG_ON_STREAM(captured_work_runs_as_often_as_its_graph),
      EG_ON_STREAM(calls_that_no_graph_holds_break_a_capture),
      EG_ON_STREAM(a_stream_belongs_to_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
