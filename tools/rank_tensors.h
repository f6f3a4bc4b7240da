// A run of a plan, and the tensors that its steps read and leave.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RANK_TENSORS_H
#define EG_TOOLS_RANK_TENSORS_H

#include "tools/run_ranks.h"

typedef struct rank_run {
  const run_flags *flags;
  egraph_plan *plan;
  const egraph_graph *graph; // of the plan
  uint32_t input_count, output_count, rows, rank;
  egraph_tensor *inputs, *outputs; // a row per micro-batch
  const char **input_names, **output_names;
  int32_t *entry; // [outputs] the input that it becomes in the next step, or -1
  int32_t loss;   // output, or -1
  double *seconds, *busy;
  size_t step_count, done;
  double error, seconds_alone; // --verify
} rank_run;

/// Looks the graph of the plan up; r->inputs and r->outputs then have types, no data.
egraph_status rank_run_describe(rank_run *r);
/// Draws or reads inputs, makes room for outputs. *out_read is false when something given
/// by the user could not be read (already reported).
egraph_status rank_run_fill(rank_run *r, bool *out_read);
/// Whether an input is what an output of the step before becomes.
bool rank_run_carries(const rank_run *r, uint32_t input);
/// Sets the input "step" of the optimizer, if there is one.
void rank_run_count_step(const rank_run *r, double number);
/// Zeroed data of tensors[index] in each of r->rows rows of `count`, or in the first one
/// only; false when there is no memory.
bool rank_tensors_allocate(const rank_run *r, egraph_tensor *tensors, uint32_t count,
                           uint32_t index, bool all_rows);
void rank_tensors_free(const rank_run *r, egraph_tensor *tensors, uint32_t count);

/// The same steps on one device: r->error and r->seconds_alone. (run_alone.c)
egraph_status rank_run_verify(rank_run *r);

#endif
