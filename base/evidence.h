// How a cost was measured: number of timings, spread, load, date.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_EVIDENCE_H
#define EG_BASE_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

/// How a cost was measured. All 0: not known, as in entries of schema 1 of the profile
/// database and for costs that are not measured.
typedef struct eg_evidence {
  uint32_t samples; // timings, whose median is the cost
  double spread;    // seconds: half of the interquartile range
  double load;      // tasks of other programs during the timings, per core
  int64_t date;     // seconds since 1970
} eg_evidence;

/// The load of other programs at which, and above which, the machine counts as busy.
#define EG_BUSY_LOAD 0.25
static inline bool eg_evidence_is_busy(const eg_evidence *evidence) {
  return evidence->load >= EG_BUSY_LOAD;
}

#endif
