// Perturbed re-extraction: greedy runs on costs that the best solution so far has bent.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PERTURB_H
#define EG_EXTRACT_PERTURB_H

#include "base/hash.h"
#include "extract/greedy.h"
#include "extract/incumbent.h"

/// `rounds` runs; each improvement goes to the incumbent. Deterministic for a seed. Does
/// nothing above 100,000 nodes. Fails with EGRAPH_E_MEMORY.
egraph_status eg_perturb_run(const eg_greedy *greedy, eg_incumbent *incumbent,
                             uint32_t rounds, uint64_t seed);

#endif
