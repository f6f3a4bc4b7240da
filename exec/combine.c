// In blocks that fit the first-level cache: the result of a block is written when all
// parts of it have been read, so `out` may be one of them.
// SPDX-License-Identifier: Apache-2.0
#include "exec/combine.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 512 };

#define ADD(sum, x) ((sum) + (x))
#define LARGER(most, x) ((((x) > (most)) | ((x) != (x))) ? (x) : (most))

// Elements [from, to), at most BLOCK.
typedef void (*combine_block)(const void *const *parts, uint32_t part_count, size_t from,
                              size_t to, void *out);

#define COMBINE(name, type, combiner)                                                    \
  static void name(const void *const *parts, uint32_t part_count, size_t from,           \
                   size_t to, void *out) {                                               \
    type all[BLOCK];                                                                     \
    for (size_t i = from; i < to; i++)                                                   \
      all[i - from] = ((const type *)parts[0])[i];                                       \
    for (uint32_t p = 1; p < part_count; p++)                                            \
      for (size_t i = from; i < to; i++)                                                 \
        all[i - from] = (type)combiner(all[i - from], ((const type *)parts[p])[i]);      \
    for (size_t i = from; i < to; i++)                                                   \
      ((type *)out)[i] = all[i - from];                                                  \
  }

#define COMBINE_HALF(name, id, combiner)                                                 \
  static void name(const void *const *parts, uint32_t part_count, size_t from,           \
                   size_t to, void *out) {                                               \
    float all[BLOCK];                                                                    \
    for (uint32_t p = 0; p < part_count; p++)                                            \
      for (size_t i = from; i < to; i++) {                                               \
        float x = half_at(id, parts[p], i);                                              \
        all[i - from] = p == 0 ? x : combiner(all[i - from], x);                         \
      }                                                                                  \
    eg_tensor result = {.type = {.dtype = id}, .data = out};                             \
    for (size_t i = from; i < to; i++)                                                   \
      eg_tensor_set_double(&result, (int64_t)i, (double)all[i - from]);                  \
  }

static float half_at(egraph_dtype dtype, const void *data, size_t index) {
  eg_tensor tensor = {.type = {.dtype = dtype}};
  memcpy(&tensor.data, &data, sizeof data); // it is only read
  return (float)eg_tensor_get_double(&tensor, (int64_t)index);
}

// Row: element type, that of sums (unsigned ones wrap, and have the bits of signed ones),
// that of maxima.
#define DIRECT_LIST(X)                                                                   \
  X(FLOAT32, float, float)                                                               \
  X(FLOAT64, double, double)                                                             \
  X(INT8, uint8_t, int8_t)                                                               \
  X(INT16, uint16_t, int16_t)                                                            \
  X(INT32, uint32_t, int32_t)                                                            \
  X(INT64, uint64_t, int64_t)                                                            \
  X(UINT8, uint8_t, uint8_t)                                                             \
  X(UINT16, uint16_t, uint16_t)                                                          \
  X(UINT32, uint32_t, uint32_t)                                                          \
  X(UINT64, uint64_t, uint64_t)
#define HALF_LIST(X)                                                                     \
  X(FLOAT16, uint16_t, uint16_t)                                                         \
  X(BFLOAT16, uint16_t, uint16_t)

#define DIRECT_BLOCKS(id, sum, most)                                                     \
  COMBINE(add_##id, sum, ADD)                                                            \
  COMBINE(larger_##id, most, LARGER)
#define HALF_BLOCKS(id, sum, most)                                                       \
  COMBINE_HALF(add_##id, EGRAPH_##id, ADD)                                               \
  COMBINE_HALF(larger_##id, EGRAPH_##id, LARGER)
DIRECT_LIST(DIRECT_BLOCKS)
HALF_LIST(HALF_BLOCKS)

static const combine_block blocks[EGRAPH_DTYPE_COUNT][2] = {
#define BLOCK_ROW(id, ...) [EGRAPH_##id] = {add_##id, larger_##id},
    DIRECT_LIST(BLOCK_ROW) HALF_LIST(BLOCK_ROW)
#undef BLOCK_ROW
};

void eg_combine(egraph_dtype dtype, eg_combining combining, const void *const *parts,
                uint32_t part_count, size_t count, void *out) {
  combine_block run = blocks[dtype][combining];
  assert(run != NULL && part_count != 0);
  for (size_t from = 0; from < count; from += BLOCK)
    run(parts, part_count, from, count - from < BLOCK ? count : from + BLOCK, out);
}
