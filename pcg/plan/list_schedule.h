// List scheduling (Graham, "Bounds on multiprocessing timing anomalies", 1969): a stream
// that has nothing to do runs, of all that is ready, what comes first.
//
// A run is *ready* when what it waits for has ended, and its window is open. Windows keep
// gathers from running too far ahead: they have numbers, each of which one run *opens*
// when it begins (the reader of a gather), and window w is open once those of all windows
// up to w - ahead have begun.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_LIST_SCHEDULE_H
#define EG_PCG_PLAN_LIST_SCHEDULE_H

#include "base/vec.h"

#define EG_RUN_NONE UINT32_MAX

/// Runs stand in the order in which they come.
typedef struct eg_run {
  double seconds;
  uint32_t stream; // EG_RUN_NONE: it takes no time
  uint32_t turn;   // of stream 0 and of no stream: it begins when the runs of stream 0 of
                   // earlier turns have ended. On stream 0 never falling
  uint32_t window; // EG_RUN_NONE: always open
  uint32_t opens;  // EG_RUN_NONE: no window
} eg_run;
EG_VEC_DEFINE(eg_runs, eg_run);

typedef struct eg_list_schedule {
  eg_runs runs;
  eg_u32s waiter, waits_for; // one waits for the end of the other
  // The schedule:
  eg_u32s order;  // runs as they begin
  eg_u32s let_in; // [runs] the run whose beginning opened the window of a run;
                  // EG_RUN_NONE: nothing had to
  double seconds; // when the last run ends
} eg_list_schedule;

void eg_list_schedule_init(eg_list_schedule *schedule, egraph_allocator alloc);
void eg_list_schedule_deinit(eg_list_schedule *schedule);
/// `waiter` waits for the end of `on`. Together with the order of the streams' turns
/// there is no cycle.
egraph_status eg_list_schedule_wait(eg_list_schedule *schedule, uint32_t waiter,
                                    uint32_t on);
/// Fills `order`, `let_in` and `seconds`. `ahead` >= 1. Fails with EGRAPH_E_INTERNAL
/// where not all runs begin. O((runs + waits) log runs).
egraph_status eg_list_schedule_make(eg_list_schedule *schedule, uint32_t streams,
                                    uint32_t ahead);

#endif
