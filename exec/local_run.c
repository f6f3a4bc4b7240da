// Plans on threads. Outputs made in phase UPDATE are fetched after the last step, the
// others in it, after their micro-batch.
// SPDX-License-Identifier: Apache-2.0
#include "exec/local/local_channel.h"
#include "exec/rank_program.h"

typedef struct local_job {
  const egraph_allocator *alloc;
  const eg_plan *plan;
  const eg_local_run *run;
} local_job;

typedef struct local_rank {
  const local_job *job;
  uint32_t rank;
  bool is_last_step;
} local_rank;

static bool is_updated(const eg_plan *plan, uint32_t output) {
  uint32_t step = plan->states.data[plan->output_states.data[output]].step;
  return step != EG_PLAN_NONE && plan->steps.data[step].phase == EG_PHASE_UPDATE;
}

/// Row m of the outputs; only rank 0 writes them.
static egraph_status fetch(const local_rank *r, eg_rank_program *program, uint32_t m,
                           bool updated) {
  const eg_plan *plan = r->job->plan;
  uint32_t count = (uint32_t)plan->output_states.len;
  for (uint32_t i = 0; i < count; i++) {
    eg_tensor to = r->job->run->outputs[(size_t)m * count + i];
    if (to.data == NULL || is_updated(plan, i) != updated) continue;
    if (r->rank != 0) to.data = NULL;
    EG_TRY(eg_rank_program_fetch(program, i, &to));
  }
  return EGRAPH_OK;
}

static egraph_status after_micro_batch(void *user, eg_rank_program *program,
                                       uint32_t index) {
  const local_rank *r = user;
  return r->is_last_step ? fetch(r, program, index, false) : EGRAPH_OK;
}

/// What is carried begins with what the first row of the inputs has.
static egraph_status put_carried(const local_rank *r, eg_rank_program *program) {
  const eg_plan *plan = r->job->plan;
  for (size_t i = 0; i < plan->carried.len; i += 2) {
    if (!is_updated(plan, plan->carried.data[i])) continue;
    eg_value entry = {plan->carried.data[i + 1]};
    for (uint32_t k = 0; k < eg_graph_input_count(plan->graph); k++) {
      const eg_tensor *input = &r->job->run->inputs[k];
      if (eg_graph_input(plan->graph, k).id == entry.id && input->data != NULL)
        EG_TRY(eg_rank_program_put(program, entry, input));
    }
  }
  return EGRAPH_OK;
}

static egraph_status run_steps(local_rank *r, eg_rank_program *program) {
  const eg_local_run *run = r->job->run;
  EG_TRY(eg_rank_program_load(program));
  EG_TRY(put_carried(r, program));
  for (uint32_t step = 0; step < run->steps; step++) {
    r->is_last_step = step + 1 == run->steps;
    EG_TRY(eg_rank_program_run(program, run->inputs));
  }
  return fetch(r, program, r->job->plan->micro_batches - 1, true);
}

static egraph_status run_rank(void *user, eg_channel *channel) {
  const local_job *job = user;
  local_rank r = {.job = job, .rank = channel->rank};
  eg_rank_options options = job->run->rank;
  options.after_micro_batch = after_micro_batch;
  options.user = &r;
  eg_rank_program *program;
  EG_TRY(eg_rank_program_create(job->alloc, job->plan, channel, &options, &program));
  egraph_status status = run_steps(&r, program);
  eg_rank_program_destroy(program);
  return status;
}

egraph_status eg_plan_run_local(const egraph_allocator *alloc, const eg_plan *plan,
                                const eg_local_run *run) {
  local_job job = {.alloc = alloc, .plan = plan, .run = run};
  if (run->steps == 0) return EG_FAIL(EGRAPH_E_ARGUMENT, "no step to run");
  return eg_local_ranks_run(alloc, &plan->mesh, &run->channel, run_rank, &job);
}
