// Channels between threads: every collective, ranks that are late, fail, or run something
// else; the sums of parts.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/channel_trouble.h"

#include <math.h>
#include <threads.h>

#include "exec/channel.h"
#include "exec/exchange_probe.h"
#include "exec/lane.h"
#include "exec/local/local_channel.h"
#include "tests/unit/channel_suite.h"

static const char *const meshes[] = {"a=1",     "a=2",         "a=3",    "a=2,b=2",
                                     "a=2,b=3", "a=2,b=2,c=2", "b=1,a=4"};

static eg_mesh mesh_of(const char *text) {
  eg_mesh mesh;
  assert_ok(eg_mesh_parse(text, &mesh));
  return mesh;
}

static egraph_status run_ranks(const char *mesh_text, double deadline, eg_rank_body body,
                               void *user) {
  eg_mesh mesh = mesh_of(mesh_text);
  eg_channel_options options = {.deadline_seconds = deadline};
  return eg_local_ranks_run(NULL, &mesh, &options, body, user);
}

// ---- collectives ------------------------------------------------------------------

static egraph_status run_suite(void *user, eg_channel *channel) {
  (void)user;
  return channel_suite(channel);
}

static void every_collective_gives_what_the_ranks_sent(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
    assert_ok(run_ranks(meshes[i], 60, run_suite, NULL));
}

// ---- lanes --------------------------------------------------------------------------

typedef struct on_lane {
  eg_rank_body body;
  void *user;
} on_lane;

/// A body whose channel is that of a lane.
static egraph_status run_on_lane(void *user, eg_channel *channel) {
  const on_lane *o = user;
  eg_lane *lane;
  EG_TRY(eg_lane_create(eg_allocator_heap(), channel, &lane));
  egraph_status status = o->body(o->user, eg_lane_channel(lane));
  if (status != EGRAPH_OK) status = eg_channel_abort(eg_lane_channel(lane), status);
  eg_lane_destroy(lane);
  return status;
}

static egraph_status run_lanes(const char *mesh, double deadline, eg_rank_body body,
                               void *user) {
  return run_ranks(mesh, deadline, run_on_lane, &(on_lane){body, user});
}

static void a_lane_is_a_channel(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
    assert_ok(run_lanes(meshes[i], 60, run_suite, NULL));
}

enum { LANE_SUMS = 200 };

static egraph_status add_ranks(void *user, const void *what, eg_channel *channel) {
  int32_t *sum = user;
  (void)what;
  *sum = (int32_t)channel->rank + 1;
  return eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE,
                                                  .dtype = EGRAPH_INT32,
                                                  .count = 1,
                                                  .send = sum,
                                                  .recv = sum});
}

/// More than there is room for; waits for some of them, now and then.
static egraph_status start_many(void *user, eg_channel *channel) {
  (void)user;
  eg_lane *lane;
  int32_t sums[LANE_SUMS] = {0};
  uint32_t numbers[LANE_SUMS];
  EG_TRY(eg_lane_create(eg_allocator_heap(), channel, &lane));
  egraph_status status = EGRAPH_OK;
  for (int i = 0; i < LANE_SUMS && status == EGRAPH_OK; i++) {
    numbers[i] = eg_lane_start(lane, add_ranks, &sums[i], NULL);
    if (i % 50 != 49) continue;
    status = eg_lane_wait(lane, numbers[i - 20]);
    for (int j = 0; j <= i - 20 && status == EGRAPH_OK; j++)
      if (sums[j] != 6) status = EG_FAIL(EGRAPH_E_INTERNAL, "sum %d is %d", j, sums[j]);
  }
  if (status == EGRAPH_OK) status = eg_lane_wait(lane, numbers[LANE_SUMS - 1]);
  eg_lane_destroy(lane);
  for (int j = 0; j < LANE_SUMS && status == EGRAPH_OK; j++)
    if (sums[j] != 6) status = EG_FAIL(EGRAPH_E_INTERNAL, "sum %d is %d", j, sums[j]);
  return status;
}

static void a_lane_runs_what_is_started_in_order(void **state) {
  (void)state;
  assert_ok(run_ranks("gpu=3", 60, start_many, NULL));
}

static void a_lane_needs_a_channel_that_others_may_use(void **state) {
  (void)state;
  eg_lane *lane;
  const eg_channel_vtable vtable = {.name = "here"};
  eg_channel bound = {.vtable = &vtable, .is_bound = true};
  assert_fails(eg_lane_create(eg_allocator_heap(), &bound, &lane), EGRAPH_E_UNSUPPORTED,
               "channel 'here'");
}

