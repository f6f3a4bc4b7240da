// SPDX-License-Identifier: Apache-2.0
#include "base/proof.h"

#include <math.h>

/// Returns the rounding error that sums of numbers of this size may have.
static double rounding_of(double a, double b) {
  return EG_PROOF_ROUNDING * fmax(fabs(a), fabs(b));
}

egraph_status eg_proof_check_bound(const char *what, double bound, double cost) {
  if ((isinf(cost) && cost > 0) || bound <= cost + rounding_of(bound, cost))
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL,
                 "%.128s: the lower bound %.17g is above the cost %.17g of a solution; "
                 "please report this with the input",
                 what, bound, cost);
}

egraph_status eg_proof_check_equal(const char *what, double claimed, double recomputed) {
  if (claimed == recomputed ||
      fabs(claimed - recomputed) <= rounding_of(claimed, recomputed))
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL,
                 "%.128s: claimed %.17g, but recomputed as %.17g; please report this "
                 "with the input",
                 what, claimed, recomputed);
}
