// The state of a solve: the best solution of its problem, a lower bound, and the work and
// time that are left. Problems nest: the incumbent of a subproblem or a window reports to
// the incumbent of the problem around it. This file also counts the CPU time of each part
// of a solve.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_INCUMBENT_H
#define EG_EXTRACT_INCUMBENT_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/owner.h"
#include "base/work.h"
#include "extract/containers.h"
#include "extract/problem.h"
#include "include/egraph.h"

// ---- CPU time by part -------------------------------------------------------------

// CPU time of a solve by part: at every moment exactly one part runs.
//
// Parts nest: a function enters its part and, at its end, the part that ran before; the
// functions that it calls may do the same. Only reports use the times; no result depends
// on them.

/// The clock of one thread. While the clock runs, only this thread may access it.
typedef struct eg_part_clock {
  double seconds[EGRAPH_PART_COUNT];
  egraph_extract_part part; // now running
  double since;             // CPU seconds of this thread
} eg_part_clock;

/// Starts the clock in a part of the solve; keeps the seconds counted before.
void eg_part_clock_start(eg_part_clock *clock, egraph_extract_part part);
/// Counts the time since the last change and returns the part that ran. Afterwards
/// `clock` may be read and started again, in another thread too.
egraph_extract_part eg_part_clock_stop(eg_part_clock *clock);
/// Counts time for `part` from now on and returns the part that ran before, for
/// eg_part_back. `clock` may be NULL: the time is not counted. Takes about 0.3 us.
egraph_extract_part eg_part_enter(eg_part_clock *clock, egraph_extract_part part);
static inline void eg_part_back(eg_part_clock *clock, egraph_extract_part before) {
  (void)eg_part_enter(clock, before);
}
/// Runs EG_TRY of a call and counts its time for a part of the solve.
#define EG_TRY_IN_PART(clock, part, call)                                                \
  do {                                                                                   \
    egraph_extract_part eg_before_ = eg_part_enter((clock), (part));                     \
    egraph_status eg_status_ = (call);                                                   \
    eg_part_back((clock), eg_before_);                                                   \
    if (eg_status_ != EGRAPH_OK) return eg_status_;                                      \
  } while (0)
/// Adds the seconds of clock `from`, which is stopped, to `to`. `to` may be NULL.
void eg_part_clock_merge(eg_part_clock *to, const eg_part_clock *from);

// ---- the best solution, the bound, the limits -------------------------------------

typedef struct eg_incumbent {
  const eg_extract_problem *problem;
  const eg_extract_options *options;
  eg_u32s choice;       // [class], meaningful when cost is finite
  double cost;          // INFINITY before the first solution
  double bound;         // valid lower bound of the optimum
  double unit;          // divides every cost; 0: costs are not integers
  eg_work work;         // work of this search and the searches inside
  bool apart;           // the outer incumbent counts this work after the batch
  double start_seconds; // eg_clock_seconds() at the start
  double reserve;       // seconds of the limit kept for the steps after the search
  double asked_seconds; // time of the last call of progress
  atomic_bool asking;   // a thread is calling progress
  atomic_bool stopped;  // deadline passed, gap reached, or progress asked to stop
  eg_part_clock *clock; // clock of the current thread, borrowed; NULL: no time is counted
  /// The problem that contains this one, or NULL. It receives this bound plus outer_rest,
  /// the sum of the bounds of all other parts. outer_rest -INFINITY: it receives no bound
  /// (another thread works on it, or other parts of it have no bound yet).
  struct eg_incumbent *outer;
  double outer_rest;
  /// Cost and bound of the other parts of the outer problem, for the gap;
  /// INFINITY: ignored.
  double rest_cost, rest_bound;
  egraph_status (*on_better)(void *user); // after each improvement, or NULL
  void *on_better_user;
  const eg_cuts *cuts; // rows of nodes that every solution meets, or NULL; borrowed
  struct eg_plain_proof *proof; // proof mode: the record of the search; or NULL
  uint32_t tree_limit; // nodes of a search tree; 0: no limit, and no window search
  eg_bytes color;      // scratch of the evaluation
  eg_u32s stack, cursor, trial;
} eg_incumbent;
EG_OWNER_DEFINE_MEMBERS(eg_incumbent, (eg_u32s, choice, stack, cursor, trial),
                        (eg_bytes, color))

