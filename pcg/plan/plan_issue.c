// Outline: every execution of a step in a micro-batch is a run of a list schedule (in the
// order of micro-batches and steps). A run waits for the runs that make its operands, and
// for runs that the order of issue adds. The schedule finds the order in which
// runs begin.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_issue.h"

#include "base/owner.h"

#define NEVER UINT32_MAX
#define MOST_RUNS (UINT32_C(1) << 31)

/// The state of a search for the order of issue. An entry is a state (value in a layout)
/// that no step makes. NEVER in a list: there is none.
typedef struct issuer {
  const eg_plan *plan;
  eg_issue_order *out;
  eg_issue issue;
  uint32_t readers_ahead; // 0: gathers do not run ahead
  eg_u32s reader;   // [states] first node step that needs the state, also through moves
  eg_u32s entry;    // [states] the state itself, or the entry from which it was moved
  eg_u32s entry_of; // [values] entry of the value
  eg_u32s origin;   // [states] node step that makes the value, before moves
  eg_u32s writer;   // [states] step that overwrites the storage it shares
  eg_u32s computing_before; // [steps + 1] see find_computing
  eg_u32s window, opens;    // [steps] window of a gather, of its reader
  uint32_t windows;         // number in a micro-batch
  eg_u32s run_of;           // [micro-batch * steps + step]
} issuer;
EG_OWNER_DEFINE_STATIC(issuer, (eg_u32s, reader, entry, entry_of, origin, writer),
                       (eg_u32s, computing_before, window, opens, run_of))

EG_OWNER_DEFINE(eg_issue_order, (eg_list_schedule, schedule), (eg_u32s, step_of))

#define READERS_AHEAD(id, readers) readers,
static const uint32_t readers_ahead[] = {EG_ISSUE_LIST(READERS_AHEAD)};
#undef READERS_AHEAD

bool eg_plan_step_is_exchange(const eg_plan_step *step) {
  return step->is_move && !eg_transition_is_local(step->transition.kind) &&
         step->seconds > 0;
}

bool eg_plan_step_computes(const eg_plan_step *step) {
  return step->seconds > 0 && !eg_plan_step_is_exchange(step);
}

static bool is_reduction(const eg_plan_step *step) {
  return step->transition.kind == EG_TRANSITION_ALL_REDUCE ||
         step->transition.kind == EG_TRANSITION_REDUCE_SCATTER;
}

// ---- readers and writers of states --------------------------------------------------

static egraph_status find_readers(issuer *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(eg_u32s_fill(&m->reader, plan->states.len, NEVER));
  EG_TRY(eg_u32s_fill(&m->entry, plan->states.len, NEVER));
  EG_TRY(eg_u32s_fill(&m->origin, plan->states.len, NEVER));
  EG_TRY(eg_u32s_fill(&m->entry_of, eg_graph_value_count(plan->graph), NEVER));
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

/// Finds, for every plan step, the last computing step before it; element [steps] is the
/// last computing step of FORWARD and BACKWARD.
static egraph_status find_computing(issuer *m) {
  const eg_plan *plan = m->plan;
  uint32_t before = NEVER, last = NEVER;
  EG_TRY(eg_u32s_resize(&m->computing_before, plan->steps.len + 1));
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    m->computing_before.data[s] = before;
    if (!eg_plan_step_computes(step)) continue;
    before = s;
    if (step->phase != EG_PHASE_UPDATE) last = s;
  }
  m->computing_before.data[plan->steps.len] = last;
  return EGRAPH_OK;
}

static bool is_update(const issuer *m, uint32_t step) {
  return m->plan->steps.data[step].phase == EG_PHASE_UPDATE;
}

/// True when all operands of a step exist before its phase begins; in the update, before
/// the step of training begins.
static bool can_run_ahead(const issuer *m, const eg_plan_step *step) {
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, step); i++) {
    uint32_t by = m->origin.data[eg_plan_step_operand(m->plan, step, i)];
    if (by == NEVER) continue;
    if (step->phase == EG_PHASE_UPDATE || m->plan->steps.data[by].phase == step->phase)
      return false;
  }
  return true;
}

