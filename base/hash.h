// Hash functions of contents (never of addresses), and the seeded random generator.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_HASH_H
#define EG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/// Mixes all bits of a number (the finalizer of splitmix64).
static inline uint64_t eg_hash_mix(uint64_t x) {
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/// Combines two hashes. The result depends on their order, and differs for (1, 4) and (2,
/// 3), because operators and ids are small numbers.
static inline uint64_t eg_hash_combine(uint64_t seed, uint64_t value) {
  return eg_hash_mix((seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + value);
}

static inline uint64_t eg_hash_bytes(uint64_t seed, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i++)
    seed = (seed ^ bytes[i]) * UINT64_C(0x100000001b3);
  return eg_hash_mix(seed ^ size);
}

/// A small deterministic random generator (splitmix64). The same seed gives the same
/// sequence on every machine.
typedef struct eg_rng {
  uint64_t state;
} eg_rng;

static inline uint64_t eg_rng_next(eg_rng *rng) {
  rng->state += UINT64_C(0x9e3779b97f4a7c15);
  return eg_hash_mix(rng->state);
}
/// Returns a uniform number in [0, bound); bound > 0. The bias is below bound / 2^64.
static inline uint64_t eg_rng_below(eg_rng *rng, uint64_t bound) {
  return eg_rng_next(rng) % bound;
}
/// Returns a uniform number in [0, 1).
static inline double eg_rng_unit(eg_rng *rng) {
  return (double)(eg_rng_next(rng) >> 11) * 0x1.0p-53;
}

#endif
