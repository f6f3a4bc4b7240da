// The state file of a generation of rules: the candidates, the number of candidates
// judged, and the rules generated.
//
//   (egraph-generate 1)
//   (run FAMILY HASH OPERATORS SEED ALONE HASH)
//   (counts N ...)  (next N)
//   (candidates (LEFT RIGHT INSTANCES GUARDED) ...)   codes of terms
//   (rules "text" ...)
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_GENERATE_INTERNAL_H
#define EG_REWRITES_GENERATE_GENERATE_INTERNAL_H

#include "rewrites/lab/generate/generate.h"

/// The text of a generated rule, and the properties that the report counts.
typedef struct eg_kept_rule {
  const char *text;   // text in the arena of the state
  uint32_t candidate; // candidate from which the rule was made
  uint32_t guard;
  bool both_ways;
  bool is_inferred; // made from all candidates of one shape (infer.h)
} eg_kept_rule;
EG_VEC_DEFINE(eg_kept_rules, eg_kept_rule);

typedef struct eg_generate_state {
  eg_arena arena;
  eg_candidates candidates;
  eg_kept_rules rules;
  uint64_t next; // next candidate to judge
} eg_generate_state;

void eg_generate_state_init(eg_generate_state *state, egraph_allocator alloc);
void eg_generate_state_deinit(eg_generate_state *state);

/// Adds a generated rule to the state; the text is copied.
egraph_status eg_generate_state_keep(eg_generate_state *state, const eg_kept_rule *rule);
/// Removes generated rule number `rule` from the state.
void eg_generate_state_drop(eg_generate_state *state, size_t rule);
/// Reads the state file of this run; *out_found is false when there is no file. Checks
/// that candidates are terms of the term space. Fails with EGRAPH_E_PARSE, "FILE: it is
/// the state of another run ...; remove it".
egraph_status eg_generate_state_read(eg_generate_state *state, const char *path,
                                     const eg_generate_options *options,
                                     eg_term_space *space, eg_generate_report *report,
                                     bool *out_found);
/// Replaces the state file in one atomic step.
egraph_status eg_generate_state_write(const eg_generate_state *state, const char *path,
                                      const eg_generate_options *options,
                                      const eg_term_space *space,
                                      const eg_generate_report *report);

// ---- rules that are the same but for one pointwise operator, as one rule with an
// operator variable (merge.c) ----

/// A rule of the output file: a generated rule, or one merged from several.
typedef struct eg_merged_rule {
  const char *text;
  bool both_ways;
  uint32_t count; // number of rules that it replaces
} eg_merged_rule;
EG_VEC_DEFINE(eg_merged_rules, eg_merged_rule);

/// Merges rules that differ in one operator, the largest groups first, when the verifier
/// accepts the rule with a variable for that operator. A merged rule takes the position
/// and the name of its first rule. Texts are in the arena, or texts of `rules`. Fails
/// with EGRAPH_E_MEMORY only.
egraph_status eg_rules_merge(eg_arena *arena, const eg_kept_rules *rules, uint64_t seed,
                             eg_merged_rules *out);

#endif
