// Collectives as spans for each peer, and the life of the channel; how spans travel:
// mpi_messages.h.
// SPDX-License-Identifier: Apache-2.0
#include "exec/mpi/mpi_channel.h"

#include <mpi.h>
#include <sched.h>

#include "base/clock.h"
#include "exec/mpi/mpi_messages.h"

// ---- collectives ------------------------------------------------------------------

typedef struct run {
  eg_mpi_channel *channel;
  const eg_collective *what;
  eg_group group;
  size_t bytes; // of `count` elements
  const char *send;
  char *recv;
} run;

static void set_span(const run *r, uint32_t place, eg_mpi_span s) {
  s.is_peer = place != r->group.place;
  r->channel->spans[place] = s;
}

static void keep_own(const run *r, char *to, const char *from) {
  if (r->bytes != 0 && to != from) memcpy(to, from, r->bytes);
}

static egraph_status gather(const run *r) {
  char *own = r->recv + r->group.place * r->bytes;
  for (uint32_t p = 0; p < r->group.size; p++)
    set_span(r, p,
             (eg_mpi_span){r->send, r->recv + p * r->bytes, r->bytes, r->bytes, true});
  keep_own(r, own, r->send);
  return eg_mpi_exchange(r->channel, &r->group, r->what, NULL);
}

static egraph_status transpose(const run *r) {
  size_t own = r->group.place * r->bytes;
  for (uint32_t p = 0; p < r->group.size; p++) {
    size_t at = p * r->bytes;
    set_span(r, p, (eg_mpi_span){r->send + at, r->recv + at, r->bytes, r->bytes, true});
  }
  keep_own(r, r->recv + own, r->send + own);
  return eg_mpi_exchange(r->channel, &r->group, r->what, NULL);
}

static egraph_status reduce_part(const run *r) {
  for (uint32_t p = 0; p < r->group.size; p++)
    set_span(r, p, (eg_mpi_span){r->send + p * r->bytes, NULL, r->bytes, r->bytes, true});
  return eg_mpi_exchange(r->channel, &r->group, r->what, r->recv);
}

/// Each combines a part, then all gather the parts.
static egraph_status reduce_all(const run *r) {
  uint32_t n = r->group.size, place = r->group.place;
  size_t element = eg_dtype_bytes(r->what->dtype);
  size_t part = (r->what->count + n - 1) / n * element;
  size_t begin = place * part < r->bytes ? place * part : r->bytes;
  size_t own = r->bytes - begin < part ? r->bytes - begin : part;
  for (uint32_t stage = 0; stage < 2; stage++) {
    for (uint32_t p = 0; p < n; p++) {
      size_t at = p * part < r->bytes ? p * part : r->bytes;
      size_t bytes = r->bytes - at < part ? r->bytes - at : part;
      set_span(r, p,
               stage == 0
                   ? (eg_mpi_span){r->send + at, NULL, bytes, own, true}
                   : (eg_mpi_span){r->recv + begin, r->recv + at, own, bytes, true});
    }
    EG_TRY(eg_mpi_exchange(r->channel, &r->group, r->what,
                           stage == 0 ? r->recv + begin : NULL));
  }
  return EGRAPH_OK;
}

static egraph_status exchange_neighbours(const run *r) {
  size_t back = r->what->count_back * eg_dtype_bytes(r->what->dtype);
  uint32_t place = r->group.place;
  for (uint32_t p = 0; p < r->group.size; p++)
    r->channel->spans[p] = (eg_mpi_span){.is_peer = false};
  if (place != 0)
    set_span(r, place - 1,
             (eg_mpi_span){r->send + r->bytes, r->recv, back, r->bytes, true});
  if (place + 1 != r->group.size)
    set_span(r, place + 1,
             (eg_mpi_span){r->send, r->recv + r->bytes, r->bytes, back, true});
  return eg_mpi_exchange(r->channel, &r->group, r->what, NULL);
}

static egraph_status (*const runs[EG_COLLECTIVE_BARRIER])(const run *) = {
    [EG_COLLECTIVE_ALL_GATHER] = gather,
    [EG_COLLECTIVE_REDUCE_SCATTER] = reduce_part,
    [EG_COLLECTIVE_ALL_REDUCE] = reduce_all,
    [EG_COLLECTIVE_ALL_TO_ALL] = transpose,
    [EG_COLLECTIVE_NEIGHBOURS] = exchange_neighbours,
};

