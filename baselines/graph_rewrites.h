// Finds all graphs that one application of a rule makes from a graph.
//
// The graph is put into its own e-graph, in which every class has one node; therefore the
// matcher, conditions and typed right sides of saturation also work for whole graphs. A
// rewrite then replaces the terms that the left side matched as roots:
//
//   rule    (relu (matmul ?x ?w)) -> (matmul :act relu ?x ?w)
//   before  4: (relu 3)  3: (matmul 1 2)
//   after   (matmul :act relu 1 2) replaces 4, all terms above 4 are made anew; 3 stays
//           if another term reads it, otherwise it is removed
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_GRAPH_REWRITES_H
#define EG_BASELINES_GRAPH_REWRITES_H

#include "base/work.h"
#include "baselines/term_store.h"
#include "rewrites/saturation/saturate.h"

typedef struct eg_graph_rewrites {
  eg_term_store *store; // borrowed
  eg_rewriter *rewriter;
  uint32_t rule_count, root_count;
  eg_rule_stats *stats; // [rules]
  eg_work work;
  uint64_t tried;        // rewrites
  eg_u32s live;          // terms of the current graph; the index is the class in `own`
  eg_tensor_egraph *own; // of the current graph
  // State of the current rewrite, indexed by place (graph_rewrites.c):
  eg_u32s made, stack, operands;
  eg_chars is_open;
  eg_u32s root_of; // [classes] root of the rewrite, or EG_TERM_NONE
  eg_u32s roots;   // of the graph that the rewrite makes
  // The function that gets each graph, and its argument:
  egraph_status (*visit)(void *user, const uint32_t *roots, bool *out_stop);
  void *user;
} eg_graph_rewrites;

/// Prepares rewrites of graphs with `root_count` outputs. Call deinit also after
/// a failure.
egraph_status eg_graph_rewrites_init(eg_graph_rewrites *rewrites, eg_term_store *store,
                                     const eg_rules *rules, egraph_math math,
                                     uint32_t root_count);
void eg_graph_rewrites_deinit(eg_graph_rewrites *rewrites);

/// Calls `visit` with every graph that one rewrite makes from a graph, rule by rule; the
/// same graph may come several times. A rewrite is skipped when all its roots are values
/// of weights alone, or when its result would contain a cycle or is ill-typed. Fails with
/// EGRAPH_E_TYPE (an unsound rule), EGRAPH_E_MEMORY, or as `visit` does.
egraph_status eg_graph_rewrites_visit(eg_graph_rewrites *rewrites, const uint32_t *roots,
                                      egraph_status (*visit)(void *user,
                                                             const uint32_t *roots,
                                                             bool *out_stop),
                                      void *user);

#endif
