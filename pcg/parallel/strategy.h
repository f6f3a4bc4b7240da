// Strategies: how an operator is spread over a mesh. They follow from its factors (DESIGN
// section 3 and 5; FlexFlow's SOAP, Alpa's parallel algorithms, Shardy's rules).
//
// Along each axis an operator takes one action: every device does the same (REPLICATE), a
// factor is split, or partial sums of one operand pass through because the operator is
// linear in it. The layouts of operands and results follow:
//
//   matmul  (i k),(k j) -> (i j)       a      b      result
//   REPLICATE                          R      R      R
//   SPLIT i                            S(0)   R      S(0)
//   SPLIT j                            R      S(1)   S(1)
//   SPLIT k                            S(1)   S(0)   P
//   PASS a                             P      R      P
//   PASS b                             R      P      P
//
// Several axes combine freely as long as every block stays contiguous: of the factors of
// one dimension, a finer factor is split only when the coarser factors are split
// completely, by earlier axes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_STRATEGY_H
#define EG_PCG_STRATEGY_H

#include "base/vec.h"
#include "pcg/graph/node_spec.h"
#include "pcg/parallel/mesh.h"

/// The action along an axis: REPLICATE, PASS + row of an operand (eg_factor_row),
/// PASS_JOINT (joint operands alone), SPLIT + number of a factor.
enum {
  EG_ACTION_REPLICATE = 0,
  EG_ACTION_PASS_JOINT = 1,
  EG_ACTION_PASS = 2,
  EG_ACTION_SPLIT = EG_ACTION_PASS + EG_FACTOR_ROWS,
  EG_MAX_ACTIONS = EG_ACTION_SPLIT + EG_MAX_FACTORS
};

/// Rows of operand 0 (halo) that neighbours along an axis exchange before a sliding
/// window can work on blocks; the first and last device pad instead.
typedef struct eg_halo {
  uint32_t axis, dim;    // dimension of operand 0
  int64_t before, after; // rows, each at most the rows of a neighbour
  int64_t window,
      stride;  // rows that a window reads; rows between the beginnings of two windows
  double fill; // value of the elements beyond the border
} eg_halo;

typedef struct eg_strategy {
  uint8_t action[EG_MAX_MESH_AXES];
  eg_layout inputs[EG_FACTOR_ROWS]; // by row (eg_strategy_input)
  eg_layout result; // of result 0; the others follow (eg_factors_result_layout)
  double share;     // part of the operator's work that a device does
} eg_strategy;
/// Returns the layout in which a strategy reads an operand.
static inline const eg_layout *eg_strategy_input(const eg_strategy *strategy,
                                                 uint32_t operand) {
  return &strategy->inputs[eg_factor_row(operand)];
}
EG_VEC_DEFINE(eg_strategies, eg_strategy);

/// A factor (loop index) whose size an axis does not divide, so that it cannot be split.
typedef struct eg_uneven {
  uint32_t axis, factor;
} eg_uneven;
EG_VEC_DEFINE(eg_unevens, eg_uneven);

/// A node with the types of whole tensors, and its factors (loop indexes).
typedef struct eg_spread {
  eg_node_spec spec; // borrowed
  eg_factors factors;
} eg_spread;

egraph_status eg_spread_init(const eg_node_spec *spec, eg_spread *out);
/// Fills the actions (replicate, split, pass) that an axis can take while the others
/// replicate; returns their number.
uint32_t eg_spread_actions(const eg_spread *spread, const eg_mesh *mesh, uint32_t axis,
                           uint8_t out[EG_MAX_ACTIONS]);
/// Builds the strategy that takes actions[axis]; false when these do not combine.
bool eg_spread_combine(const eg_spread *spread, const eg_mesh *mesh,
                       const uint8_t *actions, eg_strategy *out);
/// Appends the factors (loop indexes) that an axis cannot split only because of
/// their sizes.
egraph_status eg_spread_unevens(const eg_spread *spread, const eg_mesh *mesh,
                                eg_unevens *inout);
/// Returns the layout of a result of a node whose result 0 has the layout `first`: the
/// same, except where a factor that is split does not index this result (eg_absent).
eg_layout eg_factors_result_layout(const eg_factors *factors, const eg_mesh *mesh,
                                   const eg_layout *first, uint32_t result);
/// Gives the operands and results of a strategy the memory formats of a choice.
void eg_strategy_set_formats(eg_strategy *strategy, const eg_format_choice *choice);
/// Fills the halos (rows from neighbours) of a strategy, at most one per axis; returns
/// how many.
uint32_t eg_spread_halos(const eg_spread *spread, const eg_mesh *mesh,
                         const eg_strategy *strategy, eg_halo out[EG_MAX_MESH_AXES]);

// ---- the part of a rank (local_node.c) ------------------------------------------------

/// Builds the node that a rank runs, in the arena: attributes and types of its part,
/// operand 0 with the rows of neighbours. Types are the same on all ranks. Fails
/// with EGRAPH_E_TYPE when the part is ill-typed or does not compute the device's part of
/// the result.
egraph_status eg_spread_local(const eg_spread *spread, const eg_mesh *mesh,
                              const eg_strategy *strategy, uint32_t rank, eg_arena *arena,
                              eg_node_spec *out);

/// Returns a rank whose part has the most work: of attention, the part whose queries see
/// the most keys. All ranks have the same work in other operators.
uint32_t eg_spread_busiest(const eg_spread *spread, const eg_mesh *mesh,
                           const eg_strategy *strategy);

/// Appends every strategy of the operator on the mesh whose local node is well-typed.
/// Opaque operators are only replicated; INPUT and WEIGHT have no strategy. The order is
/// by actions, axis 0 slowest.
egraph_status eg_spread_strategies(const eg_spread *spread, const eg_mesh *mesh,
                                   eg_arena *scratch, eg_strategies *inout);
/// Appends the choices of memory formats that a rank's part of a row-major strategy has,
/// among the formats in `mask` (eg_op_formats), row-major first.
egraph_status eg_spread_formats(const eg_spread *spread, const eg_mesh *mesh,
                                const eg_strategy *strategy, uint32_t mask,
                                eg_arena *scratch,
                                eg_format_choice out[EG_MAX_FORMAT_CHOICES],
                                uint32_t *out_count);

#endif
