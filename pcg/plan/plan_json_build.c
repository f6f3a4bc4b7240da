// Builds a plan from the records of a file: names become ids, and eg_plan_check checks
// the plan.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pcg/plan/plan_records.h"
#include "pcg/plan/plan_rivals.h"
#include "pcg/plan/plan_words.h"

typedef struct builder {
  const eg_plan_records *records;
  eg_plan *plan;
} builder;

#define BAD(b, ...) fail_parse((b)->records->file, __VA_ARGS__)

static egraph_status fail_parse(const char *file, const char *format, ...)
    EG_PRINTF(2, 3);
static egraph_status fail_parse(const char *file, const char *format, ...) {
  char text[EG_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return EG_FAIL(EGRAPH_E_PARSE, "%s: %s", file, text);
}

static egraph_status build_states(builder *b) {
  const eg_state_records *records = &b->records->states;
  for (uint32_t i = 0; i < records->len; i++) {
    const eg_state_record *record = &records->data[i];
    eg_plan_state state = {.step = EG_PLAN_NONE, .more_blocks = record->more_blocks};
    if (!eg_graph_find_value(b->plan->graph, record->value, &state.value))
      return BAD(b, "the graph has no value '%.200s'; at $.states[%" PRIu32 "].value",
                 record->value, i);
    if (eg_layout_parse(&b->plan->mesh, record->layout, &state.layout) != EGRAPH_OK)
      return BAD(b, "%s; at $.states[%" PRIu32 "].layout", egraph_last_error(), i);
    EG_TRY(eg_plan_states_push(&b->plan->states, state));
  }
  return EGRAPH_OK;
}

// ---- steps ----------------------------------------------------------------------------

/// Notes the step that makes a state; fails if another step makes the state, too.
static egraph_status make_state(builder *b, uint32_t step, uint32_t state) {
  eg_plan *plan = b->plan;
  if (state >= plan->states.len)
    return BAD(b,
               "there is no state %" PRIu32 ", only %zu of them; at $.steps[%" PRIu32 "]",
               state, plan->states.len, step);
  if (plan->states.data[state].step != EG_PLAN_NONE)
    return BAD(b,
               "state %" PRIu32 " is made by step %" PRIu32
               " already; give each its own; at $.steps[%" PRIu32 "]",
               state, plan->states.data[state].step, step);
  plan->states.data[state].step = step;
  return EGRAPH_OK;
}

static egraph_status build_actions(builder *b, uint32_t number,
                                   const eg_step_record *record, eg_plan_step *step) {
  bool has_action[EG_MAX_MESH_AXES] = {false};
  for (uint32_t i = 0; i < record->action_count; i++) {
    const eg_action_record *row = &b->records->actions.data[record->actions + i];
    uint32_t axis;
    if (!eg_mesh_find_axis(&b->plan->mesh, row->axis, &axis) || has_action[axis])
      return BAD(b,
                 "'%.64s' is no axis of the mesh, or given twice; at $.steps[%" PRIu32
                 "].actions",
                 row->axis, number);
    has_action[axis] = true;
    if (!eg_action_find(row->action, &step->action[axis]))
      return BAD(b,
                 "'%.64s' is no action; write replicate, pass joint, pass and the number "
                 "of an operand, or split and that of a factor; at $.steps[%" PRIu32
                 "].actions.%s",
                 row->action, number, row->axis);
  }
  return EGRAPH_OK;
}

static egraph_status find_node(const builder *b, uint32_t number,
                               const eg_step_record *record, eg_graph_node *out) {
  const eg_graph *graph = b->plan->graph;
  eg_value value;
  if (!eg_graph_find_value(graph, record->node, &value) ||
      eg_graph_value(graph, value)->kind != EG_VALUE_COMPUTED ||
      eg_graph_value(graph, value)->result != 0)
    return BAD(b,
               "'%.200s' is not the first result of a node; at $.steps[%" PRIu32 "].node",
               record->node, number);
  *out = eg_graph_value(graph, value)->node;
  return EGRAPH_OK;
}

/// True when values have types, as all values of planned graphs have.
static bool are_typed(const eg_graph *graph, const eg_value *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!eg_graph_value(graph, values[i])->typed) return false;
  return true;
}

