// All graphs that one application of a rule makes of a graph.
//
// The graph enters an e-graph of its own, in which every class has one node, so that the
// saturation's matcher, conditions and typed right sides serve whole graphs, too. A
// rewrite then replaces the terms that the left side matched as roots:
//
//   before  4: (relu 3)  3: (matmul 1 2)     rule (relu (matmul ?x ?w)) -> (matmul :act
//   relu ?x ?w) after   above 4 all terms anew, with (matmul :act relu 1 2) in the place
//   of 4; 3 stays where another
//           term reads it, and is gone otherwise
//
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
  eg_u32s live;          // terms of the current graph; the number is the class of `own`
  eg_tensor_egraph *own; // of the current graph
  // For the current rewrite, by place (graph_rewrites.c):
  eg_u32s made, stack, operands;
  eg_chars is_open;
  eg_u32s root_of; // [classes] root of the rewrite, or EG_TERM_NONE
  eg_u32s roots;   // of the graph that it makes
  // The visitor:
  egraph_status (*visit)(void *user, const uint32_t *roots, bool *out_stop);
  void *user;
} eg_graph_rewrites;

/// Graphs have `root_count` outputs. Destroy it also after a failure.
egraph_status eg_graph_rewrites_init(eg_graph_rewrites *rewrites, eg_term_store *store,
                                     const eg_rules *rules, egraph_math math,
                                     uint32_t root_count);
void eg_graph_rewrites_deinit(eg_graph_rewrites *rewrites);

/// Tells of every graph that one rewrite makes of a graph, rule by rule; the same graph
/// may come several times. A rewrite is left out when all its roots are made of weights
/// alone, its result would be above itself, or is ill-typed. Fails with EGRAPH_E_TYPE (an
/// unsound rule), EGRAPH_E_MEMORY, or as `visit` does.
egraph_status eg_graph_rewrites_visit(eg_graph_rewrites *rewrites, const uint32_t *roots,
                                      egraph_status (*visit)(void *user,
                                                             const uint32_t *roots,
                                                             bool *out_stop),
                                      void *user);

#endif
