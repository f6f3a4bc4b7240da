// SPDX-License-Identifier: Apache-2.0
#include "extract/part_clock.h"

#include <stddef.h>

#include "base/clock.h"

void eg_part_clock_start(eg_part_clock *clock, egraph_extract_part part) {
  clock->part = part;
  clock->since = eg_clock_thread_seconds();
}

egraph_extract_part eg_part_enter(eg_part_clock *clock, egraph_extract_part part) {
  if (clock == NULL || clock->part == part) return part;
  egraph_extract_part before = eg_part_clock_stop(clock);
  clock->part = part;
  return before;
}

egraph_extract_part eg_part_clock_stop(eg_part_clock *clock) {
  double now = eg_clock_thread_seconds();
  clock->seconds[clock->part] += now - clock->since;
  clock->since = now;
  return clock->part;
}

void eg_part_clock_merge(eg_part_clock *to, const eg_part_clock *from) {
  for (int i = 0; to != NULL && i < EGRAPH_PART_COUNT; i++)
    to->seconds[i] += from->seconds[i];
}
