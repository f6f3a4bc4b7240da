// Public functions that walk a plan: they return views of data of pcg/.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "api/tensors.h"
#include "pcg/plan/plan_cost.h"
#include "pcg/plan/plan_words.h"

static_assert((int)EGRAPH_MAX_AXES == (int)EG_MAX_MESH_AXES, "one limit of axes");

static const egraph_state NO_STATE = {EGRAPH_NONE};

static const eg_plan *plan_of(const egraph_plan *plan) {
  return plan != NULL ? &plan->planned.plan : NULL;
}

// ---- the mesh ---------------------------------------------------------------------

uint32_t egraph_plan_axis_count(const egraph_plan *plan) {
  const eg_plan *p = plan_of(plan);
  return p != NULL ? p->mesh.axis_count : 0;
}

const char *egraph_plan_axis(const egraph_plan *plan, uint32_t axis, uint32_t *out_size) {
  if (axis >= egraph_plan_axis_count(plan) || out_size == NULL) return NULL;
  *out_size = plan_of(plan)->mesh.axes[axis].size;
  return plan_of(plan)->mesh.axes[axis].name;
}

// ---- states -----------------------------------------------------------------------

uint32_t egraph_plan_state_count(const egraph_plan *plan) {
  const eg_plan *p = plan_of(plan);
  return p != NULL ? (uint32_t)p->states.len : 0;
}

static const eg_plan_state *state_of(const egraph_plan *plan, egraph_state state) {
  return state.id < egraph_plan_state_count(plan) ? &plan_of(plan)->states.data[state.id]
                                                  : NULL;
}

egraph_value egraph_plan_state_value(const egraph_plan *plan, egraph_state state) {
  const eg_plan_state *row = state_of(plan, state);
  return (egraph_value){row != NULL ? row->value.id : EGRAPH_NONE};
}

static egraph_digit digit_of(uint8_t digit) {
  if (eg_digit_is_shard(digit))
    return (egraph_digit){EGRAPH_DIGIT_SHARDED, eg_digit_dim(digit)};
  static const egraph_digit_kind KINDS[] = {[EG_SHARD_R] = EGRAPH_DIGIT_REPLICATED,
                                            [EG_SHARD_P_SUM] = EGRAPH_DIGIT_SUM,
                                            [EG_SHARD_P_MAX] = EGRAPH_DIGIT_MAX};
  return (egraph_digit){KINDS[digit], 0};
}

/// Prints an object to a text. print_into copies the text to `out`, which is large
/// enough for the longest text.
typedef egraph_status (*print_one)(eg_text *text, const void *what, const eg_mesh *mesh);

static bool print_into(const egraph_plan *plan, print_one print, const void *what,
                       char *out, size_t room) {
  EG_LOCAL(eg_text, text, plan->alloc);
  bool fits =
      print(&text, what, &plan_of(plan)->mesh) == EGRAPH_OK && text.chars.len < room;
  if (fits) memcpy(out, eg_text_of(&text), text.chars.len + 1);
  return fits;
}

static egraph_status print_layout(eg_text *text, const void *what, const eg_mesh *mesh) {
  return eg_layout_print(text, mesh, what);
}

static egraph_status print_action(eg_text *text, const void *what, const eg_mesh *mesh) {
  (void)mesh;
  return eg_action_print(text, *(const uint8_t *)what);
}

bool egraph_plan_state_layout(const egraph_plan *plan, egraph_state state,
                              egraph_layout *out) {
  const eg_plan_state *row = state_of(plan, state);
  egraph_layout layout = {.axis_count = egraph_plan_axis_count(plan)};
  if (row == NULL || out == NULL ||
      !print_into(plan, print_layout, &row->layout, layout.text, sizeof layout.text))
    return false;
  layout.format = eg_format_name((eg_format)row->layout.format);
  for (uint32_t a = 0; a < layout.axis_count; a++)
    layout.digits[a] = digit_of(row->layout.sharding[a]);
  *out = layout;
  return true;
}

