// Creates, runs and destroys a rank's program. Its parts: rank_program_internal.h.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program.h"

#include <assert.h>
#include <fenv.h>

#include "base/clock.h"
#include "base/owner.h"
#include "exec/device_channel.h"
#include "exec/rank_program_internal.h"

// ---- the program --------------------------------------------------------------------

/// Aborts the channel when this rank has failed.
static egraph_status end_all(eg_channel *channel, egraph_status status) {
  return status == EGRAPH_OK || channel == NULL ? status
                                                : eg_channel_abort(channel, status);
}

// Restores the floating-point environment of the caller's thread, at the end of every
// public call: kernels and copies raise flags that the host program has not raised, and
// must not trap if the host program has enabled traps.
static egraph_status end_call(eg_channel *channel, const fenv_t *host,
                              egraph_status status) {
  (void)fesetenv(host);
  return end_all(channel, status);
}

// ---- creation ---------------------------------------------------------------------

static egraph_status check_plan(const eg_rank_program *p) {
  EG_TRY(eg_plan_check(p->plan, p->alloc));
  if (p->channel == NULL ? p->plan->mesh.axis_count == 0
                         : eg_mesh_same(&p->plan->mesh, &p->channel->mesh))
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "the plan is for another mesh than the channel's");
}

/// Opens a channel for device memory; ranks meet on the given channel, its control.
static egraph_status open_channel(eg_rank_program *p) {
  eg_channel *channel;
  if (p->channel == NULL) return EGRAPH_OK;
  if (p->backend->vtable->host_memory) {
    if (p->options.transport == NULL) return EGRAPH_OK;
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "transport '%s' works between devices; back-end '%s' computes on the "
                   "host",
                   p->options.transport, p->backend->vtable->name);
  }
  EG_TRY(eg_device_channel_create(&p->alloc, p->channel, p->backend, p->options.transport,
                                  &channel));
  p->channel = p->device_channel = channel;
  return EGRAPH_OK;
}

static egraph_status open_lane(eg_rank_program *p) {
  if (p->channel == NULL || p->plan->mesh.axis_count == 0) return EGRAPH_OK;
  if (!p->backend->vtable->host_memory)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "exchanges run beside computing on the CPU only; back-end '%s' runs "
                   "in order",
                   p->backend->vtable->name);
  EG_TRY(eg_plan_issued(p->plan, p->options.issue, &p->issued));
  EG_TRY(eg_plan_check(&p->issued, p->alloc));
  EG_TRY(eg_lane_create(p->alloc, p->channel, &p->lane));
  p->plan = &p->issued;
  p->channel = eg_lane_channel(p->lane);
  return EGRAPH_OK;
}

static egraph_status build_program(eg_rank_program *p) {
  EG_TRY(check_plan(p));
  EG_TRY(eg_backend_create(
      &p->alloc, p->options.backend,
      &(eg_backend_options){.threads = p->options.threads, .device = eg_rank_number(p)},
      &p->backend));
  EG_TRY(open_channel(p));
  if (p->options.overlaps) EG_TRY(open_lane(p));
  EG_TRY(eg_rank_analyse(p));
  EG_TRY(eg_rank_compile(p));
  eg_rank_find_loans(p);
  if (p->lane != NULL) EG_TRY(eg_rank_find_waits(p));
  EG_TRY(eg_rank_place(p));
  eg_arena_deinit(&p->part_arena);
  p->parts = NULL;
  return EGRAPH_OK;
}

egraph_status eg_rank_program_create(const egraph_allocator *alloc, const eg_plan *plan,
                                     eg_channel *channel, const eg_rank_options *options,
                                     eg_rank_program **out) {
  assert(plan != NULL && options != NULL);
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_rank_program *p;
  fenv_t host;
  egraph_status status = eg_alloc(own, 1, sizeof *p, &p);
  if (status != EGRAPH_OK) return end_all(channel, status);
  *p = (eg_rank_program){
      .alloc = own, .given = plan, .plan = plan, .channel = channel, .options = *options};
  EG_INIT_MEMBERS(p, own, (eg_arena, arena, part_arena), (eg_program_cache, programs),
                  (eg_rank_steps, steps), (eg_rank_carries, carries),
                  (eg_regions, regions), (eg_memory_list, constants), (eg_plan, issued));
  (void)feholdexcept(&host);
  status = end_call(channel, &host, build_program(p));
  EG_HAND_OVER_OR_DESTROY(status, p, eg_rank_program_destroy, out);
}

