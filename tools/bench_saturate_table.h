// What was measured of one benchmark, as a row of a table or an object of JSON, and the
// comparison of its counts with those expected.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_TABLE_H
#define EG_TOOLS_BENCH_SATURATE_TABLE_H

#include "tools/bench_saturate_peer.h"
#include "tools/bench_saturate_run.h"

enum { MAX_BENCH_REPEATS = 100 };

typedef struct bench_measurement {
  const bench_spec *spec;
  bench_result best;                      // the run with the least CPU seconds
  double seconds[MAX_BENCH_REPEATS];      // CPU, run by run
  double peer_seconds[MAX_BENCH_REPEATS]; // of the peer, in turn with ours
  peer_result peer;                       // its last run
  uint32_t runs, peer_runs;               // peer_runs: 0, or as many
  bool compare_matches;                   // the search was for all matches
} bench_measurement;

/// Counts that differ from those expected, or from the peer's; prints each on `file`
/// unless that is NULL.
uint32_t bench_mismatches(const bench_measurement *m, FILE *file);
void bench_print_head(bool has_peer);
void bench_print_row(const bench_measurement *m, bool has_peer);
/// Nodes, classes and matches after each iteration.
void bench_print_counts(const bench_measurement *m);
void bench_print_json(const bench_measurement *m);

#endif
