// Plans that are broken in one place are refused: emitted plans of random steps, of which
// one state, step, operand or output is changed.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_emit.h"
#include "tests/plan_cases.h"

typedef struct draft {
  plan_case c;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  eg_emitted_plan emitted;
} draft;

static bool draft_init(draft *d, uint64_t seed) {
  egraph_allocator heap = eg_allocator_heap();
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  const case_limits limits = {.nodes = 5, .axes = 2, .has_phases = true};
  plan_case_init(&d->c, seed, &limits);
  assert_ok(eg_plan_space_init(&d->space, heap, d->c.egraph, &d->c.info, &d->c.mesh,
                               &d->c.costs));
  assert_ok(eg_plan_model_init(&d->model, heap, &d->space));
  eg_layout_result_init(&d->result, heap);
  assert_ok(eg_layout_solve(heap, &d->model.problem, &options, &d->result));
  assert_ok(eg_plan_emit(&d->model, heap, &d->result.solutions.data[0], &d->emitted));
  return d->emitted.plan.steps.len != 0;
}

static void draft_deinit(draft *d) {
  eg_emitted_plan_deinit(&d->emitted);
  eg_layout_result_deinit(&d->result);
  eg_plan_model_deinit(&d->model);
  eg_plan_space_deinit(&d->space);
  plan_case_deinit(&d->c);
}

static eg_plan *plan_of(draft *d) { return &d->emitted.plan; }

static eg_plan_step *any_step(draft *d, uint32_t *out_number) {
  *out_number = case_below(&d->c, (uint32_t)plan_of(d)->steps.len);
  return &plan_of(d)->steps.data[*out_number];
}

/// A step that is a move; NULL: none.
static eg_plan_step *any_move(draft *d, uint32_t *out_number) {
  uint32_t first = case_below(&d->c, (uint32_t)plan_of(d)->steps.len);
  for (uint32_t i = 0; i < plan_of(d)->steps.len; i++) {
    *out_number = (first + i) % (uint32_t)plan_of(d)->steps.len;
    eg_plan_step *step = &plan_of(d)->steps.data[*out_number];
    if (step->is_move) return step;
  }
  return NULL;
}

static bool is_used(const eg_plan *plan, uint32_t state) {
  for (size_t i = 0; i < plan->operands.len; i++)
    if (plan->operands.data[i] == state) return true;
  for (size_t i = 0; i < plan->steps.len; i++)
    if (plan->steps.data[i].is_move && plan->steps.data[i].from == state) return true;
  return false;
}

// Each breaks a plan in one place; false when the plan has no such place.

static bool change_layout(draft *d) {
  uint32_t number = case_below(&d->c, (uint32_t)plan_of(d)->states.len);
  eg_plan_state *state = &plan_of(d)->states.data[number];
  uint32_t axis = case_below(&d->c, d->c.mesh.axis_count);
  uint8_t digit = (uint8_t)case_below(&d->c, EG_SHARD_S0 + 4);
  if (digit == state->layout.sharding[axis] || !is_used(plan_of(d), number)) return false;
  state->layout.sharding[axis] = digit;
  return true;
}

static bool change_value(draft *d) {
  uint32_t number = case_below(&d->c, (uint32_t)plan_of(d)->states.len);
  uint32_t value = case_below(&d->c, eg_graph_value_count(plan_of(d)->graph));
  eg_plan_state *state = &plan_of(d)->states.data[number];
  if (value == state->value.id || !is_used(plan_of(d), number)) return false;
  state->value.id = value;
  return true;
}

static void delete_step(eg_plan *plan, uint32_t number) {
  memmove(plan->steps.data + number, plan->steps.data + number + 1,
          (plan->steps.len - number - 1) * sizeof *plan->steps.data);
  plan->steps.len--;
  for (size_t i = 0; i < plan->states.len; i++)
    if (plan->states.data[i].step != EG_PLAN_NONE && plan->states.data[i].step > number)
      plan->states.data[i].step--;
}

static bool remove_move(draft *d) {
  uint32_t number;
  if (any_move(d, &number) == NULL) return false;
  delete_step(plan_of(d), number);
  return true;
}

/// As if the result of a move had always been there.
static bool skip_move(draft *d) {
  uint32_t number;
  eg_plan_step *step = any_move(d, &number);
  if (step == NULL || number + 1 == plan_of(d)->steps.len) return false;
  plan_of(d)->states.data[step->to].step = number + 1;
  return true;
}

static bool change_transition(draft *d) {
  uint32_t number;
  eg_plan_step *step = any_move(d, &number);
  if (step == NULL) return false;
  switch (case_below(&d->c, 4)) {
  case 0: step->transition.from++; break;
  case 1: step->transition.to++; break;
  case 2: step->transition.axis++; break;
  default:
    step->transition.kind =
        (eg_transition_kind)((step->transition.kind + 1) % EG_TRANSITION_KINDS);
  }
  return true;
}

