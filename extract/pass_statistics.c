// Presolve with all passes but one switched off runs that one to its own fixpoint; sweeps
// over the table go on until a sweep changes nothing.
// SPDX-License-Identifier: Apache-2.0
#include "extract/pass_statistics.h"

#include "base/clock.h"
#include "extract/presolve.h"

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

static egraph_status run_one(eg_presolve *presolve, uint32_t pass, uint32_t disabled,
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

static egraph_status sweep(eg_presolve *presolve, const eg_extract_options *options,
                           eg_pass_statistics *out) {
  bool changed = true;
  for (int i = 0; changed && i < MAX_SWEEPS; i++) {
    changed = false;
    for (uint32_t pass = 0; pass < EG_PASS_COUNT; pass++)
      EG_TRY(run_one(presolve, pass, options->disabled_passes, &out[pass], &changed));
    if (eg_clock_seconds() > presolve->deadline) break;
  }
  return EGRAPH_OK;
}

static egraph_status start(eg_presolve *presolve, const eg_extract_problem *problem,
                           const eg_extract_options *options, double best_cost) {
  EG_TRY(eg_reduced_from(&presolve->spare, problem));
  EG_TRY(eg_presolve_load(presolve, &presolve->spare));
  presolve->deadline = eg_clock_seconds() + options->time_limit_seconds;
  presolve->cutoff = best_cost > 0 ? best_cost * (1 + MARGIN) : best_cost;
  if (best_cost == 0) presolve->cutoff = 1e-300;
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
  eg_parts parts;
  eg_presolve presolve;
  eg_parts_init(&parts, alloc, eg_extract_node_count(problem));
  egraph_status status = eg_presolve_init(&presolve, alloc, &parts);
  if (status == EGRAPH_OK) {
    status = start(&presolve, problem, options, best_cost);
    if (status == EGRAPH_OK) status = sweep(&presolve, options, out);
    sizes left = sizes_of(&presolve);
    *out_nodes = (uint32_t)left.nodes;
    *out_classes = (uint32_t)left.classes;
    eg_presolve_deinit(&presolve);
  }
  eg_parts_deinit(&parts);
  return status;
}
