// Compares a run with one device: steps of training one by one during the run, a forward
// graph once after the run.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/owned.h"
#include "tools/rank_tensors.h"
#include "tools/tensor_files.h"

egraph_session_options run_session_options(const run_flags *flags) {
  return (egraph_session_options){.size = sizeof(egraph_session_options),
                                  .backend = with_plugin(flags->backend),
                                  .threads = flags->threads,
                                  .seed = flags->seed};
}

static void keep_verdict(rank_run *r, const egraph_step_verdict *verdict) {
  if (r->verdict.output == NULL || verdict->excess > r->verdict.excess)
    r->verdict = *verdict;
}

// ---- steps of training ----------------------------------------------------------

egraph_status rank_run_open_check(rank_run *r) {
  const egraph_session_options options = run_session_options(r->flags);
  if (!r->flags->verify || r->loss < 0) return EGRAPH_OK;
  return egraph_step_check_create(NULL, r->graph, &options, r->rows, &r->check);
}

bool rank_run_check_step(rank_run *r, uint32_t step) {
  egraph_step_verdict verdict;
  if (r->check == NULL) return true;
  r->check_status =
      egraph_step_check_run(r->check, r->inputs, r->rows * r->input_count, r->outputs,
                            r->rows * r->output_count, &verdict);
  if (r->check_status != EGRAPH_OK) return false;
  keep_verdict(r, &verdict);
  r->alone[step] = verdict.seconds;
  // The next step begins with the results of this step.
  const egraph_tensor *last = r->outputs + (size_t)(r->rows - 1) * r->output_count;
  for (uint32_t o = 0; o < r->output_count; o++)
    if (r->entry[o] >= 0)
      memcpy(r->inputs[r->entry[o]].data, last[o].data, egraph_tensor_bytes(&last[o]));
  return true;
}

// ---- a forward graph ------------------------------------------------------------

static egraph_status run_alone(rank_run *r, egraph_session *session,
                               const egraph_tensor *outputs) {
  double allowed = tensor_tolerance(r->graph);
  for (size_t step = 0; step < r->step_count; step++) {
    double start = eg_clock_seconds();
    EG_TRY(
        egraph_session_run(session, r->inputs, r->input_count, outputs, r->output_count));
    r->alone[step] = eg_clock_seconds() - start;
  }
  for (uint32_t o = 0; o < r->output_count; o++) {
    double error = egraph_tensor_error(&outputs[o], &r->outputs[o]);
    keep_verdict(r, &(egraph_step_verdict){.output = r->output_names[o],
                                           .error = error,
                                           .noise = allowed,
                                           .excess = error / allowed,
                                           .equal = error <= allowed});
  }
  return EGRAPH_OK;
}

egraph_status rank_run_verify(rank_run *r) {
  OWNED(egraph_session, session);
  const egraph_session_options options = run_session_options(r->flags);
  if (r->loss >= 0) return EGRAPH_OK;
  egraph_tensor *outputs = calloc((size_t)r->output_count + 1, sizeof *outputs);
  bool is_there = outputs != NULL;
  for (uint32_t o = 0; is_there && o < r->output_count; o++) {
    outputs[o] = r->outputs[o];
    is_there = rank_tensors_allocate(r, outputs, r->output_count, o, true);
  }
  egraph_status status = is_there
                             ? egraph_session_create(NULL, r->graph, &options, &session)
                             : EGRAPH_E_MEMORY;
  if (status == EGRAPH_OK) status = run_alone(r, session, outputs);
  rank_tensors_free(r, outputs, r->output_count);
  return status;
}
