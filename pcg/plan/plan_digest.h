// A number that tells plans apart, for ranks that have read theirs themselves.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_DIGEST_H
#define EG_PCG_PLAN_DIGEST_H

#include "pcg/plan/plan.h"

/// Of what decides how a plan runs, as far as a file of it tells: the graph in its text
/// form, mesh, states and steps, but not seconds and rivals. Fails with EGRAPH_E_MEMORY.
egraph_status eg_plan_digest(const eg_plan *plan, egraph_allocator alloc, uint64_t *out);

#endif
