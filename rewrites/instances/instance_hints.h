// What the conditions of a rule say about its variables, so that draws are likely to
// satisfy them; and after which term of the left side each expression can be evaluated.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_HINTS_H
#define EG_REWRITES_VERIFY_HINTS_H

#include "rewrites/language/rule_ast.h"

/// Variables are bits of a word; the operands of a term stand in an array.
enum { EG_VERIFY_MAX_VARS = 64, EG_VERIFY_MAX_OPERANDS = 8 };

typedef enum eg_verify_wish {
  EG_VERIFY_MAYBE,
  EG_VERIFY_YES,
  EG_VERIFY_NO
} eg_verify_wish;

typedef struct eg_verify_hint {
  eg_verify_wish weight, splat;
  uint32_t splat_value;        // expression, or EG_RULE_NONE
  uint32_t equals;             // expression that a value variable must equal, or NONE
  uint32_t min_rank, max_rank; // of a class variable
} eg_verify_hint;

typedef struct eg_verify_hints {
  eg_verify_hint *vars;      // [rule->var_count]
  uint64_t *needs;           // variables that an expression needs, by expression
  uint64_t *bound;           // variables bound once a term is done, by pattern term
  uint32_t *condition_terms; // first pattern term after which a condition can be decided
} eg_verify_hints;

/// Memory comes from the arena. Fails with EGRAPH_E_UNSUPPORTED beyond
/// EG_VERIFY_MAX_VARS.
egraph_status eg_verify_hints_read(const eg_rule *rule, eg_arena *arena,
                                   eg_verify_hints *out);

#endif
