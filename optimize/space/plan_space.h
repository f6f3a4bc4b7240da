// The choices of planning: the values of an e-graph with their layouts on a mesh, the
// transitions between layouts, and the operators with their strategies
// (formulation: optimize/PLANS.md).
//
//   value      an e-class that the roots can reach. A node with several results makes a
//              tuple value, which is in the layout of all its parts
//   layouts    legal shardings of a type and their single-axis transitions; one graph per
//              type and mesh, shared between values
//   operator   an e-node with its strategies; of strategies with the same layouts
//              only the cheapest. A value made ahead has one, without operands
//
// Costs are seconds of one execution.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_PLAN_SPACE_H
#define EG_OPTIMIZE_SPACE_PLAN_SPACE_H

#include "optimize/space/layout_graph.h"
#include "optimize/space/step_info.h"
#include "pcg/parallel/strategy.h"
#include "rewrites/saturation/tensor_egraph.h"

#define EG_SPACE_NONE UINT32_MAX
#define EG_BLOCK_SEVERAL (EG_BLOCK_OUTSIDE - 1) // made by rules from several blocks

typedef struct eg_space_value {
  eg_class class;
  uint32_t graph; // of layouts
  eg_phase phase; // in which it is made
  uint32_t block; // of a folded step, EG_BLOCK_OUTSIDE, EG_BLOCK_SEVERAL
  uint32_t times; // equal blocks that its block represents
  bool is_tuple;
  bool is_entry;    // an input or constant: exists from the start
  bool is_carried;  // an entry that each step leaves for the next, in its layout
  bool is_constant; // the same in every step: a weight that is not carried, or made ahead
  bool is_sum;      // accumulates over micro-batches: entry and exit share their memory
  // Value of weights alone in a step that passes no values to the next: the node that
  // makes it before the first step; otherwise EG_NODE_NONE
  eg_node ahead;
  // Bit per axis along which partial sums (maxima) are made, or read by an operator.
  uint8_t makes_sum, makes_max, wants_sum, wants_max;
} eg_space_value;
EG_VEC_DEFINE(eg_space_values, eg_space_value);
/// Returns the phase that makes a value, FORWARD for an input, for eg_transition_weight.
static inline eg_phase eg_space_value_made(const eg_space_value *value) {
  return value->is_entry ? EG_PHASE_FORWARD : value->phase;
}

typedef struct eg_space_operator {
  eg_node node;
  uint32_t value;
  uint32_t inputs, input_count; // values, in eg_plan_space.inputs
  uint32_t strategies, strategy_count;
} eg_space_operator;
EG_VEC_DEFINE(eg_space_operators, eg_space_operator);

typedef struct eg_space_strategy {
  uint8_t action[EG_MAX_MESH_AXES];
  uint32_t needs;  // a layout per input, in eg_plan_space.needs
  uint32_t output; // layout
  double seconds;
  uint32_t basis; // of the seconds (eg_node_price)
  double scratch; // bytes (pcg/plan/step_scratch.h)
} eg_space_strategy;
EG_VEC_DEFINE(eg_space_strategies, eg_space_strategy);

enum { EG_SEAMS = 2 }; // before and after the block that represents many

/// A value and its user in the next block, at both ends of the block that
/// represents many.
typedef struct eg_seam_link {
  uint32_t value[EG_SEAMS]; // of the space
  uint32_t user[EG_SEAMS];  // of the space, made from `value`
} eg_seam_link;
EG_VEC_DEFINE(eg_seam_links, eg_seam_link);

typedef struct eg_plan_space {
  egraph_allocator alloc;
  eg_tensor_egraph *egraph; // borrowed
  const eg_step_info *info; // borrowed
  eg_mesh mesh;
  const eg_cost_weights *weights; // factors of seconds in plans; the space has none
  eg_layout_graphs graphs;
  eg_space_values values; // ascending classes
  uint32_t *value_of;     // [class_limit] value, or EG_SPACE_NONE
  uint32_t class_limit;
  eg_space_operators operators; // by value
  eg_u32s first_operator;       // [values + 1]
  eg_u32s inputs, needs;
  eg_space_strategies strategies;
  eg_seam_links seams; // of a folded step
  // The folded step costs as much as the whole step with equal blocks planned alike
  bool is_exact;
  bool can_be_cut; // its bounds also hold for the whole step (plan_folded.h)
} eg_plan_space;
#define EG_PLAN_SPACE_MEMBERS                                                            \
  (eg_layout_graphs, graphs), (eg_space_values, values),                                 \
      (eg_space_operators, operators), (eg_space_strategies, strategies),                \
      (eg_u32s, first_operator, inputs, needs), (eg_seam_links, seams)

/// Builds a plan space (space_build.c). On a mesh without axes, unknown operators and
/// values without a type are row-major, at no cost. On other meshes they fail with
/// EGRAPH_E_UNSUPPORTED, like a type with too many layouts. Fails with EGRAPH_E_TYPE when
/// a value for the next step has another type than its input there.
egraph_status eg_plan_space_init(eg_plan_space *space, egraph_allocator alloc,
                                 eg_tensor_egraph *egraph, const eg_step_info *info,
                                 const eg_mesh *mesh, const eg_plan_costs *costs);
void eg_plan_space_deinit(eg_plan_space *space);

/// Fills the links between blocks, `is_exact` and `can_be_cut` of a space that has values
/// and operators. (plan_space.c) Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_seams_find(eg_plan_space *space);
/// Appends the operators of all values, whose phases are known, with their strategies.
/// (plan_operators.c) Fails as eg_plan_space_init.
egraph_status eg_plan_operators_add(eg_plan_space *space, const eg_plan_costs *costs);
/// Returns the plan space's value of an e-class.
uint32_t eg_plan_space_value(const eg_plan_space *space, eg_class class);
/// Finds the value that a node makes of operands (values of the space); EG_SPACE_NONE:
/// there is no such node. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_space_find_term(const eg_plan_space *space, const eg_attrs *attrs,
                                      const uint32_t *operands, uint32_t count,
                                      uint32_t *out);
static inline const eg_engine *eg_plan_space_engine(const eg_plan_space *space) {
  return eg_tensor_egraph_engine_of(space->egraph);
}
static inline const eg_layout_graph *eg_plan_space_layouts(const eg_plan_space *space,
                                                           uint32_t value) {
  return &space->graphs.data[space->values.data[value].graph];
}
/// True when a layout of a value can be useful (space_build.c): partial sums are useless
/// along an axis on which no operator makes or reads them.
bool eg_plan_space_is_useful(const eg_plan_space *space, uint32_t value, uint32_t layout);
/// Returns the bytes of a value in a layout on one device.
double eg_plan_space_bytes(const eg_plan_space *space, uint32_t value, uint32_t layout);
/// Returns the bytes of all values of all blocks, each whole on one device.
double eg_plan_space_whole_bytes(const eg_plan_space *space);

#endif
