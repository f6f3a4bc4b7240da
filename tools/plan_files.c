// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_files.h"

#include <stdio.h>
#include <string.h>

#include "tools/lists.h"
#include "tools/owned.h"

bool is_plan_file(const char *path) {
  return text_ends_with(path, ".json") || text_ends_with(path, ".json.gz");
}

bool is_onnx_file(const char *path) { return text_ends_with(path, ".onnx"); }

egraph_status plan_print(const egraph_plan *plan, const plan_view *view) {
  OWNED_TEXT(remarks);
  OWNED_TEXT(steps);
  EG_TRY(egraph_plan_remarks(NULL, plan, false, &remarks));
  show_lines(stdout, remarks);
  if (!view->text && !view->unity) return EGRAPH_OK;
  EG_TRY(egraph_plan_print(NULL, plan, view->unity, &steps));
  printf("\n");
  show_lines(stdout, steps);
  return EGRAPH_OK;
}

egraph_status plan_load(const char *path, const char *machine, const cost_flags *flags,
                        egraph_plan **out) {
  EG_TRY(egraph_plan_load(NULL, path, out));
  if (machine == NULL) return EGRAPH_OK;
  const egraph_target target = {.size = sizeof target, .machine = machine};
  OWNED(egraph_costs, costs);
  EG_TRY(open_plan_costs(flags, machine, &costs));
  return egraph_plan_price(*out, &target, costs);
}

static egraph_status explain(const char *path, const plan_view *view) {
  OWNED(egraph_plan, plan);
  OWNED(egraph_plan, other);
  OWNED_TEXT(text);
  EG_TRY(plan_load(path, view->machine, view->costs, &plan));
  if (view->against == NULL && !view->json) return plan_print(plan, view);
  if (view->against != NULL) {
    EG_TRY(plan_load(view->against, view->machine, view->costs, &other));
    EG_TRY(egraph_plan_diff(NULL, plan, other, view->json, &text));
  } else {
    EG_TRY(egraph_plan_summary_json(NULL, plan, &text));
  }
  show_lines(stdout, text);
  if (view->json) printf("\n");
  return EGRAPH_OK;
}

int explain_plan_file(const char *path, const plan_view *view) {
  return outcome_of(explain(path, view));
}
