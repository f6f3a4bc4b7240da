// Task graphs whose times were worked out by hand.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/task_notation.h"

static void assert_seconds(double is, double expected, double tolerance) {
  if (fabs(is - expected) > tolerance) fail_msg("%.17g is not %.17g", is, expected);
}

typedef struct hand_case {
  const char *links, *tasks, *ends;
} hand_case;

static void expect_ends(eg_task_graph *graph, const hand_case *c) {
  const char *at = c->ends;
  for (uint32_t i = 0; i < eg_task_graph_task_count(graph); i++) {
    char *end;
    double expected = strtod(at, &end), is = eg_task_graph_times(graph, i).end;
    if (end == at) fail_msg("'%s' has too few ends for '%s'", c->ends, c->tasks);
    if (fabs(expected - is) > 1e-12 * expected)
      fail_msg("task %u of '%s' ends at %.17g, not %g", i, c->tasks, is, expected);
    at = end;
  }
}

static void check_cases(const hand_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    eg_task_graph *graph = task_graph_of(cases[i].links, cases[i].tasks);
    assert_ok(eg_task_graph_simulate(graph));
    assert_int_equal(eg_task_graph_recomputed(graph), eg_task_graph_task_count(graph));
    expect_ends(graph, &cases[i]);
    assert_ok(eg_task_graph_simulate(graph)); // nothing has changed
    assert_int_equal(eg_task_graph_recomputed(graph), 0);
    expect_ends(graph, &cases[i]);
    eg_task_graph_destroy(graph);
  }
}
#define CHECK(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void computes_in_order(void **state) {
  (void)state;
  static const hand_case cases[] = {
      {"", "", ""},
      {"", "0", "0"},
      {"", "3", "3"},
      {"", "3 4", "3 4"},                         // no stream, nothing to wait for
      {"", "3@0 4@0", "3 7"},                     // one after the other
      {"", "3@0 4@1", "3 4"},                     // beside each other
      {"", "3@0 4@1<0", "3 7"},                   // a chain
      {"", "1@0 2@0<0 4@1<0 1@0<1,2", "1 3 5 6"}, // a fork and a join
      {"", "1@0<1 2@1", "3 2"},                   // after one that stands further on
      {"", "2@0 1@1 1@0,1 5@1", "2 1 3 8"},       // on two streams: when both are free
      {"", "2@0 1@0,1 1@1<0", "2 3 4"},
      {"", "0@0 0@0 0@0 1@0", "0 0 0 1"},
      {"", "1@0 0@0<2 2@1", "1 2 2"},
      {"", "1<1 1<2 1<3 1", "4 3 2 1"},
      {"", "5@0 1@1 1@0<1 1@1<2", "5 1 6 7"}, // the order of a stream holds, ready or not
      {"", "1@0 1@0<0 1@0<0,0,1", "1 2 3"},   // what is asked for twice is asked for
  };
  CHECK(cases);
}

static void flows_on_links(void **state) {
  (void)state;
  static const hand_case cases[] = {
      {"1", "2/0", "2"},
      {"4", "2/0", "0.5"},
      {"1", "0.5+2/0", "2.5"}, // latency first
      {"1", "1+0", "1"},       // nothing to send: no link
      {"1", "1+0/0", "1"},
      {"1 4", "2/0,1", "2"},   // the narrower of two
      {"1", "1/0 2/0", "2 3"}, // shared: a half each, then all
      {"1", "1/0 1/0", "2 2"},
      {"1", "1/0 1/0 1/0", "3 3 3"},
      {"1", "1/0 2/0 3/0", "3 5 6"},
      {"2", "1/0 2/0 3/0", "1.5 2.5 3"},
      {"1", "4/0 1+1/0", "5 3"}, // no bandwidth is taken in the latency
      {"1", "2/0 1+1/0", "3 3"},
      {"1", "1/0 1+1/0", "1 2"}, // one ends as the other begins
      {"1 2", "3/0,1 3/0 3/1", "6 6 2"},
      {"1 1", "2/0 2/1", "2 2"},               // no link in common
      {"1 1", "2/0,1 2/0 1/1", "4 4 2"},       // 1/2 each; then link 1 has no other
      {"1 1 1", "1/0,1 1/1,2 1/2,0", "2 2 2"}, // a triangle
      {"1 3", "2/0,1 2/0 5/1", "4 4 2"},       // 1/2, 1/2, 5/2
      {"3 1", "1/0 1/0 1/0,1", "1 1 1"},
      {"4 1", "3/0 1/0,1", "1 1"}, // 3 and 1: the second cannot take 2
      {"1", "2/0@0 2/0@0", "2 4"}, // on one stream: in turn
      {"1", "2/0@0 2/0@1", "4 4"},
      {"1", "2@0 2/0@1<0 1@0 2/0@2<2", "2 5 3 6"},
      {"1", "1/0 1/0<0 1/0", "2 3 2"}, // two end at once, then one alone
      {"2 1", "4/0 4/0,1", "4 4"},     // both links allow 1
  };
  CHECK(cases);
}

