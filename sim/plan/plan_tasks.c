// Outline: runs become tasks in the order in which they begin, so that the streams of the
// task graph run them in this order. For each class of devices a run is one task of the
// graph. In rounds it is a task in which the class enters the exchange, its messages, and
// a task in which it leaves.
// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_tasks.h"

#include <string.h>

#include "base/groups.h"
#include "base/owner.h"
#include "pcg/plan/plan_words.h"

#define NEVER UINT32_MAX
#define MOST_TASKS (UINT32_C(1) << 31)
#define MOST_GRAPH_TASKS (UINT32_C(1) << 21) // with rounds: about a GiB

typedef struct maker {
  const eg_plan *plan;
  const eg_simulation_setup *setup;
  eg_plan_tasks *out;
  bool is_slowed; // computing is slower during exchanges
  eg_issue_order order;
  eg_u32s first_wait, waits; // waits in the schedule by the run that waits (groups.h)
  eg_u32s task_of,
      before;        // [runs] in out->tasks; run before it on its stream, NEVER: none
  eg_u32s shape;     // [steps] of exchanges that are rounds; others NEVER
  eg_u32s processor; // [classes] links on which a device computes
  eg_u32s wire;      // [streams * classes] links of exchanges in closed form
  eg_u32s enter, leave, streams; // [classes] of the exchange being added
  uint32_t turn, turn_end;       // current turn of computing; last run of the turn before
} maker;
EG_OWNER_DEFINE_STATIC(maker, (eg_u32s, first_wait, waits, task_of, before),
                       (eg_u32s, shape, processor, wire, enter, leave, streams),
                       (eg_issue_order, order))

#define OWNED                                                                            \
  (eg_plan_task_list, tasks), (eg_u32s, first, last, owner), (eg_exchange_flows, flows)

void eg_plan_tasks_init(eg_plan_tasks *tasks, egraph_allocator alloc) {
  *tasks = (eg_plan_tasks){.class_count = 1};
  EG_INIT_MEMBERS(tasks, alloc, OWNED)
}

void eg_plan_tasks_deinit(eg_plan_tasks *tasks) {
  eg_task_graph_destroy(tasks->graph);
  EG_DEINIT_MEMBERS(tasks, OWNED)
  tasks->graph = NULL;
}

// ---- exchanges as rounds ----------------------------------------------------------

static egraph_status check_plan_size(const eg_plan *plan) {
  if ((double)plan->steps.len * plan->micro_batches <= MOST_TASKS) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "%zu steps in %u micro-batches are more than %u tasks: simulate a plan "
                 "of fewer micro-batches",
                 plan->steps.len, plan->micro_batches, MOST_TASKS);
}

static bool is_in_rounds(const maker *m, const eg_plan_step *step) {
  return m->setup->machine != NULL && eg_plan_step_is_exchange(step) &&
         eg_exchange_is_known(m->setup->machine, m->setup->links, step->transition.axis);
}

static egraph_status find_shapes(maker *m) {
  const eg_plan *plan = m->plan;
  eg_exchange_flows *flows = &m->out->flows;
  EG_TRY(eg_u32s_resize(&m->shape, plan->steps.len));
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    m->shape.data[s] = NEVER;
    if (!is_in_rounds(m, step)) continue;
    eg_collective_algorithm algorithm = m->setup->algorithm;
    if (algorithm == EG_ALGORITHM_NONE)
      algorithm = eg_collective_algorithm_of(m->setup->links, &step->transition,
                                             eg_plan_move_bytes(plan, step));
    if (algorithm != EG_ALGORITHM_NONE)
      EG_TRY(eg_exchange_flows_shape(flows, step->transition.axis, step->transition.kind,
                                     algorithm, &m->shape.data[s]));
  }
  if (m->setup->machine == NULL) return EGRAPH_OK;
  EG_TRY(eg_exchange_flows_make(flows, m->setup->machine, &plan->mesh,
                                m->setup->all_devices));
  m->out->class_count = flows->class_count;
  return EGRAPH_OK;
}

