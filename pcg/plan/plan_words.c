// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_words.h"

#include <inttypes.h>
#include <string.h>

static const char *const PHASES[EG_PHASE_COUNT] = {"forward", "backward", "update"};

const char *eg_phase_name(eg_phase phase) { return PHASES[phase]; }

bool eg_phase_find(const char *name, eg_phase *out) {
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    if (strcmp(PHASES[p], name) == 0) {
      *out = (eg_phase)p;
      return true;
    }
  return false;
}

bool eg_transition_find(const char *name, eg_transition_kind *out) {
  for (int k = 0; k < EG_TRANSITION_KINDS; k++)
    if (strcmp(eg_transition_name((eg_transition_kind)k), name) == 0) {
      *out = (eg_transition_kind)k;
      return true;
    }
  return false;
}

egraph_status eg_action_print(eg_text *text, uint8_t action) {
  if (action == EG_ACTION_REPLICATE) return eg_text_append(text, "replicate");
  if (action == EG_ACTION_PASS_JOINT) return eg_text_append(text, "pass joint");
  if (action < EG_ACTION_SPLIT)
    return eg_text_printf(text, "pass %d", action - EG_ACTION_PASS);
  return eg_text_printf(text, "split %d", action - EG_ACTION_SPLIT);
}

/// "word 12" with a number below `limit`.
static bool find_numbered(const char *name, const char *word, int64_t limit,
                          int64_t *out) {
  size_t length = strlen(word);
  return strncmp(name, word, length) == 0 && eg_parse_int64(name + length, out) &&
         *out >= 0 && *out < limit;
}

bool eg_action_find(const char *name, uint8_t *out) {
  int64_t number = 0;
  if (strcmp(name, "replicate") == 0)
    *out = EG_ACTION_REPLICATE;
  else if (strcmp(name, "pass joint") == 0)
    *out = EG_ACTION_PASS_JOINT;
  else if (find_numbered(name, "pass ", EG_FACTOR_ROWS, &number))
    *out = (uint8_t)(EG_ACTION_PASS + number);
  else if (find_numbered(name, "split ", EG_MAX_FACTORS, &number))
    *out = (uint8_t)(EG_ACTION_SPLIT + number);
  else
    return false;
  return true;
}

// ---- layouts and strategies in words --------------------------------------------------

static egraph_status print_dim(eg_text *text, uint32_t dim, uint32_t rank) {
  if (rank == 2) EG_TRY(eg_text_append(text, dim == 0 ? "rows (" : "columns ("));
  EG_TRY(eg_text_printf(text, "dimension %" PRIu32, dim));
  return rank == 2 ? eg_text_append(text, ")") : EGRAPH_OK;
}

/// "node and gpu": the axes of several devices with this digit.
static egraph_status print_axes(eg_text *text, const eg_mesh *mesh,
                                const eg_layout *layout, uint8_t digit) {
  bool is_first = true;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (layout->sharding[a] != digit || mesh->axes[a].size == 1) continue;
    EG_TRY(eg_text_printf(text, "%s%s", is_first ? "" : " and ", mesh->axes[a].name));
    is_first = false;
  }
  return EGRAPH_OK;
}

static egraph_status print_digit(eg_text *text, const eg_mesh *mesh, uint32_t rank,
                                 const eg_layout *layout, uint8_t digit) {
  if (digit == EG_SHARD_R) {
    EG_TRY(eg_text_append(text, "the same along "));
  } else {
    if (digit == EG_SHARD_P_SUM) EG_TRY(eg_text_append(text, "partial sums"));
    if (digit == EG_SHARD_P_MAX) EG_TRY(eg_text_append(text, "partial maxima"));
    if (eg_digit_is_shard(digit)) EG_TRY(print_dim(text, eg_digit_dim(digit), rank));
    EG_TRY(eg_text_append(text, " over "));
  }
  return print_axes(text, mesh, layout, digit);
}

egraph_status eg_layout_words(eg_text *text, const eg_mesh *mesh, uint32_t rank,
                              const eg_layout *layout) {
  uint8_t digits[EG_MAX_MESH_AXES];
  uint32_t count = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size == 1) continue;
    uint32_t at = 0;
    while (at < count && digits[at] != layout->sharding[a])
      at++;
    digits[at] = layout->sharding[a];
    if (at == count) count++;
  }
  if (count == 0) EG_TRY(eg_text_append(text, "whole"));
  if (count == 1 && digits[0] == EG_SHARD_R)
    EG_TRY(eg_text_append(text, "whole on every device"));
  else
    for (uint32_t i = 0; i < count; i++) {
      if (i != 0) EG_TRY(eg_text_append(text, ", "));
      EG_TRY(print_digit(text, mesh, rank, layout, digits[i]));
    }
  if (layout->format == EG_FORMAT_PLAIN) return EGRAPH_OK;
  return eg_text_printf(text, ", in %s", eg_format_name(layout->format));
}

