// The layouts of a type on a mesh, each a legal sharding and a memory format that fits
// the part of one device, and the transitions between layouts with their costs: along one
// axis, or between memory formats. One small graph per type, shared by all values of
// the type.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_LAYOUT_GRAPH_H
#define EG_OPTIMIZE_SPACE_LAYOUT_GRAPH_H

#include "base/owner.h"
#include "base/vec.h"
#include "optimize/price/plan_price.h"
#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

EG_VEC_DEFINE(eg_layouts, eg_layout);

typedef struct eg_layout_move {
  uint32_t from, to; // layouts
  eg_transition transition;
  double seconds;
  uint32_t basis; // of the seconds of a reorder (eg_node_price)
  double scratch; // bytes (pcg/plan/step_scratch.h)
} eg_layout_move;
EG_VEC_DEFINE(eg_layout_moves, eg_layout_move);

typedef struct eg_layout_graph {
  eg_type type;
  uint32_t formats;   // memory formats besides plain, a bit per eg_format
  eg_layouts layouts; // in ascending order of their digits, axis 0 first, formats last
  eg_layout_moves moves;
} eg_layout_graph;
EG_OWNER_DEFINE_STATIC(eg_layout_graph, (eg_layouts, layouts), (eg_layout_moves, moves))
EG_VEC_DEFINE(eg_layout_graphs, eg_layout_graph);

enum { EG_LAYOUT_GRAPH_MAX = 1 << 14 };

/// Fills an empty graph with a type's layouts and transitions. EGRAPH_E_UNSUPPORTED: more
/// than EG_LAYOUT_GRAPH_MAX layouts.
egraph_status eg_layout_graph_build(eg_layout_graph *graph, const eg_mesh *mesh,
                                    const eg_type *type, uint32_t formats,
                                    const eg_plan_costs *costs);
/// Returns the number of a layout, or UINT32_MAX when it is not legal for the type.
uint32_t eg_layout_graph_find(const eg_layout_graph *graph, const eg_layout *layout);

// Axes of one device, and idle axes: nothing is split or exchanged along them, but every
// layout would count several times. Planning leaves these axes out; plans get them back.

/// Returns the mesh without its axes of size 1 and its idle axes.
eg_machine_mesh eg_unit_axes_drop(const eg_machine_mesh *mesh);
/// Translates a layout on `whole` to `part`, which has some of the axes of `whole`; the
/// layout is R along the other axes.
eg_layout eg_unit_axes_narrow(const eg_layout *layout, const eg_mesh *whole,
                              const eg_mesh *part);
/// True when the axes of `part` are some of `whole`, in the same order.
bool eg_unit_axes_are_of(const eg_mesh *part, const eg_mesh *whole);
/// Turns a plan on a mesh with some axes of `whole` into a plan on `whole`: values are
/// whole (R) along the axes that were left out.
void eg_unit_axes_restore(eg_plan *plan, const eg_mesh *whole);

#endif
