// The Lagrangian decomposition of a layout problem into factors that share variables, for
// bounds by dual ascent.
//
//   producers      of a value: its operator and strategy
//   arborescence   of a value, from the layout it is produced in to the needed layouts;
//                  users beyond EG_STEINER_USERS go to further factors, each with its
//                  share of the arcs' costs
//   tie            the members that are produced have one layout
//   cut            one of its operators (layout_plain.h) is chosen
//   seam           of an open problem (layout_bound.h)
//
// A link is a variable (the layout of one value at one place of use, or none) between the
// producers at one end and an arborescence, tie, cut or seam at the other. Its price is
// added at the producers and subtracted at the other end. Whatever the prices are, the
// least costs of all factors add up to a lower bound (Kolmogorov, "A New Look at
// Reweighted Message Passing", 2015).
//
//   matmul's producers --(layout of a)-- arborescence of a --(source)-- a's producers
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_FACTORS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_FACTORS_H

#include "extract/layout/layout_plain.h"

typedef enum eg_link_kind {
  EG_LINK_USE,    // an input of an operator; the far end is an arborescence
  EG_LINK_ROOT,   // a root: no producers at its end, its prices do not change
  EG_LINK_SOURCE, // the layout that a value is produced in; far end: a tree
  EG_LINK_TIE,    // the same layout; the far end is a tie
  EG_LINK_SEAM,   // the same layout; the far end is a seam
  EG_LINK_CUT     // "the chosen operator is in the cut"
} eg_link_kind;

typedef struct eg_link {
  eg_link_kind kind;
  uint32_t value;     // the value whose layouts are the labels; the last label means none
  uint32_t producers; // value, or NONE: a root
  uint32_t far;       // tree, tie, seam or cut
  uint32_t price;     // index of its first price
} eg_link;
EG_VEC_DEFINE(eg_links, eg_link);

enum { EG_STEINER_USERS = 4 };

/// Priced arborescences of one value: from the layout in which the value is produced to a
/// layout for each of a few users. Prices are finite or INFINITY; entry `layouts` is the
/// price of having no layout. If a value has no layout, its users have none.
typedef struct eg_steiner {
  uint32_t layouts, arcs, users;
  const uint32_t *from, *to; // [arcs] layouts
  const double *cost;        // [arcs] >= 0
  const double *source;      // [layouts + 1]
  const double *user[EG_STEINER_USERS];
  // Tables of least prices, [subset of readers][layouts]; owned.
  eg_doubles inside, outside;
} eg_steiner;

/// One arborescence (tree of conversions) of a value; each of its users, the readers of
/// the value, is a link to another factor.
typedef struct eg_tree_factor {
  uint32_t value, source; // link
  uint32_t users[EG_STEINER_USERS];
  uint32_t user_count, share; // the tree counts 1 / share of the arcs' costs
} eg_tree_factor;
EG_VEC_DEFINE(eg_tree_factors, eg_tree_factor);

typedef struct eg_layout_factors {
  const eg_layout_view *view;           // borrowed
  const eg_layout_active *active;       // borrowed
  const eg_layout_landmarks *landmarks; // borrowed
  eg_doubles strategy_cost, arc_cost;   // current weights
  eg_links links;
  eg_tree_factors trees;
  eg_layout_rows links_of; // links of producers, by value
  eg_layout_rows trees_of; // trees of a value
  eg_layout_rows links_of_tie;
  // [seams] four links each: EG_SEAM_BEFORE, EG_SEAM_FIRST, EG_SEAM_LAST, EG_SEAM_AFTER
  eg_layout_rows links_of_seam;
  eg_layout_rows links_of_cut;
  eg_u32s use;             // [inputs of operators] link, shared within a value
  eg_doubles price, least; // [labels of links]; `least`: of the last solved factor
  eg_bytes dead;           // [labels of links] in no solution
  eg_doubles front, back;  // [labels of links] of seams' values `before`: potentials
  uint64_t steps;          // steps that the functions below have done
  // Active arcs and prices of one value, for a tree.
  eg_u32s arc_from, arc_to, arc_number;
  eg_doubles arc_weight, source, users[EG_STEINER_USERS];
  eg_steiner steiner;
} eg_layout_factors;

