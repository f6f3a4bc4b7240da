// Blocks of nodes, solved as problems of their own while all others are held: message
// passing, filter, reductions, elimination and branching with the memory that the others
// leave as capacity. A block may move memory between its nodes and along time, so that
// it goes on gaining where memory is tight everywhere.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_BLOCK_H
#define EG_EXTRACT_SHARD_SHARD_BLOCK_H

#include "extract/shard/shard_branch.h"

enum {
  EG_SHARD_BLOCK_KINDS = 4,
  EG_SHARD_BLOCK_SIZES = 6,
  EG_SHARD_BLOCK_ARMS = EG_SHARD_BLOCK_KINDS * EG_SHARD_BLOCK_SIZES
};

typedef struct eg_shard_block {
  eg_shard_search *whole;
  eg_shard_options options; // of the inner search
  eg_shard_search search;   // of the block: its core is the block
  eg_shard_tools tools;
  eg_shard_branch branch;
  eg_shard_model root;
  const eg_shard_model *model; // that blocks are taken from
  eg_u32s choice;              // [node of model] the best
  int64_t cost;
  eg_i64s left;    // [row] capacity less the load of `choice`
  eg_doubles part; // [node] what its choice costs above its bound, summed up over nodes
  eg_u32s nodes;   // of the block
  eg_u32s place;   // [node of model] in the block, or EG_SHARD_NONE
  eg_u32s values;  // [node of the block] value
  eg_u32s scratch;
  eg_shard_arm arms[EG_SHARD_BLOCK_ARMS]; // [kind][size]
} eg_shard_block;

void eg_shard_block_init(eg_shard_block *block, eg_shard_search *whole);
void eg_shard_block_deinit(eg_shard_block *block);
/// Takes up a choice (value indices) of a model that must stay as it is. `dual` has swept
/// the model and says where the choice costs more than it should; NULL: nowhere.
egraph_status eg_shard_block_enter(eg_shard_block *block, eg_shard_model *model,
                                   const uint32_t *choice, int64_t cost,
                                   const eg_shard_dual *dual);
/// Solves one block; counts its work in the whole search. What is better is offered to
/// the whole search and is the choice from then on.
egraph_status eg_shard_block_improve(eg_shard_block *block, bool *out_better);

#endif
