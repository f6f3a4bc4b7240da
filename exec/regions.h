// Regions: which values of a graph share memory. Every value starts as a region of its
// own, alive from its definition to its last use; joining puts a region inside another
// one at an offset, and the outer one then lives as long as both.
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
  uint32_t first, last; // lifetime in steps, both included; of roots
  uint32_t parent;      // itself: a root
  size_t offset;        // in the parent; of a root: see eg_regions_place
} eg_region;
EG_VEC_DEFINE(eg_regions, eg_region);
#define EG_REGION_NONE UINT32_MAX

/// Where a region lies: its root and the offset in it.
typedef struct eg_region_place {
  uint32_t root;
  size_t offset;
} eg_region_place;

/// Appends a root. Fails with EGRAPH_E_MEMORY.
egraph_status eg_regions_add(eg_regions *regions, size_t bytes, uint32_t first,
                             uint32_t last);
eg_region_place eg_regions_find(eg_regions *regions, uint32_t region);
/// Lays `inner` over [offset, offset + its bytes) of `outer`, or, when offset is 0 and
/// both have the same bytes, the other way round. False (and nothing changed) when
/// neither is a whole root, or both are in one already.
bool eg_regions_join(eg_regions *regions, uint32_t inner, uint32_t outer, size_t offset);
/// True when eg_regions_join(inner, outer, any offset) would lay inner, a whole
/// root, into outer.
bool eg_regions_is_whole(eg_regions *regions, uint32_t region);
/// Returns a bit for each operand that the result may be laid over: it has no reader
/// after `time`, no other operand shares its memory, and operand or result is whole.
/// Operands without a region are EG_REGION_NONE; operands past 63 have no bit.
uint64_t eg_regions_dying(eg_regions *regions, const uint32_t *operands, uint32_t count,
                          uint32_t result, uint32_t time);
/// Places all roots in one block of memory of *out_bytes. From then on
/// the `offset` of a root is its place in the block. Fails with EGRAPH_E_MEMORY.
egraph_status eg_regions_place(eg_regions *regions, size_t *out_bytes);
/// The most bytes of roots that are alive in one step: no block can be smaller. O(n^2).
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

/// Sets the offsets (multiples of `alignment`, a power of two) so that buffers alive in
/// the same step do not overlap, and *out_bytes to the size of the block. Largest first,
/// each into the smallest gap that holds it. O(n^2). Fails with EGRAPH_E_MEMORY, also
/// when the block would not fit the address space.
egraph_status eg_memory_plan(egraph_allocator alloc, eg_plan_buffer *buffers,
                             uint32_t count, size_t alignment, size_t *out_bytes);
/// Verifies a plan; EGRAPH_E_INTERNAL names the first two buffers that overlap.
egraph_status eg_memory_plan_check(const eg_plan_buffer *buffers, uint32_t count,
                                   size_t alignment, size_t bytes);

// ---- views --------------------------------------------------------------------------

// Nodes that move no bytes: the result is a region of the operand as it lies in memory,
// or the operands are regions of the result. The executor gives them shared memory
// instead of a step, and the profiler prices them at nothing.

/// True when result `index` is the region of operand 0 that starts *out_offset bytes into
/// it: reshapes, identities, transpositions that move only dimensions of length 1, parts
/// of a split or slice along the outermost dimension.
bool eg_view_of(const eg_node_spec *spec, uint32_t index, size_t *out_offset);
/// True when every result is such a view.
bool eg_node_is_view(const eg_node_spec *spec);
/// True when the operands of a concatenation lie behind each other in the result, so
/// that their producers can write there. Operand i starts after the bytes of the
/// operands before it.
bool eg_concat_is_region(const eg_node_spec *spec);

#endif
