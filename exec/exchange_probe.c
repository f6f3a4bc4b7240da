// A block has a few turns; a turn is computing, then an exchange. The cost of an exchange
// is the time of a block with exchanges minus the time of a block without, on all ranks
// at the same time. The fastest block counts, because other programs only add time.
//
// The computing writes the data that is sent, as programs do: other ranks then read the
// data from the cache of the rank that wrote it.
// SPDX-License-Identifier: Apache-2.0
#include "exec/exchange_probe.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/quantile.h"
#include "exec/lane.h"
#include "exec/local/local_channel.h"

// Bytes of a measured exchange; each size is four times the previous one.
enum { LEAST_BYTES = 256, MOST_BYTES = 16 << 20, BYTES_STEP = 4 };
// A measured block has at most MOST_TURNS turns (computing, then an exchange), or fewer
// if the exchanges of all turns would have more than TURN_BYTES bytes, but at least one
// turn. BLOCKS: how often each measurement is repeated; the fastest repetition counts.
enum { MOST_TURNS = 8, TURN_BYTES = 1 << 19, BLOCKS = 21 };
// The computing before each exchange: about 0.1 ms, as in small models.
enum { CHUNK_FLOATS = 8 << 10, CHUNK_PASSES = 24 };

typedef struct prober {
  eg_channel *channel;
  eg_group group;
  uint32_t axis;
  float *send, *recv, *chunk; // [MOST_BYTES], [MOST_BYTES], [CHUNK_FLOATS]
} prober;

// ---- exchanges ------------------------------------------------------------------------

/// Returns the collective of an exchange; `bytes` as in eg_exchange_point.
static eg_collective exchange_of(const prober *p, uint32_t exchange, size_t bytes) {
  assert(exchange < EG_EXCHANGES && p->group.size > 1);
  size_t n = p->group.size, count = bytes / sizeof(float);
  eg_collective what = {.axis = p->axis,
                        .dtype = EGRAPH_FLOAT32,
                        .send = p->send,
                        .recv = p->recv,
                        .lends = true}; // as programs do
  static const eg_collective_kind kinds[EG_EXCHANGES] = {
      [EG_TRANSITION_ALL_GATHER] = EG_COLLECTIVE_ALL_GATHER,
      [EG_TRANSITION_REDUCE_SCATTER] = EG_COLLECTIVE_REDUCE_SCATTER,
      [EG_TRANSITION_ALL_REDUCE] = EG_COLLECTIVE_ALL_REDUCE,
      [EG_TRANSITION_ALL_TO_ALL] = EG_COLLECTIVE_ALL_TO_ALL,
      [EG_EXCHANGE_HALO] = EG_COLLECTIVE_NEIGHBOURS};
  const size_t counts[EG_EXCHANGES] = {[EG_TRANSITION_ALL_GATHER] = count / n,
                                       [EG_TRANSITION_REDUCE_SCATTER] = count / n,
                                       [EG_TRANSITION_ALL_REDUCE] = count,
                                       [EG_TRANSITION_ALL_TO_ALL] = count / n / n,
                                       [EG_EXCHANGE_HALO] = count / 2};
  what.kind = kinds[exchange];
  what.count = counts[exchange] != 0 ? counts[exchange] : 1;
  if (exchange == EG_EXCHANGE_HALO) what.count_back = what.count;
  return what;
}

// ---- blocks ---------------------------------------------------------------------------

/// Computes for about 0.1 ms. The result is sent, so the compiler cannot drop the loop.
static void compute_chunk(const prober *p, size_t sent) {
  for (int pass = 0; pass < CHUNK_PASSES; pass++)
    for (size_t i = 0; i < CHUNK_FLOATS; i++)
      p->chunk[i] = p->chunk[i] * 0.5f + 1;
  for (size_t done = 0; done < sent; done += CHUNK_FLOATS)
    memcpy(p->send + done, p->chunk,
           (sent - done < CHUNK_FLOATS ? sent - done : CHUNK_FLOATS) * sizeof(float));
}

static egraph_status run_block(const prober *p, const eg_collective *what, int turns,
                               bool exchanges, double *out_seconds) {
  bool is_of_parts = what->kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                     what->kind == EG_COLLECTIVE_ALL_TO_ALL;
  size_t sent =
      is_of_parts ? what->count * p->group.size : what->count + what->count_back;
  EG_TRY(eg_channel_barrier(p->channel));
  double start = eg_clock_seconds();
  for (int t = 0; t < turns; t++) {
    if (exchanges) eg_channel_settle(p->channel); // others read memory written now
    compute_chunk(p, sent);
    if (exchanges) EG_TRY(eg_channel_run(p->channel, what));
  }
  eg_channel_settle(p->channel);
  *out_seconds = (eg_clock_seconds() - start) / turns;
  return EGRAPH_OK;
}

