// Presolve: finds the strategies and arcs of a layout problem that may be in a best
// solution of one minimization.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_PRESOLVE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_PRESOLVE_H

#include <math.h>

#include "base/owner.h"
#include "extract/layout/layout_evaluate.h"
#include "extract/layout/layout_solve.h"

/// One minimization: its objective and limits.
typedef struct eg_layout_task {
  eg_layout_measure objective;
  double limit[EG_LAYOUT_MEASURES];    // INFINITY: none
  const eg_layout_solutions *excluded; // solutions to avoid
} eg_layout_task;

/// Returns a task without limits.
static inline eg_layout_task eg_layout_task_of(eg_layout_measure objective) {
  eg_layout_task task = {.objective = objective};
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    task.limit[m] = INFINITY;
  return task;
}

/// True when the task minimizes or limits this measure.
static inline bool eg_layout_counts(const eg_layout_task *task, int measure) {
  return measure == (int)task->objective || isfinite(task->limit[measure]);
}

typedef struct eg_layout_active {
  const eg_layout_view *view;
  eg_bytes strategy, arc;     // still allowed
  eg_bytes used, required;    // [value] reached from the roots; in every solution
  eg_bytes derivable, needed; // [place] can be reached; leads to a need
  bool infeasible;            // no active solution within the cutoff
  eg_u32s waiting, queue;     // scratch
} eg_layout_active;
EG_OWNER_DEFINE_MEMBERS(eg_layout_active,
                        (eg_bytes, strategy, arc, used, required, derivable, needed),
                        (eg_u32s, waiting, queue))

/// Activates strategies and arcs that the user allows. Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_active_init(eg_layout_active *active, egraph_allocator alloc,
                                    const eg_layout_view *view);
/// Copies all flags (of strategies, arcs, values and places) from `from` to `to`, which
/// must belong to the same view.
void eg_layout_active_copy(eg_layout_active *to, const eg_layout_active *from);
/// True when an operator has an active strategy.
bool eg_layout_active_has(const eg_layout_active *active, uint32_t op);
/// Returns the number of used values.
size_t eg_layout_active_values(const eg_layout_active *active);
/// Deletes, until nothing changes: layouts that cannot be produced or are not needed,
/// layouts that a required member of a tie lacks, and strategies and arcs that are
/// dominated in every measure that counts (strategies only when no solution is excluded).
egraph_status eg_layout_presolve(eg_layout_active *active, const eg_layout_task *task);

/// Deletes only layouts that cannot be produced or are not needed; ignores ties
/// and costs.
egraph_status eg_layout_presolve_apart(eg_layout_active *active);

#endif
