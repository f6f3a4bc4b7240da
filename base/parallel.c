// A counter hands out turns in ascending order. A failing index becomes the new end of
// the loop: no turn with a higher index begins any more; every turn with a lower index
// has begun and will end. The lowest failing index is therefore the same in every run.
//
// When all turns run at once, they wait at a gate until every thread has started: no turn
// begins when a thread is missing.
//
// Each thread stops at its first failure; one message per thread is therefore enough.
// Messages are thread-local; at the end the caller's thread gets the message of the
// lowest index.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // pthread_sigmask
#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

void eg_signals_asynchronous(sigset_t *out) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  (void)sigfillset(out);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    (void)sigdelset(out, own[i]);
}

typedef enum gate { GATE_SHUT, GATE_OPEN, GATE_CLOSED } gate;

typedef struct loop {
  atomic_size_t next, end;
  eg_parallel_step step;
  void *user;
  // The gate, when all turns run at once:
  pthread_mutex_t lock;
  pthread_cond_t moved;
  gate gate;
} loop;

typedef struct worker {
  loop *loop;
  pthread_t thread;
  uint32_t number;
  egraph_status status;
  size_t failed; // index, unless status is EGRAPH_OK
  char message[EG_MESSAGE_BYTES];
} worker;

static void end_before(loop *l, size_t index) {
  size_t end = atomic_load(&l->end);
  while (index < end && !atomic_compare_exchange_weak(&l->end, &end, index)) {
  }
}

static void take_turn(worker *w, size_t index) {
  w->status = w->loop->step(w->loop->user, index, w->number);
  if (w->status == EGRAPH_OK) return;
  w->failed = index;
  (void)strncpy(w->message, egraph_last_error(), sizeof w->message - 1);
}

static void *work(void *argument) {
  worker *w = argument;
  while (w->status == EGRAPH_OK) {
    size_t index = atomic_fetch_add(&w->loop->next, 1);
    if (index >= atomic_load(&w->loop->end)) break;
    take_turn(w, index);
    if (w->status != EGRAPH_OK) end_before(w->loop, index);
  }
  return NULL;
}

static void *work_at_once(void *argument) {
  worker *w = argument;
  loop *l = w->loop;
  (void)pthread_mutex_lock(&l->lock);
  while (l->gate == GATE_SHUT)
    (void)pthread_cond_wait(&l->moved, &l->lock);
  bool is_open = l->gate == GATE_OPEN;
  (void)pthread_mutex_unlock(&l->lock);
  if (is_open) take_turn(w, w->number);
  return NULL;
}

static void move_gate(loop *l, gate to) {
  (void)pthread_mutex_lock(&l->lock);
  l->gate = to;
  (void)pthread_cond_broadcast(&l->moved);
  (void)pthread_mutex_unlock(&l->lock);
}

// Starts threads; returns their number, the caller included. Threads inherit the signal
// mask, which is therefore set before they begin.
static uint32_t start(worker *workers, uint32_t threads, void *(*body)(void *)) {
  sigset_t held, before;
  eg_signals_asynchronous(&held);
  (void)pthread_sigmask(SIG_BLOCK, &held, &before);
  uint32_t started = 1;
  while (started < threads &&
         pthread_create(&workers[started].thread, NULL, body, &workers[started]) == 0)
    started++;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

static egraph_status finish(worker *workers, uint32_t started) {
  for (uint32_t i = 1; i < started; i++)
    (void)pthread_join(workers[i].thread, NULL);
  const worker *first = NULL;
  for (uint32_t i = 0; i < started; i++)
    if (workers[i].status != EGRAPH_OK &&
        (first == NULL || workers[i].failed < first->failed))
      first = &workers[i];
  return first == NULL ? EGRAPH_OK : EG_FAIL(first->status, "%s", first->message);
}

static egraph_status open_workers(egraph_allocator alloc, loop *l, uint32_t count,
                                  worker **out) {
  EG_TRY(eg_alloc(alloc, count, sizeof **out, out));
  for (uint32_t i = 0; i < count; i++) {
    (*out)[i].loop = l;
    (*out)[i].number = i;
  }
  return EGRAPH_OK;
}

egraph_status eg_parallel_for(egraph_allocator alloc, uint32_t threads, size_t count,
                              eg_parallel_step step, void *user) {
  if (threads > count) threads = (uint32_t)count;
  if (threads <= 1) {
    for (size_t i = 0; i < count; i++)
      EG_TRY(step(user, i, 0));
    return EGRAPH_OK;
  }
  loop l = {.step = step, .user = user};
  atomic_init(&l.next, 0);
  atomic_init(&l.end, count);
  worker *workers = NULL;
  EG_TRY(open_workers(alloc, &l, threads, &workers));
  uint32_t started = start(workers, threads, work);
  (void)work(&workers[0]);
  egraph_status status = finish(workers, started);
  eg_free(alloc, workers, threads, sizeof *workers);
  return status;
}

egraph_status eg_parallel_all(egraph_allocator alloc, size_t count, eg_parallel_step step,
                              void *user) {
  loop l = {.step = step, .user = user, .gate = GATE_SHUT};
  worker *workers = NULL;
  if (count == 0) return EGRAPH_OK;
  if (count > UINT32_MAX) return EG_FAIL(EGRAPH_E_MEMORY, "%zu threads", count);
  EG_TRY(open_workers(alloc, &l, (uint32_t)count, &workers));
  // With default attributes, the next two calls cannot fail.
  (void)pthread_mutex_init(&l.lock, NULL);
  (void)pthread_cond_init(&l.moved, NULL);
  uint32_t started = start(workers, (uint32_t)count, work_at_once);
  bool is_whole = started == count;
  move_gate(&l, is_whole ? GATE_OPEN : GATE_CLOSED);
  if (is_whole) take_turn(&workers[0], 0);
  egraph_status status = finish(workers, started);
  if (!is_whole)
    status =
        EG_FAIL(EGRAPH_E_MEMORY, "the system gives %u of %zu threads", started, count);
  (void)pthread_cond_destroy(&l.moved);
  (void)pthread_mutex_destroy(&l.lock);
  eg_free(alloc, workers, count, sizeof *workers);
  return status;
}