static egraph_status time_exchange(const prober *p, uint32_t exchange, size_t bytes,
                                   eg_exchange_point *out) {
  double with[BLOCKS], without[BLOCKS];
  eg_collective what = exchange_of(p, exchange, bytes);
  int turns = bytes < TURN_BYTES / MOST_TURNS ? MOST_TURNS : (int)(TURN_BYTES / bytes);
  if (turns < 1) turns = 1;
  for (int b = 0; b < BLOCKS; b++) {
    EG_TRY(run_block(p, &what, turns, false, &without[b]));
    EG_TRY(run_block(p, &what, turns, true, &with[b]));
  }
  double alone = eg_quantile(without, BLOCKS, 0);
  double spread = (eg_quantile(with, BLOCKS, 0.75) - eg_quantile(with, BLOCKS, 0.25)) / 2;
  *out = (eg_exchange_point){.exchange = exchange,
                             .devices = p->group.size,
                             .bytes = (double)bytes,
                             .seconds = fmax(eg_quantile(with, BLOCKS, 0) - alone, 0),
                             .spread = spread,
                             .samples = BLOCKS};
  return EGRAPH_OK;
}

static egraph_status time_all(const prober *p, eg_exchange_points *out) {
  for (uint32_t exchange = 0; exchange < EG_EXCHANGES; exchange++) {
    if (!eg_exchange_is_remote(exchange)) continue;
    for (size_t bytes = LEAST_BYTES; bytes <= MOST_BYTES; bytes *= BYTES_STEP) {
      eg_exchange_point point;
      EG_TRY(time_exchange(p, exchange, bytes, &point));
      if (p->channel->rank == 0) EG_TRY(eg_exchange_points_push(out, point));
    }
  }
  return EGRAPH_OK;
}

// ---- during computing -----------------------------------------------------------------

enum { BESIDE_BYTES = 1 << 20, MOST_CHUNKS = 100 };

typedef struct beside_probe {
  const prober *p;
  eg_lane *lane;
  eg_collective what;
} beside_probe;

static egraph_status run_collective(void *user, const void *what, eg_channel *channel) {
  (void)user;
  return eg_channel_run(channel, what);
}

/// Measures the seconds of an exchange, of `chunks` pieces of computing, or of both at
/// the same time.
static egraph_status time_beside(const beside_probe *b, bool exchanges, int chunks,
                                 double *out) {
  uint32_t number = 0;
  EG_TRY(eg_channel_barrier(eg_lane_channel(b->lane)));
  double start = eg_clock_seconds();
  if (exchanges) number = eg_lane_start(b->lane, run_collective, NULL, &b->what);
  for (int c = 0; c < chunks; c++)
    compute_chunk(b->p, 0);
  if (exchanges) EG_TRY(eg_lane_wait(b->lane, number));
  *out = fmin(*out, eg_clock_seconds() - start);
  return EGRAPH_OK;
}

/// Measures the slowdown of computing while all ranks compute for as long as an exchange
/// takes. If computing and exchange together take no longer than computing alone, the
/// slowdown is 0; if they take as long as one after the other, computing stops.
static egraph_status measure_beside(const beside_probe *b, double *out) {
  double exchange = INFINITY, chunk = INFINITY, alone = INFINITY, both = INFINITY;
  for (int i = 0; i < BLOCKS; i++) {
    EG_TRY(time_beside(b, true, 0, &exchange));
    EG_TRY(time_beside(b, false, 1, &chunk));
  }
  double ratio[1] = {exchange / chunk};
  EG_TRY(eg_channel_run(eg_lane_channel(b->lane),
                        &(eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE,
                                         .combining = EG_COMBINE_MAX,
                                         .axis = b->p->axis,
                                         .dtype = EGRAPH_FLOAT64,
                                         .count = 1,
                                         .send = ratio,
                                         .recv = ratio}));
  int chunks = (int)fmax(1, fmin(ratio[0] + 0.5, MOST_CHUNKS));
  for (int i = 0; i < BLOCKS; i++) {
    EG_TRY(time_beside(b, false, chunks, &alone));
    EG_TRY(time_beside(b, true, chunks, &both));
  }
  double rate = (alone + exchange) / both - 1; // speed of computing during the exchange
  *out = rate * EG_MOST_BESIDE <= 1 ? EG_MOST_BESIDE : fmax(1 / rate, 1);
  return EGRAPH_OK;
}

