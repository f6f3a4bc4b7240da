// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_search.h"

egraph_status eg_layout_improve(eg_layout_search *search,
                                const eg_layout_active *active) {
  (void)search;
  (void)active;
  return EGRAPH_OK;
}
