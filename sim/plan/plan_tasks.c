// Outline: every run of a step in a micro-batch is a run of a list schedule (in the order
// of micro-batches and steps), which waits for those that make what it reads and for what
// the order of issue adds. The schedule says in which order runs begin; in this order
// they become tasks, so that the streams of the task graph run them in it. A run is a
// task of the graph for each class of devices, or, in rounds, one with which a class
// enters the exchange, its messages, and one with which it leaves.
// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_tasks.h"

#include "base/owner.h"
#include "pcg/plan/plan_words.h"
#include "sim/plan/list_schedule.h"

#define NEVER UINT32_MAX
#define MOST_TASKS (UINT32_C(1) << 31)
#define MOST_GRAPH_TASKS (UINT32_C(1) << 21) // with rounds: about a GiB

typedef struct maker {
  const eg_plan *plan;
  const eg_simulation_setup *setup;
  eg_plan_tasks *out;
  bool is_slowed;           // computing is, beside exchanges
  uint32_t readers_ahead;   // 0: gathers do not run ahead
  eg_u32s reader;           // [states] first step, moves apart, that needs it; NEVER
  eg_u32s entry;            // [states] there from the start that it is moved from; NEVER
  eg_u32s entry_of;         // [values] its entry; NEVER
  eg_u32s origin;           // [states] step, moves apart, that makes it; NEVER: an entry
  eg_u32s computing_before; // [steps + 1]
  eg_u32s window, opens;    // [steps] of a gather ahead, of its reader; NEVER
  uint32_t windows;         // in a micro-batch
  eg_u32s
      writer; // [states] step that writes over what a state is, or is a view of; NEVER
  eg_u32s run_of;  // [micro-batch * steps + step]; NEVER
  eg_u32s step_of; // [runs] index in run_of
  eg_list_schedule schedule;
  eg_u32s first_wait, waits; // [runs + 2]: runs that a run waits for
  eg_u32s task_of,
      before;        // [runs] in out->tasks; run before it on its stream, NEVER: none
  eg_u32s shape;     // [steps] of exchanges that are rounds; NEVER
  eg_u32s processor; // [classes] links on which a device computes
  eg_u32s wire;      // [streams * classes] links of exchanges in closed form
  eg_u32s enter, leave, streams; // [classes] of the exchange being added
} maker;
EG_OWNER_DEFINE_STATIC(maker,
                       (eg_u32s, reader, entry, entry_of, origin, computing_before,
                        window, opens, writer, run_of, step_of, first_wait, waits,
                        task_of, before),
                       (eg_u32s, shape, processor, wire, enter, leave, streams),
                       (eg_list_schedule, schedule))

#define READERS_AHEAD(id, readers) readers,
static const uint32_t readers_ahead[] = {EG_ISSUE_LIST(READERS_AHEAD)};
#undef READERS_AHEAD

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

// ---- who reads what ---------------------------------------------------------------

static egraph_status fill(eg_u32s *numbers, size_t count) {
  EG_TRY(eg_u32s_resize(numbers, count));
  for (size_t i = 0; i < count; i++)
    numbers->data[i] = NEVER;
  return EGRAPH_OK;
}

static egraph_status find_readers(maker *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(fill(&m->reader, plan->states.len));
  EG_TRY(fill(&m->entry, plan->states.len));
  EG_TRY(fill(&m->origin, plan->states.len));
  EG_TRY(fill(&m->entry_of, eg_graph_value_count(plan->graph)));
  for (uint32_t i = (uint32_t)plan->states.len; i-- > 0;) {
    if (plan->states.data[i].step != EG_PLAN_NONE) continue;
    m->entry.data[i] = i;
    m->entry_of.data[plan->states.data[i].value.id] = i;
  }
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    for (uint32_t i = 0; i < eg_plan_step_result_count(plan, step); i++)
      m->origin.data[eg_plan_step_result(plan, step, i)] = s;
    if (!step->is_move) continue;
    m->origin.data[step->to] = m->origin.data[step->from];
    m->entry.data[step->to] = m->entry.data[step->from];
  }
  for (uint32_t s = (uint32_t)plan->steps.len; s-- > 0;) { // the first one wins
    const eg_plan_step *step = &plan->steps.data[s];
    for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, step); i++) {
      uint32_t state = eg_plan_step_operand(plan, step, i);
      uint32_t reader = step->is_move ? m->reader.data[step->to] : s;
      if (reader < m->reader.data[state]) m->reader.data[state] = reader;
    }
  }
  return EGRAPH_OK;
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

