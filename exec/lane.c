// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "exec/lane.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec/gate.h"

enum { ROOM = 64 };

typedef struct task {
  eg_lane_work work; // NULL: the thread ends
  void *user;
  const void *what;
  bool always; // also after a failure
} task;

struct eg_lane {
  eg_channel base; // the channel that ranks use
  eg_channel *below;
  pthread_t thread;
  eg_spin spin, own_spin; // spin times of the rank's thread, and of the lane's thread
  eg_gate started, ended; // numbers of tasks started and ended; they wrap around
  task tasks[ROOM];       // task number k is at k % ROOM
  bool lends;             // memory may be lent; only the rank reads it
  atomic_bool ends;       // drop tasks that have not begun
  // the first failure; the message is written before the status
  _Atomic egraph_status failed;
  char message[EG_MESSAGE_BYTES];
};

// ---- the thread ---------------------------------------------------------------------

static void run_task(eg_lane *lane, const task *t) {
  if ((lane->failed != EGRAPH_OK || lane->ends) && !t->always) return;
  egraph_status status = t->work(t->user, t->what, lane->below);
  if (status == EGRAPH_OK || lane->failed != EGRAPH_OK) return;
  (void)snprintf(lane->message, sizeof lane->message, "%s", egraph_last_error());
  lane->failed = status;
}

static void *run_lane(void *user) {
  eg_lane *lane = user;
  for (uint32_t number = 0;; number++) {
    for (uint32_t started = atomic_load(&lane->started.value); started == number;)
      started = eg_gate_wait_until(&lane->started, number, &lane->own_spin, NULL);
    const task *t = &lane->tasks[number % ROOM];
    if (t->work == NULL) return NULL;
    run_task(lane, t);
    eg_gate_move(&lane->ended, number + 1, 1);
  }
}

// ---- the rank -----------------------------------------------------------------------

static bool is_idle(const eg_lane *lane) {
  return atomic_load(&lane->ended.value) == atomic_load(&lane->started.value);
}

/// Waits until exchange number `number` of the lane has ended. Numbers wrap around; at
/// most ROOM exchanges are started and not ended.
static void wait_for(eg_lane *lane, uint32_t number) {
  for (uint32_t ended = atomic_load(&lane->ended.value); (int32_t)(ended - number) < 0;)
    ended = eg_gate_wait_until(&lane->ended, ended, &lane->spin, NULL);
}

static uint32_t push_task(eg_lane *lane, const task *t) {
  uint32_t number = atomic_load(&lane->started.value);
  wait_for(lane, number + 1 - ROOM);
  lane->tasks[number % ROOM] = *t;
  eg_gate_move(&lane->started, number + 1, 1);
  return number + 1;
}

uint32_t eg_lane_start(eg_lane *lane, eg_lane_work work, void *user, const void *what) {
  assert(work != NULL);
  return push_task(lane, &(task){.work = work, .user = user, .what = what});
}

egraph_status eg_lane_wait(eg_lane *lane, uint32_t number) {
  wait_for(lane, number);
  return lane->failed == EGRAPH_OK ? EGRAPH_OK
                                   : EG_FAIL(lane->failed, "%s", lane->message);
}

// ---- its channel --------------------------------------------------------------------

static egraph_status run_collective(void *user, const void *what, eg_channel *below) {
  (void)user;
  return eg_channel_run(below, what);
}

static egraph_status settle_below(void *user, const void *what, eg_channel *below) {
  (void)user, (void)what;
  eg_channel_settle(below);
  return EGRAPH_OK;
}

typedef struct ending {
  egraph_status status;
  const char *message;
} ending;

static egraph_status end_below(void *user, const void *what, eg_channel *below) {
  (void)what;
  const ending *e = user;
  below->vtable->end(below, e->status, e->message);
  return EG_FAIL(e->status, "%s", e->message);
}

static egraph_status lane_run(eg_channel *base, const eg_collective *what) {
  eg_lane *lane = (eg_lane *)base;
  lane->lends = lane->lends || what->lends;
  if (is_idle(lane) && lane->failed == EGRAPH_OK)
    return eg_channel_run(lane->below, what);
  return eg_lane_wait(lane, eg_lane_start(lane, run_collective, NULL, what));
}

static void lane_settle(eg_channel *base) {
  eg_lane *lane = (eg_lane *)base;
  if (!lane->lends) return;
  if (is_idle(lane))
    eg_channel_settle(lane->below);
  else
    wait_for(lane, push_task(lane, &(task){.work = settle_below, .always = true}));
  lane->lends = false;
}

/// Ends the channel after the lane's current exchange, which ends because the other ranks
/// join it or at the deadline; drops exchanges that have not begun.
static void lane_end(eg_channel *base, egraph_status status, const char *message) {
  eg_lane *lane = (eg_lane *)base;
  ending e = {status, message};
  lane->ends = true;
  wait_for(lane, push_task(lane, &(task){.work = end_below, .user = &e, .always = true}));
}

static egraph_status lane_look(eg_channel *base) {
  eg_lane *lane = (eg_lane *)base;
  EG_TRY(eg_lane_wait(lane, atomic_load(&lane->started.value)));
  return lane->below->vtable->look(lane->below);
}

static const eg_channel_vtable lane_vtable = {.name = "lane",
                                              .is_ordered = true,
                                              .run = lane_run,
                                              .settle = lane_settle,
                                              .end = lane_end,
                                              .look = lane_look};

// ---- life ---------------------------------------------------------------------------

/// Starts the thread with all signals blocked: handlers run in the caller's threads.
static int start_thread(eg_lane *lane) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, &before);
  int error = pthread_create(&lane->thread, NULL, run_lane, lane);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

egraph_status eg_lane_create(egraph_allocator alloc, eg_channel *below, eg_lane **out) {
  assert(below->backend == NULL);
  eg_lane *lane;
  if (below->is_bound)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "exchanges beside computing need channel '%s' to be used by another "
                   "thread; start MPI with MPI_THREAD_SERIALIZED, or run in order",
                   below->vtable->name);
  EG_TRY(eg_alloc(alloc, 1, sizeof *lane, &lane));
  // A rank has two threads; they spin only where each thread of all ranks has
  // a processor.
  bool is_room = 2 * (long)eg_mesh_devices(&below->mesh) <= sysconf(_SC_NPROCESSORS_ONLN);
  *lane = (eg_lane){.base = {.vtable = &lane_vtable,
                             .alloc = alloc,
                             .mesh = below->mesh,
                             .rank = below->rank,
                             .deadline_seconds = below->deadline_seconds},
                    .below = below};
  if (is_room) lane->spin = lane->own_spin = eg_spin_default;
  if (start_thread(lane) != 0) {
    eg_free(alloc, lane, 1, sizeof *lane);
    return EG_FAIL(EGRAPH_E_MEMORY, "the system gives no thread for exchanges");
  }
  *out = lane;
  return EGRAPH_OK;
}

void eg_lane_destroy(eg_lane *lane) {
  if (lane == NULL) return;
  (void)push_task(lane, &(task){.work = NULL});
  (void)pthread_join(lane->thread, NULL);
  eg_free(lane->base.alloc, lane, 1, sizeof *lane);
}

eg_channel *eg_lane_channel(eg_lane *lane) { return &lane->base; }
