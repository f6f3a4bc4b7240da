// A collective is a meeting of the ranks of its group, the members:
//
//   begin       everyone posts its collective; waits for the others until the deadline
//   work        everyone reads the others' buffers and writes its own
//   leave       everyone reports that it has read; a lender goes on, the others wait
//               until all have left; all members leave, so there is no deadline
//
// A missed deadline or an abort only ends waits for a meeting to begin. After the
// beginning all members only copy memory, so all of them leave, whatever fails. The first
// thread that changes the value of the gate decides whether a meeting begins or fails.
//
// A rank may overwrite memory that it lent in meeting k once all have left k. Either the
// rank waits for that (settle), or meeting k + 1 has begun, which all members join after
// k. Before that, other members also read the collective that the rank posted for k.
// Therefore a member has two entries for posts, used in turn: it posts for k + 2 when k +
// 1 has begun, so that all have left k.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "exec/local/local_channel.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/parallel.h"
#include "exec/channel.h"
#include "exec/gate.h"

/// The value of a meeting's gate: TURN times the number of meetings that have begun, plus
/// FAILED when the channel has failed.
enum { FAILED = 1, TURN = 2 };

/// The state of a member (rank) of a meeting, in which ranks run a collective.
typedef struct member {
  atomic_uint posted; // number of collectives that it has posted
  uint32_t begun; // number of its collectives that have begun; only the member reads it
  eg_collective wishes[2]; // collective number k is at k % 2
} member;

typedef struct meeting {
  eg_gate turned; // moves when all members have arrived
  eg_gate left;   // number of meetings that all have left
  atomic_uint arrived, leaving;
  uint32_t size;
  member *members; // [size]
} meeting;

typedef struct local_channel {
  eg_channel base;
  eg_local_hub *hub;
  eg_spin spin;
  bool lends;         // it has lent memory since it last settled
  const void **parts; // [ranks]: the data to combine
} local_channel;

struct eg_local_hub {
  egraph_allocator alloc;
  eg_arena arena; // memory of all arrays
  uint32_t ranks, meeting_count;
  local_channel *channels; // [ranks]
  meeting *meetings;       // [meeting_count], axis by axis, the last one for all ranks
  member *members;         // [ranks * (axes + 1)]
  const void **parts;      // [ranks * ranks]
  pthread_mutex_t failing; // `failed`, `message` and FAILED at all gates change together
  _Atomic egraph_status failed;
  char message[EG_MESSAGE_BYTES];
};

// ---- failures ---------------------------------------------------------------------

/// Fails with the channel's error. A thread that sees the failure may be ahead of the
/// thread that writes its message, so it first takes the lock.
static egraph_status fail_again(eg_local_hub *hub) {
  assert(hub != NULL);
  (void)pthread_mutex_lock(&hub->failing);
  (void)pthread_mutex_unlock(&hub->failing);
  return EG_FAIL(hub->failed, "%s", hub->message);
}

/// Ends the channel of all ranks; the caller holds the lock. The first failure stays.
static void end_hub(eg_local_hub *hub, egraph_status status, const char *message) {
  if (hub->failed != EGRAPH_OK) return;
  snprintf(hub->message, sizeof hub->message, "%s", message);
  hub->failed = status;
  for (uint32_t i = 0; i < hub->meeting_count; i++) {
    atomic_fetch_or(&hub->meetings[i].turned.value, FAILED);
    eg_gate_wake(&hub->meetings[i].turned, hub->ranks);
  }
}

static egraph_status fail_hub(eg_local_hub *hub, egraph_status status,
                              const char *message) {
  (void)pthread_mutex_lock(&hub->failing);
  end_hub(hub, status, message);
  (void)pthread_mutex_unlock(&hub->failing);
  return EG_FAIL(hub->failed, "%s", hub->message);
}

