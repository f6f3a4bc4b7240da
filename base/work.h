// Work: the deterministic limit of a search. A limit in seconds ends a search earlier on
// a busy machine; a limit of work does not.
//
// A step is an elementary operation: it relaxes an arc, fills an entry of a table, or
// updates a nonzero of a pivot. The loop that makes steps counts them in bulk before it
// ends; a million steps take about a millisecond of one core.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_WORK_H
#define EG_BASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define EG_WORK_UNLIMITED UINT64_MAX

typedef struct eg_work {
  uint64_t done, limit; // steps
} eg_work;

static inline void eg_work_add(eg_work *work, uint64_t steps) {
  work->done = work->done > UINT64_MAX - steps ? UINT64_MAX : work->done + steps;
}
static inline bool eg_work_is_spent(const eg_work *work) {
  return work->done >= work->limit;
}
static inline uint64_t eg_work_left(const eg_work *work) {
  return work->limit > work->done ? work->limit - work->done : 0;
}
/// Returns a part `share` of a limit of work, at least one step; a limit of 0, which
/// means none, stays 0.
static inline uint64_t eg_work_share(uint64_t limit, double share) {
  return limit == 0 ? 0 : 1 + (uint64_t)(share * (double)limit);
}

#endif
