// Preloaded into the command: its clock runs 20,000 times as fast, as if others had
// nearly all of the machine.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <string.h>
#include <time.h>

enum { FASTER = 20000, BILLION = 1000000000 };

/// A clock's time by the C library, nanoseconds.
static int read_clock(clockid_t clock, struct timespec *out) {
  int (*get)(clockid_t, struct timespec *);
  void *found = dlsym(RTLD_NEXT, "clock_gettime");
  memcpy(&get, &found, sizeof get);
  return get(clock, out);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  static struct timespec start;
  int status = read_clock(clock, out);
  if (status != 0 || clock != CLOCK_MONOTONIC) return status;
  if (start.tv_sec == 0) start = *out;
  long long passed =
      (long long)(out->tv_sec - start.tv_sec) * BILLION + (out->tv_nsec - start.tv_nsec);
  passed = passed * FASTER + start.tv_nsec;
  out->tv_sec = start.tv_sec + (time_t)(passed / BILLION);
  out->tv_nsec = (long)(passed % BILLION);
  return 0;
}
