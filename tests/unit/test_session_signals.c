// Signal handlers of the host run while a session computes: neither results nor the heap
// may suffer (oneDNN's gemm kernels borrow the stack pointer).
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // kill, pthread_sigmask, nanosleep
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "exec/cpu/kernel_threads.h"
#include "tests/unit/session_kit.h"

enum { RUNS = 150 };

static atomic_bool done;
static atomic_uint handled;

static void on_signal(int number) {
  (void)number;
  atomic_fetch_add(&handled, 1);
}

static void *send_signals(void *unused) {
  struct timespec pause = {.tv_nsec = 100000};
  while (!atomic_load(&done)) {
    (void)kill(getpid(), SIGUSR1);
    (void)nanosleep(&pause, NULL);
  }
  return unused;
}

// The sender itself must not be the one that takes the signals.
static void start_sender(pthread_t *out) {
  sigset_t own;
  atomic_store(&done, false);
  atomic_store(&handled, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
  (void)sigemptyset(&own);
  (void)sigaddset(&own, SIGUSR1);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, &own, NULL), 0);
  assert_int_equal(pthread_create(out, NULL, send_signals, NULL), 0);
  assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &own, NULL), 0);
}

static void nothing(void *unused) { (void)unused; }

static void results_and_heap_survive_handlers(uint32_t threads) {
  // In plain format this convolution is a gemm.
  eg_graph *graph =
      kit_parse("signals", "(egraph-graph 1)(input x \"float32[1,32,32,32]\")"
                           "(weight w \"float32[32,32,3,3]\")"
                           "(let y (conv :strides [1 1] :pads [1 1 1 1]"
                           " :dilations [1 1] x w))(output y)");
  eg_omp_runtime runtime; // a host that has used the runtime before
  if (eg_omp_find(&runtime)) runtime.parallel(nothing, NULL, 2, 0);
  kit_tensors inputs, quiet, disturbed;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "cpu", threads, &inputs, &quiet);
  eg_session *session;
  eg_session_options options = {.backend = "cpu", .threads = threads, .seed = 7};
  kit_outputs_alloc(graph, &disturbed);
  pthread_t sender;
  start_sender(&sender);
  assert_ok(eg_session_create(NULL, graph, &options, &session));
  for (int i = 0; i < RUNS; i++) {
    assert_ok(eg_session_run(session, inputs.items, disturbed.items));
    free(malloc((size_t)1000 * (size_t)(i + 1))); // consolidates free memory
  }
  eg_session_destroy(session);
  atomic_store(&done, true);
  assert_int_equal(pthread_join(sender, NULL), 0);
  assert_true(atomic_load(&handled) > 0); // held back, not lost
  assert_true(kit_error(&quiet, &disturbed) == 0);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&quiet);
  kit_tensors_deinit(&disturbed);
  eg_graph_destroy(graph);
}

static void handlers_on_one_thread_are_harmless(void **state) {
  (void)state;
  results_and_heap_survive_handlers(1);
}

static void handlers_beside_workers_are_harmless(void **state) {
  (void)state;
  results_and_heap_survive_handlers(2);
}

static void the_host_keeps_its_signal_mask(void **state) {
  (void)state;
  sigset_t before, after;
  assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
  results_and_heap_survive_handlers(1);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
  assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
  assert_int_equal(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handlers_on_one_thread_are_harmless),
      cmocka_unit_test(handlers_beside_workers_are_harmless),
      cmocka_unit_test(the_host_keeps_its_signal_mask),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
