// Limits of a search for solutions of a layout problem.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_OPTIONS_H
#define EG_EXTRACT_LAYOUT_LAYOUT_OPTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct eg_layout_options {
  double time_limit_seconds; // > 0
  // Only steps limit parts of the search, not the clock: the result does not depend on
  // the load of the machine
  bool by_work;
  uint64_t work_limit; // steps (base/work.h), the first limit; 0: none
  double relative_gap; // stop when (cost - bound) / cost is at most this
  // Suffices once late_work steps are done, and grows by as much with every
  // EG_LATE_PERIODS * late_work further steps
  double late_gap;
  uint64_t late_work;   // 0: late_gap is unused
  uint64_t work_before; // steps that count as done for the gap, not for the limit
  // > 0: find only a bound, up to this one; may be INFINITY. Solutions of this cost or
  // more are not searched
  double ceiling;
  uint32_t solutions; // number to find, >= 1; cheapest first, all different
  // Strategy per value (EG_LAYOUT_NONE: none); ignored when this is no solution; or NULL
  const uint32_t *incumbent;
  /// Called at most ten times a second, or with by_work at fixed numbers of steps, with
  /// the best cost (INFINITY before there is one) and bound of the current solution; true
  /// stops. May be NULL.
  bool (*progress)(void *user, double cost, double bound, double seconds);
  void *user;
  uint64_t *done; // or NULL; counts the steps of all searches with these options
} eg_layout_options;
#define EG_LAYOUT_OPTIONS_DEFAULT                                                        \
  { .time_limit_seconds = 20.0, .solutions = 1 }

#define EG_LATE_PERIODS 4.0

/// Returns the gap at which a search stops that has done `done` steps.
static inline double eg_layout_gap_after(const eg_layout_options *options,
                                         uint64_t done) {
  double all = (double)done + (double)options->work_before;
  double late = (double)options->late_work;
  if (options->late_work == 0 || all < late) return options->relative_gap;
  double periods = all / late / EG_LATE_PERIODS;
  return fmax(options->relative_gap, options->late_gap * fmax(1, periods));
}

#endif
