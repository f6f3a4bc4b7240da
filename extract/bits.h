// Bit rows over classes and nodes, byte flags, and a shuffle.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_BITS_H
#define EG_EXTRACT_BITS_H

#include <stdbool.h>

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
/// Position of the lowest bit; word != 0.
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

/// A random permutation of the items.
static inline void eg_shuffle(eg_rng *rng, uint32_t *items, size_t count) {
  for (size_t i = count; i > 1; i--) {
    size_t j = eg_rng_below(rng, i);
    uint32_t swapped = items[i - 1];
    items[i - 1] = items[j];
    items[j] = swapped;
  }
}

#endif
