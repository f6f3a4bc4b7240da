// Replays the explanation of an optimized graph: checks that the steps alone prove the
// outputs of the given graph equal to the outputs of the result.
//
//   given graph ─────▶ terms ◀──────── explanation: terms, steps (rule, what it matches)
//                        │ each step: match the left sides, check the conditions, build
//                        ▼            the right sides, unite                  rule files
//   result ──follow──▶ terms of the outputs, equal to those of the given graph?
//
// The replay and the search share the readers, the operator table with its types and
// reference kernels, and the functions of rules; the replay has its own matching,
// building and congruence.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_REPLAY_H
#define EG_REWRITES_REPLAY_H

#include "rewrites/language/rules.h"
#include "rewrites/replay/explained.h"
#include "rewrites/replay/replay_terms.h"

/// Sets *out when two records of opaque nodes describe the same operator. Fails
/// with EGRAPH_E_MEMORY.
typedef egraph_status eg_record_compare(egraph_allocator alloc, const void *a,
                                        size_t a_size, const void *b, size_t b_size,
                                        bool *out);

typedef struct eg_replay_input {
  const eg_graph *given, *result;
  const eg_rules *rules; // switched off or not
  const eg_explained *explained;
  size_t max_bytes;                  // most bytes from which a constant may be computed
  eg_record_compare *is_same_record; // NULL: two records are the same if their bytes are
} eg_replay_input;

/// The counts that a replay of an explanation reports.
typedef struct eg_replay_report {
  uint32_t steps, rules, terms, constants; // rules: number of different rules
  egraph_math math;                        // the loosest class of any of the rules
} eg_replay_report;

/// Checks that the result is equal to the given graph. Fails with EGRAPH_E_ARGUMENT,
/// naming the first step, term, output or value that is wrong; EGRAPH_E_UNSUPPORTED (a
/// constant has no kernel), EGRAPH_E_MEMORY. Open dimensions have their first sizes.
egraph_status eg_replay(egraph_allocator alloc, const eg_replay_input *input,
                        eg_replay_report *out);

/// Checks that the outputs of the result graph are the terms `outputs`, value by value.
/// Fails as eg_replay. (replay_result.c)
egraph_status eg_replay_follow(eg_replay_terms *terms, const eg_graph *result,
                               eg_record_compare *is_same_record,
                               const uint32_t *outputs);

#endif
