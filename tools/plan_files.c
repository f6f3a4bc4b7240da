// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_files.h"

#include <stdio.h>
#include <string.h>

#include "tools/optimize_call.h"

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

bool is_plan_file(const char *path) {
  return ends_with(path, ".json") || ends_with(path, ".json.gz");
}

bool is_onnx_file(const char *path) { return ends_with(path, ".onnx"); }

/// Prints and frees a text that was made.
static egraph_status print_made(egraph_status status, char *text, const char *end) {
  if (status == EGRAPH_OK) {
    show_lines(stdout, text);
    printf("%s", end);
  }
  egraph_string_free(NULL, text);
  return status;
}

egraph_status plan_print(const egraph_plan *plan, const plan_view *view) {
  char *text = NULL;
  egraph_status status = egraph_plan_remarks(NULL, plan, false, &text);
  status = print_made(status, text, "");
  if (status != EGRAPH_OK || !(view->text || view->unity)) return status;
  text = NULL;
  status = egraph_plan_print(NULL, plan, view->unity, &text);
  if (status == EGRAPH_OK) printf("\n");
  return print_made(status, text, "");
}

egraph_status plan_load(const char *path, const char *machine, const cost_flags *flags,
                        egraph_plan **out) {
  egraph_status status = egraph_plan_load(NULL, path, out);
  if (status != EGRAPH_OK || machine == NULL) return status;
  const egraph_target target = {.size = sizeof target, .machine = machine};
  egraph_costs *costs;
  status = open_plan_costs(flags, machine, &costs);
  if (status == EGRAPH_OK) status = egraph_plan_price(*out, &target, costs);
  egraph_costs_destroy(costs);
  return status;
}

static egraph_status explain_one(const egraph_plan *plan, const plan_view *view) {
  char *text = NULL;
  if (!view->json) return plan_print(plan, view);
  egraph_status status = egraph_plan_summary_json(NULL, plan, &text);
  return print_made(status, text, "\n");
}

static egraph_status explain_two(const egraph_plan *plan, const plan_view *view) {
  egraph_plan *other = NULL;
  char *text = NULL;
  egraph_status status = plan_load(view->against, view->machine, view->costs, &other);
  if (status == EGRAPH_OK)
    status = egraph_plan_diff(NULL, plan, other, view->json, &text);
  egraph_plan_destroy(other);
  return print_made(status, text, view->json ? "\n" : "");
}

int explain_plan_file(const char *path, const plan_view *view) {
  egraph_plan *plan = NULL;
  egraph_status status = plan_load(path, view->machine, view->costs, &plan);
  if (status == EGRAPH_OK)
    status = (view->against != NULL ? explain_two : explain_one)(plan, view);
  egraph_plan_destroy(plan);
  return outcome_of(status);
}
