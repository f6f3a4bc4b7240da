// The end of every contraction, on one row of accumulators: scale, add bias and z,
// activate, round. Everything before the rounding happens in the accumulators' type.
// SPDX-License-Identifier: Apache-2.0
#include "ops/kernels.h"

#define FINISH(suffix, type, sum, factor_type)                                           \
  EG_KERNEL_CLONES static void add_##suffix(const eg_addend *addend, sum *sums,          \
                                            size_t count) {                              \
    const type *x = addend->data;                                                        \
    const sum factor = (sum)(factor_type)addend->factor;                                 \
    if (addend->step == 0) {                                                             \
      const sum value = factor * (sum)x[0];                                              \
      for (size_t i = 0; i < count; i++)                                                 \
        sums[i] += value;                                                                \
    } else {                                                                             \
      for (size_t i = 0; i < count; i++)                                                 \
        sums[i] += factor * (sum)x[i];                                                   \
    }                                                                                    \
  }                                                                                      \
  EG_KERNEL_CLONES static void finish_##suffix(const eg_finish *finish, sum *sums,       \
                                               size_t count, type *result) {             \
    const sum scale = (sum)(factor_type)finish->scale;                                   \
    if (scale != 1)                                                                      \
      for (size_t i = 0; i < count; i++)                                                 \
        sums[i] *= scale;                                                                \
    for (uint32_t i = 0; i < finish->addends; i++)                                       \
      add_##suffix(&finish->addend[i], sums, count);                                     \
    if (finish->act.row != NULL) finish->act.row(sums, sums, count, finish->act.params); \
    for (size_t i = 0; i < count; i++)                                                   \
      result[i] = (type)sums[i];                                                         \
  }
FINISH(f32, float, double, double)
FINISH(f64, double, double, double)
FINISH(int, uint64_t, uint64_t, int64_t)

void eg_finish_row(const eg_finish *finish, void *sums, size_t count, void *result) {
  if (finish->wide == EG_WIDE_F32)
    finish_f32(finish, sums, count, result);
  else if (finish->wide == EG_WIDE_F64)
    finish_f64(finish, sums, count, result);
  else
    finish_int(finish, sums, count, result);
}
