// The public function that runs plans in this process.
// SPDX-License-Identifier: Apache-2.0
#include "api/convert.h"
#include "api/planned.h"
#include "api/tensors.h"
#include "exec/rank_program.h"

enum { DEFAULT_SEED = 1 };

static egraph_status check_counts(const eg_plan *plan, uint64_t inputs,
                                  uint64_t outputs) {
  uint64_t rows = plan->micro_batches;
  uint64_t want_inputs = rows * eg_graph_input_count(plan->graph);
  uint64_t want_outputs = rows * eg_graph_output_count(plan->graph);
  if (inputs == want_inputs && outputs == want_outputs) return EGRAPH_OK;
  return EG_FAIL(
      EGRAPH_E_ARGUMENT,
      "%u inputs and %u outputs given; the plan has %u and %u (a row of all for "
      "each of %u micro-batches)",
      (unsigned)inputs, (unsigned)outputs, (unsigned)want_inputs, (unsigned)want_outputs,
      plan->micro_batches);
}

egraph_status egraph_plan_run_local(const egraph_allocator *alloc,
                                    const egraph_plan *plan,
                                    const egraph_plan_run_options *options,
                                    const egraph_tensor *inputs, uint32_t input_count,
                                    const egraph_tensor *outputs, uint32_t output_count) {
  const egraph_plan_run_options defaults = {.seed = DEFAULT_SEED};
  if (options == NULL) options = &defaults;
  EG_TRY(eg_planned_require(plan));
  const eg_plan *planned = &plan->planned.plan;
  if (eg_plan_is_folded(planned))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "one block of this plan stands for %u, so it cannot run; plan with "
                   "no_fold",
                   plan->report.blocks);
  EG_TRY(check_counts(planned, input_count, output_count));
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_tensors tensors;
  eg_tensors_init(&tensors, heap);
  egraph_status status =
      eg_tensors_resize(&tensors, (size_t)input_count + output_count + 1);
  if (status == EGRAPH_OK) status = eg_tensors_take(inputs, input_count, tensors.data);
  if (status == EGRAPH_OK)
    status = eg_tensors_take(outputs, output_count, tensors.data + input_count);
  if (status == EGRAPH_OK) {
    eg_local_run run = {.rank = EG_RANK_OPTIONS_DEFAULT,
                        .channel = EG_CHANNEL_OPTIONS_DEFAULT,
                        .steps = options->steps != 0 ? options->steps : 1,
                        .inputs = tensors.data,
                        .outputs = tensors.data + input_count};
    if (options->backend != NULL) run.rank.backend = options->backend;
    if (options->threads != 0) run.rank.threads = options->threads;
    run.rank.seed = options->seed;
    status = eg_plan_run_local(&heap, planned, &run);
  }
  eg_tensors_deinit(&tensors);
  return status;
}
