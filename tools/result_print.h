// Prints results of egraph_optimize, as text and as JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RESULT_PRINT_H
#define EG_TOOLS_RESULT_PRINT_H

#include "tools/plan_files.h"

/// Prints an optimized graph for one device; JSON: the keys of `optimize --json`.
/// `explains`: also prints the rule that made each operator.
void print_graph_json(const optimize_session *session, bool explains);
void print_graph_text(const optimize_session *session);

/// Prints the plan that a search found. `certificate` is the file of its proof; NULL:
/// none was requested.
egraph_status print_plan_json(const optimize_session *session, const char *certificate);
egraph_status print_plan_text(const optimize_session *session, const plan_view *view,
                              const char *certificate);

#endif
