// The channel between the processes that mpirun started, and the plugin's export. Its
// rank is the rank in MPI_COMM_WORLD, which has as many processes as the mesh has
// devices. All processes create their channels together. One thread at a time uses it.
//
// When the program has not called MPI_Init, the channel calls it, and its end calls
// MPI_Finalize; MPI starts once per process, so a second such channel fails. A channel
// that has failed neither waits for others nor finalizes MPI when it is destroyed: the
// process should end, and mpirun will end the others.
//
// Every collective is rounds of messages between pairs of ranks: a message has the
// collective, then at most a chunk of data. With pairs, the channel decides the order of
// reductions, keeps deadlines and names missing ranks; MPI's collectives do none of this.
//
//   span of a peer     what goes to it and what comes from it, in rounds
//   slots              a message to and one from each peer; the channel's own memory, so
//                      that a failure leaves no request on a buffer of the caller
//
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // nanosleep
#include <assert.h>
#include <mpi.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "base/clock.h"
#include "exec/channel.h"
#include "exec/plugin/plugin_abi.h"

enum { CHUNK = 1 << 16 };

typedef struct mpi_slot {
  eg_collective what; // pointers are not read
  char data[CHUNK];
} mpi_slot;

typedef struct mpi_note {
  int32_t status;
  char message[EG_MESSAGE_BYTES];
} mpi_note;

typedef struct mpi_span {
  const char *send;
  char *recv; // NULL: received data is combined
  size_t send_bytes, recv_bytes;
  bool is_peer;
} mpi_span;

typedef struct mpi_channel {
  eg_channel base;
  MPI_Comm comm;
  bool owns_mpi, has_comm;
  bool is_opening;               // MPI may still write to `comm`
  uint32_t ranks, places;        // number of ranks; size of the largest group
  mpi_slot *outgoing, *incoming; // [places]
  mpi_span *spans;               // [places]
  const void **parts;            // [places]
  MPI_Request *receives, *sends; // [places]
  MPI_Request *notes;            // [ranks]
  eg_arena arena;                // memory of these arrays
  mpi_note own_note;             // the note that requests `notes` send
  egraph_status failed;
  char message[EG_MESSAGE_BYTES];
} mpi_channel;

enum { TAG_DATA = 1, TAG_END = 2 };

// ---- failures ---------------------------------------------------------------------

/// Translates MPI's codes into EGRAPH_E_IO with MPI's message.
static egraph_status check_mpi(int code, const char *what) {
  if (code == MPI_SUCCESS) return EGRAPH_OK;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  (void)MPI_Error_string(code, text, &length);
  return EG_FAIL(EGRAPH_E_IO, "MPI, %s: %s", what, text);
}

static egraph_status fail_again(const mpi_channel *channel) {
  assert(channel->failed != EGRAPH_OK);
  return EG_FAIL(channel->failed, "%s", channel->message);
}

static void remember(mpi_channel *channel, egraph_status status, const char *message) {
  channel->failed = status;
  snprintf(channel->message, sizeof channel->message, "%s", message);
}

/// Ends the channel here and notifies all other ranks; the first failure stays. The note
/// is short, so MPI accepts it whether or not the receiver polls.
static egraph_status fail_all(mpi_channel *channel, egraph_status status,
                              const char *message) {
  if (channel->failed != EGRAPH_OK) return fail_again(channel);
  char copy[EG_MESSAGE_BYTES];
  snprintf(copy, sizeof copy, "%s", message);
  remember(channel, status, copy);
  channel->own_note.status = (int32_t)status;
  memcpy(channel->own_note.message, channel->message, sizeof channel->message);
  for (uint32_t r = 0; r < channel->ranks; r++)
    if (r != channel->base.rank)
      (void)MPI_Isend(&channel->own_note, (int)sizeof channel->own_note, MPI_BYTE, (int)r,
                      TAG_END, channel->comm, &channel->notes[r]);
  return fail_again(channel);
}

/// Fails when this or another rank has ended the channel.
static egraph_status look_for_end(mpi_channel *channel) {
  if (channel->failed != EGRAPH_OK) return fail_again(channel);
  int is_there = 0;
  MPI_Status from;
  EG_TRY(check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, TAG_END, channel->comm, &is_there, &from),
                   "probe"));
  if (!is_there) return EGRAPH_OK;
  mpi_note heard = {0};
  EG_TRY(check_mpi(MPI_Recv(&heard, (int)sizeof heard, MPI_BYTE, from.MPI_SOURCE, TAG_END,
                            channel->comm, MPI_STATUS_IGNORE),
                   "receive"));
  heard.message[sizeof heard.message - 1] = '\0';
  remember(channel, (egraph_status)heard.status, heard.message);
  return fail_again(channel);
}

