// List scheduling (Graham, "Bounds on multiprocessing timing anomalies", 1969): an idle
// stream runs the first of its ready runs.
//
// A run is *ready* when all runs that it waits for have ended, and its window is open.
// Windows keep gathers from running too far ahead. They are numbered; one run *opens*
// each window when it begins (the reader of a gather), and window w is open once the
// openers of all windows up to w - ahead have begun.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_LIST_SCHEDULE_H
#define EG_PCG_PLAN_LIST_SCHEDULE_H

#include "base/vec.h"

#define EG_RUN_NONE UINT32_MAX

/// A run of the schedule. On stream 0 or on no stream, it begins after all runs
/// of earlier turns on stream 0 have ended. The turns of the runs on stream 0
/// never decrease.
typedef struct eg_run {
  double seconds;
  uint32_t stream; // EG_RUN_NONE: the run takes no time
  uint32_t turn;   // among the turns of stream 0
  uint32_t window; // EG_RUN_NONE: always open
  uint32_t opens;  // EG_RUN_NONE: no window
} eg_run;
EG_VEC_DEFINE(eg_runs, eg_run);

typedef struct eg_list_schedule {
  eg_runs runs;
  eg_u32s waiter, waits_for; // waiter[i] waits for the end of waits_for[i]
  eg_u32s order;             // the schedule: runs in the order in which they begin
  eg_u32s let_in; // [runs] run that opened the window a run waited for; or NONE
  double seconds; // when the last run ends
} eg_list_schedule;

void eg_list_schedule_init(eg_list_schedule *schedule, egraph_allocator alloc);
void eg_list_schedule_deinit(eg_list_schedule *schedule);
/// Lets run `waiter` begin only after run `on` has ended. The caller ensures that waits
/// and the order of turns form no cycle.
egraph_status eg_list_schedule_wait(eg_list_schedule *schedule, uint32_t waiter,
                                    uint32_t on);
/// Schedules all runs: fills `order`, `let_in` and `seconds`. `ahead` >= 1. Fails with
/// EGRAPH_E_INTERNAL where not all runs begin. O((runs + waits) log runs).
egraph_status eg_list_schedule_make(eg_list_schedule *schedule, uint32_t streams,
                                    uint32_t ahead);

#endif
