// Runs both sides of an instance of a rule with parallel operators on simulated ranks.
//
// Forward: every variable is cut into parts as an assignment says (layout_claim.h), every
// rank runs its part of every operator, parallel operators move parts between ranks, and
// the parts of each result, joined in the layout of the left side, must equal the left
// side's result on one device, for each copy. A missing reduce therefore shows as the
// partial sum of some rank. Backward: the gradient of a random linear function of the
// results with respect to each variable, through the gradients of the parts of operators
// and the adjoints of parallel operators, must equal the gradient of one device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_RANK_RUN_H
#define EG_REWRITES_RANK_RUN_H

#include "rewrites/lab/claims/layout_claim.h"
#include "rewrites/lab/instances/instance_draw.h"

typedef enum eg_rank_verdict {
  EG_RANK_NOT_RUN, // an operator has no kernel, or there are too many ranks to simulate
  // The results of both sides are equal, but no gradients were compared; the text says
  // why if results are floating-point numbers.
  EG_RANK_FORWARD,
  EG_RANK_BOTH,     // equal forward and backward
  EG_RANK_DIFFERENT // the sides differ; the text says where
} eg_rank_verdict;

/// Runs both sides of a rule's instance on simulated ranks; compares results and
/// gradients. Floating-point types of the instance must be float64 (eg_rank_widen). Equal
/// seeds give equal verdicts. Fails with EGRAPH_E_MEMORY.
egraph_status eg_rank_check(const eg_claim_case *of, const eg_verify_instance *instance,
                            const eg_claim_way *way, uint64_t seed, eg_arena *scratch,
                            eg_text *text, eg_rank_verdict *out);

/// Lists the terms of an instance of a rule in *out, in the arena.
egraph_status eg_rank_terms(const eg_verify_instance *instance, eg_arena *arena,
                            eg_claim_term **out);
/// Changes the floating-point types of terms to float64, so that sums in another order
/// differ by little. Leaves a rule with bit-cast as it is; no rank runs such a rule.
egraph_status eg_rank_widen(const eg_rule *rule, eg_arena *arena, eg_claim_term *terms);

#endif