static egraph_status build_node(builder *b, uint32_t number, const eg_step_record *record,
                                eg_plan_step *step) {
  eg_plan *plan = b->plan;
  const uint32_t *numbers = b->records->numbers.data;
  if (record->axis != NULL || record->from != EG_PLAN_NONE ||
      record->to != EG_PLAN_NONE || !isnan(record->bytes))
    return BAD(b,
               "a node with \"axis\", \"from\", \"to\" or \"bytes\", which moves have; "
               "take them out; at $.steps[%" PRIu32 "]",
               number);
  EG_TRY(find_node(b, number, record, &step->node));
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  if (info.input_count != record->operand_count ||
      info.result_count != record->result_count)
    return BAD(b,
               "'%.200s' has %" PRIu32 " operands and %" PRIu32
               " results, the step others; at $.steps[%" PRIu32 "]",
               record->node, info.input_count, info.result_count, number);
  if (!are_typed(plan->graph, info.inputs, info.input_count) ||
      !are_typed(plan->graph, info.results, info.result_count))
    return BAD(b, "'%.200s' has a value without a type; at $.steps[%" PRIu32 "].node",
               record->node, number);
  EG_TRY(build_actions(b, number, record, step));
  step->operands = (uint32_t)plan->operands.len;
  for (uint32_t r = 0; r < record->result_count; r++)
    EG_TRY(make_state(b, number, numbers[record->results + r]));
  if (record->operand_count != 0)
    EG_TRY(eg_u32s_append(&plan->operands, numbers + record->operands,
                          record->operand_count));
  return eg_u32s_append(&plan->operands, numbers + record->results, record->result_count);
}

static egraph_status build_move(builder *b, uint32_t number, const eg_step_record *record,
                                eg_plan_step *step) {
  eg_plan *plan = b->plan;
  eg_transition given = {.axis = 0};
  bool is_reorder = strcmp(record->move, eg_transition_name(EG_TRANSITION_REORDER)) == 0;
  if ((record->axis == NULL) != is_reorder || record->from == EG_PLAN_NONE ||
      record->to == EG_PLAN_NONE || record->action_count != 0 ||
      record->operand_count != 0 || record->result_count != 0)
    return BAD(
        b,
        "a move has \"from\", \"to\" and, unless it is a reorder, \"axis\"; it has no "
        "\"actions\", \"operands\" or \"results\"; at $.steps[%" PRIu32 "]",
        number);
  if (!eg_transition_find(record->move, &given.kind))
    return BAD(b, "'%.64s' is no move; at $.steps[%" PRIu32 "].move", record->move,
               number);
  if (!is_reorder && !eg_mesh_find_axis(&plan->mesh, record->axis, &given.axis))
    return BAD(b, "'%.64s' is no axis of the mesh; at $.steps[%" PRIu32 "].axis",
               record->axis, number);
  if (record->from >= plan->states.len)
    return BAD(b, "there is no state %" PRIu32 "; at $.steps[%" PRIu32 "].from",
               record->from, number);
  EG_TRY(make_state(b, number, record->to));
  *step = (eg_plan_step){.is_move = true,
                         .phase = step->phase,
                         .from = record->from,
                         .to = record->to,
                         .seconds = step->seconds,
                         .basis = step->basis};
  const eg_plan_state *from = &plan->states.data[step->from];
  const eg_plan_state *to = &plan->states.data[step->to];
  if (!eg_transition_between(&plan->mesh, &eg_graph_value(plan->graph, from->value)->type,
                             &from->layout, &to->layout, &step->transition) ||
      step->transition.kind != given.kind || step->transition.axis != given.axis)
    return BAD(b,
               "state %" PRIu32 " is not %s%s%s of state %" PRIu32
               "; correct the layouts or the move; at $.steps[%" PRIu32 "]",
               step->to, record->move, is_reorder ? "" : " along ",
               is_reorder ? "" : record->axis, step->from, number);
  return EGRAPH_OK;
}

static egraph_status build_step(builder *b, uint32_t i, const eg_step_record *record) {
  eg_plan_step step = {.seconds = record->seconds};
  if (!eg_phase_find(record->phase, &step.phase))
    return BAD(b,
               "'%.64s' is no phase; write forward, backward or update; at "
               "$.steps[%" PRIu32 "].phase",
               record->phase, i);
  if ((record->node == NULL) == (record->move == NULL))
    return BAD(b, "a step has one of \"node\" and \"move\"; at $.steps[%" PRIu32 "]", i);
  if (record->basis != NULL && !eg_price_basis_find(record->basis, &step.basis))
    return BAD(b,
               "'%.64s' is no basis of a cost; write given, measured, estimated, reached "
               "or guessed; at $.steps[%" PRIu32 "].basis",
               record->basis, i);
  EG_TRY(record->node != NULL ? build_node(b, i, record, &step)
                              : build_move(b, i, record, &step));
  uint32_t made =
      record->node != NULL ? b->records->numbers.data[record->results] : record->to;
  step.more_blocks = b->plan->states.data[made].more_blocks;
  return eg_plan_steps_push(&b->plan->steps, step);
}

// ---- outputs --------------------------------------------------------------------------