bool egraph_plan_state_type(const egraph_plan *plan, egraph_state state,
                            egraph_tensor *out) {
  const eg_plan_state *row = state_of(plan, state);
  if (row == NULL || out == NULL) return false;
  const eg_plan *p = plan_of(plan);
  eg_type local = eg_sharding_local(&p->mesh, &eg_graph_value(p->graph, row->value)->type,
                                    &row->layout);
  *out = eg_tensor_from_type(&local);
  return true;
}

bool egraph_plan_state_step(const egraph_plan *plan, egraph_state state,
                            uint32_t *out_step) {
  const eg_plan_state *row = state_of(plan, state);
  if (row == NULL || row->step == EG_PLAN_NONE || out_step == NULL) return false;
  *out_step = row->step;
  return true;
}

egraph_state egraph_plan_output_state(const egraph_plan *plan, uint32_t index) {
  const eg_plan *p = plan_of(plan);
  if (p == NULL || index >= p->output_states.len) return NO_STATE;
  return (egraph_state){p->output_states.data[index]};
}

uint32_t egraph_plan_carried_count(const egraph_plan *plan) {
  const eg_plan *p = plan_of(plan);
  return p != NULL ? (uint32_t)(p->carried.len / 2) : 0;
}

bool egraph_plan_carried(const egraph_plan *plan, uint32_t index, uint32_t *out_output,
                         egraph_value *out_value) {
  if (index >= egraph_plan_carried_count(plan) || out_output == NULL || out_value == NULL)
    return false;
  const uint32_t *pair = plan_of(plan)->carried.data + 2 * (size_t)index;
  *out_output = pair[0];
  *out_value = (egraph_value){pair[1]};
  return true;
}

// ---- steps ------------------------------------------------------------------------

uint32_t egraph_plan_step_count(const egraph_plan *plan) {
  const eg_plan *p = plan_of(plan);
  return p != NULL ? (uint32_t)p->steps.len : 0;
}

static const eg_plan_step *step_of(const egraph_plan *plan, uint32_t step) {
  return step < egraph_plan_step_count(plan) ? &plan_of(plan)->steps.data[step] : NULL;
}

bool egraph_plan_step_is_move(const egraph_plan *plan, uint32_t step) {
  const eg_plan_step *row = step_of(plan, step);
  return row != NULL && row->is_move;
}

const char *egraph_plan_step_phase(const egraph_plan *plan, uint32_t step) {
  const eg_plan_step *row = step_of(plan, step);
  return row != NULL ? eg_phase_name(row->phase) : NULL;
}

bool egraph_plan_step_node(const egraph_plan *plan, uint32_t step, egraph_node *out) {
  const eg_plan_step *row = step_of(plan, step);
  if (row == NULL || row->is_move || out == NULL) return false;
  *out = (egraph_node){row->node.id};
  return true;
}

const char *egraph_plan_step_operator(const egraph_plan *plan, uint32_t step) {
  egraph_node node;
  if (egraph_plan_step_node(plan, step, &node))
    return egraph_node_operator(egraph_plan_graph(plan), node);
  const eg_plan_step *row = step_of(plan, step);
  return row != NULL ? eg_transition_name(row->transition.kind) : NULL;
}

/// Finds the operands or the results of a step of the plan; returns their number.
static uint32_t states_of(const egraph_plan *plan, uint32_t step, bool are_results,
                          const uint32_t **out) {
  const eg_plan_step *row = step_of(plan, step);
  if (row == NULL) return 0;
  if (row->is_move) {
    *out = are_results ? &row->to : &row->from;
    return 1;
  }
  const eg_plan *p = plan_of(plan);
  eg_graph_node_info info = eg_graph_node_at(p->graph, row->node);
  *out = p->operands.data + row->operands + (are_results ? info.input_count : 0);
  return are_results ? info.result_count : info.input_count;
}