// ---- rounds -----------------------------------------------------------------------

static bool is_pending(MPI_Request request) {
  int is_done = 1;
  if (request != MPI_REQUEST_NULL)
    (void)MPI_Request_get_status(request, &is_done, MPI_STATUS_IGNORE);
  return !is_done;
}

static egraph_status fail_missed(mpi_channel *channel, const eg_group *group,
                                 const eg_collective *what) {
  uint32_t missing = group->place;
  for (uint32_t p = group->size; p-- > 0;)
    if (is_pending(channel->receives[p]) || is_pending(channel->sends[p])) missing = p;
  egraph_status status =
      eg_collective_missed(&channel->base, eg_group_rank(group, missing), what);
  return fail_all(channel, status, egraph_last_error());
}

static size_t part_of(size_t bytes, size_t at) {
  size_t rest = bytes > at ? bytes - at : 0;
  return rest < CHUNK ? rest : CHUNK;
}

static egraph_status post(mpi_channel *channel, const eg_group *group,
                          const eg_collective *what, size_t at) {
  assert(group->size <= channel->places);
  for (uint32_t p = 0; p < group->size; p++) {
    const mpi_span *s = &channel->spans[p];
    int rank = (int)eg_group_rank(group, p);
    channel->receives[p] = channel->sends[p] = MPI_REQUEST_NULL;
    if (!s->is_peer) continue;
    mpi_slot *out = &channel->outgoing[p];
    size_t bytes = part_of(s->send_bytes, at);
    out->what = *what;
    if (bytes != 0) memcpy(out->data, s->send + at, bytes);
    EG_TRY(check_mpi(MPI_Irecv(&channel->incoming[p], (int)sizeof(mpi_slot), MPI_BYTE,
                               rank, TAG_DATA, channel->comm, &channel->receives[p]),
                     "receive"));
    EG_TRY(check_mpi(MPI_Isend(out, (int)(offsetof(mpi_slot, data) + bytes), MPI_BYTE,
                               rank, TAG_DATA, channel->comm, &channel->sends[p]),
                     "send"));
  }
  return EGRAPH_OK;
}

