// Runs this very command as a child process, and says what it used and printed: a crash,
// or a limit, of one measurement then leaves the others alone.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_CHILD_H
#define EG_TOOLS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct child {
  pid_t pid; // 0: none
  FILE *output, *errors;
  double started, patience; // seconds
  bool killed;
} child;

typedef struct child_end {
  bool killed; // by us: patience ran out
  int exit;    // exit status, or -signal
  double wall_seconds, cpu_seconds;
  uint64_t peak_bytes; // of resident memory
  char *output;        // all of standard output; free() it
  char *message;       // last line of standard error; free() it
} child_end;

/// Starts `egraph arguments...` (NULL-terminated). False, with a message on standard
/// error, when that fails.
bool child_start(child *c, const char *const *arguments, double patience_seconds);
/// Whether it has ended; then fills `out` and frees the slot. Kills it when its patience
/// is at an end.
bool child_poll(child *c, child_end *out);

#endif
