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
#include "pcg/plan/plan_words.h"

#define NEVER UINT32_MAX
#define MOST_TASKS (UINT32_C(1) << 31)
#define MOST_GRAPH_TASKS (UINT32_C(1) << 21) // with rounds: about a GiB

/// A run of a step, before it is a task.
typedef struct issued {
  uint32_t micro_batch, place, step;
} issued;
EG_VEC_DEFINE(issue_order, issued);

typedef struct maker {
  const eg_plan *plan;
  eg_plan_tasks *out;
  eg_u32s reader;           // [states] first step, moves apart, that needs it; NEVER
  eg_u32s is_entry;         // [states] there from the start, or moved from such
  eg_u32s computing_before; // [steps + 1]
  eg_u32s place;            // [steps] of the order of issue
  eg_u32s gate;             // [steps] of computing, after which a gather may begin; NEVER
  eg_u32s gate_lag;         // [steps] micro-batches before its own that the gate is in
  eg_u32s task_of;          // [micro-batch * steps + step]
  issue_order order;
  uint32_t computing; // the last task added that computes; NEVER
  const eg_simulation_setup *setup;
  bool is_slowed;                // computing is, beside exchanges
  eg_u32s shape;                 // [steps] of exchanges that are rounds; NEVER
  eg_u32s processor;             // [classes] links on which a device computes
  eg_u32s wire;                  // [streams * classes] links of exchanges in closed form
  eg_u32s enter, leave, streams; // [classes] of the exchange being added
} maker;
EG_OWNER_DEFINE_STATIC(maker,
                       (eg_u32s, reader, is_entry, computing_before, place, gate,
                        gate_lag, task_of, shape, processor, wire, enter, leave, streams),
                       (issue_order, order))

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

bool eg_plan_step_is_exchange(const eg_plan_step *step) {
  return step->is_move && !eg_transition_is_local(step->transition.kind) &&
         step->seconds > 0;
}

static bool is_computing(const eg_plan_step *step) {
  return step->seconds > 0 && !eg_plan_step_is_exchange(step);
}

static bool is_reduction(const eg_plan_step *step) {
  return step->transition.kind == EG_TRANSITION_ALL_REDUCE ||
         step->transition.kind == EG_TRANSITION_REDUCE_SCATTER;
}

static uint32_t operand_count(const eg_plan *plan, const eg_plan_step *step) {
  return step->is_move ? 1 : eg_graph_node_at(plan->graph, step->node).input_count;
}

static uint32_t operand_at(const eg_plan *plan, const eg_plan_step *step, uint32_t i) {
  return step->is_move ? step->from : plan->operands.data[step->operands + i];
}

// ---- who reads what ---------------------------------------------------------------

static egraph_status find_readers(maker *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(eg_u32s_resize(&m->reader, plan->states.len));
  EG_TRY(eg_u32s_resize(&m->is_entry, plan->states.len));
  for (size_t i = 0; i < plan->states.len; i++) {
    m->reader.data[i] = NEVER;
    m->is_entry.data[i] = plan->states.data[i].step == EG_PLAN_NONE;
  }
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    if (step->is_move) m->is_entry.data[step->to] = m->is_entry.data[step->from];
  }
  for (uint32_t s = (uint32_t)plan->steps.len; s-- > 0;) { // the first one wins
    const eg_plan_step *step = &plan->steps.data[s];
    for (uint32_t i = 0; i < operand_count(plan, step); i++) {
      uint32_t state = operand_at(plan, step, i);
      uint32_t reader = step->is_move ? m->reader.data[step->to] : s;
      if (reader < m->reader.data[state]) m->reader.data[state] = reader;
    }
  }
  return EGRAPH_OK;
}

// ---- the order of issue -----------------------------------------------------------

/// Where what a step reads is there: behind its makers. 0: from the start.
static uint32_t place_of_operands(const maker *m, const eg_plan_step *step) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < operand_count(m->plan, step); i++) {
    uint32_t by = m->plan->states.data[operand_at(m->plan, step, i)].step;
    if (by != EG_PLAN_NONE && m->place.data[by] + 1 > place)
      place = m->place.data[by] + 1;
  }
  return place;
}