/// Counts the tasks of the task graph before memory is allocated for them.
static egraph_status count_tasks(maker *m) {
  const eg_plan *plan = m->plan;
  double tasks = 0, classes = m->out->class_count;
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    uint32_t shape = m->shape.data[s], runs = plan->steps.data[s].phase == EG_PHASE_UPDATE
                                                  ? 1
                                                  : plan->micro_batches;
    if (shape == NEVER) {
      tasks += runs * classes;
      if (eg_plan_step_is_exchange(&plan->steps.data[s]))
        m->out->closed_exchanges += runs;
      continue;
    }
    const eg_exchange_shape *rounds = &m->out->flows.shapes.data[shape];
    tasks += runs * (2 * classes + rounds->tasks);
    m->out->flow_count += runs * rounds->flows;
  }
  if (m->setup->machine == NULL || tasks <= MOST_GRAPH_TASKS) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "in rounds the step is %.3g tasks of %u devices that differ, more than "
                 "%u: simulate a plan of fewer micro-batches or devices, by the "
                 "algorithm 'levels', or without rounds",
                 tasks, m->out->class_count, MOST_GRAPH_TASKS);
}

// ---- tasks ------------------------------------------------------------------------

static egraph_status add_streams(maker *m) {
  eg_plan_tasks *out = m->out;
  out->stream_count = m->order.stream_count;
  memcpy(out->stream_of_axis, m->order.stream_of_axis, sizeof out->stream_of_axis);
  for (uint32_t i = 0, stream; i < out->stream_count * out->class_count; i++)
    EG_TRY(eg_task_graph_add_stream(out->graph, &stream));
  return EGRAPH_OK;
}

/// Adds the links of exchanges. When exchanges slow computing, also adds a link for the
/// processor of each class of devices, and a wire for each stream of a class.
static egraph_status add_processors(maker *m) {
  eg_plan_tasks *out = m->out;
  uint32_t link;
  for (uint32_t c = 0; c < out->class_count && m->is_slowed; c++) {
    EG_TRY(eg_task_graph_add_slowed_link(out->graph, 1, 1 / m->setup->beside, &link));
    EG_TRY(eg_u32s_push(&m->processor, link));
  }
  for (uint32_t i = 0; i < out->class_count * out->stream_count && m->is_slowed; i++) {
    EG_TRY(eg_task_graph_add_link(out->graph, 1, &link));
    EG_TRY(eg_u32s_push(&m->wire, link));
  }
  return eg_exchange_flows_add_links(&out->flows, out->graph);
}

/// Makes `task` wait for the end of a run of a plan step in a class of devices.
static egraph_status depend_on(maker *m, uint32_t task, uint32_t run, uint32_t class) {
  size_t at = (size_t)m->task_of.data[run] * m->out->class_count + class;
  return eg_task_graph_depend(m->out->graph, task, m->out->last.data[at]);
}

/// Makes `task` wait, in a class of devices, for all runs for which `run` waits.
static egraph_status depend_like(maker *m, uint32_t task, uint32_t run, uint32_t class) {
  for (uint32_t i = m->first_wait.data[run]; i < m->first_wait.data[run + 1]; i++)
    EG_TRY(depend_on(m, task, m->order.schedule.waits_for.data[m->waits.data[i]], class));
  return EGRAPH_OK;
}

/// Adds the waits of `task`, which begins a run in a class of devices. A gather whose
/// window (earliest begin) was opened by a run begins with that run: it waits for the
/// same runs, and for the run before that one on its stream.
static egraph_status depend(maker *m, uint32_t task, uint32_t run, uint32_t class) {
  uint32_t opener = m->order.schedule.let_in.data[run];
  EG_TRY(depend_like(m, task, run, class));
  if (opener == EG_RUN_NONE) return EGRAPH_OK;
  EG_TRY(depend_like(m, task, opener, class));
  uint32_t before = m->before.data[opener];
  return before == NEVER ? EGRAPH_OK : depend_on(m, task, before, class);
}

