// Makes rules by machine: enumerates terms of a family, pairs terms of one value, drops
// pairs that rules imply, generalizes and verifies the others, smallest first.
//
// Steps and their state: terms below the largest are enumerated again by every run (some
// seconds); candidates, how far they are judged, and the rules kept are in the state
// file, so that a run that was ended goes on.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_GENERATE_H
#define EG_REWRITES_GENERATE_GENERATE_H

#include "rewrites/lab/generate/candidates.h"

typedef struct eg_generate_options {
  const char *family; // a shipped one, or a file
  uint32_t operators; // of a term, 1 to EG_TERM_MAX_SIZE
  uint64_t seed;
  uint32_t threads;          // 0: 1
  size_t byte_limit;         // of enumeration; 0: none
  uint64_t candidates;       // judged in this run, in whole batches of 16; 0: all
  bool is_alone;             // shipped rules imply nothing
  const char *const *beside; // files of rules that imply, too
  size_t beside_count;
  uint64_t beside_hash; // of what is in them; set by the run
  const char *state;    // file; NULL: none
  /// Called with a line of progress; returns true to stop. May be NULL.
  bool (*progress)(void *user, const char *line);
  void *user;
} eg_generate_options;

/// The number of terms, pairs, candidates and rules at each step.
typedef struct eg_generate_report {
  eg_enumeration_counts sizes[EG_TERM_MAX_SIZE];
  eg_candidate_counts sieve;
  uint64_t candidates, judged; // judged: by all runs
  uint64_t implied, refused,
      unsound;           // unsound: the sides differ in type on some instance
  uint64_t minimized;    // implied by rules that were kept later
  uint64_t merged;       // cases of a rule with an operator variable
  uint64_t kept, turned; // rules; those that are both-ways
  uint64_t guards[16];   // rules by eg_guard
  bool is_complete;      // all candidates are judged
  double enumerate_seconds, sift_seconds, judge_seconds; // of this run
} eg_generate_report;

/// Appends a file of rules, with where they come from. Being stopped by `progress` or by
/// `candidates` is a result: the rules up to then. Fails with EGRAPH_E_ARGUMENT (unknown
/// family, byte limit), EGRAPH_E_PARSE (state file of another run, or damaged).
egraph_status eg_rules_generate(const egraph_allocator *alloc,
                                const eg_generate_options *options, eg_text *out,
                                eg_generate_report *report);

#endif
