// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/list_schedule.h"

#include "base/event_queue.h"
#include "base/groups.h"
#include "base/owner.h"
#include "base/status.h"

enum { MOST_STREAMS = 16 };
#define OWNED                                                                            \
  (eg_u32s, first, waiters, left, opened, instant, late),                                \
      (eg_event_queue, running, closed)

/// A schedule under construction. Events have times: seconds in `running`, numbers of
/// windows in `closed`, 0 in `ready`, which is therefore ordered by the numbers of runs.
typedef struct scheduler {
  eg_list_schedule *s;
  uint32_t streams, ahead;
  eg_u32s first, waiters; // [runs + 1]: runs that wait for a run
  eg_u32s left;           // [runs] number of runs that a run still waits for
  eg_u32s opened;         // [windows] flags
  eg_u32s instant;        // ready runs on no stream
  eg_u32s late;           // ready runs on no stream whose turn has not come
  eg_event_queue running, closed, ready[MOST_STREAMS];
  bool is_busy[MOST_STREAMS];
  uint32_t open;            // number of windows before the first unopened window
  uint32_t turn, turn_left; // current turn on stream 0; its runs that have not ended
  uint32_t next_of_turn;    // no run before it belongs to a later turn
  double now;
} scheduler;

static void scheduler_init(scheduler *c, egraph_allocator alloc) {
  *c = (scheduler){.streams = 0};
  EG_INIT_MEMBERS(c, alloc, OWNED)
  for (uint32_t i = 0; i < MOST_STREAMS; i++)
    eg_event_queue_init(&c->ready[i], alloc);
}

static void scheduler_deinit(scheduler *c) {
  EG_DEINIT_MEMBERS(c, OWNED)
  for (uint32_t i = 0; i < MOST_STREAMS; i++)
    eg_event_queue_deinit(&c->ready[i]);
}

EG_OWNER_DEFINE(eg_list_schedule, (eg_runs, runs),
                (eg_u32s, waiter, waits_for, order, let_in))

egraph_status eg_list_schedule_wait(eg_list_schedule *s, uint32_t waiter, uint32_t on) {
  EG_TRY(eg_u32s_push(&s->waiter, waiter));
  return eg_u32s_push(&s->waits_for, on);
}

static egraph_status list_waiters(scheduler *c) {
  const eg_list_schedule *s = c->s;
  EG_TRY(eg_group_items(&s->waits_for, s->runs.len, &c->first, &c->waiters));
  EG_TRY(eg_u32s_resize(&c->left, s->runs.len));
  for (size_t i = 0; i < s->waiter.len; i++) {
    c->left.data[s->waiter.data[i]]++;
    c->waiters.data[i] = s->waiter.data[c->waiters.data[i]];
  }
  return EGRAPH_OK;
}

static egraph_status reserve_queues(scheduler *c) {
  uint32_t runs = (uint32_t)c->s->runs.len, windows = 0;
  EG_TRY(eg_event_queue_reserve(&c->running, runs));
  EG_TRY(eg_event_queue_reserve(&c->closed, runs));
  for (uint32_t i = 0; i < c->streams; i++)
    EG_TRY(eg_event_queue_reserve(&c->ready[i], runs));
  for (uint32_t r = 0; r < runs; r++) {
    uint32_t opens = c->s->runs.data[r].opens;
    if (opens != EG_RUN_NONE && opens >= windows) windows = opens + 1;
  }
  EG_TRY(eg_u32s_resize(&c->opened, windows));
  return eg_u32s_fill(&c->s->let_in, runs, EG_RUN_NONE);
}

/// Begins the next turn of stream 0 that has runs, once all runs of the current turn
/// have ended.
static egraph_status begin_next_turn(scheduler *c) {
  const eg_runs *runs = &c->s->runs;
  if (c->turn_left != 0) return EGRAPH_OK;
  c->turn = UINT32_MAX; // behind the last turn
  for (; c->next_of_turn < runs->len; c->next_of_turn++) {
    const eg_run *run = &runs->data[c->next_of_turn];
    if (run->stream != 0) continue;
    if (c->turn_left != 0 && run->turn != c->turn) break;
    c->turn = run->turn;
    c->turn_left++;
  }
  for (; c->late.len != 0; c->late.len--)
    EG_TRY(eg_u32s_push(&c->instant, c->late.data[c->late.len - 1]));
  return EGRAPH_OK;
}

static egraph_status queue_run(scheduler *c, uint32_t r) {
  const eg_run *run = &c->s->runs.data[r];
  if (run->stream == EG_RUN_NONE)
    return eg_u32s_push(run->turn > c->turn ? &c->late : &c->instant, r);
  eg_event_queue_set(&c->ready[run->stream], r, 0);
  return EGRAPH_OK;
}

