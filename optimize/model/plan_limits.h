// Constraints in the terms of a plan space: which layouts each value may have where, and
// which moves. Only plan models read them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_LIMITS_H
#define EG_OPTIMIZE_MODEL_PLAN_LIMITS_H

#include "optimize/model/plan_constraints.h"
#include "optimize/space/plan_space.h"

/// Places of a value: its copy in each phase, and where it enters the step.
enum { EG_LIMIT_ENTRY = EG_PHASE_COUNT, EG_LIMIT_PLACES };

typedef struct eg_value_limits {
  uint16_t source[EG_MAX_MESH_AXES]; // digits in which it enters, is made,
                                     // or kept
  uint16_t place[EG_LIMIT_PLACES][EG_MAX_MESH_AXES]; // digits in which it is ever
  uint8_t moves[EG_PHASE_COUNT][EG_MAX_MESH_AXES];   // bit per transition: forbidden
  uint32_t output; // the first one that is this value, or EG_SPACE_NONE
  uint16_t kinds;  // bit per eg_plan_kind
} eg_value_limits;

/// The layouts in which an output may be delivered: what a step hands to the next in any
/// in which it may enter, all others whole, until a statement says otherwise.
typedef struct eg_output_limits {
  uint16_t digits[EG_MAX_MESH_AXES];
  uint8_t is_said; // bit per axis: by a statement
  bool is_carried, is_sum;
  uint32_t value; // of the space
  uint32_t next;  // the next output that is this value, or EG_SPACE_NONE
} eg_output_limits;

typedef struct eg_plan_limits {
  egraph_allocator alloc;
  const eg_plan_space *space; // borrowed
  eg_value_limits *values;    // [values of the space]
  eg_output_limits *outputs;  // [outputs of the step]
} eg_plan_limits;

egraph_status eg_plan_limits_init(eg_plan_limits *limits, egraph_allocator alloc,
                                  const eg_plan_space *space);
void eg_plan_limits_deinit(eg_plan_limits *limits);
/// Adds what all constraints say about outputs delivered, and the first `count` of the
/// others, to what there is. Fails with EGRAPH_E_ARGUMENT ("file:line:col: ...") for one
/// that names nothing, or that those before leave nothing. `lenient`: such ones hold as
/// far as they can, silently.
egraph_status eg_plan_limits_add(eg_plan_limits *limits,
                                 const eg_plan_constraints *constraints, size_t count,
                                 bool lenient);
bool eg_plan_limits_allow_source(const eg_plan_limits *limits, uint32_t value,
                                 uint32_t layout);
/// `place` is a phase or EG_LIMIT_ENTRY.
bool eg_plan_limits_allow_place(const eg_plan_limits *limits, uint32_t value,
                                uint32_t place, uint32_t layout);
/// True when an output may leave the step in a layout of its value: a layout in which it
/// may be delivered, in a memory format only for the next step, and as a partial sum only
/// if it adds up over the steps. NULL: no limits.
bool eg_plan_limits_allow_output(const eg_plan_limits *limits, uint32_t output,
                                 uint32_t layout);
bool eg_plan_limits_allow_move(const eg_plan_limits *limits, uint32_t value,
                               eg_phase phase, const eg_transition *transition);

#endif
