// A plan: the graph of a step with a layout for every tensor on a mesh, i.e. a parallel
// computation graph (Unity, section 3). Every device runs the same steps on its part.
//
//   state   a value in one layout: made by the value's producer, or by a move
//   step    in order of execution: a node on states, or a move from one state of a value
//           to another along one axis
//
// The steps are those of one micro-batch in phases FORWARD and BACKWARD, run
// `micro_batches` times, then those of phase UPDATE, once. A state made in one phase and
// used in a later one is kept in between.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_H
#define EG_PCG_PLAN_H

#include "pcg/graph/graph.h"
#include "pcg/parallel/mesh.h"
#include "pcg/parallel/strategy.h"
#include "pcg/plan/plan_rival.h"
#include "pcg/training/phase.h"

#define EG_PLAN_NONE UINT32_MAX

typedef struct eg_plan_state {
  eg_value value;       // of the graph
  eg_layout layout;     // sharding on the mesh, memory format of the local tensor
  uint32_t step;        // that makes it; EG_PLAN_NONE: an input or a constant
                        // (eg_plan_constants), there from the start
  uint32_t more_blocks; // beside its own that it stands for, in a plan of a folded graph
} eg_plan_state;
EG_VEC_DEFINE(eg_plan_states, eg_plan_state);

// What the seconds of a step rest on, spelling.
#define EG_PRICE_BASIS_LIST(X)                                                           \
  X(EG_PRICE_FREE, "free")                                                               \
  X(EG_PRICE_GIVEN, "given")         /* by the caller */                                 \
  X(EG_PRICE_MEASURED, "measured")   /* on this device */                                \
  X(EG_PRICE_ESTIMATED, "estimated") /* by a model fitted to such measurements */        \
  X(EG_PRICE_GUESSED, "guessed")     /* by assumed figures of the device alone */
#define EG_PRICE_BASIS_ENUM(id, name) id,
typedef enum eg_price_basis {
  EG_PRICE_BASIS_LIST(EG_PRICE_BASIS_ENUM) EG_PRICE_BASES
} eg_price_basis;
#undef EG_PRICE_BASIS_ENUM
/// basis < EG_PRICE_BASES.
const char *eg_price_basis_name(uint32_t basis);
bool eg_price_basis_find(const char *name, uint32_t *out);

typedef struct eg_plan_step {
  bool is_move;
  eg_phase phase;
  // a node: its operands' and results' states stand in eg_plan.operands, results last
  eg_graph_node node;
  uint32_t operands;
  uint8_t action[EG_MAX_MESH_AXES];
  // a move
  uint32_t from, to;
  eg_transition transition;
  // both: what the plan was made with, seconds of one execution, in one block
  double seconds;
  uint32_t basis;       // eg_price_basis of an operator or reorder
  uint32_t more_blocks; // beside its own that it stands for, as of states
} eg_plan_step;
EG_VEC_DEFINE(eg_plan_steps, eg_plan_step);

typedef struct eg_plan {
  const eg_graph *graph; // borrowed
  eg_mesh mesh;
  uint32_t micro_batches; // >= 1
  eg_plan_states states;
  eg_plan_steps steps;
  eg_u32s operands;
  eg_u32s output_states; // per graph output
  eg_u32s carried;       // pairs: output index, input or weight value: what leaves a step
                         // enters the next one, in the same layout
  eg_plan_rivals rivals; // what else was planned; says nothing of the plan itself
  double single_seconds; // the step on one device, as far as planning knows; 0: not known
  double peak_seconds;   // that all devices take for the step's operations at their peak;
                         // 0: not known
  double memory_limit;   // bytes of a device of the machine; 0: none, or not known
} eg_plan;

void eg_plan_init(eg_plan *plan, egraph_allocator alloc);
void eg_plan_deinit(eg_plan *plan);
/// The spec of a node step with global types; lives in the arena.
egraph_status eg_plan_spec(const eg_plan *plan, const eg_plan_step *step, eg_arena *arena,
                           eg_node_spec *out);
/// How a node step is spread: its spec with global, plain types, and the strategy that it
/// takes, in the memory formats of its states. Both live in the arena. Fails with
/// EGRAPH_E_INTERNAL where its actions do not combine.
egraph_status eg_plan_spread(const eg_plan *plan, const eg_plan_step *step,
                             eg_arena *arena, const eg_spread **out_spread,
                             const eg_strategy **out_strategy);
/// Flags the values that are the same in every step, [values of the graph]: weights that
/// are not carried, and what is made of these only. States of them that are there from
/// the start are computed when a program is loaded.
void eg_plan_constants(const eg_plan *plan, bool *out_flags);
/// Flags the states that are there before a run, [states]: of constants those from the
/// start, and slices of these, unless all that is read of a constant would take more
/// memory than as it enters. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_ahead(const eg_plan *plan, egraph_allocator alloc, bool *out_flags);
/// Whether some state stands for several blocks: such a plan can be looked at, not run.
bool eg_plan_is_folded(const eg_plan *plan);
/// Verifies every invariant: layouts legal, every step's operands made before, strategies
/// those that the actions give, moves single transitions, no input or weight in two
/// layouts, phases never going back, types, layouts and numbers of blocks of what is
/// carried equal, one that leaves for each that enters, one number of blocks per value
/// and node. Memory formats need only fit their tensors: back-ends have kernels for all.
/// EGRAPH_E_INTERNAL names the first violation.
egraph_status eg_plan_check(const eg_plan *plan, egraph_allocator alloc);

/// States that a step reads, and makes.
static inline uint32_t eg_plan_step_operand_count(const eg_plan *plan,
                                                  const eg_plan_step *step) {
  return step->is_move ? 1 : eg_graph_node_at(plan->graph, step->node).input_count;
}
static inline uint32_t eg_plan_step_operand(const eg_plan *plan, const eg_plan_step *step,
                                            uint32_t i) {
  return step->is_move ? step->from : plan->operands.data[step->operands + i];
}
static inline uint32_t eg_plan_step_result_count(const eg_plan *plan,
                                                 const eg_plan_step *step) {
  return step->is_move ? 1 : eg_graph_node_at(plan->graph, step->node).result_count;
}
static inline uint32_t eg_plan_step_result(const eg_plan *plan, const eg_plan_step *step,
                                           uint32_t i) {
  uint32_t operands = eg_plan_step_operand_count(plan, step);
  return step->is_move ? step->to : plan->operands.data[step->operands + operands + i];
}

#endif
