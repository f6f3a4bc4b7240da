// Replays an explanation: every step must apply one rule to one subterm. The checker
// matches syntactically and uses neither e-graph nor explainer.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_EXPLAIN_CHECK_H
#define EG_EGRAPH_EXPLAIN_CHECK_H

#include "egraph/explain.h"
#include "egraph/pattern.h"

/// An equation that holds for all values of its variables: two terms of a pattern.
typedef struct eg_equation {
  const eg_pattern_term *terms; // children before parents; payloads are 0 or exact
  const uint32_t *children;
  uint32_t left, right; // term indices
  uint32_t var_count;
} eg_equation;

typedef struct eg_check_rules {
  void *user;
  /// Finds the equation that a step's reason names. Returns false when there is none.
  bool (*equation)(void *user, uint32_t reason, eg_equation *out);
  /// True when two ground terms were stated to be equal; called if there is no equation.
  /// May be NULL: no equalities were stated.
  bool (*is_given)(void *user, const eg_ground_terms *terms, uint32_t left,
                   uint32_t right);
} eg_check_rules;

/// Checks every step of an explanation. Fails with EGRAPH_E_INTERNAL naming the first
/// step that is no application of its rule, or does not start at the previous term; or
/// with EGRAPH_E_MEMORY. O(steps * their depth and arities).
egraph_status eg_explanation_check(const eg_explanation *explanation,
                                   const eg_check_rules *rules);

#endif
