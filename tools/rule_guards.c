// SPDX-License-Identifier: Apache-2.0
#include "tools/rule_guards.h"

#include <stdio.h>
#include <string.h>

#include "tools/console.h"

// In the order of the summary.
static const char *const outcomes[] = {"holds", "weaker", "holds-if", "refuted"};
enum { OUTCOMES = sizeof outcomes / sizeof *outcomes };

typedef struct guard_counts {
  uint32_t of[OUTCOMES];
  bool json;
} guard_counts;

static void on_guard(void *user, const egraph_rule_guard *guard) {
  guard_counts *counts = user;
  for (uint32_t i = 0; i < OUTCOMES; i++)
    counts->of[i] += strcmp(guard->outcome, outcomes[i]) == 0;
  progress_line("guards", guard->rule);
  if (!counts->json) {
    show(stdout, "%-8s  %s%s%s\n", guard->outcome, guard->rule,
         guard->detail[0] != '\0' ? ": " : "", guard->detail);
    return;
  }
  json_open(NULL, '{');
  json_text("rule", guard->rule);
  json_text("outcome", guard->outcome);
  json_text("guard", guard->guard);
  json_text("detail", guard->detail);
  json_close('}');
}

egraph_status print_guards(const egraph_rules *rules, uint64_t seed, bool json,
                           uint32_t *out_refuted) {
  guard_counts counts = {.json = json};
  if (json) {
    json_begin();
    json_open("guards", '[');
  }
  egraph_status status = egraph_rules_guards(rules, seed, on_guard, &counts);
  progress_clear();
  if (json) json_close(']');
  for (uint32_t i = 0; i < OUTCOMES && status == EGRAPH_OK; i++)
    if (json)
      json_int(outcomes[i], counts.of[i]);
    else
      printf("%u %s%s", counts.of[i], outcomes[i], i + 1 < OUTCOMES ? ", " : "\n");
  if (json) json_end();
  *out_refuted = counts.of[2] + counts.of[3];
  return status;
}
