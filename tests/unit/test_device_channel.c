// Channels on devices: every collective over a transport and through host memory, on
// memory that nobody else can touch; ranks that are late, fail, or run something else; a
// transport that hangs, breaks, or is not there.
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "tests/distant/distant.h"
#include "tests/unit/channel_suite.h"
#include "tests/unit/channel_trouble.h"
#include "tests/unit/device_kit.h"

static const char *const meshes[] = {"a=1",     "a=2",         "a=3",    "a=2,b=2",
                                     "a=2,b=3", "a=2,b=2,c=2", "b=1,a=4"};
static const char *const transports[] = {NULL, "nccl"};

static device_plugins plugins;
static size_t transport_count = 2; // that ranks can have here

static int use_plugins(void **state) {
  (void)state;
  kit_use_plugins(plugins.backend, plugins.transport);
  test_set_variable("DISTANT_TROUBLE", "");
  return 0;
}

static void make_trouble(const char *what) { test_set_variable("DISTANT_TROUBLE", what); }

// ---- collectives ------------------------------------------------------------------

static egraph_status run_suite(void *user, eg_channel *channel) {
  (void)user;
  return channel_suite(channel);
}

static void every_collective_gives_what_the_ranks_sent(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
    for (size_t t = 0; t < transport_count; t++)
      assert_ok(kit_device_ranks_run(&(device_ranks){.mesh = meshes[i],
                                                     .transport = transports[t],
                                                     .deadline_seconds = 60,
                                                     .body = run_suite}));
}

// ---- failures ---------------------------------------------------------------------

static egraph_status reduce(eg_channel *channel, uint32_t axis, size_t count) {
  eg_backend *backend = channel->backend;
  eg_device_memory x;
  EG_TRY(backend->vtable->memory_create(backend, count * sizeof(float), &x));
  egraph_status status =
      eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE,
                                               .axis = axis,
                                               .dtype = EGRAPH_FLOAT32,
                                               .count = count,
                                               .send = x.address,
                                               .recv = x.address});
  eg_device_memory_destroy(backend, &x);
  return status;
}

static egraph_status run_trouble(const char *mesh, const char *transport, double deadline,
                                 eg_rank_body body, trouble *t) {
  return kit_device_ranks_run(&(device_ranks){.mesh = mesh,
                                              .transport = transport,
                                              .deadline_seconds = deadline,
                                              .body = body,
                                              .user = t});
}

static egraph_status never_come(void *user, eg_channel *channel) {
  trouble *t = user;
  if (channel->rank == t->rank) {
    while (atomic_load(&t->noted) != 3)
      (void)eg_clock_seconds();
    return EGRAPH_OK;
  }
  return trouble_note(t, channel, reduce(channel, 0, 1));
}

static void a_rank_that_does_not_come_is_missed_at_the_deadline(void **state) {
  (void)state;
  for (size_t i = 0; i < transport_count; i++) {
    trouble t = {.rank = 0};
    device_ranks ranks = {.mesh = "gpu=4",
                          .transport = transports[i],
                          .deadline_seconds = 3600,
                          .meeting_seconds = 0.05,
                          .body = never_come,
                          .user = &t};
    assert_fails(kit_device_ranks_run(&ranks), EGRAPH_E_CANCELLED,
                 "rank 0 did not come to");
    trouble_seen_by_all(&t, 4, EGRAPH_E_CANCELLED, "rank 0 did not come");
  }
}

static egraph_status fail_midway(void *user, eg_channel *channel) {
  trouble *t = user;
  for (int i = 0; i < 20; i++) {
    if (channel->rank == t->rank && i == 10)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "no kernel for this");
    egraph_status status = reduce(channel, 0, 3);
    if (status != EGRAPH_OK) return trouble_note(t, channel, status);
  }
  return EGRAPH_OK;
}

