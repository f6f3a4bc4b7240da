// SPDX-License-Identifier: Apache-2.0
#include "exec/regions.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/backend.h"

// ---- places -------------------------------------------------------------------------

// Places buffers greedily by size: large buffers determine the peak, small ones fill the
// gaps. On feed-forward networks the result is at or close to the lower bound. Placed
// buffers are sorted by offset, so that one walk finds the gaps between buffers that are
// alive at the same time.

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

// Finds the smallest gap that holds `buffer` between placed buffers that are alive with
// it; if there is none, the end of these buffers.
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

// Places a buffer in the block of memory. Sums of sizes must not wrap: a model may
// declare values of any size.
static egraph_status place(eg_plan_buffer *const *placed, uint32_t count,
                           eg_plan_buffer *buffer, size_t alignment, size_t *inout_end) {
  assert(buffer->first <= buffer->last);
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

// ---- regions ------------------------------------------------------------------------

egraph_status eg_regions_add(eg_regions *regions, size_t bytes, uint32_t first,
                             uint32_t last) {
  assert(first <= last);
  return eg_regions_push(regions, (eg_region){.bytes = bytes,
                                              .first = first,
                                              .last = last,
                                              .parent = (uint32_t)regions->len});
}

eg_region_place eg_regions_find(eg_regions *regions, uint32_t region) {
  assert(region < regions->len);
  eg_region *rows = regions->data;
  size_t offset = 0;
  uint32_t at = region;
  while (rows[at].parent != at) {
    eg_region *row = &rows[at], *parent = &rows[row->parent];
    if (parent->parent != row->parent) { // path halving
      row->offset += parent->offset;
      row->parent = parent->parent;
    }
    offset += row->offset;
    at = row->parent;
  }
  return (eg_region_place){.root = at, .offset = offset};
}

static void link_root(eg_regions *regions, uint32_t root, eg_region_place to,
                      size_t offset) {
  assert(root != to.root);
  eg_region *inner = &regions->data[root], *outer = &regions->data[to.root];
  assert(to.offset + offset + inner->bytes <= outer->bytes);
  inner->parent = to.root;
  inner->offset = to.offset + offset;
  if (inner->first < outer->first) outer->first = inner->first;
  if (inner->last > outer->last) outer->last = inner->last;
}

bool eg_regions_is_whole(eg_regions *regions, uint32_t region) {
  assert(region < regions->len);
  eg_region_place place = eg_regions_find(regions, region);
  return place.offset == 0 &&
         regions->data[place.root].bytes == regions->data[region].bytes;
}

bool eg_regions_join(eg_regions *regions, uint32_t inner, uint32_t outer, size_t offset) {
  assert(inner < regions->len && outer < regions->len);
  eg_region_place in = eg_regions_find(regions, inner);
  eg_region_place out = eg_regions_find(regions, outer);
  if (in.root == out.root) return false;
  if (eg_regions_is_whole(regions, inner)) {
    link_root(regions, in.root, out, offset);
    return true;
  }
  bool same = offset == 0 && regions->data[inner].bytes == regions->data[outer].bytes;
  if (!same || !eg_regions_is_whole(regions, outer)) return false;
  link_root(regions, out.root, in, 0);
  return true;
}

static bool dies_alone(eg_regions *regions, const uint32_t *operands, uint32_t count,
                       uint32_t operand, uint32_t time) {
  uint32_t root = eg_regions_find(regions, operands[operand]).root;
  if (regions->data[root].last != time) return false;
  for (uint32_t i = 0; i < count; i++)
    if (i != operand && operands[i] != EG_REGION_NONE &&
        eg_regions_find(regions, operands[i]).root == root)
      return false;
  return true;
}

uint64_t eg_regions_dying(eg_regions *regions, const uint32_t *operands, uint32_t count,
                          uint32_t result, uint32_t time) {
  assert(result < regions->len);
  uint64_t mask = 0;
  for (uint32_t i = 0; i < count && i < 64; i++) {
    if (operands[i] == EG_REGION_NONE ||
        regions->data[operands[i]].bytes != regions->data[result].bytes)
      continue;
    // Only a region that covers all of its outermost region can be placed in another one.
    if (dies_alone(regions, operands, count, i, time) &&
        (eg_regions_is_whole(regions, result) ||
         eg_regions_is_whole(regions, operands[i])))
      mask |= UINT64_C(1) << i;
  }
  return mask;
}

// ---- memory -----------------------------------------------------------------------

static uint32_t collect_roots(const eg_regions *regions, eg_plan_buffer *buffers,
                              uint32_t *ids) {
  uint32_t count = 0;
  for (uint32_t r = 0; r < regions->len; r++) {
    const eg_region *region = &regions->data[r];
    if (region->parent != r) continue;
    ids[count] = r;
    buffers[count++] = (eg_plan_buffer){
        .bytes = region->bytes, .first = region->first, .last = region->last};
  }
  return count;
}

egraph_status eg_regions_place(eg_regions *regions, size_t *out_bytes) {
  egraph_allocator alloc = regions->alloc;
  size_t rows = regions->len;
  eg_plan_buffer *buffers = NULL;
  uint32_t *ids = NULL, count;
  egraph_status status = EGRAPH_OK;
  EG_TRY_GOTO(status, eg_alloc(alloc, rows, sizeof *buffers, &buffers), done);
  EG_TRY_GOTO(status, eg_alloc(alloc, rows, sizeof *ids, &ids), done);
  count = collect_roots(regions, buffers, ids);
  EG_TRY_GOTO(status,
              eg_memory_plan(alloc, buffers, count, EG_DEVICE_ALIGNMENT, out_bytes),
              done);
#if EG_CHECK_LEVEL >= 2
  EG_TRY_GOTO(status,
              eg_memory_plan_check(buffers, count, EG_DEVICE_ALIGNMENT, *out_bytes),
              done);
#endif
  for (uint32_t i = 0; i < count; i++)
    regions->data[ids[i]].offset = buffers[i].offset;
done:
  eg_free(alloc, ids, rows, sizeof *ids);
  eg_free(alloc, buffers, rows, sizeof *buffers);
  return status;
}

size_t eg_regions_bound(const eg_regions *regions) {
  size_t most = 0;
  for (size_t i = 0; i < regions->len; i++) { // the peak is at the start of some root
    const eg_region *at = &regions->data[i];
    size_t alive = 0;
    for (uint32_t r = 0; at->parent == i && r < regions->len; r++) {
      const eg_region *root = &regions->data[r];
      if (root->parent == r && root->first <= at->first && at->first <= root->last)
        alive += root->bytes;
    }
    if (alive > most) most = alive;
  }
  return most;
}

// ---- views --------------------------------------------------------------------------

// True when all dimensions outside `axis` in the stored order have length 1, so that a
// range along the axis is one region.
static bool is_outermost(const eg_type *type, uint32_t axis) {
  static const uint32_t nhwc[] = {0, 2, 3, 1}, nchw[] = {0, 1, 2, 3};
  eg_format format = (eg_format)type->layout.format;
  if (format == EG_FORMAT_PLAIN) {
    for (uint32_t d = 0; d < axis; d++)
      if (type->dims[d] != 1) return false;
    return true;
  }
  int64_t block = eg_format_block(format);
  const uint32_t *order = format == EG_FORMAT_NHWC ? nhwc : nchw;
  for (uint32_t i = 0; order[i] != axis; i++) {
    bool is_one_block = order[i] == 1 && type->dims[1] <= block && block != 1;
    if (type->dims[order[i]] != 1 && !is_one_block) return false;
  }
  return true;
}

// True when a part of blocked channels consists of whole blocks, so that it is a region.
static bool is_whole_blocks(const eg_type *part, uint32_t axis) {
  int64_t block = eg_format_block((eg_format)part->layout.format);
  return axis != 1 || part->dims[1] % block == 0;
}

static bool same_storage(const eg_type *a, const eg_type *b) {
  return a->dtype == b->dtype && a->layout.format == b->layout.format;
}

static bool split_view(const eg_node_spec *spec, uint32_t index, size_t *out_offset) {
  const eg_type *whole = &spec->inputs[0];
  uint32_t axis = eg_axis_of(whole, eg_attr_at(spec->attrs, EG_A_SPLIT_AXIS)->i);
  if (!is_outermost(whole, axis)) return false;
  size_t offset = 0;
  for (uint32_t i = 0; i <= index; i++) {
    const eg_type *part = &spec->results[i];
    if (!same_storage(whole, part) || !is_whole_blocks(part, axis)) return false;
    if (i < index) offset += eg_type_bytes(part);
  }
  *out_offset = offset;
  return true;
}

static bool slice_view(const eg_node_spec *spec, size_t *out_offset) {
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  eg_ints starts = eg_attr_at(spec->attrs, EG_A_SLICE_STARTS)->ints;
  eg_ints steps = eg_attr_at(spec->attrs, EG_A_SLICE_STEPS)->ints;
  if (from->layout.format != EG_FORMAT_PLAIN || !same_storage(from, to) ||
      eg_type_elements(to) == 0)
    return false;
  int64_t offset = 0, stride = 1;
  uint32_t cut = UINT32_MAX; // the outermost dimension that is cut
  for (uint32_t d = from->rank; d-- > 0;) {
    if (from->dims[d] != to->dims[d]) cut = d;
    if (to->dims[d] != 1 && steps.data[d] != 1) return false;
    offset += starts.data[d] * stride;
    stride *= from->dims[d];
  }
  for (uint32_t d = 0; d < from->rank;
       d++) // only `cut` is cut; dimensions outside of it have length 1
    if (cut != UINT32_MAX && d != cut &&
        (from->dims[d] != to->dims[d] || (d < cut && to->dims[d] != 1)))
      return false;
  *out_offset = (size_t)offset * eg_dtype_bytes(from->dtype);
  return true;
}

// True when result and operand have the same elements in the same stored order.
static bool transpose_view(const eg_node_spec *spec) {
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  const int64_t *perm = eg_attr_at(spec->attrs, EG_A_TRANSPOSE_PERM)->ints.data;
  int64_t from_strides[EGRAPH_MAX_RANK], to_strides[EGRAPH_MAX_RANK];
  if (eg_type_is_blocked(from) || eg_type_is_blocked(to)) return false;
  eg_type_strides(from, from_strides);
  eg_type_strides(to, to_strides);
  for (uint32_t d = 0; d < to->rank; d++)
    if (to->dims[d] != 1 && to_strides[d] != from_strides[perm[d]]) return false;
  return true;
}

bool eg_view_of(const eg_node_spec *spec, uint32_t index, size_t *out_offset) {
  assert(index < spec->result_count);
  eg_op op = (eg_op)spec->attrs->op;
  *out_offset = 0;
  if (spec->input_count != 1) return false;
  if (op == EG_OP_TRANSPOSE) return transpose_view(spec);
  if (!same_storage(&spec->inputs[0], &spec->results[index])) return false;
  if (op == EG_OP_SPLIT) return split_view(spec, index, out_offset);
  if (op == EG_OP_SLICE) return slice_view(spec, out_offset);
  bool same = eg_type_same_shape(&spec->inputs[0], &spec->results[0]);
  if (op == EG_OP_PART) return eg_attr_at(spec->attrs, EG_A_PART_INDEX)->i == 0 && same;
  if (op == EG_OP_EXPAND || op == EG_OP_CAST || op == EG_OP_IDENTITY) return same;
  return (eg_op_info_of(op)->flags & EG_OPF_VIEW) != 0 &&
         (same || spec->inputs[0].layout.format == EG_FORMAT_PLAIN);
}

bool eg_node_is_view(const eg_node_spec *spec) {
  size_t offset;
  for (uint32_t i = 0; i < spec->result_count; i++)
    if (!eg_view_of(spec, i, &offset)) return false;
  return true;
}

bool eg_concat_is_region(const eg_node_spec *spec) {
  if (spec->attrs->op != EG_OP_CONCAT) return false;
  const eg_type *whole = &spec->results[0];
  uint32_t axis = eg_axis_of(whole, eg_attr_at(spec->attrs, EG_A_CONCAT_AXIS)->i);
  if (!is_outermost(whole, axis)) return false;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!same_storage(whole, &spec->inputs[i]) ||
        !is_whole_blocks(&spec->inputs[i], axis))
      return false;
  return true;
}
