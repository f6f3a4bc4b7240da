// Finds rules whose sides are equal on a part of their result (PET, OSDI'21): draws
// instances of a rule and finds, for each, the box in which the sides agree.
//
//   sides agree (+) or differ (-)      box: rows [1, 3), columns [0, 3)
//     - - - -
//     + + + -
//     + + + -
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_PARTIAL_H
#define EG_REWRITES_PARTIAL_H

#include "base/vec.h"
#include "rewrites/language/rule_ast.h"

/// One instance of a rule: its sizes and attribute values (named by eg_partial.atoms),
/// and the box of the result in which the rule's sides agree.
typedef struct eg_partial_row {
  const int64_t *atoms;
  int64_t size[EGRAPH_MAX_RANK], from[EGRAPH_MAX_RANK], to[EGRAPH_MAX_RANK];
} eg_partial_row;
EG_VEC_DEFINE(eg_partial_rows, eg_partial_row);

/// Names of an instance's sizes and attribute values: "(dim ?x 2)", "(at ?p 0)", "?n".
EG_VEC_DEFINE(eg_partial_atoms, const char *);

typedef enum eg_partial_outcome {
  EG_PARTIAL_BOXES,      // eg_partial.rows has the boxes
  EG_PARTIAL_UNFIT,      // the pair cannot be compared; `why` has the reason
  EG_PARTIAL_EVERYWHERE, // the sides agree everywhere
  EG_PARTIAL_NOWHERE,    // the sides agree nowhere
  EG_PARTIAL_NO_BOX, // the sides do not agree on a box of more than half of the result
  EG_PARTIAL_FEW     // too few instances
} eg_partial_outcome;

typedef struct eg_partial {
  const eg_rule *rule;
  eg_arena arena;
  uint32_t rank; // rank of the result, in all instances
  eg_partial_atoms atoms;
  eg_partial_rows rows; // instances with a box
  uint32_t instances;   // number of instances compared
  bool *same_shape;     // by term: all its operands have its shape in all instances
  uint32_t *ranks;      // by term: its rank, or EG_RULE_NONE when it has several
  eg_text why;
} eg_partial;

/// Initializes the state without its rule; the caller sets `rule` afterwards.
void eg_partial_init(eg_partial *partial, egraph_allocator alloc);
void eg_partial_deinit(eg_partial *partial);
/// Draws instances of a rule, compares their sides, and finds for each the box of the
/// result in which they agree. `whole` is the name of the left side's result. Equal seeds
/// give equal boxes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_partial_find(eg_partial *inout, const char *whole, uint64_t seed,
                              eg_partial_outcome *out);

// ---- borders (border.c) ---------------------------------------------------------------

// One border of the boxes in which both sides agree, as an expression of sizes and
// attributes: the first form of a fixed table that gives the border of every instance, or
// else a form that stays within the box of every instance.
typedef struct eg_border {
  const char *text;      // an expression, in the arena of the pair
  bool is_exact;         // the expression is the border of every instance
  const int64_t *values; // values by row
} eg_border;

/// Finds an expression for where the box in which both sides agree begins (`is_end`:
/// ends) along an axis. *out_found is false when no form of the table fits.
egraph_status eg_border_find(eg_partial *partial, uint32_t axis, bool is_end,
                             eg_border *out, bool *out_found);

#endif
