// Relations over variables, with costs of labels, as one problem: the least sum of the
// rows that agree, one of each relation, and of their labels. Diffusion moves costs from
// rows to labels and between relations that share a variable, and what every solution
// pays to the base; the sum stays what it is (min-sum diffusion: Kovalevsky and Koval
// 1975, Werner, "A Linear Programming Approach to Max-Sum Problem", 2007, in the order of
// sequential reweighting: Kolmogorov 2006). The larger the relations that joins have
// made, the more the base rises, and the fewer rows have room.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_DIFFUSION_H
#define EG_EXTRACT_LAYOUT_LAYOUT_DIFFUSION_H

#include "extract/bits.h"
#include "extract/layout/layout_relation.h"

EG_VEC_DEFINE(eg_relations, eg_relation);

enum { EG_NETWORK_FREE = UINT16_MAX };

typedef struct eg_cost_network {
  eg_label_costs costs;   // of labels; the number of variables
  eg_relations relations; // lowered; fill them through eg_cost_network_add
  eg_bytes used;          // [relation] joined into another, or in the base
  eg_u32s first;          // [variable] entry, or EG_RELATION_NONE
  eg_u32s entry, next;    // lists of relations by variable
  eg_labels fixed;        // [variable] the only label left, or EG_NETWORK_FREE
  bool is_empty;          // a relation has no rows: what is left has no solution
  eg_relation_maker maker;
  eg_doubles least; // scratch: [labels] of one variable
} eg_cost_network;

void eg_cost_network_init(eg_cost_network *network, egraph_allocator alloc);
void eg_cost_network_deinit(eg_cost_network *network);
static inline uint32_t eg_cost_network_vars(const eg_cost_network *network) {
  return network->costs.begin.len == 0 ? 0 : (uint32_t)network->costs.begin.len - 1;
}
/// A variable whose labels cost `cost` each.
egraph_status eg_cost_network_add_var(eg_cost_network *network, uint32_t labels,
                                      double cost, uint32_t *out);
static inline double *eg_cost_network_costs(const eg_cost_network *network,
                                            uint32_t var) {
  return network->costs.cost.data + network->costs.begin.data[var];
}
/// Begins an empty relation over some variables, ascending; then maker takes its rows,
/// with the costs of labels in them, and eg_cost_network_finish ends it.
egraph_status eg_cost_network_begin(eg_cost_network *network, const uint32_t *vars,
                                    uint32_t count);
egraph_status eg_cost_network_finish(eg_cost_network *network);
/// Takes a relation that was made elsewhere, raised.
egraph_status eg_cost_network_add(eg_cost_network *network, eg_relation *relation);

/// Moves what rows with a label cost at least to the label, for every variable of a
/// relation, and what all labels of a variable cost at least to the base. A relation of
/// no variables goes to the base as a whole.
egraph_status eg_cost_network_settle(eg_cost_network *network, uint32_t number);
/// Passes over all relations in use, in the order of the variables and back; leaves out
/// rows that have no room any more. Variables of which one label has room leave their
/// relations. O(passes (rows times variables)). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_cost_network_diffuse(eg_cost_network *network, uint32_t passes);

#endif
