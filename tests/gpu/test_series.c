// Series of launches are replayed when they repeat: over stand-ins for what captures,
// every launch runs as often as it was noted, in order, and what was captured is not
// submitted again.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/series.h"

#include <stdlib.h>

#include "tests/testing.h"

enum { MOST_RUNS = 4096, ITEMS = 12 };

/// What ran, as numbers of items, or what a graph holds.
typedef struct tape {
  uint32_t length;
  uint32_t items[MOST_RUNS];
} tape;

static tape ran, captured, *recording; // recording: NULL or &captured
static uint32_t submissions;           // launches that the host put on the stream
static bool refuses;                   // to capture

static void put(tape *to, uint32_t item) {
  assert_true(to->length < MOST_RUNS);
  to->items[to->length++] = item;
}

// ---- the runtime ------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)stream, (void)mode;
  if (refuses) return cudaErrorStreamCaptureUnsupported;
  captured.length = 0;
  recording = &captured;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  (void)stream;
  recording = NULL;
  return *graph = (cudaGraph_t)(void *)&captured, cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  tape *copy = malloc(sizeof *copy);
  (void)flags;
  memcpy(copy, graph, sizeof *copy);
  return *exec = (cudaGraphExec_t)(void *)copy, cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const tape *graph = (const tape *)(const void *)exec;
  (void)stream;
  for (uint32_t i = 0; i < graph->length; i++)
    put(&ran, graph->items[i]);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return (void)graph, cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return free(exec), cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaSetDevice(int number) { return (void)number, cudaSuccess; }
egraph_status eg_cuda_check(cudaError_t code, const char *what) {
  return code == cudaSuccess ? EGRAPH_OK : EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s", what);
}

// ---- launches ---------------------------------------------------------------------

typedef struct item {
  eg_series_item base;
  uint32_t number;
} item;

static egraph_status submit(eg_series_item *base) {
  const item *own = (const item *)base;
  put(recording != NULL ? recording : &ran, own->number);
  submissions++;
  return EGRAPH_OK;
}

static void make_items(eg_series *series, item *out) {
  for (uint32_t i = 0; i < ITEMS; i++)
    out[i] = (item){
        .base = {.series = series, .serial = eg_series_serial(series), .submit = submit},
        .number = i};
}

static const eg_cuda_device device;

/// Notes the items of a piece: `count` from `first` on.
static egraph_status note_items(eg_series *series, item *items, uint32_t first,
                                uint32_t count, tape *expected) {
  for (uint32_t i = first; i < first + count; i++) {
    put(expected, i % ITEMS);
    EG_TRY(eg_series_add(series, &items[i % ITEMS].base));
  }
  return eg_series_flush(series);
}

static void reset(void) {
  ran.length = submissions = 0;
  refuses = false;
}

static void assert_ran(const tape *expected) {
  assert_int_equal(ran.length, expected->length);
  assert_memory_equal(ran.items, expected->items, ran.length * sizeof *ran.items);
}

// ---- tests ------------------------------------------------------------------------

static void pieces_of_a_step_are_captured_each(void **state) {
  (void)state;
  enum { STEPS = 10 };
  static tape expected;
  eg_series *series;
  item items[ITEMS];
  reset();
  expected.length = 0;
  assert_ok(eg_series_create(eg_allocator_heap(), &device, false, &series));
  make_items(series, items);
  for (int step = 0; step < STEPS; step++) {
    assert_ok(note_items(series, items, 0, 4, &expected));
    assert_ok(note_items(series, items, 4, 1, &expected)); // alone: submitted each time
    assert_ok(note_items(series, items, 5, 7, &expected));
  }
  assert_ran(&expected);
  assert_int_equal(submissions, 2 * (4 + 7) + STEPS);
  eg_series_destroy(series);
}

static void what_cannot_be_captured_is_submitted(void **state) {
  (void)state;
  static tape expected;
  for (int mode = 0; mode < 3; mode++) {
    eg_series *series;
    item items[ITEMS];
    reset();
    expected.length = 0;
    refuses = mode == 0;
    assert_ok(eg_series_create(eg_allocator_heap(), &device, mode == 2, &series));
    make_items(series, items);
    items[1].base.is_host = mode == 1;
    for (int step = 0; step < 5; step++)
      assert_ok(note_items(series, items, 0, 3, &expected));
    assert_ran(&expected);
    assert_int_equal(submissions, 15);
    eg_series_destroy(series);
  }
}

// More series than are remembered, in random order.
static void every_launch_runs_as_often_as_it_was_noted(void **state) {
  (void)state;
  static tape expected;
  eg_rng rng = {test_seed(5)};
  for (size_t round = 0; round < test_rounds(30); round++) {
    eg_series *series;
    item items[ITEMS];
    reset();
    expected.length = 0;
    assert_ok(eg_series_create(eg_allocator_heap(), &device, false, &series));
    make_items(series, items);
    for (int piece = 0; piece < 300; piece++)
      assert_ok(note_items(series, items, (uint32_t)eg_rng_below(&rng, ITEMS),
                           1 + (uint32_t)eg_rng_below(&rng, ITEMS), &expected));
    assert_ran(&expected);
    eg_series_destroy(series);
  }
}

static void the_oldest_series_are_forgotten(void **state) {
  (void)state;
  static tape expected;
  eg_series *series;
  item items[ITEMS], *many;
  reset();
  expected.length = 0;
  assert_ok(eg_series_create(eg_allocator_heap(), &device, false, &series));
  many = calloc(EG_MOST_SERIES, sizeof *many);
  make_items(series, items);
  assert_ok(note_items(series, items, 0, 3, &expected));
  for (uint32_t i = 0; i < EG_MOST_SERIES; i++) {
    many[i].base = (eg_series_item){
        .series = series, .serial = eg_series_serial(series), .submit = submit};
    put(&expected, 0);
    put(&expected, 0);
    assert_ok(eg_series_add(series, &many[i].base));
    assert_ok(eg_series_add(series, &items[0].base));
    assert_ok(eg_series_flush(series));
  }
  uint32_t before = submissions;
  assert_ok(note_items(series, items, 0, 3, &expected)); // as if for the first time
  assert_ok(note_items(series, items, 0, 3, &expected)); // captured
  assert_ok(note_items(series, items, 0, 3, &expected)); // replayed
  assert_int_equal(submissions, before + 6);
  assert_ran(&expected);
  eg_series_destroy(series);
  free(many);
}

static egraph_status run_twice(egraph_allocator alloc, void *user) {
  static tape expected;
  eg_series *series;
  item items[ITEMS];
  (void)user;
  reset();
  EG_TRY(eg_series_create(alloc, &device, false, &series));
  make_items(series, items);
  expected.length = 0;
  egraph_status status = note_items(series, items, 0, 5, &expected);
  if (status == EGRAPH_OK) status = note_items(series, items, 0, 5, &expected);
  if (status == EGRAPH_OK) assert_ran(&expected);
  eg_series_destroy(series);
  return status;
}

static void a_series_survives_every_failing_allocation(void **state) {
  (void)state;
  test_every_allocation_failing(run_twice, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_of_a_step_are_captured_each),
      cmocka_unit_test(what_cannot_be_captured_is_submitted),
      cmocka_unit_test(every_launch_runs_as_often_as_it_was_noted),
      cmocka_unit_test(the_oldest_series_are_forgotten),
      cmocka_unit_test(a_series_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
