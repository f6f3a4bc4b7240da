// Finds better choices: by rounding the dual solution, and by solving blocks of nodes
// while the other nodes are fixed.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_PRIMAL_H
#define EG_EXTRACT_SHARD_SHARD_PRIMAL_H

#include "base/owner.h"
#include "extract/shard/shard_dual.h"
#include "extract/shard/shard_eliminate.h"

enum { EG_SHARD_POOL = 6, EG_SHARD_ARMS = 18 };

/// Gains and effort of one kind of block: nodes solved together, with all others fixed.
typedef struct eg_shard_arm {
  double reward, effort;
} eg_shard_arm;

/// Chooses one of `count` kinds: at random, or the kind with the best rewards per effort.
/// Adds to every kind a share `optimism` of all rewards, and `least_effort`.
uint32_t eg_shard_arm_choose(const eg_shard_arm *arms, uint32_t count, double optimism,
                             double least_effort, eg_rng *rng);
/// Adds a trial to a kind's reward and effort; earlier trials fade by `decay`.
static inline void eg_shard_arm_credit(eg_shard_arm *arm, double decay, double reward,
                                       double effort) {
  arm->reward = decay * arm->reward + reward;
  arm->effort = decay * arm->effort + effort;
}

typedef struct eg_shard_primal {
  eg_shard_search *search;
  eg_shard_model *model;
  eg_shard_elimination tables;
  eg_shard_enumeration walk;
  eg_shard_slack slack;
  int64_t cost; // cost of `best`; EG_SHARD_INFINITE: none
  eg_u32s best; // [node] value, of this model
  eg_u32s ids;  // [node] `best` in ids, across reductions
  eg_u32s pool; // [EG_SHARD_POOL * node] roundings, the oldest is replaced
  uint32_t pool_count, pool_next;
  eg_bytes allowed;
  eg_u32s block;
  eg_bytes in_block;
  eg_doubles kept_price, load;
  eg_shard_arm arms[EG_SHARD_ARMS];
  uint64_t work;
} eg_shard_primal;
EG_OWNER_DEFINE_MEMBERS(eg_shard_primal, (eg_shard_elimination, tables),
                        (eg_shard_enumeration, walk), (eg_shard_slack, slack),
                        (eg_u32s, best, ids, pool, block), (eg_bytes, allowed, in_block),
                        (eg_doubles, kept_price, load))

void eg_shard_primal_init(eg_shard_primal *primal, eg_shard_search *search);
/// Stores the best choice by ids of values, which reductions of the model do not change.
egraph_status eg_shard_primal_leave(eg_shard_primal *primal);
/// Starts on a model, from the search's best choice or, if a value of this choice
/// was removed, from the stored choice. `fresh`: the model does not descend from the
/// last one.
egraph_status eg_shard_primal_enter(eg_shard_primal *primal, eg_shard_model *model,
                                    bool fresh);
/// Offers two choices to the search: the dual's rounding, and one within memory limits.
egraph_status eg_shard_primal_round(eg_shard_primal *primal, const eg_shard_dual *dual);
/// Solves a part of the model and keeps a better choice. The part is the nodes around a
/// random node, or all nodes with the values of recent roundings and the values that the
/// dual rates nearly as good; the dual has swept this model. Kind and size of the part
/// adapt to the gains.
egraph_status eg_shard_primal_improve(eg_shard_primal *primal, const eg_shard_dual *dual,
                                      bool *out_better);

#endif