static bool is_update(const maker *m, uint32_t step) {
  return m->plan->steps.data[step].phase == EG_PHASE_UPDATE;
}

/// Whether a step reads nothing but what is there when its phase begins; in the update,
/// from the start.
static bool reads_old(const maker *m, const eg_plan_step *step) {
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, step); i++) {
    uint32_t by = m->origin.data[eg_plan_step_operand(m->plan, step, i)];
    if (by == NEVER) continue;
    if (step->phase == EG_PHASE_UPDATE || m->plan->steps.data[by].phase == step->phase)
      return false;
  }
  return true;
}

/// Whether a step gathers what is there already for a reader in the same micro-batch.
static bool is_gather_ahead(const maker *m, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  if (!eg_plan_step_is_exchange(step) || is_reduction(step) || is_update(m, s))
    return false;
  uint32_t reader = m->reader.data[step->to];
  return reads_old(m, step) && reader != NEVER && !is_update(m, reader);
}

/// Gathers for one reader share a window. In the order of the readers, as what a reader
/// needs stands before it.
static egraph_status find_windows(maker *m) {
  const eg_plan_step *steps = m->plan->steps.data;
  uint32_t count = (uint32_t)m->plan->steps.len;
  EG_TRY(fill(&m->window, count));
  EG_TRY(fill(&m->opens, count));
  if (m->readers_ahead == 0) return EGRAPH_OK;
  for (uint32_t s = 0; s < count; s++)
    if (is_gather_ahead(m, s)) m->opens.data[m->reader.data[steps[s].to]] = 0;
  for (uint32_t s = 0; s < count; s++)
    if (m->opens.data[s] != NEVER) m->opens.data[s] = m->windows++;
  for (uint32_t s = 0; s < count; s++)
    if (is_gather_ahead(m, s))
      m->window.data[s] = m->opens.data[m->reader.data[steps[s].to]];
  return EGRAPH_OK;
}

/// What is written over is an entry, by the step that makes what leaves in its storage,
/// and what a step of no time makes of it: a view.
static egraph_status find_writers(maker *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(fill(&m->writer, plan->states.len));
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2) {
    uint32_t leaves = plan->output_states.data[plan->carried.data[i]];
    uint32_t entry = m->entry_of.data[plan->carried.data[i + 1]];
    if (entry != NEVER) m->writer.data[entry] = plan->states.data[leaves].step;
  }
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    uint32_t operands = eg_plan_step_operand_count(plan, step), writer = NEVER;
    for (uint32_t i = 0; !(step->seconds > 0) && i < operands; i++) {
      uint32_t by = m->writer.data[eg_plan_step_operand(plan, step, i)];
      if (by != NEVER) writer = by;
    }
    if (writer == NEVER) continue;
    for (uint32_t i = 0; i < eg_plan_step_result_count(plan, step); i++)
      m->writer.data[eg_plan_step_result(plan, step, i)] = writer;
  }
  return EGRAPH_OK;
}

// ---- exchanges as rounds ----------------------------------------------------------

