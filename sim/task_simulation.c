// Serves the events of a simulation by time, and by task number where times are equal.
//
// A simulation recomputes some tasks; all others are KNOWN: they have the times of the
// last simulation and no event. A change reaches KNOWN tasks in the ways below, each time
// before the KNOWN task would act on the old values ("successors" wait for the task):
//
//   a task ends earlier than it did, and it was       successors that started at its old
//   the last cause of successors                      end are recomputed from its new end
//   a task has not ended at the old start of a        the successor is recomputed then
//   successor (OLD_START)
//   a task cannot end before the old start of a       the same at once, so that no event
//   successor                                         is needed (recompute_ahead)
//   a flow begins to send, or did (OLD_BEGIN), or     flows that send on its links are
//   a KNOWN flow does at the same time (LINK)         replayed, from the beginning of the
//                                                     period in which a link was busy
//
// A replay begins in the past of the event that causes it, and is finished before that
// event goes on. Until the event's time it gives the known times, since nothing has
// changed on its way: otherwise the flow would already be recomputed.
//
// Where times are equal, tasks are served in the order of their numbers: a change must
// have passed the tasks before a task when that task is served.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sim/task_graph_internal.h"

static bool sends(const eg_task *task) { return task->is_flow && task->bytes > 0; }

static void set_next(eg_task_graph *graph, uint32_t task, double time) {
  eg_event_queue_set(&graph->queue, eg_event_number(EG_EVENT_NEXT, task), time);
}

/// True when a task still starts as in the last simulation.
static bool keeps_start(const eg_task *task) {
  return task->state == EG_TASK_KNOWN || task->state == EG_TASK_REPLAYED;
}

static double later(double a, double b) { return a > b ? a : b; }

egraph_status eg_task_events_reserve(eg_task_graph *graph) {
  size_t most = graph->tasks.len > graph->links.len ? graph->tasks.len : graph->links.len;
  if (most > UINT32_MAX / EG_EVENTS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a task graph has at most %" PRIu32 " tasks",
                   UINT32_MAX / EG_EVENTS);
  return eg_event_queue_reserve(&graph->queue, (uint32_t)most * EG_EVENTS);
}

// ---- tasks to recompute ---------------------------------------------------------

/// Returns the latest end of all tasks for which a task waits, as known so far.
static double ready_time(const eg_task_graph *graph, const eg_task *task) {
  double ready = 0;
  for (uint32_t e = task->in; e != EG_TASK_NONE; e = graph->edges.data[e].next_in)
    ready = later(ready, graph->tasks.data[graph->edges.data[e].from].end);
  return ready;
}

/// Starts a task that no longer waits: adds an event for its end or the end of its
/// latency.
static void schedule_task(eg_task_graph *graph, uint32_t number, double start) {
  eg_task *task = &graph->tasks.data[number];
  task->start = start;
  if (!task->is_flow) task->due = start + task->seconds;
  set_next(graph, number, start + task->seconds);
}

static eg_task_link *link_of(const eg_task_graph *graph, const eg_task *task,
                             uint32_t index) {
  return &graph->links.data[graph->flow_links.data[task->first_link + index]];
}

/// Returns the seconds that a flow sends if it has its links alone; 0 for a compute task.
static double least_sending(const eg_task_graph *graph, const eg_task *task) {
  double least = 0;
  for (uint32_t i = 0; i < task->link_count; i++) {
    uint32_t weight = graph->flow_weights.data[task->first_link + i];
    if (weight == 0) continue;
    least = later(least, task->bytes / (link_of(graph, task, i)->bandwidth / weight));
  }
  return least;
}

/// Counts the tasks for which a WAITING task (to be recomputed) waits; starts it if none.
static void wait_for_others(eg_task_graph *graph, uint32_t number) {
  eg_task *task = &graph->tasks.data[number];
  double ready = 0;
  task->unresolved = 0;
  for (uint32_t e = task->in; e != EG_TASK_NONE; e = graph->edges.data[e].next_in) {
    const eg_task *from = &graph->tasks.data[graph->edges.data[e].from];
    bool awaited = from->state != EG_TASK_KNOWN && from->state != EG_TASK_ENDED;
    task->unresolved += awaited;
    ready = later(ready, awaited ? from->due : from->end);
  }
  if (task->has_times) task->due = ready + task->seconds + least_sending(graph, task);
  if (task->unresolved == 0) schedule_task(graph, number, ready);
}

