// Parts of a machine to plan for: its meshes with fewer devices at work, the others doing
// the same as these. An axis of 512 is used whole or not at all, and a batch of 64 is cut
// in 64 at most; of its part (idle 8)(node 64) it uses as much as pays. So that every
// plan of a smaller machine is one of a larger machine, too, parts go down to one device,
// by one prime factor at a time, from the outermost axis on:
//
//   node=4,gpu=2    idle=2,node=2,gpu=2    idle=4,gpu=2    idle=8
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_MESH_PARTS_H
#define EG_PCG_MESH_PARTS_H

#include "pcg/parallel/machine.h"

EG_VEC_DEFINE(eg_machine_meshes, eg_machine_mesh);

/// Appends the parts of the machine's meshes, different ones, with fewest idle devices
/// first: their first axis is idle. Fails with EGRAPH_E_MEMORY.
egraph_status eg_mesh_parts_add(const eg_machine *machine, eg_machine_meshes *out);
/// Places along idle axes: 1 where all devices are at work.
uint32_t eg_mesh_idle_places(const eg_machine_mesh *mesh);
/// Whether every plan of `part` is one of `mesh` that makes no use of outer axes.
bool eg_mesh_covers(const eg_machine_mesh *mesh, const eg_machine_mesh *part);

#endif
