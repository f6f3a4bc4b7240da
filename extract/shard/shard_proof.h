// The proof of a bound, recorded during the solve, so that another program
// (tools/check_certificate) can derive the bound again from the problem alone. One record
// a line; nodes and strategies are numbered as in the problem:
//
//   cost C | cost none        of the solution
//   choice S ...              its strategies
//   bound B                   the claim; B = cost: no choice is cheaper
//   merge N G                 G is a function of N: add its costs, tables and memory to N
//   memory                    drop strategies that exceed memory even if the others
//                             take least
//   filter SCALE SHIFT        messages in units of 2^-SCALE, prices in units of
//                             2^-(SCALE + SHIFT)
//     price T P               of memory at time T
//     edge A B K S M ... L S M ...
//                             messages from the table of A and B to K strategies
//                             of A and L of B; the others are 0
//   end                       of the filter: drop strategies and pairs above the cost
//   branch N K S ...          two cases: N takes one of these strategies, or none
//   closed                    this case has no cheaper choice
//
// After every record the checker drops strategies without a partner (arc consistency),
// which needs no record. Merging and filtering are monotone: a checker that drops more
// than the solver still accepts the later records.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_PROOF_H
#define EG_EXTRACT_SHARD_SHARD_PROOF_H

#include "base/owner.h"
#include "base/text.h"
#include "extract/shard/shard_model.h"

typedef struct eg_shard_proof {
  eg_text text;
  const eg_shard_model *whole; // NULL: the model is numbered like the problem
  const uint32_t *old_node;    // [node] of `whole`
  size_t begin;                // start of the last filter
  size_t loose, loose_end;     // a filter that removed no strategy; empty: none
  size_t root_end;             // start of the first branch
  int64_t bound;               // bound of the filters so far
  bool branched;
  bool complete; // every case is closed
} eg_shard_proof;
EG_OWNER_DEFINE_STATIC(eg_shard_proof, (eg_text, text))

/// The most bytes of a proof; a longer proof is abandoned.
#define EG_SHARD_PROOF_MOST ((size_t)1 << 28)

egraph_status eg_shard_proof_merge(eg_shard_proof *proof, uint32_t node, uint32_t gone);
egraph_status eg_shard_proof_memory(eg_shard_proof *proof);
/// Writes the prices of a filter by reduced costs: the price of memory row r is
/// price_sum[r + 1] - price_sum[r], in units of 2^-(scale + shift).
egraph_status eg_shard_proof_filter(eg_shard_proof *proof, const eg_shard_model *model,
                                    int scale, int shift, const int64_t *price_sum,
                                    const int64_t *message);
/// Ends the filter; deletes its record when it neither removed a strategy nor raised
/// the bound.
egraph_status eg_shard_proof_filtered(eg_shard_proof *proof, int64_t bound, bool removed);
/// Records a branch: a node takes one of the values in model->keep, or another value.
egraph_status eg_shard_proof_branch(eg_shard_proof *proof, const eg_shard_model *model,
                                    uint32_t node);
egraph_status eg_shard_proof_closed(eg_shard_proof *proof);
/// Returns an upper bound of the cost of choices that contain no forbidden entry;
/// EG_SHARD_INFINITE beyond 2^58.
int64_t eg_shard_proof_most(const eg_shard_problem *problem);
/// Writes the certificate of a choice (NULL: none) that costs `cost`. An incomplete proof
/// is cut before its first branch. *out_bound is the bound that the written proof shows.
egraph_status eg_shard_proof_write(const eg_shard_proof *proof,
                                   const eg_shard_problem *problem,
                                   const uint32_t *choice, int64_t cost, const char *path,
                                   int64_t *out_bound);

#endif
