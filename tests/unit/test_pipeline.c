// Schedules of pipelines by their published sizes, simulated, and what the checker says
// of wrong ones.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "sim/pipeline/pipeline.h"
#include "tests/testing.h"

enum { MOST_PARTS = 64 };

typedef struct made {
  eg_pipeline_schedule schedule;
  uint32_t peaks[MOST_PARTS];
} made;

static made make(eg_pipeline_schedule_kind kind, uint32_t stages, uint32_t chunks,
                 uint32_t micro_batches) {
  made m;
  eg_pipeline_schedule_init(&m.schedule, eg_allocator_heap());
  assert_ok(eg_pipeline_schedule_make(kind, stages, chunks, micro_batches, &m.schedule));
  assert_ok(eg_pipeline_schedule_check(&m.schedule, eg_allocator_heap(), m.peaks));
  return m;
}

/// Seconds of a step whose parts take 1 / chunks forward, 2 / chunks backward.
static double step_seconds(const eg_pipeline_schedule *schedule, double latency,
                           double bytes) {
  double forward[MOST_PARTS], backward[MOST_PARTS];
  eg_pipeline_message messages[MOST_PARTS];
  for (uint32_t i = 0; i < MOST_PARTS; i++) {
    forward[i] = 1.0 / schedule->chunks;
    backward[i] = 2.0 / schedule->chunks;
    messages[i] = (eg_pipeline_message){latency, bytes};
  }
  bool is_sent = latency > 0 || bytes > 0;
  const eg_pipeline pipeline = {.schedule = schedule,
                                .forward = forward,
                                .backward = backward,
                                .activations = is_sent ? messages : NULL,
                                .gradients = is_sent ? messages : NULL,
                                .port_bytes = 1};
  eg_pipeline_times times;
  assert_ok(eg_pipeline_simulate(&pipeline, eg_allocator_heap(), &times));
  assert_true(fabs(times.busiest - 3.0 * schedule->micro_batches) < 1e-9);
  return times.seconds;
}

static void expect(eg_pipeline_schedule_kind kind, uint32_t stages, uint32_t chunks,
                   uint32_t micro_batches, double latency, double seconds) {
  made m = make(kind, stages, chunks, micro_batches);
  double is = step_seconds(&m.schedule, latency, 0);
  if (fabs(is - seconds) > 1e-9)
    fail_msg("%s of %u stages, %u chunks, %u micro-batches takes %.17g, not %g",
             eg_pipeline_schedule_name(kind), stages, chunks, micro_batches, is, seconds);
  eg_pipeline_schedule_deinit(&m.schedule);
}

static void steps_take_their_time(void **state) {
  (void)state;
  static const struct {
    uint32_t stages, micro_batches;
    double seconds; // 3 (micro-batches + stages - 1)
  } sizes[] = {{1, 8, 24}, {2, 4, 15}, {4, 4, 21}, {4, 8, 33}, {8, 32, 117}, {5, 3, 21}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    expect(EG_SCHEDULE_GPIPE, sizes[i].stages, 1, sizes[i].micro_batches, 0,
           sizes[i].seconds);
    expect(EG_SCHEDULE_1F1B, sizes[i].stages, 1, sizes[i].micro_batches, 0,
           sizes[i].seconds);
  }
  expect(EG_SCHEDULE_1F1B, 1, 1, 8, 1, 24); // nobody to send to
}

/// A message on the way delays 1F1B twice for every micro-batch, GPipe once at each end.
static void messages_cost_1f1b_more_than_gpipe(void **state) {
  (void)state;
  expect(EG_SCHEDULE_1F1B, 4, 1, 8, 1, 49);
  expect(EG_SCHEDULE_GPIPE, 4, 1, 8, 1, 39);
}

/// The bubble is (stages - 1) (forward + backward) / chunks.
static void interleaving_divides_the_bubble(void **state) {
  (void)state;
  static const uint32_t sizes[][3] = {{2, 2, 4},  {4, 2, 8},  {4, 4, 8},
                                      {8, 2, 16}, {4, 2, 16}, {4, 3, 4}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint32_t p = sizes[i][0], v = sizes[i][1], m = sizes[i][2];
    expect(EG_SCHEDULE_INTERLEAVED, p, v, m, 0, 3.0 * m + 3.0 * (p - 1) / v);
  }
}

static void micro_batches_in_flight_are_as_published(void **state) {
  (void)state;
  for (uint32_t p = 1; p <= 8; p++)
    for (uint32_t groups = 1; groups <= 3; groups++) {
      uint32_t m = p * groups;
      made all = make(EG_SCHEDULE_GPIPE, p, 1, m), few = make(EG_SCHEDULE_1F1B, p, 1, m);
      for (uint32_t s = 0; s < p; s++) {
        assert_int_equal(all.peaks[s], m);
        assert_int_equal(few.peaks[s], p - s);
      }
      eg_pipeline_schedule_deinit(&all.schedule);
      eg_pipeline_schedule_deinit(&few.schedule);
      for (uint32_t v = 2; v <= 4; v++) { // in chunks
        made some = make(EG_SCHEDULE_INTERLEAVED, p, v, m);
        uint32_t full = p * v + p - 1 < m * v ? p * v + p - 1 : m * v;
        assert_int_equal(some.peaks[0], groups == 1 ? m * v : full);
        eg_pipeline_schedule_deinit(&some.schedule);
      }
    }
}

