// What egraph_optimize found, as text and as JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RESULT_PRINT_H
#define EG_TOOLS_RESULT_PRINT_H

#include "tools/planning.h"

/// The keys of `optimize --json`, of one device.
void print_graph_json(const optimize_session *session);
void print_graph_text(const optimize_session *session);

/// The same of a plan. `certificate`: the file that its proof went to; NULL: none was
/// asked for.
egraph_status print_plan_json(const egraph_result *result, const char *certificate);
egraph_status print_plan_text(const egraph_result *result, const char *certificate);

#endif