static void schedules_that_overlap(void **state) {
  (void)state;
  static const hand_case cases[] = {
      // after each compute a flow on one communication stream, then one that waits for
      // all
      {"1", "3@0 4/0@1<0 3@0 4/0@1<2 3@0 4/0@1<4 1@0<1,3,5", "3 7 6 11 9 15 16"},
      // flows in turn on two ports of their own
      {"1 1", "3@0 4/0@1<0 3@0 4/1@2<2 3@0 4/0@1<4 1@0<1,3,5", "3 7 6 10 9 13 14"},
      // without a communication stream flows share the link
      {"1", "3@0 4/0<0 3@0 4/0<2 3@0 4/0<4 1@0<1,3,5", "3 8 6 13 9 15 16"},
      // communication on the stream of computing: nothing overlaps
      {"1", "3@0 4/0@0 3@0 4/0@0 3@0 4/0@0 1@0", "3 7 10 14 17 21 22"},
  };
  CHECK(cases);
}

/// Ring all-reduce of `bytes` among n devices with ports of one byte per second each way:
/// 2 (n - 1) rounds in which each sends an n-th to its neighbour.
static double ring(uint32_t n, double bytes, double latency, uint32_t rounds) {
  eg_task_graph *graph;
  uint32_t out[16], in[16], last[16], next[16], number;
  assert_ok(eg_task_graph_create(eg_allocator_heap(), &graph));
  for (uint32_t d = 0; d < n; d++) {
    assert_ok(eg_task_graph_add_link(graph, 1, &out[d]));
    assert_ok(eg_task_graph_add_link(graph, 1, &in[d]));
  }
  for (uint32_t r = 0; r < rounds; r++) {
    for (uint32_t d = 0; d < n; d++) {
      const uint32_t links[] = {out[d], in[(d + 1) % n]};
      assert_ok(
          eg_task_graph_add_flow(graph, latency, bytes / n, links, 2, NULL, 0, &number));
      if (r != 0) assert_ok(eg_task_graph_depend(graph, number, last[(d + n - 1) % n]));
      if (r != 0) assert_ok(eg_task_graph_depend(graph, number, last[d]));
      next[d] = number;
    }
    memcpy(last, next, sizeof last);
  }
  assert_ok(eg_task_graph_simulate(graph));
  double seconds = eg_task_graph_makespan(graph);
  eg_task_graph_destroy(graph);
  return seconds;
}

/// Recursive doubling: in each round pairs exchange all, through one port each way.
static double tree(uint32_t n, double bytes, double latency) {
  eg_task_graph *graph;
  uint32_t out[16], in[16], last[16], next[16];
  assert_ok(eg_task_graph_create(eg_allocator_heap(), &graph));
  for (uint32_t d = 0; d < n; d++) {
    assert_ok(eg_task_graph_add_link(graph, 1, &out[d]));
    assert_ok(eg_task_graph_add_link(graph, 1, &in[d]));
  }
  for (uint32_t bit = 1; bit < n; bit *= 2) {
    for (uint32_t d = 0; d < n; d++) {
      const uint32_t links[] = {out[d], in[d ^ bit]};
      assert_ok(
          eg_task_graph_add_flow(graph, latency, bytes, links, 2, NULL, 0, &next[d]));
      if (bit == 1) continue;
      assert_ok(eg_task_graph_depend(graph, next[d], last[d]));
      assert_ok(eg_task_graph_depend(graph, next[d], last[d ^ (bit / 2)]));
    }
    memcpy(last, next, sizeof last);
  }
  assert_ok(eg_task_graph_simulate(graph));
  double seconds = eg_task_graph_makespan(graph);
  eg_task_graph_destroy(graph);
  return seconds;
}

