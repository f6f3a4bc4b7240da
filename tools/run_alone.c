// A training step is run by one session as often as it has micro-batches; what the update
// leaves is kept from the last of these runs only.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/rank_tensors.h"
#include "tools/tensor_files.h"

static bool ends_with_sum(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".sum") == 0;
}

typedef struct lone_run {
  egraph_session *session;
  egraph_tensor *inputs, *outputs; // of one micro-batch; carried from run to run
} lone_run;

static double now(void) {
  struct timespec time;
  (void)timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// What a run leaves enters the next one: sums after each, all else after the last.
static void carry(const rank_run *r, const lone_run *lone, bool sums) {
  for (uint32_t o = 0; o < r->output_count; o++)
    if (r->entry[o] >= 0 && ends_with_sum(r->output_names[o]) == sums)
      memcpy(lone->inputs[r->entry[o]].data, lone->outputs[o].data,
             egraph_tensor_bytes(&lone->outputs[o]));
}

static egraph_status step_alone(const rank_run *r, const lone_run *lone, size_t number) {
  rank_run_count_step(r, (double)number + 1);
  for (uint32_t i = 0; i < r->input_count; i++)
    if (rank_run_carries(r, i) && ends_with_sum(r->input_names[i]))
      memset(lone->inputs[i].data, 0, egraph_tensor_bytes(&lone->inputs[i]));
  for (uint32_t m = 0; m < r->rows; m++) {
    for (uint32_t i = 0; i < r->input_count; i++)
      if (!rank_run_carries(r, i))
        memcpy(lone->inputs[i].data, r->inputs[m * r->input_count + i].data,
               egraph_tensor_bytes(&lone->inputs[i]));
    egraph_status status = egraph_session_run(lone->session, lone->inputs, r->input_count,
                                              lone->outputs, r->output_count);
    if (status != EGRAPH_OK) return status;
    carry(r, lone, true);
  }
  carry(r, lone, false);
  return EGRAPH_OK;
}

static egraph_status steps_alone(rank_run *r, const lone_run *lone) {
  for (size_t step = 0; step < r->step_count; step++) {
    double start = now();
    egraph_status status = step_alone(r, lone, step);
    if (status != EGRAPH_OK) return status;
    r->seconds[step] = now() - start;
  }
  size_t first = r->step_count > 1 ? 1 : 0;
  r->seconds_alone = median_of(r->seconds + first, r->step_count - first);
  for (uint32_t o = 0; o < r->output_count; o++)
    r->error = fmax(
        r->error, egraph_tensor_error(&lone->outputs[o],
                                      &r->outputs[(r->rows - 1) * r->output_count + o]));
  return EGRAPH_OK;
}

egraph_status rank_run_verify(rank_run *r) {
  rank_run one = *r; // a single row
  one.rows = 1;
  lone_run lone = {.inputs = calloc((size_t)r->input_count + 1, sizeof *lone.inputs),
                   .outputs = calloc((size_t)r->output_count + 1, sizeof *lone.outputs)};
  bool is_there = lone.inputs != NULL && lone.outputs != NULL;
  for (uint32_t i = 0; is_there && i < r->input_count; i++) {
    lone.inputs[i] = r->inputs[i];
    is_there = rank_tensors_allocate(&one, lone.inputs, r->input_count, i, true);
    if (is_there && rank_run_carries(r, i))
      memcpy(lone.inputs[i].data, r->inputs[i].data, egraph_tensor_bytes(&r->inputs[i]));
  }
  for (uint32_t o = 0; is_there && o < r->output_count; o++) {
    lone.outputs[o] = r->outputs[o];
    is_there = rank_tensors_allocate(&one, lone.outputs, r->output_count, o, true);
  }
  const egraph_session_options options = {.backend = r->flags->backend,
                                          .threads = (uint32_t)r->flags->threads,
                                          .seed = r->flags->seed};
  egraph_status status =
      is_there ? egraph_session_create(NULL, r->graph, &options, &lone.session)
               : EGRAPH_E_MEMORY;
  if (status == EGRAPH_OK) status = steps_alone(r, &lone);
  egraph_session_destroy(lone.session);
  rank_tensors_free(&one, lone.inputs, r->input_count);
  rank_tensors_free(&one, lone.outputs, r->output_count);
  return status;
}