/// True when a step gathers, for a reader in the same micro-batch, a value that exists
/// before the phase.
static bool is_gather_ahead(const issuer *m, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  if (!eg_plan_step_is_exchange(step) || is_reduction(step) || is_update(m, s))
    return false;
  uint32_t reader = m->reader.data[step->to];
  if (reader == NEVER || is_update(m, reader) || !can_run_ahead(m, step)) return false;
  // The step that overwrites the gathered value waits for this gather, so the gather must
  // not wait for that step.
  return reader <= m->writer.data[step->from];
}

/// Numbers windows (limits on how early gathers begin) in the order of the readers that
/// open them. Gathers for one reader share a window.
static egraph_status find_windows(issuer *m) {
  const eg_plan_step *steps = m->plan->steps.data;
  uint32_t count = (uint32_t)m->plan->steps.len;
  EG_TRY(eg_u32s_fill(&m->window, count, NEVER));
  EG_TRY(eg_u32s_fill(&m->opens, count, NEVER));
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

/// Finds the step that overwrites each entry (state that no step makes): the step whose
/// result becomes the entry of the next step of training. Views of an entry (results of
/// steps that take no time) have the same writer.
static egraph_status find_writers(issuer *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(eg_u32s_fill(&m->writer, plan->states.len, NEVER));
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

// ---- runs ---------------------------------------------------------------------------

static uint32_t run_at(const issuer *m, uint32_t micro_batch, uint32_t step) {
  return m->run_of.data[(size_t)micro_batch * m->plan->steps.len + step];
}

static uint32_t window_in(const issuer *m, uint32_t micro_batch, uint32_t window) {
  return window == NEVER ? EG_RUN_NONE : micro_batch * m->windows + window;
}

/// Adds the run of step `s` in micro-batch `b`. Every micro-batch has two turns: the
/// forward pass and the rest. Moves on streams of their own may begin in an earlier turn.
static egraph_status add_run(issuer *m, uint32_t b, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  uint32_t index = b * (uint32_t)m->plan->steps.len + s, stream = 0;
  if (m->issue != EG_ISSUE_IN_ORDER && !eg_plan_step_computes(step))
    stream =
        step->seconds > 0 ? m->out->stream_of_axis[step->transition.axis] : EG_RUN_NONE;
  uint32_t turn =
      step->is_move && stream != 0 ? 0 : 2 * b + (step->phase != EG_PHASE_FORWARD);
  m->run_of.data[index] = (uint32_t)m->out->schedule.runs.len;
  EG_TRY(eg_u32s_push(&m->out->step_of, index));
  return eg_runs_push(&m->out->schedule.runs,
                      (eg_run){.seconds = step->seconds,
                               .stream = stream,
                               .turn = turn,
                               .window = window_in(m, b, m->window.data[s]),
                               .opens = window_in(m, b, m->opens.data[s])});
}

static egraph_status add_runs(issuer *m) {
  const eg_plan *plan = m->plan;
  size_t steps = plan->steps.len;
  if ((double)steps * plan->micro_batches > MOST_RUNS)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "%zu steps in %u micro-batches are more than %u tasks; take a plan of fewer "
        "micro-batches",
        steps, plan->micro_batches, MOST_RUNS);
  EG_TRY(eg_u32s_fill(&m->run_of, steps * plan->micro_batches, NEVER));
  for (uint32_t b = 0; b < plan->micro_batches; b++)
    for (uint32_t s = 0; s < steps; s++)
      if (!is_update(m, s) || b + 1 == plan->micro_batches) EG_TRY(add_run(m, b, s));
  return EGRAPH_OK;
}

// ---- waits --------------------------------------------------------------------------

static egraph_status wait_for(issuer *m, uint32_t run, uint32_t on) {
  return eg_list_schedule_wait(&m->out->schedule, run, on);
}

static egraph_status wait_for_operands(issuer *m, uint32_t run, uint32_t b,
                                       const eg_plan_step *of) {
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, of); i++) {
    uint32_t by = m->plan->states.data[eg_plan_step_operand(m->plan, of, i)].step;
    if (by != EG_PLAN_NONE) EG_TRY(wait_for(m, run, run_at(m, b, by)));
  }
  return EGRAPH_OK;
}

