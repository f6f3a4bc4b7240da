// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_needs.h"

#include "base/owner.h"
#include "optimize/space/groups.h"

#define OWNED                                                                            \
  (eg_u32s, operator_begin, operators, arc_begin, arcs, place_value, first, queue),      \
      (eg_bytes, everywhere, before)

void eg_plan_needs_init(eg_plan_needs *needs, egraph_allocator alloc) {
  *needs = (eg_plan_needs){.model = NULL};
  EG_INIT_MEMBERS(needs, alloc, OWNED)
}

void eg_plan_needs_deinit(eg_plan_needs *needs) { EG_DEINIT_MEMBERS(needs, OWNED) }

static bool has_strategy(const eg_layout_problem *p, uint32_t op) {
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (!p->forbidden.data[s]) return true;
  return false;
}

static bool reads(const eg_layout_problem *p, uint32_t op, uint32_t value) {
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (p->inputs.data[i] == value) return true;
  return false;
}

bool eg_plan_needs_reads(const eg_plan_needs *needs, uint32_t value, uint32_t other) {
  const eg_layout_problem *p = &needs->model->problem;
  for (uint32_t i = needs->operator_begin.data[value];
       i < needs->operator_begin.data[value + 1]; i++) {
    uint32_t op = needs->operators.data[i];
    if (has_strategy(p, op) && !reads(p, op, other)) return false;
  }
  return true;
}

static egraph_status add(eg_plan_needs *needs, eg_bytes *inout, uint32_t value) {
  if (inout->data[value] != 0) return EGRAPH_OK;
  inout->data[value] = 1;
  return eg_u32s_push(&needs->queue, value);
}

/// Adds what a value always needs: of the operands of one of its operators those that all
/// read.
static egraph_status add_operands(eg_plan_needs *needs, uint32_t value, eg_bytes *inout) {
  const eg_layout_problem *p = &needs->model->problem;
  uint32_t at = needs->operator_begin.data[value];
  uint32_t end = needs->operator_begin.data[value + 1];
  while (at < end && !has_strategy(p, needs->operators.data[at]))
    at++;
  if (at == end) return EGRAPH_OK;
  uint32_t op = needs->operators.data[at];
  for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++)
    if (eg_plan_needs_reads(needs, value, p->inputs.data[i]))
      EG_TRY(add(needs, inout, p->inputs.data[i]));
  return EGRAPH_OK;
}

static egraph_status close(eg_plan_needs *needs, eg_bytes *inout) {
  while (needs->queue.len != 0)
    EG_TRY(add_operands(needs, eg_u32s_pop(&needs->queue), inout));
  return EGRAPH_OK;
}

static egraph_status index_arcs(eg_plan_needs *needs) {
  const eg_layout_problem *p = &needs->model->problem;
  eg_u32s value;
  eg_u32s_init(&value, needs->arcs.alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t a = 0; status == EGRAPH_OK && a < eg_layout_arc_count(p); a++)
    status = eg_u32s_push(&value, needs->place_value.data[p->arc_to.data[a]]);
  if (status == EGRAPH_OK)
    status =
        eg_group_items(&value, eg_layout_value_count(p), &needs->arc_begin, &needs->arcs);
  eg_u32s_deinit(&value);
  return status;
}

static egraph_status index_problem(eg_plan_needs *needs) {
  const eg_layout_problem *p = &needs->model->problem;
  uint32_t values = eg_layout_value_count(p);
  needs->everywhere.len = needs->before.len = 0;
  needs->operator_begin.len = needs->operators.len = 0;
  needs->arc_begin.len = needs->arcs.len = 0;
  EG_TRY(eg_bytes_resize(&needs->everywhere, values));
  EG_TRY(eg_bytes_resize(&needs->before, values));
  EG_TRY(eg_group_items(&p->operator_value, values, &needs->operator_begin,
                        &needs->operators));
  needs->queue.len = needs->place_value.len = 0;
  for (uint32_t v = 0; v < values; v++)
    for (uint32_t l = 0; l < eg_layout_layout_count(p, v); l++)
      EG_TRY(eg_u32s_push(&needs->place_value, v));
  return index_arcs(needs);
}

// ---- order ----------------------------------------------------------------------------

bool eg_plan_needs_is_made(const eg_plan_needs *needs, uint32_t value) {
  const eg_model_value *of = &needs->model->values.data[value];
  const eg_space_value *space = &needs->model->space->values.data[of->value];
  return of->role == EG_MODEL_COPY && !space->is_entry && space->phase == of->phase;
}

bool eg_plan_needs_is_earlier(const eg_plan_needs *needs, uint32_t value,
                              uint32_t other) {
  const eg_model_value *a = &needs->model->values.data[value],
                       *b = &needs->model->values.data[other];
  return eg_plan_needs_is_made(needs, value) && eg_plan_needs_is_made(needs, other) &&
         a->phase == b->phase && a->value < needs->first.data[other];
}

/// A value is written when its number comes, or for one that needs it; a sum as soon as
/// its operands are there.
static egraph_status find_first(eg_plan_needs *needs) {
  const eg_plan_model *model = needs->model;
  const eg_layout_problem *p = &model->problem;
  EG_TRY(eg_u32s_resize(&needs->first, model->values.len));
  for (size_t v = 0; v < model->values.len; v++) {
    uint32_t number = model->values.data[v].value;
    needs->first.data[v] = model->space->values.data[number].is_sum ? 0 : number;
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t o = eg_layout_operator_count(p); o-- > 0;) {
      uint32_t reader = p->operator_value.data[o];
      for (uint32_t i = p->input_begin.data[o]; i < p->input_begin.data[o + 1]; i++) {
        uint32_t *mine = &needs->first.data[p->inputs.data[i]];
        bool is_phase = model->values.data[reader].phase ==
                        model->values.data[p->inputs.data[i]].phase;
        if (!is_phase || needs->first.data[reader] >= *mine) continue;
        *mine = needs->first.data[reader];
        moves = true;
      }
    }
  }
  return EGRAPH_OK;
}

// ---- questions ------------------------------------------------------------------------

egraph_status eg_plan_needs_find(eg_plan_needs *needs, const eg_plan_model *model) {
  needs->model = model;
  EG_TRY(index_problem(needs));
  EG_TRY(find_first(needs));
  for (size_t r = 0; r < model->problem.root_value.len; r++)
    EG_TRY(add(needs, &needs->everywhere, model->problem.root_value.data[r]));
  return close(needs, &needs->everywhere);
}

egraph_status eg_plan_needs_ask(eg_plan_needs *needs, uint32_t value) {
  for (size_t v = 0; v < needs->before.len; v++)
    needs->before.data[v] = 0;
  EG_TRY(add_operands(needs, value, &needs->before));
  return close(needs, &needs->before);
}
