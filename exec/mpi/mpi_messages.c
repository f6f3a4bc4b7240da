// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // nanosleep
#include "exec/mpi/mpi_messages.h"

#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "base/clock.h"
#include "exec/combine.h"

enum { TAG_DATA = 1, TAG_END = 2 };

// ---- failures ---------------------------------------------------------------------

egraph_status eg_mpi_check(int code, const char *what) {
  if (code == MPI_SUCCESS) return EGRAPH_OK;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  (void)MPI_Error_string(code, text, &length);
  return EG_FAIL(EGRAPH_E_IO, "MPI, %s: %s", what, text);
}

static egraph_status fail_again(const eg_mpi_channel *channel) {
  return EG_FAIL(channel->failed, "%s", channel->message);
}

static void remember(eg_mpi_channel *channel, egraph_status status, const char *message) {
  channel->failed = status;
  snprintf(channel->message, sizeof channel->message, "%s", message);
}

// The note is short, so MPI takes it whether the receiver looks or not.
egraph_status eg_mpi_fail_all(eg_mpi_channel *channel, egraph_status status,
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

egraph_status eg_mpi_look_for_end(eg_mpi_channel *channel) {
  if (channel->failed != EGRAPH_OK) return fail_again(channel);
  int is_there = 0;
  MPI_Status from;
  EG_TRY(eg_mpi_check(
      MPI_Iprobe(MPI_ANY_SOURCE, TAG_END, channel->comm, &is_there, &from), "probe"));
  if (!is_there) return EGRAPH_OK;
  eg_mpi_note heard = {0};
  EG_TRY(eg_mpi_check(MPI_Recv(&heard, (int)sizeof heard, MPI_BYTE, from.MPI_SOURCE,
                               TAG_END, channel->comm, MPI_STATUS_IGNORE),
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

static egraph_status fail_missed(eg_mpi_channel *channel, const eg_group *group,
                                 const eg_collective *what) {
  uint32_t missing = group->place;
  for (uint32_t p = group->size; p-- > 0;)
    if (is_pending(channel->receives[p]) || is_pending(channel->sends[p])) missing = p;
  egraph_status status =
      eg_collective_missed(&channel->base, eg_group_rank(group, missing), what);
  return eg_mpi_fail_all(channel, status, egraph_last_error());
}

static size_t part_of(size_t bytes, size_t at) {
  size_t rest = bytes > at ? bytes - at : 0;
  return rest < EG_MPI_CHUNK ? rest : EG_MPI_CHUNK;
}

static egraph_status post(eg_mpi_channel *channel, const eg_group *group,
                          const eg_collective *what, size_t at) {
  for (uint32_t p = 0; p < group->size; p++) {
    const eg_mpi_span *s = &channel->spans[p];
    int rank = (int)eg_group_rank(group, p);
    channel->receives[p] = channel->sends[p] = MPI_REQUEST_NULL;
    if (!s->is_peer) continue;
    eg_mpi_slot *out = &channel->outgoing[p];
    size_t bytes = part_of(s->send_bytes, at);
    out->what = *what;
    if (bytes != 0) memcpy(out->data, s->send + at, bytes);
    EG_TRY(
        eg_mpi_check(MPI_Irecv(&channel->incoming[p], (int)sizeof(eg_mpi_slot), MPI_BYTE,
                               rank, TAG_DATA, channel->comm, &channel->receives[p]),
                     "receive"));
    EG_TRY(
        eg_mpi_check(MPI_Isend(out, (int)(offsetof(eg_mpi_slot, data) + bytes), MPI_BYTE,
                               rank, TAG_DATA, channel->comm, &channel->sends[p]),
                     "send"));
  }
  return EGRAPH_OK;
}

// Who is late may be so because this process keeps its processor busy.
static void pause_after(uint32_t polls) {
  enum { IMPATIENT_POLLS = 2000 };
  if (polls < IMPATIENT_POLLS)
    (void)sched_yield();
  else
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static egraph_status wait_for_all(eg_mpi_channel *channel, const eg_group *group,
                                  const eg_collective *what) {
  double until = eg_clock_seconds() + channel->base.deadline_seconds;
  for (uint32_t polls = 0;; polls += polls < UINT32_MAX) {
    int received = 0, sent = 0;
    EG_TRY(eg_mpi_check(
        MPI_Testall((int)group->size, channel->receives, &received, MPI_STATUSES_IGNORE),
        "receive"));
    EG_TRY(eg_mpi_check(
        MPI_Testall((int)group->size, channel->sends, &sent, MPI_STATUSES_IGNORE),
        "send"));
    if (received && sent) return EGRAPH_OK;
    EG_TRY(eg_mpi_look_for_end(channel));
    if (eg_clock_seconds() > until) return fail_missed(channel, group, what);
    pause_after(polls);
  }
}

static egraph_status check_posted(eg_mpi_channel *channel, const eg_group *group,
                                  const eg_collective *what) {
  for (uint32_t p = 0; p < group->size; p++)
    if (channel->spans[p].is_peer &&
        !eg_collective_matches(&channel->incoming[p].what, what)) {
      egraph_status status =
          eg_collective_mismatch(&channel->base, eg_group_rank(group, p),
                                 &channel->incoming[p].what, channel->base.rank, what);
      return eg_mpi_fail_all(channel, status, egraph_last_error());
    }
  return EGRAPH_OK;
}

static void store(eg_mpi_channel *channel, const eg_group *group, size_t at) {
  for (uint32_t p = 0; p < group->size; p++) {
    const eg_mpi_span *s = &channel->spans[p];
    size_t bytes = s->recv == NULL ? 0 : part_of(s->recv_bytes, at);
    if (s->is_peer && bytes != 0) memcpy(s->recv + at, channel->incoming[p].data, bytes);
  }
}

/// Own elements are taken from `own`.
static void combine(eg_mpi_channel *channel, const eg_group *group,
                    const eg_collective *what, const char *own, char *out, size_t at,
                    size_t bytes) {
  for (uint32_t p = 0; p < group->size; p++)
    channel->parts[p] =
        p == group->place ? own + at : (const char *)channel->incoming[p].data;
  eg_combine(what->dtype, what->combining, channel->parts, group->size,
             bytes / eg_dtype_bytes(what->dtype), out + at);
}

egraph_status eg_mpi_exchange(eg_mpi_channel *channel, const eg_group *group,
                              const eg_collective *what, char *out) {
  const eg_mpi_span *own = &channel->spans[group->place];
  size_t most = 0, at = 0;
  for (uint32_t p = 0; p < group->size; p++) {
    const eg_mpi_span *s = &channel->spans[p];
    if (s->is_peer && s->send_bytes > most) most = s->send_bytes;
    if (s->is_peer && s->recv_bytes > most) most = s->recv_bytes;
  }
  do {
    EG_TRY(post(channel, group, what, at));
    EG_TRY(wait_for_all(channel, group, what));
    EG_TRY(check_posted(channel, group, what));
    store(channel, group, at);
    size_t bytes = part_of(own->send_bytes, at);
    if (out != NULL && bytes != 0)
      combine(channel, group, what, own->send, out, at, bytes);
    at += EG_MPI_CHUNK;
  } while (at < most);
  return EGRAPH_OK;
}
