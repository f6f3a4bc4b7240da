// Finds attention in a graph before its gradients are taken: the gradient of the operator
// attention keeps no table of scores, whereas the gradients of its parts are other
// operators, which no rule turns into one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_RECOGNIZE_H
#define EG_OPTIMIZE_SINGLE_RECOGNIZE_H

#include "pcg/graph/graph.h"
#include "rewrites/language/rules.h"

/// Copies a graph with the operator attention in place of the products that the rules
/// find equal to it, on operands that the graph computes, transposes, reshapes or negates
/// (not). *out is NULL when there is nothing to replace: no rule makes attention, or none
/// applies. `kept`: [values] weights that change in training, which are no constants; a
/// mask that depends on them keeps its parts. Names of values are kept. Cost: a
/// saturation of the graph by a few rules.
egraph_status eg_recognize_attention(const eg_graph *graph, const eg_rules *rules,
                                     egraph_math math, const bool *kept, eg_graph **out);

#endif
