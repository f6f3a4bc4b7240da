// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_summary.h"

// ---- steps ----------------------------------------------------------------------------

static void add_exchange(eg_plan_summary *summary, const eg_plan_step *step,
                         uint32_t axis, uint32_t kind, double runs, double bytes,
                         double seconds) {
  eg_exchange_sum *sum = &summary->exchange[step->phase][axis][kind];
  sum->count += (uint64_t)runs;
  sum->bytes += runs * bytes;
  sum->seconds += runs * seconds;
}

static egraph_status add_halos(const eg_plan *plan, const eg_plan_step *step, double runs,
                               eg_arena *arena, eg_plan_summary *out) {
  const eg_spread *spread;
  const eg_strategy *strategy;
  eg_halo halos[EG_MAX_MESH_AXES];
  EG_TRY(eg_plan_spread(plan, step, arena, &spread, &strategy));
  uint32_t count = eg_spread_halos(spread, &plan->mesh, strategy, halos);
  for (uint32_t i = 0; i < count; i++) {
    eg_type rows =
        eg_sharding_local(&plan->mesh, &spread->spec.inputs[0], &strategy->inputs[0]);
    rows.dims[halos[i].dim] = halos[i].before + halos[i].after;
    add_exchange(out, step, halos[i].axis, EG_EXCHANGE_HALO, runs,
                 (double)eg_type_bytes(&rows), 0);
  }
  return EGRAPH_OK;
}

static egraph_status add_steps(const eg_plan *plan, eg_arena *arena,
                               eg_plan_summary *out) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    double runs = eg_phase_runs(plan, step->phase) * eg_plan_step_blocks(step);
    bool is_work = !step->is_move || step->transition.kind == EG_TRANSITION_REORDER;
    *(is_work ? &out->node_seconds[step->phase] : &out->move_seconds[step->phase]) +=
        runs * step->seconds;
    if (step->is_move) {
      add_exchange(out, step, step->transition.axis, step->transition.kind, runs,
                   eg_plan_move_bytes(plan, step), step->seconds);
    } else {
      EG_TRY(add_halos(plan, step, runs, arena, out));
    }
    eg_arena_deinit(arena);
  }
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    out->seconds += out->node_seconds[p] + out->move_seconds[p];
  return EGRAPH_OK;
}

// ---- memory ---------------------------------------------------------------------------

/// What begins and what is over, per step and store. Sums of whole numbers of bytes below
/// 2^53 are exact.
typedef struct changes {
  double begins[EG_STORES], ends[EG_STORES];
} changes;

static egraph_status
visit_lives(const eg_lives *lives, uint32_t steps, egraph_allocator alloc,
            void (*each)(void *user, uint32_t step, const double *now), void *user) {
  changes *at;
  EG_TRY(eg_alloc(alloc, steps, sizeof *at, &at));
  for (size_t i = 0; i < lives->len; i++) {
    const eg_life *life = &lives->data[i];
    at[life->from].begins[life->store] += life->bytes;
    at[life->until].ends[life->store] += life->bytes;
  }
  double now[EG_STORES] = {0};
  for (uint32_t t = 0; t < steps; t++) {
    for (int s = 0; s < EG_STORES; s++)
      now[s] += at[t].begins[s];
    each(user, t, now);
    for (int s = 0; s < EG_STORES; s++)
      now[s] -= at[t].ends[s];
  }
  eg_free(alloc, at, steps, sizeof *at);
  return EGRAPH_OK;
}

egraph_status eg_plan_visit_memory(const eg_plan *plan, egraph_allocator alloc,
                                   void (*each)(void *user, uint32_t step,
                                                const double *now),
                                   void *user) {
  uint32_t steps = plan->steps.len == 0 ? 1 : (uint32_t)plan->steps.len;
  eg_lives lives;
  eg_lives_init(&lives, alloc);
  egraph_status status = eg_plan_lives(plan, alloc, &lives);
  if (status == EGRAPH_OK) status = visit_lives(&lives, steps, alloc, each, user);
  eg_lives_deinit(&lives);
  return status;
}

static void look_at(void *user, uint32_t step, const double *now) {
  eg_plan_summary *out = user;
  double total = 0;
  for (int s = 0; s < EG_STORES; s++) {
    total += now[s];
    if (now[s] > out->most[s]) out->most[s] = now[s];
  }
  if (total <= out->peak) return;
  out->peak = total;
  out->peak_step = step;
  for (int s = 0; s < EG_STORES; s++)
    out->at_peak[s] = now[s];
}

egraph_status eg_plan_summary_make(const eg_plan *plan, egraph_allocator alloc,
                                   eg_plan_summary *out) {
  eg_plan_summary summary = {.micro_batches = plan->micro_batches, .mesh = plan->mesh};
  eg_arena arena;
  eg_arena_init(&arena, alloc);
  egraph_status status = add_steps(plan, &arena, &summary);
  if (status == EGRAPH_OK) status = eg_plan_visit_memory(plan, alloc, look_at, &summary);
  eg_arena_deinit(&arena);
  if (status == EGRAPH_OK) *out = summary;
  return status;
}