static egraph_status add_ends(maker *m, uint32_t number, uint32_t first, uint32_t last) {
  eg_plan_tasks *out = m->out;
  size_t before = out->owner.len;
  EG_TRY(eg_u32s_push(&out->first, first));
  EG_TRY(eg_u32s_push(&out->last, last));
  EG_TRY(eg_u32s_resize(&out->owner, eg_task_graph_task_count(out->graph)));
  for (size_t i = before; i < out->owner.len; i++)
    out->owner.data[i] = EG_PLAN_NO_STREAM;
  out->owner.data[first] = out->owner.data[last] = number;
  return EGRAPH_OK;
}

/// Adds a task for a run: it takes the seconds of its step, or longer if slowed down.
static egraph_status add_closed(maker *m, const eg_plan_step *step, uint32_t class,
                                uint32_t stream, uint32_t *out_task) {
  eg_plan_tasks *out = m->out;
  uint32_t number = class * out->stream_count + stream;
  size_t streams = stream != EG_PLAN_NO_STREAM;
  if (!m->is_slowed || streams == 0)
    return eg_task_graph_add_compute(out->graph, step->seconds, &number, streams,
                                     out_task);
  if (stream == 0)
    return eg_task_graph_add_flow(out->graph, 0, step->seconds, &m->processor.data[class],
                                  1, &number, 1, out_task);
  const uint32_t links[] = {m->wire.data[number], m->processor.data[class]};
  const uint32_t weights[] = {1, 0};
  return eg_task_graph_add_flows(out->graph, 0, step->seconds, links, weights, 2, &number,
                                 1, out_task);
}

/// Adds an exchange: every class of devices enters it, sends and receives, and leaves.
static egraph_status add_exchange_rounds(maker *m, uint32_t run, const eg_plan_step *step,
                                         uint32_t shape) {
  eg_plan_tasks *out = m->out;
  uint32_t stream = m->order.schedule.runs.data[run].stream, enter;
  m->enter.len = m->streams.len = 0;
  EG_TRY(eg_u32s_resize(&m->leave, out->class_count));
  for (uint32_t c = 0; c < out->class_count; c++) {
    EG_TRY(eg_u32s_push(&m->streams, c * out->stream_count + stream));
    EG_TRY(eg_task_graph_add_compute(out->graph, 0, &m->streams.data[c], 1, &enter));
    EG_TRY(eg_u32s_push(&m->enter, enter));
    EG_TRY(depend(m, enter, run, c));
  }
  const eg_exchange_ends ends = {m->enter.data, m->leave.data, m->streams.data,
                                 m->is_slowed ? m->processor.data : NULL};
  EG_TRY(eg_exchange_flows_add(&out->flows, out->graph, shape,
                               eg_plan_move_bytes(m->plan, step), &ends));
  for (uint32_t c = 0; c < out->class_count; c++)
    EG_TRY(add_ends(m, m->task_of.data[run], m->enter.data[c], m->leave.data[c]));
  return EGRAPH_OK;
}

/// Makes a run that takes no time and has no stream wait for the last run on stream 0
/// before its own turn, or for no run if computing has already passed that turn.
static egraph_status wait_for_turn(maker *m, uint32_t task, uint32_t turn, uint32_t last,
                                   uint32_t class) {
  uint32_t on = turn > m->turn ? last : m->turn_end;
  return turn < m->turn || on == NEVER ? EGRAPH_OK : depend_on(m, task, on, class);
}

