// Branch and bound over reduced models: the values of a node are split in two.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_BRANCH_H
#define EG_EXTRACT_SHARD_SHARD_BRANCH_H

#include "extract/shard/shard_tighten.h"

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
/// Adds a copy of the model. Fails with EGRAPH_E_MEMORY.
egraph_status eg_shard_branch_add(eg_shard_branch *branch, const eg_shard_model *model,
                                  int64_t bound);
/// Drops what is open.
void eg_shard_branch_clear(eg_shard_branch *branch);
/// Works on the newest open model; closes it, or puts its two halves there instead. With
/// nothing left the search's bound meets its cost.
egraph_status eg_shard_branch_step(eg_shard_branch *branch);

#endif
