// Public functions that save and restore states of e-graphs of plain terms.
// SPDX-License-Identifier: Apache-2.0
#include "api/require.h"
#include "api/terms.h"

egraph_status egraph_terms_push(egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_symbolic_push(terms->symbolic);
}

egraph_status egraph_terms_pop(egraph_terms *terms) {
  EG_REQUIRE(terms);
  EG_TRY(eg_symbolic_pop(terms->symbolic));
  // Rules that are gone have no statistics.
  eg_saturation_report_deinit(&terms->last);
  return EGRAPH_OK;
}

egraph_status egraph_terms_drop(egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_symbolic_drop(terms->symbolic);
}
