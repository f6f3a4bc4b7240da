// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__) && defined(__GNUC__)
#define EG_VECTOR 8
#define EG_TILE_SET eg_tiles_avx2
#include "exec/cpu/tiles.inc"
#endif
