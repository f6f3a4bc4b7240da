// A state, a step and a statement of the graph have a line each, so that files can be
// read, and compared line by line.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "pcg/plan/plan_why.h"

static const char *value_name(const eg_plan *plan, eg_value value) {
  return eg_graph_value(plan->graph, value)->name;
}

static egraph_status write_key(eg_text *out, const char *key, const char *value) {
  EG_TRY(eg_text_printf(out, "\"%s\": ", key));
  return eg_text_json_string(out, value);
}

// ---- graph --------------------------------------------------------------------------

/// Every line of a text as an element.
static egraph_status write_lines(char *text, eg_text *out) {
  const char *separator = "\n  ";
  for (char *line = text; *line != '\0';) {
    char *end = strchr(line, '\n');
    if (end != NULL) *end = '\0';
    EG_TRY(eg_text_append(out, separator));
    EG_TRY(eg_text_json_string(out, line));
    separator = ",\n  ";
    line = end != NULL ? end + 1 : line + strlen(line);
  }
  return EGRAPH_OK;
}

static egraph_status write_graph(const eg_plan *plan, eg_text *out) {
  eg_text text;
  eg_text_init(&text, out->chars.alloc);
  egraph_status status = eg_graph_print(plan->graph, &text);
  if (status == EGRAPH_OK) status = eg_text_append(out, " \"graph\": [");
  if (status == EGRAPH_OK) status = write_lines(text.chars.data, out);
  if (status == EGRAPH_OK) status = eg_text_append(out, "],\n");
  eg_text_deinit(&text);
  return status;
}

// ---- states and steps -----------------------------------------------------------------

static egraph_status write_state(const eg_plan *plan, uint32_t number, eg_text *out) {
  const eg_plan_state *state = &plan->states.data[number];
  EG_TRY(eg_text_append(out, "{"));
  EG_TRY(write_key(out, "value", value_name(plan, state->value)));
  EG_TRY(eg_text_append(out, ", \"layout\": \""));
  EG_TRY(eg_layout_print(out, &plan->mesh, &state->layout));
  EG_TRY(eg_text_append(out, "\""));
  if (state->more_blocks != 0)
    EG_TRY(eg_text_printf(out, ", \"more_blocks\": %" PRIu32, state->more_blocks));
  return eg_text_append(out, "}");
}

static egraph_status write_numbers(eg_text *out, const char *key, const uint32_t *numbers,
                                   size_t count) {
  EG_TRY(eg_text_printf(out, "\"%s\": [", key));
  for (size_t i = 0; i < count; i++)
    EG_TRY(eg_text_printf(out, "%s%" PRIu32, i == 0 ? "" : ", ", numbers[i]));
  return eg_text_append(out, "]");
}

static egraph_status write_actions(const eg_plan *plan, const eg_plan_step *step,
                                   eg_text *out) {
  const char *separator = "";
  EG_TRY(eg_text_append(out, ", \"actions\": {"));
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++) {
    if (step->action[a] == EG_ACTION_REPLICATE) continue;
    EG_TRY(eg_text_printf(out, "%s\"%s\": \"", separator, plan->mesh.axes[a].name));
    EG_TRY(eg_action_print(out, step->action[a]));
    EG_TRY(eg_text_append(out, "\""));
    separator = ", ";
  }
  return eg_text_append(out, "}, ");
}

static egraph_status write_node(const eg_plan *plan, const eg_plan_step *step,
                                eg_text *out) {
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  const uint32_t *operands = plan->operands.data + step->operands;
  if (info.result_count == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "node '%.200s' has no result and so no name in a file of a plan; "
                   "prune the graph first",
                   info.name);
  EG_TRY(write_key(out, "node", value_name(plan, info.results[0])));
  EG_TRY(write_actions(plan, step, out));
  EG_TRY(write_numbers(out, "operands", operands, info.input_count));
  EG_TRY(eg_text_append(out, ", "));
  return write_numbers(out, "results", operands + info.input_count, info.result_count);
}

