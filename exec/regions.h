// Regions say which values of a graph share memory. Every value starts as its own region,
// alive from its definition to its last use. Joining puts a region inside another one at
// an offset; the outer one then lives as long as both.
//
//   concat(a, b) -> c:          a at c + 0,  b at c + |a|
//   relu(x) -> y in place:      y at x + 0
//
// Union-find with offsets: parent links carry the offset in the parent.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_REGIONS_H
#define EG_EXEC_REGIONS_H

#include <stdbool.h>

#include "base/vec.h"
#include "pcg/graph/node_spec.h"

typedef struct eg_region {
  size_t bytes;
  uint32_t first, last; // lifetime in steps, both included; valid for roots
  uint32_t parent;      // its own index for a root
  size_t offset;        // in the parent; for a root see eg_regions_place
} eg_region;
EG_VEC_DEFINE(eg_regions, eg_region);
#define EG_REGION_NONE UINT32_MAX

/// The place of a region in memory: its root, the outermost region that contains it, and
/// the offset in the root.
typedef struct eg_region_place {
  uint32_t root;
  size_t offset;
} eg_region_place;

/// Appends a region that lies in no other one. Fails with EGRAPH_E_MEMORY.
egraph_status eg_regions_add(eg_regions *regions, size_t bytes, uint32_t first,
                             uint32_t last);
eg_region_place eg_regions_find(eg_regions *regions, uint32_t region);
/// Places region `inner` at bytes [offset, offset + size of inner) of region `outer`; or
/// `outer` in `inner`, when offset is 0 and both have the same size. Returns false and
/// changes nothing when no region to be placed covers all of its outermost region, or
/// both lie in the same one.
bool eg_regions_join(eg_regions *regions, uint32_t inner, uint32_t outer, size_t offset);
/// True when the region covers all of the outermost region that contains it, so that
/// eg_regions_join can place it in another one.
bool eg_regions_is_whole(eg_regions *regions, uint32_t region);
/// Returns a bit for each operand whose memory the result may use: the operand has no
/// reader after `time`, no other operand shares its memory, and operand or result covers
/// all of its outermost region. EG_REGION_NONE: operands without a region. Operands past
/// 63 have no bit.
uint64_t eg_regions_dying(eg_regions *regions, const uint32_t *operands, uint32_t count,
                          uint32_t result, uint32_t time);
/// Places all outermost regions in one block of memory of *out_bytes, and sets the
/// `offset` of each to its position in the block. Fails with EGRAPH_E_MEMORY.
egraph_status eg_regions_place(eg_regions *regions, size_t *out_bytes);
/// Returns the most bytes of outermost regions that are alive in one step; no block of
/// memory can be smaller. Takes O(n^2) for n regions.
size_t eg_regions_bound(const eg_regions *regions);

// ---- placing buffers with known lifetimes in one block of memory --------------------

//   step      0  1  2  3
//   a [0,1]   #  #            offset 0: a, then d
//   b [1,2]      #  #         behind:   b, then ...
//   d [3,3]            #      block of max(a, d) + b instead of a + b + d

/// A buffer that holds a value from step `first` to step `last`, both included.
typedef struct eg_plan_buffer {
  size_t bytes;
  uint32_t first, last;
  size_t offset; // result of eg_memory_plan
} eg_plan_buffer;

/// Sets *out_bytes to the size of the block, and the offsets (multiples of `alignment`, a
/// power of two) so that buffers alive in the same step do not overlap. Places the
/// largest buffers first, each into the smallest gap that holds it. O(n^2). Fails with
/// EGRAPH_E_MEMORY, also when the block would not fit the address space.
egraph_status eg_memory_plan(egraph_allocator alloc, eg_plan_buffer *buffers,
                             uint32_t count, size_t alignment, size_t *out_bytes);
/// Verifies a memory plan. Fails with EGRAPH_E_INTERNAL, naming buffers that overlap.
egraph_status eg_memory_plan_check(const eg_plan_buffer *buffers, uint32_t count,
                                   size_t alignment, size_t bytes);

// ---- views --------------------------------------------------------------------------

// Views are nodes that move no bytes: the result is a region of the operand's memory, or
// the operands are regions of the result's memory. The executor gives them shared memory
// instead of a step, and the profiler prices them at 0.

/// True when result `index` is the region of operand 0 that starts at byte *out_offset of
/// the operand: reshapes, identities, transpositions that move only dimensions of length
/// 1, parts of a split or slice along the outermost dimension.
bool eg_view_of(const eg_node_spec *spec, uint32_t index, size_t *out_offset);
/// True when every result of the node is a view as in eg_view_of.
bool eg_node_is_view(const eg_node_spec *spec);
/// True when the operands of a concatenation lie one after the other in the result, so
/// that their producers can write there. Operand i starts after the bytes of the operands
/// before it.
bool eg_concat_is_region(const eg_node_spec *spec);

#endif
