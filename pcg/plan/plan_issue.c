// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_issue.h"

#include <stdlib.h>
#include <string.h>

#include "base/owner.h"

EG_OWNER_DEFINE(eg_issue_order,
                (eg_u32s, reader, is_entry, computing_before, place, gate, gate_lag))

bool eg_plan_step_is_exchange(const eg_plan_step *step) {
  return step->is_move && !eg_transition_is_local(step->transition.kind) &&
         step->seconds > 0;
}

bool eg_plan_step_computes(const eg_plan_step *step) {
  return step->seconds > 0 && !eg_plan_step_is_exchange(step);
}

bool eg_plan_step_is_reduction(const eg_plan_step *step) {
  return step->transition.kind == EG_TRANSITION_ALL_REDUCE ||
         step->transition.kind == EG_TRANSITION_REDUCE_SCATTER;
}

uint32_t eg_plan_step_operand_count(const eg_plan *plan, const eg_plan_step *step) {
  return step->is_move ? 1 : eg_graph_node_at(plan->graph, step->node).input_count;
}

uint32_t eg_plan_step_operand(const eg_plan *plan, const eg_plan_step *step, uint32_t i) {
  return step->is_move ? step->from : plan->operands.data[step->operands + i];
}

// ---- who reads what ---------------------------------------------------------------

static egraph_status find_readers(eg_issue_order *m) {
  const eg_plan *plan = m->plan;
  EG_TRY(eg_u32s_resize(&m->reader, plan->states.len));
  EG_TRY(eg_u32s_resize(&m->is_entry, plan->states.len));
  for (size_t i = 0; i < plan->states.len; i++) {
    m->reader.data[i] = EG_PLAN_NONE;
    m->is_entry.data[i] = plan->states.data[i].step == EG_PLAN_NONE;
  }
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    if (step->is_move) m->is_entry.data[step->to] = m->is_entry.data[step->from];
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

// ---- the order of issue -----------------------------------------------------------

/// Where what a step reads is there: behind its makers. 0: from the start.
static uint32_t place_of_operands(const eg_issue_order *m, const eg_plan_step *step) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < eg_plan_step_operand_count(m->plan, step); i++) {
    uint32_t by = m->plan->states.data[eg_plan_step_operand(m->plan, step, i)].step;
    if (by != EG_PLAN_NONE && m->place.data[by] + 1 > place)
      place = m->place.data[by] + 1;
  }
  return place;
}

bool eg_issue_is_ahead(const eg_issue_order *m, const eg_plan_step *step) {
  return m->issue == EG_ISSUE_AHEAD && eg_plan_step_is_exchange(step) &&
         !eg_plan_step_is_reduction(step) && step->phase != EG_PHASE_UPDATE &&
         m->is_entry.data[step->from] && m->reader.data[step->to] != EG_PLAN_NONE;
}

