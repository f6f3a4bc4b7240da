// Outline: every run of a step in a micro-batch is a run of a list schedule (in the order
// of micro-batches and steps), which waits for those that make what it reads and for what
// the order of issue adds. The schedule says in which order runs begin.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_issue.h"

#include <string.h>

#include "base/owner.h"

#define NEVER UINT32_MAX
#define MOST_RUNS (UINT32_C(1) << 31)

typedef struct maker {
  const eg_plan *plan;
  eg_issue_order *out;
  eg_issue issue;
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
  eg_u32s run_of; // [micro-batch * steps + step]; NEVER
} maker;
EG_OWNER_DEFINE_STATIC(maker, (eg_u32s, reader, entry, entry_of, origin, computing_before,
                               window, opens, writer, run_of))

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
    if (!eg_plan_step_computes(step)) continue;
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
  if (reader == NEVER || is_update(m, reader) || !reads_old(m, step)) return false;
  // What is written over waits for this gather: it must not wait for what reads that.
  return reader <= m->writer.data[step->from];
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

// ---- runs ---------------------------------------------------------------------------

static uint32_t stream_of(const maker *m, const eg_plan_step *step) {
  if (m->issue == EG_ISSUE_IN_ORDER || eg_plan_step_computes(step)) return 0;
  if (!(step->seconds > 0)) return EG_RUN_NONE;
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
  m->run_of.data[index] = (uint32_t)m->out->schedule.runs.len;
  EG_TRY(eg_u32s_push(&m->out->step_of, index));
  return eg_runs_push(&m->out->schedule.runs,
                      (eg_run){.seconds = step->seconds,
                               .stream = stream,
                               .turn = turn_of(b, step, stream),
                               .window = window_in(m, b, m->window.data[s]),
                               .opens = window_in(m, b, m->opens.data[s])});
}

static egraph_status add_runs(maker *m) {
  const eg_plan *plan = m->plan;
  size_t steps = plan->steps.len;
  if ((double)steps * plan->micro_batches > MOST_RUNS)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "%zu steps in %u micro-batches are more than %u tasks; take a plan of fewer "
        "micro-batches",
        steps, plan->micro_batches, MOST_RUNS);
  EG_TRY(fill(&m->run_of, steps * plan->micro_batches));
  for (uint32_t b = 0; b < plan->micro_batches; b++)
    for (uint32_t s = 0; s < steps; s++)
      if (!is_update(m, s) || b + 1 == plan->micro_batches) EG_TRY(add_run(m, b, s));
  return EGRAPH_OK;
}

// ---- what waits for what ------------------------------------------------------------

static egraph_status wait_for(maker *m, uint32_t run, uint32_t on) {
  return eg_list_schedule_wait(&m->out->schedule, run, on);
}

static egraph_status wait_for_operands(maker *m, uint32_t run, uint32_t b,
                                       const eg_plan_step *of) {
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, of); i++) {
    uint32_t by = m->plan->states.data[eg_plan_step_operand(m->plan, of, i)].step;
    if (by != EG_PLAN_NONE) EG_TRY(wait_for(m, run, run_at(m, b, by)));
  }
  return EGRAPH_OK;
}

