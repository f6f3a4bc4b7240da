// Outline: every run of a step in a micro-batch is a task. A task gets a place in the
// order of issue (a micro-batch, then twice the step after which it stands, plus one for
// what comes behind that step's own task), tasks are added in this order, and depend on
// those that make what they read. A place is never before that of a maker, so the order
// is one in which a single stream could run everything, and no two streams wait for each
// other.
// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_tasks.h"

#include <stdlib.h>

#include "base/owner.h"

#define NEVER UINT32_MAX
#define MOST_TASKS (UINT32_C(1) << 31)

/// A run of a step, before it is a task.
typedef struct issued {
  uint32_t micro_batch, place, step;
} issued;
EG_VEC_DEFINE(issue_order, issued);

typedef struct maker {
  const eg_plan *plan;
  eg_plan_tasks *out;
  eg_issue_order issued; // its places
  eg_u32s task_of;       // [micro-batch * steps + step]
  issue_order order;
  uint32_t computing; // the last task added that computes; NEVER
} maker;
EG_OWNER_DEFINE_STATIC(maker, (eg_issue_order, issued), (eg_u32s, task_of),
                       (issue_order, order))

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc) {
  *tasks = (eg_plan_tasks){.graph = NULL, .slowdown = 1};
  eg_plan_task_list_init(&tasks->tasks, alloc);
}

void eg_plan_tasks_deinit(eg_plan_tasks *tasks) {
  eg_task_graph_destroy(tasks->graph);
  eg_plan_task_list_deinit(&tasks->tasks);
  tasks->graph = NULL;
}

static int by_place(const void *a, const void *b) {
  const issued *x = a, *y = b;
  if (x->micro_batch != y->micro_batch) return x->micro_batch < y->micro_batch ? -1 : 1;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return (x->step > y->step) - (x->step < y->step);
}

static egraph_status order_runs(maker *m) {
  const eg_plan *plan = m->plan;
  if ((double)plan->steps.len * plan->micro_batches > MOST_TASKS)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "%zu steps in %u micro-batches are more than %u tasks: simulate a plan "
        "of fewer micro-batches",
        plan->steps.len, plan->micro_batches, MOST_TASKS);
  for (uint32_t b = 0; b < plan->micro_batches; b++)
    for (uint32_t s = 0; s < plan->steps.len; s++)
      if (plan->steps.data[s].phase != EG_PHASE_UPDATE || b + 1 == plan->micro_batches)
        EG_TRY(issue_order_push(&m->order, (issued){b, m->issued.place.data[s], s}));
  if (m->order.len != 0)
    qsort(m->order.data, m->order.len, sizeof *m->order.data, by_place);
  return EGRAPH_OK;
}

// ---- tasks ------------------------------------------------------------------------

static egraph_status add_streams(maker *m, const eg_machine_mesh *links) {
  eg_plan_tasks *out = m->out;
  const eg_mesh *mesh = &m->plan->mesh;
  uint32_t link_of[EG_MAX_MESH_AXES + 1] = {0};
  out->stream_count = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint32_t link = links == NULL ? 0 : links->links[a].link, stream = 1;
    while (stream < out->stream_count && link_of[stream] != link)
      stream++;
    if (stream == out->stream_count) out->stream_count++;
    link_of[stream] = link;
    out->stream_of_axis[a] = stream;
  }
  for (uint32_t i = 0, stream; i < out->stream_count; i++)
    EG_TRY(eg_task_graph_add_stream(out->graph, &stream));
  if (!(out->slowdown > 1)) return EGRAPH_OK;
  EG_TRY(eg_task_graph_add_link(out->graph, 1 + 1 / out->slowdown, &out->device));
  for (uint32_t i = 0; i < out->stream_count; i++)
    EG_TRY(eg_task_graph_add_link(out->graph, 1, &out->own[i]));
  return EGRAPH_OK;
}

