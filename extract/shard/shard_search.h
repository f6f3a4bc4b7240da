// The state of a solve: the best choice, certified, the bound, the count of work, and
// the clock.
//
// A search of a block (shard_branch.h) has no problem of its own: its core is given, and
// its choices are checked against this core.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_SEARCH_H
#define EG_EXTRACT_SHARD_SHARD_SEARCH_H

#include "base/hash.h"
#include "base/owner.h"
#include "base/work.h"
#include "extract/shard/shard_model.h"
#include "extract/shard/shard_solve.h"

typedef struct eg_shard_search {
  egraph_allocator alloc;
  const eg_shard_problem *problem; // NULL: a block
  const eg_shard_options *options;
  uint32_t disabled;            // passes that are switched off (shard_model.h)
  bool tiny;                    // small tables and searches (eg_shard_solve_without)
  struct eg_shard_proof *proof; // proof of the bound, or NULL
  eg_shard_model whole;         // the problem, reduced
  eg_shard_model core;          // copy of `whole`; node i is old_node[i] of `whole`
  eg_u32s old_node;
  eg_u32s choice; // [node of the problem] the best, when cost < EG_SHARD_INFINITE
  int64_t cost, bound, peak;
  int64_t checked; // bound of the certificate
  eg_work work;
  double start_seconds, best_seconds, progress_seconds; // the last: of the last call
  bool stopped;
  eg_u32s core_choice; // [node of core] the best choice offered, as ids
  eg_u32s lifted;      // scratch
  eg_rng rng;
} eg_shard_search;
EG_OWNER_DEFINE_MEMBERS(eg_shard_search, (eg_shard_model, whole, core),
                        (eg_u32s, old_node, choice, core_choice, lifted))

void eg_shard_search_init(eg_shard_search *search, egraph_allocator alloc,
                          const eg_shard_problem *problem,
                          const eg_shard_options *options);
/// Starts the search of a block of nodes, whose model `core` the caller has filled:
/// `choice` (its value indices) costs `cost`; work stops at `limit` steps.
egraph_status eg_shard_search_begin_block(eg_shard_search *search,
                                          const eg_shard_search *whole,
                                          const uint32_t *choice, int64_t cost,
                                          uint64_t limit);
/// Takes the caller's incumbent, and reduces the problem to search->core.
egraph_status eg_shard_search_start(eg_shard_search *search);
/// Offers a choice (value indices [node]) of a model that descends from `core`. Keeps the
/// choice when it fits and is cheaper than the best. Fails with EGRAPH_E_INTERNAL when
/// the certificate disagrees.
egraph_status eg_shard_search_offer(eg_shard_search *search, eg_shard_model *model,
                                    const uint32_t *choice, bool *out_better);
/// Raises the lower bound. Fails with EGRAPH_E_INTERNAL when it exceeds the best cost.
egraph_status eg_shard_search_raise(eg_shard_search *search, int64_t bound);
/// Steps of base/work.h per entry of a table, on average over the phases.
enum { EG_SHARD_STEPS_PER_ENTRY = 8 };
/// Counts visited table entries, or other work in the same unit.
static inline void eg_shard_search_work(eg_shard_search *search, uint64_t entries) {
  eg_work_add(&search->work, EG_SHARD_STEPS_PER_ENTRY * entries);
}
/// True when work or time is up, the caller stops, or bound and cost have met. Calls
/// progress at most ten times a second.
bool eg_shard_search_stop(eg_shard_search *search);
double eg_shard_search_seconds(const eg_shard_search *search);

#endif
