// A state, a step and a statement of the graph have a line each, so that files can be
// read, and compared line by line.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "pcg/plan/plan_rivals.h"
#include "pcg/plan/plan_words.h"

static const char *value_name(const eg_plan *plan, eg_value value) {
  return eg_graph_value(plan->graph, value)->name;
}

static void write_numbers(eg_text *out, const char *key, const uint32_t *numbers,
                          size_t count) {
  eg_text_printf(out, "\"%s\": [", key);
  for (size_t i = 0; i < count; i++)
    eg_text_printf(out, "%s%" PRIu32, i == 0 ? "" : ", ", numbers[i]);
  eg_text_append(out, "]");
}

/// Writes every line of the graph's text as an element.
static egraph_status write_graph(const eg_plan *plan, eg_text *out) {
  EG_LOCAL(eg_text, text, out->chars.alloc);
  EG_TRY(eg_graph_print(plan->graph, &text));
  const char *separator = "\n  ";
  eg_text_append(out, " \"graph\": [");
  for (char *line = text.chars.data; *line != '\0';) {
    char *end = strchr(line, '\n');
    if (end != NULL) *end = '\0';
    eg_text_append(out, separator);
    eg_text_json_string(out, line);
    separator = ",\n  ";
    line = end != NULL ? end + 1 : line + strlen(line);
  }
  return eg_text_append(out, "],\n");
}

// ---- states and steps -----------------------------------------------------------------

static egraph_status write_state(const eg_plan *plan, uint32_t number, eg_text *out) {
  const eg_plan_state *state = &plan->states.data[number];
  eg_text_json_member(out, "value", value_name(plan, state->value), ", \"layout\": \"");
  eg_layout_print(out, &plan->mesh, &state->layout);
  eg_text_append(out, "\"");
  if (state->more_blocks != 0)
    eg_text_printf(out, ", \"more_blocks\": %" PRIu32, state->more_blocks);
  return eg_text_status(out);
}

static egraph_status write_node_step(const eg_plan *plan, const eg_plan_step *step,
                                     eg_text *out) {
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  const uint32_t *operands = plan->operands.data + step->operands;
  const char *separator = "";
  if (info.result_count == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "node '%.200s' has no result and so no name in a file of a plan; "
                   "prune the graph first",
                   info.name);
  eg_text_json_member(out, "node", value_name(plan, info.results[0]), ", \"actions\": {");
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++) {
    if (step->action[a] == EG_ACTION_REPLICATE) continue;
    eg_text_printf(out, "%s\"%s\": \"", separator, plan->mesh.axes[a].name);
    eg_action_print(out, step->action[a]);
    eg_text_append(out, "\"");
    separator = ", ";
  }
  eg_text_append(out, "}, ");
  write_numbers(out, "operands", operands, info.input_count);
  eg_text_append(out, ", ");
  write_numbers(out, "results", operands + info.input_count, info.result_count);
  return eg_text_status(out);
}

static egraph_status write_move_step(const eg_plan *plan, const eg_plan_step *step,
                                     eg_text *out) {
  eg_text_json_member(out, "move", eg_transition_name(step->transition.kind), ", ");
  if (step->transition.kind != EG_TRANSITION_REORDER)
    eg_text_json_member(out, "axis", plan->mesh.axes[step->transition.axis].name, ", ");
  eg_text_printf(out,
                 "\"from\": %" PRIu32 ", \"to\": %" PRIu32 ", \"bytes\": ", step->from,
                 step->to);
  return eg_text_json_double(out, eg_plan_move_bytes(plan, step));
}

static egraph_status write_step(const eg_plan *plan, uint32_t number, eg_text *out) {
  const eg_plan_step *step = &plan->steps.data[number];
  eg_text_json_member(out, "phase", eg_phase_name(step->phase), ", ");
  EG_TRY(step->is_move ? write_move_step(plan, step, out)
                       : write_node_step(plan, step, out));
  eg_text_append(out, ", \"seconds\": ");
  eg_text_json_double(out, step->seconds);
  if (step->basis != EG_PRICE_FREE)
    eg_text_printf(out, ", \"basis\": \"%s\"", eg_price_basis_name(step->basis));
  return eg_text_status(out);
}

static egraph_status write_carried(const eg_plan *plan, uint32_t number, eg_text *out) {
  const uint32_t *pair = plan->carried.data + 2 * (size_t)number;
  eg_text_printf(out, "\"output\": %" PRIu32 ", ", pair[0]);
  eg_text_json_member(out, "entry", value_name(plan, (eg_value){pair[1]}), "");
  return eg_text_status(out);
}

// ---- the document ---------------------------------------------------------------------

typedef egraph_status write_row(const eg_plan *plan, uint32_t number, eg_text *out);

/// Writes an array of objects, whose members the function `write` appends.
static egraph_status write_rows(const eg_plan *plan, const char *key, size_t count,
                                write_row *write, eg_text *out) {
  eg_text_printf(out, " \"%s\": [", key);
  for (uint32_t i = 0; i < count; i++) {
    eg_text_append(out, i == 0 ? "\n  {" : ",\n  {");
    EG_TRY(write(plan, i, out));
    eg_text_append(out, "}");
  }
  return eg_text_append(out, "]");
}

/// Writes a figure of the plan if it is known (above 0).
static void write_figure(eg_text *out, const char *key, double figure) {
  if (!(figure > 0)) return;
  eg_text_append(out, ",\n ");
  eg_text_json_figure(out, key, figure, "");
}

egraph_status eg_plan_write_json(const eg_plan *plan, eg_text *out) {
  eg_text_append(out, "{\"egraph-plan\": 1,\n \"mesh\": \"");
  eg_mesh_print(out, &plan->mesh);
  eg_text_printf(out, "\",\n \"micro_batches\": %" PRIu32 ",\n", plan->micro_batches);
  EG_TRY(write_graph(plan, out));
  EG_TRY(write_rows(plan, "states", plan->states.len, write_state, out));
  eg_text_append(out, ",\n");
  EG_TRY(write_rows(plan, "steps", plan->steps.len, write_step, out));
  eg_text_append(out, ",\n ");
  write_numbers(out, "outputs", plan->output_states.data, plan->output_states.len);
  eg_text_append(out, ",\n");
  EG_TRY(write_rows(plan, "carried", plan->carried.len / 2, write_carried, out));
  if (plan->rivals.len != 0) {
    eg_text_append(out, ",\n \"baselines\": ");
    eg_plan_rivals_write_json(out, &plan->rivals);
  }
  write_figure(out, "single_device_seconds", plan->single_seconds);
  write_figure(out, "peak_seconds", plan->peak_seconds);
  write_figure(out, "memory_limit_bytes", plan->memory_limit);
  return eg_text_append(out, "}\n");
}
