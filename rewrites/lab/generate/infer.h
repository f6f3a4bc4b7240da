// Attributes of the right side as expressions of the left one, read off several drafts of
// one shape; and conditions under which a draft holds that some instances refute.
//
// Drafts of one shape differ in values of attributes and in sizes only. Values of the
// left side become variables; of the values of the right side expressions are looked for
// that fit all of the drafts. The verifier decides.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_INFER_H
#define EG_REWRITES_GENERATE_INFER_H

#include "rewrites/lab/generate/expressions.h"
#include "rewrites/lab/generate/judge.h"

/// What is tried, in this order; what is guarded takes longest.
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

#endif
