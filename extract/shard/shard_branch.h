// Tightens one model in rounds of reductions, message passing and filters; and branches
// and bounds over models: a branch splits the values of a node in two.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_BRANCH_H
#define EG_EXTRACT_SHARD_SHARD_BRANCH_H

#include "extract/shard/shard_primal.h"

// ---- one model --------------------------------------------------------------------

// Tightens one model by message passing, roundings, filter and reductions in turn; then
// tries to finish it by elimination and search.

typedef struct eg_shard_tools {
  eg_shard_search *search;
  eg_shard_dual dual;
  eg_shard_primal primal;
  eg_shard_elimination tables;
  eg_shard_enumeration walk;
  double step; // last step of the root's prices
} eg_shard_tools;

typedef struct eg_shard_effort {
  uint32_t sweeps; // per round
  uint32_t rounds;
  size_t cap;      // most entries of a table of the elimination; 0: no attempt
  uint64_t visits; // most visits of the search
  bool root;       // the model is the whole problem: its bound is the search's
} eg_shard_effort;

void eg_shard_tools_init(eg_shard_tools *tools, eg_shard_search *search);
void eg_shard_tools_deinit(eg_shard_tools *tools);
/// Tightens the model until nothing below the cutoff is left, the rounds gain little, or
/// time is up. Sets the model's cutoff to the search's best cost. Raises *inout_bound.
egraph_status eg_shard_tighten(eg_shard_tools *tools, eg_shard_model *model,
                               const eg_shard_effort *effort, int64_t *inout_bound);
/// Returns the size of the model: values plus table entries.
size_t eg_shard_size_of(const eg_shard_model *model);

// ---- branching --------------------------------------------------------------------

typedef struct eg_shard_open {
  eg_shard_model model;
  int64_t bound;
} eg_shard_open;
EG_VEC_DEFINE(eg_shard_opens, eg_shard_open);

typedef struct eg_shard_branch {
  eg_shard_tools *tools;
  eg_shard_opens open;
} eg_shard_branch;

void eg_shard_branch_init(eg_shard_branch *branch, eg_shard_tools *tools);
void eg_shard_branch_deinit(eg_shard_branch *branch);
/// Adds a copy of the model to the open subproblems. Fails with EGRAPH_E_MEMORY.
egraph_status eg_shard_branch_add(eg_shard_branch *branch, const eg_shard_model *model,
                                  int64_t bound);
/// Drops all open subproblems.
void eg_shard_branch_clear(eg_shard_branch *branch);
/// Tightens the newest open subproblem; closes it, or replaces it by two, each with half
/// of the values of a node. When none is open the search's bound meets its cost.
egraph_status eg_shard_branch_step(eg_shard_branch *branch);

// ---- blocks -------------------------------------------------------------------------
// Blocks of nodes, solved as problems of their own while all other nodes are fixed:
// message passing, filter, reductions, elimination and branching, with the memory that
// the other nodes leave as capacity. A block may move memory between its nodes and along
// time, so that it still gains when memory is tight everywhere.

enum {
  EG_SHARD_BLOCK_KINDS = 4,
  EG_SHARD_BLOCK_SIZES = 6,
  EG_SHARD_BLOCK_ARMS = EG_SHARD_BLOCK_KINDS * EG_SHARD_BLOCK_SIZES
};

typedef struct eg_shard_block {
  eg_shard_search *whole;
  eg_shard_options options; // options of the inner search
  eg_shard_search search;   // search of the block: its core is the block
  eg_shard_tools tools;
  eg_shard_branch branch;
  eg_shard_model root;
  const eg_shard_model *model; // source of the blocks
  eg_u32s choice;              // [node of model] the best
  int64_t cost;
  eg_i64s left;    // [row] capacity less the load of `choice`
  eg_doubles part; // [node] excess of choices over the bound, summed up over nodes
  eg_u32s nodes;   // nodes of the block
  eg_u32s place;   // [node of model] in the block, or EG_SHARD_NONE
  eg_u32s values;  // [node of the block] value
  eg_u32s scratch;
  eg_shard_arm arms[EG_SHARD_BLOCK_ARMS]; // [kind][size]
} eg_shard_block;

void eg_shard_block_init(eg_shard_block *block, eg_shard_search *whole);
void eg_shard_block_deinit(eg_shard_block *block);
/// Starts a search that improves a choice (the index of a value per node) block by block;
/// the model must not change meanwhile. `dual` is the dual solution after a sweep, or
/// NULL: nodes whose choice costs more than its bound are in more of the random blocks.
egraph_status eg_shard_block_enter(eg_shard_block *block, eg_shard_model *model,
                                   const uint32_t *choice, int64_t cost,
                                   const eg_shard_dual *dual);
/// Solves one block of nodes, with all others fixed, and adds its work to the whole
/// search. Offers a better choice to the whole search and keeps it as `choice`.
egraph_status eg_shard_block_improve(eg_shard_block *block, bool *out_better);

#endif