static egraph_status check_size(const eg_plan *plan) {
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

/// Counts what is to be added before memory is spent on it.
static egraph_status count_tasks(maker *m) {
  const eg_plan *plan = m->plan;
  double tasks = 0, classes = m->out->class_count;
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    uint32_t shape = m->shape.data[s], runs = is_update(m, s) ? 1 : plan->micro_batches;
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

// ---- runs ---------------------------------------------------------------------------

static uint32_t stream_of(const maker *m, const eg_plan_step *step) {
  if (m->out->issue == EG_ISSUE_IN_ORDER || is_computing(step)) return 0;
  if (!(step->seconds > 0)) return EG_PLAN_NO_STREAM;
  return m->out->stream_of_axis[step->transition.axis];
}

static uint32_t run_at(const maker *m, uint32_t micro_batch, uint32_t step) {
  return m->run_of.data[(size_t)micro_batch * m->plan->steps.len + step];
}

static uint32_t window_in(const maker *m, uint32_t micro_batch, uint32_t window) {
  return window == NEVER ? EG_RUN_NONE : micro_batch * m->windows + window;
}

/// The forward pass and the rest of every micro-batch. Moves may go ahead.
static uint32_t turn_of(uint32_t micro_batch, const eg_plan_step *step, uint32_t stream) {
  if (step->is_move && stream != 0) return 0;
  return 2 * micro_batch + (step->phase != EG_PHASE_FORWARD);
}

static egraph_status add_run(maker *m, uint32_t b, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  uint32_t index = b * (uint32_t)m->plan->steps.len + s, stream = stream_of(m, step);
  m->run_of.data[index] = (uint32_t)m->schedule.runs.len;
  EG_TRY(eg_u32s_push(&m->step_of, index));
  return eg_runs_push(&m->schedule.runs,
                      (eg_run){.seconds = step->seconds,
                               .stream = stream,
                               .turn = turn_of(b, step, stream),
                               .window = window_in(m, b, m->window.data[s]),
                               .opens = window_in(m, b, m->opens.data[s])});
}

static egraph_status add_runs(maker *m) {
  const eg_plan *plan = m->plan;
  size_t steps = plan->steps.len;
  EG_TRY(fill(&m->run_of, steps * plan->micro_batches));
  for (uint32_t b = 0; b < plan->micro_batches; b++)
    for (uint32_t s = 0; s < steps; s++)
      if (!is_update(m, s) || b + 1 == plan->micro_batches) EG_TRY(add_run(m, b, s));
  return EGRAPH_OK;
}

// ---- what waits for what ------------------------------------------------------------

static egraph_status wait_for(maker *m, uint32_t run, uint32_t on) {
  return eg_list_schedule_wait(&m->schedule, run, on);
}

static egraph_status wait_for_operands(maker *m, uint32_t run, uint32_t b,
                                       const eg_plan_step *of) {
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, of); i++) {
    uint32_t by = m->plan->states.data[eg_plan_step_operand(m->plan, of, i)].step;
    if (by != EG_PLAN_NONE) EG_TRY(wait_for(m, run, run_at(m, b, by)));
  }
  return EGRAPH_OK;
}

/// Waits for the last computing step before `s` in its micro-batch; where there is none,
/// for the last of the micro-batch before.
static egraph_status stand_behind(maker *m, uint32_t b, uint32_t s) {
  uint32_t run = run_at(m, b, s), before = m->computing_before.data[s];
  if (before == NEVER && b > 0) {
    before = m->computing_before.data[m->plan->steps.len];
    b--;
  }
  return before == NEVER ? EGRAPH_OK : wait_for(m, run, run_at(m, b, before));
}

