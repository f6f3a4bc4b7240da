// Infers attributes of the right side as expressions of the left side from several drafts
// of one shape, and the conditions under which a draft holds that some instances refute.
//
// Drafts of one shape differ in values of attributes and in sizes only. Values of the
// left side become variables; for values of the right side, the search looks for
// expressions that fit all drafts. The verifier decides.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_INFER_H
#define EG_REWRITES_GENERATE_INFER_H

#include "rewrites/lab/generate/judge.h"
#include "rewrites/language/rule_ast.h"

/// The attempts to infer a rule, in order; those that search for conditions take longest.
typedef enum eg_infer_step {
  EG_INFER_PLAIN,        // one variable for every value
  EG_INFER_SHARED_FIRST, // one variable for equal values, and the simplest expressions
  EG_INFER_GUARDED,      // with conditions found by eg_guard_find
  EG_INFER_SHARED,
  EG_INFER_SHARED_GUARDED,
  EG_INFER_STEPS
} eg_infer_step;

/// Replaces `draft`, one of the drafts `members`, by a rule of which all members are
/// instances when the verifier accepts such a rule; otherwise leaves it as it was. The
/// texts of the draft are in the arena.
egraph_status eg_infer(const eg_judge_options *options, eg_arena *arena,
                       const eg_draft *const *members, uint32_t count, eg_infer_step step,
                       eg_draft *draft, bool *out_accepted);

// ---- expressions (expressions.c) ------------------------------------------------

// Finds expressions of the rule language that have a target's values, from a fixed list
// of functions applied to atoms, the smallest first. Values are vectors, one element for
// each instance of a rule. Among expressions that agree on all instances, only one is
// extended further; all of them are results.

enum { EG_FIT_OPTIONS = 6, EG_FIT_MEMBERS = 24 };

/// A leaf of the expressions to search: its text, and its value in every instance.
typedef struct eg_fit_atom {
  const char *text;
  const eg_rule_value *values; // [members], all of one kind: INT, INTS or FLOAT
} eg_fit_atom;

/// The values, one per instance, that an expression must have; and the expressions found.
typedef struct eg_fit_target {
  const eg_rule_value *values; // [members]
  const char *options[EG_FIT_OPTIONS];
  uint32_t option_count; // number of options; options set by the caller come first
  // Largest set of instances (bits) that one expression fits; it includes eg_fit.must.
  uint32_t most;
} eg_fit_target;

typedef struct eg_fit {
  uint32_t members; // at most EG_FIT_MEMBERS
  uint32_t must;    // member that every expression must fit
  const eg_fit_atom *atoms;
  uint32_t atom_count;
  eg_fit_target *targets;
  uint32_t target_count;
  uint32_t depth; // largest nesting of functions; 0: until every target has an option
} eg_fit;

/// Adds the expressions found to the targets, and sets `most` of each target to the
/// instances that its best expression fits. Texts are in the arena. Expressions beyond
/// the limits are not tried. Fails with EGRAPH_E_MEMORY only.
egraph_status eg_expressions_fit(eg_arena *arena, const eg_fit *fit);

#endif
