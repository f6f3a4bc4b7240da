// A collective has two parts: the ranks meet over the control, then they work:
//
//   meet     all-gather of the collectives that the ranks begin, along the same axis
//   start    the transport puts its part on the queue of the device
//   finish   polls the transport, the control and the clock
//
// After the meeting, each rank notices failures by itself (its transport fails, or the
// deadline passes) or hears of them over the control, and gives up the collective that it
// has begun.
// SPDX-License-Identifier: Apache-2.0
#include "exec/device_channel.h"

#include <assert.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"

/// A collective as ranks send it to each other, to compare what they begin.
typedef struct wish {
  int32_t kind, combining, dtype;
  uint32_t axis;
  uint64_t count, count_back;
} wish;

typedef struct device_channel {
  eg_channel base;
  eg_channel *control;
  eg_transport *transport; // NULL: through host memory
  wish *wishes;            // [places]
  unsigned char *ids;      // [places][EG_TRANSPORT_ID_BYTES]
  eg_arena arena;          // memory of wishes and ids
  char *host; // data of a collective that goes through host memory; the buffer grows when
              // needed
  size_t host_bytes;
  egraph_status failed;
  char message[EG_MESSAGE_BYTES];
} device_channel;

// ---- failures ---------------------------------------------------------------------

static egraph_status fail_again(const device_channel *channel) {
  assert(channel->failed != EGRAPH_OK);
  return EG_FAIL(channel->failed, "%s", channel->message);
}

/// Ends the channel for this and all other ranks; the first failure stays.
static egraph_status fail_all(device_channel *channel, egraph_status status) {
  assert(status != EGRAPH_OK);
  if (channel->failed == EGRAPH_OK) {
    channel->failed = status;
    snprintf(channel->message, sizeof channel->message, "%s", egraph_last_error());
    if (channel->transport != NULL)
      channel->transport->vtable->give_up(channel->transport);
    channel->control->vtable->end(channel->control, status, channel->message);
  }
  return fail_again(channel);
}

static void device_end(eg_channel *base, egraph_status status, const char *message) {
  device_channel *channel = (device_channel *)base;
  (void)EG_FAIL(status, "%s", message);
  (void)fail_all(channel, status);
}

static egraph_status device_look(eg_channel *base) {
  device_channel *channel = (device_channel *)base;
  if (channel->failed != EGRAPH_OK) return fail_again(channel);
  return channel->control->vtable->look(channel->control);
}

// ---- meetings ---------------------------------------------------------------------

static egraph_status gather_bytes(device_channel *channel, uint32_t axis,
                                  const void *send, size_t bytes, void *recv) {
  return eg_channel_run(channel->control,
                        &(eg_collective){.kind = EG_COLLECTIVE_ALL_GATHER,
                                         .axis = axis,
                                         .dtype = EGRAPH_UINT8,
                                         .count = bytes,
                                         .send = send,
                                         .recv = recv});
}

static eg_collective collective_of(const wish *w) {
  return (eg_collective){.kind = (eg_collective_kind)w->kind,
                         .combining = (eg_combining)w->combining,
                         .axis = w->axis,
                         .dtype = (egraph_dtype)w->dtype,
                         .count = (size_t)w->count,
                         .count_back = (size_t)w->count_back};
}

static egraph_status agree_on_collective(device_channel *channel, const eg_group *group,
                                         const eg_collective *what) {
  wish own;
  memset(&own, 0, sizeof own);
  own = (wish){.kind = (int32_t)what->kind,
               .combining = (int32_t)what->combining,
               .dtype = (int32_t)what->dtype,
               .axis = what->axis,
               .count = what->count,
               .count_back = what->count_back};
  EG_TRY(gather_bytes(channel, what->axis, &own, sizeof own, channel->wishes));
  eg_collective first = collective_of(&channel->wishes[0]);
  for (uint32_t p = 1; p < group->size; p++) {
    eg_collective other = collective_of(&channel->wishes[p]);
    if (!eg_collective_matches(&first, &other))
      return eg_collective_mismatch(&channel->base, eg_group_rank(group, p), &other,
                                    eg_group_rank(group, 0), &first);
  }
  return EGRAPH_OK;
}