/// Who has met all along one axis has met those who met all along the axes before.
static egraph_status meet_along_axes(eg_mpi_channel *channel, const eg_collective *what) {
  eg_collective along = {.kind = EG_COLLECTIVE_ALL_GATHER};
  for (; along.axis < channel->base.mesh.axis_count; along.axis++) {
    eg_group group = eg_group_of(&channel->base, &along);
    for (uint32_t p = 0; p < group.size; p++)
      channel->spans[p] = (eg_mpi_span){.is_peer = p != group.place};
    EG_TRY(eg_mpi_exchange(channel, &group, what, NULL));
  }
  return EGRAPH_OK;
}

static egraph_status run_kind(eg_mpi_channel *channel, const eg_collective *what) {
  EG_TRY(eg_mpi_look_for_end(channel));
  if (what->kind == EG_COLLECTIVE_BARRIER) return meet_along_axes(channel, what);
  run r = {.channel = channel,
           .what = what,
           .group = eg_group_of(&channel->base, what),
           .bytes = what->count * eg_dtype_bytes(what->dtype),
           .send = what->send,
           .recv = what->recv};
  return runs[what->kind](&r);
}

static egraph_status mpi_run(eg_channel *base, const eg_collective *what) {
  eg_mpi_channel *channel = (eg_mpi_channel *)base;
  egraph_status status = run_kind(channel, what);
  if (status == EGRAPH_OK) return EGRAPH_OK;
  return eg_mpi_fail_all(channel, status, egraph_last_error());
}

static void mpi_end(eg_channel *base, egraph_status status, const char *message) {
  char line[EG_MESSAGE_BYTES];
  snprintf(line, sizeof line, "rank %u failed: %.*s", base->rank, EG_MESSAGE_BYTES - 32,
           message);
  (void)eg_mpi_fail_all((eg_mpi_channel *)base, status, line);
}

static egraph_status mpi_look(eg_channel *base) {
  return eg_mpi_look_for_end((eg_mpi_channel *)base);
}

// ---- life -------------------------------------------------------------------------

/// False when MPI still holds memory of the channel.
static bool give_up_requests(eg_mpi_channel *channel) {
  int received = 1, sent = 1, noted = 1;
  for (uint32_t p = 0; p < channel->places; p++)
    if (channel->receives[p] != MPI_REQUEST_NULL) (void)MPI_Cancel(&channel->receives[p]);
  (void)MPI_Testall((int)channel->places, channel->receives, &received,
                    MPI_STATUSES_IGNORE);
  (void)MPI_Testall((int)channel->places, channel->sends, &sent, MPI_STATUSES_IGNORE);
  (void)MPI_Testall((int)channel->ranks, channel->notes, &noted, MPI_STATUSES_IGNORE);
  return received && sent && noted;
}

static void free_memory(eg_mpi_channel *channel) {
  egraph_allocator alloc = channel->base.alloc;
  size_t n = channel->places;
  eg_free(alloc, channel->outgoing, n, sizeof *channel->outgoing);
  eg_free(alloc, channel->incoming, n, sizeof *channel->incoming);
  eg_free(alloc, channel->spans, n, sizeof *channel->spans);
  eg_free(alloc, channel->parts, n, sizeof *channel->parts);
  eg_free(alloc, channel->receives, n, sizeof *channel->receives);
  eg_free(alloc, channel->sends, n, sizeof *channel->sends);
  eg_free(alloc, channel->notes, channel->ranks, sizeof *channel->notes);
  eg_free(alloc, channel, 1, sizeof *channel);
}

// Memory that MPI may still write to is left to it: the process is about to end.
static void mpi_destroy(eg_channel *base) {
  eg_mpi_channel *channel = (eg_mpi_channel *)base;
  bool is_idle = !channel->is_opening,
       ends_mpi = channel->owns_mpi && channel->failed == EGRAPH_OK;
  if (channel->has_comm) is_idle = give_up_requests(channel);
  if (channel->has_comm && channel->failed == EGRAPH_OK)
    (void)MPI_Comm_free(&channel->comm);
  if (is_idle) free_memory(channel);
  if (ends_mpi) (void)MPI_Finalize();
}

static const eg_channel_vtable mpi_vtable = {.name = "mpi",
                                             .is_ordered = true,
                                             .destroy = mpi_destroy,
                                             .run = mpi_run,
                                             .end = mpi_end,
                                             .look = mpi_look};

