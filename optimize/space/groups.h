// Groups: operators that run as one kernel (ops/body.h), as further choices of an
// e-graph.
//
//   class 7: mul(3, 5)      class 5: silu(2)
//   gets      class 7: fused "(mul a (silu b))" (3, 2)
//
// A group is a node of the class of its last operator; its operands are the classes that
// enter it. What is inside is neither written nor kept. Whoever else needs an inner value
// chooses that class as well, so the operator is computed again where this is cheaper.
// Extraction, layouts, bounds and certificates need no rule for groups.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_GROUPS_H
#define EG_OPTIMIZE_SPACE_GROUPS_H

#include "optimize/space/step_info.h"
#include "rewrites/saturation/tensor_egraph.h"

/// The reason of these nodes in the engine (eg_engine_add).
#define EG_GROUP_REASON (EG_REASON_CONGRUENCE - 1)

/// Adds to each class the group of pointwise operators, scalars and operators of rows
/// that ends there. Inside are values without another reader, and values whose operands
/// are at most 5 % larger, so that no reader reads much more. `rereads`: also values of
/// several readers that all together read less when each makes its own; where layouts are
/// to be chosen, too, these choices make bounds weak. Of the nodes of an inner class the
/// one with the fewest bytes of operands is inside. Nothing inside is sealed, a seam of
/// the step, or of another block of a folded step than the group. So not all groups are
/// choices, and a bound holds for those that are: none reads more bytes only because a
/// kernel takes time to start. `info`: of the step; NULL: unknown. The e-graph must be
/// rebuilt, and is rebuilt afterwards. Cost: linear in the e-nodes, but for the operators
/// inside. Fails with EGRAPH_E_MEMORY.
egraph_status eg_groups_add(eg_tensor_egraph *egraph, const eg_step_info *info,
                            bool rereads);

#endif
