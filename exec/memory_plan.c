// Greedy by size: big buffers fix the peak, small ones fill the gaps. On feed-forward
// networks this is the lower bound or close to it. The buffers already placed are
// kept sorted by offset, so that the gaps between those alive at the same time are
// found in one walk.
// SPDX-License-Identifier: Apache-2.0
#include "exec/memory_plan.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool overlap_in_time(const eg_plan_buffer *a, const eg_plan_buffer *b) {
  return a->first <= b->last && b->first <= a->last;
}

// Orders the largest first; ties by index, so that the plan does not depend on the sort.
static int compare_size(const void *left, const void *right) {
  const eg_plan_buffer *a = *(eg_plan_buffer *const *)left,
                       *b = *(eg_plan_buffer *const *)right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a < b ? -1 : a > b;
}

static size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// The smallest gap between placed buffers alive with `buffer`, or the end of them.
static size_t best_offset(eg_plan_buffer *const *placed, uint32_t count,
                          const eg_plan_buffer *buffer, size_t alignment) {
  size_t end = 0, best = 0, best_gap = SIZE_MAX;
  bool found = false;
  for (uint32_t i = 0; i < count; i++) {
    const eg_plan_buffer *other = placed[i];
    if (!overlap_in_time(other, buffer)) continue;
    if (other->offset > end) {
      size_t gap = other->offset - end;
      if (gap >= buffer->bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
        found = true;
      }
    }
    size_t other_end = align_up(other->offset + other->bytes, alignment);
    if (other_end > end) end = other_end;
  }
  return found ? best : end;
}

// Sums of sizes must not wrap: a model may declare values of any size.
static egraph_status place(eg_plan_buffer *const *placed, uint32_t count,
                           eg_plan_buffer *buffer, size_t alignment, size_t *inout_end) {
  size_t offset = best_offset(placed, count, buffer, alignment);
  size_t limit = PTRDIFF_MAX - (alignment - 1);
  if (buffer->bytes > limit || offset > limit - buffer->bytes)
    return EG_FAIL(EGRAPH_E_MEMORY,
                   "the values alive at one time do not fit the address space; reduce "
                   "the model or its batch size");
  buffer->offset = offset;
  size_t end = align_up(offset + buffer->bytes, alignment);
  if (end > *inout_end) *inout_end = end;
  return EGRAPH_OK;
}

static void insert_by_offset(eg_plan_buffer **placed, uint32_t count,
                             eg_plan_buffer *buffer) {
  uint32_t at = count;
  while (at > 0 && placed[at - 1]->offset > buffer->offset) {
    placed[at] = placed[at - 1];
    at--;
  }
  placed[at] = buffer;
}

egraph_status eg_memory_plan(egraph_allocator alloc, eg_plan_buffer *buffers,
                             uint32_t count, size_t alignment, size_t *out_bytes) {
  assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
  eg_plan_buffer **lists = NULL;
  EG_TRY(eg_alloc(alloc, count, 2 * sizeof *lists, &lists));
  eg_plan_buffer **order = lists, **placed = count == 0 ? lists : lists + count;
  for (uint32_t i = 0; i < count; i++)
    order[i] = &buffers[i];
  if (count != 0) qsort(order, count, sizeof *order, compare_size);
  size_t bytes = 0;
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < count; i++) {
    status = place(placed, i, order[i], alignment, &bytes);
    insert_by_offset(placed, i, order[i]);
  }
  eg_free(alloc, lists, count, 2 * sizeof *lists);
  if (status == EGRAPH_OK) *out_bytes = bytes;
  return status;
}

egraph_status eg_memory_plan_check(const eg_plan_buffer *buffers, uint32_t count,
                                   size_t alignment, size_t bytes) {
  for (uint32_t i = 0; i < count; i++) {
    const eg_plan_buffer *a = &buffers[i];
    if (a->offset % alignment != 0 || a->offset + a->bytes > bytes)
      return EG_FAIL(EGRAPH_E_INTERNAL, "memory plan: buffer %u is misplaced", i);
    for (uint32_t j = i + 1; j < count; j++) {
      const eg_plan_buffer *b = &buffers[j];
      if (overlap_in_time(a, b) && a->offset < b->offset + b->bytes &&
          b->offset < a->offset + a->bytes)
        return EG_FAIL(EGRAPH_E_INTERNAL, "memory plan: buffers %u and %u overlap", i, j);
    }
  }
  return EGRAPH_OK;
}