// The deadline is an hour: only the failure can end this.
static void a_failing_rank_ends_all_others(void **state) {
  (void)state;
  for (size_t i = 0; i < transport_count; i++) {
    trouble t = {.rank = 1};
    assert_fails(run_trouble("gpu=4", transports[i], 3600, fail_midway, &t),
                 EGRAPH_E_UNSUPPORTED, "rank 1 failed: no kernel for this");
    trouble_seen_by_all(&t, 4, EGRAPH_E_UNSUPPORTED, "rank 1 failed: no kernel for this");
  }
}

static egraph_status differ(void *user, eg_channel *channel) {
  trouble *t = user;
  return trouble_note(t, channel, reduce(channel, 0, channel->rank == t->rank ? 2 : 1));
}

static void ranks_that_disagree_are_named(void **state) {
  (void)state;
  for (size_t i = 0; i < transport_count; i++) {
    trouble t = {.rank = 2};
    assert_fails(run_trouble("gpu=3", transports[i], 3600, differ, &t), EGRAPH_E_ARGUMENT,
                 "rank 2 begins all-reduce of 2 float32 along 'gpu', rank 0 all-reduce "
                 "of 1 float32");
    trouble_seen_by_all(&t, 3, EGRAPH_E_ARGUMENT, "rank 2 begins");
  }
}

// ---- failures of the transport ----------------------------------------------------

static egraph_status reduce_once(void *user, eg_channel *channel) {
  channel->deadline_seconds = 0.1; // of the work; the meeting may take longer
  return trouble_note(user, channel, reduce(channel, 0, 5));
}

static void what_never_ends_is_given_up_at_the_deadline(void **state) {
  (void)state;
  trouble t = {.rank = UINT32_MAX};
  make_trouble(DISTANT_HANGS);
  assert_fails(run_trouble("gpu=3", "nccl", 3600, reduce_once, &t), EGRAPH_E_CANCELLED,
               "have begun all-reduce, but it was not done within 0.1 s");
  trouble_seen_by_all(&t, 3, EGRAPH_E_CANCELLED, "not done within 0.1 s");
}

static egraph_status reduce_patiently(void *user, eg_channel *channel) {
  return trouble_note(user, channel, reduce(channel, 0, 5));
}

// The deadline is an hour: the others hear of it over the control.
static void a_transport_that_fails_on_one_rank_ends_all(void **state) {
  (void)state;
  trouble t = {.rank = UINT32_MAX};
  make_trouble(DISTANT_BREAKS);
  assert_fails(run_trouble("gpu=3", "nccl", 3600, reduce_patiently, &t),
               EGRAPH_E_UNSUPPORTED, "a link is down");
  trouble_seen_by_all(&t, 3, EGRAPH_E_UNSUPPORTED, "a link is down");
}

static void a_group_that_cannot_be_joined_ends_all(void **state) {
  (void)state;
  trouble t = {.rank = 0};
  make_trouble(DISTANT_REFUSES);
  assert_fails(run_trouble("gpu=3", "nccl", 3600, kit_do_nothing, &t),
               EGRAPH_E_UNSUPPORTED, "two ranks are on one device");
  make_trouble(DISTANT_WAITS);
  assert_fails(run_trouble("gpu=3", "nccl", 0.1, kit_do_nothing, &t), EGRAPH_E_CANCELLED,
               "within 0.1 s");
}

static void transports_that_are_not_there_are_named(void **state) {
  (void)state;
  trouble t = {.rank = 0};
  assert_fails(run_trouble("gpu=2", "pigeon", 3600, kit_do_nothing, &t),
               EGRAPH_E_ARGUMENT, "no transport 'pigeon'");
  kit_use_plugins(plugins.backend, "/nowhere/libegraph_nccl.so");
  assert_fails(run_trouble("gpu=2", "nccl", 3600, kit_do_nothing, &t),
               EGRAPH_E_UNSUPPORTED, "transport 'nccl': its plugin cannot be loaded");
  kit_use_plugins(plugins.backend, "libm.so.6");
  assert_fails(run_trouble("gpu=2", "nccl", 3600, kit_do_nothing, &t),
               EGRAPH_E_UNSUPPORTED, "no plugin of egraph");
}

