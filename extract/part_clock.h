// Where the CPU time of a solve goes: at every moment exactly one part of it runs.
//
// Parts nest by themselves: a function enters its part and, at its end, the one that ran
// before; what it calls may do the same. For reports only, no result depends on it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PART_CLOCK_H
#define EG_EXTRACT_PART_CLOCK_H

#include "include/egraph.h"

/// Of one thread, which alone may touch it while it runs.
typedef struct eg_part_clock {
  double seconds[EGRAPH_PART_COUNT];
  egraph_extract_part part; // that runs
  double since;             // CPU seconds of this thread
} eg_part_clock;

/// Begins with `part`; what was counted before is kept.
void eg_part_clock_start(eg_part_clock *clock, egraph_extract_part part);
/// Counts what is left and returns the part that ran. From here on `clock` may be read
/// and started again, in another thread too.
egraph_extract_part eg_part_clock_stop(eg_part_clock *clock);
/// `part` runs from now on; returns the part that ran before, to go back to. `clock` may
/// be NULL: nobody counts. Some 0.3 us.
egraph_extract_part eg_part_enter(eg_part_clock *clock, egraph_extract_part part);
static inline void eg_part_back(eg_part_clock *clock, egraph_extract_part before) {
  (void)eg_part_enter(clock, before);
}
/// Adds what `from`, stopped, has counted. `to` may be NULL.
void eg_part_clock_merge(eg_part_clock *to, const eg_part_clock *from);

#endif