/// Marks the uses of link `l` by flows, from a time on, to be written anew.
static egraph_status make_stale(eg_task_graph *graph, uint32_t l, double from) {
  eg_task_link *link = &graph->links.data[l];
  if (link->is_stale) {
    if (from < link->stale_from) link->stale_from = from;
    return EGRAPH_OK;
  }
  link->is_stale = true;
  link->stale_from = from;
  return eg_u32s_push(&graph->stale, l);
}

/// Adds an event for the next start, in the last simulation, of a successor that
/// keeps it.
static void await_starts(eg_task_graph *graph, uint32_t number) {
  double next = INFINITY;
  for (uint32_t e = graph->tasks.data[number].out; e != EG_TASK_NONE;
       e = graph->edges.data[e].next_out) {
    const eg_task *to = &graph->tasks.data[graph->edges.data[e].to];
    if (keeps_start(to) && to->start < next) next = to->start;
  }
  if (next < INFINITY)
    eg_event_queue_set(&graph->queue, eg_event_number(EG_EVENT_OLD_START, number), next);
}

/// Prepares a KNOWN task (times as in the last simulation) to be recomputed.
static egraph_status begin_recomputing(eg_task_graph *graph, uint32_t number) {
  eg_task *task = &graph->tasks.data[number];
  EG_TRY(eg_u32s_push(&graph->recomputed, number));
  for (uint32_t i = 0; i < task->link_count; i++)
    EG_TRY(make_stale(graph, graph->flow_links.data[task->first_link + i],
                      task->has_times ? task->begin : INFINITY));
  if (!task->has_times) return EGRAPH_OK;
  task->old_begin = task->begin;
  task->old_end = task->end;
  task->due = 0;
  task->must_await = false;
  for (uint32_t e = task->out; e != EG_TASK_NONE; e = graph->edges.data[e].next_out) {
    uint32_t to = graph->edges.data[e].to;
    if (graph->tasks.data[to].state != EG_TASK_WAITING) continue;
    if (graph->tasks.data[to].unresolved++ != 0) continue;
    eg_event_queue_remove(&graph->queue, eg_event_number(EG_EVENT_NEXT, to));
    if (graph->tasks.data[to].has_times)
      await_starts(graph, to); // it may end later than it was scheduled to
  }
  return EGRAPH_OK;
}

egraph_status eg_task_recompute(eg_task_graph *graph, uint32_t number) {
  eg_task *task = &graph->tasks.data[number];
  if (task->state == EG_TASK_KNOWN) {
    EG_TRY(begin_recomputing(graph, number));
    if (task->has_times && sends(task) && task->has_company)
      eg_event_queue_set(&graph->queue, eg_event_number(EG_EVENT_OLD_BEGIN, number),
                         task->begin);
  } else if (task->state == EG_TASK_REPLAYED) {
    eg_event_queue_remove(&graph->queue, eg_event_number(EG_EVENT_NEXT, number));
  } else {
    return EGRAPH_OK;
  }
  task->state = EG_TASK_WAITING;
  return EGRAPH_OK;
}

/// Recomputes the successors of a task whose old start is before a time.
static egraph_status recompute_after(eg_task_graph *graph, uint32_t number,
                                     double before) {
  eg_task *task = &graph->tasks.data[number];
  bool is_scheduled =
      task->state == EG_TASK_WAITING && !task->is_flow && task->unresolved == 0;
  task->must_await = false;
  if (!task->has_times) return EGRAPH_OK; // all successors are recomputed
  if (is_scheduled) before = later(before, task->due);
  for (uint32_t e = task->out; e != EG_TASK_NONE; e = graph->edges.data[e].next_out) {
    uint32_t to = graph->edges.data[e].to;
    if (!keeps_start(&graph->tasks.data[to])) continue;
    if (graph->tasks.data[to].start >= before) {
      task->must_await = !is_scheduled; // otherwise it has ended by then
      continue;
    }
    EG_TRY(eg_task_recompute(graph, to));
    wait_for_others(graph, to);
  }
  return EGRAPH_OK;
}