// ---- numbers ------------------------------------------------------------------------

static void sixteen_bit_floats_are_rounded_once(void **state) {
  (void)state;
  static const egraph_dtype dtypes[] = {EGRAPH_FLOAT16, EGRAPH_BFLOAT16};
  static const double big[] = {2048, 256}; // the next number is 2 more
  for (int d = 0; d < 2; d++) {
    uint16_t parts[3], sum;
    const void *list[3] = {&parts[0], &parts[1], &parts[2]};
    eg_tensor tensor = {.type = {.dtype = dtypes[d]}, .data = parts};
    eg_tensor_set_double(&tensor, 0, big[d]);
    eg_tensor_set_double(&tensor, 1, 1);
    eg_tensor_set_double(&tensor, 2, 1);
    eg_combine(dtypes[d], EG_COMBINE_SUM, list, 3, 1, &sum);
    tensor.data = &sum;
    assert_true(eg_tensor_get_double(&tensor, 0) == big[d] + 2);
  }
}

static void the_maximum_of_a_number_and_nan_is_nan(void **state) {
  (void)state;
  float a[3] = {1, NAN, -INFINITY}, b[3] = {NAN, 1, -INFINITY};
  const void *parts[] = {a, b};
  eg_combine(EGRAPH_FLOAT32, EG_COMBINE_MAX, parts, 2, 3, b);
  assert_true(isnan(b[0]) && isnan(b[1]) && b[2] == -(float)INFINITY);
}

static void sums_of_integers_wrap(void **state) {
  (void)state;
  int8_t a = 100, b = 100, sum;
  const void *parts[] = {&a, &b};
  eg_combine(EGRAPH_INT8, EG_COMBINE_SUM, parts, 2, 1, &sum);
  assert_int_equal(sum, -56);
}

enum { LENT = 1 << 16, LENDINGS = 40, LENT_AXES = 2, LENT_RANKS = 4 };

/// Two buffers of each axis in turn. They are written from the end on, which others read
/// last.
typedef struct lending {
  int32_t send[LENT_AXES][2][LENT], recv[LENT_RANKS * LENT];
} lending;

static void write_backwards(int32_t *to, int32_t value) {
  for (size_t i = LENT; i-- > 0;)
    to[i] = value;
}

static egraph_status lend_once(eg_channel *channel, lending *l, int round, bool settles) {
  uint32_t axes = channel->mesh.axis_count, axis = (uint32_t)round % axes;
  int32_t *send = l->send[axis][(uint32_t)round / axes % 2];
  eg_collective what = {.kind = EG_COLLECTIVE_ALL_GATHER,
                        .axis = axis,
                        .dtype = EGRAPH_INT32,
                        .count = LENT,
                        .send = send,
                        .recv = l->recv,
                        .lends = true};
  write_backwards(send, round);
  EG_TRY(eg_channel_run(channel, &what));
  if (settles) {
    eg_channel_settle(channel);
    write_backwards(send, -1);
  }
  for (size_t i = 0; i < eg_group_of(channel, &what).size * (size_t)LENT; i++)
    if (l->recv[i] != round)
      return EG_FAIL(EGRAPH_E_INTERNAL, "rank %u, round %d: element %zu is %d",
                     channel->rank, round, i, (int)l->recv[i]);
  return EGRAPH_OK;
}

static egraph_status lend(void *user, eg_channel *channel) {
  const bool *settles = user;
  lending *own;
  egraph_allocator heap = eg_allocator_heap();
  egraph_status status = EGRAPH_OK;
  EG_TRY(eg_alloc(heap, 1, sizeof *own, &own));
  for (int round = 0; status == EGRAPH_OK && round < LENDINGS; round++)
    status = lend_once(channel, own, round, *settles);
  eg_channel_settle(channel);
  eg_free(heap, own, 1, sizeof *own);
  return status;
}

static void what_is_lent_is_free_once_settled(void **state) {
  (void)state;
  bool settles = true;
  assert_ok(run_ranks("a=2", 60, lend, &settles));
  assert_ok(run_ranks("a=2,b=2", 60, lend, &settles));
}

static void what_is_lent_is_free_once_the_next_has_begun(void **state) {
  (void)state;
  bool settles = false;
  assert_ok(run_ranks("a=3", 60, lend, &settles));
  assert_ok(run_ranks("a=2,b=2", 60, lend, &settles));
}