/// Two messages through one port share it: parts that go round send from every stage.
static void messages_share_ports(void **state) {
  (void)state;
  made plain = make(EG_SCHEDULE_1F1B, 2, 1, 1);
  assert_true(step_seconds(&plain.schedule, 0, 1) == 8); // 1, 1 on the way, 1, 2, 1, 2
  assert_true(step_seconds(&plain.schedule, 0.5, 1) == 9);
  eg_pipeline_schedule_deinit(&plain.schedule);
  made chunks = make(EG_SCHEDULE_INTERLEAVED, 2, 2, 2);
  double free_of_bytes = step_seconds(&chunks.schedule, 0, 0);
  assert_true(step_seconds(&chunks.schedule, 0, 1) > free_of_bytes);
  eg_pipeline_schedule_deinit(&chunks.schedule);
}

static void updates_follow_the_last_backward_pass(void **state) {
  (void)state;
  made m = make(EG_SCHEDULE_1F1B, 2, 1, 2);
  const double forward[] = {1, 1}, backward[] = {2, 2}, update[] = {0.5, 5};
  const eg_pipeline pipeline = {.schedule = &m.schedule,
                                .forward = forward,
                                .backward = backward,
                                .update = update};
  eg_pipeline_times times;
  assert_ok(eg_pipeline_simulate(&pipeline, eg_allocator_heap(), &times));
  // Stage 1 ends its passes at 7 and its update at 12, stage 0 at 9 and 9.5.
  assert_true(times.seconds == 12 && times.busiest == 11);
  eg_pipeline_schedule_deinit(&m.schedule);
}

static void wrong_schedules_are_found(void **state) {
  (void)state;
  egraph_allocator heap = eg_allocator_heap();
  made m = make(EG_SCHEDULE_1F1B, 3, 1, 4);
  eg_pipeline_schedule_pass *passes = m.schedule.passes.data, kept = passes[0];
  passes[0] = passes[1];
  assert_fails(eg_pipeline_schedule_check(&m.schedule, heap, m.peaks), EGRAPH_E_INTERNAL,
               "it runs twice");
  passes[0].micro_batch = 9;
  assert_fails(eg_pipeline_schedule_check(&m.schedule, heap, m.peaks), EGRAPH_E_INTERNAL,
               "there is none");
  passes[0] = passes[7]; // the last backward pass first
  passes[7] = kept;
  assert_fails(eg_pipeline_schedule_check(&m.schedule, heap, m.peaks), EGRAPH_E_INTERNAL,
               "it waits for ever");
  m.schedule.passes.len--;
  assert_fails(eg_pipeline_schedule_check(&m.schedule, heap, m.peaks), EGRAPH_E_INTERNAL,
               "23 passes instead of 24");
  eg_pipeline_schedule *out = &m.schedule;
  assert_fails(eg_pipeline_schedule_make(EG_SCHEDULE_1F1B, 0, 1, 4, out),
               EGRAPH_E_ARGUMENT, "1 or more");
  assert_fails(eg_pipeline_schedule_make(EG_SCHEDULE_GPIPE, 2, 2, 4, out),
               EGRAPH_E_ARGUMENT, "one chunk");
  assert_fails(eg_pipeline_schedule_make(EG_SCHEDULE_INTERLEAVED, 3, 2, 4, out),
               EGRAPH_E_ARGUMENT, "no multiple of 3 stages");
  assert_fails(eg_pipeline_schedule_make(EG_SCHEDULE_1F1B, 65536, 1, 65536, out),
               EGRAPH_E_ARGUMENT, "take fewer");
  eg_pipeline_schedule_deinit(&m.schedule);
}

static egraph_status make_and_simulate(egraph_allocator alloc, void *user) {
  (void)user;
  const double seconds[] = {1, 1, 1, 1};
  const eg_pipeline_message message[] = {{1, 1}, {1, 1}, {1, 1}};
  uint32_t peaks[2];
  eg_pipeline_times times;
  eg_pipeline_schedule schedule;
  eg_pipeline_schedule_init(&schedule, alloc);
  egraph_status status =
      eg_pipeline_schedule_make(EG_SCHEDULE_INTERLEAVED, 2, 2, 4, &schedule);
  if (status == EGRAPH_OK) status = eg_pipeline_schedule_check(&schedule, alloc, peaks);
  const eg_pipeline pipeline = {.schedule = &schedule,
                                .forward = seconds,
                                .backward = seconds,
                                .activations = message,
                                .port_bytes = 1};
  if (status == EGRAPH_OK) status = eg_pipeline_simulate(&pipeline, alloc, &times);
  eg_pipeline_schedule_deinit(&schedule);
  return status;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  test_every_allocation_failing(make_and_simulate, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_take_their_time),
      cmocka_unit_test(messages_cost_1f1b_more_than_gpipe),
      cmocka_unit_test(interleaving_divides_the_bubble),
      cmocka_unit_test(micro_batches_in_flight_are_as_published),
      cmocka_unit_test(messages_share_ports),
      cmocka_unit_test(updates_follow_the_last_backward_pass),
      cmocka_unit_test(wrong_schedules_are_found),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