static void local_end(eg_channel *base, egraph_status status, const char *message) {
  char line[EG_MESSAGE_BYTES];
  snprintf(line, sizeof line, "rank %u failed: %.*s", base->rank, EG_MESSAGE_BYTES - 32,
           message);
  (void)fail_hub(((local_channel *)base)->hub, status, line);
}

static egraph_status local_look(eg_channel *base) {
  eg_local_hub *hub = ((local_channel *)base)->hub;
  return hub->failed != EGRAPH_OK ? fail_again(hub) : EGRAPH_OK;
}

// ---- meetings ---------------------------------------------------------------------

static meeting *meeting_of(eg_local_hub *hub, const eg_channel *channel,
                           const eg_collective *what, const eg_group *group) {
  if (what->kind == EG_COLLECTIVE_BARRIER) return &hub->meetings[hub->meeting_count - 1];
  uint32_t before = 0;
  for (uint32_t a = 0; a < what->axis; a++)
    before += hub->ranks / channel->mesh.axes[a].size;
  // Groups along an axis are counted by their first ranks.
  uint32_t slower = group->first / (group->stride * group->size);
  return &hub->meetings[before + slower * group->stride + group->first % group->stride];
}

static struct timespec time_after(double seconds) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  double whole = (double)(int64_t)seconds;
  now.tv_sec += (time_t)whole;
  now.tv_nsec += (long)((seconds - whole) * 1e9);
  if (now.tv_nsec >= 1000000000) {
    now.tv_nsec -= 1000000000;
    now.tv_sec++;
  }
  return now;
}

/// True when all members of a meeting have arrived since its gate had value `seen`.
static bool has_turned(uint32_t value, uint32_t seen) {
  return value / TURN != seen / TURN;
}

/// True for the member that arrives last at the meeting of a collective.
static bool is_last(meeting *m) {
  assert(m->size != 0);
  if (atomic_fetch_add(&m->arrived, 1) + 1 < m->size) return false;
  m->arrived = 0;
  return true;
}

/// Returns the first member of the group that has posted fewer collectives than this one.
static uint32_t first_missing(const meeting *m, uint32_t posted) {
  uint32_t place = 0;
  while (place + 1 < m->size && m->members[place].posted == posted)
    place++;
  return place;
}

/// Ends the channel at the deadline, unless all members have just arrived. Returns the
/// value of the meeting's gate.
static uint32_t give_up(local_channel *channel, meeting *m, uint32_t seen,
                        const eg_group *group, const eg_collective *what) {
  eg_local_hub *hub = channel->hub;
  uint32_t value = seen;
  (void)pthread_mutex_lock(&hub->failing);
  uint32_t posted = m->members[group->place].posted;
  uint32_t missing = eg_group_rank(group, first_missing(m, posted));
  if (atomic_compare_exchange_strong(&m->turned.value, &value, seen | FAILED)) {
    egraph_status status = eg_collective_missed(&channel->base, missing, what);
    end_hub(hub, status, egraph_last_error());
  }
  (void)pthread_mutex_unlock(&hub->failing);
  return value;
}

static egraph_status arrive(local_channel *channel, meeting *m, const eg_group *group,
                            const eg_collective *what) {
  assert(group->place < m->size);
  eg_local_hub *hub = channel->hub;
  struct timespec until = time_after(channel->base.deadline_seconds);
  uint32_t seen = m->turned.value, value = seen;
  if ((seen & FAILED) != 0) return fail_again(hub);
  member *self = &m->members[group->place];
  self->wishes[(self->begun + 1) % 2] = *what;
  self->posted = self->begun + 1;
  if (is_last(m)) {
    if (!atomic_compare_exchange_strong(&m->turned.value, &value, seen + TURN))
      return fail_again(hub);
    eg_gate_wake(&m->turned, m->size);
    return EGRAPH_OK;
  }
  value = eg_gate_wait_until(&m->turned, seen, &channel->spin, &until);
  if (value == seen) value = give_up(channel, m, seen, group, what);
  return has_turned(value, seen) ? EGRAPH_OK : fail_again(hub);
}