void eg_rank_program_destroy(eg_rank_program *p) {
  if (p == NULL) return;
  size_t states = p->plan->states.len;
  eg_lane_destroy(p->lane); // exchanges may still be running
  eg_rank_unbind(p);
  eg_rank_steps_deinit(&p->steps);
  eg_program_cache_deinit(&p->programs);
  eg_memory_list_deinit(&p->constants);
  if (p->backend != NULL) eg_device_memory_destroy(p->backend, &p->memory);
  eg_channel_destroy(p->device_channel);
  eg_backend_destroy(p->backend);
  eg_free(p->alloc, p->room, p->room_bytes, 1);
  eg_rank_carries_deinit(&p->carries);
  eg_regions_deinit(&p->regions);
  eg_free(p->alloc, p->states, states, sizeof *p->states);
  eg_plan_deinit(&p->issued);
  eg_arena_deinit(&p->part_arena);
  eg_arena_deinit(&p->arena);
  eg_free(p->alloc, p, 1, sizeof *p);
}

// ---- values -----------------------------------------------------------------------

egraph_status eg_rank_program_load(eg_rank_program *p) {
  fenv_t host;
  (void)feholdexcept(&host);
  egraph_status status = p->is_bound ? EGRAPH_OK : eg_rank_bind(p);
  if (status == EGRAPH_OK) status = eg_rank_load_carried(p);
  p->is_loaded = status == EGRAPH_OK;
  return end_call(p->channel, &host, status);
}

egraph_status eg_rank_program_put(eg_rank_program *p, eg_value value,
                                  const eg_tensor *tensor) {
  fenv_t host;
  (void)feholdexcept(&host);
  return end_call(p->channel, &host, eg_rank_put_value(p, value, tensor));
}

egraph_status eg_rank_program_fetch(eg_rank_program *p, uint32_t output,
                                    const eg_tensor *out) {
  fenv_t host;
  assert(output < p->plan->output_states.len);
  (void)feholdexcept(&host);
  return end_call(p->channel, &host, eg_rank_gather(p, output, out));
}

// ---- runs -------------------------------------------------------------------------

static egraph_status run_halos(eg_rank_program *p, const eg_rank_step *step) {
  assert(step->halo_count != 0);
  const void *from = step->halo_from;
  size_t at = eg_device_aligned(step->program->info.scratch_bytes);
  for (uint32_t h = 0; h < step->halo_count; h++) {
    void *to = eg_rank_scratch(step, at);
    if (h != 0)
      eg_channel_settle(p->channel); // the exchange sends from this scratch memory
    EG_TRY(eg_halo_move_run(&step->halos[h], p->channel, from, to,
                            eg_rank_scratch(step, step->exchange)));
    from = to;
    at += eg_device_aligned(eg_type_bytes(&step->halos[h].to));
  }
  return EGRAPH_OK;
}

static egraph_status run_strip(eg_rank_program *p, const eg_rank_step *step,
                               const eg_rank_strip *strip, const eg_halo_rows *rows) {
  eg_rows block = {.type = step->halos[0].from};
  eg_rows result = {.type = p->states[step->results[0]].type,
                    .data = p->states[step->results[0]].address};
  memcpy(&block.data, &step->halo_from, sizeof block.data); // only read
  EG_TRY(eg_strip_gather(&strip->strip, p->backend, &block, rows,
                         eg_rank_scratch(step, strip->operand)));
  EG_TRY(strip->launch->vtable->run(strip->launch));
  return eg_strip_place(&strip->strip, p->backend, eg_rank_scratch(step, strip->result),
                        &result);
}

