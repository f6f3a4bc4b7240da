// SPDX-License-Identifier: Apache-2.0
#include "exec/regions.h"

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
