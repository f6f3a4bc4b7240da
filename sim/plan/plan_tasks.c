// Outline: runs become tasks in the order in which they begin, so that the streams of the
// task graph run them in it.
// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_tasks.h"

#include <string.h>

#include "base/owner.h"

#define NEVER UINT32_MAX

typedef struct maker {
  const eg_plan *plan;
  eg_plan_tasks *out;
  eg_issue_order order;
  eg_u32s first_wait, waits; // [runs + 2]: runs that a run waits for
  eg_u32s task_of, before;   // [runs]; run before it on its stream, NEVER: none
} maker;
EG_OWNER_DEFINE_STATIC(maker, (eg_issue_order, order),
                       (eg_u32s, first_wait, waits, task_of, before))

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc) {
  *tasks = (eg_plan_tasks){.graph = NULL, .beside = 1};
  eg_plan_task_list_init(&tasks->tasks, alloc);
}

void eg_plan_tasks_deinit(eg_plan_tasks *tasks) {
  eg_task_graph_destroy(tasks->graph);
  eg_plan_task_list_deinit(&tasks->tasks);
  tasks->graph = NULL;
}

/// In order, nothing runs beside anything.
static bool is_slowed(const eg_plan_tasks *out) {
  return out->beside > 1 && out->issue != EG_ISSUE_IN_ORDER;
}

static egraph_status add_streams(maker *m) {
  eg_plan_tasks *out = m->out;
  out->stream_count = m->order.stream_count;
  memcpy(out->stream_of_axis, m->order.stream_of_axis, sizeof out->stream_of_axis);
  for (uint32_t i = 0, stream; i < out->stream_count; i++)
    EG_TRY(eg_task_graph_add_stream(out->graph, &stream));
  if (!is_slowed(out)) return EGRAPH_OK;
  EG_TRY(eg_task_graph_add_link(out->graph, 1 + 1 / out->beside, &out->device));
  for (uint32_t i = 0; i < out->stream_count; i++)
    EG_TRY(eg_task_graph_add_link(out->graph, 1, &out->own[i]));
  return EGRAPH_OK;
}

/// What slows others down is a flow over the device that they share.
static egraph_status add_work(eg_plan_tasks *out, const eg_run *what,
                              uint32_t *out_task) {
  bool has_stream = what->stream != EG_RUN_NONE;
  if (!is_slowed(out) || !has_stream)
    return eg_task_graph_add_compute(out->graph, what->seconds, &what->stream, has_stream,
                                     out_task);
  const uint32_t links[] = {out->device, out->own[what->stream]};
  return eg_task_graph_add_flow(out->graph, 0, what->seconds, links, 2, &what->stream, 1,
                                out_task);
}

static egraph_status list_waits(maker *m) {
  const eg_list_schedule *s = &m->order.schedule;
  EG_TRY(eg_u32s_resize(&m->first_wait, s->runs.len + 2));
  EG_TRY(eg_u32s_resize(&m->waits, s->waiter.len));
  for (size_t i = 0; i < s->waiter.len; i++)
    m->first_wait.data[s->waiter.data[i] + 2]++;
  for (size_t i = 2; i < m->first_wait.len; i++)
    m->first_wait.data[i] += m->first_wait.data[i - 1];
  for (size_t i = 0; i < s->waiter.len; i++)
    m->waits.data[m->first_wait.data[s->waiter.data[i] + 1]++] = s->waits_for.data[i];
  return EGRAPH_OK;
}

/// `task` waits for all that `run` waits for.
static egraph_status depend_like(maker *m, uint32_t task, uint32_t run) {
  for (uint32_t i = m->first_wait.data[run]; i < m->first_wait.data[run + 1]; i++)
    EG_TRY(eg_task_graph_depend(m->out->graph, task, m->task_of.data[m->waits.data[i]]));
  return EGRAPH_OK;
}

/// A gather that was let in begins when the run that let it in does: it waits for what
/// that waits for, and for what stands before that on its stream.
static egraph_status depend(maker *m, uint32_t run) {
  uint32_t task = m->task_of.data[run], opener = m->order.schedule.let_in.data[run];
  EG_TRY(depend_like(m, task, run));
  if (opener == EG_RUN_NONE) return EGRAPH_OK;
  EG_TRY(depend_like(m, task, opener));
  uint32_t before = m->before.data[opener];
  return before == NEVER
             ? EGRAPH_OK
             : eg_task_graph_depend(m->out->graph, task, m->task_of.data[before]);
}

static egraph_status add_task(maker *m, uint32_t run, uint32_t *last) {
  eg_plan_tasks *out = m->out;
  const eg_run *what = &m->order.schedule.runs.data[run];
  uint32_t steps = (uint32_t)m->plan->steps.len, index = m->order.step_of.data[run];
  bool has_stream = what->stream != EG_RUN_NONE;
  EG_TRY(add_work(out, what, &m->task_of.data[run]));
  if (has_stream) {
    m->before.data[run] = last[what->stream];
    last[what->stream] = run;
  }
  EG_TRY(eg_plan_task_list_push(
      &out->tasks, (eg_plan_task){index % steps, index / steps, what->stream}));
  return depend(m, run);
}

static egraph_status fill(eg_u32s *numbers, size_t count) {
  EG_TRY(eg_u32s_resize(numbers, count));
  for (size_t i = 0; i < count; i++)
    numbers->data[i] = NEVER;
  return EGRAPH_OK;
}

static egraph_status add_tasks(maker *m) {
  uint32_t last[EG_MAX_MESH_AXES + 1];
  for (size_t i = 0; i < sizeof last / sizeof *last; i++)
    last[i] = NEVER;
  EG_TRY(list_waits(m));
  EG_TRY(eg_u32s_resize(&m->task_of, m->order.schedule.runs.len));
  EG_TRY(fill(&m->before, m->order.schedule.runs.len));
  for (size_t i = 0; i < m->order.schedule.order.len; i++)
    EG_TRY(add_task(m, m->order.schedule.order.data[i], last));
  return EGRAPH_OK;
}

static egraph_status make(maker *m, const eg_machine_mesh *links) {
  EG_TRY(eg_issue_order_find(&m->order, m->plan, links, m->out->issue));
  EG_TRY(eg_task_graph_create(m->task_of.alloc, &m->out->graph));
  EG_TRY(add_streams(m));
  return add_tasks(m);
}

egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_machine_mesh *links,
                                 eg_issue issue, eg_plan_tasks *out) {
  if (eg_plan_is_folded(plan))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a plan of which one block stands for several can be looked at, not "
                   "simulated");
  maker m;
  maker_init(&m, out->tasks.alloc);
  m.plan = plan;
  m.out = out;
  out->issue = issue;
  egraph_status status = make(&m, links);
  maker_deinit(&m);
  return status;
}
