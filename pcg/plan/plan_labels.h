// Names of a plan's values for people. A value of the user's model has its own; one that
// training or the rules have made says what it is:
//
//   v25      gradient of w1      what the update of w1 reads of the backward phase
//   opt_0    new w1              what leaves the step as w1
//   v11      loss                an output's name
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_LABELS_H
#define EG_PCG_PLAN_LABELS_H

#include "pcg/plan/plan.h"

typedef struct eg_plan_labels {
  const char **words; // [values], NULL: nothing is known beside the name
  eg_arena arena;
} eg_plan_labels;

/// Whether a name was made up: "v12", "v12_1", "opt_3".
bool eg_name_is_made_up(const char *name);
/// Linear in the plan. Fails with EGRAPH_E_MEMORY; deinit in any case.
egraph_status eg_plan_labels_make(const eg_plan *plan, egraph_allocator alloc,
                                  eg_plan_labels *out);
void eg_plan_labels_deinit(eg_plan_labels *names);

#endif
