// Translates the user's constraints to a plan space: the allowed layouts and moves of
// each value in each phase. Only plan models read them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_LIMITS_H
#define EG_OPTIMIZE_MODEL_PLAN_LIMITS_H

#include "optimize/model/plan_constraints.h"
#include "optimize/space/plan_space.h"

/// Places where a value may have a layout: its copy in each phase, and the step's input.
enum { EG_LIMIT_ENTRY = EG_PHASE_COUNT, EG_LIMIT_PLACES };

typedef struct eg_value_limits {
  uint16_t source[EG_MAX_MESH_AXES]; // digits in which the value enters, is made, or kept
  uint16_t place[EG_LIMIT_PLACES][EG_MAX_MESH_AXES]; // digits that it may ever have
  uint8_t moves[EG_PHASE_COUNT][EG_MAX_MESH_AXES];   // bit per transition: forbidden
  uint32_t output; // the first output of this value, or EG_SPACE_NONE
  uint16_t kinds;  // bit per eg_plan_kind
} eg_value_limits;

/// The layouts in which an output may be returned. Without a statement of the user, a
/// value handed to the next step may have any layout in which it can enter, and all other
/// outputs are whole.
typedef struct eg_output_limits {
  uint16_t digits[EG_MAX_MESH_AXES];
  uint8_t is_said; // bit per axis: a statement set its digits
  bool is_carried, is_sum;
  uint32_t value; // of the space
  uint32_t next;  // the next output of this value, or EG_SPACE_NONE
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
/// Adds all deliver statements, and the first `count` other statements of the user, to
/// the limits. Fails with EGRAPH_E_ARGUMENT ("file:line:col: ...") for a statement that
/// names no value, or that leaves a value no layout. `lenient`: such statements silently
/// hold as far as they can.
egraph_status eg_plan_limits_add(eg_plan_limits *limits,
                                 const eg_plan_constraints *constraints, size_t count,
                                 bool lenient);
bool eg_plan_limits_allow_source(const eg_plan_limits *limits, uint32_t value,
                                 uint32_t layout);
/// True when a value may have a layout in phase `place`, or as an input (EG_LIMIT_ENTRY).
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
