// Borders of boxes as expressions of sizes and attributes: of a closed table of forms,
// the first one that gives the border of every instance, or else one that keeps every
// instance within its box.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_BORDER_H
#define EG_REWRITES_BORDER_H

#include "rewrites/lab/correct/partial.h"

typedef struct eg_border {
  const char *text;      // an expression, in the arena of the pair
  bool is_exact;         // it is the border of every instance
  const int64_t *values; // by row
} eg_border;

/// Where the box begins (`is_end`: ends) along an axis. False in *out_found: no form
/// fits.
egraph_status eg_border_find(eg_partial *partial, uint32_t axis, bool is_end,
                             eg_border *out, bool *out_found);

#endif
