// Clocks, in seconds. For budgets and reports only: no result depends on them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_CLOCK_H
#define EG_BASE_CLOCK_H

/// Returns monotonic time in seconds.
double eg_clock_seconds(void);
/// Returns CPU seconds of the calling thread.
double eg_clock_thread_seconds(void);
/// Returns CPU seconds of this process, all threads together.
double eg_clock_cpu_seconds(void);

#endif