static bool is_gather_ahead(const maker *m, const eg_plan_step *step) {
  return m->out->issue == EG_ISSUE_AHEAD && eg_plan_step_is_exchange(step) &&
         !is_reduction(step) && step->phase != EG_PHASE_UPDATE &&
         m->is_entry.data[step->from] && m->reader.data[step->to] != NEVER;
}

/// For every step the last computing one before it, NEVER: none; behind all steps the
/// last one of a micro-batch.
static egraph_status find_computing(maker *m) {
  const eg_plan *plan = m->plan;
  uint32_t before = NEVER, last = NEVER;
  EG_TRY(eg_u32s_resize(&m->computing_before, plan->steps.len + 1));
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    m->computing_before.data[s] = before;
    if (!is_computing(step)) continue;
    before = s;
    if (step->phase != EG_PHASE_UPDATE) last = s;
  }
  m->computing_before.data[plan->steps.len] = last;
  return EGRAPH_OK;
}

/// The last computing step before `step` in its micro-batch; where there is none, the
/// last of the micro-batch before.
static uint32_t computing_before(const maker *m, uint32_t step, uint32_t *out_lag) {
  uint32_t before = m->computing_before.data[step];
  *out_lag = before == NEVER;
  return before != NEVER ? before : m->computing_before.data[m->plan->steps.len];
}

/// Gathers may begin when the reader of those before begins. Those of the first reader
/// wait for the last reader of the micro-batch before.
static egraph_status find_gates(maker *m) {
  const eg_plan *plan = m->plan;
  uint32_t steps = (uint32_t)plan->steps.len, reader = NEVER, before = NEVER;
  uint32_t last_reader = NEVER;
  EG_TRY(eg_u32s_resize(&m->gate, steps));
  EG_TRY(eg_u32s_resize(&m->gate_lag, steps));
  for (uint32_t s = 0; s < steps; s++) {
    m->gate.data[s] = NEVER;
    if (is_gather_ahead(m, &plan->steps.data[s]))
      last_reader = m->reader.data[plan->steps.data[s].to];
  }
  for (uint32_t s = 0; s < steps; s++) {
    if (!is_gather_ahead(m, &plan->steps.data[s])) continue;
    uint32_t mine = m->reader.data[plan->steps.data[s].to], lag = 0;
    if (mine != reader) {
      before = reader;
      reader = mine;
    }
    bool is_first = before == NEVER;
    m->gate.data[s] = computing_before(m, is_first ? last_reader : before, &lag);
    m->gate_lag.data[s] = lag + (is_first ? 1 : 0);
  }
  return EGRAPH_OK;
}

/// The place in the micro-batch of the gather; one whose gate is in an earlier
/// micro-batch has the first.
static uint32_t place_of_gather(const maker *m, uint32_t s) {
  if (m->gate.data[s] == NEVER || m->gate_lag.data[s] != 0) return 0;
  return 2 * m->gate.data[s] + 1;
}

static egraph_status find_places(maker *m) {
  const eg_plan *plan = m->plan;
  uint32_t steps = (uint32_t)plan->steps.len;
  EG_TRY(eg_u32s_resize(&m->place, steps));
  for (uint32_t s = 0; s < steps; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    uint32_t made = place_of_operands(m, step), wanted = 2 * s;
    if (m->out->issue != EG_ISSUE_IN_ORDER && eg_plan_step_is_exchange(step)) {
      if (is_reduction(step)) wanted = made;
      if (is_gather_ahead(m, step)) wanted = place_of_gather(m, s);
    }
    m->place.data[s] = wanted > made ? wanted : made;
  }
  return EGRAPH_OK;
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
        EG_TRY(issue_order_push(&m->order, (issued){b, m->place.data[s], s}));
  if (m->order.len != 0)
    qsort(m->order.data, m->order.len, sizeof *m->order.data, by_place);
  return EGRAPH_OK;
}

// ---- exchanges as rounds ----------------------------------------------------------

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