static egraph_status add_task(maker *m, uint32_t run, uint32_t *last) {
  eg_plan_tasks *out = m->out;
  uint32_t steps = (uint32_t)m->plan->steps.len, index = m->order.step_of.data[run];
  uint32_t s = index % steps, stream = m->order.schedule.runs.data[run].stream;
  const eg_plan_step *step = &m->plan->steps.data[s];
  uint32_t turn = m->order.schedule.runs.data[run].turn;
  m->task_of.data[run] = (uint32_t)out->tasks.len;
  EG_TRY(eg_plan_task_list_push(&out->tasks, (eg_plan_task){s, index / steps, stream}));
  if (stream == 0 && turn > m->turn) {
    m->turn = turn;
    m->turn_end = last[0];
  }
  if (stream != EG_RUN_NONE) {
    m->before.data[run] = last[stream];
    last[stream] = run;
  }
  if (m->shape.data[s] != NEVER)
    return add_exchange_rounds(m, run, step, m->shape.data[s]);
  for (uint32_t c = 0, task; c < out->class_count; c++) {
    EG_TRY(add_closed(m, step, c, stream, &task));
    EG_TRY(add_ends(m, m->task_of.data[run], task, task));
    EG_TRY(depend(m, task, run, c));
    if (stream == EG_RUN_NONE) EG_TRY(wait_for_turn(m, task, turn, last[0], c));
  }
  return EGRAPH_OK;
}

static egraph_status add_tasks(maker *m) {
  uint32_t last[EG_MAX_MESH_AXES + 1];
  for (size_t i = 0; i < sizeof last / sizeof *last; i++)
    last[i] = NEVER;
  m->turn_end = NEVER;
  EG_TRY(eg_group_items(&m->order.schedule.waiter, m->order.schedule.runs.len,
                        &m->first_wait, &m->waits));
  EG_TRY(eg_u32s_resize(&m->task_of, m->order.schedule.runs.len));
  EG_TRY(eg_u32s_fill(&m->before, m->order.schedule.runs.len, NEVER));
  for (size_t i = 0; i < m->order.schedule.order.len; i++)
    EG_TRY(add_task(m, m->order.schedule.order.data[i], last));
  return EGRAPH_OK;
}

egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_simulation_setup *setup,
                                 eg_plan_tasks *out) {
  if (eg_plan_is_folded(plan))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a plan of which one block stands for several can be looked at, not "
                   "simulated");
  EG_LOCAL(maker, m, out->tasks.alloc);
  m.plan = plan;
  m.out = out;
  m.setup = setup;
  m.is_slowed = setup->beside > 1 && setup->issue != EG_ISSUE_IN_ORDER;
  out->issue = setup->issue;
  out->is_in_rounds = setup->machine != NULL;
  EG_TRY(check_plan_size(plan));
  EG_TRY(find_shapes(&m));
  EG_TRY(count_tasks(&m));
  EG_TRY(
      eg_issue_order_find(&m.order, plan, setup->links, out->is_in_rounds, setup->issue));
  EG_TRY(eg_task_graph_create(m.task_of.alloc, &out->graph));
  EG_TRY(add_streams(&m));
  EG_TRY(add_processors(&m));
  return add_tasks(&m);
}

// ---- times ------------------------------------------------------------------------

void eg_plan_tasks_show(eg_plan_tasks *t) {
  double end = eg_task_graph_makespan(t->graph);
  for (size_t i = 0; i < t->last.len; i++)
    if (eg_task_graph_times(t->graph, t->last.data[i]).end == end) {
      t->shown = (uint32_t)(i % t->class_count);
      return;
    }
}

eg_task_times eg_plan_task_times(const eg_plan_tasks *t, uint32_t task) {
  size_t at = (size_t)task * t->class_count + t->shown;
  assert(at < t->first.len);
  double start = eg_task_graph_times(t->graph, t->first.data[at]).start;
  return (eg_task_times){start, start,
                         eg_task_graph_times(t->graph, t->last.data[at]).end};
}

uint32_t eg_plan_task_cause(const eg_plan_tasks *t, uint32_t task) {
  size_t at = (size_t)task * t->class_count + t->shown;
  uint32_t cause = eg_task_graph_cause(t->graph, t->first.data[at]);
  return cause == UINT32_MAX ? EG_PLAN_NONE : t->owner.data[cause];
}
