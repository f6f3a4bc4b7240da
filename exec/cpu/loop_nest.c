// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/loop_nest.h"

#include <assert.h>

static int64_t channels_of_block(const eg_type *type) {
  return (int64_t)eg_format_block((eg_format)type->layout.format);
}

bool eg_type_has_padding(const eg_type *type) {
  return type->layout.format != EG_FORMAT_PLAIN &&
         type->dims[1] % channels_of_block(type) != 0;
}

uint32_t eg_stored_dims(const eg_type *type, int64_t *out_dims, uint32_t *out_logical) {
  static const uint32_t nhwc[] = {0, 2, 3, 1}, blocked[] = {0, 1, 2, 3, 1};
  bool is_blocked = eg_type_is_blocked(type);
  bool is_nhwc = type->layout.format == EG_FORMAT_NHWC;
  uint32_t rank = is_blocked ? 5 : type->rank;
  for (uint32_t i = 0; i < rank; i++) {
    out_logical[i] = is_blocked ? blocked[i] : is_nhwc ? nhwc[i] : i;
    out_dims[i] = type->dims[out_logical[i]];
  }
  if (is_blocked) {
    out_dims[1] = (type->dims[1] + channels_of_block(type) - 1) / channels_of_block(type);
    out_dims[4] = channels_of_block(type);
  }
  return rank;
}

void eg_loop_nest_init(eg_loop_nest *nest, const eg_type *type) {
  uint32_t logical[EG_MAX_LOOPS];
  *nest = (eg_loop_nest){0};
  nest->rank = eg_stored_dims(type, nest->dims, logical);
  int64_t stride = 1;
  for (uint32_t i = nest->rank; i-- > 0;) {
    nest->strides[0][i] = stride;
    stride *= nest->dims[i];
  }
}

// Fills one stride of a row-major operand for each logical dimension of `type`; the last
// dimensions of both correspond.
static void plain_strides(const eg_type *type, const eg_type *operand, int64_t *strides) {
  uint32_t skip = type->rank - operand->rank;
  int64_t stride = 1;
  for (uint32_t d = type->rank; d-- > 0;) {
    strides[d] = 0;
    if (d < skip) continue;
    int64_t dim = operand->dims[d - skip];
    if (dim != 1) strides[d] = stride;
    stride *= dim;
  }
}

bool eg_loop_nest_add(eg_loop_nest *nest, const eg_type *type, uint32_t tensor,
                      const eg_type *operand) {
  assert(tensor < EG_MAX_LOOP_TENSORS && operand->rank <= type->rank);
  int64_t *strides = nest->strides[tensor];
  if (eg_type_same_shape(type, operand) &&
      type->layout.format == operand->layout.format) {
    for (uint32_t i = 0; i < nest->rank; i++)
      strides[i] = nest->strides[0][i];
    return true;
  }
  if (operand->layout.format != EG_FORMAT_PLAIN) return false;
  int64_t plain[EGRAPH_MAX_RANK], dims[EG_MAX_LOOPS];
  uint32_t logical[EG_MAX_LOOPS];
  plain_strides(type, operand, plain);
  uint32_t rank = eg_stored_dims(type, dims, logical);
  for (uint32_t i = 0; i < rank; i++)
    strides[i] = plain[logical[i]];
  if (eg_type_is_blocked(type)) {
    if (plain[1] != 0 && eg_type_has_padding(type)) return false;
    strides[1] = plain[1] * channels_of_block(type);
  }
  return true;
}

static bool contiguous(const eg_loop_nest *nest, uint32_t count, uint32_t outer,
                       uint32_t inner) {
  for (uint32_t t = 0; t < count; t++)
    if (nest->strides[t][outer] != nest->strides[t][inner] * nest->dims[inner])
      return false;
  return true;
}

static void move_loop(eg_loop_nest *nest, uint32_t from, uint32_t to) {
  nest->dims[to] = nest->dims[from];
  for (uint32_t t = 0; t < EG_MAX_LOOP_TENSORS; t++)
    nest->strides[t][to] = nest->strides[t][from];
}

void eg_loop_nest_merge(eg_loop_nest *nest, uint32_t count) {
  assert(count <= EG_MAX_LOOP_TENSORS && nest->rank <= EG_MAX_LOOPS);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < nest->rank; i++) {
    if (nest->dims[i] == 1) continue;
    if (kept != 0 && contiguous(nest, count, kept - 1, i)) {
      int64_t outer = nest->dims[kept - 1];
      move_loop(nest, i, kept - 1);
      nest->dims[kept - 1] *= outer;
    } else {
      move_loop(nest, i, kept++);
    }
  }
  if (kept == 0) {
    nest->dims[0] = 1;
    for (uint32_t t = 0; t < EG_MAX_LOOP_TENSORS; t++)
      nest->strides[t][0] = 1;
    kept = 1;
  }
  nest->rank = kept;
}