// ---- memory -----------------------------------------------------------------------

typedef struct lone_device {
  eg_channel *control;
  eg_backend *backend;
  const char *transport;
} lone_device;

static egraph_status open_and_run(egraph_allocator alloc, void *user) {
  const lone_device *device = user;
  eg_channel *channel;
  EG_TRY(eg_device_channel_create(&alloc, device->control, device->backend,
                                  kit_with_plugin(device->transport), &channel));
  egraph_status status = reduce(channel, 0, 9);
  eg_channel_destroy(channel);
  return status;
}

static egraph_status fail_allocations(void *user, eg_channel *control) {
  for (size_t i = 0; i < transport_count; i++) {
    lone_device device = {control, user, transports[i]};
    test_every_allocation_failing(open_and_run, &device);
  }
  return EGRAPH_OK;
}

// A rank alone: the failure of one would end the others.
static void a_channel_survives_every_failing_allocation(void **state) {
  (void)state;
  eg_mesh mesh;
  eg_backend *backend;
  eg_local_hub *hub;
  eg_backend_options options = {.threads = 1};
  eg_channel_options channel_options = EG_CHANNEL_OPTIONS_DEFAULT;
  assert_ok(eg_mesh_parse("gpu=1", &mesh));
  assert_ok(eg_backend_create(NULL, kit_cuda, &options, &backend));
  assert_ok(eg_local_hub_create(NULL, &mesh, &channel_options, &hub));
  assert_ok(fail_allocations(backend, eg_local_hub_channel(hub, 0)));
  eg_local_hub_destroy(hub);
  eg_backend_destroy(backend);
}

static void a_backend_on_the_host_has_no_transport(void **state) {
  (void)state;
  eg_mesh mesh;
  eg_backend *backend;
  eg_local_hub *hub;
  eg_channel *channel;
  eg_backend_options options = {.threads = 1};
  eg_channel_options channel_options = EG_CHANNEL_OPTIONS_DEFAULT;
  assert_ok(eg_mesh_parse("gpu=1", &mesh));
  assert_ok(eg_backend_create(NULL, "reference", &options, &backend));
  assert_ok(eg_local_hub_create(NULL, &mesh, &channel_options, &hub));
  assert_fails(eg_device_channel_create(NULL, eg_local_hub_channel(hub, 0), backend,
                                        kit_nccl, &channel),
               EGRAPH_E_UNSUPPORTED, "back-end 'reference' has none");
  eg_local_hub_destroy(hub);
  eg_backend_destroy(backend);
}

// What a stand-in is told to do wrong a device does not do.
static int skip_on_devices(void **state) {
  if (plugins.is_real) skip();
  return use_plugins(state);
}

int main(int argc, char **argv) {
  plugins = kit_plugins_of(argc, argv, EG_DISTANT_PLUGIN);
  if (!kit_has_device(&plugins)) return 77;
  if (plugins.is_real && !kit_has_transport()) transport_count = 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(every_collective_gives_what_the_ranks_sent, use_plugins),
      cmocka_unit_test_setup(a_rank_that_does_not_come_is_missed_at_the_deadline,
                             use_plugins),
      cmocka_unit_test_setup(a_failing_rank_ends_all_others, use_plugins),
      cmocka_unit_test_setup(ranks_that_disagree_are_named, use_plugins),
      cmocka_unit_test_setup(what_never_ends_is_given_up_at_the_deadline,
                             skip_on_devices),
      cmocka_unit_test_setup(a_transport_that_fails_on_one_rank_ends_all,
                             skip_on_devices),
      cmocka_unit_test_setup(a_group_that_cannot_be_joined_ends_all, skip_on_devices),
      cmocka_unit_test_setup(transports_that_are_not_there_are_named, skip_on_devices),
      cmocka_unit_test_setup(a_channel_survives_every_failing_allocation, use_plugins),
      cmocka_unit_test_setup(a_backend_on_the_host_has_no_transport, use_plugins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
