// Presolve: passes that make a reduced problem smaller and keep an optimal solution, or
// show that nothing is cheaper than the cutoff.
//
// "Keep" means: the smaller problem has a solution as cheap as the cheapest solution of
// the larger problem, or the larger problem has no solution below the cutoff. Passes may
// run in any order; any subset of them gives the same optimum.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PRESOLVE_PRESOLVE_H
#define EG_EXTRACT_PRESOLVE_PRESOLVE_H

#include "extract/class_graph.h"
#include "extract/incumbent.h"
#include "extract/presolve/landmarks.h"
#include "extract/presolve/reduced.h"
#include "extract/problem.h"

typedef struct eg_presolve {
  egraph_allocator alloc;
  eg_parts *parts; // borrowed
  eg_reduced model, spare;
  eg_class_index index; // index of model
  eg_landmarks landmarks;
  bool has_landmarks;      // valid for the current class numbers
  bool closed;             // nothing below the cutoff
  double cutoff;           // cutoff of the total, offset included
  double bound;            // lower bound of the total, from the passes
  uint32_t disabled;       // bit per eg_extract_pass
  double deadline;         // a time of eg_clock_seconds(); passes end after it
  eg_incumbent *incumbent; // the search that may stop this presolve, or NULL
  bool late;               // time to end
  bool bulk_done;          // pass_dual has run its ascent in bulk
  uint32_t polls;
} eg_presolve;

egraph_status eg_presolve_init(eg_presolve *presolve, egraph_allocator alloc,
                               eg_parts *parts);
void eg_presolve_deinit(eg_presolve *presolve);
/// Copies options, deadline and clock of an incumbent to the presolve.
void eg_presolve_serve(eg_presolve *presolve, eg_incumbent *incumbent);
/// Copies `model` into the presolve.
egraph_status eg_presolve_load(eg_presolve *presolve, const eg_reduced *model);
/// Runs the passes until none changes anything, nothing below the cutoff is left, or it
/// is time to end (the model is valid after every pass).
egraph_status eg_presolve_run(eg_presolve *presolve);

// ---- for the passes ----------------------------------------------------------------

/// True when the presolve is out of time or stopped; cheap enough for inner loops. A pass
/// then returns with the reductions that it has found.
bool eg_presolve_late(eg_presolve *presolve);
/// As eg_presolve_late for rare calls: reads the clock each time.
bool eg_presolve_late_now(eg_presolve *presolve);
/// Returns the time limits of the presolve, for a step that checks them itself.
eg_patience eg_presolve_patience(const eg_presolve *presolve);
/// Returns the clock of the incumbent, or NULL.
static inline eg_part_clock *eg_presolve_clock(const eg_presolve *presolve) {
  return presolve->incumbent != NULL ? presolve->incumbent->clock : NULL;
}
/// Returns the proof of a search in proof mode, or NULL.
static inline struct eg_plain_proof *eg_presolve_proof(const eg_presolve *presolve) {
  return presolve->incumbent != NULL ? presolve->incumbent->proof : NULL;
}
/// Removes nodes and child edges with a non-zero flag; either array may be NULL. Does
/// nothing when it is time to end.
egraph_status eg_presolve_filter(eg_presolve *presolve, const uint8_t *drop_node,
                                 const uint8_t *drop_edge);
/// As eg_presolve_filter at the end of a pass that set `dropped` flags; sets *changed if
/// `dropped` is not 0.
static inline egraph_status eg_presolve_drop(eg_presolve *presolve,
                                             const uint8_t *drop_node,
                                             const uint8_t *drop_edge, size_t dropped,
                                             bool *changed) {
  if (dropped == 0 || presolve->closed) return EGRAPH_OK;
  *changed = true;
  return eg_presolve_filter(presolve, drop_node, drop_edge);
}
/// Replaces the reduced problem `model` by `spare`, which a pass has filled.
egraph_status eg_presolve_swap(eg_presolve *presolve);
/// Finds landmarks unless the current ones are valid; has_landmarks stays false when it
/// is time to end.
egraph_status eg_presolve_need_landmarks(eg_presolve *presolve);
/// Flags the nodes whose bound reaches the cutoff. The bound of a node is `base`, its
/// price, and the cheapest members of all other classes that the node and the roots need.
/// Raises the lower bound; may set presolve->closed.
egraph_status eg_presolve_mark_costly(eg_presolve *presolve, const double *price,
                                      double base, uint8_t *drop_node, size_t *dropped);

/// Defines a pass that calls `run` with a structure (base/owner.h) that has a
/// member `presolve`.
#define EG_PASS_DEFINE(name, type, run)                                                  \
  egraph_status eg_pass_##name(eg_presolve *presolve, bool *changed) {                   \
    EG_LOCAL(type, pass, presolve->alloc);                                               \
    pass.presolve = presolve;                                                            \
    return run(&pass, changed);                                                          \
  }

#define EG_EXTRACT_PASS_DECLARE(id, name, run, stage, text)                              \
  egraph_status eg_pass_##run(eg_presolve *presolve, bool *changed);
EG_EXTRACT_PASS_LIST(EG_EXTRACT_PASS_DECLARE)
#undef EG_EXTRACT_PASS_DECLARE

// ---- statistics of the passes -----------------------------------------------------

// Measures reductions and seconds of every presolve pass. Presolve itself keeps no
// statistics; this function runs the passes in the same order, on a copy, one at a time,
// until none changes anything.

typedef struct eg_pass_statistics {
  uint32_t runs;
  double seconds;
  // Nodes, classes and edges removed in all runs; negative where merging added some.
  int64_t nodes, classes, edges;
} eg_pass_statistics;

/// Fills out[EG_PASS_COUNT], an entry per pass, and the sizes that remain. `best_cost` is
/// the cost of any choice (INFINITY: none known); passes that need a cutoff use it. Takes
/// as long as presolve; stops at options->time_limit_seconds. Fails with
/// EGRAPH_E_ARGUMENT when a cost is negative, EGRAPH_E_MEMORY.
egraph_status eg_pass_statistics_run(egraph_allocator alloc,
                                     const eg_extract_problem *problem,
                                     const eg_extract_options *options, double best_cost,
                                     eg_pass_statistics *out, uint32_t *out_nodes,
                                     uint32_t *out_classes);

#endif
