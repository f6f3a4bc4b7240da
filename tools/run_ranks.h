// egraph run: its flags, and runs of plans, on ranks that are threads or processes,
// trained step by step, timed, and compared with one device.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RUN_RANKS_H
#define EG_TOOLS_RUN_RANKS_H

#include "tools/optimize_call.h"

/// Flags of egraph run.
typedef struct run_flags {
  bool compare, steps, json;
  const char *backend;
  uint64_t threads, repeats, seed;
  load_flags load;
  text_list inputs, outputs;
  // plans
  uint64_t ranks, train; // 0: not given
  const char *channel, *optimizer, *loss, *issue;
  double rate, deadline; // deadline: seconds; 0: not given
  bool verify, no_measure;
  const char *database;
  // training
  training_flags training;
  const char *weights; // model whose weights are begun with
  const char *data;    // batches
  const char *save, *checkpoint, *resume;
} run_flags;

/// Returns whether a plan is to run: a file of one, or a model on ranks.
bool runs_on_ranks(const run_flags *flags, const char *path);
/// An exit status.
int run_on_ranks(const run_flags *flags, const char *path);

#endif
