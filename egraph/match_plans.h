// What compiles a pattern: shared by pattern.c, which prepares it, and match_plans.c.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_MATCH_PLANS_H
#define EG_EGRAPH_MATCH_PLANS_H

#include "egraph/program.h"

typedef struct eg_compiler {
  eg_matcher *program;
  const eg_pattern *pattern;
  eg_match_plan *plan; // that is made
  uint32_t *order;     // reachable terms, children first
  uint32_t order_count;
  bool *is_ground; // terms
  bool *is_placed; // terms with a step
  bool *is_bound;  // registers
  uint32_t *agenda;
  uint32_t agenda_count;
  uint32_t *above, *above_position, *queue; // path search, per term
  uint32_t max_moves;
} eg_compiler;

static inline uint32_t eg_pattern_child(const eg_pattern *pattern, uint32_t term,
                                        uint32_t position) {
  return pattern->children[pattern->terms[term].children + position];
}
/// 0 for variables.
static inline uint32_t eg_pattern_arity(const eg_pattern *pattern, uint32_t term) {
  return pattern->terms[term].kind == EG_PATTERN_NODE ? pattern->terms[term].arity : 0;
}

/// Makes the plans of a program whose terms are in order. Fails with EGRAPH_E_MEMORY.
egraph_status eg_compiler_make_plans(eg_compiler *c);

#endif
