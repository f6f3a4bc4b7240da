// Sparse relations over variables of few labels, with costs: joined by adding, variables
// eliminated by minimizing (nonserial dynamic programming: Bertele and Brioschi 1972;
// bucket elimination: Dechter 1999). Rows that cost more than a limit (`room`) are left
// out, which keeps relations small if costs count from a good lower bound.
//
// A label has a cost of its own, >= 0, apart from the costs of rows. A row's cost plus
// the costs of its labels is its bound: no solution that has the row costs less.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_RELATION_H
#define EG_EXTRACT_LAYOUT_LAYOUT_RELATION_H

#include <math.h>

#include "base/flatmap.h"
#include "base/owner.h"
#include "base/vec.h"
#include "extract/containers.h"

EG_VEC_DEFINE(eg_labels, uint16_t);

#define EG_RELATION_NONE UINT32_MAX
enum { EG_RELATION_VARS = 256 }; // most variables of a relation

typedef struct eg_relation {
  eg_u32s vars;     // ascending
  eg_labels labels; // [rows][vars]
  eg_doubles cost;  // [rows]
  eg_labels choice; // [rows] label of the eliminated variable; empty: none was eliminated
} eg_relation;
EG_OWNER_DEFINE_STATIC(eg_relation, (eg_u32s, vars), (eg_labels, labels, choice),
                       (eg_doubles, cost))

/// Costs of each variable's labels (its possible values), shared by all relations.
typedef struct eg_label_costs {
  eg_u32s begin; // [variables + 1]
  eg_doubles cost;
} eg_label_costs;

static inline double eg_label_cost(const eg_label_costs *costs, uint32_t var,
                                   uint32_t label) {
  return costs->cost.data[costs->begin.data[var] + label];
}

/// Builds relations one after another and leaves out rows that cost too much: no solution
/// with such a row costs less than `lost`.
typedef struct eg_relation_maker {
  eg_relation *to;
  double base;      // cost of every solution on top of rows and labels
  double room;      // rows with a bound above, base included, are left out
  double most;      // highest cost of a row in the current relation, without base
  double lost;      // over all relations, INFINITY at first
  bool gave_up;     // a join was too wide or stopped: the result is void
  uint32_t rows;    // most rows, the cheapest; >= 1
  bool keeps_all;   // joins that have more rows, or take too long, fail instead
  bool failed;      // the last join failed
  bool takes_out;   // rows have a choice
  bool is_distinct; // no two rows have equal labels
  eg_flatmap seen;  // rows by labels
  eg_u32s next, first, last; // for a join: rows that agree
  eg_labels row;             // row of a join
  uint64_t steps;            // steps done
  bool (*stop)(void *user);  // called now and then; true: the join gives up; or NULL
  void *user;
} eg_relation_maker;
EG_OWNER_DEFINE_STATIC_FROM(eg_relation_maker,
                            (.room = INFINITY, .lost = INFINITY, .rows = UINT32_MAX),
                            (eg_flatmap, seen), (eg_u32s, next, first, last),
                            (eg_labels, row))

static inline size_t eg_relation_rows(const eg_relation *relation) {
  return relation->cost.len;
}
static inline const uint16_t *eg_relation_row(const eg_relation *relation, uint32_t row) {
  return relation->labels.data + (size_t)row * relation->vars.len;
}

/// Begins an empty relation over variables, ascending; `takes_out`: rows have a choice.
egraph_status eg_relation_begin(eg_relation_maker *maker, eg_relation *to,
                                const uint32_t *vars, uint32_t count, bool takes_out);
/// Adds a row to the relation being built; keeps the cheapest of rows with equal labels.
egraph_status eg_relation_add(eg_relation_maker *maker, const uint16_t *labels,
                              uint16_t choice, double cost);
egraph_status eg_relation_finish(eg_relation_maker *maker);
/// Records in maker->lost that rows of this cost (to be added to the base) are left out.
void eg_relation_lose(eg_relation_maker *maker, double cost);
/// True when the bound of a row is within maker->room; otherwise records in maker->lost
/// that the row is left out. The base must be 0.
bool eg_relation_has_room(eg_relation_maker *maker, double bound);

