// SPDX-License-Identifier: Apache-2.0
#include "exec/regions.h"

#include "exec/backend.h"
#include "exec/memory_plan.h"

egraph_status eg_regions_add(eg_regions *regions, size_t bytes, uint32_t first,
                             uint32_t last) {
  return eg_regions_push(regions, (eg_region){.bytes = bytes,
                                              .first = first,
                                              .last = last,
                                              .parent = (uint32_t)regions->len});
}

eg_region_place eg_regions_find(eg_regions *regions, uint32_t region) {
  eg_region *rows = regions->data;
  size_t offset = 0;
  uint32_t at = region;
  while (rows[at].parent != at) {
    eg_region *row = &rows[at], *parent = &rows[row->parent];
    if (parent->parent != row->parent) { // halve the path
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
  eg_region *inner = &regions->data[root], *outer = &regions->data[to.root];
  assert(to.offset + offset + inner->bytes <= outer->bytes);
  inner->parent = to.root;
  inner->offset = to.offset + offset;
  if (inner->first < outer->first) outer->first = inner->first;
  if (inner->last > outer->last) outer->last = inner->last;
}

bool eg_regions_is_whole(eg_regions *regions, uint32_t region) {
  eg_region_place place = eg_regions_find(regions, region);
  return place.offset == 0 &&
         regions->data[place.root].bytes == regions->data[region].bytes;
}

bool eg_regions_join(eg_regions *regions, uint32_t inner, uint32_t outer, size_t offset) {
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
  uint64_t mask = 0;
  for (uint32_t i = 0; i < count && i < 64; i++) {
    if (operands[i] == EG_REGION_NONE ||
        regions->data[operands[i]].bytes != regions->data[result].bytes)
      continue;
    // One of both must not be part of something bigger.
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
