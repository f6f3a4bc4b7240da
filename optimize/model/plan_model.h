// Turns a plan space (values, layouts, operators) into a layout problem.
//
// A value that is used in a later phase than its own has a copy there, which was kept (a
// stash for backward, the sum of a gradient over the micro-batches). An operator keeps
// each layout unchanged and takes its bytes; which layout is kept, and from which earlier
// phase, is a choice. An input or weight has an *entry*, without transitions. The copy of
// each phase starts from the entry without taking bytes, or from a copy of an earlier
// phase, which takes its bytes. A value that FORWARD hands to both later phases is *kept*
// once. A value carried to the next step has an *exit* whose layout is tied to
// its entry's.
//
// Where a step *makes again* (eg_step_info.makes_again), the copy in BACKWARD of a value
// of FORWARD may also be made by its operators, of the copies of their operands in
// BACKWARD, at their seconds: what is kept is then nearer to the inputs (Chen et al.
// 2016). FORWARD has the value in that layout, too: to keep it would take no seconds, so
// that bounds of plans that make nothing again hold. Values that go from block to block
// are kept, so that no chain runs through all blocks. Where views cost no seconds, a
// value and its view each count their own bytes: no plan needs to keep both, since one is
// made again for nothing.
//
// A link of a seam (plan_space.c) hands a copy over: a value without transitions, kept
// from the copy without taking bytes, which the user reads instead. The same link is
// handed over in one layout at both seams. In the *open* model the two ends of a link are
// independent: one value is made from the copy, and the user reads another value, made
// without operands. Both ends may also be *absent* if rules may leave the user nothing to
// read (extract/layout/layout_bound.h).
//
//   weight w:  entry ---> w in FORWARD ---arcs---> kept, bytes ---> w in BACKWARD
//                 '------------------------------------------------------^
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_PLAN_MODEL_H
#define EG_OPTIMIZE_MODEL_PLAN_MODEL_H

#include "extract/layout/layout_solve.h"
#include "optimize/model/plan_limits.h"
#include "optimize/space/plan_space.h"

/// The two ends of a value that one block hands to the next: made there, read here.
enum { EG_LINK_MADE_END, EG_LINK_READ_END, EG_LINK_ENDS };

typedef enum eg_model_role {
  EG_MODEL_COPY,
  EG_MODEL_ENTRY,
  EG_MODEL_KEPT, // of FORWARD, for both later phases
  EG_MODEL_EXIT,
  EG_MODEL_HANDED // over a seam
} eg_model_role;

/// The meaning of a value of the layout problem: a role and a value of the plan space.
typedef struct eg_model_value {
  eg_model_role role;
  uint32_t value;   // of the space
  eg_phase phase;   // COPY, HANDED; KEPT: the first phase that it is kept for
  uint32_t layouts; // index of its first layout in eg_plan_model.layouts
} eg_model_value;
EG_VEC_DEFINE(eg_model_values, eg_model_value);

typedef struct eg_plan_model {
  const eg_plan_space *space; // borrowed
  eg_layout_problem problem;
  eg_model_values values; // [problem values]
  eg_u32s layouts;        // [places] layout of the space
  eg_u32s operators;      // [problem operators] of the space, or EG_SPACE_NONE: kept
  eg_u32s strategies;     // [problem strategies] of the space, or EG_SPACE_NONE: kept
  eg_u32s moves;          // [problem arcs] of the value's layout graph
  eg_u32s copies;         // [space values][3 phases] problem value, or EG_SPACE_NONE
  eg_u32s entries;        // [space values] likewise
  // [space values] The value that counts the bytes of all values that views connect to
  // it, which a device may keep in one storage.
  eg_u32s views;
  // [links between blocks][EG_SEAMS] The problem value that is handed over; in an open
  // model [links between blocks][EG_SEAMS][EG_LINK_ENDS]. After all links, where the step
  // makes again: all links once more, for users that are made again; EG_SPACE_NONE: no
  // user is
  eg_u32s handed;
  eg_layout_seam_list seams; // of an open model
  // The problem's costs without the prices of memory; empty: it has no prices
  eg_doubles unpriced, unpriced_arcs;
} eg_plan_model;

egraph_status eg_plan_model_init(eg_plan_model *model, egraph_allocator alloc,
                                 const eg_plan_space *space);
/// Builds the model without the layouts and moves that `limits` exclude; does not
/// store `limits`.
egraph_status eg_plan_model_init_within(eg_plan_model *model, egraph_allocator alloc,
                                        const eg_plan_space *space,
                                        const eg_plan_limits *limits);
/// Builds the model of a folded step in which the blocks meet independently
/// (space->can_be_cut), for a bound of the whole step. It has no limit of memory.
egraph_status eg_plan_model_init_open(eg_plan_model *model, egraph_allocator alloc,
                                      const eg_plan_space *space,
                                      const eg_plan_limits *limits);
void eg_plan_model_deinit(eg_plan_model *model);
/// Sets the bytes that a device may store for later phases at the end of any phase.
void eg_plan_model_limit_memory(eg_plan_model *model, double bytes);
/// Removes limits of memory, and adds the bytes of the memory rows at prices ([memory
/// rows], seconds of a byte) to the costs, instead of earlier prices. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_plan_model_price_memory(eg_plan_model *model, const double *price);
/// Removes the prices of memory from the costs.
void eg_plan_model_drop_prices(eg_plan_model *model);
/// Return the scratch memory of a strategy, or of an arc of a value: the bytes that its
/// plan step takes besides operands and results.
static inline double eg_plan_model_strategy_scratch(const eg_plan_model *model,
                                                    uint32_t strategy) {
  uint32_t s = model->strategies.data[strategy];
  return s == EG_SPACE_NONE ? 0 : model->space->strategies.data[s].scratch;
}
static inline double eg_plan_model_arc_scratch(const eg_plan_model *model, uint32_t value,
                                               uint32_t arc) {
  const eg_layout_graph *graph =
      eg_plan_space_layouts(model->space, model->values.data[value].value);
  return graph->moves.data[model->moves.data[arc]].scratch;
}
/// Returns the plan space's number for layout `number` of a problem value.
static inline uint32_t eg_plan_model_layout(const eg_plan_model *model, uint32_t value,
                                            uint32_t number) {
  return model->layouts.data[model->values.data[value].layouts + number];
}

#endif
