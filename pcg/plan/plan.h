// A plan: the graph of a step with a layout for every tensor on a mesh, i.e. a parallel
// computation graph (Unity, section 3). Every device runs the same steps on its part of
// the values.
//
//   state   a value in one layout: computed by the value's node, or moved to this layout
//   step    in order of execution: a node on states, or a move from one state of a value
//           to another along one axis
//
// The steps of one micro-batch, in phases FORWARD and BACKWARD, run `micro_batches`
// times; then the steps of phase UPDATE run once. A state that is made in one phase and
// used in a later phase stays in memory in between.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_H
#define EG_PCG_PLAN_H

#include "base/names.h"
#include "pcg/graph/graph.h"
#include "pcg/parallel/mesh.h"
#include "pcg/parallel/strategy.h"
#include "pcg/training/phase.h"

#define EG_PLAN_NONE UINT32_MAX

typedef struct eg_plan_state {
  eg_value value;       // of the graph
  eg_layout layout;     // sharding on the mesh, memory format of the local tensor
  uint32_t step;        // step that makes the state; EG_PLAN_NONE: an input or a constant
  uint32_t more_blocks; // number of blocks that the state represents, minus one
} eg_plan_state;
EG_VEC_DEFINE(eg_plan_states, eg_plan_state);

// The source of a step's seconds: id, spelling.
#define EG_PRICE_BASIS_LIST(X)                                                           \
  X(EG_PRICE_FREE, "free")                                                               \
  X(EG_PRICE_GIVEN, "given")         /* by the caller */                                 \
  X(EG_PRICE_MEASURED, "measured")   /* on this device */                                \
  X(EG_PRICE_ESTIMATED, "estimated") /* by a model fitted to such measurements */        \
  X(EG_PRICE_REACHED, "reached")     /* by curves of what such devices reach */          \
  X(EG_PRICE_GUESSED, "guessed")     /* by assumed figures of the device alone */
typedef enum eg_price_basis {
  EG_PRICE_BASIS_LIST(EG_ENUM_ID) EG_PRICE_BASES
} eg_price_basis;
/// Returns the spelling of a basis < EG_PRICE_BASES.
const char *eg_price_basis_name(uint32_t basis);
bool eg_price_basis_find(const char *name, uint32_t *out);

typedef struct eg_plan_step {
  bool is_move;
  eg_phase phase;
  // For a node: the states of its operands, then of its results, are in eg_plan.operands,
  // from index `operands` on.
  eg_graph_node node;
  uint32_t operands;
  uint8_t action[EG_MAX_MESH_AXES];
  // For a move: the states from which and to which it leads
  uint32_t from, to;
  eg_transition transition;
  // For nodes and moves: seconds of one run in one block, as planning used them.
  double seconds;
  uint32_t basis;       // eg_price_basis of an operator or reorder
  uint32_t more_blocks; // as in eg_plan_state
} eg_plan_step;
EG_VEC_DEFINE(eg_plan_steps, eg_plan_step);

// ---- rivals: plans of the same step that the plan was compared with -------------------

enum { EG_RIVAL_NAME_SIZE = 192, EG_RIVAL_REASONS = 3 };

// How planning a rival of the plan (a baseline) ended: id, spelling.
#define EG_RIVAL_LIST(X)                                                                 \
  X(EG_RIVAL_FITS, "fits")                                                               \
  X(EG_RIVAL_TOO_LARGE, "too large")    /* no such plan fits the memory */               \
  X(EG_RIVAL_IMPOSSIBLE, "impossible")  /* there is no such plan */                      \
  X(EG_RIVAL_FORBIDDEN, "forbidden")    /* no such plan meets the constraints */         \
  X(EG_RIVAL_UNKNOWN, "unknown")        /* the search found none in its work */          \
  X(EG_RIVAL_UNEVEN, "does not divide") /* its axes do not divide a size */
typedef enum eg_rival_outcome {
  EG_RIVAL_LIST(EG_ENUM_ID) EG_RIVAL_OUTCOMES
} eg_rival_outcome;

/// An exchange, or computing, that takes longer in the rival's step than in the
/// plan's step.
typedef struct eg_rival_reason {
  uint32_t exchange; // index in eg_plan_summary.exchange; EG_EXCHANGES: computing
  eg_phase phase;
  char axis[EG_MESH_NAME_SIZE]; // name of an axis of the rival's mesh
  double seconds;               // by which the rival takes longer
  double bytes;                 // of all these exchanges of the rival
} eg_rival_reason;

typedef struct eg_plan_rival {
  char name[EG_RIVAL_NAME_SIZE];
  eg_rival_outcome outcome;
  eg_mesh mesh;
  double seconds, memory; // of the rival; TOO_LARGE: of a plan without memory limit, or 0
  double least_memory;    // TOO_LARGE: least bytes with which the rival fits, or 0
  double excess;          // TOO_LARGE: bytes of least_memory above the limit
  uint32_t parts;         // UNEVEN: parts into which a dimension should be cut
  uint32_t batch; // UNEVEN: size of the batch that does not divide; 0: no weight divides
  uint32_t reason_count;
  eg_rival_reason reasons[EG_RIVAL_REASONS]; // most seconds first
} eg_plan_rival;
EG_VEC_DEFINE(eg_plan_rivals, eg_plan_rival);

