// The public functions that run plans: on threads, or as one process of several.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "api/tensors.h"
#include "base/owner.h"
#include "exec/rank_program.h"
#include "exec/step_check.h"

EG_HOLDER_DEFINE(egraph_step_check)

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

// ---- one run ----------------------------------------------------------------------

typedef struct plan_runner {
  const egraph_plan *plan;
  egraph_plan_run_options options;
  eg_plan_run run;
  const char *channel; // NULL: threads
  uint32_t *out_rank;
} plan_runner;

static egraph_status on_step(void *user, const eg_step_report *report) {
  const egraph_plan_run_options *options = user;
  const egraph_plan_step step = {.step = report->step,
                                 .rank = report->rank,
                                 .seconds = report->seconds,
                                 .busy_seconds = report->busy_seconds};
  if (!options->on_step(options->user, &step)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_CANCELLED, "stopped after step %u", report->step + 1);
}

static egraph_status take_issue(const char *name, eg_rank_options *out) {
  static const char *const names[EG_ISSUES] = {[EG_ISSUE_AHEAD_4] = "ahead-4",
                                               [EG_ISSUE_AHEAD_2] = "ahead-2",
                                               [EG_ISSUE_AHEAD] = "ahead",
                                               [EG_ISSUE_REDUCTIONS] = "reductions",
                                               [EG_ISSUE_IN_ORDER] = "in-order"};
  for (int i = 0; name != NULL && i < EG_ISSUES; i++)
    if (strcmp(name, names[i]) == 0) {
      out->issue = (eg_issue)i;
      out->overlaps = out->issue != EG_ISSUE_IN_ORDER;
      return EGRAPH_OK;
    }
  if (name == NULL) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no order of issue '%.32s'; there are ahead-4, ahead-2, ahead, "
                 "reductions and in-order",
                 name);
}

static void fill_run(plan_runner *r, eg_tensor *tensors, uint32_t input_count) {
  const egraph_plan_run_options *o = &r->options;
  r->run = (eg_plan_run){.rank = EG_RANK_OPTIONS_DEFAULT,
                         .channel = EG_CHANNEL_OPTIONS_DEFAULT,
                         .steps = o->steps != 0 ? o->steps : 1,
                         .inputs = tensors,
                         .outputs = tensors + input_count};
  if (o->backend != NULL) r->run.rank.backend = o->backend;
  r->run.rank.transport = o->transport;
  if (o->threads != 0) r->run.rank.threads = o->threads;
  r->run.rank.seed = o->seed;
  if (o->deadline_seconds != 0) r->run.channel.deadline_seconds = o->deadline_seconds;
  r->run.every_step = o->every_step;
  if (o->on_step == NULL) return;
  r->run.on_step = on_step;
  r->run.user = (void *)(uintptr_t)o;
}

static egraph_status run_process(const plan_runner *r, const egraph_allocator *heap) {
  const eg_plan *plan = &r->plan->planned.plan;
  eg_channel *channel;
  EG_TRY(eg_channel_open(heap, r->channel, &plan->mesh, &r->run.channel, &channel));
  *r->out_rank = channel->rank;
  egraph_status status = eg_plan_run_rank(heap, plan, channel, &r->run);
  eg_channel_destroy(channel);
  return status;
}

static egraph_status run_plan(plan_runner *r, const egraph_allocator *alloc,
                              const egraph_plan_run_options *options,
                              const egraph_tensor *inputs, uint32_t input_count,
                              const egraph_tensor *outputs, uint32_t output_count) {
  EG_TRY(eg_options_take(EGRAPH_PLAN_RUN_OPTIONS, options, &r->options));
  const eg_plan *planned = &r->plan->planned.plan;
  if (eg_plan_is_folded(planned))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "blocks of this plan stand for several, so it cannot run; plan again");
  EG_TRY(check_counts(planned, input_count, output_count));
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_LOCAL(eg_tensors, tensors, heap); // tensors of the caller
  EG_TRY(eg_tensors_resize(&tensors, (size_t)input_count + output_count + 1));
  EG_TRY(eg_tensors_take(inputs, input_count, tensors.data));
  EG_TRY(eg_tensors_take(outputs, output_count, tensors.data + input_count));
  fill_run(r, tensors.data, input_count);
  EG_TRY(take_issue(r->options.issue, &r->run.rank));
  return r->channel != NULL ? run_process(r, &heap)
                            : eg_plan_run_local(&heap, planned, &r->run);
}

