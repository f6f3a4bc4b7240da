// The claim of a rule with parallel operators: its two sides are one value in one layout.
//
// An assignment says how the variables of the rule lie on a mesh. It defines a side when
// every operator on it has a strategy for the layouts of its operands
// (pcg/parallel/strategy.h), and every parallel operator takes the layout that it finds.
// The claim holds when some assignment defines both sides, and the sides lie alike for
// each that does.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAYOUT_CLAIM_H
#define EG_REWRITES_LAYOUT_CLAIM_H

#include "pcg/parallel/strategy.h"
#include "rewrites/language/rule_ast.h"

/// A term in an instance of a rule.
typedef struct eg_claim_term {
  const eg_attrs *attrs; // NULL: a variable
  const eg_type *types;  // of its results
  uint32_t type_count;
} eg_claim_term;

/// An instance of a rule. Everything is borrowed.
typedef struct eg_claim_case {
  const eg_rule *rule;
  eg_mesh mesh;                // with the axes of the rule
  const eg_claim_term *terms;  // [rule->term_count]
  const eg_parallel_op *moves; // [rule->move_count]
} eg_claim_case;

typedef enum eg_claim_verdict {
  EG_CLAIM_EMPTY, // no assignment defines both sides
  EG_CLAIM_HOLDS,
  EG_CLAIM_BROKEN, // the sides lie differently
  EG_CLAIM_LARGE   // there are too many assignments
} eg_claim_verdict;

/// The layouts of the terms of an instance in one assignment, inside the parallel
/// operators around each. Caller's memory, [rule->term_count] each.
typedef struct eg_claim_way {
  eg_layout *layouts;
  eg_strategy *strategies; // of operators; other entries are not set. May be NULL
  uint64_t number;         // given: the number of the assignment, modulo their count
} eg_claim_way;

/// Decides the claim for one instance. inout_way (may be NULL) is set where the claim
/// holds to an assignment for which the sides lie alike; where it is broken, to one for
/// which they do not. Fails with EGRAPH_E_MEMORY.
egraph_status eg_claim_run(const eg_claim_case *of, eg_arena *scratch,
                           eg_claim_way *inout_way, eg_claim_verdict *out);

/// Appends why the claim does not hold, with the remedy: the first term without a layout
/// when variables have their likeliest layouts, or the difference of the sides. *out_move
/// is the parallel operator at fault, or EG_RULE_NONE; *out_is_size: the only reason is a
/// size that does not divide.
egraph_status eg_claim_explain(const eg_claim_case *of, eg_arena *scratch, eg_text *text,
                               uint32_t *out_move, bool *out_is_size);

/// Appends the strategies of an operator: layouts of its operands and result.
egraph_status eg_claim_strategies(const eg_claim_case *of, uint32_t term,
                                  eg_arena *scratch, eg_strategies *inout);
/// Applies the parallel operators around a term to a layout: false when one of them,
/// *out_move, does not apply to the layout that it finds, which is *inout then.
bool eg_claim_move(const eg_claim_case *of, uint32_t term, eg_layout *inout,
                   uint32_t *out_move);

#endif
