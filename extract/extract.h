// Extraction of the cheapest acyclic choice, with a proven bound.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_EXTRACT_H
#define EG_EXTRACT_EXTRACT_H

#include "extract/problem.h"

// id, spelling, meaning.
#define EG_EXTRACT_METHOD_LIST(X)                                                        \
  X(EG_EXTRACT_TREE, "tree", "bottom-up, tree cost (Knuth)")                             \
  X(EG_EXTRACT_DAG, "dag", "greedy on DAG cost")                                         \
  X(EG_EXTRACT_ILP, "ilp", "exact: presolve, bounds, GLPK, branch and bound")
#define EG_EXTRACT_METHOD_ENUM(id, name, text) id,
typedef enum eg_extract_method {
  EG_EXTRACT_METHOD_LIST(EG_EXTRACT_METHOD_ENUM)
} eg_extract_method;
#undef EG_EXTRACT_METHOD_ENUM

// id, spelling, function eg_pass_<...>, stage, meaning. Stage 0 goes round until nothing
// changes, then stage 1 (which needs landmarks) runs, and stage 2 when that has nothing
// left to do either. Any subset gives the same optimum.
#define EG_EXTRACT_PASS_LIST(X)                                                          \
  X(EG_PASS_REACH, "reach", reach, 0, "drop what no root reaches or nothing derives")    \
  X(EG_PASS_DOMINATED, "dominated", dominated, 0,                                        \
    "drop dearer nodes with all the children of another")                                \
  X(EG_PASS_DETACH, "detach", detach, 0, "drop edges to roots of other components")      \
  X(EG_PASS_COLLAPSE, "collapse", collapse, 0,                                           \
    "replace free single-node classes by their children")                                \
  X(EG_PASS_MERGE, "merge", merge, 0, "multiply a class into its only user")             \
  X(EG_PASS_CYCLIC, "cyclic", cyclic, 1, "drop nodes that need their own class")         \
  X(EG_PASS_IMPLIED, "implied", implied, 1, "drop children that other children need")    \
  X(EG_PASS_COVERED, "covered", covered, 1, "domination by what the other node needs")   \
  X(EG_PASS_FORCED, "forced", forced, 1, "make roots of what the roots need")            \
  X(EG_PASS_BOUND, "bound", bound, 1, "drop nodes that reach the cutoff")                \
  X(EG_PASS_DUAL, "dual", dual, 2, "the same on reduced costs of dual ascent")
#define EG_EXTRACT_PASS_ENUM(id, name, run, stage, text) id,
typedef enum eg_extract_pass {
  EG_EXTRACT_PASS_LIST(EG_EXTRACT_PASS_ENUM) EG_PASS_COUNT
} eg_extract_pass;
#undef EG_EXTRACT_PASS_ENUM

typedef enum eg_extract_status {
  EG_EXTRACT_OPTIMAL,   // bound meets cost within 1e-9 of the chosen nodes' |cost|
  EG_EXTRACT_FEASIBLE,  // a solution and a bound, not closed (limit or cancelled)
  EG_EXTRACT_INFEASIBLE // some root has no acyclic derivation
} eg_extract_status;

typedef struct eg_extract_options {
  eg_extract_method method;
  double time_limit_seconds; // > 0
  uint64_t work_limit;       // million steps (base/work.h), about a millisecond each;
                             // 0: 400 for each second of the time limit
  double relative_gap;       // stop when (cost - bound) / cost is at most this; 0 proves
                             // optimality
  uint64_t seed;             // of perturbed re-extraction
  const uint32_t *incumbent; // node per class (EG_EXTRACT_NONE: none), or NULL
  /// Called with the best cost and bound; returns true to stop. May be NULL. With several
  /// threads it is called from any of them, one at a time.
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
  const char *certificate;  // file to write a certificate to, or NULL
  uint32_t threads;         // 0: 1. Same result with any number unless a limit strikes
  uint32_t disabled_passes; // bit 1 << eg_extract_pass switches a presolve pass off
} eg_extract_options;
#define EG_EXTRACT_OPTIONS_DEFAULT                                                       \
  { .method = EG_EXTRACT_ILP, .time_limit_seconds = 20.0, .relative_gap = 0.0 }

typedef struct eg_extract_result {
  eg_extract_status status;
  double cost;                // DAG cost of the choice, re-computed by the checker
  double bound;               // valid lower bound; for the greedy methods the trivial one
  double gap;                 // (cost - bound) / |cost|; 0 when optimal
  double tree_cost, dag_cost; // what the two greedy methods alone reached
  double seconds;
  uint64_t work;                           // steps
  double part_seconds[EGRAPH_PART_COUNT];  // CPU, all threads together
  uint32_t reduced_nodes, reduced_classes; // after presolve
  double certified; // the bound that the certificate proves; -INFINITY: none was written
  eg_u32s choice;   // [class_count] node, or EG_EXTRACT_NONE where not needed
} eg_extract_result;

/// Solves. `result` must be initialized by eg_extract_result_init; limits are results,
/// not errors. Negative costs that cannot be shifted away (cost_shift.h) go to another
/// exact solver (plain_ilp.h), without presolve.
/// Fails with EGRAPH_E_ARGUMENT (malformed problem), EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL
/// (GLPK).
egraph_status eg_extract_solve(egraph_allocator alloc, const eg_extract_problem *problem,
                               const eg_extract_options *options,
                               eg_extract_result *result);
void eg_extract_result_init(eg_extract_result *result, egraph_allocator alloc);
void eg_extract_result_deinit(eg_extract_result *result);

/// Independent certificate: recomputes the DAG cost of a choice and verifies that it
/// covers the roots, is closed and acyclic. Shares no code with the solver. Fails with
/// EGRAPH_E_INTERNAL.
egraph_status eg_extract_certify(egraph_allocator alloc,
                                 const eg_extract_problem *problem,
                                 const uint32_t *choice, double *out_cost);

#endif
