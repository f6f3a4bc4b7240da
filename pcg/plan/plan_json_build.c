// From the records of a file to a plan: names become ids, and eg_plan_check decides.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pcg/plan/plan_records.h"
#include "pcg/plan/plan_words.h"

typedef struct builder {
  const eg_plan_records *records;
  eg_loaded_plan *out;
} builder;

#define BAD(b, ...) bad((b)->records->file, __VA_ARGS__)

static egraph_status bad(const char *file, const char *format, ...) EG_PRINTF(2, 3);
static egraph_status bad(const char *file, const char *format, ...) {
  char text[EG_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return EG_FAIL(EGRAPH_E_PARSE, "%s: %s", file, text);
}

static eg_plan *plan_of(const builder *b) { return &b->out->plan; }

static bool find_axis(const builder *b, const char *name, uint32_t *out) {
  const eg_mesh *mesh = &plan_of(b)->mesh;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (strcmp(mesh->axes[a].name, name) == 0) {
      *out = a;
      return true;
    }
  return false;
}

// ---- graph, mesh, states --------------------------------------------------------------

static egraph_status build_frame(builder *b, egraph_allocator alloc) {
  const eg_plan_records *records = b->records;
  egraph_status status = eg_mesh_parse(records->mesh, &plan_of(b)->mesh);
  if (status != EGRAPH_OK) return BAD(b, "%s; at $.mesh", egraph_last_error());
  status = eg_graph_parse(&alloc, "line of $.graph", eg_text_of(&records->graph),
                          records->graph.chars.len, &b->out->graph);
  if (status != EGRAPH_OK) return eg_fail_context(status, "%s", records->file);
  plan_of(b)->graph = b->out->graph;
  plan_of(b)->micro_batches = records->micro_batches;
  plan_of(b)->single_seconds = records->single_seconds;
  plan_of(b)->peak_seconds = records->peak_seconds;
  plan_of(b)->memory_limit = records->memory_limit;
  return EGRAPH_OK;
}

static egraph_status build_states(builder *b) {
  const eg_state_records *records = &b->records->states;
  for (uint32_t i = 0; i < records->len; i++) {
    const eg_state_record *record = &records->data[i];
    eg_plan_state state = {.step = EG_PLAN_NONE, .more_blocks = record->more_blocks};
    if (!eg_graph_find_value(b->out->graph, record->value, &state.value))
      return BAD(b, "the graph has no value '%.200s'; at $.states[%" PRIu32 "].value",
                 record->value, i);
    if (eg_layout_parse(&plan_of(b)->mesh, record->layout, &state.layout) != EGRAPH_OK)
      return BAD(b, "%s; at $.states[%" PRIu32 "].layout", egraph_last_error(), i);
    EG_TRY(eg_plan_states_push(&plan_of(b)->states, state));
  }
  return EGRAPH_OK;
}

// ---- steps ----------------------------------------------------------------------------

/// A state that a step makes; no other one does.
static egraph_status make_state(builder *b, uint32_t step, uint32_t state) {
  eg_plan *plan = plan_of(b);
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
  bool is_told[EG_MAX_MESH_AXES] = {false};
  for (uint32_t i = 0; i < record->action_count; i++) {
    const eg_action_record *row = &b->records->actions.data[record->actions + i];
    uint32_t axis;
    if (!find_axis(b, row->axis, &axis) || is_told[axis])
      return BAD(b,
                 "'%.64s' is no axis of the mesh, or told twice; at $.steps[%" PRIu32
                 "].actions",
                 row->axis, number);
    is_told[axis] = true;
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
  eg_value value;
  if (!eg_graph_find_value(b->out->graph, record->node, &value) ||
      eg_graph_value(b->out->graph, value)->kind != EG_VALUE_COMPUTED ||
      eg_graph_value(b->out->graph, value)->result != 0)
    return BAD(b,
               "'%.200s' is not the first result of a node; at $.steps[%" PRIu32 "].node",
               record->node, number);
  *out = eg_graph_value(b->out->graph, value)->node;
  return EGRAPH_OK;
}

/// That a node's operands and results have types, as planned graphs' have.
static bool is_typed(const eg_graph *graph, const eg_value *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!eg_graph_value(graph, values[i])->typed) return false;
  return true;
}

static egraph_status build_node(builder *b, uint32_t number, const eg_step_record *record,
                                eg_plan_step *step) {
  eg_plan *plan = plan_of(b);
  const uint32_t *numbers = b->records->numbers.data;
  if (record->axis != NULL || record->from != EG_PLAN_NONE ||
      record->to != EG_PLAN_NONE || !isnan(record->bytes))
    return BAD(b,
               "a node with \"axis\", \"from\", \"to\" or \"bytes\", which moves have; "
               "take them out; at $.steps[%" PRIu32 "]",
               number);
  EG_TRY(find_node(b, number, record, &step->node));
  eg_graph_node_info info = eg_graph_node_at(b->out->graph, step->node);
  if (info.input_count != record->operand_count ||
      info.result_count != record->result_count)
    return BAD(b,
               "'%.200s' has %" PRIu32 " operands and %" PRIu32
               " results, the step others; at $.steps[%" PRIu32 "]",
               record->node, info.input_count, info.result_count, number);
  if (!is_typed(b->out->graph, info.inputs, info.input_count) ||
      !is_typed(b->out->graph, info.results, info.result_count))
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
  eg_plan *plan = plan_of(b);
  eg_transition told = {.axis = 0};
  bool is_reorder = strcmp(record->move, eg_transition_name(EG_TRANSITION_REORDER)) == 0;
  if ((record->axis == NULL) != is_reorder || record->from == EG_PLAN_NONE ||
      record->to == EG_PLAN_NONE || record->action_count != 0 ||
      record->operand_count != 0 || record->result_count != 0)
    return BAD(
        b,
        "a move has \"from\", \"to\" and, unless it is a reorder, \"axis\"; it has no "
        "\"actions\", \"operands\" or \"results\"; at $.steps[%" PRIu32 "]",
        number);
  if (!eg_transition_find(record->move, &told.kind))
    return BAD(b, "'%.64s' is no move; at $.steps[%" PRIu32 "].move", record->move,
               number);
  if (!is_reorder && !find_axis(b, record->axis, &told.axis))
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
  const eg_layout *from = &plan->states.data[step->from].layout;
  const eg_layout *to = &plan->states.data[step->to].layout;
  if (!eg_transition_between(
          &plan->mesh,
          &eg_graph_value(plan->graph, plan->states.data[step->from].value)->type, from,
          to, &step->transition) ||
      step->transition.kind != told.kind || step->transition.axis != told.axis)
    return BAD(b,
               "state %" PRIu32 " is not %s%s%s of state %" PRIu32
               "; correct the layouts or the move; at $.steps[%" PRIu32 "]",
               step->to, record->move, is_reorder ? "" : " along ",
               is_reorder ? "" : record->axis, step->from, number);
  return EGRAPH_OK;
}

static egraph_status build_steps(builder *b) {
  const eg_step_records *records = &b->records->steps;
  for (uint32_t i = 0; i < records->len; i++) {
    const eg_step_record *record = &records->data[i];
    eg_plan_step step = {.seconds = record->seconds};
    if (!eg_phase_find(record->phase, &step.phase))
      return BAD(
          b,
          "'%.64s' is no phase; write forward, backward or update; at $.steps[%" PRIu32
          "].phase",
          record->phase, i);
    if ((record->node == NULL) == (record->move == NULL))
      return BAD(b, "a step has one of \"node\" and \"move\"; at $.steps[%" PRIu32 "]",
                 i);
    if (record->basis != NULL && !eg_price_basis_find(record->basis, &step.basis))
      return BAD(b,
                 "'%.64s' is no basis of a cost; write given, measured, estimated or "
                 "guessed; at $.steps[%" PRIu32 "].basis",
                 record->basis, i);
    EG_TRY(record->node != NULL ? build_node(b, i, record, &step)
                                : build_move(b, i, record, &step));
    uint32_t made =
        record->node != NULL ? b->records->numbers.data[record->results] : record->to;
    step.more_blocks = plan_of(b)->states.data[made].more_blocks;
    EG_TRY(eg_plan_steps_push(&plan_of(b)->steps, step));
  }
  return EGRAPH_OK;
}

// ---- outputs --------------------------------------------------------------------------

static egraph_status build_carried(builder *b) {
  const eg_carried_records *records = &b->records->carried;
  for (uint32_t i = 0; i < records->len; i++) {
    const eg_carried_record *record = &records->data[i];
    eg_value value;
    if (!eg_graph_find_value(b->out->graph, record->entry, &value) ||
        eg_graph_value(b->out->graph, value)->kind == EG_VALUE_COMPUTED)
      return BAD(b, "'%.200s' is no input or weight; at $.carried[%" PRIu32 "].entry",
                 record->entry, i);
    EG_TRY(eg_u32s_push(&plan_of(b)->carried, record->output));
    EG_TRY(eg_u32s_push(&plan_of(b)->carried, value.id));
  }
  return EGRAPH_OK;
}

/// What the file says that follows from the rest; types and layouts fit by now.
static egraph_status check_bytes(const builder *b) {
  const eg_plan *plan = plan_of(b);
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    double told = b->records->steps.data[i].bytes;
    if (!plan->steps.data[i].is_move || isnan(told)) continue;
    double bytes = eg_plan_move_bytes(plan, &plan->steps.data[i]);
    if (told != bytes)
      return BAD(
          b,
          "the move is about %.17g bytes; correct or leave out; at $.steps[%" PRIu32
          "].bytes",
          bytes, i);
  }
  return EGRAPH_OK;
}

static egraph_status check_plan(const builder *b, egraph_allocator alloc) {
  egraph_status status = eg_plan_check(plan_of(b), alloc);
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  return BAD(b, "%s; make the plan again", egraph_last_error());
}

egraph_status eg_plan_records_build(const eg_plan_records *records,
                                    egraph_allocator alloc, eg_loaded_plan *out) {
  builder b = {.records = records, .out = out};
  *out = (eg_loaded_plan){.graph = NULL};
  eg_plan_init(&out->plan, alloc);
  EG_TRY(build_frame(&b, alloc));
  EG_TRY(build_states(&b));
  EG_TRY(build_steps(&b));
  EG_TRY(eg_u32s_append(&out->plan.output_states, records->outputs.data,
                        records->outputs.len));
  EG_TRY(build_carried(&b));
  EG_TRY(eg_plan_records_build_rivals(records, &out->plan));
  EG_TRY(check_plan(&b, alloc));
  return check_bytes(&b);
}
