// Depth-first search along an elimination (shard_eliminate.h), exact for memory: it
// closes small models, and solves blocks.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_ENUMERATE_H
#define EG_EXTRACT_SHARD_SHARD_ENUMERATE_H

#include "extract/shard/shard_eliminate.h"
#include "extract/shard/shard_search.h"
#include "extract/shard/shard_slack.h"

typedef struct eg_shard_enumeration {
  eg_shard_slack slack;
  eg_i64s cost;            // of the children, like elimination->values
  eg_u32s child;           // values in the order of their cost, likewise
  eg_u32s at, next, count; // [place]
  eg_i64s sum;             // [place + 1] bound of what is decided
  eg_i64s charge;          // like elimination->values: what memory adds to the sum
  eg_i64s charged;         // [place + 1] that of what is decided
  eg_u32s choice;          // [node]
  eg_u32s found;           // [node] the cheapest found, when better
} eg_shard_enumeration;

void eg_shard_enumeration_init(eg_shard_enumeration *x, egraph_allocator alloc);
void eg_shard_enumeration_deinit(eg_shard_enumeration *x);
/// Visits every choice whose bound by the elimination (which has run) stays below the
/// model's cutoff and that fits, cheapest bound first. One that is cheaper goes to
/// `found`, is offered to the search, and becomes the model's cutoff; *out_better is then
/// set. *out_complete: all were visited, within `limit` visited values.
egraph_status eg_shard_enumerate(eg_shard_enumeration *x, eg_shard_elimination *tables,
                                 eg_shard_search *search, uint64_t limit,
                                 bool *out_better, bool *out_complete);

#endif