static void collectives_in_rounds(void **state) {
  (void)state;
  static const struct {
    uint32_t devices;
    double ring, tree; // of 8 bytes with a latency of 0.1
  } cases[] = {{2, 8.2, 8.1}, {4, 12.6, 16.2}, {8, 15.4, 24.3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t n = cases[i].devices;
    assert_seconds(ring(n, 8, 0.1, 2 * (n - 1)), cases[i].ring, 1e-12);
    assert_seconds(ring(n, 8, 0.1, n - 1), cases[i].ring / 2, 1e-12); // all-gather
    assert_seconds(tree(n, 8, 0.1), cases[i].tree, 1e-12);
  }
  // Of little data the tree is faster, with its fewer messages.
  assert_true(tree(8, 0.1, 0.1) < ring(8, 0.1, 0.1, 14));
}

// ---- what is not so -------------------------------------------------------------

/// With shared links more bandwidth may make a schedule longer: with a faster link 0 the
/// second flow of link 1 begins earlier, and slows down the first, for which computes
/// wait.
static void more_bandwidth_may_take_longer(void **state) {
  (void)state;
  static const char tasks[] = "5/1@0 4@1<0 1@1<0 2/0@2 4/1@2<3";
  const char *links[] = {"1 1", "2 1"};
  double seconds[2];
  for (int i = 0; i < 2; i++) {
    eg_task_graph *graph = task_graph_of(links[i], tasks);
    assert_ok(eg_task_graph_simulate(graph));
    seconds[i] = eg_task_graph_makespan(graph);
    eg_task_graph_destroy(graph);
  }
  assert_true(seconds[1] > seconds[0]);
  assert_seconds(seconds[0], 13, 0);
  assert_seconds(seconds[1], 14, 0);
}

/// A flow that stands for three on a link takes three parts of it; on another link, that
/// one of them passes, one.
static void flows_stand_for_several(void **state) {
  (void)state;
  static const uint32_t links[] = {0, 1}, weights[] = {3, 1};
  eg_task_graph *graph = task_graph_of("4 9", "2/0 8/1"); // and six bytes, thrice
  uint32_t several;
  assert_ok(eg_task_graph_add_flows(graph, 0, 6, links, weights, 2, NULL, 0, &several));
  assert_ok(eg_task_graph_simulate(graph));
  // 1 each on link 0; after 2 s four are left for three. Link 1 gives the other flow 8.
  assert_seconds(eg_task_graph_times(graph, 0).end, 2, 1e-12);
  assert_seconds(eg_task_graph_times(graph, 1).end, 1, 1e-12);
  assert_seconds(eg_task_graph_times(graph, several).end, 2 + 4 * 3.0 / 4, 1e-12);
  eg_task_graph_destroy(graph);
}

/// A compute as a flow over a processor of one second per second, half as fast while an
/// exchange sends: 5 s, of which 2 + 2 s are slow.
static void computing_is_slowed_down_beside_an_exchange(void **state) {
  (void)state;
  eg_task_graph *graph = task_graph_of("1", "");
  uint32_t processor, compute, exchange, second;
  assert_ok(eg_task_graph_add_slowed_link(graph, 1, 0.5, &processor));
  const uint32_t links[] = {0, processor}, weights[] = {1, 0};
  assert_ok(eg_task_graph_add_flow(graph, 0, 5, &processor, 1, NULL, 0, &compute));
  assert_ok(eg_task_graph_add_flows(graph, 1, 2, links, weights, 2, NULL, 0, &exchange));
  assert_ok(eg_task_graph_add_flows(graph, 1, 2, links, weights, 2, NULL, 0, &second));
  assert_ok(eg_task_graph_depend(graph, second, exchange));
  assert_ok(eg_task_graph_simulate(graph));
  assert_seconds(eg_task_graph_times(graph, exchange).end, 3, 1e-12);
  assert_seconds(eg_task_graph_times(graph, second).end, 6, 1e-12);
  // 1 at full speed in the latency, 1 in 2 s, 1 in the latency, 1 in 2 s, then the last
  assert_seconds(eg_task_graph_times(graph, compute).end, 7, 1e-12);
  assert_ok(eg_task_graph_set_bytes(graph, second, 0));
  assert_ok(eg_task_graph_simulate(graph));
  assert_seconds(eg_task_graph_times(graph, compute).end, 6, 1e-12);
  eg_task_graph_destroy(graph);
}

static void mistakes_are_named(void **state) {
  (void)state;
  eg_task_graph *graph;
  uint32_t task, link, stream;
  assert_ok(eg_task_graph_create(eg_allocator_heap(), &graph));
  assert_ok(eg_task_graph_add_link(graph, 1, &link));
  assert_ok(eg_task_graph_add_stream(graph, &stream));
  const uint32_t wrong = 7, twice[] = {0, 0};
  assert_fails(eg_task_graph_add_link(graph, 0, &link), EGRAPH_E_ARGUMENT, "positive");
  assert_fails(eg_task_graph_add_link(graph, INFINITY, &link), EGRAPH_E_ARGUMENT,
               "finite");
  assert_fails(eg_task_graph_add_compute(graph, -1, NULL, 0, &task), EGRAPH_E_ARGUMENT,
               "not negative");
  assert_fails(eg_task_graph_add_compute(graph, NAN, NULL, 0, &task), EGRAPH_E_ARGUMENT,
               "finite");
  assert_fails(eg_task_graph_add_compute(graph, 1, &wrong, 1, &task), EGRAPH_E_ARGUMENT,
               "there is no stream 7; there are 1");
  assert_fails(eg_task_graph_add_flow(graph, 0, 1, NULL, 0, NULL, 0, &task),
               EGRAPH_E_ARGUMENT, "over no link");
  assert_fails(eg_task_graph_add_flow(graph, 0, 1, &wrong, 1, NULL, 0, &task),
               EGRAPH_E_ARGUMENT, "no link 7");
  assert_fails(eg_task_graph_add_flow(graph, 0, 1, twice, 2, NULL, 0, &task),
               EGRAPH_E_ARGUMENT, "link 0 twice");
  const uint32_t nothing = 0;
  assert_fails(eg_task_graph_add_flows(graph, 0, 1, &link, &nothing, 1, NULL, 0, &task),
               EGRAPH_E_ARGUMENT, "over no link");
  assert_fails(eg_task_graph_add_slowed_link(graph, 1, 2, &link), EGRAPH_E_ARGUMENT,
               "not above the first");
  assert_ok(eg_task_graph_add_compute(graph, 1, &stream, 1, &task));
  assert_fails(eg_task_graph_depend(graph, task, 9), EGRAPH_E_ARGUMENT, "no task 9");
  assert_fails(eg_task_graph_set_bytes(graph, task, 1), EGRAPH_E_ARGUMENT, "no flow");
  assert_fails(eg_task_graph_undepend(graph, task, task), EGRAPH_E_ARGUMENT,
               "does not depend");
  eg_task_graph_destroy(graph);
}

static void cycles_are_found(void **state) {
  (void)state;
  eg_task_graph *graph = task_graph_of("", "1@0<1 1@0 1@1");
  assert_fails(eg_task_graph_simulate(graph), EGRAPH_E_ARGUMENT, "task 0 waits");
  assert_ok(eg_task_graph_undepend(graph, 0, 1)); // mended
  assert_ok(eg_task_graph_simulate(graph));
  assert_seconds(eg_task_graph_makespan(graph), 2, 0);
  assert_ok(eg_task_graph_depend(graph, 2, 2));
  assert_fails(eg_task_graph_simulate(graph), EGRAPH_E_ARGUMENT, "task 2 waits");
  eg_task_graph_destroy(graph);
}

/// Two branches of 3 and of 5 meet in a collective; 2 more after it.
static void a_change_is_followed_as_far_as_starts_change(void **state) {
  (void)state;
  static const struct {
    uint32_t task;
    double seconds, makespan;
    uint32_t looked_at;
  } changes[] = {
      {0, 4, 9, 1},   // the other branch is the last one still
      {0, 5, 9, 1},   // as late as the other
      {0, 6, 10, 3},  // later
      {0, 3, 9, 3},   // as it was
      {1, 4, 8, 3},   // the last one ends earlier
      {1, 1, 7, 3},   // so that the other is the last
      {1, 2, 7, 1},   // no matter
      {2, 1.5, 7, 1}, // a latency in place of bytes
      {3, 7, 12, 1},  // nothing is after it
  };
  eg_task_graph *graph = task_graph_of("1", "3@0 5@1 2/0@2<0,1 2@0<2");
  assert_ok(eg_task_graph_simulate(graph));
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    if (changes[i].task == 2) assert_ok(eg_task_graph_set_bytes(graph, 2, 0.5));
    assert_ok(eg_task_graph_set_seconds(graph, changes[i].task, changes[i].seconds));
    assert_ok(eg_task_graph_simulate(graph));
    assert_seconds(eg_task_graph_makespan(graph), changes[i].makespan, 0);
    if (eg_task_graph_recomputed(graph) != changes[i].looked_at)
      fail_msg("change %zu looks at %u tasks, not at %u", i,
               eg_task_graph_recomputed(graph), changes[i].looked_at);
  }
  eg_task_graph_destroy(graph);
}

