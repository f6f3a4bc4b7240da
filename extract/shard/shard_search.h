// What a solve knows at any moment: the best choice, certified, the bound, and the clock.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_SEARCH_H
#define EG_EXTRACT_SHARD_SHARD_SEARCH_H

#include "base/hash.h"
#include "extract/shard/shard_model.h"
#include "extract/shard/shard_solve.h"

typedef struct eg_shard_search {
  egraph_allocator alloc;
  const eg_shard_problem *problem;
  const eg_shard_options *options;
  uint32_t disabled;    // passes that are switched off (shard_reduce.h)
  bool tiny;            // small tables and searches (shard_run.h)
  eg_shard_model whole; // the problem, reduced
  eg_shard_model core;  // the same, dense; node i is old_node[i] of `whole`
  eg_u32s old_node;
  eg_u32s choice; // [node of the problem] the best, when cost < EG_SHARD_INFINITE
  int64_t cost, bound, peak;
  double start_seconds, best_seconds, told_seconds;
  bool stopped;
  eg_u32s core_choice; // [node of core] the best one that was offered, as ids
  eg_u32s lifted;      // scratch
  eg_rng rng;
} eg_shard_search;

void eg_shard_search_init(eg_shard_search *search, egraph_allocator alloc,
                          const eg_shard_problem *problem,
                          const eg_shard_options *options);
void eg_shard_search_deinit(eg_shard_search *search);
/// Reduces; `core` is then what has to be solved. Also takes the caller's incumbent.
egraph_status eg_shard_search_start(eg_shard_search *search);
/// Offers a choice (value indices [node]) of a model that descends from `core`. Keeps it
/// when it fits and is cheaper than the best.
/// Fails with EGRAPH_E_INTERNAL when the certificate disagrees.
egraph_status eg_shard_search_offer(eg_shard_search *search, eg_shard_model *model,
                                    const uint32_t *choice, bool *out_better);
/// Raises the bound, never above the cost.
void eg_shard_search_raise(eg_shard_search *search, int64_t bound);
/// Whether to stop: time is up, the caller said so, or bound and cost have met. Calls
/// progress at most ten times a second.
bool eg_shard_search_stop(eg_shard_search *search);
double eg_shard_search_seconds(const eg_shard_search *search);

#endif
