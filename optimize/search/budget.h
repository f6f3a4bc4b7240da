// Common constants of searches that share a limit of work and of time.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_BUDGET_H
#define EG_OPTIMIZE_SEARCH_BUDGET_H

#include "base/work.h"

#define EG_PROVEN_GAP 1e-9      // relative: a bound so close to the cost proves it
#define EG_LEAST_SECONDS 0.01   // of a search, however late it is
#define EG_STEPS_PER_SECOND 1e9 // of work, where only the clock limits

#endif