/// Recomputes, for tasks from index `from` of `recomputed`, the successors that certainly
/// start later than in the last simulation, and watches the starts of the others.
static egraph_status recompute_ahead(eg_task_graph *graph, size_t from) {
  for (size_t i = from; i < graph->recomputed.len; i++) {
    uint32_t number = graph->recomputed.data[i];
    if (graph->tasks.data[number].state == EG_TASK_WAITING)
      EG_TRY(recompute_after(graph, number, graph->tasks.data[number].due));
  }
  for (size_t i = from; i < graph->recomputed.len; i++)
    if (graph->tasks.data[graph->recomputed.data[i]].must_await)
      await_starts(graph, graph->recomputed.data[i]);
  return EGRAPH_OK;
}

/// Finds the first use of a link by a flow that begins at `time` or later.
static size_t find_use(const eg_link_uses *uses, double time) {
  size_t from = 0, to = uses->len;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (uses->data[middle].begin < time)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/// Finds the first use of a link, from index `from` on, whose flow is KNOWN (not
/// recomputed); later searches skip the uses in between.
static size_t find_known(const eg_task_graph *graph, eg_link_uses *uses, size_t from) {
  size_t at = from;
  while (at < uses->len && graph->tasks.data[uses->data[at].task].state != EG_TASK_KNOWN)
    at = uses->data[at].next;
  for (size_t next; from < at; from = next) {
    next = uses->data[from].next;
    uses->data[from].next = (uint32_t)at;
  }
  return at;
}

/// Watches a link from a time on: flows not recomputed that begin on it are replayed.
static void watch_link(eg_task_graph *graph, eg_task_link *link, double from,
                       double until) {
  size_t next = find_known(graph, &link->uses, find_use(&link->uses, from));
  uint32_t event = eg_event_number(EG_EVENT_LINK, (uint32_t)(link - graph->links.data));
  link->changed_until = later(link->changed_until, until);
  if (next < link->uses.len &&
      link->uses.data[next].begin < eg_event_queue_time(&graph->queue, event))
    eg_event_queue_set(&graph->queue, event, link->uses.data[next].begin);
}

/// Replays the flows of a busy period of a link that began to send until `time`: a flow
/// keeps its start, and its links determine its end.
static egraph_status replay_period(eg_task_graph *graph, eg_link_uses *uses, size_t at,
                                   double time) {
  eg_link_use *first = &uses->data[uses->data[at].first];
  while (first->replayed < uses->len) {
    const eg_link_use *use = &uses->data[first->replayed];
    if (&uses->data[use->first] != first || use->begin > time) break;
    first->replayed++;
    eg_task *task = &graph->tasks.data[use->task];
    if (task->state != EG_TASK_KNOWN) continue;
    EG_TRY(begin_recomputing(graph, use->task));
    task->state = EG_TASK_REPLAYED;
    task->unresolved = 0;
    task->due = task->begin;
    set_next(graph, use->task, task->begin);
    await_starts(graph, use->task);
  }
  return EGRAPH_OK;
}

/// Replays the flows that were sending when a flow began to send in the last simulation,
/// and watches its links for flows that began later.
static egraph_status replay_sharers(eg_task_graph *graph, uint32_t number) {
  const eg_task *task = &graph->tasks.data[number];
  for (uint32_t i = 0; i < task->link_count && task->has_times; i++) {
    eg_task_link *link = link_of(graph, task, i);
    eg_link_uses *uses = &link->uses;
    size_t at = find_use(uses, task->old_begin);
    while (at < uses->len && uses->data[at].begin == task->old_begin &&
           uses->data[at].task != number)
      at++;
    if (at == uses->len || uses->data[at].task != number) continue;
    EG_TRY(replay_period(graph, uses, at, task->old_begin));
    watch_link(graph, link, task->old_begin, task->old_end);
  }
  return EGRAPH_OK;
}

/// Replays flows that shared links with tasks from index `from` of `recomputed` on.
static egraph_status replay_further(eg_task_graph *graph, size_t from) {
  for (size_t i = from; i < graph->recomputed.len; i++)
    EG_TRY(replay_sharers(graph, graph->recomputed.data[i]));
  return EGRAPH_OK;
}

egraph_status eg_task_recompute_sharers(eg_task_graph *graph, uint32_t task) {
  size_t from = graph->recomputed.len;
  EG_TRY(replay_sharers(graph, task));
  return replay_further(graph, from);
}

// ---- events ---------------------------------------------------------------------

static egraph_status end_task(eg_task_graph *graph, uint32_t number, double now) {
  eg_task *task = &graph->tasks.data[number];
  size_t from = graph->recomputed.len;
  if (!isfinite(now))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "task %" PRIu32 " never ends: its times overflow",
                   number);
  assert(task->unresolved == 0 && ready_time(graph, task) == task->start);
  task->state = EG_TASK_ENDED;
  task->end = now;
  eg_event_queue_remove(&graph->queue, eg_event_number(EG_EVENT_OLD_START, number));
  for (uint32_t e = task->out; e != EG_TASK_NONE; e = graph->edges.data[e].next_out) {
    uint32_t to = graph->edges.data[e].to;
    if (graph->tasks.data[to].state == EG_TASK_WAITING &&
        --graph->tasks.data[to].unresolved == 0)
      schedule_task(graph, to, ready_time(graph, &graph->tasks.data[to]));
  }
  if (!task->has_times || now >= task->old_end) return EGRAPH_OK;
  for (uint32_t e = task->out; e != EG_TASK_NONE; e = graph->edges.data[e].next_out) {
    uint32_t to = graph->edges.data[e].to;
    const eg_task *after = &graph->tasks.data[to];
    if (!keeps_start(after) || after->start != task->old_end ||
        ready_time(graph, after) == after->start)
      continue; // another task holds it back
    EG_TRY(eg_task_recompute(graph, to));
    wait_for_others(graph, to);
  }
  return recompute_ahead(graph, from);
}