// Rank 1 fails while others may still read what it lent; it settles, and lets go of it.
static egraph_status fail_while_lending(void *user, eg_channel *channel) {
  trouble *t = user;
  lending *own;
  egraph_allocator heap = eg_allocator_heap();
  EG_TRY(eg_alloc(heap, 1, sizeof *own, &own));
  egraph_status status = lend_once(channel, own, 0, false);
  if (status == EGRAPH_OK && channel->rank == t->rank)
    status = EG_FAIL(EGRAPH_E_UNSUPPORTED, "no kernel for this");
  else if (status == EGRAPH_OK)
    status = trouble_note(t, channel, lend_once(channel, own, 1, false));
  eg_channel_settle(channel);
  memset(own, 0xff, sizeof *own);
  eg_free(heap, own, 1, sizeof *own);
  return status;
}

static void who_fails_settles_before_it_lets_go(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    trouble t = {.rank = 1};
    assert_fails(run_ranks("a=4", 3600, fail_while_lending, &t), EGRAPH_E_UNSUPPORTED,
                 "rank 1 failed: no kernel for this");
    trouble_seen_by_all(&t, 4, EGRAPH_E_UNSUPPORTED, "rank 1 failed");
  }
}

// ---- failures ---------------------------------------------------------------------

static egraph_status reduce_one(eg_channel *channel, uint32_t axis) {
  float x = 1;
  return eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE,
                                                  .axis = axis,
                                                  .dtype = EGRAPH_FLOAT32,
                                                  .count = 1,
                                                  .send = &x,
                                                  .recv = &x});
}

static egraph_status never_come(void *user, eg_channel *channel) {
  trouble *t = user;
  if (channel->rank == t->rank) return EGRAPH_OK;
  return trouble_note(t, channel, reduce_one(channel, 0));
}

// Rank 0, because the first one that is missing is named, and another may be slow.
static void a_rank_that_ended_is_missed_at_the_deadline(void **state) {
  (void)state;
  trouble t = {.rank = 0};
  assert_fails(
      run_ranks("gpu=4", 0.05, never_come, &t), EGRAPH_E_CANCELLED,
      "rank 0 did not come to all-reduce of 1 float32 along 'gpu' within 0.05 s");
  trouble_seen_by_all(&t, 4, EGRAPH_E_CANCELLED, "rank 0 did not come");
}

// Rank 1 waits for rank 0, the others for all.
static egraph_status miss_elsewhere(void *user, eg_channel *channel) {
  trouble *t = user;
  if (channel->rank == t->rank) return EGRAPH_OK;
  if (channel->rank == 1) channel->deadline_seconds = 0.05;
  egraph_status status = reduce_one(channel, 1);
  if (status == EGRAPH_OK) status = eg_channel_barrier(channel);
  return trouble_note(t, channel, status);
}

static void a_missed_deadline_ends_other_groups_too(void **state) {
  (void)state;
  trouble t = {.rank = 0};
  assert_int_equal(run_ranks("node=2,gpu=2", 3600, miss_elsewhere, &t),
                   EGRAPH_E_CANCELLED);
  trouble_seen_by_all(&t, 4, EGRAPH_E_CANCELLED, "rank 0 did not come");
}

// Comes when the others have given up.
static egraph_status come_late(void *user, eg_channel *channel) {
  trouble *t = user;
  if (channel->rank != t->rank) return trouble_note(t, channel, reduce_one(channel, 0));
  while (atomic_load(&t->noted) != 2)
    thrd_yield();
  return trouble_note(t, channel, reduce_one(channel, 0));
}

static void a_late_rank_hears_of_it(void **state) {
  (void)state;
  trouble t = {.rank = 0};
  assert_fails(run_ranks("gpu=3", 0.02, come_late, &t), EGRAPH_E_CANCELLED,
               "rank 0 did not come");
  assert_int_equal(t.seen[0], EGRAPH_E_CANCELLED);
  trouble_seen_by_all(&t, 3, EGRAPH_E_CANCELLED, "rank 0 did not come");
}

static egraph_status fail_midway(void *user, eg_channel *channel) {
  trouble *t = user;
  for (int i = 0; i < 20; i++) {
    if (channel->rank == t->rank && i == 10)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "no kernel for this");
    egraph_status status = reduce_one(channel, 0);
    if (status != EGRAPH_OK) return trouble_note(t, channel, status);
  }
  return EGRAPH_OK;
}

