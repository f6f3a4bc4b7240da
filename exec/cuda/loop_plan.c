// The strides of operands in a loop over a result, and loops with fewer dimensions.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/strided.h"

#include <assert.h>

void eg_spread_strides(const eg_type *result, const eg_type *operand, int64_t *out) {
  assert(operand->rank <= result->rank);
  int64_t own[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(operand, own);
  uint32_t lead = result->rank - operand->rank;
  for (uint32_t d = 0; d < result->rank; d++)
    out[d] = d < lead || operand->dims[d - lead] == 1 ? 0 : own[d - lead];
}

void eg_loop_add(eg_loop_plan *plan, int64_t dim, const int64_t *strides) {
  assert(plan->rank < 2 * EGRAPH_MAX_RANK && plan->tensors <= EG_LOOP_TENSORS);
  uint32_t d = plan->rank++;
  plan->dims[d] = dim;
  for (uint32_t t = 0; t < plan->tensors; t++)
    plan->strides[t][d] = strides[t];
}

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

// Sorts dimensions (insertion sort) by the strides of tensor 0, largest first; equal
// strides keep their order.
static void sort_dims(const eg_loop_plan *plan, uint32_t *order) {
  for (uint32_t i = 0; i < plan->rank; i++) {
    uint32_t at = i;
    for (; at > 0 &&
           magnitude(plan->strides[0][order[at - 1]]) < magnitude(plan->strides[0][i]);
         at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

static bool continues(const eg_device_loop *loop, const eg_loop_plan *plan, uint32_t d) {
  if (loop->rank == 0) return false;
  for (uint32_t t = 0; t < plan->tensors; t++)
    if (loop->strides[t][loop->rank - 1] != plan->strides[t][d] * plan->dims[d])
      return false;
  return true;
}

bool eg_loop_merge(const eg_loop_plan *plan, eg_device_loop *out) {
  uint32_t order[2 * EGRAPH_MAX_RANK] = {0};
  eg_device_loop loop = {.tensors = (int32_t)plan->tensors, .count = 1};
  sort_dims(plan, order);
  for (uint32_t i = 0; i < plan->rank; i++) {
    uint32_t d = order[i];
    if (plan->dims[d] == 1) continue;
    loop.count *= plan->dims[d];
    bool merges = continues(&loop, plan, d);
    if (!merges && loop.rank == EG_LOOP_RANK) return false;
    int32_t at = merges ? loop.rank - 1 : loop.rank++;
    loop.dims[at] = merges ? loop.dims[at] * plan->dims[d] : plan->dims[d];
    for (uint32_t t = 0; t < plan->tensors; t++)
      loop.strides[t][at] = plan->strides[t][d];
  }
  *out = loop;
  return true;
}
