// Chooses stages as Alpa does (OSDI'22, section 5.2): cuts the layers, in their order,
// into stages, and gives each stage a submesh, so that all devices are used and
//
//   sum over stages of t + (micro-batches - 1) * the longest t
//
// is least; t is the seconds of one micro-batch in a stage, forward and backward. A stage
// keeps one micro-batch in flight for each stage behind it and one of its own; a cell of
// the table has the most stages that may be behind. Input is a table, output are stages;
// there are no side effects.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_INTEROP_H
#define EG_BASELINES_INTEROP_H

#include <math.h>
#include <stdbool.h>

#include "base/owner.h"
#include "base/vec.h"

/// Devices of one node (nodes 1), or whole nodes.
typedef struct eg_submesh {
  uint32_t nodes, width; // devices of each node
} eg_submesh;
EG_VEC_DEFINE(eg_submeshes, eg_submesh);
static inline uint32_t eg_submesh_devices(eg_submesh mesh) {
  return mesh.nodes * mesh.width;
}
/// Appends submeshes of 1, 2, 4, ... devices of a node, a whole node, then 2, 4, ... and
/// all nodes. Submeshes that have as many devices as the machine in total always tile the
/// machine if a node has a power of two devices (Alpa, appendix A).
egraph_status eg_submeshes_of(uint32_t nodes, uint32_t width, eg_submeshes *out);

typedef struct eg_stage_cell {
  double seconds;       // of a micro-batch; INFINITY: no plan
  uint32_t most_behind; // most stages behind this one; UINT32_MAX: any number
} eg_stage_cell;

typedef struct eg_interop_problem {
  uint32_t layers, devices, micro_batches;
  const eg_submesh *shapes;
  uint32_t shape_count;
  const eg_stage_cell *cells; // [first layer][last layer][shape]; last < first: not read
  // Seconds: among longest t's closer than this only the largest is tried; the result
  // exceeds the optimum by at most (micro-batches - 1) * epsilon
  double epsilon;
} eg_interop_problem;
static inline size_t eg_interop_cell_at(uint32_t layers, uint32_t shapes, uint32_t first,
                                        uint32_t last, uint32_t shape) {
  return ((size_t)first * layers + last) * shapes + shape;
}

typedef struct eg_interop_stage {
  uint32_t first, last, shape;
} eg_interop_stage;
EG_VEC_DEFINE(eg_interop_stages, eg_interop_stage);

typedef struct eg_interop_choice {
  double seconds;           // value of the formula; INFINITY: no choice fits
  eg_interop_stages stages; // the first layers first; empty: none
  uint32_t tried;           // longest t's
} eg_interop_choice;
EG_OWNER_DEFINE_STATIC_FROM(eg_interop_choice, (.seconds = INFINITY),
                            (eg_interop_stages, stages))

/// Fills an initialized choice; among equal choices always finds the same one. O(layers^3
/// * devices * shapes) for each longest t that is tried. Fails with EGRAPH_E_MEMORY.
egraph_status eg_interop_choose(const eg_interop_problem *problem, egraph_allocator alloc,
                                eg_interop_choice *out);

#endif