static egraph_status time_rates(const prober *p, double *out) {
  beside_probe b = {.p = p,
                    .what = {.kind = EG_COLLECTIVE_ALL_REDUCE,
                             .axis = p->axis,
                             .dtype = EGRAPH_FLOAT32,
                             .count = BESIDE_BYTES / sizeof(float),
                             .send = p->send,
                             .recv = p->recv}};
  EG_TRY(eg_lane_create(p->channel->alloc, p->channel, &b.lane));
  egraph_status status = measure_beside(&b, out);
  eg_lane_destroy(b.lane);
  return status;
}

/// Measures all groups along the channel's last axis at the same time.
static egraph_status probe_channel(eg_channel *channel, eg_exchange_points *out,
                                   double *out_beside) {
  prober p = {.channel = channel, .axis = channel->mesh.axis_count - 1};
  const eg_collective along = {.kind = EG_COLLECTIVE_ALL_GATHER, .axis = p.axis};
  p.group = eg_group_of(channel, &along);
  size_t room = MOST_BYTES + 4u * p.group.size * p.group.size * sizeof(float);
  egraph_status status = eg_alloc(channel->alloc, room, 1, &p.send);
  if (status == EGRAPH_OK) status = eg_alloc(channel->alloc, room, 1, &p.recv);
  if (status == EGRAPH_OK)
    status = eg_alloc(channel->alloc, CHUNK_FLOATS, sizeof(float), &p.chunk);
  if (status == EGRAPH_OK) status = time_all(&p, out);
  bool is_whole = p.group.size == eg_mesh_devices(&channel->mesh);
  double beside = 0;
  if (status == EGRAPH_OK && is_whole && !channel->is_bound)
    status = time_rates(&p, &beside);
  if (channel->rank == 0) *out_beside = beside;
  if (status != EGRAPH_OK) status = eg_channel_abort(channel, status);
  eg_free(channel->alloc, p.chunk, CHUNK_FLOATS, sizeof(float));
  eg_free(channel->alloc, p.recv, room, 1);
  eg_free(channel->alloc, p.send, room, 1);
  return status;
}

// ---- meshes ---------------------------------------------------------------------------

static egraph_status mesh_of(uint32_t ranks, uint32_t devices, eg_mesh *out) {
  char text[64];
  if (devices == ranks)
    (void)snprintf(text, sizeof text, "cpu=%" PRIu32, ranks);
  else
    (void)snprintf(text, sizeof text, "outer=%" PRIu32 ",inner=%" PRIu32, ranks / devices,
                   devices);
  return eg_mesh_parse(text, out);
}

typedef struct probed {
  eg_exchange_points *points;
  double *beside;
} probed;

static egraph_status probe_rank(void *user, eg_channel *channel) {
  const probed *out = user;
  return probe_channel(channel, out->points, out->beside);
}

static egraph_status probe_process(egraph_allocator alloc, const char *name,
                                   const eg_mesh *mesh, probed *out, uint32_t *out_rank) {
  const eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  eg_channel *channel;
  EG_TRY(eg_channel_open(&alloc, name, mesh, &options, &channel));
  *out_rank = channel->rank;
  egraph_status status = probe_channel(channel, out->points, out->beside);
  eg_channel_destroy(channel);
  return status;
}

/// Measures groups of every number of ranks, the smallest first.
static egraph_status probe_sizes(egraph_allocator alloc, const char *channel,
                                 uint32_t ranks, probed *out, uint32_t *out_rank) {
  const eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  for (uint32_t devices = 2; devices <= ranks; devices++) {
    eg_mesh mesh;
    if (ranks % devices != 0) continue;
    EG_TRY(mesh_of(ranks, devices, &mesh));
    EG_TRY(strcmp(channel, "local") == 0
               ? eg_local_ranks_run(&alloc, &mesh, &options, probe_rank, out)
               : probe_process(alloc, channel, &mesh, out, out_rank));
  }
  return EGRAPH_OK;
}

egraph_status eg_exchange_probe(egraph_allocator alloc, const char *channel,
                                uint32_t ranks, eg_exchange_points *out,
                                double *out_beside, uint32_t *out_rank) {
  eg_mesh whole;
  probed both = {out, out_beside};
  eg_channel *held = NULL;
  const eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  *out_rank = 0;
  *out_beside = 0;
  if (ranks < 2)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%" PRIu32 " ranks have nobody to talk to", ranks);
  // MPI starts with the first channel and ends when that channel is destroyed. Therefore
  // the channel of all ranks is created first and destroyed last.
  EG_TRY(mesh_of(ranks, ranks, &whole));
  if (strcmp(channel, "local") != 0)
    EG_TRY(eg_channel_open(&alloc, channel, &whole, &options, &held));
  egraph_status status = probe_sizes(alloc, channel, ranks, &both, out_rank);
  eg_channel_destroy(held);
  return status;
}

