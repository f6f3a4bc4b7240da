// Finds attention, rope, normalizations and activations in a graph before its gradients
// are taken. Their gradients are one operator each, which reads little (that of attention
// keeps no table of scores); the gradients of their parts are other operators, which no
// rule turns into one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SINGLE_RECOGNIZE_H
#define EG_OPTIMIZE_SINGLE_RECOGNIZE_H

#include "pcg/graph/graph.h"
#include "rewrites/language/rules.h"

/// Copies a graph with such an operator in place of the nodes that the rules find equal
/// to it, on operands that the graph computes, transposes, reshapes, rotates or negates
/// (not). *out is NULL when there is nothing to replace: no rule makes such an operator,
/// or none applies. `kept`: [values] weights that change in training, which are no
/// constants; a mask that depends on them keeps its parts. Names of values are kept.
/// Cost: a saturation of the graph by a few rules.
egraph_status eg_recognize(const eg_graph *graph, const eg_rules *rules, egraph_math math,
                           const bool *kept, eg_graph **out);

#endif
