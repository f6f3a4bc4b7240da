// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/tiles.h"

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__)
const eg_tile_set *eg_tile_set_of_host(void) {
  if (__builtin_cpu_supports("avx512f")) return &eg_tiles_avx512;
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has_avx2 ? &eg_tiles_avx2 : NULL;
}
#else
const eg_tile_set *eg_tile_set_of_host(void) { return NULL; }
#endif
