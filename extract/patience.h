// How long a step may go on: until a deadline, or until those who wait for the result
// want it to stop.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PATIENCE_H
#define EG_EXTRACT_PATIENCE_H

#include <stdbool.h>

typedef struct eg_patience {
  double deadline;                // of eg_clock_seconds(); INFINITY: none
  struct eg_incumbent *incumbent; // asked whether to stop; or NULL; borrowed
} eg_patience;

/// Looks at the clock each time, and may call progress (incumbent.h): for places that are
/// passed some 1,000 times a second.
bool eg_patience_ended(const eg_patience *patience);
/// As long as the incumbent wants.
eg_patience eg_patience_of(struct eg_incumbent *incumbent);

#endif
