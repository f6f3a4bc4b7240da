// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_delivered.h"

#include <inttypes.h>

#include "base/json_text.h"
#include "pcg/plan/plan_words.h"

enum { MOST_LINES = 5 };

bool eg_plan_is_carried(const eg_plan *plan, uint32_t output) {
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2)
    if (plan->carried.data[i] == output) return true;
  return false;
}

static const eg_layout *layout_of(const eg_plan *plan, uint32_t output) {
  return &plan->states.data[plan->output_states.data[output]].layout;
}

static bool is_whole(const eg_plan *plan, uint32_t output) {
  static const eg_layout whole = {.format = EG_FORMAT_PLAIN};
  return eg_layout_same(&plan->mesh, layout_of(plan, output), &whole);
}

static egraph_status print_line(eg_text *text, const eg_plan *plan, uint32_t output) {
  const char *name;
  eg_value value = eg_graph_output(plan->graph, output, &name);
  EG_TRY(eg_text_print_names(text, "delivered   %s: ", name));
  EG_TRY(eg_layout_words(text, &plan->mesh, eg_graph_value(plan->graph, value)->type.rank,
                         layout_of(plan, output)));
  return eg_text_append(text, "\n");
}

egraph_status eg_plan_delivered_print(eg_text *text, const eg_plan *plan) {
  uint32_t count = 0;
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    if (is_whole(plan, o) || eg_plan_is_carried(plan, o)) continue;
    if (count++ < MOST_LINES) EG_TRY(print_line(text, plan, o));
  }
  if (count <= MOST_LINES) return EGRAPH_OK;
  return eg_text_printf(text, "delivered   %" PRIu32 " more outputs in parts\n",
                        count - MOST_LINES);
}

egraph_status eg_plan_delivered_write_json(eg_text *text, const eg_plan *plan) {
  bool is_first = true;
  EG_TRY(eg_text_append(text, "["));
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    const char *name;
    if (eg_plan_is_carried(plan, o)) continue;
    (void)eg_graph_output(plan->graph, o, &name);
    EG_TRY(eg_text_append(text, is_first ? "{\"output\": " : ", {\"output\": "));
    EG_TRY(eg_text_json_string(text, name));
    EG_TRY(eg_text_append(text, ", \"layout\": \""));
    EG_TRY(eg_layout_print(text, &plan->mesh, layout_of(plan, o)));
    EG_TRY(eg_text_append(text, "\"}"));
    is_first = false;
  }
  return eg_text_append(text, "]");
}