/// A link that a flow only slows down does not say how long the flow sends: what is after
/// it keeps its start. A link of which it takes twice does.
static void a_slow_link_does_not_delay_what_only_slows_it_down(void **state) {
  (void)state;
  static const uint32_t links[] = {0, 1}, weights[] = {0, 2};
  eg_task_graph *graph = task_graph_of("1 4", "4");
  uint32_t flow, after, stream;
  assert_ok(eg_task_graph_add_stream(graph, &stream));
  assert_ok(eg_task_graph_add_flows(graph, 0, 8, links, weights, 2, NULL, 0, &flow));
  assert_ok(eg_task_graph_add_compute(graph, 1, &stream, 1, &after));
  assert_ok(eg_task_graph_depend(graph, after, 0));
  assert_ok(eg_task_graph_depend(graph, after, flow));
  assert_ok(eg_task_graph_simulate(graph));
  assert_seconds(eg_task_graph_times(graph, after).start, 4, 0);
  assert_ok(eg_task_graph_set_bytes(graph, flow, 6)); // 3 s; 6 s if it took of link 0
  assert_ok(eg_task_graph_simulate(graph));
  assert_seconds(eg_task_graph_times(graph, flow).end, 3, 0);
  assert_int_equal(eg_task_graph_recomputed(graph), 1);
  eg_task_graph_destroy(graph);
}