// ---- latency and bandwidth of a link ------------------------------------------------

// A small collective takes the time of its rounds, which are the levels of a tree (the
// cheapest formula of sim/collective.h). A large collective takes this time, and the time
// of its traffic.

enum {
  SMALL = 16,      // elements per device
  WHOLE = 1 << 21, // most elements of all devices together: 8 MiB, beyond their caches
  HELD = 1 << 26,  // most elements of the buffers of all devices, together: 256 MiB
  REPEATS = 400,   // repeats of small collectives, divided by the ranks
  MOST_REPEATS = 200,
  LEAST_REPEATS = 11 // the least, and the repeats of large collectives
};
// The quantile of the times that is the result; low, as other programs only add time.
static const double QUANTILE = 0.25;

/// `per_byte`: bytes that pass a device for a byte of the collective, times the
/// group's size.
typedef struct link_collective {
  eg_collective_kind kind;
  bool is_whole;   // bytes of the collective are those of the whole buffer, not of one
                   // device's part
  double per_byte; // volume * n / (n - 1)
} link_collective;

static const link_collective link_collectives[] = {
    {EG_COLLECTIVE_ALL_GATHER, false, 1},
    {EG_COLLECTIVE_REDUCE_SCATTER, false, 1},
    {EG_COLLECTIVE_ALL_REDUCE, true, 2}};
enum { LINK_COLLECTIVES = sizeof link_collectives / sizeof *link_collectives };

typedef struct link_prober {
  eg_channel *channel;
  eg_group group;
  uint32_t axis;
  size_t large;       // elements per device
  float *send, *recv; // [group][large]
} link_prober;

static int choose_repeats(uint32_t group) {
  assert(group > 1);
  uint32_t repeats = REPEATS / group;
  return (int)(repeats > MOST_REPEATS    ? MOST_REPEATS
               : repeats < LEAST_REPEATS ? LEAST_REPEATS
                                         : repeats);
}

/// Measures a collective. For traffic between ranks of this host the smaller of wall
/// clock and thread clock counts, which leaves out the time for which other programs have
/// the processor. For rounds of small messages the wall clock counts, because they
/// include waiting.
static egraph_status time_kind(const link_prober *p, const link_collective *kind,
                               size_t count, bool is_traffic, int repeats, double *out) {
  assert(repeats <= MOST_REPEATS);
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

static egraph_status probe_link(const link_prober *p, eg_link_figures *out) {
  double latency[LINK_COLLECTIVES], per_byte[LINK_COLLECTIVES], n = p->group.size;
  int repeats = choose_repeats(p->group.size);
  for (int k = 0; k < LINK_COLLECTIVES; k++) {
    double small, large;
    EG_TRY(time_kind(p, &link_collectives[k], SMALL, false, repeats, &small));
    EG_TRY(time_kind(p, &link_collectives[k], p->large, true, LEAST_REPEATS, &large));
    double bytes = (double)(p->large - SMALL) * sizeof(float) * n;
    double passing = bytes * link_collectives[k].per_byte * (n - 1) / n;
    latency[k] = small / levels(p->group.size);
    per_byte[k] = fmax(large - small, large / 2) / passing; // rounds may be disturbed
  }
  out->latency_seconds = eg_median(latency, LINK_COLLECTIVES);
  out->seconds_per_byte = eg_median(per_byte, LINK_COLLECTIVES);
  return EGRAPH_OK;
}

/// Gives all ranks the figures of rank 0.
static egraph_status share_figures(const link_prober *p, eg_link_figures *figures) {
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
  link_prober p = {
      .channel = channel, .group = eg_group_of(channel, &along), .axis = axis};
  size_t whole = HELD / p.group.size < WHOLE ? HELD / p.group.size : WHOLE;
  p.large = whole / p.group.size > 2 * SMALL ? whole / p.group.size : 2 * SMALL;
  size_t count = p.group.size * p.large;
  egraph_status status = eg_alloc(channel->alloc, count, sizeof *p.send, &p.send);
  if (status == EGRAPH_OK)
    status = eg_alloc(channel->alloc, count, sizeof *p.recv, &p.recv);
  if (status != EGRAPH_OK) status = eg_channel_abort(channel, status);
  if (status == EGRAPH_OK) status = probe_link(&p, out);
  if (status == EGRAPH_OK) status = share_figures(&p, out);
  eg_free(channel->alloc, p.recv, count, sizeof *p.recv);
  eg_free(channel->alloc, p.send, count, sizeof *p.send);
  return status;
}

static egraph_status probe_link_on_rank(void *user, eg_channel *channel) {
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
  return eg_local_ranks_run(alloc, &mesh, &options, probe_link_on_rank, out);
}
