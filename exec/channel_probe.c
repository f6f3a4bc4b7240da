// A small collective is its rounds; what a large one takes beyond that is its traffic.
// Rounds are those of a tree, as the cheapest formula of sim/collective.h has them.
// SPDX-License-Identifier: Apache-2.0
#include "exec/channel_probe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/quantile.h"
#include "exec/local/local_channel.h"

enum {
  SMALL = 16,      // elements of a device
  WHOLE = 1 << 21, // most elements of all devices together: 8 MiB, beyond their caches
  HELD = 1 << 26,  // most elements that all devices hold of it, together: 256 MiB
  REPEATS = 400,   // of small ones, divided by the ranks
  MOST_REPEATS = 200,
  LEAST_REPEATS = 11 // and of large ones
};
// Of the times: others that use the processors, too, only make them longer.
static const double QUANTILE = 0.25;

/// `per_byte`: of the bytes that a collective is about, those that pass a device, times
/// the size of the group.
typedef struct probed {
  eg_collective_kind kind;
  bool is_whole;   // bytes: of the whole buffer, not of one device's part
  double per_byte; // volume * n / (n - 1)
} probed;

static const probed kinds[] = {{EG_COLLECTIVE_ALL_GATHER, false, 1},
                               {EG_COLLECTIVE_REDUCE_SCATTER, false, 1},
                               {EG_COLLECTIVE_ALL_REDUCE, true, 2}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct prober {
  eg_channel *channel;
  eg_group group;
  uint32_t axis;
  size_t large;       // elements of a device
  float *send, *recv; // [group][large]
} prober;

static int choose_repeats(uint32_t group) {
  uint32_t repeats = REPEATS / group;
  return (int)(repeats > MOST_REPEATS    ? MOST_REPEATS
               : repeats < LEAST_REPEATS ? LEAST_REPEATS
                                         : repeats);
}

static size_t choose_large(uint32_t group) {
  size_t whole = HELD / group < WHOLE ? HELD / group : WHOLE;
  return whole / group > 2 * SMALL ? whole / group : 2 * SMALL;
}

/// Of traffic between ranks of this host the smaller of both clocks counts: the time for
/// which others take the processor is not the message's. Of rounds, waiting is measured.
static egraph_status time_kind(const prober *p, const probed *kind, size_t count,
                               bool is_traffic, int repeats, double *out) {
  double seconds[MOST_REPEATS];
  const eg_collective what = {.kind = kind->kind,
                              .axis = p->axis,
                              .dtype = EGRAPH_FLOAT32,
                              .count = kind->is_whole ? count * p->group.size : count,
                              .send = p->send,
                              .recv = p->recv,
                              .lends = true}; // as programs do
  for (int i = 0; i < repeats; i++) {
    EG_TRY(eg_channel_barrier(p->channel));
    double start = eg_clock_seconds(), busy = eg_clock_thread_seconds();
    EG_TRY(eg_channel_run(p->channel, &what));
    busy = eg_clock_thread_seconds() - busy;
    seconds[i] = eg_clock_seconds() - start;
    eg_channel_settle(p->channel);
    if (is_traffic && p->channel->backend == NULL) seconds[i] = fmin(seconds[i], busy);
  }
  *out = eg_quantile(seconds, (size_t)repeats, QUANTILE);
  return EGRAPH_OK;
}

static double levels(uint32_t n) {
  double count = 0;
  for (uint64_t reached = 1; reached < n; reached *= 2)
    count++;
  return count;
}

static egraph_status probe(const prober *p, eg_link_figures *out) {
  double latency[KINDS], per_byte[KINDS], n = p->group.size;
  int repeats = choose_repeats(p->group.size);
  for (int k = 0; k < KINDS; k++) {
    double small, large;
    EG_TRY(time_kind(p, &kinds[k], SMALL, false, repeats, &small));
    EG_TRY(time_kind(p, &kinds[k], p->large, true, LEAST_REPEATS, &large));
    double bytes = (double)(p->large - SMALL) * sizeof(float) * n;
    double passing = bytes * kinds[k].per_byte * (n - 1) / n;
    latency[k] = small / levels(p->group.size);
    per_byte[k] = fmax(large - small, large / 2) / passing; // rounds may be disturbed
  }
  out->latency_seconds = eg_median(latency, KINDS);
  out->seconds_per_byte = eg_median(per_byte, KINDS);
  return EGRAPH_OK;
}

/// Every rank has timed for itself.
static egraph_status agree(const prober *p, eg_link_figures *figures) {
  double mine[2] = {figures->latency_seconds, figures->seconds_per_byte};
  double *all = (double *)(void *)p->recv;
  EG_TRY(eg_channel_run(p->channel, &(eg_collective){.kind = EG_COLLECTIVE_ALL_GATHER,
                                                     .axis = p->axis,
                                                     .dtype = EGRAPH_FLOAT64,
                                                     .count = 2,
                                                     .send = mine,
                                                     .recv = all}));
  *figures = (eg_link_figures){all[0], all[1]};
  return EGRAPH_OK;
}

egraph_status eg_channel_probe(eg_channel *channel, uint32_t axis, eg_link_figures *out) {
  const eg_collective along = {.kind = EG_COLLECTIVE_ALL_GATHER, .axis = axis};
  prober p = {.channel = channel, .group = eg_group_of(channel, &along), .axis = axis};
  p.large = choose_large(p.group.size);
  size_t count = p.group.size * p.large;
  egraph_status status = eg_alloc(channel->alloc, count, sizeof *p.send, &p.send);
  if (status == EGRAPH_OK)
    status = eg_alloc(channel->alloc, count, sizeof *p.recv, &p.recv);
  if (status != EGRAPH_OK) status = eg_channel_abort(channel, status);
  if (status == EGRAPH_OK) status = probe(&p, out);
  if (status == EGRAPH_OK) status = agree(&p, out);
  eg_free(channel->alloc, p.recv, count, sizeof *p.recv);
  eg_free(channel->alloc, p.send, count, sizeof *p.send);
  return status;
}

static egraph_status probe_rank(void *user, eg_channel *channel) {
  eg_link_figures mine, *out = user;
  EG_TRY(eg_channel_probe(channel, 0, &mine));
  if (channel->rank == 0) *out = mine;
  return EGRAPH_OK;
}

egraph_status eg_local_probe(const egraph_allocator *alloc, uint32_t ranks,
                             eg_link_figures *out) {
  eg_mesh mesh;
  char text[32];
  const eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  if (ranks < 2)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%" PRIu32 " ranks have nobody to talk to", ranks);
  (void)snprintf(text, sizeof text, "cpu=%" PRIu32, ranks);
  EG_TRY(eg_mesh_parse(text, &mesh));
  return eg_local_ranks_run(alloc, &mesh, &options, probe_rank, out);
}
