// Turns are handed out by a counter, in ascending order. A failing index becomes the new
// end of the loop: whatever lies above it is not begun any more, whatever lies below it
// has been begun already and will end. So the lowest failing index is the same in every
// run.
//
// Each thread stops at its first failure, so one message per thread is enough. Messages
// are thread-local; that of the lowest index is handed to the caller's thread at the end.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // pthread_sigmask
#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

typedef struct loop {
  atomic_size_t next, end;
  eg_parallel_step step;
  void *user;
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

static void *work(void *argument) {
  worker *w = argument;
  while (w->status == EGRAPH_OK) {
    size_t index = atomic_fetch_add(&w->loop->next, 1);
    if (index >= atomic_load(&w->loop->end)) break;
    w->status = w->loop->step(w->loop->user, index, w->number);
    if (w->status == EGRAPH_OK) continue;
    w->failed = index;
    (void)strncpy(w->message, egraph_last_error(), sizeof w->message - 1);
    end_before(w->loop, index);
  }
  return NULL;
}

// Signals that a thread causes itself stay deliverable.
static void asynchronous_signals(sigset_t *out) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  (void)sigfillset(out);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    (void)sigdelset(out, own[i]);
}

// Threads inherit the mask, so it is set before they begin. Returns how many there are,
// the caller included.
static uint32_t start(worker *workers, uint32_t threads) {
  sigset_t held, before;
  asynchronous_signals(&held);
  (void)pthread_sigmask(SIG_BLOCK, &held, &before);
  uint32_t started = 1;
  while (started < threads &&
         pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
    started++;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

static egraph_status run(worker *workers, uint32_t threads) {
  uint32_t started = start(workers, threads);
  (void)work(&workers[0]);
  for (uint32_t i = 1; i < started; i++)
    (void)pthread_join(workers[i].thread, NULL);
  const worker *first = NULL;
  for (uint32_t i = 0; i < started; i++)
    if (workers[i].status != EGRAPH_OK &&
        (first == NULL || workers[i].failed < first->failed))
      first = &workers[i];
  return first == NULL ? EGRAPH_OK : EG_FAIL(first->status, "%s", first->message);
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
  EG_TRY(eg_alloc(alloc, threads, sizeof *workers, &workers));
  for (uint32_t i = 0; i < threads; i++) {
    workers[i].loop = &l;
    workers[i].number = i;
  }
  egraph_status status = run(workers, threads);
  eg_free(alloc, workers, threads, sizeof *workers);
  return status;
}
