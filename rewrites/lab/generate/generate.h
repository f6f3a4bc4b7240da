// Generates rules: enumerates terms of a family, pairs terms with one value, drops pairs
// that rules imply, generalizes and verifies the others, the smallest first.
//
// Every run enumerates terms below the largest size again (some seconds). The state file
// has the candidates, the number of candidates judged and the rules kept, so that a later
// run can continue.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_GENERATE_H
#define EG_REWRITES_GENERATE_GENERATE_H

#include "rewrites/lab/generate/candidates.h"

typedef struct eg_generate_options {
  const char *family; // a shipped family, or a file
  uint32_t operators; // largest number of operators of a term, 1 to EG_TERM_MAX_SIZE
  uint64_t seed;
  uint32_t threads;    // 0: one thread
  size_t byte_limit;   // memory limit of the enumeration; 0: none
  uint64_t candidates; // number to judge in this run, in whole batches of 16; 0: all
  bool is_alone;       // shipped rules are not used to imply candidates
  const char *const *beside; // files of further rules that may imply candidates
  size_t beside_count;
  uint64_t beside_hash; // hash of the contents of these files; set by the run
  const char *state;    // file; NULL: none
  /// Called with a line of progress; returns true to stop. May be NULL.
  bool (*progress)(void *user, const char *line);
  void *user;
} eg_generate_options;

/// The number of terms, pairs, candidates and rules at each step.
typedef struct eg_generate_report {
  eg_enumeration_counts sizes[EG_TERM_MAX_SIZE];
  eg_candidate_counts sieve;
  uint64_t candidates, judged; // judged by all runs
  uint64_t implied, refused,
      unsound;           // sides differ in type on some instance
  uint64_t minimized;    // rules dropped because rules kept later imply them
  uint64_t merged;       // rules merged as cases of a rule with an operator variable
  uint64_t kept, turned; // number of rules, and of both-ways rules among them
  uint64_t guards[16];   // number of rules by eg_guard
  bool is_complete;      // all candidates are judged
  double enumerate_seconds, sift_seconds, judge_seconds; // seconds of this run
} eg_generate_report;

/// Appends a file of rules with their origins. When `progress` or `candidates` stops the
/// run, returns EGRAPH_OK with the rules found by then. Fails with EGRAPH_E_ARGUMENT
/// (unknown family, byte limit), EGRAPH_E_PARSE (state file of another run, or damaged).
egraph_status eg_rules_generate(const egraph_allocator *alloc,
                                const eg_generate_options *options, eg_text *out,
                                eg_generate_report *report);

#endif