// Pauses longer after many polls: this process may occupy a late rank's processor.
static void pause_after(uint32_t polls) {
  enum { IMPATIENT_POLLS = 2000 };
  if (polls < IMPATIENT_POLLS)
    (void)sched_yield();
  else
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static egraph_status wait_for_all(mpi_channel *channel, const eg_group *group,
                                  const eg_collective *what) {
  double until = eg_clock_seconds() + channel->base.deadline_seconds;
  for (uint32_t polls = 0;; polls += polls < UINT32_MAX) {
    int received = 0, sent = 0;
    EG_TRY(check_mpi(
        MPI_Testall((int)group->size, channel->receives, &received, MPI_STATUSES_IGNORE),
        "receive"));
    EG_TRY(check_mpi(
        MPI_Testall((int)group->size, channel->sends, &sent, MPI_STATUSES_IGNORE),
        "send"));
    if (received && sent) return EGRAPH_OK;
    EG_TRY(look_for_end(channel));
    if (eg_clock_seconds() > until) return fail_missed(channel, group, what);
    pause_after(polls);
  }
}

static egraph_status check_posted(mpi_channel *channel, const eg_group *group,
                                  const eg_collective *what) {
  for (uint32_t p = 0; p < group->size; p++)
    if (channel->spans[p].is_peer &&
        !eg_collective_matches(&channel->incoming[p].what, what)) {
      egraph_status status =
          eg_collective_mismatch(&channel->base, eg_group_rank(group, p),
                                 &channel->incoming[p].what, channel->base.rank, what);
      return fail_all(channel, status, egraph_last_error());
    }
  return EGRAPH_OK;
}

static void store_round(mpi_channel *channel, const eg_group *group, size_t at) {
  for (uint32_t p = 0; p < group->size; p++) {
    const mpi_span *s = &channel->spans[p];
    size_t bytes = s->recv == NULL ? 0 : part_of(s->recv_bytes, at);
    if (s->is_peer && bytes != 0) memcpy(s->recv + at, channel->incoming[p].data, bytes);
  }
}

/// Combines a received round of messages; the rank's own elements are in `own`.
static void combine_round(mpi_channel *channel, const eg_group *group,
                          const eg_collective *what, const char *own, char *out,
                          size_t at, size_t bytes) {
  for (uint32_t p = 0; p < group->size; p++)
    channel->parts[p] =
        p == group->place ? own + at : (const char *)channel->incoming[p].data;
  eg_combine(what->dtype, what->combining, channel->parts, group->size,
             bytes / eg_dtype_bytes(what->dtype), out + at);
}

/// Runs all rounds of messages for channel->spans. With `out`, received elements are
/// combined into `out` in the order of the group, together with the elements of the
/// rank's own span.
static egraph_status exchange_spans(mpi_channel *channel, const eg_group *group,
                                    const eg_collective *what, char *out) {
  const mpi_span *own = &channel->spans[group->place];
  size_t most = 0, at = 0;
  for (uint32_t p = 0; p < group->size; p++) {
    const mpi_span *s = &channel->spans[p];
    if (s->is_peer && s->send_bytes > most) most = s->send_bytes;
    if (s->is_peer && s->recv_bytes > most) most = s->recv_bytes;
  }
  do {
    EG_TRY(post(channel, group, what, at));
    EG_TRY(wait_for_all(channel, group, what));
    EG_TRY(check_posted(channel, group, what));
    store_round(channel, group, at);
    size_t bytes = part_of(own->send_bytes, at);
    if (out != NULL && bytes != 0)
      combine_round(channel, group, what, own->send, out, at, bytes);
    at += CHUNK;
  } while (at < most);
  return EGRAPH_OK;
}

// ---- collectives ------------------------------------------------------------------

typedef struct run {
  mpi_channel *channel;
  const eg_collective *what;
  eg_group group;
  size_t bytes; // bytes of `count` elements
  const char *send;
  char *recv;
} run;

static void set_span(const run *r, uint32_t place, mpi_span s) {
  assert(place < r->group.size);
  s.is_peer = place != r->group.place;
  r->channel->spans[place] = s;
}

static void keep_own(const run *r, char *to, const char *from) {
  if (r->bytes != 0 && to != from) memcpy(to, from, r->bytes);
}

static egraph_status gather_spans(const run *r) {
  char *own = r->recv + r->group.place * r->bytes;
  for (uint32_t p = 0; p < r->group.size; p++)
    set_span(r, p, (mpi_span){r->send, r->recv + p * r->bytes, r->bytes, r->bytes, true});
  keep_own(r, own, r->send);
  return exchange_spans(r->channel, &r->group, r->what, NULL);
}

static egraph_status transpose(const run *r) {
  size_t own = r->group.place * r->bytes;
  for (uint32_t p = 0; p < r->group.size; p++) {
    size_t at = p * r->bytes;
    set_span(r, p, (mpi_span){r->send + at, r->recv + at, r->bytes, r->bytes, true});
  }
  keep_own(r, r->recv + own, r->send + own);
  return exchange_spans(r->channel, &r->group, r->what, NULL);
}

static egraph_status reduce_part(const run *r) {
  for (uint32_t p = 0; p < r->group.size; p++)
    set_span(r, p, (mpi_span){r->send + p * r->bytes, NULL, r->bytes, r->bytes, true});
  return exchange_spans(r->channel, &r->group, r->what, r->recv);
}

/// Runs an all-reduce: each rank combines a part, then all gather the parts.
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
               stage == 0 ? (mpi_span){r->send + at, NULL, bytes, own, true}
                          : (mpi_span){r->recv + begin, r->recv + at, own, bytes, true});
    }
    EG_TRY(exchange_spans(r->channel, &r->group, r->what,
                          stage == 0 ? r->recv + begin : NULL));
  }
  return EGRAPH_OK;
}

static egraph_status exchange_neighbours(const run *r) {
  size_t back = r->what->count_back * eg_dtype_bytes(r->what->dtype);
  uint32_t place = r->group.place;
  for (uint32_t p = 0; p < r->group.size; p++)
    r->channel->spans[p] = (mpi_span){.is_peer = false};
  if (place != 0)
    set_span(r, place - 1, (mpi_span){r->send + r->bytes, r->recv, back, r->bytes, true});
  if (place + 1 != r->group.size)
    set_span(r, place + 1, (mpi_span){r->send, r->recv + r->bytes, r->bytes, back, true});
  return exchange_spans(r->channel, &r->group, r->what, NULL);
}

