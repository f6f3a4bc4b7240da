// One run of a benchmark of saturation, in a process of its own: its memory is then that
// of the benchmark alone.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_RUN_H
#define EG_TOOLS_BENCH_SATURATE_RUN_H

#include "tools/bench_saturate_spec.h"

typedef struct bench_result {
  char stop[24]; // why saturation ended; "" for raw structures
  uint32_t nodes, classes, iterations;
  uint64_t matches; // raw structures: operations
  // Of the timed part, all threads together; the parts of an iteration lie in it.
  double cpu_seconds, wall_seconds, search_seconds, apply_seconds, rebuild_seconds;
  // Resident memory above that before the benchmark: at its peak, and at the end when the
  // heap has given back what it can; and what e-graph (and matches, at their peak; 0 for
  // raw structures) say that they hold.
  uint64_t peak_bytes, kept_bytes, engine_bytes, engine_peak_bytes;
  bench_counts rows[MAX_BENCH_ROWS]; // after each iteration
  uint32_t row_count;
} bench_result;

typedef struct bench_mode {
  const char *taso; // rules as lines "lhs=>rhs", or NULL
  bool naive;
  uint32_t threads;
} bench_mode;

/// False, with a message on standard error, when something fails.
bool bench_run(const bench_spec *spec, const bench_mode *mode, bench_result *out);

#endif
