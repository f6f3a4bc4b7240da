// The table of passes, the function that runs them, and statistics of the passes. Each
// stage costs more than all the stages before it: stage 1 finds landmarks anew, stage 2
// runs dual ascents. The functions that passes call are in presolve_state.c.
// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/presolve.h"

#include <math.h>

#include "base/clock.h"
#include "base/owner.h"

enum { MAX_ROUNDS = 40 };

typedef struct pass_row {
  egraph_status (*run)(eg_presolve *, bool *);
  int stage;
} pass_row;

#define PASS_ROW(id, name, run, stage, text) {eg_pass_##run, stage},
static const pass_row PASSES[] = {EG_EXTRACT_PASS_LIST(PASS_ROW)};
#undef PASS_ROW

static bool root_is_empty(const eg_presolve *presolve) {
  const eg_u32s *roots = &presolve->model.problem.roots;
  for (size_t i = 0; i < roots->len; i++)
    if (eg_class_index_member_count(&presolve->index, roots->data[i]) == 0) return true;
  return false;
}

static egraph_status run_presolve_pass(eg_presolve *presolve, size_t which,
                                       bool *changed) {
  assert(which < EG_PASS_COUNT);
  if (presolve->closed || (presolve->disabled >> which) & 1) return EGRAPH_OK;
  if (eg_presolve_late_now(presolve)) return EGRAPH_OK;
  if (PASSES[which].stage == 1) {
    EG_TRY(eg_presolve_need_landmarks(presolve));
    if (!presolve->has_landmarks) return EGRAPH_OK;
  }
  EG_TRY(PASSES[which].run(presolve, changed));
  const eg_extract_problem *problem = &presolve->model.problem;
  eg_incumbent_count(presolve->incumbent,
                     8 * (uint64_t)(problem->node_class.len + problem->children.len));
  if (root_is_empty(presolve)) presolve->closed = true;
  return EGRAPH_OK;
}

static egraph_status run_stage(eg_presolve *presolve, int stage, bool *changed) {
  for (size_t which = 0; which < EG_PASS_COUNT; which++)
    if (PASSES[which].stage == stage) EG_TRY(run_presolve_pass(presolve, which, changed));
  return EGRAPH_OK;
}

static egraph_status run_rounds(eg_presolve *presolve) {
  if (root_is_empty(presolve)) presolve->closed = true;
  bool changed = true;
  for (int round = 0; changed && !presolve->closed && round < MAX_ROUNDS; round++) {
    bool cheap = true;
    for (int inner = 0; cheap && inner < MAX_ROUNDS; inner++) {
      cheap = false;
      EG_TRY(run_stage(presolve, 0, &cheap));
    }
    changed = false;
    presolve->has_landmarks = false;
    EG_TRY(run_stage(presolve, 1, &changed));
    if (!changed) EG_TRY(run_stage(presolve, 2, &changed));
  }
  if (presolve->bound < presolve->model.offset) presolve->bound = presolve->model.offset;
  if (presolve->closed || presolve->bound >= presolve->cutoff) {
    presolve->closed = true;
    presolve->bound = presolve->cutoff;
  }
  return EGRAPH_OK;
}

egraph_status eg_presolve_run(eg_presolve *presolve) {
  EG_TRY_IN_PART(eg_presolve_clock(presolve), EGRAPH_PART_PRESOLVE, run_rounds(presolve));
  return EGRAPH_OK;
}

// ---- statistics of the passes -----------------------------------------------------

// Runs presolve with all passes except one switched off: this pass runs until it changes
// nothing. Repeats this for every pass of the table, until a sweep over the table changes
// nothing.

enum { MAX_SWEEPS = 40 };
static const double MARGIN = 1e-6; // the cutoff lies above the best by this share

typedef struct sizes {
  int64_t nodes, classes, edges, roots;
} sizes;

static sizes sizes_of(const eg_presolve *presolve) {
  const eg_extract_problem *problem = &presolve->model.problem;
  if (presolve->closed) return (sizes){0, 0, 0, 0};
  return (sizes){eg_extract_node_count(problem), problem->class_count,
                 (int64_t)problem->children.len, (int64_t)problem->roots.len};
}

static egraph_status run_one_pass(eg_presolve *presolve, uint32_t pass, uint32_t disabled,
                                  eg_pass_statistics *out, bool *changed) {
  uint32_t bit = UINT32_C(1) << pass;
  if (presolve->closed || (disabled & bit) != 0) return EGRAPH_OK;
  sizes before = sizes_of(presolve);
  double start = eg_clock_seconds();
  presolve->disabled = ~bit;
  EG_TRY(eg_presolve_run(presolve));
  sizes after = sizes_of(presolve);
  out->runs++;
  out->seconds += eg_clock_seconds() - start;
  out->nodes += before.nodes - after.nodes;
  out->classes += before.classes - after.classes;
  out->edges += before.edges - after.edges;
  *changed = *changed || memcmp(&before, &after, sizeof before) != 0;
  return EGRAPH_OK;
}

egraph_status eg_pass_statistics_run(egraph_allocator alloc,
                                     const eg_extract_problem *problem,
                                     const eg_extract_options *options, double best_cost,
                                     eg_pass_statistics *out, uint32_t *out_nodes,
                                     uint32_t *out_classes) {
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (problem->cost.data[n] < 0)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "presolve needs costs >= 0, node %u has %g", n,
                     problem->cost.data[n]);
  for (int pass = 0; pass < EG_PASS_COUNT; pass++)
    out[pass] = (eg_pass_statistics){.runs = 0};
  EG_OWNED(eg_parts, parts);
  EG_OWNED(eg_presolve, presolve);
  eg_parts_init(&parts, alloc, eg_extract_node_count(problem));
  EG_TRY(eg_presolve_init(&presolve, alloc, &parts));
  EG_TRY(eg_reduced_from(&presolve.spare, problem));
  EG_TRY(eg_presolve_load(&presolve, &presolve.spare));
  presolve.deadline = eg_clock_seconds() + options->time_limit_seconds;
  presolve.cutoff = best_cost > 0 ? best_cost * (1 + MARGIN) : best_cost;
  if (best_cost == 0) presolve.cutoff = 1e-300;
  bool changed = true;
  for (int i = 0; changed && i < MAX_SWEEPS; i++) {
    changed = false;
    for (uint32_t pass = 0; pass < EG_PASS_COUNT; pass++)
      EG_TRY(
          run_one_pass(&presolve, pass, options->disabled_passes, &out[pass], &changed));
    if (eg_clock_seconds() > presolve.deadline) break;
  }
  sizes left = sizes_of(&presolve);
  *out_nodes = (uint32_t)left.nodes;
  *out_classes = (uint32_t)left.classes;
  return EGRAPH_OK;
}