/// Lets a run wait for the computing step that is `behind` computing steps before `s`, in
/// its micro-batch or in the micro-batch before.
static egraph_status wait_for_computing(issuer *m, uint32_t b, uint32_t s,
                                        uint32_t behind) {
  uint32_t run = run_at(m, b, s), before = s, steps = (uint32_t)m->plan->steps.len;
  for (uint32_t i = 0; i < behind && before != NEVER; i++) {
    before = m->computing_before.data[before];
    if (before != NEVER || b == 0) continue;
    before = m->computing_before.data[steps];
    b--;
  }
  return before == NEVER ? EGRAPH_OK : wait_for(m, run, run_at(m, b, before));
}

/// Lets a move, in the update, of a state that no step makes wait for the other operands
/// of its reader, so that its result does not take memory from the start. *out_waits:
/// false if there is no reader, or the reader has no other operands.
static egraph_status wait_for_gradient(issuer *m, uint32_t b, uint32_t s,
                                       bool *out_waits) {
  const eg_plan *plan = m->plan;
  const eg_plan_step *step = &plan->steps.data[s];
  *out_waits = false;
  if (!is_update(m, s) || !step->is_move || m->entry.data[step->from] == NEVER)
    return EGRAPH_OK;
  uint32_t reader = m->reader.data[step->to];
  // The step that overwrites the moved input waits for this move, so the move must not
  // wait for that step.
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

/// Adds the waits of an order that runs ahead. A step without a window (of a gather),
/// whose operands exist before its phase, runs as many computing steps ahead as gathers.
static egraph_status add_waits_ahead(issuer *m, uint32_t b, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  bool waits;
  EG_TRY(wait_for_gradient(m, b, s, &waits));
  if (waits || m->window.data[s] != NEVER) return EGRAPH_OK;
  uint32_t behind = step->seconds > 0 ? m->readers_ahead : 1;
  return can_run_ahead(m, step) ? wait_for_computing(m, b, s, behind) : EGRAPH_OK;
}

/// Adds the waits of an order in which computing keeps the plan's order. `last`: the last
/// run on stream 0, NEVER: none.
static egraph_status add_waits_in_place(issuer *m, uint32_t b, uint32_t s,
                                        uint32_t *last) {
  uint32_t run = run_at(m, b, s);
  if (m->out->schedule.runs.data[run].stream != 0)
    return is_reduction(&m->plan->steps.data[s]) ? EGRAPH_OK
                                                 : wait_for_computing(m, b, s, 1);
  if (*last != NEVER) EG_TRY(wait_for(m, run, *last));
  *last = run;
  return EGRAPH_OK;
}

/// Lets the step that overwrites an input wait for earlier readers, and readers in the
/// next micro-batch wait for that step.
static egraph_status order_writer_and_reader(issuer *m, uint32_t writer,
                                             uint32_t reader) {
  uint32_t last = m->plan->micro_batches - 1;
  for (uint32_t b = is_update(m, writer) ? last : 0; b <= last; b++) {
    uint32_t run = run_at(m, b, writer);
    if (reader < writer) EG_TRY(wait_for(m, run, run_at(m, b, reader)));
    bool is_read_again = b < last && (b + 1 == last || !is_update(m, reader));
    if (is_read_again) EG_TRY(wait_for(m, run_at(m, b + 1, reader), run));
  }
  return EGRAPH_OK;
}

static egraph_status order_writers_and_readers(issuer *m) {
  const eg_plan *plan = m->plan;
  for (uint32_t s = 0; s < plan->steps.len; s++)
    for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, &plan->steps.data[s]);
         i++) {
      uint32_t writer =
          m->writer.data[eg_plan_step_operand(plan, &plan->steps.data[s], i)];
      if (writer != NEVER) EG_TRY(order_writer_and_reader(m, writer, s));
    }
  return EGRAPH_OK;
}

static egraph_status add_waits(issuer *m) {
  uint32_t steps = (uint32_t)m->plan->steps.len, last = NEVER;
  for (uint32_t i = 0; i < m->out->step_of.len; i++) {
    uint32_t b = m->out->step_of.data[i] / steps, s = m->out->step_of.data[i] % steps;
    EG_TRY(wait_for_operands(m, i, b, &m->plan->steps.data[s]));
    EG_TRY(m->readers_ahead != 0 ? add_waits_ahead(m, b, s)
                                 : add_waits_in_place(m, b, s, &last));
  }
  return order_writers_and_readers(m);
}

