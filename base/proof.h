// Contradictions between proofs are errors, in every build: if a bound is above the cost
// of a solution, one of the two numbers is wrong. The message contains both.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_PROOF_H
#define EG_BASE_PROOF_H

#include "base/status.h"

/// The relative difference that rounding may make between two computations of the
/// same number.
#define EG_PROOF_ROUNDING 1e-9

/// Checks that a lower bound is at most the cost of a solution. `what` names the problem
/// ("plan of mesh gpu=8"). Fails with EGRAPH_E_INTERNAL. An infinite cost means that
/// there is no solution.
EGRAPH_NODISCARD egraph_status eg_proof_check_bound(const char *what, double bound,
                                                    double cost);
/// Checks that two computations of one number agree up to rounding.
EGRAPH_NODISCARD egraph_status eg_proof_check_equal(const char *what, double claimed,
                                                    double recomputed);

#endif
