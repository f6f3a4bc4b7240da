// Exchanges beside computing. Which ones: those with something to compute between them
// and their first reader. Until when: to that reader, or until memory that they use is
// needed otherwise, which is theirs as long as they take by the seconds of the plan. That
// is found where memory is placed, by the bytes of the arena that a step reads and
// writes, so that whatever shares memory is seen:
//
//   step            reads     writes
//   exchange s      [0,4)     [4,8)      started
//   kernel a        [8,12)    [12,16)
//   kernel b        [4,8)     [16,20)    awaits s: it reads the result
//   kernel c        [16,20)   [0,4)      would await s: it writes over what s reads
//
// Exchanges run one after the other, so an exchange waits for no other one, and who has
// waited for one has waited for all that were started before it.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program_internal.h"

// ---- which ----------------------------------------------------------------------------

static bool reads(const eg_rank_step *step, uint32_t state) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (step->operands[i] == state) return true;
  return false;
}

/// Local moves and views pass on what they read; the first step that does not run there
/// is the reader.
static void find_overlap(eg_rank_program *p, uint32_t index) {
  eg_rank_step *step = &p->steps.data[index];
  uint32_t end = index < p->body ? p->body : (uint32_t)p->steps.len, at = index + 1;
  bool computes = false;
  while (at < end && !reads(&p->steps.data[at], step->results[0])) {
    computes = computes || eg_plan_step_computes(&p->plan->steps.data[at]);
    at++;
  }
  step->overlaps = computes;
  if (computes) step->until = at;
}

/// When a step begins, and an exchange ends, by the seconds of the plan: computing waits
/// for what it reads, exchanges for each other.
typedef struct schedule {
  double *begins, *ends; // [steps]
  double clock, lane;    // when both are free
} schedule;

static void wait_for_operands(const eg_rank_program *p, const eg_rank_step *step,
                              schedule *s) {
  for (uint32_t i = 0; i < step->operand_count; i++) {
    uint32_t by = p->plan->states.data[step->operands[i]].step;
    if (by != EG_PLAN_NONE && p->steps.data[by].overlaps && s->clock < s->ends[by])
      s->clock = s->ends[by];
  }
}

static void schedule_step(const eg_rank_program *p, uint32_t index, schedule *s) {
  const eg_rank_step *step = &p->steps.data[index];
  double seconds = p->plan->steps.data[index].seconds;
  s->begins[index] = s->clock;
  if (step->overlaps) {
    s->lane = (s->lane > s->clock ? s->lane : s->clock) + seconds;
    s->ends[index] = s->lane;
    return;
  }
  wait_for_operands(p, step, s);
  bool exchanges = eg_plan_step_is_exchange(&p->plan->steps.data[index]);
  if (exchanges && s->clock < s->lane) s->clock = s->lane;
  s->clock += seconds;
  if (exchanges) s->lane = s->clock;
}

/// What an exchange uses is held as long as it takes, as the simulator has it, and no
/// longer: who needs the memory then waits where it takes longer.
static void shorten(eg_rank_program *p, uint32_t index, const schedule *s) {
  eg_rank_step *step = &p->steps.data[index];
  uint32_t at = index + 1;
  while (at < step->until && s->begins[at] < s->ends[index])
    at++;
  step->until = at;
}

egraph_status eg_rank_find_overlaps(eg_rank_program *p) {
  schedule s = {.clock = 0};
  if (p->lane == NULL) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(&p->part_arena, p->steps.len, sizeof *s.begins, &s.begins));
  EG_TRY(eg_arena_alloc(&p->part_arena, p->steps.len, sizeof *s.ends, &s.ends));
  for (uint32_t i = 0; i < p->steps.len; i++) {
    const eg_plan_step *step = &p->plan->steps.data[i];
    if (eg_plan_step_is_exchange(step) && !p->steps.data[i].is_view) find_overlap(p, i);
    schedule_step(p, i, &s);
  }
  for (uint32_t i = 0; i < p->steps.len; i++)
    if (p->steps.data[i].overlaps) shorten(p, i, &s);
  return EGRAPH_OK;
}

// ---- until when -----------------------------------------------------------------------

static bool exchange_writes(eg_rank_program *p, const eg_rank_step *exchange,
                            eg_rank_span bytes) {
  return eg_rank_spans_meet(bytes, eg_rank_state_span(p, exchange->results[0])) ||
         eg_rank_spans_meet(bytes, eg_rank_scratch_span(p, exchange));
}

static bool exchange_uses(eg_rank_program *p, const eg_rank_step *exchange,
                          eg_rank_span bytes) {
  return exchange_writes(p, exchange, bytes) ||
         eg_rank_spans_meet(bytes, eg_rank_state_span(p, exchange->operands[0]));
}

static bool has_to_wait(eg_rank_program *p, const eg_rank_step *step,
                        const eg_rank_step *exchange) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (exchange_writes(p, exchange, eg_rank_state_span(p, step->operands[i])))
      return true;
  for (uint32_t r = 0; r < step->result_count; r++)
    if (exchange_uses(p, exchange, eg_rank_state_span(p, step->results[r]))) return true;
  return exchange_uses(p, exchange, eg_rank_scratch_span(p, step));
}

/// `started`: exchanges that may be on their way, in order.
static void find_wait(eg_rank_program *p, eg_rank_step *step, eg_u32s *started) {
  size_t i = started->len;
  while (i > 0 && !has_to_wait(p, step, &p->steps.data[started->data[i - 1]]))
    i--;
  if (i == 0) return;
  step->awaits = started->data[i - 1];
  memmove(started->data, started->data + i, (started->len - i) * sizeof *started->data);
  started->len -= i;
}

egraph_status eg_rank_find_waits(eg_rank_program *p) {
  eg_u32s started;
  egraph_status status = EGRAPH_OK;
  eg_u32s_init(&started, p->alloc);
  for (uint32_t i = 0; status == EGRAPH_OK && i < p->steps.len; i++) {
    eg_rank_step *step = &p->steps.data[i];
    if (i == p->body) started.len = 0; // all are waited for
    if (step->overlaps)
      status = eg_u32s_push(&started, i);
    else if (!step->is_view && started.len != 0)
      find_wait(p, step, &started);
  }
  eg_u32s_deinit(&started);
  return status;
}
