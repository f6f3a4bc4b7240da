// Another program beside ours. `CMD NAME` runs one benchmark once and prints one line:
//
//   {"bench":"ac7","nodes":1939,"classes":127,"cpu_seconds":0.0045,"peak_bytes":1318912}
//
// cpu_seconds are those of the timed part alone (bench/README.md), peak_bytes are above
// what the process held before it. A peer that lacks a benchmark exits with a status
// other than 0.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_PEER_H
#define EG_TOOLS_BENCH_SATURATE_PEER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct peer_result {
  uint64_t nodes, classes, peak_bytes;
  double cpu_seconds;
} peer_result;

/// `name` consists of letters, digits and -. False when the peer fails; with a message
/// when what it prints is not understood.
bool peer_run(const char *command, const char *name, peer_result *out);

#endif