/// Counts what is to be added before memory is spent on it.
static egraph_status count_tasks(maker *m) {
  double tasks = 0, classes = m->out->class_count;
  for (size_t i = 0; i < m->order.len; i++) {
    uint32_t s = m->order.data[i].step;
    uint32_t shape = m->shape.data[s];
    const eg_exchange_shape *rounds =
        shape == NEVER ? NULL : &m->out->flows.shapes.data[shape];
    tasks += rounds == NULL ? classes : 2 * classes + rounds->tasks;
    m->out->flow_count += rounds == NULL ? 0 : rounds->flows;
    m->out->closed_exchanges +=
        rounds == NULL && eg_plan_step_is_exchange(&m->plan->steps.data[s]);
  }
  if (m->setup->machine == NULL || tasks <= MOST_GRAPH_TASKS) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "in rounds the step is %.3g tasks of %u devices that differ, more than "
                 "%u: simulate a plan of fewer micro-batches or devices, by the "
                 "algorithm 'levels', or without rounds",
                 tasks, m->out->class_count, MOST_GRAPH_TASKS);
}

// ---- tasks ------------------------------------------------------------------------

static egraph_status add_streams(maker *m, const eg_machine_mesh *links) {
  eg_plan_tasks *out = m->out;
  const eg_mesh *mesh = &m->plan->mesh;
  uint32_t link_of[EG_MAX_MESH_AXES + 1] = {0};
  out->stream_count = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint32_t link = links == NULL ? 0 : links->links[a].link, stream = 1;
    bool is_own = m->setup->machine != NULL; // its links say what shares them
    while (stream < out->stream_count && (is_own || link_of[stream] != link))
      stream++;
    if (stream == out->stream_count) out->stream_count++;
    link_of[stream] = link;
    out->stream_of_axis[a] = stream;
  }
  for (uint32_t i = 0, stream; i < out->stream_count * out->class_count; i++)
    EG_TRY(eg_task_graph_add_stream(out->graph, &stream));
  return EGRAPH_OK;
}

/// A processor for each class, and a wire for each stream, which flows have to
/// themselves.
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

static uint32_t stream_of(const maker *m, const eg_plan_step *step) {
  if (m->out->issue == EG_ISSUE_IN_ORDER || is_computing(step)) return 0;
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
  return stream != 0 && m->out->issue == EG_ISSUE_REDUCTIONS && !is_reduction(step);
}

/// The task of the graph with which a run ends, of a class.
static uint32_t end_of(const maker *m, uint32_t run, uint32_t class) {
  return m->out->last.data[(size_t)run * m->out->class_count + class];
}

