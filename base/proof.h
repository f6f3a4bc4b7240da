// Proofs that contradict each other are errors, in every build: a bound above the cost of
// a solution disproves one of the two, and says so with both numbers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_PROOF_H
#define EG_BASE_PROOF_H

#include "base/status.h"

/// Relative rounding that two ways to the same number may differ by.
#define EG_PROOF_ROUNDING 1e-9

/// A lower bound is at most the cost of any solution. `what` names the problem ("plan of
/// mesh gpu=8"). Fails with EGRAPH_E_INTERNAL. Infinite costs stand for no solution.
EGRAPH_NODISCARD egraph_status eg_proof_check_bound(const char *what, double bound,
                                                    double cost);
/// Two computations of one number agree up to rounding.
EGRAPH_NODISCARD egraph_status eg_proof_check_equal(const char *what, double claimed,
                                                    double recomputed);

#endif
