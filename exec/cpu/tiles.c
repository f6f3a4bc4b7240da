// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/tiles.h"

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__)
const eg_tile_set *eg_tile_set_at(uint32_t index) {
  const eg_tile_set *sets[3] = {NULL};
  uint32_t count = 0;
  if (__builtin_cpu_supports("avx512f")) sets[count++] = &eg_tiles_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets[count++] = &eg_tiles_avx2;
  return index < count ? sets[index] : NULL;
}
#else
const eg_tile_set *eg_tile_set_at(uint32_t index) {
  (void)index;
  return NULL;
}
#endif