static egraph_status start_mpi(eg_mpi_channel *channel) {
  int is_started = 0, is_ended = 0, level = 0;
  EG_TRY(eg_mpi_check(MPI_Initialized(&is_started), "initialized"));
  EG_TRY(eg_mpi_check(MPI_Finalized(&is_ended), "finalized"));
  if (is_ended)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "MPI has ended in this process and cannot start again; call MPI_Init "
                   "yourself to use several channels");
  if (is_started) return EGRAPH_OK;
  EG_TRY(eg_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "start"));
  channel->owns_mpi = true;
  return EGRAPH_OK;
}

static egraph_status check_world(eg_mpi_channel *channel) {
  int ranks = 0, rank = 0;
  uint32_t devices = eg_mesh_devices(&channel->base.mesh);
  EG_TRY(eg_mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "size"));
  EG_TRY(eg_mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "rank"));
  channel->base.rank = (uint32_t)rank;
  return (uint32_t)ranks == devices
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_ARGUMENT,
                       "the mesh has %u devices, but mpirun started %d processes; use "
                       "mpirun -n %u",
                       devices, ranks, devices);
}

/// Messages of our own, apart from the program's.
static egraph_status open_comm(eg_mpi_channel *channel) {
  MPI_Request request;
  EG_TRY(eg_mpi_check(MPI_Comm_idup(MPI_COMM_WORLD, &channel->comm, &request),
                      "communicator"));
  channel->is_opening = true;
  double until = eg_clock_seconds() + channel->base.deadline_seconds;
  for (int is_done = 0; !is_done;) {
    EG_TRY(eg_mpi_check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "communicator"));
    if (!is_done && eg_clock_seconds() > until)
      return EG_FAIL(EGRAPH_E_CANCELLED,
                     "some ranks did not open their channel within %g s",
                     channel->base.deadline_seconds);
    (void)sched_yield();
  }
  channel->is_opening = false;
  channel->has_comm = true;
  return eg_mpi_check(MPI_Comm_set_errhandler(channel->comm, MPI_ERRORS_RETURN),
                      "handler");
}

static egraph_status alloc_memory(eg_mpi_channel *channel) {
  egraph_allocator alloc = channel->base.alloc;
  const eg_mesh *mesh = &channel->base.mesh;
  channel->ranks = eg_mesh_devices(mesh);
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (mesh->axes[a].size > channel->places) channel->places = mesh->axes[a].size;
  size_t n = channel->places;
  EG_TRY(eg_alloc(alloc, n, sizeof *channel->outgoing, &channel->outgoing));
  EG_TRY(eg_alloc(alloc, n, sizeof *channel->incoming, &channel->incoming));
  EG_TRY(eg_alloc(alloc, n, sizeof *channel->spans, &channel->spans));
  EG_TRY(eg_alloc(alloc, n, sizeof *channel->parts, &channel->parts));
  EG_TRY(eg_alloc(alloc, n, sizeof *channel->receives, &channel->receives));
  EG_TRY(eg_alloc(alloc, n, sizeof *channel->sends, &channel->sends));
  EG_TRY(eg_alloc(alloc, channel->ranks, sizeof *channel->notes, &channel->notes));
  for (size_t i = 0; i < n; i++)
    channel->receives[i] = channel->sends[i] = MPI_REQUEST_NULL;
  for (uint32_t r = 0; r < channel->ranks; r++)
    channel->notes[r] = MPI_REQUEST_NULL;
  return EGRAPH_OK;
}

egraph_status eg_mpi_channel_create(const egraph_allocator *alloc, const eg_mesh *mesh,
                                    const eg_channel_options *options, eg_channel **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_mpi_channel *channel;
  EG_TRY(eg_channel_options_check(options));
  EG_TRY(eg_alloc(own, 1, sizeof *channel, &channel));
  channel->base = (eg_channel){.vtable = &mpi_vtable,
                               .alloc = own,
                               .mesh = *mesh,
                               .deadline_seconds = options->deadline_seconds};
  egraph_status status;
  EG_TRY_GOTO(status, alloc_memory(channel), failed);
  EG_TRY_GOTO(status, start_mpi(channel), failed);
  EG_TRY_GOTO(status, check_world(channel), failed);
  EG_TRY_GOTO(status, open_comm(channel), failed);
  *out = &channel->base;
  return EGRAPH_OK;
failed:
  if (status == EGRAPH_E_CANCELLED) channel->failed = status; // nobody to finalize with
  mpi_destroy(&channel->base);
  return status;
}
