// Files of plans, which egraph plan writes and egraph explain reads.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_PLAN_FILES_H
#define EG_TOOLS_PLAN_FILES_H

#include "tools/optimize_call.h"

/// True when the path names a plan: ".json" or ".json.gz".
bool is_plan_file(const char *path);
/// True when the path names an ONNX model: ".onnx".
bool is_onnx_file(const char *path);
typedef struct plan_view {
  const char *against;     // plan to compare with; NULL: print the plan itself
  const char *machine;     // machine whose prices to take; NULL: keep the prices of
                           // the file
  const cost_flags *costs; // costs of that machine
  bool text;               // also print every step
  bool unity;              // the same, with exchanges in Unity's terms
  bool json;
} plan_view;
/// Reads a plan, and prices it again with a machine's figures (NULL: no change).
egraph_status plan_load(const char *path, const char *machine, const cost_flags *flags,
                        egraph_plan **out);
/// Prints figures, blocks, exchanges and remarks of a plan, and its steps if requested.
egraph_status plan_print(const egraph_plan *plan, const plan_view *view);
/// Runs egraph explain on a plan: prints its steps and figures, or the differences to
/// another plan. Returns an exit status.
int explain_plan_file(const char *path, const plan_view *view);

#endif
