// The plan of one device that runs a graph as it stands.
//
//   (input x)(weight w)(let s (relu w))(let y (add x s))      states x, s from the start,
//   (output y)                                                one step: y
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_SINGLE_H
#define EG_PCG_PLAN_SINGLE_H

#include "pcg/plan/plan.h"

/// Fills an empty plan, of a mesh without axes: nodes in the order of the graph, values
/// in the memory formats of their types. Values that weights alone make are there from
/// the start. Nodes and values that no output needs have no step and no state, but for
/// inputs. The graph is borrowed, and typed. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_of_graph(const eg_graph *graph, eg_plan *inout);

#endif
