// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_life.h"

#include "pcg/plan/plan_words.h"
#include "pcg/plan/step_scratch.h"

#define NEVER EG_PLAN_NONE

typedef struct living {
  const eg_plan *plan;
  uint32_t end;        // last step
  eg_u32s last;        // [states] last step that uses it, or NEVER
  eg_u32s last_before; // [states] likewise, before UPDATE
  eg_u32s entry;       // [values] state from the start, or NEVER
  eg_u32s exit_of;     // [states] entry that what leaves the step as this comes in as
  eg_u32s is_output, is_carried; // [states] flags
  eg_lives *out;
} living;

const char *eg_store_name(eg_store store) {
#define STORE_NAME(id, name, words) name,
  static const char *const NAMES[] = {EG_STORE_LIST(STORE_NAME)};
#undef STORE_NAME
  return NAMES[store];
}

const char *eg_store_words(eg_store store) {
#define STORE_WORDS(id, name, words) words,
  static const char *const WORDS[] = {EG_STORE_LIST(STORE_WORDS)};
#undef STORE_WORDS
  return WORDS[store];
}

// ---- uses -----------------------------------------------------------------------------

static void use(living *l, uint32_t state, uint32_t step) {
  l->last.data[state] = step;
  if (l->plan->steps.data[step].phase != EG_PHASE_UPDATE)
    l->last_before.data[state] = step;
}

static void find_uses(living *l) {
  const eg_plan *plan = l->plan;
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    if (step->is_move) {
      use(l, step->from, s);
      continue;
    }
    uint32_t count = eg_graph_node_at(plan->graph, step->node).input_count;
    for (uint32_t i = 0; i < count; i++)
      use(l, plan->operands.data[step->operands + i], s);
  }
}

static void find_ends(living *l) {
  const eg_plan *plan = l->plan;
  for (uint32_t i = (uint32_t)plan->states.len; i-- > 0;)
    if (plan->states.data[i].step == EG_PLAN_NONE)
      l->entry.data[plan->states.data[i].value.id] = i;
  for (size_t i = 0; i < plan->output_states.len; i++)
    l->is_output.data[plan->output_states.data[i]] = 1;
  for (size_t i = plan->carried.len / 2; i-- > 0;) {
    const uint32_t *pair = plan->carried.data + 2 * i;
    uint32_t entry = l->entry.data[pair[1]];
    if (entry == NEVER) continue;
    l->is_carried.data[entry] = 1;
    l->exit_of.data[plan->output_states.data[pair[0]]] = entry;
  }
}

// ---- lives ----------------------------------------------------------------------------

static egraph_status live(living *l, uint32_t state, eg_store store, uint32_t from,
                          uint32_t until) {
  double blocks =
      store == EG_STORE_TRANSIENT ? 1 : 1.0 + l->plan->states.data[state].more_blocks;
  return eg_lives_push(l->out,
                       (eg_life){.state = state,
                                 .store = store,
                                 .from = from,
                                 .until = until,
                                 .bytes = blocks * eg_plan_state_bytes(l->plan, state)});
}

static eg_phase phase_of(const living *l, uint32_t step) {
  return l->plan->steps.data[step].phase;
}

/// Whether the step that makes a state from another one may write it over that.
static bool writes_over(const eg_plan *plan, uint32_t state, uint32_t operand) {
  const eg_plan_step *step = &plan->steps.data[plan->states.data[state].step];
  if (step->is_move) return false;
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  uint32_t in_place = eg_op_in_place((eg_op)info.attrs->op), reads = 0, at = 0;
  const uint32_t *operands = plan->operands.data + step->operands;
  for (uint32_t i = 0; i < info.input_count; i++) {
    reads += operands[i] == operand;
    if (operands[i] == operand) at = i;
  }
  return reads == 1 && at < info.result_count && (in_place >> at & 1) != 0 &&
         operands[info.input_count + at] == state;
}

/// Whether the state takes the place of the entry that it leaves the step for, or the
/// micro-batch: nothing reads the entry when it is made.
static bool shares_storage(const living *l, uint32_t state) {
  uint32_t entry = l->exit_of.data[state], step = l->plan->states.data[state].step;
  if (entry == NEVER || l->is_output.data[entry]) return false;
  uint32_t last = l->last.data[entry];
  return last == NEVER || last < step ||
         (last == step && writes_over(l->plan, state, entry));
}

