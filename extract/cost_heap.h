// Binary min-heap of (cost, item), ties by item: the order of every cheapest-first walk.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_COST_HEAP_H
#define EG_EXTRACT_COST_HEAP_H

#include "base/vec.h"

typedef struct eg_cost_entry {
  double cost;
  uint32_t item;
} eg_cost_entry;

EG_VEC_DEFINE(eg_cost_heap, eg_cost_entry);

/// O(log n). Fails with EGRAPH_E_MEMORY.
egraph_status eg_cost_heap_add(eg_cost_heap *heap, double cost, uint32_t item);
/// Removes and returns the cheapest entry; the heap must not be empty.
eg_cost_entry eg_cost_heap_take(eg_cost_heap *heap);

#endif