static egraph_status write_move(const eg_plan *plan, const eg_plan_step *step,
                                eg_text *out) {
  EG_TRY(write_key(out, "move", eg_transition_name(step->transition.kind)));
  EG_TRY(eg_text_append(out, ", "));
  if (step->transition.kind != EG_TRANSITION_REORDER) {
    EG_TRY(write_key(out, "axis", plan->mesh.axes[step->transition.axis].name));
    EG_TRY(eg_text_append(out, ", "));
  }
  EG_TRY(eg_text_printf(out, "\"from\": %" PRIu32 ", \"to\": %" PRIu32 ", \"bytes\": ",
                        step->from, step->to));
  return eg_text_json_double(out, eg_plan_move_bytes(plan, step));
}

static egraph_status write_step(const eg_plan *plan, uint32_t number, eg_text *out) {
  const eg_plan_step *step = &plan->steps.data[number];
  EG_TRY(eg_text_append(out, "{"));
  EG_TRY(write_key(out, "phase", eg_phase_name(step->phase)));
  EG_TRY(eg_text_append(out, ", "));
  EG_TRY(step->is_move ? write_move(plan, step, out) : write_node(plan, step, out));
  EG_TRY(eg_text_append(out, ", \"seconds\": "));
  EG_TRY(eg_text_json_double(out, step->seconds));
  if (step->basis != EG_PRICE_FREE) {
    EG_TRY(eg_text_append(out, ", "));
    EG_TRY(write_key(out, "basis", eg_price_basis_name(step->basis)));
  }
  return eg_text_append(out, "}");
}

static egraph_status write_carried(const eg_plan *plan, uint32_t number, eg_text *out) {
  const uint32_t *pair = plan->carried.data + 2 * (size_t)number;
  EG_TRY(eg_text_printf(out, "{\"output\": %" PRIu32 ", ", pair[0]));
  EG_TRY(write_key(out, "entry", value_name(plan, (eg_value){pair[1]})));
  return eg_text_append(out, "}");
}

// ---- the document ---------------------------------------------------------------------

typedef egraph_status (*write_row)(const eg_plan *plan, uint32_t number, eg_text *out);

static egraph_status write_rows(const eg_plan *plan, const char *key, size_t count,
                                write_row write, eg_text *out) {
  EG_TRY(eg_text_printf(out, " \"%s\": [", key));
  for (uint32_t i = 0; i < count; i++) {
    EG_TRY(eg_text_append(out, i == 0 ? "\n  " : ",\n  "));
    EG_TRY(write(plan, i, out));
  }
  return eg_text_append(out, "]");
}

/// Where it is known.
static egraph_status write_figure(eg_text *out, const char *key, double figure) {
  if (!(figure > 0)) return EGRAPH_OK;
  EG_TRY(eg_text_printf(out, ",\n \"%s\": ", key));
  return eg_text_json_double(out, figure);
}

egraph_status eg_plan_write_json(const eg_plan *plan, eg_text *out) {
  EG_TRY(eg_text_append(out, "{\"egraph-plan\": 1,\n \"mesh\": \""));
  EG_TRY(eg_mesh_print(out, &plan->mesh));
  EG_TRY(eg_text_printf(out, "\",\n \"micro_batches\": %" PRIu32 ",\n",
                        plan->micro_batches));
  EG_TRY(write_graph(plan, out));
  EG_TRY(write_rows(plan, "states", plan->states.len, write_state, out));
  EG_TRY(eg_text_append(out, ",\n"));
  EG_TRY(write_rows(plan, "steps", plan->steps.len, write_step, out));
  EG_TRY(eg_text_append(out, ",\n "));
  EG_TRY(
      write_numbers(out, "outputs", plan->output_states.data, plan->output_states.len));
  EG_TRY(eg_text_append(out, ",\n"));
  EG_TRY(write_rows(plan, "carried", plan->carried.len / 2, write_carried, out));
  if (plan->rivals.len != 0) {
    EG_TRY(eg_text_append(out, ",\n \"baselines\": "));
    EG_TRY(eg_plan_rivals_write_json(out, &plan->rivals));
  }
  EG_TRY(write_figure(out, "single_device_seconds", plan->single_seconds));
  EG_TRY(write_figure(out, "peak_seconds", plan->peak_seconds));
  EG_TRY(write_figure(out, "memory_limit_bytes", plan->memory_limit));
  return eg_text_append(out, "}\n");
}
