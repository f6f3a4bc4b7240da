// egraph run of plans: on ranks that are threads or processes, trained step by step,
// timed, and compared with one device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RUN_RANKS_H
#define EG_TOOLS_RUN_RANKS_H

#include "tools/rank_tensors.h"

/// Returns whether a plan is to run: a file of one, or a model on ranks.
bool runs_on_ranks(const run_flags *flags, const char *path);
/// An exit status.
int run_on_ranks(const run_flags *flags, const char *path);

#endif