// The deadline is an hour: only the failure can end this.
static void a_failing_rank_wakes_all_others(void **state) {
  (void)state;
  trouble t = {.rank = 1};
  assert_fails(run_ranks("gpu=4", 3600, fail_midway, &t), EGRAPH_E_UNSUPPORTED,
               "rank 1 failed: no kernel for this");
  trouble_seen_by_all(&t, 4, EGRAPH_E_UNSUPPORTED, "rank 1 failed: no kernel for this");
}

static egraph_status differ(void *user, eg_channel *channel) {
  trouble *t = user;
  float x[2] = {0};
  eg_collective what = {.kind = EG_COLLECTIVE_ALL_REDUCE,
                        .dtype = EGRAPH_FLOAT32,
                        .count = channel->rank == t->rank ? 2 : 1,
                        .send = x,
                        .recv = x};
  return trouble_note(t, channel, eg_channel_run(channel, &what));
}

static void ranks_that_disagree_are_named(void **state) {
  (void)state;
  trouble t = {.rank = 2};
  assert_fails(run_ranks("gpu=3", 3600, differ, &t), EGRAPH_E_ARGUMENT,
               "rank 2 begins all-reduce of 2 float32 along 'gpu', rank 0 all-reduce of "
               "1 float32");
  trouble_seen_by_all(&t, 3, EGRAPH_E_ARGUMENT, "rank 2 begins");
}

// The same through lanes: failures and deadlines reach all.
static void lanes_end_as_their_channels_do(void **state) {
  (void)state;
  trouble never = {.rank = 0}, fails = {.rank = 1}, differs = {.rank = 2};
  assert_fails(run_lanes("gpu=4", 0.05, never_come, &never), EGRAPH_E_CANCELLED,
               "rank 0 did not come to all-reduce of 1 float32 along 'gpu'");
  trouble_seen_by_all(&never, 4, EGRAPH_E_CANCELLED, "rank 0 did not come");
  assert_fails(run_lanes("gpu=4", 3600, fail_midway, &fails), EGRAPH_E_UNSUPPORTED,
               "rank 1 failed: no kernel for this");
  trouble_seen_by_all(&fails, 4, EGRAPH_E_UNSUPPORTED, "rank 1 failed: no kernel");
  assert_fails(run_lanes("gpu=3", 3600, differ, &differs), EGRAPH_E_ARGUMENT,
               "rank 2 begins all-reduce of 2 float32");
}

/// Rank 1 fails while exchanges that it has started wait in its lane.
static egraph_status fail_with_more_to_do(void *user, eg_channel *channel) {
  trouble *t = user;
  eg_lane *lane;
  int32_t sums[20] = {0};
  uint32_t last = 0;
  EG_TRY(eg_lane_create(eg_allocator_heap(), channel, &lane));
  for (int i = 0; i < 20; i++)
    last = eg_lane_start(lane, add_ranks, &sums[i], NULL);
  egraph_status status = channel->rank == t->rank
                             ? EG_FAIL(EGRAPH_E_UNSUPPORTED, "no kernel for this")
                             : eg_lane_wait(lane, last);
  for (int i = 0; status == EGRAPH_OK && i < 20; i++) // nobody comes to all of these
    status = reduce_one(eg_lane_channel(lane), 0);
  if (channel->rank == t->rank)
    status = eg_channel_abort(eg_lane_channel(lane), status);
  else
    (void)trouble_note(t, channel, status);
  eg_lane_destroy(lane);
  return status;
}

static void a_rank_that_fails_leaves_out_what_its_lane_has_not_begun(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    trouble t = {.rank = 1};
    assert_fails(run_ranks("gpu=3", 3600, fail_with_more_to_do, &t), EGRAPH_E_UNSUPPORTED,
                 "rank 1 failed: no kernel for this");
    trouble_seen_by_all(&t, 3, EGRAPH_E_UNSUPPORTED, "rank 1 failed");
  }
}

static egraph_status misuse(void *user, eg_channel *channel) {
  (void)user;
  uint8_t x = 0;
  eg_collective what = {.kind = EG_COLLECTIVE_ALL_REDUCE,
                        .dtype = EGRAPH_BOOL,
                        .count = 1,
                        .send = &x,
                        .recv = &x};
  if (eg_channel_run(channel, &what) != EGRAPH_E_TYPE)
    return EG_FAIL(EGRAPH_E_INTERNAL, "sums of bool");
  what.axis = 3;
  what.dtype = EGRAPH_INT8;
  if (eg_channel_run(channel, &what) != EGRAPH_E_ARGUMENT)
    return EG_FAIL(EGRAPH_E_INTERNAL, "an axis that is not there");
  return EGRAPH_OK;
}

