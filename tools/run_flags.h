// Flags of egraph run.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_RUN_FLAGS_H
#define EG_TOOLS_RUN_FLAGS_H

#include "tools/optimize_call.h"

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

#endif
