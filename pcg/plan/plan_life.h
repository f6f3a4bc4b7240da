// How long a device holds what a plan makes, in the order of its steps.
//
// Looked at is the last of the micro-batches, in which most is there:
//
//   inputs, constants     the whole step
//   a state of a phase    from its step to its last use; to the end if it is an output
//   what UPDATE uses of   the whole of FORWARD and BACKWARD where there are several
//   an earlier phase      micro-batches: their sum. What the last one adds to it lives
//                         like any state of its phase
//   what is carried       in the storage of its entry, unless that is used later on, or
//                         by the step that makes it, which cannot work in place
//
//   scratch of a step     that step (step_scratch.h): halos, blocks put in order
//
// What stands for several blocks counts once where it is transient, for each elsewhere.
// Every other state has storage of its own: views and work that is done in place count
// twice, so the figures are upper bounds but for what kernels take for themselves, for
// concatenations by rows (operands lie in the result from when the first one is made),
// and for the alignment of each storage (tests/property/test_plan_memory.c).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_LIFE_H
#define EG_PCG_PLAN_LIFE_H

#include "pcg/plan/plan.h"

// What storage is for: id, spelling in files, words.
#define EG_STORE_LIST(X)                                                                 \
  /* entries that the next step gets anew */                                             \
  X(EG_STORE_CARRIED, "carried", "weights, optimizer states")                            \
  X(EG_STORE_INPUT, "inputs", "inputs, constants")                                       \
  X(EG_STORE_STASH, "stashes", "saved for backward") /* made in FORWARD */               \
  X(EG_STORE_ACCUMULATOR, "accumulators", "gradients for the update")                    \
  X(EG_STORE_OUTPUT, "outputs", "outputs") /* to the end, not in an entry's storage */   \
  X(EG_STORE_TRANSIENT, "transient", "temporary") /* made and used in one phase */       \
  X(EG_STORE_SCRATCH, "scratch", "scratch of exchanges") /* of a step, while it runs */
#define EG_STORE_ENUM(id, name, words) id,
typedef enum eg_store { EG_STORE_LIST(EG_STORE_ENUM) EG_STORES } eg_store;
#undef EG_STORE_ENUM
const char *eg_store_name(eg_store store);
const char *eg_store_words(eg_store store); // for people

typedef struct eg_life {
  uint32_t state; // EG_PLAN_NONE: scratch
  eg_store store;
  uint32_t from, until; // steps, both included
  double bytes;         // on one device
} eg_life;
EG_VEC_DEFINE(eg_lives, eg_life);

/// Appends the lives of a plan that passes eg_plan_check: in the order of the states, of
/// which one may have none or two, then scratch in that of the steps.
egraph_status eg_plan_lives(const eg_plan *plan, egraph_allocator alloc, eg_lives *inout);

#endif
