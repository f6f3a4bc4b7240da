// Ranks on devices in tests: a thread each, with a back-end of its own and a channel over
// it.
//
// Programs take the files of two plugins, and "device" when these are not stand-ins;
// without arguments they use a plugin of tests/distant.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_DEVICE_KIT_H
#define EG_TESTS_UNIT_DEVICE_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/device_channel.h"
#include "exec/local/local_channel.h"
#include "tests/testing.h"

typedef struct device_plugins {
  const char *backend, *transport;
  bool is_real;
} device_plugins;

/// The plugins at work, as they are asked for: "cuda:FILE", "nccl:FILE".
static char kit_cuda[4096] = "cuda", kit_nccl[4096] = "nccl";

static inline void kit_use_plugins(const char *backend, const char *transport) {
  (void)snprintf(kit_cuda, sizeof kit_cuda, "cuda:%s", backend);
  (void)snprintf(kit_nccl, sizeof kit_nccl, "nccl:%s", transport);
}

/// A back-end or transport (may be NULL) with the file of its plugin.
static inline const char *kit_with_plugin(const char *name) {
  if (name != NULL && strcmp(name, "cuda") == 0) return kit_cuda;
  return name != NULL && strcmp(name, "nccl") == 0 ? kit_nccl : name;
}

static inline device_plugins kit_plugins_of(int argc, char **argv, const char *distant) {
  if (argc < 3) return (device_plugins){distant, distant, false};
  return (device_plugins){argv[1], argv[2], argc > 3 && strcmp(argv[3], "device") == 0};
}

/// Whether the back-end runs here; says why not.
static inline bool kit_has_device(const device_plugins *plugins) {
  eg_backend *backend;
  kit_use_plugins(plugins->backend, plugins->transport);
  if (eg_backend_create(NULL, kit_cuda, &(eg_backend_options){.threads = 1}, &backend) !=
      EGRAPH_OK) {
    print_message("skipped: %s\n", egraph_last_error());
    return false;
  }
  eg_backend_destroy(backend);
  return true;
}

typedef struct device_ranks {
  const char *mesh, *transport; // NULL: through host memory
  double deadline_seconds;
  double meeting_seconds; // > 0: the deadline of meetings once the channel is open
  eg_rank_body body;      // on the device channel
  void *user;
} device_ranks;

static inline egraph_status kit_device_rank(void *user, eg_channel *control) {
  const device_ranks *ranks = user;
  eg_backend *backend;
  eg_channel *channel;
  eg_backend_options options = {.threads = 1, .device = control->rank};
  EG_TRY(eg_backend_create(NULL, kit_cuda, &options, &backend));
  egraph_status status = eg_device_channel_create(
      NULL, control, backend, kit_with_plugin(ranks->transport), &channel);
  if (status == EGRAPH_OK) {
    if (ranks->meeting_seconds > 0) {
      status = eg_channel_barrier(control); // all have opened theirs
      control->deadline_seconds = ranks->meeting_seconds;
    }
    if (status == EGRAPH_OK) status = ranks->body(ranks->user, channel);
    if (status != EGRAPH_OK) status = eg_channel_abort(channel, status);
    eg_channel_destroy(channel);
  }
  eg_backend_destroy(backend);
  return status;
}

/// Fails as the first rank did that failed.
static inline egraph_status kit_device_ranks_run(const device_ranks *ranks) {
  eg_mesh mesh;
  device_ranks own = *ranks;
  eg_channel_options options = {.deadline_seconds = ranks->deadline_seconds};
  assert_ok(eg_mesh_parse(ranks->mesh, &mesh));
  return eg_local_ranks_run(NULL, &mesh, &options, kit_device_rank, &own);
}

static inline egraph_status kit_do_nothing(void *user, eg_channel *channel) {
  (void)user, (void)channel;
  return EGRAPH_OK;
}

/// Whether two ranks can have the transport: a device for each. Says why not.
static inline bool kit_has_transport(void) {
  device_ranks pair = {.mesh = "gpu=2",
                       .transport = "nccl",
                       .deadline_seconds = 60,
                       .body = kit_do_nothing};
  if (kit_device_ranks_run(&pair) == EGRAPH_OK) return true;
  print_message("no transport between devices: %s\n", egraph_last_error());
  return false;
}

#endif
