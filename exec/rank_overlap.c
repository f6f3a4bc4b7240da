// Exchanges beside computing. Which ones: those with something to compute between them
// and their first reader. Until when: to that reader, or as long as memory that they use
// is not needed otherwise. That is found where memory is placed, by the bytes of the
// arena that a step reads and writes, so that whatever shares memory is seen:
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
  if (computes) step->read = at;
}

void eg_rank_find_overlaps(eg_rank_program *p) {
  if (p->lane == NULL) return;
  for (uint32_t i = 0; i < p->steps.len; i++) {
    const eg_plan_step *step = &p->plan->steps.data[i];
    if (eg_plan_step_is_exchange(step) && !p->steps.data[i].is_view) find_overlap(p, i);
  }
}

// ---- until when -----------------------------------------------------------------------

/// Bytes of the arena; begin == end: none.
typedef struct span {
  size_t begin, end;
} span;

static span span_of(eg_rank_program *p, uint32_t region, size_t bytes) {
  if (region == EG_REGION_NONE) return (span){0};
  eg_region_place place = eg_regions_find(&p->regions, region);
  size_t begin = p->regions.data[place.root].offset + place.offset;
  return (span){begin, begin + bytes};
}

static span span_of_state(eg_rank_program *p, uint32_t state) {
  return span_of(p, p->states[state].region, eg_type_bytes(&p->states[state].type));
}

static bool meet(span a, span b) { return a.begin < b.end && b.begin < a.end; }

static bool exchange_writes(eg_rank_program *p, const eg_rank_step *exchange,
                            span bytes) {
  return meet(bytes, span_of_state(p, exchange->results[0])) ||
         meet(bytes, span_of(p, exchange->scratch_region, exchange->scratch_bytes));
}

static bool exchange_uses(eg_rank_program *p, const eg_rank_step *exchange, span bytes) {
  return exchange_writes(p, exchange, bytes) ||
         meet(bytes, span_of_state(p, exchange->operands[0]));
}

static bool has_to_wait(eg_rank_program *p, const eg_rank_step *step,
                        const eg_rank_step *exchange) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (exchange_writes(p, exchange, span_of_state(p, step->operands[i]))) return true;
  for (uint32_t r = 0; r < step->result_count; r++)
    if (exchange_uses(p, exchange, span_of_state(p, step->results[r]))) return true;
  return exchange_uses(p, exchange,
                       span_of(p, step->scratch_region, step->scratch_bytes));
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
