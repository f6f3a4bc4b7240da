// Shared functions of reference kernels: element types, places, the last steps
// of contractions.
// SPDX-License-Identifier: Apache-2.0
#include "ops/kernels.h"

#include <assert.h>
#include <string.h>

egraph_status eg_kernel_refuse(const eg_kernel_call *call, egraph_dtype dtype) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s: has no meaning for %s elements; cast the operands first",
                 eg_op_info_of(eg_kernel_op(call))->name, eg_dtype_name(dtype));
}

bool eg_wide_find(egraph_dtype dtype, eg_wide *out) {
#define EG_WIDE_CASE(id, type, sum, name)                                                \
  if (dtype == (name)) {                                                                 \
    *out = EG_WIDE_##id;                                                                 \
    return true;                                                                         \
  }
  EG_WIDE_LIST(EG_WIDE_CASE)
#undef EG_WIDE_CASE
  return false;
}

// ---- places ---------------------------------------------------------------------------

eg_axis_view eg_axis_view_of(const eg_type *type, int64_t axis) {
  uint32_t at = eg_axis_of(type, axis);
  assert(at < type->rank);
  return (eg_axis_view){.outer = eg_dims_product(type->dims, 0, at),
                        .size = type->dims[at],
                        .inner = eg_dims_product(type->dims, at + 1, type->rank)};
}

int64_t eg_dims_product(const int64_t *dims, uint32_t from, uint32_t to) {
  assert(from <= to);
  int64_t product = 1;
  for (uint32_t d = from; d < to; d++)
    product *= dims[d];
  return product;
}

void eg_dims_strides(uint32_t rank, const int64_t *dims, int64_t *out_strides) {
  assert(rank <= EGRAPH_MAX_RANK);
  int64_t stride = 1;
  for (uint32_t d = rank; d-- > 0;) {
    out_strides[d] = stride;
    stride *= dims[d];
  }
}

void eg_elements_copy(const eg_tensor *from, int64_t at, const eg_tensor *to,
                      int64_t place, int64_t count) {
  assert(from->type.dtype == to->type.dtype);
  size_t size = eg_dtype_bytes(to->type.dtype);
  memcpy((unsigned char *)to->data + (size_t)place * size,
         (const unsigned char *)from->data + (size_t)at * size, (size_t)count * size);
}

bool eg_index_next(uint32_t rank, const int64_t *dims, int64_t *index) {
  assert(rank <= EGRAPH_MAX_RANK);
  for (uint32_t d = rank; d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

// ---- the end of contractions ----------------------------------------------------------

// Finishes one row of accumulators: scales, adds bias and z, activates, rounds. All but
// the rounding is computed in the accumulators' type.

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
  assert(finish->addends <= 2 && finish->wide < EG_WIDE_COUNT);
  if (finish->wide == EG_WIDE_F32)
    finish_f32(finish, sums, count, result);
  else if (finish->wide == EG_WIDE_F64)
    finish_f64(finish, sums, count, result);
  else
    finish_int(finish, sums, count, result);
}
