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

// ---- amounts --------------------------------------------------------------------------

typedef struct unit {
  double size;
  const char *name;
} unit;

/// In the largest unit that is not larger, by integers: "%g" depends on the locale.
static egraph_status print_amount(eg_text *text, double amount, const unit *units,
                                  size_t count) {
  while (count > 1 && amount < units->size) {
    units++;
    count--;
  }
  double scaled = amount / units->size;
  if (!(scaled < 1e15)) return eg_text_printf(text, "over 1000000 %s", units->name);
  int64_t tenths = (int64_t)(scaled * 10 + 0.5);
  if (tenths >= 1000 || tenths % 10 == 0)
    return eg_text_printf(text, "%" PRId64 " %s", (int64_t)(scaled + 0.5), units->name);
  return eg_text_printf(text, "%" PRId64 ".%" PRId64 " %s", tenths / 10, tenths % 10,
                        units->name);
}

egraph_status eg_text_bytes(eg_text *text, double bytes) {
  static const unit UNITS[] = {
      {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  return print_amount(text, bytes, UNITS, sizeof UNITS / sizeof *UNITS);
}

egraph_status eg_text_seconds(eg_text *text, double seconds) {
  static const unit UNITS[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  return print_amount(text, seconds, UNITS, sizeof UNITS / sizeof *UNITS);
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
