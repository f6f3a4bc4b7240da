// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_simulation.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"

EG_OWNER_DEFINE(eg_plan_simulation, (eg_plan_tasks, tasks), (eg_u32s, critical),
                (eg_memory_curve, memory), (eg_lives, alive))

static eg_task_times times_of(const eg_plan_simulation *s, uint32_t task) {
  return eg_plan_task_times(&s->tasks, task);
}

// ---- streams ----------------------------------------------------------------------

/// Sums up the seconds of every stream, and a lower bound: the most seconds of tasks that
/// nothing slows down or, for exchanges in rounds of messages, of the bytes of a link.
static void sum_busy(const eg_plan *plan, eg_plan_simulation *s) {
  double least[EG_MAX_MESH_AXES + 1] = {0};
  for (uint32_t t = 0; t < s->tasks.tasks.len; t++) {
    const eg_plan_task *task = &s->tasks.tasks.data[t];
    const eg_plan_step *step = &plan->steps.data[task->step];
    eg_task_times times = times_of(s, t);
    if (task->stream == EG_PLAN_NO_STREAM) continue;
    s->busy[task->stream] += times.end - times.start;
    if (!s->tasks.is_in_rounds || !eg_plan_step_is_exchange(step))
      least[task->stream] += step->seconds;
  }
  s->most_busy = eg_exchange_flows_most_busy(&s->tasks.flows);
  for (uint32_t i = 0; i < s->tasks.stream_count; i++)
    if (least[i] > s->most_busy) s->most_busy = least[i];
}

// ---- waits ------------------------------------------------------------------------

/// Charges the time in which computing is idle, from `since` to the end of `task`, to the
/// tasks that run then; each of them is the cause of the next one.
static void charge_wait(const eg_plan *plan, eg_plan_simulation *s, uint32_t task,
                        double since) {
  while (task != EG_PLAN_NONE) {
    const eg_plan_step *step = &plan->steps.data[s->tasks.tasks.data[task].step];
    eg_task_times times = times_of(s, task);
    double begin = times.start > since ? times.start : since;
    if (times.end <= since) return;
    if (eg_plan_step_is_exchange(step) && times.end > begin) {
      eg_plan_wait *wait =
          &s->wait[step->phase][step->transition.axis][step->transition.kind];
      wait->seconds += times.end - begin;
      wait->count++;
    }
    task = eg_plan_task_cause(&s->tasks, task);
  }
}

/// Finds a task that ends when the training step ends, if possible one that takes time.
static uint32_t last_task(const eg_plan_simulation *s) {
  uint32_t last = EG_PLAN_NONE;
  for (uint32_t t = 0; t < s->tasks.tasks.len; t++)
    if (times_of(s, t).end == s->seconds &&
        (last == EG_PLAN_NONE || s->tasks.tasks.data[last].stream == EG_PLAN_NO_STREAM))
      last = t;
  return last;
}

static void find_waits(const eg_plan *plan, eg_plan_simulation *s) {
  double since = 0;
  for (uint32_t t = 0; t < s->tasks.tasks.len; t++) {
    if (s->tasks.tasks.data[t].stream != 0) continue;
    eg_task_times times = times_of(s, t);
    if (times.start > since)
      charge_wait(plan, s, eg_plan_task_cause(&s->tasks, t), since);
    since = times.end;
  }
  if (s->seconds > since) charge_wait(plan, s, last_task(s), since);
}

static egraph_status find_critical(eg_plan_simulation *s) {
  for (uint32_t t = last_task(s); t != EG_PLAN_NONE; t = eg_plan_task_cause(&s->tasks, t))
    EG_TRY(eg_u32s_push(&s->critical, t));
  for (size_t i = 0, j = s->critical.len; i + 1 < j; i++) {
    uint32_t other = s->critical.data[--j];
    s->critical.data[j] = s->critical.data[i];
    s->critical.data[i] = other;
  }
  return EGRAPH_OK;
}

// ---- memory -----------------------------------------------------------------------

/// Bytes that a device begins (> 0) or ceases (< 0) to hold at a time.
typedef struct memory_event {
  double seconds, bytes;
} memory_event;
EG_VEC_DEFINE(memory_events, memory_event);

