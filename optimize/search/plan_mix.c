// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_mix.h"

#include "base/clock.h"
#include "base/owner.h"
#include "extract/layout/layout_solve.h"
#include "optimize/model/plan_recall.h"
#include "pcg/plan/plan_summary.h"

typedef struct mixer {
  egraph_allocator alloc;
  const eg_mix_input *in;
  const eg_plan_model *model;
  eg_u32s strategy[EG_MIX_KINDS]; // [problem values] of a kind
  eg_bytes kind;                  // [blocks] of the best mixture
  eg_u32s mixed;                  // [problem values] of the one at work
  eg_layout_completer *completer;
  eg_mixed_plan *out;
} mixer;
EG_OWNER_DEFINE_STATIC(mixer, (eg_u32s, strategy[0], strategy[1], strategy[2], mixed),
                       (eg_bytes, kind))
_Static_assert(EG_MIX_KINDS == 3, "each kind has strategies");

static uint32_t block_of(const mixer *m, uint32_t value) {
  return m->model->space->values.data[m->model->values.data[value].value].block;
}

static void keep_better(mixer *m, eg_emitted_plan *emitted, double cost, double memory) {
  eg_mixed_plan *out = m->out;
  if (out->has_plan && !(cost < out->cost)) {
    eg_emitted_plan_deinit(emitted);
    return;
  }
  if (out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  *out = (eg_mixed_plan){
      .has_plan = true, .cost = cost, .memory = memory, .emitted = *emitted};
}

/// Emits a completed solution. *out_fits: its peak is within the limit.
static egraph_status weigh(mixer *m, const eg_layout_solution *solution, bool *out_fits) {
  eg_emitted_plan emitted;
  eg_plan_summary summary;
  EG_TRY(eg_plan_emit(m->model, m->alloc, solution, &emitted));
  egraph_status status = eg_plan_summary_make(&emitted.plan, m->alloc, &summary);
  *out_fits = status == EGRAPH_OK && summary.peak <= m->in->memory_limit;
  if (*out_fits)
    keep_better(m, &emitted, summary.seconds, summary.peak);
  else
    eg_emitted_plan_deinit(&emitted);
  return status;
}

/// Makes the first `count` blocks that are of kind 0 of another one.
static uint32_t turn(mixer *m, uint8_t kind, uint32_t count) {
  uint32_t turned = 0;
  for (size_t i = 0; i < m->kind.len && turned < count; i++)
    if (m->kind.data[i] == 0) {
      m->kind.data[i] = kind;
      turned++;
    }
  return turned;
}

static void turn_back(mixer *m, uint8_t kind) {
  for (size_t i = 0; i < m->kind.len; i++)
    if (m->kind.data[i] == kind) m->kind.data[i] = 0;
}

/// Weighs the mixture.
static egraph_status try_kinds(mixer *m, bool *out_fits) {
  eg_layout_solution solution;
  bool is_solution;
  *out_fits = false;
  for (uint32_t v = 0; v < m->mixed.len; v++) {
    uint32_t block = block_of(m, v);
    uint8_t kind = block < m->kind.len ? m->kind.data[block] : 0;
    m->mixed.data[v] = m->strategy[kind].data[v];
  }
  EG_TRY(eg_layout_complete(m->completer, m->mixed.data, &solution, &is_solution));
  if (!is_solution) return EGRAPH_OK;
  egraph_status status = weigh(m, &solution, out_fits);
  eg_layout_solution_deinit(&solution);
  return status;
}

/// The most blocks of a kind that fit.
static egraph_status add_kind(mixer *m, uint8_t kind) {
  uint32_t fitting = 0, too_many = turn(m, kind, UINT32_MAX) + 1;
  turn_back(m, kind);
  while (too_many - fitting > 1 && eg_clock_seconds() < m->in->deadline) {
    uint32_t middle = fitting + (too_many - fitting) / 2;
    bool fits;
    (void)turn(m, kind, middle);
    EG_TRY(try_kinds(m, &fits));
    turn_back(m, kind);
    *(fits ? &fitting : &too_many) = middle;
  }
  (void)turn(m, kind, fitting);
  return EGRAPH_OK;
}

static egraph_status run_mixer(mixer *m) {
  bool ignored;
  for (uint32_t k = 0; k < m->in->kinds; k++) {
    EG_TRY(eg_plan_recall(m->model, m->in->kind[k], &m->strategy[k]));
    if (m->strategy[k].len == 0) return EGRAPH_OK;
  }
  EG_TRY(eg_u32s_resize(&m->mixed, m->strategy[0].len));
  EG_TRY(eg_bytes_resize(&m->kind, m->model->space->info->fold.count));
  EG_TRY(try_kinds(m, &ignored));
  for (uint32_t k = 1; k < m->in->kinds; k++)
    EG_TRY(add_kind(m, (uint8_t)k));
  return EGRAPH_OK;
}

egraph_status eg_plan_mix(egraph_allocator alloc, const eg_mix_input *input,
                          eg_mixed_plan *out) {
  mixer m;
  mixer_init(&m, alloc);
  m.alloc = alloc;
  m.in = input;
  m.model = input->model;
  m.out = out;
  *out = (eg_mixed_plan){.has_plan = false};
  EG_TRY(eg_layout_completer_create(alloc, &m.model->problem, &m.completer));
  egraph_status status = run_mixer(&m);
  mixer_deinit(&m);
  eg_layout_completer_destroy(m.completer);
  if (status != EGRAPH_OK && out->has_plan) eg_emitted_plan_deinit(&out->emitted);
  return status;
}
