// Plans in files, as egraph plan writes and egraph explain reads them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_PLAN_FILES_H
#define EG_TOOLS_PLAN_FILES_H

#include "tools/optimize_call.h"

/// True for the name of a plan: ".json" or ".json.gz".
bool is_plan_file(const char *path);
/// Likewise an ONNX model, ".onnx".
bool is_onnx_file(const char *path);
typedef struct plan_view {
  const char *against;     // what is different in this one; NULL: the plan itself
  const char *machine;     // whose prices to take; NULL: those in the file
  const cost_flags *costs; // of that machine, as egraph plan has them
  bool text;               // every step, too
  bool unity;              // the same, exchanges in Unity's words
  bool json;
} plan_view;
/// Reads a plan, and prices it anew by a machine's figures (NULL: as it is).
egraph_status plan_load(const char *path, const char *machine, const cost_flags *flags,
                        egraph_plan **out);
/// Prints the answer, blocks, exchanges and remarks of a plan, and its steps where they
/// are wanted.
egraph_status plan_print(const egraph_plan *plan, const plan_view *view);
/// egraph explain of a plan: its steps and figures, or what is different in another one.
/// An exit status.
int explain_plan_file(const char *path, const plan_view *view);

#endif