/// Returns the greatest common divisor of the costs when they are integers whose sum is
/// exact in a double; else 0.
double eg_cost_unit_of(const eg_extract_problem *problem);
/// Returns the least multiple of the unit of costs that is not below `bound`, up to
/// rounding; unit 0: returns `bound`.
static inline double eg_round_to_unit(double bound, double unit) {
  return unit > 0 && isfinite(bound) ? ceil(bound / unit - 1e-6) * unit : bound;
}
/// Starts an incumbent and its clock. Borrows both pointers. Fails with EGRAPH_E_MEMORY.
egraph_status eg_incumbent_init(eg_incumbent *incumbent, egraph_allocator alloc,
                                const eg_extract_problem *problem,
                                const eg_extract_options *options);

/// Computes the cost of the classes that the roots need under `choice`; INFINITY when the
/// choice is incomplete or cyclic. Sets classes that are not needed to EG_EXTRACT_NONE.
/// O(classes + edges).
egraph_status eg_incumbent_evaluate(eg_incumbent *incumbent, uint32_t *choice,
                                    double *out_cost);
/// Keeps a copy of `choice` when it is cheaper than the best so far. Fails with
/// EGRAPH_E_INTERNAL when its cost is below the proven bound by more than rounding.
egraph_status eg_incumbent_offer(eg_incumbent *incumbent, const uint32_t *choice,
                                 double *out_cost);
/// Raises the lower bound, rounded up to the unit: no solution that is cheaper than the
/// best one costs less than `bound`.
void eg_incumbent_raise(eg_incumbent *incumbent, double bound);
/// Returns the cutoff: only solutions strictly below it are of interest. It is the next
/// multiple of the unit below the cost, or the cost less a relative 1e-9.
double eg_incumbent_cutoff(const eg_incumbent *incumbent);
/// Returns the cutoff for a best cost of this problem or of a part of it.
double eg_incumbent_cutoff_of(const eg_incumbent *incumbent, double cost);
/// True once the work or a deadline, here or of an outer problem, has passed, the gap is
/// small enough, or the caller wants to stop; calls progress at most ten times a second.
/// Incumbents in several threads may share an outer one if outer_rest is -INFINITY.
bool eg_incumbent_stop(eg_incumbent *incumbent);
/// Adds steps of work to the count of this incumbent; NULL: does nothing.
void eg_incumbent_count(eg_incumbent *incumbent, uint64_t steps);
/// Returns the steps of work left: the least over this problem and the outer ones.
uint64_t eg_incumbent_work_left(const eg_incumbent *incumbent);
/// Returns the seconds to the earliest deadline, for code whose steps cannot be counted.
double eg_incumbent_seconds_left(const eg_incumbent *incumbent);
/// Returns the earliest deadline, here or of an outer problem (eg_clock_seconds()).
double eg_incumbent_deadline(const eg_incumbent *incumbent);

// ---- patience of a step -----------------------------------------------------------

// A limit on the time of a part of the search: the part ends at a deadline, or when the
// incumbent stops.

typedef struct eg_patience {
  double deadline;                // a time of eg_clock_seconds(); INFINITY: none
  struct eg_incumbent *incumbent; // the search to ask whether to stop, borrowed; or NULL
} eg_patience;

/// True when the deadline has passed or the incumbent stops. Reads the clock each time,
/// and may call progress: call it at most some 1,000 times a second.
bool eg_patience_ended(const eg_patience *patience);
/// Returns limits for a step of the search: the deadline of the incumbent, and the
/// incumbent to ask for other reasons to stop.
eg_patience eg_patience_of(struct eg_incumbent *incumbent);

#endif
