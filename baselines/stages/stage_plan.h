// The cost of a stage: the product's planner on a slice of the model (layered.h) and a
// part of the machine, without rules. Equal slices on equal parts are planned once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_STAGE_PLAN_H
#define EG_BASELINES_STAGE_PLAN_H

#include "baselines/stages/layered.h"
#include "optimize/request.h"

/// Nodes, and devices of each; a machine of one axis is one node.
typedef struct eg_machine_shape {
  uint32_t nodes, width;
} eg_machine_shape;
/// Fails with EGRAPH_E_UNSUPPORTED for machines of more than two axes.
egraph_status eg_machine_shape_of(const eg_machine *machine, eg_machine_shape *out);

// The roles of the devices of a stage.
typedef enum eg_stage_roles {
  EG_STAGE_FREE,   // whatever is cheapest
  EG_STAGE_DATA,   // the inner axis is tensor parallel, the others data parallel
  EG_STAGE_ZERO_1, // the same, with optimizer states split along the others
  EG_STAGE_ROLES
} eg_stage_roles;

/// Devices of a stage: nodes * outer * inner; outer * inner are devices of each node.
typedef struct eg_stage_place {
  uint32_t nodes, outer, inner;
  eg_stage_roles roles;
} eg_stage_place;
static inline uint32_t eg_stage_devices(const eg_stage_place *place) {
  return place->nodes * place->outer * place->inner;
}

typedef struct eg_stage_plan {
  bool has_plan;
  bool is_proven; // without a plan: that there is none, not that limits ended the search
  double forward, backward; // seconds of a micro-batch
  double update;            // of a step
  // A device holds fixed + n * flight bytes with n micro-batches in flight: all that one
  // more keeps for its backward pass, and what arrived for it.
  double fixed_bytes, flight_bytes;
  // Values for later stages and cotangents for earlier ones: bytes of a device, of all
  // devices.
  double sent_bytes, sent_whole, returned_bytes, returned_whole;
  double least_bytes; // without a plan: of the smallest that is known; 0: none is
} eg_stage_plan;
EG_VEC_DEFINE(eg_stage_plans, eg_stage_plan);

/// Plans stages, and remembers them.
typedef struct eg_stage_planner {
  const eg_plan_call *call;
  const eg_layered *layered;
  eg_machine_shape shape;
  double work;       // steps of each plan
  double deadline;   // of all, by base/clock.h
  bool by_work;      // no time limit was asked for: steps alone limit a plan
  double most_bytes; // of a device with one micro-batch in flight; INFINITY: any
  eg_strmap known;   // slice, place: number of
  eg_stage_plans plans;
  uint32_t asked;
  bool is_cancelled; // from then on there are no plans
} eg_stage_planner;

egraph_status eg_stage_planner_init(eg_stage_planner *planner, const eg_plan_call *call,
                                    const eg_layered *layered);
void eg_stage_planner_deinit(eg_stage_planner *planner);
/// Layers [first, last] on a part of the machine. That there is no plan is a result.
/// Fails like eg_whole_step_create.
egraph_status eg_stage_planner_plan(eg_stage_planner *planner, uint32_t first,
                                    uint32_t last, const eg_stage_place *place,
                                    eg_stage_plan *out);

#endif