/// Runs a window over the rank's block, then over strips, which recompute the border rows
/// with the neighbours' rows.
static egraph_status run_with_strips(eg_rank_program *p, const eg_rank_step *step) {
  assert(step->halo_count == 1 && step->strip_count <= EG_MOST_STRIPS);
  eg_halo_rows rows;
  EG_TRY(step->launch->vtable->run(step->launch));
  EG_TRY(eg_halo_exchange(&step->halos[0], p->channel, step->halo_from,
                          eg_rank_scratch(step, step->exchange), &rows));
  for (uint32_t i = 0; i < step->strip_count; i++)
    EG_TRY(run_strip(p, step, &step->strips[i], &rows));
  return EGRAPH_OK;
}

static egraph_status run_relayout(const eg_rank_program *p, const eg_rank_step *step,
                                  eg_channel *channel) {
  assert(step->program == NULL && !step->is_view);
  if (step->settles) eg_channel_settle(channel);
  return eg_relayout_run(&step->move, channel, p->states[step->operands[0]].address,
                         p->states[step->results[0]].address, step->scratch);
}

static egraph_status run_on_lane(void *user, const void *what, eg_channel *channel) {
  return run_relayout(user, what, channel);
}

static egraph_status run_program_step(eg_rank_program *p, eg_rank_step *step) {
  if (step->is_view) return EGRAPH_OK;
  if (step->awaits != EG_PLAN_NONE)
    EG_TRY(eg_lane_wait(p->lane, p->steps.data[step->awaits].ticket));
  if (step->overlaps) {
    step->ticket = eg_lane_start(p->lane, run_on_lane, p, step);
    p->last_ticket = step->ticket;
    return EGRAPH_OK;
  }
  if (step->program == NULL) return run_relayout(p, step, p->channel);
  if (step->settles) eg_channel_settle(p->channel);
  if (step->has_strips) return run_with_strips(p, step);
  if (step->halo_count != 0) EG_TRY(run_halos(p, step));
  return step->launch->vtable->run(step->launch);
}

/// Skips a step of phase UPDATE, but waits for exchanges and for readers of lent memory
/// as the step would: later steps may rely on this.
static egraph_status skip_step(eg_rank_program *p, eg_rank_step *step) {
  assert(step->is_update);
  if (step->overlaps) step->ticket = p->last_ticket;
  if (step->settles || step->lends) eg_channel_settle(p->channel);
  if (step->awaits == EG_PLAN_NONE) return EGRAPH_OK;
  return eg_lane_wait(p->lane, p->steps.data[step->awaits].ticket);
}

static egraph_status run_timed(eg_rank_program *p, eg_rank_step *step) {
  double start = eg_clock_seconds();
  EG_TRY(run_program_step(p, step));
  if (p->backend->vtable->wait != NULL) EG_TRY(p->backend->vtable->wait(p->backend));
  step->figures.seconds = step->is_view ? 0 : eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static egraph_status run_steps(eg_rank_program *p, uint32_t from, uint32_t to) {
  assert(from <= to && to <= p->steps.len);
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = from; status == EGRAPH_OK && i < to; i++) {
    eg_rank_step *step = &p->steps.data[i];
    status = p->skips_update && step->is_update ? skip_step(p, step)
             : p->is_timed                      ? run_timed(p, step)
                                                : run_program_step(p, step);
    if (status != EGRAPH_OK) status = eg_rank_blame(p, i, status);
  }
  if (p->lane != NULL && status == EGRAPH_OK)
    status = eg_lane_wait(p->lane, p->last_ticket);
  if (p->channel != NULL)
    eg_channel_settle(p->channel); // a failed step may have lent memory
  return status;
}

static egraph_status begin_sums(eg_rank_program *p) {
  for (size_t i = 0; i < p->carries.len; i++) {
    const eg_rank_state *entry = &p->states[p->carries.data[i].entry];
    if (p->carries.data[i].is_summed)
      EG_TRY(eg_backend_fill(p->backend, entry->address, EGRAPH_UINT8, 0,
                             eg_type_bytes(&entry->type)));
  }
  return EGRAPH_OK;
}