static egraph_status (*const runs[EG_COLLECTIVE_BARRIER])(const run *) = {
    [EG_COLLECTIVE_ALL_GATHER] = gather_spans,
    [EG_COLLECTIVE_REDUCE_SCATTER] = reduce_part,
    [EG_COLLECTIVE_ALL_REDUCE] = reduce_all,
    [EG_COLLECTIVE_ALL_TO_ALL] = transpose,
    [EG_COLLECTIVE_NEIGHBOURS] = exchange_neighbours,
};

/// Runs a barrier along one axis after another: a rank that has met its group along an
/// axis has met all ranks that this group met along earlier axes.
static egraph_status meet_along_axes(mpi_channel *channel, const eg_collective *what) {
  eg_collective along = {.kind = EG_COLLECTIVE_ALL_GATHER};
  for (; along.axis < channel->base.mesh.axis_count; along.axis++) {
    eg_group group = eg_group_of(&channel->base, &along);
    for (uint32_t p = 0; p < group.size; p++)
      channel->spans[p] = (mpi_span){.is_peer = p != group.place};
    EG_TRY(exchange_spans(channel, &group, what, NULL));
  }
  return EGRAPH_OK;
}

static egraph_status run_collective_kind(mpi_channel *channel,
                                         const eg_collective *what) {
  EG_TRY(look_for_end(channel));
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
  mpi_channel *channel = (mpi_channel *)base;
  egraph_status status = run_collective_kind(channel, what);
  if (status == EGRAPH_OK) return EGRAPH_OK;
  return fail_all(channel, status, egraph_last_error());
}

static void mpi_end(eg_channel *base, egraph_status status, const char *message) {
  char line[EG_MESSAGE_BYTES];
  snprintf(line, sizeof line, "rank %u failed: %.*s", base->rank, EG_MESSAGE_BYTES - 32,
           message);
  (void)fail_all((mpi_channel *)base, status, line);
}

static egraph_status mpi_look(eg_channel *base) {
  return look_for_end((mpi_channel *)base);
}

// ---- life -------------------------------------------------------------------------

/// Cancels or tests all MPI requests. False when MPI still holds memory of the channel.
static bool give_up_requests(mpi_channel *channel) {
  int received = 1, sent = 1, noted = 1;
  for (uint32_t p = 0; p < channel->places; p++)
    if (channel->receives[p] != MPI_REQUEST_NULL) (void)MPI_Cancel(&channel->receives[p]);
  (void)MPI_Testall((int)channel->places, channel->receives, &received,
                    MPI_STATUSES_IGNORE);
  (void)MPI_Testall((int)channel->places, channel->sends, &sent, MPI_STATUSES_IGNORE);
  (void)MPI_Testall((int)channel->ranks, channel->notes, &noted, MPI_STATUSES_IGNORE);
  return received && sent && noted;
}

// Destroys the channel. Memory to which MPI may still write stays: the process is ending.
static void mpi_destroy(eg_channel *base) {
  mpi_channel *channel = (mpi_channel *)base;
  bool is_idle = !channel->is_opening,
       ends_mpi = channel->owns_mpi && channel->failed == EGRAPH_OK;
  if (channel->has_comm) is_idle = give_up_requests(channel);
  if (channel->has_comm && channel->failed == EGRAPH_OK)
    (void)MPI_Comm_free(&channel->comm);
  if (is_idle) {
    eg_arena_deinit(&channel->arena);
    eg_free(base->alloc, channel, 1, sizeof *channel);
  }
  if (ends_mpi) (void)MPI_Finalize();
}

static const eg_channel_vtable mpi_vtable = {.name = "mpi",
                                             .is_ordered = true,
                                             .destroy = mpi_destroy,
                                             .run = mpi_run,
                                             .end = mpi_end,
                                             .look = mpi_look};

static egraph_status start_mpi(mpi_channel *channel) {
  int is_started = 0, is_ended = 0, level = 0;
  EG_TRY(check_mpi(MPI_Initialized(&is_started), "initialized"));
  EG_TRY(check_mpi(MPI_Finalized(&is_ended), "finalized"));
  if (is_ended)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "MPI has ended in this process and cannot start again; call MPI_Init "
                   "yourself to use several channels");
  if (!is_started) {
    EG_TRY(
        check_mpi(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "start"));
    channel->owns_mpi = true;
  }
  EG_TRY(check_mpi(MPI_Query_thread(&level), "level of threads"));
  channel->base.is_bound = level < MPI_THREAD_SERIALIZED;
  return EGRAPH_OK;
}