/// Waits for all members of the group; once a meeting has begun, every member comes.
static void join_meeting(local_channel *channel, meeting *m) {
  uint32_t seen = m->turned.value;
  if (is_last(m)) {
    atomic_fetch_add(&m->turned.value, TURN);
    eg_gate_wake(&m->turned, m->size);
    return;
  }
  for (uint32_t value = seen; !has_turned(value, seen);)
    value = eg_gate_wait_until(&m->turned, value, &channel->spin, NULL);
}

static void leave(meeting *m) {
  if (atomic_fetch_add(&m->leaving, 1) + 1 < m->size) return;
  m->leaving =
      0; // safe: no member leaves the next meeting before this member has begun it
  atomic_fetch_add(&m->left.value, 1);
  eg_gate_wake(&m->left, m->size);
}

/// Waits until all members have left the last collective that this member has begun. All
/// have already left the collective before it.
static void wait_until_left(local_channel *channel, meeting *m, uint32_t place) {
  assert(place < m->size);
  uint32_t begun = m->members[place].begun;
  for (uint32_t left = m->left.value; left != begun;)
    left = eg_gate_wait_until(&m->left, left, &channel->spin, NULL);
}

static void local_settle(eg_channel *base) {
  local_channel *channel = (local_channel *)base;
  eg_collective along = {.kind = EG_COLLECTIVE_ALL_GATHER};
  for (; channel->lends && along.axis < base->mesh.axis_count; along.axis++) {
    eg_group group = eg_group_of(base, &along);
    wait_until_left(channel, meeting_of(channel->hub, base, &along, &group), group.place);
  }
  channel->lends = false;
}

// ---- work -------------------------------------------------------------------------

typedef struct work {
  local_channel *channel;
  meeting *m;
  const eg_collective *what;
  uint32_t place, begun; // place in the group; number of the meeting
  size_t bytes;          // bytes of an element
} work;

static const eg_collective *wish_of(const meeting *m, uint32_t place, uint32_t begun) {
  return &m->members[place].wishes[begun % 2];
}

static const char *sent(const work *w, uint32_t place, size_t element) {
  assert(place < w->m->size);
  return (const char *)wish_of(w->m, place, w->begun)->send + element * w->bytes;
}

static char *received(const work *w, uint32_t place, size_t element) {
  return (char *)wish_of(w->m, place, w->begun)->recv + element * w->bytes;
}

static void copy_received(const work *w, size_t to, const char *from, size_t count) {
  if (count != 0) memcpy(received(w, w->place, to), from, count * w->bytes);
}

static void gather_elements(const work *w) {
  for (uint32_t p = 0; p < w->m->size; p++)
    copy_received(w, p * w->what->count, sent(w, p, 0), w->what->count);
}

static void transpose(const work *w) {
  size_t count = w->what->count;
  for (uint32_t p = 0; p < w->m->size; p++)
    copy_received(w, p * count, sent(w, p, w->place * count), count);
}

/// Combines the elements of all members' buffers from element `from` on.
static void combine_elements(const work *w, size_t from, size_t count, void *out) {
  const void **parts = w->channel->parts;
  for (uint32_t p = 0; p < w->m->size; p++)
    parts[p] = sent(w, p, from);
  eg_combine(w->what->dtype, w->what->combining, parts, w->m->size, count, out);
}

static void reduce_part(const work *w) {
  if (w->what->count != 0)
    combine_elements(w, w->place * w->what->count, w->what->count, w->what->recv);
}

