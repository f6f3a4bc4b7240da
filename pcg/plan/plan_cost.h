// Computes the cost of a plan: the lives of states on a device, and the exchanges,
// seconds and memory of a step.
//
// A life is the range of steps in which a device holds a state. Lives are listed for the
// last micro-batch, in which a device holds most:
//
//   inputs, constants     the whole step
//   a state of a phase    from its step to its last use; to the end if it is an output
//   a state of an         with several micro-batches, the whole of FORWARD and BACKWARD:
//   earlier phase that    their sum. The summand of the last micro-batch lives like any
//   UPDATE uses           other state of its phase
//   a carried output      in the storage of its entry, unless a later step, or the step
//                         that makes it and cannot work in place, reads the entry
//   scratch of a step     that step (step_scratch.h): halos, blocks put in order
//
// A transient state that represents several blocks counts once; any other state counts
// once for each block. A view (a reshape) has the storage of its operand, which lives as
// long; each other state has its own, except carried outputs: operators that work in
// place count twice. The figures are therefore upper bounds, except for the scratch of
// kernels, for concatenations by rows (operands lie in the result from when the first one
// is made), and for the alignment of each storage (tests/property/test_plan_memory.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_COST_H
#define EG_PCG_PLAN_COST_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

// ---- lives ----------------------------------------------------------------------------

// The purposes for which a device holds bytes: id, spelling in files, words for people.
#define EG_STORE_LIST(X)                                                                 \
  /* entries that the next step receives */                                              \
  X(EG_STORE_CARRIED, "carried", "weights, optimizer states")                            \
  X(EG_STORE_INPUT, "inputs", "inputs, constants")                                       \
  X(EG_STORE_STASH, "stashes", "saved for backward") /* made in FORWARD */               \
  X(EG_STORE_ACCUMULATOR, "accumulators", "gradients for the update")                    \
  X(EG_STORE_OUTPUT, "outputs", "outputs") /* to the end, not in an entry's storage */   \
  X(EG_STORE_TRANSIENT, "transient", "temporary") /* made and used in one phase */       \
  X(EG_STORE_SCRATCH, "scratch", "scratch of exchanges") /* of a step, while it runs */
typedef enum eg_store { EG_STORE_LIST(EG_ENUM_ID) EG_STORES } eg_store;
const char *eg_store_name(eg_store store);
const char *eg_store_words(eg_store store); // for people

typedef struct eg_life {
  uint32_t state; // EG_PLAN_NONE: scratch
  eg_store store;
  uint32_t from, until; // steps, both included
  double bytes;         // on one device
} eg_life;
EG_VEC_DEFINE(eg_lives, eg_life);

/// Appends the lives (steps in which a device holds bytes) of a plan that passes
/// eg_plan_check: up to two of each state, by state; then the scratch of each step.
egraph_status eg_plan_lives(const eg_plan *plan, egraph_allocator alloc, eg_lives *inout);

// ---- sums over the step ---------------------------------------------------------------

/// Sums over the exchanges of one kind in a step of training, over all micro-batches and
/// over all blocks that a plan step represents.
typedef struct eg_exchange_sum {
  uint64_t count;
  double bytes;   // sum of eg_transition_bytes; for halos, the bytes of both sides
  double seconds; // 0 for halos, whose time is in the seconds of their nodes
} eg_exchange_sum;

typedef struct eg_plan_summary {
  uint32_t micro_batches;
  eg_mesh mesh;
  eg_exchange_sum exchange[EG_PHASE_COUNT][EG_MAX_MESH_AXES][EG_EXCHANGES];
  // seconds of a step of training if no exchange overlaps computing
  double node_seconds[EG_PHASE_COUNT]; // including reorders
  double move_seconds[EG_PHASE_COUNT];
  double seconds;
  // bytes of a device
  double most[EG_STORES];    // the most bytes of each store at any step
  double at_peak[EG_STORES]; // bytes of each store at peak_step; their sum is `peak`
  double peak;
  uint32_t peak_step; // the first step with the peak
} eg_plan_summary;

/// Sums up the costs and memory of a plan that passes eg_plan_check.
egraph_status eg_plan_summary_make(const eg_plan *plan, egraph_allocator alloc,
                                   eg_plan_summary *out);
/// Calls `each` with the bytes for each purpose at every step; once without steps.
egraph_status eg_plan_visit_memory(const eg_plan *plan, egraph_allocator alloc,
                                   void (*each)(void *user, uint32_t step,
                                                const double now[EG_STORES]),
                                   void *user);
/// Fills plan->peak_seconds: the time for its operations at the machine's peak speed.
egraph_status eg_plan_find_peak(eg_plan *plan, egraph_allocator alloc,
                                const eg_machine *machine);

#endif