eg_place eg_plan_factor_place(const eg_plan *plan, const eg_plan_step *step,
                              const eg_factor *factor) {
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  for (uint32_t r = 0; r < info.result_count; r++)
    if (factor->output_dim[eg_factor_row(r)] != EG_NO_DIM)
      return (eg_place){info.results[r], (uint32_t)factor->output_dim[eg_factor_row(r)],
                        true};
  eg_place place = {.value = info.results[0]};
  for (uint32_t i = info.input_count; i-- > 0;)
    if (factor->input_dim[eg_factor_row(i)] != EG_NO_DIM)
      place = (eg_place){info.inputs[i], (uint32_t)factor->input_dim[eg_factor_row(i)],
                         false};
  return place;
}

static egraph_status print_split(eg_text *text, const eg_plan *plan,
                                 const eg_plan_step *step, const eg_factor *factor) {
  eg_place place = eg_plan_factor_place(plan, step, factor);
  const eg_value_info *value = eg_graph_value(plan->graph, place.value);
  if (!place.is_result)
    EG_TRY(eg_text_append(text, factor->kind == EG_FACTOR_MAX   ? "the maximum's "
                                : factor->kind == EG_FACTOR_SUM ? "the summed "
                                                                : ""));
  EG_TRY(print_dim(text, place.dim, value->type.rank));
  return eg_text_print_names(text, " of %s", value->name);
}

egraph_status eg_plan_action_words(eg_text *text, const eg_plan *plan,
                                   const eg_plan_step *step, const eg_factors *factors,
                                   uint32_t axis) {
  uint8_t action = step->action[axis];
  if (action == EG_ACTION_REPLICATE) return eg_text_append(text, "repeated");
  if (action == EG_ACTION_PASS_JOINT)
    return eg_text_append(text, "partial results of all operands");
  if (action >= EG_ACTION_SPLIT)
    return print_split(text, plan, step, &factors->factor[action - EG_ACTION_SPLIT]);
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  uint32_t operand = (uint32_t)(action - EG_ACTION_PASS);
  return eg_text_print_names(text, "partial results of %s",
                             eg_graph_value(plan->graph, info.inputs[operand])->name);
}

// ---- amounts --------------------------------------------------------------------------

typedef struct unit {
  double size;
  const char *name;
} unit;

/// In the largest unit in which it is 1 or more, by integers: "%g" depends on the locale.
static egraph_status print_amount(eg_text *text, double amount, const unit *units,
                                  size_t count) {
  size_t at = 0, last = count - 1;
  while (at < last && amount < units[at].size * 0.9995)
    at++;
  double scaled = amount / units[at].size;
  EG_TRY(eg_text_digits(text, scaled));
  return eg_text_printf(text, " %s", units[at].name);
}

egraph_status eg_text_digits(eg_text *text, double value) {
  if (!(value >= 0)) return eg_text_append(text, "?"); // plans in files say anything
  if (value >= 1e15) return eg_text_append(text, "over 1000000");
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  int64_t scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
  int64_t units = (int64_t)(value * (double)scale + 0.5), rest = units % scale;
  while (rest != 0 && rest % 10 == 0) {
    rest /= 10;
    decimals--;
  }
  EG_TRY(eg_text_printf(text, "%" PRId64, units / scale));
  return rest != 0 ? eg_text_printf(text, ".%0*" PRId64, decimals, rest) : EGRAPH_OK;
}

egraph_status eg_text_bytes(eg_text *text, double bytes) {
  static const unit UNITS[] = {
      {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  if (!(bytes > 0)) return eg_text_append(text, "0 B");
  return print_amount(text, bytes, UNITS, sizeof UNITS / sizeof *UNITS);
}

egraph_status eg_text_seconds(eg_text *text, double seconds) {
  static const unit UNITS[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  if (!(seconds > 0)) return eg_text_append(text, "0 s");
  return print_amount(text, seconds, UNITS, sizeof UNITS / sizeof *UNITS);
}

egraph_status eg_text_percent(eg_text *text, double share) {
  if (share > 0 && share < 5e-5) return eg_text_append(text, "under 0.01 %");
  EG_TRY(eg_text_digits(text, 100 * share));
  return eg_text_append(text, " %");
}

// ---- figures --------------------------------------------------------------------------

uint32_t eg_phase_runs(const eg_plan *plan, eg_phase phase) {
  return phase == EG_PHASE_UPDATE ? 1 : plan->micro_batches;
}

double eg_plan_step_blocks(const eg_plan_step *step) { return 1.0 + step->more_blocks; }

double eg_plan_state_bytes(const eg_plan *plan, uint32_t state) {
  const eg_plan_state *row = &plan->states.data[state];
  eg_type local = eg_sharding_local(
      &plan->mesh, &eg_graph_value(plan->graph, row->value)->type, &row->layout);
  return (double)eg_type_bytes(&local);
}

double eg_plan_move_bytes(const eg_plan *plan, const eg_plan_step *step) {
  const eg_plan_state *from = &plan->states.data[step->from];
  return eg_transition_bytes(&plan->mesh, &eg_graph_value(plan->graph, from->value)->type,
                             &from->layout, &step->transition);
}