/// Runs an all-reduce: each member combines a part of the elements, and all copy the
/// parts from each other. In place, no member overwrites memory that another still reads:
/// until all parts are combined, only one member reads a part of a buffer.
static void reduce_all(const work *w) {
  uint32_t n = w->m->size;
  size_t part = (w->what->count + n - 1) / n;
  for (uint32_t turn = 0; turn < 2; turn++) {
    for (uint32_t p = 0; p < n; p++) {
      size_t from = p * part < w->what->count ? p * part : w->what->count;
      size_t count = w->what->count - from < part ? w->what->count - from : part;
      if (turn == 0 && p == w->place && count != 0)
        combine_elements(w, from, count, received(w, p, from));
      if (turn == 1 && p != w->place) copy_received(w, from, received(w, p, from), count);
    }
    if (turn == 0) join_meeting(w->channel, w->m);
  }
}

static void exchange(const work *w) {
  size_t first = w->what->count;
  if (w->place != 0) copy_received(w, 0, sent(w, w->place - 1, 0), first);
  if (w->place + 1 != w->m->size)
    copy_received(w, first, sent(w, w->place + 1, first), w->what->count_back);
}

static void (*const works[EG_COLLECTIVE_KINDS])(const work *) = {
    [EG_COLLECTIVE_ALL_GATHER] = gather_elements,
    [EG_COLLECTIVE_REDUCE_SCATTER] = reduce_part,
    [EG_COLLECTIVE_ALL_REDUCE] = reduce_all,
    [EG_COLLECTIVE_ALL_TO_ALL] = transpose,
    [EG_COLLECTIVE_NEIGHBOURS] = exchange,
    // NULL: a barrier has no work
};

/// Checks that all members begin the same collective; so all of them work or none.
static egraph_status check_wishes(const local_channel *channel, const meeting *m,
                                  const eg_group *group, uint32_t begun) {
  const eg_collective *first = wish_of(m, 0, begun);
  for (uint32_t p = 1; p < m->size; p++) {
    const eg_collective *other = wish_of(m, p, begun);
    if (!eg_collective_matches(first, other))
      return eg_collective_mismatch(&channel->base, eg_group_rank(group, p), other,
                                    eg_group_rank(group, 0), first);
  }
  return EGRAPH_OK;
}

static egraph_status local_run(eg_channel *base, const eg_collective *what) {
  local_channel *channel = (local_channel *)base;
  eg_local_hub *hub = channel->hub;
  eg_group group = eg_group_of(base, what);
  meeting *m = meeting_of(hub, base, what, &group);
  EG_TRY(arrive(channel, m, &group, what));
  uint32_t begun = ++m->members[group.place].begun;
  egraph_status status = check_wishes(channel, m, &group, begun);
  work w = {channel, m, what, group.place, begun, eg_dtype_bytes(what->dtype)};
  if (status == EGRAPH_OK && works[what->kind] != NULL) works[what->kind](&w);
  leave(m);
  channel->lends = channel->lends || what->lends;
  if (!what->lends) wait_until_left(channel, m, group.place);
  if (status == EGRAPH_OK) return EGRAPH_OK;
  char message[EG_MESSAGE_BYTES];
  snprintf(message, sizeof message, "%s", egraph_last_error());
  return fail_hub(hub, status, message);
}

// ---- hub --------------------------------------------------------------------------

static const eg_channel_vtable local_vtable = {.name = "local",
                                               .is_ordered = true,
                                               .run = local_run,
                                               .settle = local_settle,
                                               .end = local_end,
                                               .look = local_look};

static void init_channels(eg_local_hub *hub, const eg_mesh *mesh, double deadline) {
  bool is_room = (long)hub->ranks <= sysconf(_SC_NPROCESSORS_ONLN);
  for (uint32_t r = 0; r < hub->ranks; r++)
    hub->channels[r] = (local_channel){.base = {.vtable = &local_vtable,
                                                .alloc = hub->alloc,
                                                .mesh = *mesh,
                                                .rank = r,
                                                .deadline_seconds = deadline},
                                       .hub = hub,
                                       .spin = is_room ? eg_spin_default : (eg_spin){0},
                                       .parts = hub->parts + (size_t)r * hub->ranks};
}

