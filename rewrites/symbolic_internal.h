// What the files of symbolic.h share.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_INTERNAL_H
#define EG_REWRITES_SYMBOLIC_INTERNAL_H

#include "rewrites/symbolic.h"
#include "rewrites/symbolic_rules.h"

EG_VEC_DEFINE(eg_symbolic_rules, eg_symbolic_rule);

struct eg_symbolic {
  egraph_allocator alloc;
  eg_arena arena;
  eg_atoms atoms;
  eg_symbolic_rules rules;
  eg_engine *engine;
  bool explains;
  // With explanations: every application that changed the e-graph, as the number of the
  // rule and the classes of its variables.
  eg_u32s applications;
};

/// Appends an application; `vars` are the classes of the rule's variables.
egraph_status eg_symbolic_note_application(eg_symbolic *symbolic, uint32_t rule,
                                           const uint32_t *vars);

#endif