static egraph_status check_world(mpi_channel *channel) {
  int ranks = 0, rank = 0;
  uint32_t devices = eg_mesh_devices(&channel->base.mesh);
  EG_TRY(check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "size"));
  EG_TRY(check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "rank"));
  channel->base.rank = (uint32_t)rank;
  return (uint32_t)ranks == devices
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_ARGUMENT,
                       "the mesh has %u devices, but mpirun started %d processes; use "
                       "mpirun -n %u",
                       devices, ranks, devices);
}

/// Makes a communicator, which separates our messages from the program's.
static egraph_status open_comm(mpi_channel *channel) {
  MPI_Request request;
  EG_TRY(
      check_mpi(MPI_Comm_idup(MPI_COMM_WORLD, &channel->comm, &request), "communicator"));
  channel->is_opening = true;
  double until = eg_clock_seconds() + channel->base.deadline_seconds;
  for (int is_done = 0; !is_done;) {
    EG_TRY(check_mpi(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "communicator"));
    if (!is_done && eg_clock_seconds() > until)
      return EG_FAIL(EGRAPH_E_CANCELLED,
                     "some ranks did not open their channel within %g s",
                     channel->base.deadline_seconds);
    (void)sched_yield();
  }
  channel->is_opening = false;
  channel->has_comm = true;
  return check_mpi(MPI_Comm_set_errhandler(channel->comm, MPI_ERRORS_RETURN), "handler");
}

static egraph_status alloc_memory(mpi_channel *channel) {
  eg_arena *arena = &channel->arena;
  const eg_mesh *mesh = &channel->base.mesh;
  channel->ranks = eg_mesh_devices(mesh);
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (mesh->axes[a].size > channel->places) channel->places = mesh->axes[a].size;
  size_t n = channel->places;
  EG_TRY(eg_arena_alloc(arena, n, sizeof *channel->outgoing, &channel->outgoing));
  EG_TRY(eg_arena_alloc(arena, n, sizeof *channel->incoming, &channel->incoming));
  EG_TRY(eg_arena_alloc(arena, n, sizeof *channel->spans, &channel->spans));
  EG_TRY(eg_arena_alloc(arena, n, sizeof *channel->parts, &channel->parts));
  EG_TRY(eg_arena_alloc(arena, n, sizeof *channel->receives, &channel->receives));
  EG_TRY(eg_arena_alloc(arena, n, sizeof *channel->sends, &channel->sends));
  EG_TRY(eg_arena_alloc(arena, channel->ranks, sizeof *channel->notes, &channel->notes));
  for (size_t i = 0; i < n; i++)
    channel->receives[i] = channel->sends[i] = MPI_REQUEST_NULL;
  for (uint32_t r = 0; r < channel->ranks; r++)
    channel->notes[r] = MPI_REQUEST_NULL;
  return EGRAPH_OK;
}

static egraph_status mpi_create(const egraph_allocator *alloc, const eg_mesh *mesh,
                                const eg_channel_options *options, eg_channel **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  mpi_channel *channel;
  EG_TRY(eg_channel_options_check(options));
  EG_TRY(eg_alloc(own, 1, sizeof *channel, &channel));
  channel->base = (eg_channel){.vtable = &mpi_vtable,
                               .alloc = own,
                               .mesh = *mesh,
                               .deadline_seconds = options->deadline_seconds};
  eg_arena_init(&channel->arena, own);
  egraph_status status;
  EG_TRY_GOTO(status, alloc_memory(channel), failed);
  EG_TRY_GOTO(status, start_mpi(channel), failed);
  EG_TRY_GOTO(status, check_world(channel), failed);
  EG_TRY_GOTO(status, open_comm(channel), failed);
  *out = &channel->base;
  return EGRAPH_OK;
failed:
  if (status == EGRAPH_E_CANCELLED)
    channel->failed = status; // MPI_Finalize would wait for the other ranks
  mpi_destroy(&channel->base);
  return status;
}

// Does not check MPI: a channel does that when it starts MPI.
static egraph_status plugin_open(const eg_plugin_host *host) {
  eg_plugin_host_set(host);
  return EGRAPH_OK;
}

extern __attribute__((visibility("default"))) const eg_plugin_entry eg_mpi_plugin;
const eg_plugin_entry eg_mpi_plugin = {
    .abi = EG_PLUGIN_ABI, .open = plugin_open, .channel = mpi_create};