static void causes_are_the_last_to_end(void **state) {
  (void)state;
  eg_task_graph *graph = task_graph_of("", "1@0 2@1 2@2 1<0,1,2 1");
  assert_ok(eg_task_graph_simulate(graph));
  assert_int_equal(eg_task_graph_cause(graph, 3), 1); // the first of two
  assert_int_equal(eg_task_graph_cause(graph, 4), UINT32_MAX);
  eg_task_graph_destroy(graph);
}

static egraph_status build_and_simulate(egraph_allocator alloc, void *user) {
  (void)user;
  eg_task_graph *graph;
  uint32_t stream, links[2], task[3];
  EG_TRY(eg_task_graph_create(alloc, &graph));
  egraph_status status = eg_task_graph_add_stream(graph, &stream);
  for (int i = 0; i < 2 && status == EGRAPH_OK; i++)
    status = eg_task_graph_add_link(graph, 1, &links[i]);
  for (int i = 0; i < 3 && status == EGRAPH_OK; i++)
    status = eg_task_graph_add_flow(graph, 0, 2 + i, links, 1 + (i == 1), &stream, i == 0,
                                    &task[i]);
  if (status == EGRAPH_OK) status = eg_task_graph_simulate(graph);
  if (status == EGRAPH_OK) status = eg_task_graph_set_bytes(graph, task[0], 9);
  if (status == EGRAPH_OK) status = eg_task_graph_depend(graph, task[2], task[1]);
  if (status == EGRAPH_OK) status = eg_task_graph_simulate(graph);
  eg_task_graph_destroy(graph);
  return status;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  test_every_allocation_failing(build_and_simulate, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(computes_in_order),
      cmocka_unit_test(flows_on_links),
      cmocka_unit_test(schedules_that_overlap),
      cmocka_unit_test(collectives_in_rounds),
      cmocka_unit_test(more_bandwidth_may_take_longer),
      cmocka_unit_test(flows_stand_for_several),
      cmocka_unit_test(computing_is_slowed_down_beside_an_exchange),
      cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(cycles_are_found),
      cmocka_unit_test(a_change_is_followed_as_far_as_starts_change),
      cmocka_unit_test(a_slow_link_does_not_delay_what_only_slows_it_down),
      cmocka_unit_test(causes_are_the_last_to_end),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