/// Waits until the collective, or joining, that began along an axis is done; fails after
/// a failure or the deadline.
static egraph_status wait_until_done(device_channel *channel, uint32_t axis,
                                     const char *what) {
  eg_transport *transport = channel->transport;
  double until = eg_clock_seconds() + channel->base.deadline_seconds;
  for (bool is_done = false;;) {
    EG_TRY(transport->vtable->poll(transport, axis, &is_done));
    if (is_done) return EGRAPH_OK;
    EG_TRY(channel->control->vtable->look(channel->control));
    if (eg_clock_seconds() > until)
      return EG_FAIL(EGRAPH_E_CANCELLED,
                     "rank %u: all ranks along '%s' have begun %s, but it was not done "
                     "within %g s: a rank has ended or its device hangs; or give it a "
                     "longer deadline",
                     channel->base.rank, channel->base.mesh.axes[axis].name, what,
                     channel->base.deadline_seconds);
    (void)sched_yield();
  }
}

// ---- work -------------------------------------------------------------------------

/// Counts the elements that a collective reads and writes.
static void count_elements(const eg_group *group, const eg_collective *what,
                           size_t *out_send, size_t *out_recv) {
  bool sends_parts = what->kind == EG_COLLECTIVE_REDUCE_SCATTER ||
                     what->kind == EG_COLLECTIVE_ALL_TO_ALL;
  bool takes_parts =
      what->kind == EG_COLLECTIVE_ALL_GATHER || what->kind == EG_COLLECTIVE_ALL_TO_ALL;
  *out_send = what->count * (sends_parts ? group->size : 1) + what->count_back;
  *out_recv = what->count * (takes_parts ? group->size : 1) + what->count_back;
}

static egraph_status need_host(device_channel *channel, size_t bytes) {
  egraph_allocator alloc = channel->base.alloc;
  if (bytes <= channel->host_bytes) return EGRAPH_OK;
  eg_free(alloc, channel->host, channel->host_bytes, 1);
  channel->host_bytes = 0;
  channel->host = NULL;
  EG_TRY(eg_alloc(alloc, bytes, 1, &channel->host));
  channel->host_bytes = bytes;
  return EGRAPH_OK;
}

static egraph_status run_through_host(device_channel *channel, const eg_group *group,
                                      const eg_collective *what) {
  size_t element = eg_dtype_bytes(what->dtype), send, recv;
  eg_backend *backend = channel->base.backend;
  count_elements(group, what, &send, &recv);
  EG_TRY(need_host(channel, (send + recv) * element));
  char *sent = channel->host, *received = sent + send * element;
  EG_TRY(eg_backend_download(backend, sent, what->send, send * element));
  if (what->kind ==
      EG_COLLECTIVE_NEIGHBOURS) // recv keeps its content where no neighbour sends
    EG_TRY(eg_backend_download(backend, received, what->recv, recv * element));
  eg_collective on_host = *what;
  on_host.send = sent;
  on_host.recv = received;
  on_host.lends = false; // the next collective uses the same host memory
  EG_TRY(eg_channel_run(channel->control, &on_host));
  return eg_backend_upload(backend, what->recv, received, recv * element);
}

static egraph_status run_on_device(device_channel *channel, const eg_group *group,
                                   const eg_collective *what) {
  assert(channel->transport != NULL);
  eg_device_queue queue; // the queue first gets the runs noted so far
  EG_TRY(agree_on_collective(channel, group, what));
  if (what->count + what->count_back == 0) return EGRAPH_OK;
  EG_TRY(channel->base.backend->vtable->queue(channel->base.backend, &queue));
  EG_TRY(channel->transport->vtable->start(channel->transport, group, what));
  return wait_until_done(channel, what->axis, eg_collective_name(what->kind));
}

/// Runs a collective in a group of one rank: it receives what it sends and has
/// no neighbours.
static egraph_status run_alone(device_channel *channel, const eg_collective *what) {
  size_t bytes = what->count * eg_dtype_bytes(what->dtype);
  if (what->kind == EG_COLLECTIVE_NEIGHBOURS || what->recv == what->send)
    return EGRAPH_OK;
  return eg_backend_copy_rows(channel->base.backend, what->recv, bytes, what->send, bytes,
                              bytes, 1);
}

static egraph_status dispatch_collective(device_channel *channel,
                                         const eg_collective *what) {
  const eg_transport *transport = channel->transport;
  eg_group group = eg_group_of(&channel->base, what);
  if (what->kind == EG_COLLECTIVE_BARRIER) return eg_channel_barrier(channel->control);
  if (group.size == 1) return run_alone(channel, what);
  if (transport != NULL && transport->vtable->carries(what))
    return run_on_device(channel, &group, what);
  return run_through_host(channel, &group, what);
}

