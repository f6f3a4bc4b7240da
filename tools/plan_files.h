// Plans in files, as egraph plan writes and egraph explain reads them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_PLAN_FILES_H
#define EG_TOOLS_PLAN_FILES_H

#include "include/egraph.h"

/// Whether a file is meant to be a plan: by its name, ".json" or ".json.gz".
bool is_plan_file(const char *path);
/// Prints every step of a plan, and its figures.
egraph_status plan_print_steps(const egraph_plan *plan, bool unity);
/// egraph explain of a plan: its steps and figures, or, when `against` is not NULL, what
/// is different in that one. An exit status.
int explain_plan_file(const char *path, const char *against, bool unity, bool json);

#endif
