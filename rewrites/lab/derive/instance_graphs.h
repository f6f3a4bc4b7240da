// The sides of an instance of a rule as graphs: what works on graphs works on rules.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_EXPLAIN_INSTANCE_GRAPHS_H
#define EG_REWRITES_EXPLAIN_INSTANCE_GRAPHS_H

#include "pcg/graph/graph.h"
#include "rewrites/lab/instances/instance_draw.h"

/// Two graphs with the same inputs and weights, named after the rule's variables; outputs
/// are the roots. The right one has the left side's nodes, too, which its own may use.
typedef struct eg_rule_sides {
  eg_graph *left, *right;
} eg_rule_sides;

/// Of an instance whose right side is typed. Fails with EGRAPH_E_MEMORY; *out owns
/// nothing then.
egraph_status eg_rule_sides_make(egraph_allocator alloc,
                                 const eg_verify_instance *instance, eg_rule_sides *out);
void eg_rule_sides_destroy(eg_rule_sides *sides);

/// An instance is good evidence when sizes that may differ do: the number of distinct
/// sizes above 1, and one for being of floating point. 0 where a tensor is empty.
uint32_t eg_rule_sides_merit(const eg_rule_sides *sides);

#endif
