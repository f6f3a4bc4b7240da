// Work on one model: message passing, roundings, filter and reductions in turn, then an
// attempt to finish it by elimination and search.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_TIGHTEN_H
#define EG_EXTRACT_SHARD_SHARD_TIGHTEN_H

#include "extract/shard/shard_primal.h"

typedef struct eg_shard_tools {
  eg_shard_search *search;
  eg_shard_dual dual;
  eg_shard_primal primal;
  eg_shard_elimination tables;
  eg_shard_enumeration walk;
  double step; // of the prices of the root, where they last stopped
} eg_shard_tools;

typedef struct eg_shard_effort {
  uint32_t sweeps; // per round
  uint32_t rounds;
  size_t cap;      // of a table of the elimination; 0: no attempt
  uint64_t visits; // of the search
  bool root;       // the model is the whole problem: its bound is that of the search
} eg_shard_effort;

void eg_shard_tools_init(eg_shard_tools *tools, eg_shard_search *search);
void eg_shard_tools_deinit(eg_shard_tools *tools);
/// Works on the model until it is closed, the rounds bring little, or time is up. The
/// model's cutoff follows the search's cost. *inout_bound (valid for the model) rises.
egraph_status eg_shard_tighten(eg_shard_tools *tools, eg_shard_model *model,
                               const eg_shard_effort *effort, int64_t *inout_bound);
/// Finite entries, or rather: how large the model is.
size_t eg_shard_size_of(const eg_shard_model *model);

#endif
