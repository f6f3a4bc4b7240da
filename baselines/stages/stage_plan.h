// Plans stages: runs the product's planner on a slice of the model (layered.h) and a part
// of the machine, without rules. Equal slices on equal parts are planned once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_STAGE_PLAN_H
#define EG_BASELINES_STAGE_PLAN_H

#include "baselines/stages/layered.h"
#include "optimize/request.h"

/// Number of nodes, and devices of each; a machine with one axis is one node.
typedef struct eg_machine_shape {
  uint32_t nodes, width;
} eg_machine_shape;
/// Finds nodes and devices. Fails with EGRAPH_E_UNSUPPORTED for more than two axes.
egraph_status eg_machine_shape_of(const eg_machine *machine, eg_machine_shape *out);

// The roles of the devices of a stage.
typedef enum eg_stage_roles {
  EG_STAGE_FREE,   // the cheapest roles
  EG_STAGE_DATA,   // the inner axis is tensor parallel, the others data parallel
  EG_STAGE_ZERO_1, // the same, with optimizer states split along the others
  EG_STAGE_ROLES
} eg_stage_roles;

/// The devices of a stage: nodes * outer * inner. Each node has outer * inner of them.
typedef struct eg_stage_place {
  uint32_t nodes, outer, inner;
  eg_stage_roles roles;
} eg_stage_place;
static inline uint32_t eg_stage_devices(const eg_stage_place *place) {
  return place->nodes * place->outer * place->inner;
}

typedef struct eg_stage_plan {
  bool has_plan;
  bool is_proven; // without a plan: proven that none exists, not ended by a limit
  double forward, backward; // seconds of a micro-batch
  double update;            // of a step
  // A device holds fixed_bytes + n * flight_bytes with n micro-batches in flight.
  // `flight_bytes`: values kept for the backward pass of a micro-batch, and values
  // received for it.
  double fixed_bytes, flight_bytes;
  // Bytes of values for later stages (sent) and of cotangents for earlier stages
  // (returned): of one device, and of all devices (whole).
  double sent_bytes, sent_whole, returned_bytes, returned_whole;
  double least_bytes; // without a plan: bytes of the smallest known plan; 0: none
} eg_stage_plan;
EG_VEC_DEFINE(eg_stage_plans, eg_stage_plan);

/// Plans stages, and remembers their plans.
typedef struct eg_stage_planner {
  const eg_plan_call *call;
  const eg_layered *layered;
  eg_machine_shape shape;
  double work;       // steps of each plan
  double deadline;   // of all plans, by base/clock.h
  bool by_work;      // no time limit was given: only steps limit a plan
  double most_bytes; // bytes of a device with one micro-batch in flight; INFINITY: any
  eg_strmap known;   // slice and place -> index in `plans`
  eg_stage_plans plans;
  uint32_t asked;
  bool is_cancelled; // no stage is planned any more
} eg_stage_planner;

egraph_status eg_stage_planner_init(eg_stage_planner *planner, const eg_plan_call *call,
                                    const eg_layered *layered);
void eg_stage_planner_deinit(eg_stage_planner *planner);
/// Plans layers [first, last] on a part of the machine. A result without a plan is no
/// failure. Fails like eg_whole_step_create.
egraph_status eg_stage_planner_plan(eg_stage_planner *planner, uint32_t first,
                                    uint32_t last, const eg_stage_place *place,
                                    eg_stage_plan *out);

#endif