static void init_meetings(eg_local_hub *hub, const eg_mesh *mesh) {
  member *members = hub->members;
  meeting *m = hub->meetings;
  for (uint32_t a = 0; a <= mesh->axis_count; a++) {
    uint32_t size = a < mesh->axis_count ? mesh->axes[a].size : hub->ranks;
    for (uint32_t g = 0; g < hub->ranks / size; g++, members += size, m++) {
      m->size = size;
      m->members = members;
    }
  }
}

static uint32_t count_meetings(const eg_mesh *mesh) {
  uint32_t count = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    count += eg_mesh_devices(mesh) / mesh->axes[a].size;
  return count;
}

static egraph_status init_hub(eg_local_hub *hub, const eg_mesh *mesh, double deadline) {
  eg_arena *arena = &hub->arena;
  size_t n = hub->ranks;
  EG_TRY(eg_arena_alloc(arena, n, sizeof *hub->channels, &hub->channels));
  EG_TRY(
      eg_arena_alloc(arena, hub->meeting_count, sizeof *hub->meetings, &hub->meetings));
  EG_TRY(eg_arena_alloc(arena, n, (mesh->axis_count + 1u) * sizeof *hub->members,
                        &hub->members));
  EG_TRY(eg_arena_alloc(arena, n, n * sizeof *hub->parts, &hub->parts));
  init_channels(hub, mesh, deadline);
  init_meetings(hub, mesh);
  return EGRAPH_OK;
}

egraph_status eg_local_hub_create(const egraph_allocator *alloc, const eg_mesh *mesh,
                                  const eg_channel_options *options, eg_local_hub **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_local_hub *hub;
  EG_TRY(eg_channel_options_check(options));
  EG_TRY(eg_alloc(own, 1, sizeof *hub, &hub));
  *hub = (eg_local_hub){.alloc = own,
                        .ranks = eg_mesh_devices(mesh),
                        .meeting_count = count_meetings(mesh)};
  if (pthread_mutex_init(&hub->failing, NULL) != 0) {
    eg_free(own, hub, 1, sizeof *hub);
    return EG_FAIL(EGRAPH_E_MEMORY, "the system gives no mutex");
  }
  eg_arena_init(&hub->arena, own);
  EG_HAND_OVER_OR_DESTROY(init_hub(hub, mesh, options->deadline_seconds), hub,
                          eg_local_hub_destroy, out);
}

void eg_local_hub_destroy(eg_local_hub *hub) {
  if (hub == NULL) return;
  (void)pthread_mutex_destroy(&hub->failing);
  eg_arena_deinit(&hub->arena);
  eg_free(hub->alloc, hub, 1, sizeof *hub);
}

eg_channel *eg_local_hub_channel(eg_local_hub *hub, uint32_t rank) {
  assert(rank < hub->ranks);
  return &hub->channels[rank].base;
}

// ---- threads ----------------------------------------------------------------------

typedef struct team {
  eg_local_hub *hub;
  eg_rank_body body;
  void *user;
} team;

static egraph_status run_rank(void *user, size_t index, uint32_t worker) {
  const team *t = user;
  (void)worker;
  eg_channel *channel = eg_local_hub_channel(t->hub, (uint32_t)index);
  egraph_status status = t->body(t->user, channel);
  return status == EGRAPH_OK ? EGRAPH_OK : eg_channel_abort(channel, status);
}

egraph_status eg_local_ranks_run(const egraph_allocator *alloc, const eg_mesh *mesh,
                                 const eg_channel_options *options, eg_rank_body body,
                                 void *user) {
  team t = {.body = body, .user = user};
  EG_TRY(eg_local_hub_create(alloc, mesh, options, &t.hub));
  egraph_status status = eg_parallel_all(t.hub->alloc, t.hub->ranks, run_rank, &t);
  if (t.hub->failed != EGRAPH_OK) status = fail_again(t.hub);
  eg_local_hub_destroy(t.hub);
  return status;
}