/// Builds the factors (subproblems of the Lagrangian decomposition). Borrows all
/// arguments but the allocator. Call eg_layout_factors_deinit after a failure, too.
egraph_status eg_layout_factors_init(eg_layout_factors *factors, egraph_allocator alloc,
                                     const eg_layout_view *view,
                                     const eg_layout_active *active,
                                     const eg_layout_landmarks *landmarks);
void eg_layout_factors_deinit(eg_layout_factors *factors);

/// Labels of a link to a cut, a set of operators: the chosen operator is in it, or not.
enum { EG_CUT_CHOSEN, EG_CUT_NOT, EG_CUT_LABELS };

/// Returns the number of labels of a link: the layouts of its value, and none.
static inline uint32_t eg_link_labels(const eg_layout_factors *factors,
                                      const eg_link *link) {
  if (link->kind == EG_LINK_CUT) return EG_CUT_LABELS;
  return eg_layout_layout_count(factors->view->problem, link->value) + 1;
}

/// True when an operator is in the cut (a set of operators) that the link leads to.
static inline bool eg_link_cuts(const eg_layout_factors *factors, const eg_link *link,
                                uint32_t op) {
  const eg_layout_landmarks *l = factors->landmarks;
  for (uint32_t i = l->cut_begin.data[link->far]; i < l->cut_begin.data[link->far + 1];
       i++)
    if (l->cut_ops.data[i] == op) return true;
  return false;
}

/// Return the price (Lagrange multiplier) of a label at either end of a link; INFINITY
/// when the label is in no solution.
static inline double eg_link_near_price(const eg_layout_factors *factors, uint32_t link,
                                        uint32_t label) {
  uint32_t at = factors->links.data[link].price + label;
  return factors->dead.data[at] ? INFINITY : factors->price.data[at];
}
static inline double eg_link_far_price(const eg_layout_factors *factors, uint32_t link,
                                       uint32_t label) {
  uint32_t at = factors->links.data[link].price + label;
  return factors->dead.data[at] ? INFINITY : -factors->price.data[at];
}

// Each of these functions minimizes one factor: it fills `least`, for its links, with
// the least cost for each label, and *out with the least of all. INFINITY: the factor
// has no solution.
void eg_factor_producers(eg_layout_factors *factors, uint32_t value, double *out);
egraph_status eg_factor_tree(eg_layout_factors *factors, uint32_t tree, double *out);
void eg_factor_tie(eg_layout_factors *factors, uint32_t tie, double *out);
void eg_factor_cut(eg_layout_factors *factors, uint32_t cut, double *out);
/// Sets new prices on the links of a seam, where copies of a block meet; *out is the cost
/// that remains in the seam. It fills no `least`: the least cost of one of its values is
/// not the cost of one copy.
void eg_factor_seam(eg_layout_factors *factors, uint32_t seam, double *out);

/// Returns the cost of the factor of a value's producers when none of them is chosen.
double eg_factor_nothing(const eg_layout_factors *factors, uint32_t value);
/// Returns the price of a tied value for a layout of its tie: the lower of being produced
/// in this layout and of not being produced.
double eg_factor_member(const eg_layout_factors *factors, uint32_t link, uint32_t label);
/// Returns the cost of a strategy in its factor, prices included; INFINITY: impossible.
double eg_factor_strategy(const eg_layout_factors *factors, uint32_t strategy);
/// Returns the least cost of the tree last solved by eg_factor_tree if it must use the
/// arc at `position` of arc_number.
double eg_factor_arc(const eg_layout_factors *factors, uint32_t position);

#endif
