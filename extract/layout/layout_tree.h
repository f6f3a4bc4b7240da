// Branch and cut over the linear relaxation: its nodes, S-cuts, splits and search tree.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_TREE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_TREE_H

#include "extract/containers.h"
#include "extract/layout/layout_model.h"
#include "extract/layout/layout_search.h"
#include "extract/search/separate.h"

/// S-cuts over values: for a set S of values and v in S, the strategies of values in S
/// whose operator has no input in S add up to at least 1 if v is needed.
typedef struct eg_layout_cuts {
  bool is_cyclic;        // active operators can form a cycle
  bool has_alternatives; // a value has several active operators: cuts tighten the bound
  egraph_allocator alloc;
  eg_parts parts;
  eg_presolve presolve; // a class per value, a node per active operator
  eg_u32s node_op;      // [node]
  eg_doubles node_x;
  eg_rng rng;
} eg_layout_cuts;

/// A column fixed to 0 or 1.
typedef struct eg_layout_fix {
  uint32_t column;
  uint8_t value;
} eg_layout_fix;
EG_VEC_DEFINE(eg_layout_fixes, eg_layout_fix);

/// A node of the search tree: its parent, its fixed columns begin .. end in tree->fixes.
typedef struct eg_layout_node {
  uint32_t parent; // EG_LAYOUT_NONE: the root
  uint32_t begin, end;
  double bound;
} eg_layout_node;
EG_VEC_DEFINE(eg_layout_nodes, eg_layout_node);

typedef enum eg_layout_outcome {
  EG_LAYOUT_PRUNED, // nothing below the cutoff
  EG_LAYOUT_OPEN,
  EG_LAYOUT_STOPPED
} eg_layout_outcome;

typedef struct eg_layout_tree {
  eg_layout_search *search;
  eg_layout_active *active;
  eg_layout_model model;
  eg_layout_cuts cuts;
  eg_lp *lp;
  eg_layout_nodes nodes;
  eg_layout_fixes fixes;   // fixes of all nodes
  eg_layout_fixes extra;   // found in the current node, for its children
  eg_layout_fixes in, out; // the two sides of a split
  eg_cost_heap open;       // nodes by bound
  eg_bytes low, high;      // [column] range in the program
  eg_bytes next_low, next_high;
  eg_doubles favour;     // [strategy] value in the program
  eg_doubles arc_weight; // scratch
  double bound;          // bound of the current node
  uint32_t visited;
  // Most nodes to visit in a tree over a part of the problem, whose bounds do not hold
  // for the whole problem; 0: no limit
  uint32_t visit_limit;
} eg_layout_tree;

/// Builds the linear program of all active strategies and arcs. Call
/// eg_layout_tree_deinit after a failure, too. Fails with EGRAPH_E_MEMORY
/// or EGRAPH_E_INTERNAL.
egraph_status eg_layout_tree_init(eg_layout_tree *tree, eg_layout_search *search,
                                  eg_layout_active *active);
void eg_layout_tree_deinit(eg_layout_tree *tree);

/// Solves the current program with cuts; leaves the bound in tree->bound. `rounds`: most
/// rounds of cuts for a fractional solution.
egraph_status eg_layout_tree_solve(eg_layout_tree *tree, uint32_t rounds,
                                   eg_layout_outcome *out);
/// Offers the solution of the linear program; if it is fractional, rounds it first, or,
/// without `round`, offers nothing. *out_done: this node has no better solution.
egraph_status eg_layout_tree_offer(eg_layout_tree *tree, bool round, bool *out_done);
/// Appends to tree->extra the columns that their reduced costs fix to 0 or 1.
egraph_status eg_layout_tree_fix(eg_layout_tree *tree);
/// Runs branch and bound below the root, which has bound tree->bound and the fixes in
/// `extra`. *out_closed: no better solution is left, false when a limit ended the search.
egraph_status eg_layout_tree_run(eg_layout_tree *tree, bool *out_closed);

#endif
