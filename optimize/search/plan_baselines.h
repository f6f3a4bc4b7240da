// Plans that people write by hand (data parallel, ZeRO, Megatron), as constraints
// (plan_constraints.h): the planner solves a restricted problem; there are no templates.
// A baseline gives every axis of the mesh one role; the well-known ones have names.
//
//   node=8,gpu=8    data-parallel    node=data-parallel,gpu=data-parallel
//                   megatron         node=data-parallel,gpu=tensor
//                   no name          node=idle,gpu=zero-1
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_BASELINES_H
#define EG_OPTIMIZE_SEARCH_PLAN_BASELINES_H

#include "optimize/model/plan_constraints.h"

// Roles of a mesh axis in a baseline plan, with their spelling.
#define EG_AXIS_ROLE_LIST(X)                                                             \
  X(EG_AXIS_IDLE, "idle")          /* its devices all do the same */                     \
  X(EG_AXIS_DATA, "data-parallel") /* splits batches; weights and states are whole */    \
  X(EG_AXIS_ZERO_1, "zero-1")      /* and states of the optimizer are split */           \
  X(EG_AXIS_ZERO_2, "zero-2")      /* and kept gradients */                              \
  X(EG_AXIS_ZERO_3, "zero-3")      /* and weights */                                     \
  X(EG_AXIS_TENSOR, "tensor")      /* splits weights; batches are whole */               \
  X(EG_AXIS_ANY, "any")            /* whatever is cheapest */
#define EG_AXIS_ROLE_ENUM(id, name) id,
typedef enum eg_axis_role {
  EG_AXIS_ROLE_LIST(EG_AXIS_ROLE_ENUM) EG_AXIS_ROLES
} eg_axis_role;
#undef EG_AXIS_ROLE_ENUM

/// A baseline on a mesh: a role per axis.
typedef struct eg_axis_roles {
  uint32_t axis_count;
  uint8_t role[EG_MAX_MESH_AXES]; // eg_axis_role
} eg_axis_roles;
EG_VEC_DEFINE(eg_axis_roles_list, eg_axis_roles);

// Baselines: id, spelling, role of the last axis, role of the axes before it.
#define EG_BASELINE_LIST(X)                                                              \
  X(EG_BASELINE_SINGLE, "single-device", EG_AXIS_IDLE, EG_AXIS_IDLE)                     \
  X(EG_BASELINE_DATA, "data-parallel", EG_AXIS_DATA, EG_AXIS_DATA)                       \
  X(EG_BASELINE_ZERO_1, "zero-1", EG_AXIS_ZERO_1, EG_AXIS_ZERO_1)                        \
  X(EG_BASELINE_ZERO_2, "zero-2", EG_AXIS_ZERO_2, EG_AXIS_ZERO_2)                        \
  X(EG_BASELINE_ZERO_3, "zero-3", EG_AXIS_ZERO_3, EG_AXIS_ZERO_3)                        \
  X(EG_BASELINE_MEGATRON, "megatron", EG_AXIS_TENSOR, EG_AXIS_DATA)
#define EG_BASELINE_ENUM(id, name, last, outer) id,
typedef enum eg_baseline { EG_BASELINE_LIST(EG_BASELINE_ENUM) EG_BASELINES } eg_baseline;
#undef EG_BASELINE_ENUM

/// Returns the first named baseline with these roles of axes; EG_BASELINES: none.
eg_baseline eg_axis_roles_baseline(const eg_axis_roles *roles, const eg_mesh *mesh);
/// Reads the name of a baseline, or "node=idle,gpu=zero-1" with every axis of several
/// devices once. Axes of one device get no role. Fails with EGRAPH_E_ARGUMENT.
egraph_status eg_axis_roles_parse(const char *text, const eg_mesh *mesh,
                                  eg_axis_roles *out);
/// Appends the baseline's name, or axes with roles; parsing it gives the same roles.
egraph_status eg_axis_roles_print(eg_text *text, const eg_axis_roles *roles,
                                  const eg_mesh *mesh);
/// Writes the text of eg_axis_roles_print into `size` characters; "" if it does not fit.
egraph_status eg_axis_roles_name(egraph_allocator alloc, const eg_axis_roles *roles,
                                 const eg_mesh *mesh, size_t size, char *out);

/// True when every axis is idle or "any", and at least one "any": a plan for
/// fewer devices.
bool eg_axis_roles_are_free(const eg_axis_roles *roles);

/// Appends the baselines of a mesh, those with more idle axes first: they are smaller
/// problems. With more than two axes, only baselines with a name, or with roles in the
/// order of EG_AXIS_ROLE_LIST from the outermost (slowest) axis inwards, are appended.
/// Axes have the role "any" only beside idle ones, which is planning for fewer devices.
/// No baseline has two stages of ZeRO. Without gradients, stages 1 and 2 equal data
/// parallelism and are left out; with one micro-batch, stage 2 next to other roles
/// exchanges the same as stage 1 and is left out.
egraph_status eg_baselines_of_mesh(const eg_mesh *mesh, bool has_gradients,
                                   uint32_t micro_batches, eg_axis_roles_list *out);

/// Appends the constraints of a baseline.
egraph_status eg_baseline_constraints(eg_plan_constraints *constraints,
                                      const eg_axis_roles *roles, const eg_mesh *mesh);

#endif