typedef struct memory_sum {
  const eg_plan *plan;
  eg_plan_simulation *s;
  eg_u32s task_of;        // [micro-batch * steps + step]
  eg_u32s first_read;     // [states + 1] index in `reads`
  eg_u32s reads;          // steps that read a state
  eg_lives lives, placed; // lives of the plan; the same placed in each micro-batch
  eg_doubles from, until; // [placed] seconds; until INFINITY: the end
  memory_events events;
} memory_sum;
EG_OWNER_DEFINE_STATIC(memory_sum, (eg_u32s, task_of, first_read, reads),
                       (eg_lives, lives, placed), (eg_doubles, from, until),
                       (memory_events, events))

static egraph_status find_tasks(memory_sum *m) {
  size_t steps = m->plan->steps.len;
  EG_TRY(eg_u32s_resize(&m->task_of, steps * m->plan->micro_batches));
  for (uint32_t t = 0; t < m->s->tasks.tasks.len; t++) {
    const eg_plan_task *task = &m->s->tasks.tasks.data[t];
    m->task_of.data[task->micro_batch * steps + task->step] = t;
  }
  return EGRAPH_OK;
}

static eg_task_times run_times(const memory_sum *m, uint32_t micro_batch, uint32_t step) {
  size_t at = (size_t)micro_batch * m->plan->steps.len + step;
  return times_of(m->s, m->task_of.data[at]);
}

static egraph_status find_reads(memory_sum *m) {
  const eg_plan *plan = m->plan;
  eg_u32s *first = &m->first_read;
  EG_TRY(eg_u32s_resize(first, plan->states.len + 1));
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t s = 0; s < plan->steps.len; s++) {
      const eg_plan_step *step = &plan->steps.data[s];
      for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, step); i++) {
        uint32_t state = eg_plan_step_operand(plan, step, i);
        if (pass == 0)
          first->data[state]++;
        else
          m->reads.data[--first->data[state]] = s;
      }
    }
    if (pass == 1) break;
    for (size_t i = 1; i < first->len; i++)
      first->data[i] += first->data[i - 1];
    EG_TRY(eg_u32s_resize(&m->reads, first->data[first->len - 1]));
  }
  return EGRAPH_OK;
}

/// Returns when a device ceases to hold a state in a micro-batch: the latest end of its
/// readers, which may differ from the end of the plan's last reader.
static double end_of(const memory_sum *m, const eg_life *life, uint32_t micro_batch) {
  double end = run_times(m, micro_batch, life->until).end;
  if (life->state == EG_PLAN_NONE) return end;
  for (uint32_t i = m->first_read.data[life->state];
       i < m->first_read.data[life->state + 1]; i++) {
    uint32_t step = m->reads.data[i];
    if (step > life->until || step < life->from) continue;
    double own = run_times(m, micro_batch, step).end;
    if (own > end) end = own;
  }
  return end;
}

static egraph_status add_placed_life(memory_sum *m, const eg_life *life, double from,
                                     double until) {
  assert(from <= until);
  EG_TRY(eg_lives_push(&m->placed, *life));
  EG_TRY(eg_doubles_push(&m->from, from));
  EG_TRY(eg_doubles_push(&m->until, until));
  EG_TRY(memory_events_push(&m->events, (memory_event){from, life->bytes}));
  if (isinf(until)) return EGRAPH_OK;
  return memory_events_push(&m->events, (memory_event){until, -life->bytes});
}

/// Adds the times at which a device begins and ceases to hold a state; a state that is
/// made and used within a micro-batch has such times in each.
static egraph_status place_life(memory_sum *m, const eg_life *life) {
  uint32_t last = m->plan->micro_batches - 1;
  bool is_whole = life->store == EG_STORE_CARRIED || life->store == EG_STORE_INPUT;
  bool is_sum = life->store == EG_STORE_ACCUMULATOR && life->from == 0;
  bool is_own = life->store == EG_STORE_TRANSIENT || life->store == EG_STORE_STASH ||
                life->store == EG_STORE_SCRATCH;
  if (m->plan->steps.len == 0 || is_whole) return add_placed_life(m, life, 0, INFINITY);
  bool repeats = is_own && m->plan->steps.data[life->from].phase != EG_PHASE_UPDATE;
  for (uint32_t b = repeats ? 0 : last; b <= last; b++) {
    double from = is_sum ? 0 : run_times(m, b, life->from).start;
    double until = life->store == EG_STORE_OUTPUT ? INFINITY : end_of(m, life, b);
    EG_TRY(add_placed_life(m, life, from, until));
  }
  return EGRAPH_OK;
}

