// Models of one space have the same values in the same order, whatever is ruled out.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_choices.h"

/// The value that a place belongs to.
static uint32_t value_of_place(const eg_layout_problem *problem, uint32_t place) {
  const eg_u32s *begin = &problem->place_begin;
  uint32_t low = 0, high = (uint32_t)begin->len - 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    *(begin->data[middle] <= place ? &low : &high) = middle;
  }
  return low;
}

static uint32_t layout_of(const eg_plan_model *model, uint32_t value, uint32_t place) {
  return eg_plan_model_layout(model, value,
                              place - model->problem.place_begin.data[value]);
}

static eg_plan_choice choice_of(const eg_plan_model *model, uint32_t value,
                                uint32_t strategy) {
  const eg_layout_problem *problem = &model->problem;
  eg_plan_choice choice = {.is_needed = true,
                           .strategy = model->strategies.data[strategy],
                           .layout =
                               layout_of(model, value, problem->output.data[strategy]),
                           .source = EG_SPACE_NONE};
  uint32_t need = problem->need_begin.data[strategy];
  if (choice.strategy != EG_SPACE_NONE || need == problem->need_begin.data[strategy + 1])
    return choice;
  choice.source = value_of_place(problem, problem->needs.data[need]);
  choice.from_layout = layout_of(model, choice.source, problem->needs.data[need]);
  return choice;
}

static bool same_choice(const eg_plan_choice *a, const eg_plan_choice *b) {
  return a->is_needed && b->is_needed && a->strategy == b->strategy &&
         a->layout == b->layout && a->source == b->source &&
         a->from_layout == b->from_layout;
}

egraph_status eg_plan_choices_note(eg_plan_choices *choices, const eg_plan_model *model,
                                   const eg_u32s *strategy) {
  for (uint32_t v = 0; v < strategy->len; v++) {
    eg_plan_choice choice = {.is_needed = false};
    if (strategy->data[v] != EG_LAYOUT_NONE)
      choice = choice_of(model, v, strategy->data[v]);
    EG_TRY(eg_plan_choices_push(choices, choice));
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_choices_find(const eg_plan_choices *choices,
                                   const eg_plan_model *model, eg_u32s *strategy) {
  const eg_layout_problem *problem = &model->problem;
  for (size_t v = 0; v < model->values.len; v++)
    EG_TRY(eg_u32s_push(strategy, EG_LAYOUT_NONE));
  for (uint32_t o = 0; o < eg_layout_operator_count(problem); o++) {
    uint32_t v = problem->operator_value.data[o];
    if (v >= choices->len || !choices->data[v].is_needed) continue;
    for (uint32_t s = problem->strategy_begin.data[o];
         s < problem->strategy_begin.data[o + 1]; s++) {
      eg_plan_choice mine = choice_of(model, v, s);
      if (same_choice(&mine, &choices->data[v])) strategy->data[v] = s;
    }
  }
  return EGRAPH_OK;
}
