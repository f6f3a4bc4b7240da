// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

static double seconds_of(clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double eg_clock_seconds(void) { return seconds_of(CLOCK_MONOTONIC); }
double eg_clock_thread_seconds(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double eg_clock_cpu_seconds(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