static void wrong_arguments_are_refused_before_anyone_waits(void **state) {
  (void)state;
  assert_ok(run_ranks("gpu=2", 3600, misuse, NULL));
  eg_mesh mesh = mesh_of("gpu=2");
  static const double bad[] = {0, -1, 1e9};
  for (size_t i = 0; i < 3; i++) {
    eg_channel_options options = {.deadline_seconds = bad[i]};
    eg_local_hub *hub;
    assert_fails(eg_local_hub_create(NULL, &mesh, &options, &hub), EGRAPH_E_ARGUMENT,
                 "deadline");
  }
}

static void channels_that_are_not_there_are_named(void **state) {
  (void)state;
  eg_mesh mesh = mesh_of("gpu=2");
  eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  eg_channel *channel;
  assert_fails(eg_channel_open(NULL, "pigeon", &mesh, &options, &channel),
               EGRAPH_E_ARGUMENT, "no channel 'pigeon'");
  assert_fails(
      eg_channel_open(NULL, "mpi:/nowhere/libegraph_mpi.so", &mesh, &options, &channel),
      EGRAPH_E_UNSUPPORTED, "channel 'mpi': its plugin cannot be loaded: /nowhere");
  assert_fails(eg_channel_open(NULL, "mpi:libm.so.6", &mesh, &options, &channel),
               EGRAPH_E_UNSUPPORTED, "no plugin of egraph");
}

static egraph_status open_hub(egraph_allocator alloc, void *user) {
  eg_mesh mesh = mesh_of(user);
  eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  eg_local_hub *hub;
  EG_TRY(eg_local_hub_create(&alloc, &mesh, &options, &hub));
  eg_local_hub_destroy(hub);
  return EGRAPH_OK;
}

static void a_hub_survives_every_failing_allocation(void **state) {
  (void)state;
  char mesh[] = "a=2,b=3";
  test_every_allocation_failing(open_hub, mesh);
}

// ---- what messages cost -----------------------------------------------------------

static void messages_are_probed(void **state) {
  (void)state;
  for (uint32_t ranks = 2; ranks <= 3; ranks++) {
    eg_link_figures figures = {-1, -1};
    assert_ok(eg_local_probe(NULL, ranks, &figures));
    assert_true(figures.latency_seconds > 0 && isfinite(figures.latency_seconds));
    assert_true(figures.seconds_per_byte >= 0 && isfinite(figures.seconds_per_byte));
  }
  eg_link_figures figures;
  assert_fails(eg_local_probe(NULL, 1, &figures), EGRAPH_E_ARGUMENT, "nobody to talk to");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_collective_gives_what_the_ranks_sent),
      cmocka_unit_test(a_lane_is_a_channel),
      cmocka_unit_test(a_lane_runs_what_is_started_in_order),
      cmocka_unit_test(a_lane_needs_a_channel_that_others_may_use),
      cmocka_unit_test(lanes_end_as_their_channels_do),
      cmocka_unit_test(a_rank_that_fails_leaves_out_what_its_lane_has_not_begun),
      cmocka_unit_test(sixteen_bit_floats_are_rounded_once),
      cmocka_unit_test(the_maximum_of_a_number_and_nan_is_nan),
      cmocka_unit_test(sums_of_integers_wrap),
      cmocka_unit_test(what_is_lent_is_free_once_settled),
      cmocka_unit_test(what_is_lent_is_free_once_the_next_has_begun),
      cmocka_unit_test(who_fails_settles_before_it_lets_go),
      cmocka_unit_test(a_rank_that_ended_is_missed_at_the_deadline),
      cmocka_unit_test(a_missed_deadline_ends_other_groups_too),
      cmocka_unit_test(a_late_rank_hears_of_it),
      cmocka_unit_test(a_failing_rank_wakes_all_others),
      cmocka_unit_test(ranks_that_disagree_are_named),
      cmocka_unit_test(wrong_arguments_are_refused_before_anyone_waits),
      cmocka_unit_test(channels_that_are_not_there_are_named),
      cmocka_unit_test(a_hub_survives_every_failing_allocation),
      cmocka_unit_test(messages_are_probed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
