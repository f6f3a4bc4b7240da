// The public API, part: rewrite rules made by machine. Conventions as in egraph.h, which
// includes this.
//
// A family says which operators, attributes and operands. Terms over
// them are compared in the field of 2^61 - 1 elements; those of one value that no rule
// makes equal become rules, generalized as far as the verifier lets them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EGRAPH_GENERATE_H
#define EGRAPH_GENERATE_H

#include "egraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is generated, and how long.
typedef struct egraph_generate_options {
  size_t size;         // of this struct; set by its default
  const char *family;  // a shipped one (egraph_families_text), or a file *.family
  uint32_t operators;  // of a side at most: 1 to 4
  uint32_t threads;    // of the enumeration; 0: 1. The rules do not depend on it
  uint64_t seed;       // of the points at which terms are compared
  size_t byte_limit;   // of the enumeration; 0: none. Too small a one fails
  uint64_t candidates; // judged in this call, in whole batches of 16; 0: all
  bool alone;          // rules that are shipped are found again, not left out
  const char *state;   // file that a run that was ended goes on from; NULL: none
  /// Called now and then with what is done; returns true to stop. May be NULL.
  bool (*progress)(void *user, const char *line);
  void *user;
  const char *const *beside; // [beside_count] rule files: what they imply is left out
  size_t beside_count;
} egraph_generate_options;
/// The defaults: 2 operators, seed 1.
EGRAPH_OPTIONS_DEFAULT(EGRAPH_GENERATE_OPTIONS, egraph_generate_options)

/// What became of the terms, from the first count to the last.
typedef struct egraph_generate_report {
  uint64_t terms, values;       // computed; different ones
  uint64_t pairs;               // of terms of one value
  uint64_t accidents;           // pairs that differ at other points
  uint64_t instances, repeated; // instances of another pair; that read like another one
  uint64_t candidates, judged;  // what is left; looked at so far, all runs together
  uint64_t implied, refused;    // by rules that are there; by the verifier
  uint64_t unsound;             // kept, and dropped when its sides had different types
  uint64_t minimized;           // kept, and implied by what was kept later
  uint64_t rules, both_ways;    // made; of them those that hold backwards, too
  uint32_t passes;              // over the largest terms, for the limit of memory
  size_t peak_bytes;            // of the enumeration in this call
  double enumerate_seconds, sift_seconds, judge_seconds; // of this call
  bool is_complete;                                      // every candidate is judged
  uint64_t merged; // of those kept, cases of a rule with an operator variable
} egraph_generate_report;

/// Makes rules and hands over a rule file; free with egraph_string_free. Being stopped is
/// a result: the rules up to then. Fails with ARGUMENT (family, operators, byte limit),
/// PARSE (a family or state file) or IO.
EGRAPH_API EGRAPH_NODISCARD egraph_status egraph_rules_generate(
    const egraph_allocator *alloc, const egraph_generate_options *options, char **out,
    egraph_generate_report *out_report);
/// A line for each shipped family: its name, templates, and what it is about; free with
/// egraph_string_free.
EGRAPH_API EGRAPH_NODISCARD egraph_status
egraph_families_text(const egraph_allocator *alloc, char **out);

#ifdef __cplusplus
}
#endif

#endif
