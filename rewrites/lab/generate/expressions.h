// Which expressions of the rule language have given values: a closed list of functions,
// tried on given atoms, smallest first.
//
// Values are vectors, one element for each instance of a rule that is looked at. Of
// expressions with the same values on all instances one is built upon; all of them are
// answers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_EXPRESSIONS_H
#define EG_REWRITES_GENERATE_EXPRESSIONS_H

#include "rewrites/language/rule_ast.h"

enum { EG_FIT_OPTIONS = 6, EG_FIT_MEMBERS = 24 };

/// Something that expressions may name: its text, and its value in every instance.
typedef struct eg_fit_atom {
  const char *text;
  const eg_rule_value *values; // [members], all of one kind: INT, INTS or FLOAT
} eg_fit_atom;

/// Values that an expression is looked for of.
typedef struct eg_fit_target {
  const eg_rule_value *values; // [members]
  const char *options[EG_FIT_OPTIONS];
  uint32_t option_count; // those that were there before come first
  uint32_t most;         // bits of the members that one expression fits, eg_fit.must too
} eg_fit_target;

typedef struct eg_fit {
  uint32_t members; // EG_FIT_MEMBERS at most
  uint32_t must;    // member that is never given up
  const eg_fit_atom *atoms;
  uint32_t atom_count;
  eg_fit_target *targets;
  uint32_t target_count;
  uint32_t depth; // functions are nested so deep; 0: until every target has an option
} eg_fit;

/// Adds options to the targets, and says of each which members fit together: those of the
/// expression that fits most of them. Texts are in the arena. What does not fit into the
/// limits is not tried. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_expressions_fit(eg_arena *arena, const eg_fit *fit);

#endif
