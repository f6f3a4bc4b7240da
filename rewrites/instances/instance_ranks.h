// The ranks that operand 0 of a node may have, as far as its operator and attributes
// tell.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_RANKS_H
#define EG_REWRITES_VERIFY_RANKS_H

#include "rewrites/instances/instance_choose.h"

enum { EG_VERIFY_FRESH_RANK = 5 }; // at most

typedef struct eg_rank_range {
  uint32_t low, high;
} eg_rank_range;

/// Of the operator alone.
eg_rank_range eg_verify_ranks_of_op(eg_op op);
/// Also of the attributes that are known, and of what is asked of a fresh operand.
eg_rank_range eg_verify_ranks_of_first(const eg_verify_choice *choice);

#endif
