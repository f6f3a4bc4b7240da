// Results of egraph_optimize, as text and as JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RESULT_PRINT_H
#define EG_TOOLS_RESULT_PRINT_H

#include "tools/plan_files.h"

/// The keys of `optimize --json`, of one device; `explains`: also which rule made every
/// operator.
void print_graph_json(const optimize_session *session, bool explains);
void print_graph_text(const optimize_session *session);

/// The same of a plan. `certificate`: the file that its proof went to; NULL: none was
/// asked for.
egraph_status print_plan_json(const optimize_session *session, const char *certificate);
egraph_status print_plan_text(const optimize_session *session, const plan_view *view,
                              const char *certificate);

#endif
