// Runs plans for egraph run: on ranks that are threads or processes, trained step by
// step, timed, and compared with one device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RUN_RANKS_H
#define EG_TOOLS_RUN_RANKS_H

#include "tools/rank_tensors.h"

/// True when a plan will run: the path is a plan, or a model runs on ranks.
bool runs_on_ranks(const run_flags *flags, const char *path);
/// Runs a plan; returns an exit status.
int run_on_ranks(const run_flags *flags, const char *path);

#endif
