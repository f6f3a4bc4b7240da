// The public API, part: generation of rewrite rules. Conventions as in egraph.h, which
// includes this.
//
// A family lists operators, attributes and operands. Terms over them are evaluated in the
// field of 2^61 - 1 elements; pairs of terms with equal values that no rule makes equal
// become rules, generalized as far as the verifier accepts them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_GENERATE_H
#define EGRAPH_GENERATE_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Options of the generation of rules.
typedef struct egraph_generate_options {
  size_t size;         // size of this struct; its _default function sets it
  const char *family;  // a shipped family (egraph_families_text), or a file *.family
  uint32_t operators;  // operators per side, at most: 1 to 4
  uint32_t threads;    // threads of the enumeration; 0: 1. The rules do not depend on
                       // their number
  uint64_t seed;       // seed of the points at which terms are compared
  size_t byte_limit;   // bytes of the enumeration; 0: no limit. Generation fails when the
                       // limit is too small
  uint64_t candidates; // candidates to judge in this call, in whole batches of 16; 0: all
  bool alone;          // also find rules that are shipped
  const char *state;   // file from which a stopped run resumes; NULL: none
  /// Called now and then with the progress; returns true to stop. May be NULL.
  bool (*progress)(void *user, const char *line);
  void *user;
  const char *const
      *beside; // [beside_count] rule files; rules that they imply are omitted
  size_t beside_count;
} egraph_generate_options;
/// Defines egraph_generate_options_default: 2 operators, 1 thread, seed 1.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_GENERATE_OPTIONS, egraph_generate_options)

/// Counts of terms and pairs, in the order of the stages.
typedef struct egraph_generate_report {
  uint64_t terms, values;       // terms computed; different values
  uint64_t pairs;               // pairs of terms with equal values
  uint64_t accidents;           // pairs that differ at other points
  uint64_t instances, repeated; // pairs that are instances, or copies, of another pair
  uint64_t candidates, judged;  // remaining pairs; judged so far, over all runs
  uint64_t implied, refused;    // candidates implied by existing rules; refused by
                                // the verifier
  uint64_t unsound;             // dropped later, when its sides had different types
  uint64_t minimized;           // dropped later, implied by rules found after it
  uint64_t rules, both_ways;    // rules returned; of these valid in both directions
  uint32_t passes;              // passes over the largest terms, to respect byte_limit
  size_t peak_bytes;            // peak memory of the enumeration in this call
  double enumerate_seconds, sift_seconds, judge_seconds; // seconds of this call
  bool is_complete;                                      // every candidate is judged
  uint64_t merged; // rules that are cases of a rule with an operator variable
} egraph_generate_report;

/// Generates rules and returns the text of a rule file; free it with egraph_string_free.
/// When stopped, it returns the rules found so far. Fails with ARGUMENT (family,
/// operators, byte limit), PARSE (a family or state file) or IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_generate(
    const egraph_allocator *alloc, const egraph_generate_options *options, char **out,
    egraph_generate_report *out_report);
/// Lists the shipped families, one line each: name, templates, description. Free with
/// egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_families_text(const egraph_allocator *alloc, char **out);

#ifdef __cplusplus
}
#endif

#endif
