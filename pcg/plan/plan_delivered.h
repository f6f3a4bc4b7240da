// In which layouts a plan delivers what no step hands to the next.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_DELIVERED_H
#define EG_PCG_PLAN_DELIVERED_H

#include "pcg/plan/plan.h"

/// Whether an output is carried to the next step.
bool eg_plan_is_carried(const eg_plan *plan, uint32_t output);
/// Text for people: a line for each such output that is not whole on every device, five
/// at most, and how many more there are.
egraph_status eg_plan_delivered_print(eg_text *text, const eg_plan *plan);
/// One JSON array, of all such outputs: [{"output", "layout"}]
egraph_status eg_plan_delivered_write_json(eg_text *text, const eg_plan *plan);

#endif