/// What the update moves of an entry waits until all is there that its reader needs, lest
/// it held memory from the start. False: it has no reader, or one that needs nothing
/// else.
static egraph_status wait_for_gradient(maker *m, uint32_t b, uint32_t s,
                                       bool *out_waits) {
  const eg_plan *plan = m->plan;
  const eg_plan_step *step = &plan->steps.data[s];
  *out_waits = false;
  if (!is_update(m, s) || !step->is_move || m->entry.data[step->from] == NEVER)
    return EGRAPH_OK;
  uint32_t reader = m->reader.data[step->to];
  // What is written over waits for this step: it must not wait for it in turn.
  if (reader == NEVER || reader > m->writer.data[m->entry.data[step->from]])
    return EGRAPH_OK;
  for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, &plan->steps.data[reader]);
       i++) {
    uint32_t operand = eg_plan_step_operand(plan, &plan->steps.data[reader], i);
    if (m->entry.data[operand] != NEVER) continue;
    *out_waits = true;
    EG_TRY(wait_for(m, run_at(m, b, s), run_at(m, b, plan->states.data[operand].step)));
  }
  return EGRAPH_OK;
}

/// Besides for their operands: what could begin at once though its reader comes late, and
/// has no window, stands behind the computing before it.
static egraph_status wait_ahead(maker *m, uint32_t b, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  bool waits;
  EG_TRY(wait_for_gradient(m, b, s, &waits));
  if (waits || m->window.data[s] != NEVER) return EGRAPH_OK;
  return reads_old(m, step) ? stand_behind(m, b, s) : EGRAPH_OK;
}

static egraph_status wait_in_place(maker *m, uint32_t b, uint32_t s, uint32_t *last) {
  uint32_t run = run_at(m, b, s);
  if (m->schedule.runs.data[run].stream != 0)
    return is_reduction(&m->plan->steps.data[s]) ? EGRAPH_OK : stand_behind(m, b, s);
  if (*last != NEVER) EG_TRY(wait_for(m, run, *last));
  *last = run;
  return EGRAPH_OK;
}

/// What leaves the step in the storage of an entry waits for all that reads the entry
/// before; what leaves a micro-batch so is there for the next one.
static egraph_status keep_entry(maker *m, uint32_t writer, uint32_t reader) {
  uint32_t last = m->plan->micro_batches - 1;
  for (uint32_t b = is_update(m, writer) ? last : 0; b <= last; b++) {
    uint32_t run = run_at(m, b, writer);
    if (reader < writer) EG_TRY(wait_for(m, run, run_at(m, b, reader)));
    bool is_read_again = b < last && (b + 1 == last || !is_update(m, reader));
    if (is_read_again) EG_TRY(wait_for(m, run_at(m, b + 1, reader), run));
  }
  return EGRAPH_OK;
}

static egraph_status keep_entries(maker *m) {
  const eg_plan *plan = m->plan;
  for (uint32_t s = 0; s < plan->steps.len; s++)
    for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, &plan->steps.data[s]);
         i++) {
      uint32_t writer =
          m->writer.data[eg_plan_step_operand(plan, &plan->steps.data[s], i)];
      if (writer != NEVER) EG_TRY(keep_entry(m, writer, s));
    }
  return EGRAPH_OK;
}

static egraph_status add_waits(maker *m) {
  uint32_t steps = (uint32_t)m->plan->steps.len, last = NEVER;
  for (uint32_t i = 0; i < m->step_of.len; i++) {
    uint32_t b = m->step_of.data[i] / steps, s = m->step_of.data[i] % steps;
    EG_TRY(wait_for_operands(m, i, b, &m->plan->steps.data[s]));
    EG_TRY(m->readers_ahead != 0 ? wait_ahead(m, b, s) : wait_in_place(m, b, s, &last));
  }
  return keep_entries(m);
}

// ---- tasks ------------------------------------------------------------------------

