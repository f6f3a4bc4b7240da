// The claim of a rule with parallel operators: its two sides are one value in one layout.
//
// An assignment gives each variable of the rule a layout on a mesh. It defines a side
// when every operator of the side has a strategy for the layouts of its operands
// (pcg/parallel/strategy.h), and every parallel operator applies to the layout of its
// operand. The claim holds when some assignment defines both sides, and for each such
// assignment both sides have the same layout.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_LAYOUT_CLAIM_H
#define EG_REWRITES_LAYOUT_CLAIM_H

#include "pcg/parallel/strategy.h"
#include "rewrites/language/rule_ast.h"

/// A term in an instance of a rule.
typedef struct eg_claim_term {
  const eg_attrs *attrs; // NULL: a variable
  const eg_type *types;  // types of its results
  uint32_t type_count;
} eg_claim_term;

/// An instance of a rule whose layouts are compared. All pointers are borrowed.
typedef struct eg_claim_case {
  const eg_rule *rule;
  eg_mesh mesh;                // a mesh with the axes of the rule
  const eg_claim_term *terms;  // [rule->term_count]
  const eg_parallel_op *moves; // [rule->move_count]
} eg_claim_case;

typedef enum eg_claim_verdict {
  EG_CLAIM_EMPTY, // no assignment defines both sides
  EG_CLAIM_HOLDS,
  EG_CLAIM_BROKEN, // the sides have different layouts
  EG_CLAIM_LARGE   // there are too many assignments
} eg_claim_verdict;

/// The layouts of all terms in one assignment, before the parallel operators around each
/// term are applied. The arrays are the caller's and have rule->term_count entries.
typedef struct eg_claim_way {
  eg_layout *layouts;
  eg_strategy *strategies; // for operators; other entries are not set. May be NULL
  uint64_t number; // input: the number of the assignment, modulo the count of assignments
} eg_claim_way;

/// Decides whether both sides of one instance have equal layouts. Sets *inout_way (may be
/// NULL) to an assignment that gives both sides the same layout when the claim holds, and
/// to one that gives different layouts when it is broken. Fails with EGRAPH_E_MEMORY.
egraph_status eg_claim_run(const eg_claim_case *of, eg_arena *scratch,
                           eg_claim_way *inout_way, eg_claim_verdict *out);

/// Appends the reason why both sides do not have equal layouts, and the remedy. The
/// reason is the first term without a layout when variables have their likeliest layouts,
/// or else the difference of the sides. Sets *out_move to the parallel operator at fault,
/// or EG_RULE_NONE, and *out_is_size when the only reason is a size that does not divide.
egraph_status eg_claim_explain(const eg_claim_case *of, eg_arena *scratch, eg_text *text,
                               uint32_t *out_move, bool *out_is_size);

#endif