/// Lets a flow begin to send, on links where flows not yet recomputed may be sending.
static egraph_status begin_to_send(eg_task_graph *graph, uint32_t number, double now) {
  eg_task *task = &graph->tasks.data[number];
  size_t from = graph->recomputed.len;
  if (!sends(task)) {
    task->begin = now;
    return end_task(graph, number, now);
  }
  for (uint32_t i = 0; i < task->link_count; i++) {
    eg_task_link *link = link_of(graph, task, i);
    size_t next = find_use(&link->uses, now);
    if (next > 0 && link->uses.data[next - 1].period_end > now)
      EG_TRY(replay_period(graph, &link->uses, next - 1, now));
    watch_link(graph, link, now, 0);
  }
  EG_TRY(replay_further(graph, from));
  if (!eg_event_queue_is_empty(&graph->queue) &&
      eg_event_queue_first(&graph->queue).time < now) { // the replay comes first
    set_next(graph, number, now);
    return EGRAPH_OK;
  }
  task->state = EG_TASK_SENDING;
  task->begin = now;
  return eg_flow_join(graph, number);
}

static egraph_status serve_next(eg_task_graph *graph, uint32_t number, double now) {
  eg_task *task = &graph->tasks.data[number];
  if (task->state == EG_TASK_SENDING) {
    EG_TRY(eg_flow_leave(graph, number));
    return end_task(graph, number, now);
  }
  if (task->is_flow) return begin_to_send(graph, number, now);
  task->begin = task->start;
  return end_task(graph, number, now);
}

/// Handles the time at which a successor of a task started in the last simulation, if the
/// task has not ended now.
static egraph_status serve_old_start(eg_task_graph *graph, uint32_t task, double now) {
  size_t from = graph->recomputed.len;
  EG_TRY(recompute_after(graph, task, nextafter(now, INFINITY)));
  EG_TRY(recompute_ahead(graph, from));
  if (graph->tasks.data[task].must_await) await_starts(graph, task);
  return EGRAPH_OK;
}