/// Queues a run that waits for no other run any more, unless its window is not open.
static egraph_status release_run(scheduler *c, uint32_t r) {
  uint32_t window = c->s->runs.data[r].window;
  if (window == EG_RUN_NONE || window < c->open + c->ahead) return queue_run(c, r);
  eg_event_queue_set(&c->closed, r, window);
  return EGRAPH_OK;
}

static egraph_status end_run(scheduler *c, uint32_t r) {
  if (c->s->runs.data[r].stream == 0) {
    c->turn_left--;
    EG_TRY(begin_next_turn(c));
  }
  for (uint32_t i = c->first.data[r]; i < c->first.data[r + 1]; i++)
    if (--c->left.data[c->waiters.data[i]] == 0)
      EG_TRY(release_run(c, c->waiters.data[i]));
  return EGRAPH_OK;
}

static egraph_status open_windows(scheduler *c, uint32_t r) {
  c->opened.data[c->s->runs.data[r].opens] = 1;
  while (c->open < c->opened.len && c->opened.data[c->open])
    c->open++;
  while (!eg_event_queue_is_empty(&c->closed)) {
    eg_event first = eg_event_queue_first(&c->closed);
    if (first.time >= (double)c->open + c->ahead) break;
    eg_event_queue_remove(&c->closed, first.number);
    c->s->let_in.data[first.number] = r;
    EG_TRY(queue_run(c, first.number));
  }
  return EGRAPH_OK;
}

static egraph_status begin_run(scheduler *c, uint32_t r) {
  EG_TRY(eg_u32s_push(&c->s->order, r));
  return c->s->runs.data[r].opens == EG_RUN_NONE ? EGRAPH_OK : open_windows(c, r);
}

static egraph_status run_instant_runs(scheduler *c) {
  while (c->instant.len != 0) {
    uint32_t r = eg_u32s_pop(&c->instant);
    if (c->s->runs.data[r].turn > c->turn) {
      EG_TRY(eg_u32s_push(&c->late, r));
      continue;
    }
    EG_TRY(begin_run(c, r));
    EG_TRY(end_run(c, r));
  }
  return EGRAPH_OK;
}

/// Begins the next run of a stream, if the stream is idle and a run is ready.
static egraph_status feed_stream(scheduler *c, uint32_t stream, bool *out_began) {
  eg_event_queue *ready = &c->ready[stream];
  *out_began = false;
  if (c->is_busy[stream] || eg_event_queue_is_empty(ready)) return EGRAPH_OK;
  uint32_t r = eg_event_queue_first(ready).number;
  const eg_run *run = &c->s->runs.data[r];
  if (stream == 0 && run->turn > c->turn) return EGRAPH_OK;
  eg_event_queue_remove(ready, r);
  c->is_busy[stream] = true;
  eg_event_queue_set(&c->running, r, c->now + run->seconds);
  *out_began = true;
  return begin_run(c, r);
}

static egraph_status feed_streams(scheduler *c) {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    EG_TRY(run_instant_runs(c));
    for (uint32_t i = 0; i < c->streams; i++) {
      bool began;
      EG_TRY(feed_stream(c, i, &began));
      goes_on = goes_on || began;
    }
    goes_on = goes_on || c->instant.len != 0;
  }
  return EGRAPH_OK;
}

/// Ends all runs that end at the earliest time.
static egraph_status end_next_runs(scheduler *c) {
  c->now = eg_event_queue_first(&c->running).time;
  while (!eg_event_queue_is_empty(&c->running) &&
         eg_event_queue_first(&c->running).time == c->now) {
    uint32_t r = eg_event_queue_first(&c->running).number;
    eg_event_queue_remove(&c->running, r);
    c->is_busy[c->s->runs.data[r].stream] = false;
    EG_TRY(end_run(c, r));
  }
  return EGRAPH_OK;
}

egraph_status eg_list_schedule_make(eg_list_schedule *s, uint32_t streams,
                                    uint32_t ahead) {
  assert(streams <= MOST_STREAMS && ahead >= 1);
  uint32_t runs = (uint32_t)s->runs.len;
  EG_LOCAL(scheduler, c, s->order.alloc);
  c.s = s;
  c.streams = streams;
  c.ahead = ahead;
  s->order.len = 0;
  EG_TRY(list_waiters(&c));
  EG_TRY(reserve_queues(&c));
  EG_TRY(begin_next_turn(&c));
  for (uint32_t r = 0; r < runs; r++)
    if (c.left.data[r] == 0) EG_TRY(release_run(&c, r));
  EG_TRY(feed_streams(&c));
  while (!eg_event_queue_is_empty(&c.running)) {
    EG_TRY(end_next_runs(&c));
    EG_TRY(feed_streams(&c));
  }
  s->seconds = c.now;
  if (s->order.len != runs)
    return EG_FAIL(EGRAPH_E_INTERNAL, "%zu of %u tasks of a plan are never ready",
                   runs - s->order.len, runs);
  return EGRAPH_OK;
}