/// A state made in FORWARD or BACKWARD that UPDATE or the end of the step needs, with
/// several micro-batches: their sum, and what the last of them adds.
static egraph_status live_as_sum(living *l, uint32_t state) {
  uint32_t step = l->plan->states.data[state].step;
  uint32_t last = l->last_before.data[state] == NEVER ? step : l->last_before.data[state];
  bool crosses = phase_of(l, last) != phase_of(l, step);
  bool is_output = l->is_output.data[state] != 0;
  if (shares_storage(l, state)) return EGRAPH_OK;
  EG_TRY(live(l, state, crosses ? EG_STORE_STASH : EG_STORE_TRANSIENT, step, last));
  return live(l, state, is_output ? EG_STORE_OUTPUT : EG_STORE_ACCUMULATOR, 0,
              is_output ? l->end : l->last.data[state]);
}

static egraph_status live_once(living *l, uint32_t state) {
  uint32_t step = l->plan->states.data[state].step;
  uint32_t last = l->last.data[state] == NEVER ? step : l->last.data[state];
  eg_phase made = phase_of(l, step), used = phase_of(l, last);
  eg_store store = made == used              ? EG_STORE_TRANSIENT
                   : used == EG_PHASE_UPDATE ? EG_STORE_ACCUMULATOR
                                             : EG_STORE_STASH;
  if (shares_storage(l, state)) return EGRAPH_OK;
  return l->is_output.data[state] ? live(l, state, EG_STORE_OUTPUT, step, l->end)
                                  : live(l, state, store, step, last);
}

static egraph_status live_state(living *l, uint32_t state) {
  uint32_t step = l->plan->states.data[state].step;
  if (step == EG_PLAN_NONE)
    return live(l, state, l->is_carried.data[state] ? EG_STORE_CARRIED : EG_STORE_INPUT,
                0, l->end);
  uint32_t last = l->last.data[state];
  bool is_kept =
      l->is_output.data[state] || (last != NEVER && phase_of(l, last) == EG_PHASE_UPDATE);
  bool is_sum =
      is_kept && l->plan->micro_batches > 1 && phase_of(l, step) != EG_PHASE_UPDATE;
  return is_sum ? live_as_sum(l, state) : live_once(l, state);
}

static egraph_status live_scratch(living *l, eg_arena *arena) {
  for (uint32_t s = 0; s < l->plan->steps.len; s++) {
    eg_life life = {
        .state = EG_PLAN_NONE, .store = EG_STORE_SCRATCH, .from = s, .until = s};
    EG_TRY(eg_plan_step_scratch(l->plan, &l->plan->steps.data[s], arena, &life.bytes));
    if (life.bytes != 0) EG_TRY(eg_lives_push(l->out, life));
    eg_arena_deinit(arena);
  }
  return EGRAPH_OK;
}

static egraph_status fill_numbers(eg_u32s *numbers, size_t count, uint32_t value) {
  EG_TRY(eg_u32s_resize(numbers, count));
  for (size_t i = 0; i < count; i++)
    numbers->data[i] = value;
  return EGRAPH_OK;
}

static egraph_status find_lives(living *l) {
  size_t states = l->plan->states.len;
  EG_TRY(fill_numbers(&l->last, states, NEVER));
  EG_TRY(fill_numbers(&l->last_before, states, NEVER));
  EG_TRY(fill_numbers(&l->exit_of, states, NEVER));
  EG_TRY(fill_numbers(&l->is_output, states, 0));
  EG_TRY(fill_numbers(&l->is_carried, states, 0));
  EG_TRY(fill_numbers(&l->entry, eg_graph_value_count(l->plan->graph), NEVER));
  find_uses(l);
  find_ends(l);
  for (uint32_t i = 0; i < states; i++)
    EG_TRY(live_state(l, i));
  return EGRAPH_OK;
}

egraph_status eg_plan_lives(const eg_plan *plan, egraph_allocator alloc,
                            eg_lives *inout) {
  living l = {.plan = plan, .out = inout};
  l.end = plan->steps.len == 0 ? 0 : (uint32_t)plan->steps.len - 1;
  eg_u32s *const lists[] = {&l.last,    &l.last_before, &l.entry,
                            &l.exit_of, &l.is_output,   &l.is_carried};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_init(lists[i], alloc);
  eg_arena arena;
  eg_arena_init(&arena, alloc);
  egraph_status status = find_lives(&l);
  if (status == EGRAPH_OK) status = live_scratch(&l, &arena);
  eg_arena_deinit(&arena);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_deinit(lists[i]);
  return status;
}