/// Waits for the computing step that stands so many before `s`, in its micro-batch or in
/// the one before.
static egraph_status stand_behind(maker *m, uint32_t b, uint32_t s, uint32_t behind) {
  uint32_t run = run_at(m, b, s), before = s, steps = (uint32_t)m->plan->steps.len;
  for (uint32_t i = 0; i < behind && before != NEVER; i++) {
    before = m->computing_before.data[before];
    if (before != NEVER || b == 0) continue;
    before = m->computing_before.data[steps];
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
/// has no window, runs as far ahead as gathers do, counted in computing steps.
static egraph_status wait_ahead(maker *m, uint32_t b, uint32_t s) {
  const eg_plan_step *step = &m->plan->steps.data[s];
  bool waits;
  EG_TRY(wait_for_gradient(m, b, s, &waits));
  if (waits || m->window.data[s] != NEVER) return EGRAPH_OK;
  uint32_t behind = step->seconds > 0 ? m->readers_ahead : 1;
  return reads_old(m, step) ? stand_behind(m, b, s, behind) : EGRAPH_OK;
}

static egraph_status wait_in_place(maker *m, uint32_t b, uint32_t s, uint32_t *last) {
  uint32_t run = run_at(m, b, s);
  if (m->out->schedule.runs.data[run].stream != 0)
    return is_reduction(&m->plan->steps.data[s]) ? EGRAPH_OK : stand_behind(m, b, s, 1);
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
  for (uint32_t i = 0; i < m->out->step_of.len; i++) {
    uint32_t b = m->out->step_of.data[i] / steps, s = m->out->step_of.data[i] % steps;
    EG_TRY(wait_for_operands(m, i, b, &m->plan->steps.data[s]));
    EG_TRY(m->readers_ahead != 0 ? wait_ahead(m, b, s) : wait_in_place(m, b, s, &last));
  }
  return keep_entries(m);
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

static egraph_status find_order(maker *m) {
  EG_TRY(find_readers(m));
  EG_TRY(find_computing(m));
  EG_TRY(find_writers(m));
  EG_TRY(find_windows(m));
  EG_TRY(add_runs(m));
  EG_TRY(add_waits(m));
  return eg_list_schedule_make(&m->out->schedule, m->out->stream_count,
                               m->readers_ahead != 0 ? m->readers_ahead : 1);
}

egraph_status eg_issue_order_find(eg_issue_order *order, const eg_plan *plan,
                                  const eg_machine_mesh *links, bool by_axis,
                                  eg_issue issue) {
  maker m;
  maker_init(&m, order->step_of.alloc);
  m.plan = plan;
  m.out = order;
  m.issue = issue;
  m.readers_ahead = readers_ahead[issue];
  order->stream_count =
      eg_issue_streams(&plan->mesh, links, by_axis, order->stream_of_axis);
  egraph_status status = find_order(&m);
  maker_deinit(&m);
  return status;
}

// ---- a plan in this order -----------------------------------------------------------

static egraph_status copy_words(eg_u32s *to, const eg_u32s *from) {
  EG_TRY(eg_u32s_resize(to, from->len));
  if (from->len != 0) memcpy(to->data, from->data, from->len * sizeof *from->data);
  return EGRAPH_OK;
}

/// `order`: of one micro-batch. `new_step`: [steps] scratch.
static egraph_status copy_in_order(const eg_plan *plan, const eg_issue_order *order,
                                   eg_u32s *new_step, eg_plan *out) {
  EG_TRY(eg_u32s_resize(new_step, plan->steps.len));
  for (size_t i = 0; i < order->schedule.order.len; i++) {
    uint32_t s = order->step_of.data[order->schedule.order.data[i]];
    new_step->data[s] = (uint32_t)out->steps.len;
    EG_TRY(eg_plan_steps_push(&out->steps, plan->steps.data[s]));
  }
  for (size_t s = 0; s < plan->states.len; s++) {
    eg_plan_state state = plan->states.data[s];
    if (state.step != EG_PLAN_NONE) state.step = new_step->data[state.step];
    EG_TRY(eg_plan_states_push(&out->states, state));
  }
  EG_TRY(copy_words(&out->operands, &plan->operands));
  EG_TRY(copy_words(&out->output_states, &plan->output_states));
  return copy_words(&out->carried, &plan->carried);
}

/// Phases never go back in a plan: what is issued before a step of an earlier phase is
/// told to be of that. Whoever has to know the phase of a step asks the plan in its
/// order.
static void smooth_phases(eg_plan *plan) {
  eg_phase least = EG_PHASE_UPDATE;
  for (size_t i = plan->steps.len; i-- > 0;) {
    eg_plan_step *step = &plan->steps.data[i];
    if (step->phase < least) least = step->phase;
    step->phase = least;
  }
}

egraph_status eg_plan_issued(const eg_plan *plan, eg_issue issue, eg_plan *out) {
  eg_issue_order order;
  eg_u32s new_step;
  eg_plan one = *plan; // borrows
  one.micro_batches = 1;
  out->graph = plan->graph;
  out->mesh = plan->mesh;
  out->micro_batches = plan->micro_batches;
  out->memory_limit = plan->memory_limit;
  eg_issue_order_init(&order, out->steps.alloc);
  eg_u32s_init(&new_step, out->steps.alloc);
  egraph_status status = eg_issue_order_find(&order, &one, NULL, false, issue);
  if (status == EGRAPH_OK) status = copy_in_order(plan, &order, &new_step, out);
  if (status == EGRAPH_OK) smooth_phases(out);
  eg_u32s_deinit(&new_step);
  eg_issue_order_deinit(&order);
  return status;
}
