// Containers of the solvers: bit rows over classes and nodes, byte flags, sorting, a
// shuffle, and a heap of costs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_CONTAINERS_H
#define EG_EXTRACT_CONTAINERS_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

EG_VEC_DEFINE(eg_words, uint64_t);
EG_VEC_DEFINE(eg_bytes, uint8_t);

static inline size_t eg_bits_words(size_t bits) { return (bits + 63) / 64; }
static inline bool eg_bits_has(const uint64_t *row, uint32_t bit) {
  return (row[bit >> 6] >> (bit & 63)) & 1;
}
static inline void eg_bits_put(uint64_t *row, uint32_t bit) {
  row[bit >> 6] |= UINT64_C(1) << (bit & 63);
}
static inline void eg_bits_clear(uint64_t *row, uint32_t bit) {
  row[bit >> 6] &= ~(UINT64_C(1) << (bit & 63));
}
/// Returns the position of the lowest bit; word != 0.
static inline uint32_t eg_bits_lowest(uint64_t word) {
#if defined(__GNUC__)
  return (uint32_t)__builtin_ctzll(word);
#else
  uint32_t at = 0;
  while (((word >> at) & 1) == 0)
    at++;
  return at;
#endif
}

/// Resizes `items` to `count` entries and sets each to UINT32_MAX, which means none.
static inline egraph_status eg_fill_none(eg_u32s *items, size_t count) {
  return eg_u32s_fill(items, count, UINT32_MAX);
}

/// Sorts the items and drops repeated items; returns the number that remain.
static inline uint32_t eg_sort_unique(uint32_t *items, size_t count) {
  uint32_t kept = 0;
  if (count > 1) qsort(items, count, sizeof *items, eg_compare_u32s);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || items[kept - 1] != items[i]) items[kept++] = items[i];
  return kept;
}

/// Visits the bits of a row; `bit` is the loop variable. Do not `break` out of the loop.
#define EG_EACH_BIT(row, words, bit)                                                     \
  for (size_t bit##_at = 0; bit##_at < (words); bit##_at++)                              \
    for (uint64_t bit##_left = (row)[bit##_at]; bit##_left != 0;                         \
         bit##_left &= bit##_left - 1)                                                   \
      for (uint32_t bit = (uint32_t)(bit##_at * 64) + eg_bits_lowest(bit##_left),        \
                    bit##_once = 1;                                                      \
           bit##_once != 0; bit##_once = 0)

/// Shuffles the items: every order is equally likely.
static inline void eg_shuffle(eg_rng *rng, uint32_t *items, size_t count) {
  for (size_t i = count; i > 1; i--) {
    size_t j = eg_rng_below(rng, i);
    uint32_t swapped = items[i - 1];
    items[i - 1] = items[j];
    items[j] = swapped;
  }
}

// ---- heap of costs --------------------------------------------------------------------

/// Binary min-heap of (cost, item), ties by item: the order of every cheapest-first walk.
typedef struct eg_cost_entry {
  double cost;
  uint32_t item;
} eg_cost_entry;
EG_VEC_DEFINE(eg_cost_heap, eg_cost_entry);

static inline bool eg_cost_before(eg_cost_entry a, eg_cost_entry b) {
  return a.cost < b.cost || (!(b.cost < a.cost) && a.item < b.item);
}

/// Adds an entry to the heap. O(log n). Fails with EGRAPH_E_MEMORY.
static inline egraph_status eg_cost_heap_add(eg_cost_heap *heap, double cost,
                                             uint32_t item) {
  EG_TRY(eg_cost_heap_push(heap, (eg_cost_entry){cost, item}));
  size_t at = heap->len - 1;
  eg_cost_entry entry = heap->data[at];
  while (at > 0 && eg_cost_before(entry, heap->data[(at - 1) / 2])) {
    heap->data[at] = heap->data[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap->data[at] = entry;
  return EGRAPH_OK;
}

/// Removes and returns the cheapest entry; the heap is not empty. O(log n).
static inline eg_cost_entry eg_cost_heap_take(eg_cost_heap *heap) {
  assert(heap->len != 0);
  eg_cost_entry least = heap->data[0];
  eg_cost_entry last = heap->data[--heap->len];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap->len) break;
    if (child + 1 < heap->len && eg_cost_before(heap->data[child + 1], heap->data[child]))
      child++;
    if (!eg_cost_before(heap->data[child], last)) break;
    heap->data[at] = heap->data[child];
    at = child;
  }
  if (heap->len != 0) heap->data[at] = last;
  return least;
}

#endif
