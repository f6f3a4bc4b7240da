// Runs plans on threads and processes. Outputs of phase UPDATE are fetched after the last
// step; other outputs are fetched after their micro-batch, in the last step or, when
// steps are reported, in every step.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/owner.h"
#include "exec/local/local_channel.h"
#include "exec/rank_program.h"
#include "ops/kernels.h"
#include "pcg/plan/plan.h"

typedef struct run_job {
  const egraph_allocator *alloc;
  const eg_plan *plan;
  const eg_plan_run *run;
  bool is_alone; // the only rank of its process
} run_job;

typedef struct run_rank {
  const run_job *job;
  eg_channel *channel;
  bool fetches;                     // outputs are fetched in this step
  double fetch_seconds, fetch_busy; // seconds of fetching in this step
} run_rank;

static bool is_updated(const eg_plan *plan, uint32_t output) {
  assert(output < plan->output_states.len);
  uint32_t step = plan->states.data[plan->output_states.data[output]].step;
  return step != EG_PLAN_NONE && plan->steps.data[step].phase == EG_PHASE_UPDATE;
}

/// Fetches the outputs of micro-batch m; only rank 0 writes them.
static egraph_status fetch(const run_rank *r, eg_rank_program *program, uint32_t m,
                           bool updated) {
  const eg_plan *plan = r->job->plan;
  uint32_t count = (uint32_t)plan->output_states.len;
  for (uint32_t i = 0; i < count; i++) {
    eg_tensor to = r->job->run->outputs[(size_t)m * count + i];
    if (to.data == NULL || is_updated(plan, i) != updated) continue;
    if (r->channel->rank != 0) to.data = NULL;
    EG_TRY(eg_rank_program_fetch(program, i, &to));
  }
  return EGRAPH_OK;
}

static egraph_status after_micro_batch(void *user, eg_rank_program *program,
                                       uint32_t index) {
  run_rank *r = user;
  if (!r->fetches) return EGRAPH_OK;
  double start = eg_clock_seconds(), busy = eg_clock_thread_seconds();
  egraph_status status = fetch(r, program, index, false);
  r->fetch_seconds += eg_clock_seconds() - start;
  r->fetch_busy += eg_clock_thread_seconds() - busy;
  return status;
}

/// Returns the weight whose copy an input is ("w.copy", pcg/training/training.h); NULL:
/// it is no copy, or the weight has no data.
static const eg_tensor *find_copied(const run_rank *r, const char *name) {
  const eg_graph *graph = r->job->plan->graph;
  const char *dot = strrchr(name, '.');
  size_t length = dot != NULL && strcmp(dot, ".copy") == 0 ? (size_t)(dot - name) : 0;
  for (uint32_t k = 0; length != 0 && k < eg_graph_input_count(graph); k++) {
    const char *other = eg_graph_value(graph, eg_graph_input(graph, k))->name;
    const eg_tensor *weight = &r->job->run->inputs[k];
    if (strlen(other) == length && strncmp(other, name, length) == 0)
      return weight->data != NULL ? weight : NULL;
  }
  return NULL;
}

/// Sets an input without data: a copy to its weight. Others stay zeros.
static egraph_status put_copy(const run_rank *r, eg_rank_program *program,
                              eg_value entry) {
  const eg_value_info *info = eg_graph_value(r->job->plan->graph, entry);
  const eg_tensor *weight = find_copied(r, info->name);
  if (weight == NULL) return EGRAPH_OK;
  EG_LOCAL(eg_arena, scratch, eg_allocator_or_heap(r->job->alloc));
  eg_tensor copy = {.type = info->type};
  copy.type.layout = (eg_layout){.format = EG_FORMAT_PLAIN};
  EG_TRY(eg_arena_alloc(&scratch, eg_type_bytes(&copy.type), 1, &copy.data));
  eg_tensor_convert(weight, &copy);
  return eg_rank_program_put(program, entry, &copy);
}

/// Sets the values that pass from step to step to the first row of the inputs.
static egraph_status put_carried(const run_rank *r, eg_rank_program *program) {
  const eg_plan *plan = r->job->plan;
  for (size_t i = 0; i < plan->carried.len; i += 2) {
    if (!is_updated(plan, plan->carried.data[i])) continue;
    eg_value entry = {plan->carried.data[i + 1]};
    for (uint32_t k = 0; k < eg_graph_input_count(plan->graph); k++) {
      const eg_tensor *input = &r->job->run->inputs[k];
      if (eg_graph_input(plan->graph, k).id != entry.id) continue;
      EG_TRY(input->data != NULL ? eg_rank_program_put(program, entry, input)
                                 : put_copy(r, program, entry));
    }
  }
  return EGRAPH_OK;
}

