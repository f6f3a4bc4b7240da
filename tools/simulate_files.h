// Writes a simulated step to files: a trace for Perfetto and Chrome (chrome://tracing),
// and a report that a browser opens without a network.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_SIMULATE_FILES_H
#define EG_TOOLS_SIMULATE_FILES_H

#include "tools/console.h"

typedef struct report_file {
  const char *name;
  const unsigned char *text; // NUL-terminated
  size_t size;
} report_file;
/// Files of the report's page, in which "@DATA@" is replaced. The list ends with a
/// NULL name.
extern const report_file report_files[];
extern const size_t report_file_count;

/// Names of the orders of issue, as --issue takes them.
extern const char *const issue_names[EGRAPH_ISSUE_SHORTEST];

typedef struct simulated_plan {
  const char *path;
  egraph_plan *plan;
  egraph_exchange_basis basis;
  egraph_rounds rounds;
  egraph_simulation *simulation, *in_order;
} simulated_plan;

/// Writes the Trace Event Format, in microseconds: a complete event for every task that
/// takes time, a row for every stream, a counter of memory. False, with a message, when
/// the file cannot be written.
bool trace_write(const char *path, const simulated_plan *simulated);
/// Writes the report; false, with a message, when the file cannot be written.
bool report_write(const char *path, const simulated_plan *simulated);
/// Writes the members of a JSON object: figures, streams, waits, the length of the
/// critical path, the values held at the peak.
void simulation_json(const simulated_plan *simulated);

#endif