static uint32_t stream_of(const maker *m, const eg_plan_step *step) {
  if (m->out->issue == EG_ISSUE_IN_ORDER || eg_plan_step_computes(step)) return 0;
  if (!(step->seconds > 0)) return EG_PLAN_NO_STREAM;
  return m->out->stream_of_axis[step->transition.axis];
}

static uint32_t *task_at(maker *m, uint32_t micro_batch, uint32_t step) {
  return &m->task_of.data[(size_t)micro_batch * m->plan->steps.len + step];
}

/// Whether a task waits for the computing that it stands behind, lest it held memory
/// early: what takes no time (a view, a slice), which never keeps computing from going
/// on, and exchanges in their place.
static bool stands_behind(const maker *m, const eg_plan_step *step, uint32_t stream) {
  if (stream == EG_PLAN_NO_STREAM) return true;
  return stream != 0 && m->out->issue == EG_ISSUE_REDUCTIONS &&
         !eg_plan_step_is_reduction(step);
}

static egraph_status add_dependencies(maker *m, const issued *run, uint32_t task) {
  const eg_plan_step *step = &m->plan->steps.data[run->step];
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, step); i++) {
    uint32_t by = m->plan->states.data[eg_plan_step_operand(m->plan, step, i)].step;
    if (by != EG_PLAN_NONE)
      EG_TRY(
          eg_task_graph_depend(m->out->graph, task, *task_at(m, run->micro_batch, by)));
  }
  if (stands_behind(m, step, m->out->tasks.data[task].stream) && m->computing != NEVER)
    return eg_task_graph_depend(m->out->graph, task, m->computing);
  if (!eg_issue_is_ahead(&m->issued, step)) return EGRAPH_OK;
  uint32_t gate = m->issued.gate.data[run->step],
           lag = m->issued.gate_lag.data[run->step];
  if (gate == NEVER || lag > run->micro_batch) return EGRAPH_OK;
  return eg_task_graph_depend(m->out->graph, task,
                              *task_at(m, run->micro_batch - lag, gate));
}

static egraph_status add_task(maker *m, const issued *run) {
  eg_plan_tasks *out = m->out;
  const eg_plan_step *step = &m->plan->steps.data[run->step];
  uint32_t stream = stream_of(m, step), task = 0;
  if (out->slowdown > 1 && out->issue != EG_ISSUE_IN_ORDER &&
      stream != EG_PLAN_NO_STREAM) {
    const uint32_t links[] = {out->device, out->own[stream]};
    EG_TRY(eg_task_graph_add_flow(out->graph, 0, step->seconds, links, 2, &stream, 1,
                                  &task));
  } else {
    EG_TRY(eg_task_graph_add_compute(out->graph, step->seconds, &stream,
                                     stream != EG_PLAN_NO_STREAM, &task));
  }
  *task_at(m, run->micro_batch, run->step) = task;
  EG_TRY(eg_plan_task_list_push(&out->tasks,
                                (eg_plan_task){run->step, run->micro_batch, stream}));
  EG_TRY(add_dependencies(m, run, task));
  if (stream == 0) m->computing = task;
  return EGRAPH_OK;
}

static egraph_status make(maker *m, const eg_machine_mesh *links) {
  const eg_plan *plan = m->plan;
  EG_TRY(eg_issue_order_find(&m->issued, plan, m->out->issue));
  EG_TRY(order_runs(m));
  EG_TRY(eg_task_graph_create(m->order.alloc, &m->out->graph));
  EG_TRY(add_streams(m, links));
  EG_TRY(eg_u32s_resize(&m->task_of, plan->steps.len * plan->micro_batches));
  for (size_t i = 0; i < m->order.len; i++)
    EG_TRY(add_task(m, &m->order.data[i]));
  return EGRAPH_OK;
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
  m.computing = NEVER;
  out->issue = issue;
  egraph_status status = make(&m, links);
  maker_deinit(&m);
  return status;
}