/// Handles the begin of a KNOWN (not recomputed) flow on a link of recomputed flows.
static egraph_status serve_link(eg_task_graph *graph, uint32_t l, double now) {
  eg_task_link *link = &graph->links.data[l];
  size_t from = graph->recomputed.len, at = find_use(&link->uses, now);
  if (link->sending.len == 0 && now >= link->changed_until) return EGRAPH_OK;
  for (; at < link->uses.len && link->uses.data[at].begin == now; at++)
    EG_TRY(replay_period(graph, &link->uses, at, now));
  if (at < link->uses.len) watch_link(graph, link, link->uses.data[at].begin, 0);
  return replay_further(graph, from);
}

static egraph_status serve(eg_task_graph *graph, eg_event event) {
  uint32_t of = event.number / EG_EVENTS;
  eg_event_queue_remove(&graph->queue, event.number);
  switch (event.number % EG_EVENTS) {
  case EG_EVENT_NEXT: return serve_next(graph, of, event.time);
  case EG_EVENT_OLD_START: return serve_old_start(graph, of, event.time);
  case EG_EVENT_OLD_BEGIN: return eg_task_recompute_sharers(graph, of);
  default: return serve_link(graph, of, event.time);
  }
}

static egraph_status serve_all(eg_task_graph *graph) {
  double now = -1;
  for (;;) {
    bool is_empty = eg_event_queue_is_empty(&graph->queue);
    if (is_empty || eg_event_queue_first(&graph->queue).time != now) {
      size_t pending = graph->touched.len;
      EG_TRY(eg_flow_rates_update(graph, now));
      if (pending != 0) continue; // the first events may now be ends of flows
      if (is_empty) return EGRAPH_OK;
    }
    eg_event event = eg_event_queue_first(&graph->queue);
    now = event.time;
    EG_TRY(serve(graph, event));
  }
}

// ---- keeping the result ---------------------------------------------------------

static int by_begin(const void *a, const void *b) {
  const eg_link_use *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

/// Merges the uses of a link from index `kept` on into the sorted uses before them.
static egraph_status sort_uses(eg_task_graph *graph, eg_link_uses *uses, size_t kept) {
  size_t count = uses->len - kept, at = uses->len;
  if (count > 1) qsort(uses->data + kept, count, sizeof *uses->data, by_begin);
  graph->sorted.len = 0;
  EG_TRY(eg_link_uses_append(&graph->sorted, uses->data + kept, count));
  while (count != 0) {
    bool is_kept =
        kept != 0 && by_begin(&uses->data[kept - 1], &graph->sorted.data[count - 1]) > 0;
    uses->data[--at] = is_kept ? uses->data[--kept] : graph->sorted.data[--count];
  }
  return EGRAPH_OK;
}

/// Finds the busy periods of a link for all uses from index `from` on, and for earlier
/// uses in the period that `from` may continue.
static void find_periods(eg_task_graph *graph, eg_link_uses *uses, size_t from) {
  uint32_t first = from != 0 ? uses->data[from - 1].first : 0, start = first;
  double end = 0;
  for (uint32_t i = start; i < uses->len; i++) {
    if (uses->data[i].begin >= end) first = i;
    end = later(end, uses->data[i].end);
    uses->data[i].first = first;
    uses->data[i].period_end = end;
    uses->data[i].replayed = first;
    uses->data[i].next = i + 1;
    if (i == first) continue;
    graph->tasks.data[uses->data[i].task].has_company = true;
    graph->tasks.data[uses->data[first].task].has_company = true;
  }
  for (size_t i = uses->len; i-- > start + 1;)
    if (uses->data[i - 1].first == uses->data[i].first)
      uses->data[i - 1].period_end = uses->data[i].period_end;
}

/// Writes the uses of changed links anew: removes those of recomputed flows, then adds
/// their new ones.
static egraph_status write_uses(eg_task_graph *graph) {
  for (size_t i = 0; i < graph->recomputed.len; i++) {
    eg_task *task = &graph->tasks.data[graph->recomputed.data[i]];
    task->has_company = false;
    for (uint32_t k = 0; k < task->link_count; k++)
      EG_TRY(
          make_stale(graph, graph->flow_links.data[task->first_link + k], task->begin));
  }
  for (size_t i = 0; i < graph->stale.len; i++) {
    eg_task_link *link = &graph->links.data[graph->stale.data[i]];
    size_t kept = link->first_stale = find_use(&link->uses, link->stale_from);
    for (size_t k = kept; k < link->uses.len; k++)
      if (graph->tasks.data[link->uses.data[k].task].state == EG_TASK_KNOWN)
        link->uses.data[kept++] = link->uses.data[k];
    link->uses.len = link->kept = kept;
  }
  for (size_t i = 0; i < graph->recomputed.len; i++) {
    const eg_task *task = &graph->tasks.data[graph->recomputed.data[i]];
    eg_link_use use = {
        .task = graph->recomputed.data[i], .begin = task->begin, .end = task->end};
    for (uint32_t k = 0; k < task->link_count && sends(task); k++)
      EG_TRY(eg_link_uses_push(
          &graph->links.data[graph->flow_links.data[task->first_link + k]].uses, use));
  }
  for (size_t i = 0; i < graph->stale.len; i++) {
    eg_task_link *link = &graph->links.data[graph->stale.data[i]];
    link->is_stale = false;
    link->changed_until = 0;
    EG_TRY(sort_uses(graph, &link->uses, link->kept));
    find_periods(graph, &link->uses, link->first_stale);
  }
  graph->stale.len = 0;
  return EGRAPH_OK;
}

static egraph_status check_ended(const eg_task_graph *graph) {
  for (size_t i = 0; i < graph->recomputed.len; i++)
    if (graph->tasks.data[graph->recomputed.data[i]].state != EG_TASK_ENDED)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "task %" PRIu32 " waits for itself, or for tasks that do",
                     graph->recomputed.data[i]);
  return EGRAPH_OK;
}