// ---- plans ----------------------------------------------------------------------------

typedef struct eg_plan {
  const eg_graph *graph; // borrowed
  eg_mesh mesh;
  uint32_t micro_batches; // >= 1
  eg_plan_states states;
  eg_plan_steps steps;
  eg_u32s operands;
  eg_u32s output_states; // [outputs] state in which the output leaves the step
  eg_u32s carried;       // pairs: an output, and the value that it is in the next step
  eg_plan_rivals rivals; // for reports
  double single_seconds; // of the best known plan of one device; 0: not known
  double peak_seconds;   // if all devices compute at their peak; 0: not known
  double memory_limit;   // bytes of a device of the machine; 0: none, or not known
} eg_plan;

void eg_plan_init(eg_plan *plan, egraph_allocator alloc);
void eg_plan_deinit(eg_plan *plan);
/// Fills an empty plan with the steps of one device that runs a graph as it is: nodes in
/// the order of the graph, values in the memory formats of their types.
///
///   (input x)(weight w)(let s (relu w))      states x, s from the start
///   (let y (add x s))(output y)              one step: y
///
/// Values computed from weights alone exist from the start. Nodes and values that no
/// output needs have no step and no state, except inputs. The graph is borrowed and
/// typed. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_of_graph(const eg_graph *graph, eg_plan *inout);
/// Fills the spec of a plan step that runs a node, with the types of whole tensors. The
/// arena owns the types.
egraph_status eg_plan_spec(const eg_plan *plan, const eg_plan_step *step, eg_arena *arena,
                           eg_node_spec *out);
/// Finds how a step that runs a node is spread over the mesh: its spec with row-major
/// types of whole tensors, and its strategy with the memory formats of its states. The
/// arena owns both results. Fails with EGRAPH_E_INTERNAL if the step's actions do
/// not combine.
egraph_status eg_plan_spread(const eg_plan *plan, const eg_plan_step *step,
                             eg_arena *arena, const eg_spread **out_spread,
                             const eg_strategy **out_strategy);
/// Flags the values that are the same in every step, [values of the graph]: weights that
/// no step changes, and values computed from such weights only. If no plan step makes
/// them, they are computed when a program is loaded.
void eg_plan_constants(const eg_plan *plan, bool *out_flags);
/// Flags the states that are computed before a run, [states]: states of constants that no
/// step makes, and slices of these states. Slices of a constant are not flagged if its
/// flagged states that are read take more memory than its states without a step. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_plan_ahead(const eg_plan *plan, egraph_allocator alloc, bool *out_flags);
/// True when some state represents several blocks: this plan can be printed, not run.
bool eg_plan_is_folded(const eg_plan *plan);
/// True when an output is passed to the next step as an input.
bool eg_plan_is_carried(const eg_plan *plan, uint32_t output);
/// Computes a hash of everything in a plan file that decides how the plan runs: the graph
/// in its text form, mesh, states and steps, but not seconds and rivals. Ranks that have
/// each read a file compare their hashes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_digest(const eg_plan *plan, egraph_allocator alloc, uint64_t *out);
/// Verifies every invariant of a plan: layouts are legal; operands are made before their
/// step; strategies follow from the actions; moves are single transitions; no input or
/// weight is in two layouts; phases never go back; types, layouts and numbers of blocks
/// of values passed to the next step are equal at both ends; each input passed on has one
/// output; each value and node has one number of blocks. Memory formats need only fit
/// their tensors: back-ends have kernels for all. EGRAPH_E_INTERNAL names the first
/// violation. (plan_check.c)
egraph_status eg_plan_check(const eg_plan *plan, egraph_allocator alloc);

// ---- figures of steps and states ------------------------------------------------------

/// Returns the number of equal blocks that a step of a folded plan represents;
/// otherwise 1.
double eg_plan_step_blocks(const eg_plan_step *step);
/// Returns how often a plan step of `phase` runs in a step of training.
uint32_t eg_phase_runs(const eg_plan *plan, eg_phase phase);
/// Returns the seconds of all runs of a plan step, in all its blocks, in a step
/// of training.
double eg_plan_step_seconds(const eg_plan *plan, const eg_plan_step *step);
/// Returns the bytes of a state (a value in a layout) on one device.
double eg_plan_state_bytes(const eg_plan *plan, uint32_t state);
/// Returns the bytes that a move transfers (eg_transition_bytes).
double eg_plan_move_bytes(const eg_plan *plan, const eg_plan_step *step);

/// Count and return the states that a step reads and makes.
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