/// Copies the values that pass to the next micro-batch (is_summed) or step to where they
/// enter it, unless both share memory.
static egraph_status carry(eg_rank_program *p, bool is_summed) {
  for (size_t i = 0; i < p->carries.len; i++) {
    const eg_rank_carry *c = &p->carries.data[i];
    const eg_rank_state *entry = &p->states[c->entry], *exit = &p->states[c->exit];
    size_t bytes = eg_type_bytes(&entry->type);
    if (c->is_summed == is_summed && entry->address != exit->address)
      EG_TRY(eg_backend_copy_rows(p->backend, entry->address, bytes, exit->address, bytes,
                                  bytes, 1));
  }
  return EGRAPH_OK;
}

/// Runs steps between begin and end of the back-end. Calls after_micro_batch outside
/// of these.
static egraph_status run_phase(eg_rank_program *p, uint32_t from, uint32_t to) {
  if (from == to) return EGRAPH_OK;
  double start = eg_clock_seconds();
  EG_TRY(eg_backend_begin(p->backend));
  egraph_status status = run_steps(p, from, to);
  egraph_status end = eg_backend_end(p->backend);
  p->steps_seconds += eg_clock_seconds() - start;
  return status == EGRAPH_OK ? end : status;
}

static egraph_status run_program(eg_rank_program *p, const eg_tensor *inputs) {
  if (!p->is_loaded) return EG_FAIL(EGRAPH_E_ARGUMENT, "the weights are not loaded yet");
  uint32_t input_count = eg_graph_input_count(p->plan->graph);
  p->steps_seconds = 0;
  EG_TRY(begin_sums(p));
  for (uint32_t m = 0; m < p->plan->micro_batches; m++) {
    if (m != 0) EG_TRY(carry(p, true));
    const eg_tensor *mine = input_count == 0 ? NULL : inputs + (size_t)m * input_count;
    EG_TRY(eg_rank_read_inputs(p, mine));
    p->skips_update = m + 1 < p->plan->micro_batches;
    EG_TRY(run_phase(p, 0, p->body));
    if (p->options.after_micro_batch != NULL)
      EG_TRY(p->options.after_micro_batch(p->options.user, p, m));
  }
  EG_TRY(run_phase(p, p->body, (uint32_t)p->steps.len));
  return carry(p, false);
}

egraph_status eg_rank_program_run(eg_rank_program *p, const eg_tensor *inputs) {
  fenv_t host;
  (void)feholdexcept(&host);
  return end_call(p->channel, &host, run_program(p, inputs));
}

// ---- figures ----------------------------------------------------------------------

static void count_kernel(const eg_program *kernel, eg_rank_memory *inout) {
  if (kernel != NULL && kernel->info.scratch_bytes > inout->kernels)
    inout->kernels = kernel->info.scratch_bytes;
}

eg_rank_memory eg_rank_program_memory(const eg_rank_program *p) {
  eg_rank_memory memory = {.arena = p->arena_bytes,
                           .least_arena = eg_regions_bound(&p->regions),
                           .weights = p->kept_bytes,
                           .packed = p->packed_bytes};
  for (size_t i = 0; i < p->steps.len; i++) {
    const eg_rank_step *step = &p->steps.data[i];
    count_kernel(step->program, &memory);
    for (uint32_t s = 0; s < step->strip_count; s++)
      count_kernel(step->strips[s].program, &memory);
  }
  return memory;
}

double eg_rank_program_steps_seconds(const eg_rank_program *p) {
  return p->steps_seconds;
}

void eg_rank_program_set_timing(eg_rank_program *p, bool on) { p->is_timed = on; }

uint32_t eg_rank_program_step_count(const eg_rank_program *p) {
  return (uint32_t)p->steps.len;
}

const eg_step_figures *eg_rank_program_step_at(const eg_rank_program *p, uint32_t index) {
  return &eg_rank_steps_at(&p->steps, index)->figures;
}