static egraph_status simulate_marked(eg_task_graph *graph) {
  for (size_t i = 0; i < graph->recomputed.len; i++)
    if (graph->tasks.data[graph->recomputed.data[i]].state == EG_TASK_WAITING)
      wait_for_others(graph, graph->recomputed.data[i]);
  EG_TRY(recompute_ahead(graph, 0));
  EG_TRY(serve_all(graph));
  EG_TRY(check_ended(graph));
  EG_TRY(write_uses(graph));
  for (size_t i = 0; i < graph->recomputed.len; i++) {
    eg_task *task = &graph->tasks.data[graph->recomputed.data[i]];
    task->state = EG_TASK_KNOWN;
    task->has_times = true;
  }
  graph->last_recomputed = (uint32_t)graph->recomputed.len;
  graph->recomputed.len = 0;
  graph->is_broken = false;
  return EGRAPH_OK;
}

egraph_status eg_task_graph_simulate_anew(eg_task_graph *graph) {
  graph->is_broken = true;
  eg_event_queue_clear(&graph->queue);
  graph->recomputed.len = graph->touched.len = graph->stale.len = 0;
  for (size_t l = 0; l < graph->links.len; l++) {
    eg_task_link *link = &graph->links.data[l];
    link->sending.len = link->uses.len = 0;
    link->is_touched = link->is_visited = link->is_stale = false;
    link->changed_until = 0;
  }
  for (size_t i = 0; i < graph->tasks.len; i++) {
    eg_task *task = &graph->tasks.data[i];
    task->state = EG_TASK_KNOWN;
    task->has_times = task->has_company = task->is_visited = task->is_fixed = false;
    task->end = 0;
  }
  for (uint32_t i = 0; i < graph->tasks.len; i++)
    EG_TRY(eg_task_recompute(graph, i));
  return simulate_marked(graph);
}

egraph_status eg_task_graph_simulate(eg_task_graph *graph) {
  bool is_in_order = graph->backward_edges == 0 || graph->recomputed.len == 0;
  if (graph->is_broken || !is_in_order) return eg_task_graph_simulate_anew(graph);
  graph->is_broken = true;
  return simulate_marked(graph);
}

uint32_t eg_task_graph_recomputed(const eg_task_graph *graph) {
  return graph->last_recomputed;
}
