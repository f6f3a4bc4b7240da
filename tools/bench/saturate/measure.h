// Runs a saturation benchmark once, in its own process, whose memory is then the
// benchmark's alone. Also runs another program: `CMD NAME` runs one benchmark once and
// prints one line:
//
//   {"bench":"ac7","nodes":1939,"classes":127,"cpu_seconds":0.0045,"peak_bytes":1318912}
//
// cpu_seconds are the seconds of the timed part alone (bench/README.md); peak_bytes are
// the bytes beyond the memory of the process before the timed part. A peer that lacks a
// benchmark exits with a status other than 0.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_MEASURE_H
#define EG_TOOLS_BENCH_SATURATE_MEASURE_H

#include "tools/bench/saturate/benchmark.h"

typedef struct bench_result {
  char stop[24]; // why saturation ended; "" for raw structures
  uint32_t nodes, classes, iterations;
  uint64_t matches; // raw structures: operations
  // Seconds of the timed part, all threads together. search, apply and rebuild are the
  // parts of an iteration in it.
  double cpu_seconds, wall_seconds, search_seconds, apply_seconds, rebuild_seconds;
  // peak_bytes, kept_bytes: resident memory beyond the memory before the benchmark, at
  // its peak, and at the end after the heap has returned free memory. engine_bytes: bytes
  // that the e-graph counts, at the end; engine_peak_bytes: with matches, at their peak
  // (0 where no engine runs).
  uint64_t peak_bytes, kept_bytes, engine_bytes, engine_peak_bytes;
  bench_counts rows[MAX_BENCH_ROWS]; // after each iteration
  uint32_t row_count;
} bench_result;

typedef struct bench_mode {
  const char *taso; // rules as lines "lhs=>rhs", or NULL
  bool naive;
  uint32_t threads;
} bench_mode;

/// Runs a benchmark. False, with a message on standard error, when something fails.
bool bench_run(const bench_spec *spec, const bench_mode *mode, bench_result *out);

typedef struct peer_result {
  uint64_t nodes, classes, peak_bytes;
  double cpu_seconds;
} peer_result;

/// Runs another program's benchmark; `name` consists of letters, digits and -. False when
/// the program fails, with a message when its output is not understood.
bool peer_run(const char *command, const char *name, peer_result *out);

#endif
