// Which steps wait until other ranks have read what this one lent them (channel.h). A
// collective lends what it sends from: operand, scratch, of an all-reduce the result. The
// loan ends where the next collective along its axis begins, or where the rank settles;
// before a step that would write over a loan, the program does. At the end of its last
// step it does, too, so that nothing is lent between calls.
//
//   step          writes          lent, in the arena
//   halo of a     scratch [0,4)   [0,4)
//   kernel b      [8,12)          [0,4)
//   kernel c      [2,8)           -               settles first
//
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_build.h"

/// Bytes of the arena; begin == end: none.
typedef struct span {
  size_t begin, end;
} span;

enum { OPERAND, RESULT, SCRATCH, SPANS };

typedef struct loan {
  span spans[SPANS];
} loan;

static span span_of(eg_rank_program *p, uint32_t region, size_t bytes) {
  if (region == EG_REGION_NONE) return (span){0};
  eg_region_place place = eg_regions_find(&p->regions, region);
  size_t begin = p->regions.data[place.root].offset + place.offset;
  return (span){begin, begin + bytes};
}

static span span_of_state(eg_rank_program *p, uint32_t state) {
  return span_of(p, p->states[state].region, eg_type_bytes(&p->states[state].type));
}

static bool is_lent(const loan loans[EG_MAX_MESH_AXES], span written) {
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++)
    for (uint32_t i = 0; i < SPANS; i++) {
      const span *s = &loans[a].spans[i];
      if (s->begin < written.end && written.begin < s->end) return true;
    }
  return false;
}

static bool writes_over(eg_rank_program *p, const eg_rank_step *step,
                        const loan loans[EG_MAX_MESH_AXES]) {
  if (step->is_view) return false;
  for (uint32_t r = 0; r < step->result_count; r++)
    if (is_lent(loans, span_of_state(p, step->results[r]))) return true;
  return is_lent(loans, span_of(p, step->scratch_region, step->scratch_bytes));
}

/// What a step lends replaces what was lent along the axis.
static void lend(eg_rank_program *p, const eg_rank_step *step,
                 loan loans[EG_MAX_MESH_AXES]) {
  span scratch = span_of(p, step->scratch_region, step->scratch_bytes);
  for (uint32_t h = 0; h < step->halo_count; h++)
    loans[step->halos[h].halo.axis] = (loan){.spans = {[SCRATCH] = scratch}};
  bool is_move = step->program == NULL && !step->is_view;
  const eg_transition *transition = &step->move.transition;
  if (!is_move || eg_transition_is_local(transition->kind)) return;
  loans[transition->axis] =
      (loan){.spans = {[OPERAND] = span_of_state(p, step->operands[0]),
                       [RESULT] = span_of_state(p, step->results[0]),
                       [SCRATCH] = scratch}};
}

void eg_rank_find_loans(eg_rank_program *p) {
  loan loans[EG_MAX_MESH_AXES] = {0};
  for (uint32_t i = 0; i < p->steps.len; i++) {
    eg_rank_step *step = &p->steps.data[i];
    step->settles = writes_over(p, step, loans);
    if (step->settles) memset(loans, 0, sizeof loans);
    lend(p, step, loans);
  }
}