static egraph_state state_at(const egraph_plan *plan, uint32_t step, bool is_result,
                             uint32_t index) {
  const uint32_t *states;
  if (index >= states_of(plan, step, is_result, &states)) return NO_STATE;
  return (egraph_state){states[index]};
}

uint32_t egraph_plan_step_operand_count(const egraph_plan *plan, uint32_t step) {
  const uint32_t *states;
  return states_of(plan, step, false, &states);
}

egraph_state egraph_plan_step_operand(const egraph_plan *plan, uint32_t step,
                                      uint32_t index) {
  return state_at(plan, step, false, index);
}

uint32_t egraph_plan_step_result_count(const egraph_plan *plan, uint32_t step) {
  const uint32_t *states;
  return states_of(plan, step, true, &states);
}

egraph_state egraph_plan_step_result(const egraph_plan *plan, uint32_t step,
                                     uint32_t index) {
  return state_at(plan, step, true, index);
}

static egraph_action action_of(uint8_t action) {
  if (action == EG_ACTION_REPLICATE)
    return (egraph_action){.kind = EGRAPH_ACTION_REPLICATE};
  if (action == EG_ACTION_PASS_JOINT)
    return (egraph_action){.kind = EGRAPH_ACTION_PASS_JOINT};
  if (action < EG_ACTION_SPLIT)
    return (egraph_action){.kind = EGRAPH_ACTION_PASS,
                           .index = (uint32_t)action - EG_ACTION_PASS};
  return (egraph_action){.kind = EGRAPH_ACTION_SPLIT,
                         .index = (uint32_t)action - EG_ACTION_SPLIT};
}

bool egraph_plan_step_action(const egraph_plan *plan, uint32_t step, uint32_t axis,
                             egraph_action *out) {
  const eg_plan_step *row = step_of(plan, step);
  if (row == NULL || row->is_move || axis >= egraph_plan_axis_count(plan) || out == NULL)
    return false;
  egraph_action action = action_of(row->action[axis]);
  if (!print_into(plan, print_action, &row->action[axis], action.text,
                  sizeof action.text))
    return false;
  *out = action;
  return true;
}

uint32_t egraph_plan_step_axis(const egraph_plan *plan, uint32_t step) {
  bool has_axis = egraph_plan_step_is_move(plan, step) &&
                  step_of(plan, step)->transition.kind != EG_TRANSITION_REORDER;
  return has_axis ? step_of(plan, step)->transition.axis : EGRAPH_NONE;
}

double egraph_plan_step_bytes(const egraph_plan *plan, uint32_t step) {
  if (!egraph_plan_step_is_move(plan, step)) return 0;
  return eg_plan_move_bytes(plan_of(plan), step_of(plan, step));
}

double egraph_plan_step_seconds(const egraph_plan *plan, uint32_t step) {
  const eg_plan_step *row = step_of(plan, step);
  return row != NULL ? row->seconds : 0;
}

uint32_t egraph_plan_step_blocks(const egraph_plan *plan, uint32_t step) {
  const eg_plan_step *row = step_of(plan, step);
  return row != NULL ? row->more_blocks + 1 : 0;
}

// ---- memory -----------------------------------------------------------------------

typedef struct memory_visit {
  void (*each)(void *user, uint32_t step, double bytes);
  void *user;
  uint32_t steps;
} memory_visit;

static void add_stores(void *user, uint32_t step, const double *now) {
  const memory_visit *v = user;
  double bytes = 0; // a sum of whole numbers, therefore exact
  for (int s = 0; s < EG_STORES; s++)
    bytes += now[s];
  if (step < v->steps) v->each(v->user, step, bytes);
}

egraph_status egraph_plan_visit_memory(const egraph_plan *plan,
                                       void (*each)(void *user, uint32_t step,
                                                    double bytes),
                                       void *user) {
  EG_REQUIRE(plan);
  EG_REQUIRE_CALL(each);
  memory_visit v = {.each = each, .user = user, .steps = egraph_plan_step_count(plan)};
  return eg_plan_visit_memory(plan_of(plan), plan->alloc, add_stores, &v);
}