/// eg_relation_raise adds the costs of a row's labels to its cost, and drops rows whose
/// sum exceeds the maker's limit (`room`); eg_relation_lower subtracts the costs of the
/// labels again.
void eg_relation_raise(eg_relation_maker *maker, const eg_label_costs *costs,
                       eg_relation *relation);
void eg_relation_lower(const eg_label_costs *costs, eg_relation *relation);

/// Eliminates a variable with a single label: only rows with this label stay.
void eg_relation_fix(eg_relation_maker *maker, eg_relation *relation, uint32_t var,
                     uint16_t label);

/// Joins two relations whose costs include label costs (eg_relation_raise) into
/// another one and eliminates variable `out` (unless EG_RELATION_NONE). Sorts b. Gives
/// up, or fails, when the result has too many variables. O(pairs of agreeing rows that
/// are kept).
egraph_status eg_relation_join(eg_relation_maker *maker, const eg_label_costs *costs,
                               const eg_relation *a, eg_relation *b, uint32_t out,
                               eg_relation *to);
/// Finds the row with the labels in `label_of` ([variables]), and its choice. O(rows).
bool eg_relation_choice(const eg_relation *relation, const uint16_t *label_of,
                        uint16_t *out);

// ---- networks -----------------------------------------------------------------------
//
// Relations over variables, with costs of labels, as one problem: the least sum of
// agreeing rows, one of each relation, and of their labels. Diffusion moves costs from
// rows to labels and between relations that share a variable, and the cost of every
// solution to the base; the sum does not change (min-sum diffusion: Kovalevsky and Koval
// 1975, Werner, "A Linear Programming Approach to Max-Sum Problem", 2007, in the order of
// sequential reweighting: Kolmogorov 2006). The larger the relations after joins, the
// more the base rises, and the fewer rows have room.

EG_VEC_DEFINE(eg_relations, eg_relation);

enum { EG_NETWORK_FREE = UINT16_MAX };

typedef struct eg_cost_network {
  eg_label_costs costs;   // costs of the labels, and the number of variables
  eg_relations relations; // lowered relations; fill them through eg_cost_network_add
  eg_bytes used;          // [relation] joined into another, or in the base
  eg_u32s first;          // [variable] entry, or EG_RELATION_NONE
  eg_u32s entry, next;    // lists of relations by variable
  eg_labels fixed;        // [variable] its only label, or EG_NETWORK_FREE
  bool is_empty;          // some relation has no rows: there is no solution
  eg_relation_maker maker;
  eg_doubles least; // scratch: [labels] of one variable
} eg_cost_network;

void eg_cost_network_init(eg_cost_network *network, egraph_allocator alloc);
void eg_cost_network_deinit(eg_cost_network *network);
static inline uint32_t eg_cost_network_vars(const eg_cost_network *network) {
  return network->costs.begin.len == 0 ? 0 : (uint32_t)network->costs.begin.len - 1;
}
/// Adds a variable with `labels` possible values (labels) of cost `cost` each.
egraph_status eg_cost_network_add_var(eg_cost_network *network, uint32_t labels,
                                      double cost, uint32_t *out);
static inline double *eg_cost_network_costs(const eg_cost_network *network,
                                            uint32_t var) {
  return network->costs.cost.data + network->costs.begin.data[var];
}
/// Begins an empty relation over some variables, ascending. Add its rows through
/// network->maker, label costs included; end it with eg_cost_network_finish.
egraph_status eg_cost_network_begin(eg_cost_network *network, const uint32_t *vars,
                                    uint32_t count);
egraph_status eg_cost_network_finish(eg_cost_network *network);
/// Moves a relation whose costs include label costs into the network; `relation` is empty
/// afterwards, on failure too.
egraph_status eg_cost_network_add(eg_cost_network *network, eg_relation *relation);

/// Moves the least cost of the rows with a label to the label, for every variable of a
/// relation, and the least cost of all labels of a variable to the base. A relation
/// without variables moves to the base as a whole.
egraph_status eg_cost_network_settle(eg_cost_network *network, uint32_t number);
/// Moves costs between relations in passes over all variables, forward and back; drops
/// rows that then cost more than the maker's room. A variable with a single label
/// within this limit leaves its relations. O(passes (rows times variables)). Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_cost_network_diffuse(eg_cost_network *network, uint32_t passes);

#endif