/// Runs and reports a step: all ranks begin together, and continue after the report.
static egraph_status report_step(run_rank *r, eg_rank_program *program, uint32_t step) {
  const eg_plan_run *run = r->job->run;
  EG_TRY(eg_channel_barrier(r->channel));
  double start = eg_clock_seconds(), busy = eg_clock_thread_seconds();
  EG_TRY(eg_rank_program_run(program, run->inputs));
  EG_TRY(eg_channel_barrier(r->channel));
  double seconds = eg_clock_seconds() - start - r->fetch_seconds;
  double busy_seconds = eg_clock_thread_seconds() - busy - r->fetch_busy;
  if (run->every_step) EG_TRY(fetch(r, program, r->job->plan->micro_batches - 1, true));
  const eg_step_report report = {.step = step,
                                 .rank = r->channel->rank,
                                 .seconds = seconds,
                                 .busy_seconds = busy_seconds};
  if (!r->job->is_alone && r->channel->rank != 0) return EGRAPH_OK;
  egraph_status status = run->on_step(run->user, &report);
  return status == EGRAPH_OK ? EGRAPH_OK : eg_channel_abort(r->channel, status);
}

static egraph_status run_steps(run_rank *r, eg_rank_program *program) {
  const eg_plan_run *run = r->job->run;
  EG_TRY(eg_rank_program_load(program));
  EG_TRY(put_carried(r, program));
  for (uint32_t step = 0; step < run->steps; step++) {
    r->fetches = run->on_step != NULL || step + 1 == run->steps;
    r->fetch_seconds = r->fetch_busy = 0;
    EG_TRY(run->on_step != NULL ? report_step(r, program, step)
                                : eg_rank_program_run(program, run->inputs));
  }
  bool is_fetched = run->on_step != NULL && run->every_step;
  return is_fetched ? EGRAPH_OK
                    : fetch(r, program, r->job->plan->micro_batches - 1, true);
}

static egraph_status run_on(void *user, eg_channel *channel) {
  const run_job *job = user;
  run_rank r = {.job = job, .channel = channel};
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
                                const eg_plan_run *run) {
  run_job job = {.alloc = alloc, .plan = plan, .run = run};
  if (run->steps == 0) return EG_FAIL(EGRAPH_E_ARGUMENT, "no step to run");
  return eg_local_ranks_run(alloc, &plan->mesh, &run->channel, run_on, &job);
}

/// Fails unless all ranks run the same plan, steps and seed. Each process has read its
/// own plan; if collectives match by chance, another plan or seed would only give wrong
/// results. Numbers are equal on all ranks when each equals the maximum, and each
/// complement the maximum of complements.
static egraph_status compare_runs(const run_job *job, eg_channel *channel) {
  uint64_t own, all[2];
  EG_TRY(eg_plan_digest(job->plan, eg_allocator_or_heap(job->alloc), &own));
  own = eg_hash_combine(eg_hash_combine(own, job->run->steps), job->run->rank.seed);
  own = eg_hash_combine(own, job->run->rank.overlaps ? 1u + (uint64_t)job->run->rank.issue
                                                     : 0);
  for (uint32_t axis = 0; axis < channel->mesh.axis_count; axis++) {
    all[0] = own;
    all[1] = ~own;
    EG_TRY(eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE,
                                                    .combining = EG_COMBINE_MAX,
                                                    .axis = axis,
                                                    .dtype = EGRAPH_UINT64,
                                                    .count = 2,
                                                    .send = all,
                                                    .recv = all}));
    if (all[0] != own || all[1] != ~own)
      return EG_FAIL(
          EGRAPH_E_ARGUMENT,
          "the ranks along '%s' have different plans, numbers of steps, "
          "orders of issue or seeds; give all processes the same file and options",
          channel->mesh.axes[axis].name);
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_run_rank(const egraph_allocator *alloc, const eg_plan *plan,
                               eg_channel *channel, const eg_plan_run *run) {
  run_job job = {.alloc = alloc, .plan = plan, .run = run, .is_alone = true};
  if (run->steps == 0) return EG_FAIL(EGRAPH_E_ARGUMENT, "no step to run");
  egraph_status status = compare_runs(&job, channel);
  if (status != EGRAPH_OK) return eg_channel_abort(channel, status);
  return run_on(&job, channel);
}
