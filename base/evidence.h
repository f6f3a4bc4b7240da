// The evidence of a measured cost.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_EVIDENCE_H
#define EG_BASE_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

/// All 0: nothing is known (an entry of schema 1, a cost of another source).
typedef struct eg_evidence {
  uint32_t samples; // timings, whose median is the cost
  double spread;    // seconds: half of what lies between the quartiles
  double load;      // tasks of others that ran meanwhile, per core
  int64_t date;     // seconds since 1970
} eg_evidence;

/// From so much load on, a measurement is one of a busy machine.
#define EG_BUSY_LOAD 0.25
static inline bool eg_evidence_is_busy(const eg_evidence *evidence) {
  return evidence->load >= EG_BUSY_LOAD;
}

#endif