// ---- the order ----------------------------------------------------------------------

uint32_t eg_issue_streams(const eg_mesh *mesh, const eg_machine_mesh *links, bool by_axis,
                          uint32_t *stream_of_axis) {
  uint32_t link_of[EG_MAX_MESH_AXES + 1] = {0}, count = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint32_t link = links == NULL ? 0 : links->links[a].link, stream = 1;
    while (stream < count && (by_axis || link_of[stream] != link))
      stream++;
    if (stream == count) count++;
    link_of[stream] = link;
    stream_of_axis[a] = stream;
  }
  return count;
}

egraph_status eg_issue_order_find(eg_issue_order *order, const eg_plan *plan,
                                  const eg_machine_mesh *links, bool by_axis,
                                  eg_issue issue) {
  assert(issue < EG_ISSUES);
  EG_LOCAL_WITH(issuer, m, order->step_of.alloc, .plan = plan, .out = order,
                .issue = issue, .readers_ahead = readers_ahead[issue]);
  order->stream_count =
      eg_issue_streams(&plan->mesh, links, by_axis, order->stream_of_axis);
  EG_TRY(find_readers(&m));
  EG_TRY(find_computing(&m));
  EG_TRY(find_writers(&m));
  EG_TRY(find_windows(&m));
  EG_TRY(add_runs(&m));
  EG_TRY(add_waits(&m));
  return eg_list_schedule_make(&m.out->schedule, m.out->stream_count,
                               m.readers_ahead != 0 ? m.readers_ahead : 1);
}

// ---- a plan in this order -----------------------------------------------------------

/// Copies steps and states of a plan in the order in which the steps of a
/// micro-batch begin.
static egraph_status copy_in_order(const eg_plan *plan, const eg_issue_order *order,
                                   eg_plan *out) {
  EG_LOCAL(eg_u32s, new_step, out->steps.alloc); // [steps]
  EG_TRY(eg_u32s_resize(&new_step, plan->steps.len));
  for (size_t i = 0; i < order->schedule.order.len; i++) {
    uint32_t s = order->step_of.data[order->schedule.order.data[i]];
    new_step.data[s] = (uint32_t)out->steps.len;
    EG_TRY(eg_plan_steps_push(&out->steps, plan->steps.data[s]));
  }
  for (size_t s = 0; s < plan->states.len; s++) {
    eg_plan_state state = plan->states.data[s];
    if (state.step != EG_PLAN_NONE) state.step = new_step.data[state.step];
    EG_TRY(eg_plan_states_push(&out->states, state));
  }
  EG_TRY(eg_u32s_append(&out->operands, plan->operands.data, plan->operands.len));
  EG_TRY(eg_u32s_append(&out->output_states, plan->output_states.data,
                        plan->output_states.len));
  return eg_u32s_append(&out->carried, plan->carried.data, plan->carried.len);
}

/// Phases never go back in a plan: a step that is issued before a step of an earlier
/// phase is relabelled with the earlier phase. Phases of nodes are read from the plan
/// before it is issued.
static void relabel_phases(eg_plan *plan) {
  eg_phase least = EG_PHASE_UPDATE;
  for (size_t i = plan->steps.len; i-- > 0;) {
    eg_plan_step *step = &plan->steps.data[i];
    if (step->phase < least) least = step->phase;
    step->phase = least;
  }
}

egraph_status eg_plan_issued(const eg_plan *plan, eg_issue issue, eg_plan *out) {
  assert(out->steps.len == 0 && out->states.len == 0);
  EG_LOCAL(eg_issue_order, order, out->steps.alloc);
  eg_plan one = *plan; // borrows
  one.micro_batches = 1;
  out->graph = plan->graph;
  out->mesh = plan->mesh;
  out->micro_batches = plan->micro_batches;
  out->memory_limit = plan->memory_limit;
  EG_TRY(eg_issue_order_find(&order, &one, NULL, false, issue));
  EG_TRY(copy_in_order(plan, &order, out));
  relabel_phases(out);
  return EGRAPH_OK;
}