/// `task` is the one of the graph with which the run `number` begins, of a class.
static egraph_status add_dependencies(maker *m, const issued *run, uint32_t number,
                                      uint32_t class, uint32_t task) {
  const eg_plan_step *step = &m->plan->steps.data[run->step];
  eg_task_graph *graph = m->out->graph;
  for (uint32_t i = 0; i < operand_count(m->plan, step); i++) {
    uint32_t by = m->plan->states.data[operand_at(m->plan, step, i)].step;
    if (by != EG_PLAN_NONE)
      EG_TRY(eg_task_graph_depend(graph, task,
                                  end_of(m, *task_at(m, run->micro_batch, by), class)));
  }
  if (stands_behind(m, step, m->out->tasks.data[number].stream) && m->computing != NEVER)
    return eg_task_graph_depend(graph, task, end_of(m, m->computing, class));
  if (!is_gather_ahead(m, step)) return EGRAPH_OK;
  uint32_t gate = m->gate.data[run->step], lag = m->gate_lag.data[run->step];
  if (gate == NEVER || lag > run->micro_batch) return EGRAPH_OK;
  return eg_task_graph_depend(
      graph, task, end_of(m, *task_at(m, run->micro_batch - lag, gate), class));
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

/// One task: it takes the seconds of its step, or longer where it is slowed down.
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

static egraph_status add_rounds(maker *m, const issued *run, uint32_t number) {
  eg_plan_tasks *out = m->out;
  const eg_plan_step *step = &m->plan->steps.data[run->step];
  uint32_t classes = out->class_count, stream = out->tasks.data[number].stream, enter;
  m->enter.len = m->streams.len = 0;
  EG_TRY(eg_u32s_resize(&m->leave, classes));
  for (uint32_t c = 0; c < classes; c++) {
    EG_TRY(eg_u32s_push(&m->streams, c * out->stream_count + stream));
    EG_TRY(eg_task_graph_add_compute(out->graph, 0, &m->streams.data[c], 1, &enter));
    EG_TRY(eg_u32s_push(&m->enter, enter));
    EG_TRY(add_dependencies(m, run, number, c, enter));
  }
  const eg_exchange_ends ends = {m->enter.data, m->leave.data, m->streams.data,
                                 m->is_slowed ? m->processor.data : NULL};
  EG_TRY(eg_exchange_flows_add(&out->flows, out->graph, m->shape.data[run->step],
                               eg_plan_move_bytes(m->plan, step), &ends));
  for (uint32_t c = 0; c < classes; c++)
    EG_TRY(add_ends(m, number, m->enter.data[c], m->leave.data[c]));
  return EGRAPH_OK;
}

static egraph_status add_task(maker *m, const issued *run) {
  eg_plan_tasks *out = m->out;
  const eg_plan_step *step = &m->plan->steps.data[run->step];
  uint32_t stream = stream_of(m, step), number = (uint32_t)out->tasks.len, task;
  *task_at(m, run->micro_batch, run->step) = number;
  EG_TRY(eg_plan_task_list_push(&out->tasks,
                                (eg_plan_task){run->step, run->micro_batch, stream}));
  if (m->shape.data[run->step] != NEVER) {
    EG_TRY(add_rounds(m, run, number));
  } else {
    for (uint32_t c = 0; c < out->class_count; c++) {
      EG_TRY(add_closed(m, step, c, stream, &task));
      EG_TRY(add_ends(m, number, task, task));
      EG_TRY(add_dependencies(m, run, number, c, task));
    }
  }
  if (stream == 0) m->computing = number;
  return EGRAPH_OK;
}

static egraph_status make(maker *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(find_readers(m));
  EG_TRY(find_computing(m));
  EG_TRY(find_gates(m));
  EG_TRY(find_places(m));
  EG_TRY(order_runs(m));
  EG_TRY(find_shapes(m));
  EG_TRY(count_tasks(m));
  EG_TRY(eg_task_graph_create(m->order.alloc, &m->out->graph));
  EG_TRY(add_streams(m, m->setup->links));
  EG_TRY(add_processors(m));
  EG_TRY(eg_u32s_resize(&m->task_of, plan->steps.len * plan->micro_batches));
  for (size_t i = 0; i < m->order.len; i++)
    EG_TRY(add_task(m, &m->order.data[i]));
  return EGRAPH_OK;
}

egraph_status eg_plan_tasks_make_as(const eg_plan *plan, const eg_simulation_setup *setup,
                                    eg_plan_tasks *out) {
  if (eg_plan_is_folded(plan))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "a plan of which one block stands for several can be looked at, not "
                   "simulated");
  maker m;
  maker_init(&m, out->tasks.alloc);
  m.plan = plan;
  m.out = out;
  m.computing = NEVER;
  m.setup = setup;
  m.is_slowed = setup->beside > 1 && setup->issue != EG_ISSUE_IN_ORDER;
  out->issue = setup->issue;
  out->is_in_rounds = setup->machine != NULL;
  egraph_status status = make(&m);
  maker_deinit(&m);
  return status;
}

egraph_status eg_plan_tasks_make(const eg_plan *plan, const eg_machine_mesh *links,
                                 eg_issue issue, eg_plan_tasks *out) {
  return eg_plan_tasks_make_as(
      plan, &(eg_simulation_setup){.links = links, .issue = issue}, out);
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
  double start = eg_task_graph_times(t->graph, t->first.data[at]).start;
  return (eg_task_times){start, start,
                         eg_task_graph_times(t->graph, t->last.data[at]).end};
}

uint32_t eg_plan_task_cause(const eg_plan_tasks *t, uint32_t task) {
  size_t at = (size_t)task * t->class_count + t->shown;
  uint32_t cause = eg_task_graph_cause(t->graph, t->first.data[at]);
  return cause == UINT32_MAX ? EG_PLAN_NONE : t->owner.data[cause];
}
