// Rows of the plain formulation, for costs of any sign.
//
// With a negative cost a node may pay although nothing needs it, so "chosen" must mean
// "reached from the roots":
//   root c:                        sum of c's nodes  =  1
//   every class:                   sum of its nodes <=  1
//   class p, child class d:        nodes of p with child d  <=  nodes of d
//   class c that is no root:       nodes of c  <=  nodes with child c
//   every class set S, c in S:     nodes of S without child in S  >=  nodes of c
// The last rows (loop formulas) are added when violated. They make the choice acyclic,
// and in an acyclic choice a walk from any chosen node to a node that uses it, and so on,
// ends at a root: the fourth kind of row is then exact.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_FORMULATION_H
#define EG_EXTRACT_SEARCH_FORMULATION_H

#include "extract/class_graph.h"
#include "extract/ilp_glpk.h"
#include "extract/presolve/reduced.h"

typedef struct eg_formulation {
  eg_reduced reduced; // nodes that can be in a solution; part: node of the original
  eg_class_index index;
  eg_bytes pays; // [class] a node of the class or below the class has a negative cost
} eg_formulation;

egraph_status eg_formulation_init(eg_formulation *model, egraph_allocator alloc);
void eg_formulation_deinit(eg_formulation *model);
/// Builds a model of the nodes that are derivable and reachable; class numbers stay.
/// O(nodes + edges). Fails with EGRAPH_E_MEMORY.
egraph_status eg_formulation_build(eg_formulation *model,
                                   const eg_extract_problem *original);
/// Appends all rows of the program except loop formulas, which forbid cycles.
egraph_status eg_formulation_rows(const eg_formulation *model, eg_lp_rows *rows);
/// Appends at most `max_rows` violated loop formulas: at least one when x is integral and
/// its choice cyclic. O(nodes + edges) for each.
egraph_status eg_formulation_cuts(const eg_formulation *model, const double *x,
                                  uint32_t max_rows, eg_lp_rows *rows);

// ---- rows that other programs over nodes share ------------------------------------

/// Adds the nodes of a class to the current row.
egraph_status eg_rows_add_members(eg_lp_rows *rows, const eg_class_index *index,
                                  uint32_t class, double coefficient);
/// Adds a row for each class: the sum of its nodes with child `child` <= child's nodes.
egraph_status eg_rows_of_child(eg_lp_rows *rows, const eg_extract_problem *problem,
                               const eg_class_index *index, uint32_t child,
                               eg_user_groups *groups);

#endif