egraph_status egraph_plan_run_local(const egraph_allocator *alloc,
                                    const egraph_plan *plan,
                                    const egraph_plan_run_options *options,
                                    const egraph_tensor *inputs, uint32_t input_count,
                                    const egraph_tensor *outputs, uint32_t output_count) {
  EG_REQUIRE(plan);
  EG_REQUIRE_ARRAY(inputs, input_count);
  EG_REQUIRE_ARRAY(outputs, output_count);
  plan_runner r = {.plan = plan};
  return run_plan(&r, alloc, options, inputs, input_count, outputs, output_count);
}

egraph_status egraph_plan_run_rank(const egraph_allocator *alloc, const egraph_plan *plan,
                                   const char *channel,
                                   const egraph_plan_run_options *options,
                                   const egraph_tensor *inputs, uint32_t input_count,
                                   const egraph_tensor *outputs, uint32_t output_count,
                                   uint32_t *out_rank) {
  EG_REQUIRE(plan, channel, out_rank);
  EG_REQUIRE_ARRAY(inputs, input_count);
  EG_REQUIRE_ARRAY(outputs, output_count);
  plan_runner r = {.plan = plan, .channel = channel, .out_rank = out_rank};
  return run_plan(&r, alloc, options, inputs, input_count, outputs, output_count);
}

// ---- checking steps ---------------------------------------------------------------

struct egraph_step_check {
  eg_step_check *check;
  eg_tensors tensors; // tensors of the caller, inputs then outputs
  uint32_t inputs, outputs;
};

static egraph_status open_check(egraph_step_check *check, const egraph_graph *step,
                                const egraph_session_options *given, uint32_t rows) {
  egraph_session_options own;
  EG_TRY(eg_options_take(EGRAPH_SESSION_OPTIONS, given, &own));
  const eg_session_options options =
      eg_session_options_of(own.backend, own.threads, own.seed);
  if (rows == 0) return EG_FAIL(EGRAPH_E_ARGUMENT, "micro_batches is 0; the least is 1");
  check->inputs = rows * eg_graph_input_count(step);
  check->outputs = rows * eg_graph_output_count(step);
  EG_TRY(eg_tensors_resize(&check->tensors, (size_t)check->inputs + check->outputs + 1));
  return eg_step_check_create(&check->tensors.alloc, step, &options, rows, &check->check);
}

egraph_status egraph_step_check_create(const egraph_allocator *alloc,
                                       const egraph_graph *step,
                                       const egraph_session_options *options,
                                       uint32_t micro_batches, egraph_step_check **out) {
  EG_REQUIRE(step, out);
  EG_HELD(egraph_step_check, check);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *check, &check));
  *check = (egraph_step_check){.check = NULL};
  eg_tensors_init(&check->tensors, heap);
  EG_HAND_OVER(open_check(check, step, options, micro_batches), check, out);
}

void egraph_step_check_destroy(egraph_step_check *check) {
  if (check == NULL) return;
  egraph_allocator alloc = check->tensors.alloc;
  eg_step_check_destroy(check->check);
  eg_tensors_deinit(&check->tensors);
  eg_free(alloc, check, 1, sizeof *check);
}

egraph_status egraph_step_check_run(egraph_step_check *check, const egraph_tensor *inputs,
                                    uint32_t input_count, const egraph_tensor *outputs,
                                    uint32_t output_count, egraph_step_verdict *out) {
  EG_REQUIRE(check, out);
  EG_REQUIRE_ARRAY(inputs, input_count);
  EG_REQUIRE_ARRAY(outputs, output_count);
  eg_step_verdict verdict;
  eg_tensor *tensors = check->tensors.data;
  if (input_count != check->inputs || output_count != check->outputs)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%u inputs and %u outputs given; the step has %u and %u, of all "
                   "micro-batches together",
                   input_count, output_count, check->inputs, check->outputs);
  EG_TRY(eg_tensors_take(inputs, input_count, tensors));
  EG_TRY(eg_tensors_take(outputs, output_count, tensors + input_count));
  EG_TRY(eg_step_check_run(check->check, tensors, tensors + input_count, &verdict));
  *out = (egraph_step_verdict){.output = verdict.output != NULL ? verdict.output : "",
                               .error = verdict.error,
                               .noise = verdict.noise,
                               .excess = verdict.excess,
                               .equal = verdict.excess <= 1,
                               .seconds = verdict.seconds};
  return EGRAPH_OK;
}
