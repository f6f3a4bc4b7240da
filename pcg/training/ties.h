// Tied weights: one trained weight that is the parameter of several operators. Some ties
// are intended (an embedding that is also the output projection, a layer that is applied
// twice); others come from an exporter that merges initializers of equal initial values,
// such as all gains of ones, through shared names or Identity nodes.
//
//   w ---------------> layer-normalization h1     use 0 keeps w
//   w -> identity b -> layer-normalization h2     use 1, untied: a weight b of its own
//   w -> transpose --> matmul y                   use 2, untied: a weight w_2, transposed
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_TIES_H
#define EG_PCG_TIES_H

#include "base/vec.h"
#include "pcg/training/parameters.h"

/// An operator that reads a tied weight, directly or through operators of one operand.
typedef struct eg_tie_use {
  eg_value weight;
  eg_graph_node node;
} eg_tie_use;
EG_VEC_DEFINE(eg_tie_uses, eg_tie_use);

/// Appends the uses of tied weights: of each weight that `wish` trains and that has
/// several uses on which `output` depends. They are ordered by weight, then as in the
/// graph. O(values) and a sort of the uses. Fails like eg_parameters_find.
egraph_status eg_ties_find(const eg_graph *graph, eg_value output,
                           const eg_parameter_wish *wish, eg_tie_uses *out);
/// Copies the graph and gives each use of a tied weight whose name matches a pattern its
/// own weight, with the same data: the first use keeps the name, another use takes the
/// name of the Identity through which it reads the weight, or "name_2" and so on. Fails
/// with EGRAPH_E_ARGUMENT for a pattern other than "*" that matches no tied weight.
egraph_status eg_ties_untie(const eg_graph *graph, eg_value output,
                            const eg_parameter_wish *wish, const char *const *patterns,
                            uint32_t pattern_count, eg_graph **out);

#endif