static egraph_status build_carried(builder *b) {
  const eg_carried_records *records = &b->records->carried;
  for (uint32_t i = 0; i < records->len; i++) {
    const eg_carried_record *record = &records->data[i];
    eg_value value;
    if (!eg_graph_find_value(b->plan->graph, record->entry, &value) ||
        eg_graph_value(b->plan->graph, value)->kind == EG_VALUE_COMPUTED)
      return BAD(b, "'%.200s' is no input or weight; at $.carried[%" PRIu32 "].entry",
                 record->entry, i);
    EG_TRY(eg_u32s_push(&b->plan->carried, record->output));
    EG_TRY(eg_u32s_push(&b->plan->carried, value.id));
  }
  return EGRAPH_OK;
}

/// Checks the bytes that a file gives for moves; types and layouts determine them.
static egraph_status check_bytes(const builder *b) {
  const eg_plan *plan = b->plan;
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    double given = b->records->steps.data[i].bytes;
    if (!plan->steps.data[i].is_move || isnan(given)) continue;
    double bytes = eg_plan_move_bytes(plan, &plan->steps.data[i]);
    if (given != bytes)
      return BAD(b,
                 "the move is about %.17g bytes; correct or leave out; at "
                 "$.steps[%" PRIu32 "].bytes",
                 bytes, i);
  }
  return EGRAPH_OK;
}

// ---- rivals ---------------------------------------------------------------------------

static bool build_reason(const eg_reason_record *record, const eg_mesh *mesh,
                         eg_rival_reason *out) {
  uint32_t axis;
  *out = (eg_rival_reason){.seconds = record->seconds, .bytes = record->bytes};
  if (!eg_rival_reason_find(record->kind, &out->exchange)) return false;
  if (out->exchange == EG_EXCHANGES) return record->phase == NULL && record->axis == NULL;
  if (record->phase == NULL || !eg_phase_find(record->phase, &out->phase) ||
      record->axis == NULL || !eg_mesh_find_axis(mesh, record->axis, &axis))
    return false;
  memcpy(out->axis, mesh->axes[axis].name, sizeof out->axis);
  return true;
}

static egraph_status build_rival(const builder *b, uint32_t number) {
  const eg_rival_record *record = &b->records->rivals.data[number];
  eg_plan_rival rival = {.seconds = record->seconds,
                         .memory = record->memory,
                         .least_memory = record->least_memory,
                         .excess = record->excess,
                         .batch = record->batch,
                         .parts = record->parts,
                         .reason_count = record->reason_count};
  if (eg_mesh_parse(record->mesh, &rival.mesh) != EGRAPH_OK)
    return BAD(b, "'%.64s' is no mesh; at $.baselines[%" PRIu32 "].mesh", record->mesh,
               number);
  size_t length = strlen(record->name);
  bool is_right = length != 0 && length < sizeof rival.name &&
                  eg_rival_outcome_find(record->outcome, &rival.outcome) &&
                  record->reason_count <= EG_RIVAL_REASONS;
  if (is_right) memcpy(rival.name, record->name, length);
  for (uint32_t i = 0; is_right && i < record->reason_count; i++)
    is_right = build_reason(&b->records->reasons.data[record->reasons + i], &rival.mesh,
                            &rival.reasons[i]);
  if (!is_right)
    return BAD(b, "no comparison that is known; remove it; at $.baselines[%" PRIu32 "]",
               number);
  return eg_plan_rivals_push(&b->plan->rivals, rival);
}

// ---- plans ----------------------------------------------------------------------------

egraph_status eg_plan_records_build(const eg_plan_records *records,
                                    egraph_allocator alloc, eg_loaded_plan *out) {
  eg_plan *plan = &out->plan;
  builder b = {.records = records, .plan = plan};
  *out = (eg_loaded_plan){.graph = NULL};
  eg_plan_init(plan, alloc);
  if (eg_mesh_parse(records->mesh, &plan->mesh) != EGRAPH_OK)
    return BAD(&b, "%s; at $.mesh", egraph_last_error());
  egraph_status status =
      eg_graph_parse(&alloc, "line of $.graph", eg_text_of(&records->graph),
                     records->graph.chars.len, &out->graph);
  if (status != EGRAPH_OK) return eg_fail_context(status, "%s", records->file);
  plan->graph = out->graph;
  plan->micro_batches = records->micro_batches;
  plan->single_seconds = records->single_seconds;
  plan->peak_seconds = records->peak_seconds;
  plan->memory_limit = records->memory_limit;
  EG_TRY(build_states(&b));
  for (uint32_t i = 0; i < records->steps.len; i++)
    EG_TRY(build_step(&b, i, &records->steps.data[i]));
  EG_TRY(
      eg_u32s_append(&plan->output_states, records->outputs.data, records->outputs.len));
  EG_TRY(build_carried(&b));
  for (uint32_t i = 0; i < records->rivals.len; i++)
    EG_TRY(build_rival(&b, i));
  status = eg_plan_check(plan, alloc);
  if (status == EGRAPH_E_MEMORY) return status;
  if (status != EGRAPH_OK) return BAD(&b, "%s; make the plan again", egraph_last_error());
  return check_bytes(&b);
}
