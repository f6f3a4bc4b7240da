// Eliminates nodes, one after the other. The minima are exact under the prices of memory
// while no table exceeds a cap. The tables then guide a search that respects the memory
// limits exactly.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_ELIMINATE_H
#define EG_EXTRACT_SHARD_SHARD_ELIMINATE_H

#include "base/owner.h"
#include "extract/shard/shard_dual.h"
#include "extract/shard/shard_model.h"
#include "extract/shard/shard_search.h"

/// The most nodes that an elimination orders: neighbourhoods take a bit per pair
/// of nodes.
#define EG_SHARD_MOST_VARIABLES 8000

/// Sums saturate at this value; the sum of two such values fits.
#define EG_SHARD_CAP (INT64_C(1) << 61)

/// A table over variables, named by their positions in the elimination order, ascending;
/// the index of the first variable changes fastest.
typedef struct eg_shard_factor {
  uint32_t scope, arity; // place in `scopes`
  uint32_t next;         // next factor of the same bucket
  size_t table;          // place in `table`
} eg_shard_factor;
EG_VEC_DEFINE(eg_shard_factors, eg_shard_factor);

typedef struct eg_shard_elimination {
  egraph_allocator alloc;
  eg_shard_model *model;
  eg_shard_prices prices;
  eg_u32s order;       // [place] node
  eg_u32s place;       // [node], or EG_SHARD_NONE: fixed
  eg_u32s fixed;       // [node] value of a fixed node
  eg_u32s value_begin; // [place + 1]
  eg_u32s values;      // allowed values
  eg_shard_factors factors;
  eg_u32s scopes;
  eg_i64s table;
  eg_u32s bucket;        // [place] first factor whose first variable is this place
  eg_u32s result_begin;  // [place + 1] in `results`
  eg_u32s results;       // factors from the elimination of a place
  int64_t constant;      // sum of factors without variables, scaled, without the base
  int64_t bound;         // scaled, without the base
  size_t cap, total_cap; // entries of a table, and of all
  bool too_large;        // gave up: more than total_cap
  bool exact;            // no table was split
  uint64_t work;
  eg_words graph; // scratch of the ordering
  eg_doubles weight;
  eg_u32s trial;
} eg_shard_elimination;
EG_OWNER_DEFINE_STATIC_FROM(eg_shard_elimination, (.alloc = alloc),
                            (eg_shard_prices, prices),
                            (eg_u32s, order, place, fixed, value_begin, values, scopes,
                             bucket, result_begin, results, trial),
                            (eg_shard_factors, factors), (eg_i64s, table),
                            (eg_words, graph), (eg_doubles, weight))

/// Orders the nodes of the model that have more than one allowed value (`allowed`: a flag
/// per value of model->cost; NULL: all). With `held`, fixes a node whose elimination
/// would exceed the cap to held[node] (which must be allowed); without `held`, splits
/// tables, and the minimum becomes a bound. With more than EG_SHARD_MOST_VARIABLES nodes,
/// sets too_large and does not order. Fails with EGRAPH_E_MEMORY.
egraph_status eg_shard_elimination_order(eg_shard_elimination *x, eg_shard_model *model,
                                         const uint8_t *allowed, const uint32_t *held,
                                         size_t cap, size_t total_cap);
/// Eliminates the ordered nodes at the model's memory prices. `bound` is valid for all
/// choices of allowed values that contain the fixed values.
egraph_status eg_shard_elimination_run(eg_shard_elimination *x);
/// Fills choice[node] with the values of least cost by the tables of the elimination.
egraph_status eg_shard_elimination_trace(eg_shard_elimination *x, uint32_t *choice);

static inline uint32_t eg_shard_elimination_width(const eg_shard_elimination *x,
                                                  uint32_t place) {
  return x->value_begin.data[place + 1] - x->value_begin.data[place];
}
/// Returns the entries of a factor's table when its other variables have the values
/// at[position in the order]: one per value of its first variable.
static inline const int64_t *eg_shard_factor_at(const eg_shard_elimination *x,
                                                const eg_shard_factor *factor,
                                                const uint32_t *at) {
  const uint32_t *scope = x->scopes.data + factor->scope;
  size_t offset = 0;
  for (uint32_t i = factor->arity; i-- > 1;)
    offset = (offset + at[scope[i]]) * eg_shard_elimination_width(x, scope[i - 1]);
  return x->table.data + factor->table + offset;
}
static inline int64_t eg_shard_capped(int64_t a, int64_t b) {
  return a + b < EG_SHARD_CAP ? a + b : EG_SHARD_CAP;
}

// ---- search along an elimination ----------------------------------------------------
// Depth-first search along an elimination (shard_eliminate.h), exact for memory: it
// closes small models, and solves blocks.

typedef struct eg_shard_enumeration {
  eg_shard_slack slack;
  eg_i64s cost;            // costs of the children, like elimination->values
  eg_u32s child;           // values in the order of their cost, like elimination->values
  eg_u32s at, next, count; // [place]
  eg_i64s sum;             // [place + 1] bound of the decided places
  eg_i64s charge;          // like elimination->values: part of the sum by memory prices
  eg_i64s charged;         // [place + 1] this part for the decided places
  eg_u32s choice;          // [node]
  eg_u32s found;           // [node] the cheapest choice found, if better
} eg_shard_enumeration;
EG_OWNER_DEFINE_STATIC(eg_shard_enumeration, (eg_shard_slack, slack),
                       (eg_i64s, cost, sum, charge, charged),
                       (eg_u32s, child, at, next, count, choice, found))

/// Visits every choice that fits and whose bound by the elimination (which has run) is
/// below the model's cutoff, cheapest bound first. A cheaper choice goes to `found` and
/// to the search, and its cost becomes the model's cutoff; sets *out_better then.
/// *out_complete: it visited all within `limit` visited values.
egraph_status eg_shard_enumerate(eg_shard_enumeration *x, eg_shard_elimination *tables,
                                 eg_shard_search *search, uint64_t limit,
                                 bool *out_better, bool *out_complete);

#endif