/// For every step the last computing one before it, EG_PLAN_NONE: none; behind all steps
/// the last one of a micro-batch.
static egraph_status find_computing(eg_issue_order *m) {
  const eg_plan *plan = m->plan;
  uint32_t before = EG_PLAN_NONE, last = EG_PLAN_NONE;
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

/// The last computing step before `step` in its micro-batch; where there is none, the
/// last of the micro-batch before.
static uint32_t computing_before(const eg_issue_order *m, uint32_t step,
                                 uint32_t *out_lag) {
  uint32_t before = m->computing_before.data[step];
  *out_lag = before == EG_PLAN_NONE;
  return before != EG_PLAN_NONE ? before : m->computing_before.data[m->plan->steps.len];
}

/// Gathers may begin when the reader of those before begins. Those of the first reader
/// wait for the last reader of the micro-batch before.
static egraph_status find_gates(eg_issue_order *m) {
  const eg_plan *plan = m->plan;
  uint32_t steps = (uint32_t)plan->steps.len, reader = EG_PLAN_NONE,
           before = EG_PLAN_NONE;
  uint32_t last_reader = EG_PLAN_NONE;
  EG_TRY(eg_u32s_resize(&m->gate, steps));
  EG_TRY(eg_u32s_resize(&m->gate_lag, steps));
  for (uint32_t s = 0; s < steps; s++) {
    m->gate.data[s] = EG_PLAN_NONE;
    if (eg_issue_is_ahead(m, &plan->steps.data[s]))
      last_reader = m->reader.data[plan->steps.data[s].to];
  }
  for (uint32_t s = 0; s < steps; s++) {
    if (!eg_issue_is_ahead(m, &plan->steps.data[s])) continue;
    uint32_t mine = m->reader.data[plan->steps.data[s].to], lag = 0;
    if (mine != reader) {
      before = reader;
      reader = mine;
    }
    bool is_first = before == EG_PLAN_NONE;
    m->gate.data[s] = computing_before(m, is_first ? last_reader : before, &lag);
    m->gate_lag.data[s] = lag + (is_first ? 1 : 0);
  }
  return EGRAPH_OK;
}

/// The place in the micro-batch of the gather; one whose gate is in an earlier
/// micro-batch has the first.
static uint32_t place_of_gather(const eg_issue_order *m, uint32_t s) {
  if (m->gate.data[s] == EG_PLAN_NONE || m->gate_lag.data[s] != 0) return 0;
  return 2 * m->gate.data[s] + 1;
}

static egraph_status find_places(eg_issue_order *m) {
  const eg_plan *plan = m->plan;
  uint32_t steps = (uint32_t)plan->steps.len;
  EG_TRY(eg_u32s_resize(&m->place, steps));
  for (uint32_t s = 0; s < steps; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    uint32_t made = place_of_operands(m, step), wanted = 2 * s;
    if (m->issue != EG_ISSUE_IN_ORDER && eg_plan_step_is_exchange(step)) {
      if (eg_plan_step_is_reduction(step)) wanted = made;
      if (eg_issue_is_ahead(m, step)) wanted = place_of_gather(m, s);
    }
    m->place.data[s] = wanted > made ? wanted : made;
  }
  return EGRAPH_OK;
}

egraph_status eg_issue_order_find(eg_issue_order *order, const eg_plan *plan,
                                  eg_issue issue) {
  order->plan = plan;
  order->issue = issue;
  EG_TRY(find_readers(order));
  EG_TRY(find_computing(order));
  EG_TRY(find_gates(order));
  return find_places(order);
}

// ---- a plan in this order -----------------------------------------------------------

typedef struct placed_step {
  uint32_t place, step;
  bool is_update;
} placed_step;
EG_VEC_DEFINE(placed_steps, placed_step);

static int by_phase_and_place(const void *a, const void *b) {
  const placed_step *x = a, *y = b;
  if (x->is_update != y->is_update) return x->is_update ? 1 : -1;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return (x->step > y->step) - (x->step < y->step);
}

static egraph_status copy_words(eg_u32s *to, const eg_u32s *from) {
  EG_TRY(eg_u32s_resize(to, from->len));
  if (from->len != 0) memcpy(to->data, from->data, from->len * sizeof *from->data);
  return EGRAPH_OK;
}

/// `new_step`: [steps] scratch.
static egraph_status copy_in_order(const eg_plan *plan, const placed_steps *order,
                                   eg_u32s *new_step, eg_plan *out) {
  EG_TRY(eg_u32s_resize(new_step, plan->steps.len));
  for (uint32_t i = 0; i < order->len; i++) {
    new_step->data[order->data[i].step] = i;
    EG_TRY(eg_plan_steps_push(&out->steps, plan->steps.data[order->data[i].step]));
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

/// A backward step issued between forward ones would let phases go back: what is of both
/// is then told by the first phase in the order. Only the border to UPDATE matters to
/// those who run a plan.
static void smooth_phases(eg_plan *plan) {
  eg_phase least = EG_PHASE_UPDATE;
  for (size_t i = plan->steps.len; i-- > 0;) {
    eg_plan_step *step = &plan->steps.data[i];
    if (step->phase < least) least = step->phase;
    step->phase = least;
  }
}

static egraph_status place_steps(const eg_plan *plan, eg_issue issue, placed_steps *out) {
  eg_issue_order order;
  eg_issue_order_init(&order, out->alloc);
  egraph_status status = eg_issue_order_find(&order, plan, issue);
  for (uint32_t s = 0; status == EGRAPH_OK && s < plan->steps.len; s++)
    status = placed_steps_push(
        out, (placed_step){order.place.data[s], s,
                           plan->steps.data[s].phase == EG_PHASE_UPDATE});
  eg_issue_order_deinit(&order);
  if (out->len != 0) qsort(out->data, out->len, sizeof *out->data, by_phase_and_place);
  return status;
}

egraph_status eg_plan_issued(const eg_plan *plan, eg_issue issue, eg_plan *out) {
  placed_steps order;
  eg_u32s new_step;
  out->graph = plan->graph;
  out->mesh = plan->mesh;
  out->micro_batches = plan->micro_batches;
  out->memory_limit = plan->memory_limit;
  placed_steps_init(&order, out->steps.alloc);
  eg_u32s_init(&new_step, out->steps.alloc);
  egraph_status status = place_steps(plan, issue, &order);
  if (status == EGRAPH_OK) status = copy_in_order(plan, &order, &new_step, out);
  if (status == EGRAPH_OK) smooth_phases(out);
  eg_u32s_deinit(&new_step);
  placed_steps_deinit(&order);
  return status;
}