static egraph_status add_streams(maker *m) {
  eg_plan_tasks *out = m->out;
  const eg_mesh *mesh = &m->plan->mesh;
  const eg_machine_mesh *links = m->setup->links;
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

static egraph_status list_waits(maker *m) {
  const eg_list_schedule *s = &m->schedule;
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

/// Where a run is, of a class.
static size_t place_of(const maker *m, uint32_t run, uint32_t class) {
  return (size_t)m->task_of.data[run] * m->out->class_count + class;
}

static egraph_status depend_on(maker *m, uint32_t task, uint32_t run, uint32_t class) {
  return eg_task_graph_depend(m->out->graph, task,
                              m->out->last.data[place_of(m, run, class)]);
}

/// `task` waits for all that `run` waits for.
static egraph_status depend_like(maker *m, uint32_t task, uint32_t run, uint32_t class) {
  for (uint32_t i = m->first_wait.data[run]; i < m->first_wait.data[run + 1]; i++)
    EG_TRY(depend_on(m, task, m->waits.data[i], class));
  return EGRAPH_OK;
}

/// `task` is the one of the graph with which a run begins, of a class. A gather that was
/// let in begins when the run that let it in does: it waits for what that waits for, and
/// for what stands before that on its stream.
static egraph_status depend(maker *m, uint32_t task, uint32_t run, uint32_t class) {
  uint32_t opener = m->schedule.let_in.data[run];
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

/// Every class enters, sends and gets its messages, and leaves.
static egraph_status add_rounds(maker *m, uint32_t run, const eg_plan_step *step,
                                uint32_t shape) {
  eg_plan_tasks *out = m->out;
  uint32_t stream = m->schedule.runs.data[run].stream, enter;
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

static egraph_status add_task(maker *m, uint32_t run, uint32_t *last) {
  eg_plan_tasks *out = m->out;
  uint32_t steps = (uint32_t)m->plan->steps.len, index = m->step_of.data[run];
  uint32_t s = index % steps, stream = m->schedule.runs.data[run].stream;
  const eg_plan_step *step = &m->plan->steps.data[s];
  m->task_of.data[run] = (uint32_t)out->tasks.len;
  EG_TRY(eg_plan_task_list_push(&out->tasks, (eg_plan_task){s, index / steps, stream}));
  if (stream != EG_RUN_NONE) {
    m->before.data[run] = last[stream];
    last[stream] = run;
  }
  if (m->shape.data[s] != NEVER) return add_rounds(m, run, step, m->shape.data[s]);
  for (uint32_t c = 0, task; c < out->class_count; c++) {
    EG_TRY(add_closed(m, step, c, stream, &task));
    EG_TRY(add_ends(m, m->task_of.data[run], task, task));
    EG_TRY(depend(m, task, run, c));
  }
  return EGRAPH_OK;
}

static egraph_status add_tasks(maker *m) {
  uint32_t last[EG_MAX_MESH_AXES + 1];
  for (size_t i = 0; i < sizeof last / sizeof *last; i++)
    last[i] = NEVER;
  EG_TRY(list_waits(m));
  EG_TRY(eg_u32s_resize(&m->task_of, m->schedule.runs.len));
  EG_TRY(fill(&m->before, m->schedule.runs.len));
  for (size_t i = 0; i < m->schedule.order.len; i++)
    EG_TRY(add_task(m, m->schedule.order.data[i], last));
  return EGRAPH_OK;
}

static egraph_status make(maker *m) {
  m->readers_ahead = readers_ahead[m->out->issue];
  EG_TRY(check_size(m->plan));
  EG_TRY(find_readers(m));
  EG_TRY(find_computing(m));
  EG_TRY(find_windows(m));
  EG_TRY(find_writers(m));
  EG_TRY(find_shapes(m));
  EG_TRY(count_tasks(m));
  EG_TRY(eg_task_graph_create(m->reader.alloc, &m->out->graph));
  EG_TRY(add_streams(m));
  EG_TRY(add_processors(m));
  EG_TRY(add_runs(m));
  EG_TRY(add_waits(m));
  EG_TRY(eg_list_schedule_make(&m->schedule, m->out->stream_count,
                               m->readers_ahead != 0 ? m->readers_ahead : 1));
  return add_tasks(m);
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