/// Later than the step behind it, or earlier than the one before.
static bool change_phase(draft *d) {
  uint32_t number;
  eg_plan_step *step = any_step(d, &number);
  bool is_last = number + 1 == plan_of(d)->steps.len;
  if (!is_last && step[1].phase < EG_PHASE_UPDATE)
    step->phase = (eg_phase)(step[1].phase + 1);
  else if (number != 0 && step[-1].phase > EG_PHASE_FORWARD)
    step->phase = (eg_phase)(step[-1].phase - 1);
  else
    return false;
  return true;
}

static bool change_action(draft *d) {
  uint32_t number;
  eg_plan_step *step = any_step(d, &number);
  if (step->is_move) return false;
  step->action[case_below(&d->c, d->c.mesh.axis_count)] =
      EG_ACTION_SPLIT + EG_MAX_FACTORS;
  return true;
}

static bool change_operand(draft *d) {
  eg_plan *plan = plan_of(d);
  uint32_t at = case_below(&d->c, (uint32_t)plan->operands.len);
  uint32_t state = case_below(&d->c, (uint32_t)plan->states.len + 1);
  const eg_plan_state *old = &plan->states.data[plan->operands.data[at]];
  if (state < plan->states.len && // one of another phase does as well
      plan->states.data[state].value.id == old->value.id &&
      eg_layout_same(&plan->mesh, &plan->states.data[state].layout, &old->layout))
    return false;
  plan->operands.data[at] = state;
  return true;
}

static bool swap_steps(draft *d) {
  uint32_t number;
  eg_plan *plan = plan_of(d);
  (void)any_step(d, &number);
  if (number == 0) return false;
  eg_plan_step step = plan->steps.data[number];
  plan->steps.data[number] = plan->steps.data[number - 1];
  plan->steps.data[number - 1] = step;
  return true; // states still name the old ones
}

static bool change_output(draft *d) {
  eg_plan *plan = plan_of(d);
  uint32_t output = case_below(&d->c, (uint32_t)plan->output_states.len);
  uint32_t state = case_below(&d->c, (uint32_t)plan->states.len + 1);
  if (state < plan->states.len &&
      plan->states.data[state].value.id ==
          plan->states.data[plan->output_states.data[output]].value.id)
    return false;
  plan->output_states.data[output] = state;
  return true;
}

/// A second entry in another layout: nothing has brought it there.
static bool enter_twice(draft *d) {
  eg_plan *plan = plan_of(d);
  uint32_t number;
  eg_plan_step *step = any_move(d, &number);
  if (step == NULL || plan->states.data[step->from].step != EG_PLAN_NONE) return false;
  plan->states.data[step->to].step = EG_PLAN_NONE;
  delete_step(plan, number);
  return true;
}

static bool forget_output(draft *d) {
  plan_of(d)->output_states.len--;
  return true;
}

static bool carry_in_another_layout(draft *d) {
  eg_plan *plan = plan_of(d);
  if (plan->carried.len == 0) return false;
  uint32_t output = plan->carried.data[0], entry = plan->carried.data[1];
  eg_plan_state *exit = &plan->states.data[plan->output_states.data[output]];
  for (uint32_t i = 0; i < plan->states.len; i++) {
    const eg_plan_state *state = &plan->states.data[i];
    if (state->value.id != exit->value.id || state->value.id == entry ||
        eg_layout_same(&plan->mesh, &state->layout, &exit->layout))
      continue;
    plan->output_states.data[output] = i;
    for (uint32_t k = 0; k < plan->states.len;
         k++) // an entry that is not there may be any
      if (plan->states.data[k].value.id == entry) return true;
    return false;
  }
  return false;
}

static void plans_broken_in_one_place_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool (*apply)(draft *);
  } ways[] = {
      {"layout", change_layout},
      {"value", change_value},
      {"move removed", remove_move},
      {"move skipped", skip_move},
      {"transition", change_transition},
      {"phase", change_phase},
      {"action", change_action},
      {"operand", change_operand},
      {"order", swap_steps},
      {"output", change_output},
      {"entry", enter_twice},
      {"no output", forget_output},
      {"carried", carry_in_another_layout},
  };
  enum { WAYS = sizeof ways / sizeof *ways };
  static draft d;
  size_t broken[WAYS] = {0}, rounds = test_rounds(1500);
  uint64_t seed = test_seed(20261111);
  for (size_t round = 0; round < rounds; round++) {
    uint32_t way = (uint32_t)(round % WAYS);
    bool has_steps = draft_init(&d, eg_hash_combine(seed, round));
    assert_ok(eg_plan_check(plan_of(&d), eg_allocator_heap()));
    if (has_steps && ways[way].apply(&d)) {
      broken[way]++;
      if (eg_plan_check(plan_of(&d), eg_allocator_heap()) != EGRAPH_E_INTERNAL) {
        print_message("%s", eg_text_of(&d.c.text));
        fail_msg("round %zu: %s: not refused", round, ways[way].name);
      }
    }
    draft_deinit(&d);
  }
  for (uint32_t way = 0; way < WAYS; way++)
    if (broken[way] == 0) fail_msg("%s: never tried", ways[way].name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_broken_in_one_place_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
