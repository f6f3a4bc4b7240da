// SPDX-License-Identifier: Apache-2.0
#include "exec/channel.h"

#include <assert.h>
#include <string.h>

const char *eg_collective_name(eg_collective_kind kind) {
#define NAME(id, name) name,
  static const char *const names[] = {EG_COLLECTIVE_LIST(NAME)};
#undef NAME
  return names[kind];
}

egraph_status eg_channel_options_check(const eg_channel_options *options) {
  double seconds = options->deadline_seconds;
  if (seconds > 0 && seconds <= 1e6) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "a deadline of %g s; ranks are waited for more than 0 s and at most "
                 "1000000 s",
                 seconds);
}

void eg_channel_destroy(eg_channel *channel) {
  if (channel != NULL) channel->vtable->destroy(channel);
}

// ---- groups -----------------------------------------------------------------------

eg_group eg_group_of(const eg_channel *channel, const eg_collective *what) {
  const eg_mesh *mesh = &channel->mesh;
  if (what->kind == EG_COLLECTIVE_BARRIER)
    return (eg_group){.stride = 1, .size = eg_mesh_devices(mesh), .place = channel->rank};
  uint32_t stride = eg_mesh_stride(mesh, what->axis);
  uint32_t place = eg_mesh_coordinate(mesh, channel->rank, what->axis);
  return (eg_group){.first = channel->rank - place * stride,
                    .stride = stride,
                    .size = mesh->axes[what->axis].size,
                    .place = place};
}

// ---- what can go wrong ------------------------------------------------------------

bool eg_collective_matches(const eg_collective *a, const eg_collective *b) {
  return a->kind == b->kind && a->combining == b->combining && a->axis == b->axis &&
         a->dtype == b->dtype && a->count == b->count && a->count_back == b->count_back;
}

enum { WORDS_BYTES = 120 };

// "all-gather of 3 float32 along 'gpu'"
static void describe(const eg_channel *channel, const eg_collective *what,
                     char out[WORDS_BYTES]) {
  const char *name = eg_collective_name(what->kind);
  if (what->kind == EG_COLLECTIVE_BARRIER)
    snprintf(out, WORDS_BYTES, "%s", name);
  else
    snprintf(out, WORDS_BYTES, "%s of %zu %s along '%s'", name,
             what->count + what->count_back, eg_dtype_name(what->dtype),
             channel->mesh.axes[what->axis].name);
}

egraph_status eg_collective_mismatch(const eg_channel *channel, uint32_t rank,
                                     const eg_collective *a, uint32_t other,
                                     const eg_collective *b) {
  char first[WORDS_BYTES], second[WORDS_BYTES];
  describe(channel, a, first);
  describe(channel, b, second);
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "rank %u begins %s, rank %u %s: all ranks must run the same program",
                 rank, first, other, second);
}

egraph_status eg_collective_missed(const eg_channel *channel, uint32_t rank,
                                   const eg_collective *what) {
  char words[WORDS_BYTES];
  describe(channel, what, words);
  return EG_FAIL(EGRAPH_E_CANCELLED,
                 "rank %u did not come to %s within %g s: it has ended or hangs; or give "
                 "it a longer deadline",
                 rank, words, channel->deadline_seconds);
}

static bool is_reduction(eg_collective_kind kind) {
  return kind == EG_COLLECTIVE_REDUCE_SCATTER || kind == EG_COLLECTIVE_ALL_REDUCE;
}

static egraph_status check(const eg_channel *channel, const eg_collective *what) {
  if (what->kind == EG_COLLECTIVE_BARRIER) return EGRAPH_OK;
  if (what->axis >= channel->mesh.axis_count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s along axis %u of a mesh with %u",
                   eg_collective_name(what->kind), what->axis, channel->mesh.axis_count);
  if (is_reduction(what->kind) && what->dtype == EGRAPH_BOOL)
    return EG_FAIL(EGRAPH_E_TYPE, "%s of bool: only numbers are combined",
                   eg_collective_name(what->kind));
  return EGRAPH_OK;
}

// ---- runs -------------------------------------------------------------------------

/// Alone along the axis: what is sent arrives, but for neighbours, who are not there.
static void run_alone(const eg_collective *what) {
  size_t bytes = what->count * eg_dtype_bytes(what->dtype);
  if (what->kind == EG_COLLECTIVE_BARRIER || what->kind == EG_COLLECTIVE_NEIGHBOURS)
    return;
  if (bytes != 0 && what->recv != what->send) memcpy(what->recv, what->send, bytes);
}

egraph_status eg_channel_run(eg_channel *channel, const eg_collective *what) {
  EG_TRY(check(channel, what));
  if (channel->backend != NULL || eg_group_of(channel, what).size > 1)
    return channel->vtable->run(channel, what);
  run_alone(what);
  return EGRAPH_OK;
}

void eg_channel_settle(eg_channel *channel) {
  if (channel->vtable->settle != NULL) channel->vtable->settle(channel);
}

egraph_status eg_channel_barrier(eg_channel *channel) {
  return eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_BARRIER});
}

egraph_status eg_channel_abort(eg_channel *channel, egraph_status status) {
  assert(status != EGRAPH_OK);
  char message[EG_MESSAGE_BYTES];
  snprintf(message, sizeof message, "%s", egraph_last_error());
  channel->vtable->end(channel, status, message);
  return EG_FAIL(status, "%s", message);
}
