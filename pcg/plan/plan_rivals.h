// Explains where rivals (baselines) of a plan take longer; writes them in reports
// and files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_RIVALS_H
#define EG_PCG_PLAN_RIVALS_H

#include "pcg/plan/plan_cost.h"

const char *eg_rival_outcome_name(eg_rival_outcome outcome);
bool eg_rival_outcome_find(const char *name, eg_rival_outcome *out);
/// Return the name of the exchange for which a rival takes longer, and find the exchange
/// with that name; "work" (EG_EXCHANGES) is computing.
const char *eg_rival_reason_kind(const eg_rival_reason *reason);
bool eg_rival_reason_find(const char *kind, uint32_t *out_exchange);

/// Fills rival->reasons: the largest differences to the plan in computing and in each
/// exchange, compared by phase, kind and name of the axis.
void eg_plan_rival_explain(eg_plan_rival *rival, const eg_plan_summary *plan,
                           const eg_plan_summary *of_rival);
/// Prints text for people: a line per rival plan; `summary` sums up the plan.
egraph_status eg_plan_rivals_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_summary *summary);
/// Writes a JSON array:
///   [{"name", "outcome", "mesh", "seconds", "memory_bytes", "least_memory_bytes",
///     "excess_bytes", "batch", "parts",
///     "why": [{"kind", "phase", "axis", "seconds", "bytes"}]}]
/// The kind "work" has only seconds; a rival that is too large has excess_bytes; a rival
/// that does not divide has batch (0: no weight divides) and parts.
egraph_status eg_plan_rivals_write_json(eg_text *text, const eg_plan_rivals *rivals);

#endif