/// Compares memory events by time; at equal times, ends come before beginnings.
static int by_time(const void *a, const void *b) {
  const memory_event *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static egraph_status draw_curve(memory_sum *m) {
  eg_plan_simulation *s = m->s;
  double bytes = 0;
  if (m->events.len != 0)
    qsort(m->events.data, m->events.len, sizeof *m->events.data, by_time);
  for (size_t i = 0; i < m->events.len; i++) {
    bytes += m->events.data[i].bytes;
    double seconds = m->events.data[i].seconds;
    if (i + 1 < m->events.len && m->events.data[i + 1].seconds == seconds) continue;
    EG_TRY(eg_memory_curve_push(&s->memory, (eg_memory_point){seconds, bytes}));
    if (bytes <= s->peak_bytes) continue;
    s->peak_bytes = bytes;
    s->peak_seconds = seconds;
  }
  return EGRAPH_OK;
}

static int by_bytes(const void *a, const void *b) {
  const eg_life *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return (x->state > y->state) - (x->state < y->state);
}

static egraph_status find_alive(memory_sum *m) {
  eg_lives *alive = &m->s->alive;
  double at = m->s->peak_seconds;
  for (size_t i = 0; i < m->placed.len; i++)
    if (m->from.data[i] <= at && m->until.data[i] > at)
      EG_TRY(eg_lives_push(alive, m->placed.data[i]));
  if (alive->len != 0) qsort(alive->data, alive->len, sizeof *alive->data, by_bytes);
  return EGRAPH_OK;
}

static egraph_status sum_memory(const eg_plan *plan, eg_plan_simulation *s) {
  EG_LOCAL(memory_sum, m, s->memory.alloc);
  m.plan = plan;
  m.s = s;
  EG_TRY(find_tasks(&m));
  EG_TRY(find_reads(&m));
  EG_TRY(eg_plan_lives(plan, m.lives.alloc, &m.lives));
  for (size_t i = 0; i < m.lives.len; i++)
    EG_TRY(place_life(&m, &m.lives.data[i]));
  EG_TRY(draw_curve(&m));
  return find_alive(&m);
}

egraph_status eg_plan_simulate_as(const eg_plan *plan, const eg_simulation_setup *setup,
                                  eg_plan_simulation *out) {
  EG_TRY(eg_plan_tasks_make(plan, setup, &out->tasks));
  EG_TRY(eg_task_graph_simulate(out->tasks.graph));
  eg_plan_tasks_show(&out->tasks);
  out->seconds = eg_task_graph_makespan(out->tasks.graph);
  sum_busy(plan, out);
  find_waits(plan, out);
  EG_TRY(find_critical(out));
  EG_TRY(sum_memory(plan, out));
  out->wanted_bytes = out->peak_bytes;
  return EGRAPH_OK;
}

egraph_status eg_plan_simulate_shortest_as(const eg_plan *plan,
                                           const eg_simulation_setup *setup,
                                           double memory_limit, eg_plan_simulation *out) {
  eg_simulation_setup own = *setup;
  bool has_any = false;
  double shortest = INFINITY, wanted = 0;
  egraph_status status = EGRAPH_OK;
  for (int issue = 0; status == EGRAPH_OK && issue < EG_ISSUES; issue++) {
    eg_plan_simulation next;
    eg_plan_simulation_init(&next, out->memory.alloc);
    own.issue = (eg_issue)issue;
    status = eg_plan_simulate_as(plan, &own, &next);
    if (next.seconds < shortest) {
      shortest = next.seconds;
      wanted = next.peak_bytes;
    }
    bool fits = next.peak_bytes <= memory_limit;
    bool is_better = fits ? !has_any || next.seconds < out->seconds
                          : !has_any && issue == EG_ISSUE_IN_ORDER;
    if (status == EGRAPH_OK && is_better) {
      eg_plan_simulation other = *out;
      *out = next;
      next = other;
      has_any = true;
    }
    eg_plan_simulation_deinit(&next);
  }
  out->wanted_bytes = wanted;
  return status;
}

egraph_status eg_plan_simulate(const eg_plan *plan, const eg_machine_mesh *links,
                               eg_issue issue, eg_plan_simulation *out) {
  return eg_plan_simulate_as(plan, &(eg_simulation_setup){.links = links, .issue = issue},
                             out);
}

egraph_status eg_plan_simulate_shortest(const eg_plan *plan, const eg_machine_mesh *links,
                                        double memory_limit, eg_plan_simulation *out) {
  return eg_plan_simulate_shortest_as(plan, &(eg_simulation_setup){.links = links},
                                      memory_limit, out);
}
