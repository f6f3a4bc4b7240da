// Performs one step of a replay: matches the left sides of a rule against terms,
// node by node, checks its conditions, and builds its right sides, without an
// e-graph or a matcher.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REPLAY_STEP_H
#define EG_REWRITES_REPLAY_STEP_H

#include "rewrites/replay/replay_terms.h"
#include "rewrites/saturation/rule_eval.h"

/// Working memory for replaying steps (applications of rules).
typedef struct eg_replay_stepper {
  egraph_allocator alloc;
  eg_replay_terms *terms;
  eg_rule_scratch *scratch; // NULL before the first step
  eg_rule_tensors tensors;
  bool answer;         // to conditions that only steer a search
  const eg_rule *rule; // rule of the current step
  eg_rule_value *vars; // [var_cap]
  uint32_t var_cap;
  eg_u32s bound;    // [variables] 1: has a value
  eg_u32s found;    // [terms of the rule] term + 1, or 0
  eg_u32s operands; // operands of the current node
} eg_replay_stepper;

/// Initializes a stepper, which replays steps; the caller then sets `terms`.
void eg_replay_stepper_init(eg_replay_stepper *stepper, egraph_allocator alloc);
void eg_replay_stepper_deinit(eg_replay_stepper *stepper);
/// Builds the right sides of a rule whose left sides match the terms `roots`, one
/// each. Fails with EGRAPH_E_ARGUMENT, naming the reason why the rule does not apply,
/// or EGRAPH_E_MEMORY.
egraph_status eg_replay_step(eg_replay_stepper *stepper, const eg_rule *rule,
                             const uint32_t *roots, uint32_t count, uint32_t *out_right);

#endif