static egraph_status device_run(eg_channel *base, const eg_collective *what) {
  device_channel *channel = (device_channel *)base;
  if (channel->failed != EGRAPH_OK) return fail_again(channel);
  egraph_status status = dispatch_collective(channel, what);
  return status == EGRAPH_OK ? status : fail_all(channel, status);
}

// ---- life -------------------------------------------------------------------------

// Destroys the channel; its transport only when all ranks have finished using theirs.
static void device_destroy(eg_channel *base) {
  device_channel *channel = (device_channel *)base;
  egraph_allocator alloc = base->alloc;
  if (channel->transport != NULL) {
    if (channel->failed == EGRAPH_OK) (void)eg_channel_barrier(channel->control);
    channel->transport->vtable->destroy(channel->transport);
  }
  eg_arena_deinit(&channel->arena);
  eg_free(alloc, channel->host, channel->host_bytes, 1);
  eg_free(alloc, channel, 1, sizeof *channel);
}

static const eg_channel_vtable device_vtable = {.name = "device",
                                                .destroy = device_destroy,
                                                .run = device_run,
                                                .end = device_end,
                                                .look = device_look};
// Reductions combine in the order of the control channel, which is the group's order.
static const eg_channel_vtable staged_vtable = {.name = "device through host memory",
                                                .is_ordered = true,
                                                .destroy = device_destroy,
                                                .run = device_run,
                                                .end = device_end,
                                                .look = device_look};

/// Joins the groups of ranks along all axes. A group's first member makes the id and
/// sends it over the control (the host-memory channel).
static egraph_status join_groups(device_channel *channel) {
  eg_transport *transport = channel->transport;
  const eg_mesh *mesh = &channel->base.mesh;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    unsigned char own[EG_TRANSPORT_ID_BYTES] = {0};
    eg_group group = eg_group_of(&channel->base, &(eg_collective){.axis = a});
    if (group.size == 1) continue;
    if (group.place == 0) EG_TRY(transport->vtable->make_id(transport, own));
    EG_TRY(gather_bytes(channel, a, own, sizeof own, channel->ids));
    EG_TRY(transport->vtable->join(transport, a, &group, channel->ids));
    EG_TRY(wait_until_done(channel, a, "to join their group"));
  }
  return EGRAPH_OK;
}

static egraph_status open_transport(device_channel *channel, const char *name) {
  const eg_transport_vtable *vtable;
  eg_backend *backend = channel->base.backend;
  eg_device_queue queue;
  if (name == NULL) return EGRAPH_OK;
  EG_TRY(eg_transport_find(name, &vtable));
  if (backend->vtable->queue == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "transport '%s' works on devices, back-end '%s' has none", name,
                   backend->vtable->name);
  EG_TRY(backend->vtable->queue(backend, &queue));
  EG_TRY(vtable->create(channel->base.alloc, &queue, &channel->transport));
  return join_groups(channel);
}

static egraph_status open_channel(device_channel *channel, const char *transport) {
  const eg_mesh *mesh = &channel->base.mesh;
  uint32_t places = 1; // ranks of the largest group
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (mesh->axes[a].size > places) places = mesh->axes[a].size;
  eg_arena *arena = &channel->arena;
  EG_TRY(eg_arena_alloc(arena, places, sizeof *channel->wishes, &channel->wishes));
  EG_TRY(eg_arena_alloc(arena, places, EG_TRANSPORT_ID_BYTES, &channel->ids));
  return open_transport(channel, transport);
}

egraph_status eg_device_channel_create(const egraph_allocator *alloc, eg_channel *control,
                                       eg_backend *backend, const char *transport,
                                       eg_channel **out) {
  assert(control != NULL && backend != NULL);
  egraph_allocator own = eg_allocator_or_heap(alloc);
  device_channel *channel;
  egraph_status status = eg_alloc(own, 1, sizeof *channel, &channel);
  if (status != EGRAPH_OK) return eg_channel_abort(control, status);
  *channel = (device_channel){
      .base = {.vtable = transport == NULL ? &staged_vtable : &device_vtable,
               .alloc = own,
               .mesh = control->mesh,
               .rank = control->rank,
               .deadline_seconds = control->deadline_seconds,
               .backend = backend},
      .control = control};
  eg_arena_init(&channel->arena, own);
  status = open_channel(channel, transport);
  if (status != EGRAPH_OK) {
    status = fail_all(channel, status);
    device_destroy(&channel->base);
    return EG_FAIL(status, "%s", egraph_last_error());
  }
  *out = &channel->base;
  return EGRAPH_OK;
}
