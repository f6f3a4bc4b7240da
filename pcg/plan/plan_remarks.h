// What the figures of a plan (pcg/plan/plan_summary.h) do not say: what it was compared
// with, in which layouts it delivers outputs, which splits sizes did not allow, and which
// operators cannot be split.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_REMARKS_H
#define EG_PCG_PLAN_REMARKS_H

#include "pcg/plan/plan_delivered.h"
#include "pcg/plan/plan_uneven.h"
#include "pcg/plan/plan_whole.h"
#include "pcg/plan/plan_why.h"
#include "pcg/plan/plan_worth.h"

/// Text for people, a line per remark, behind an empty one.
egraph_status eg_plan_remarks_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_summary *summary);
/// Members of a JSON object, without its braces:
///   "baselines": eg_plan_rivals_write_json, "uneven": eg_plan_unevens_write_json,
///   "repeated": eg_plan_wholes_write_json, "delivered": eg_plan_delivered_write_json,
///   then eg_plan_worth_write_members
egraph_status eg_plan_remarks_write_members(eg_text *text, const eg_plan *plan);

#endif
