// Plans in files, as egraph plan writes and egraph explain reads them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_PLAN_FILES_H
#define EG_TOOLS_PLAN_FILES_H

#include "tools/planning.h"

/// Whether a file is meant to be a plan: by its name, ".json" or ".json.gz".
bool is_plan_file(const char *path);
/// Prints every step of a plan, and its figures.
egraph_status plan_print_steps(const egraph_plan *plan, bool unity);
/// Prints what a plan was compared with, and which splits sizes did not allow.
egraph_status plan_print_remarks(const egraph_plan *plan);
typedef struct plan_view {
  const char *against;     // what is different in this one; NULL: the plan itself
  const char *machine;     // whose prices to take; NULL: those in the file
  const cost_flags *costs; // of that machine, as egraph plan has them
  bool unity, json;
} plan_view;
/// egraph explain of a plan: its steps and figures, or what is different in another one.
/// An exit status.
int explain_plan_file(const char *path, const plan_view *view);

#endif
