// Attributes of the right side as expressions of the left one, read off several drafts of
// one shape; and conditions under which a draft holds that some instances refute.
//
// Drafts of one shape differ in values of attributes and in sizes only. Values of the
// left side become variables; of the values of the right side expressions are looked for
// that fit all of the drafts. The verifier decides.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_INFER_H
#define EG_REWRITES_GENERATE_INFER_H

#include "rewrites/lab/generate/judge.h"
#include "rewrites/language/rule_ast.h"

/// The attempts, in order; guarded ones take longest.
typedef enum eg_infer_step {
  EG_INFER_PLAIN,        // a variable for every value
  EG_INFER_SHARED_FIRST, // one for values that are equal, and the plainest expressions
  EG_INFER_GUARDED,      // conditions that eg_guard_find finds
  EG_INFER_SHARED,
  EG_INFER_SHARED_GUARDED,
  EG_INFER_STEPS
} eg_infer_step;

/// Makes `draft`, one of the members, the rule of all members where the verifier accepts
/// one. What it refers to is in the arena; a draft that is not accepted is left as it
/// was.
egraph_status eg_infer(const eg_judge_options *options, eg_arena *arena,
                       const eg_draft *const *members, uint32_t count, eg_infer_step step,
                       eg_draft *draft, bool *out_accepted);

// ---- expressions (expressions.c) ------------------------------------------------

// Which expressions of the rule language have given values: a closed list of functions,
// tried on given atoms, smallest first. Values are vectors, one element for each instance
// of a rule. Among expressions that agree on all instances only one is extended; all of
// them are answers.

enum { EG_FIT_OPTIONS = 6, EG_FIT_MEMBERS = 24 };

/// Something that expressions may name: its text, and its value in every instance.
typedef struct eg_fit_atom {
  const char *text;
  const eg_rule_value *values; // [members], all of one kind: INT, INTS or FLOAT
} eg_fit_atom;

/// Values for which an expression is searched.
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

/// Adds options to the targets, and sets `most` of each: the members of the expression
/// that fits most of them. Texts are in the arena. Expressions beyond the limits are not
/// tried. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_expressions_fit(eg_arena *arena, const eg_fit *fit);

#endif
