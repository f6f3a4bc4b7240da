// SPDX-License-Identifier: Apache-2.0
#include "extract/cost_heap.h"

#include <stdbool.h>

static bool before(eg_cost_entry a, eg_cost_entry b) {
  return a.cost < b.cost || (!(b.cost < a.cost) && a.item < b.item);
}

egraph_status eg_cost_heap_add(eg_cost_heap *heap, double cost, uint32_t item) {
  EG_TRY(eg_cost_heap_push(heap, (eg_cost_entry){cost, item}));
  size_t at = heap->len - 1;
  eg_cost_entry entry = heap->data[at];
  while (at > 0 && before(entry, heap->data[(at - 1) / 2])) {
    heap->data[at] = heap->data[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap->data[at] = entry;
  return EGRAPH_OK;
}

eg_cost_entry eg_cost_heap_take(eg_cost_heap *heap) {
  assert(heap->len != 0);
  eg_cost_entry least = heap->data[0];
  eg_cost_entry last = heap->data[--heap->len];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap->len) break;
    if (child + 1 < heap->len && before(heap->data[child + 1], heap->data[child]))
      child++;
    if (!before(heap->data[child], last)) break;
    heap->data[at] = heap->data[child];
    at = child;
  }
  if (heap->len != 0) heap->data[at] = last;
  return least;
}
