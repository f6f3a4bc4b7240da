// The members of classes: segments of one pool. The capacity of a segment is the next
// power of two of its length, so that it needs no word of its own; freed segments are
// reused by size. A class with one member needs no segment.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

static uint32_t log2_of(uint32_t power) { return (uint32_t)__builtin_ctz(power); }

static egraph_status take_segment(eg_engine *engine, uint32_t cap, uint32_t *out_begin) {
  uint32_t *free_list = &engine->free_segments[log2_of(cap)];
  if (*free_list != EG_NONE) {
    *out_begin = *free_list;
    *free_list = engine->members.data[*free_list];
    return EGRAPH_OK;
  }
  eg_u32s *pool = &engine->members;
  if (pool->len + cap >= EG_NONE)
    return EG_FAIL(EGRAPH_E_MEMORY, "the member lists of an e-graph are full");
  EG_TRY(eg_u32s_reserve(pool, pool->len + cap));
  *out_begin = (uint32_t)pool->len;
  pool->len += cap;
  return EGRAPH_OK;
}

static void give_segment(eg_engine *engine, uint32_t begin, uint32_t cap) {
  if (cap == 0) return;
  uint32_t *free_list = &engine->free_segments[log2_of(cap)];
  engine->members.data[begin] = *free_list;
  *free_list = begin;
}

/// Appends `count` >= 1 nodes that may lie in the pool, at offset `from`, or not.
static egraph_status append(eg_engine *engine, uint32_t root, const uint32_t *nodes,
                            uint32_t count) {
  eg_class_record *class = &engine->classes.data[root];
  uint64_t wanted = (uint64_t) class->len + count;
  if (wanted > EG_NONE)
    return EG_FAIL(EGRAPH_E_MEMORY, "a class holds at most 2^31 - 1 nodes");
  uint32_t len = class->len, cap = eg_members_capacity((uint32_t)wanted);
  if (cap == 0) {
    *class = (eg_class_record){class->parents, class->parent_count, nodes[0], 1};
    return EGRAPH_OK;
  }
  if (cap != eg_members_capacity(len)) {
    bool in_pool = engine->members.len != 0 && nodes >= engine->members.data &&
                   nodes < engine->members.data + engine->members.len;
    size_t offset = in_pool ? (size_t)(nodes - engine->members.data) : 0;
    uint32_t begin = 0, ignored;
    EG_TRY(take_segment(engine, cap, &begin));
    if (in_pool) nodes = engine->members.data + offset; // the pool may have moved
    memcpy(engine->members.data + begin, eg_members_of(engine, root, &ignored),
           len * sizeof *nodes);
    give_segment(engine, class->begin, eg_members_capacity(len));
    class->begin = begin;
  }
  memcpy(engine->members.data + class->begin + len, nodes, count * sizeof *nodes);
  class->len = (uint32_t)wanted;
  return EGRAPH_OK;
}

egraph_status eg_members_append(eg_engine *engine, uint32_t root, uint32_t node) {
  return append(engine, root, &node, 1);
}

egraph_status eg_members_move(eg_engine *engine, uint32_t into, uint32_t from,
                              bool *out_in_order) {
  uint32_t old, count;
  eg_members_of(engine, into, &old);
  const uint32_t *moved = eg_members_of(engine, from, &count);
  *out_in_order = true;
  if (count == 0) return EGRAPH_OK;
  EG_TRY(append(engine, into, moved, count));
  uint32_t all;
  const uint32_t *members = eg_members_of(engine, into, &all);
  for (uint32_t i = old; i < all; i++)
    engine->nodes.data[members[i] + EG_CLASS_WORD] = into;
  *out_in_order = old == 0 || members[old - 1] < members[old];
  eg_class_record *source = &engine->classes.data[from];
  give_segment(engine, source->begin, eg_members_capacity(source->len));
  source->begin = source->len = 0;
  return EGRAPH_OK;
}

// ---- sorting --------------------------------------------------------------------------

/// Members are in ascending order of this.
static uint64_t key_of(const eg_engine *engine, uint32_t node, uint32_t len) {
  if (len < EG_GROUPED_MEMBERS) return node;
  return (uint64_t)(engine->nodes.data[node] & EG_HEAD_MASK) << 32 | node;
}

bool eg_members_in_order(const eg_engine *engine, uint32_t a, uint32_t b, uint32_t len) {
  return key_of(engine, a, len) < key_of(engine, b, len);
}

static size_t run_end(const uint64_t *keys, size_t begin, size_t len) {
  size_t end = begin + 1;
  while (end < len && keys[end - 1] < keys[end])
    end++;
  return end;
}

static void merge_runs(uint64_t *keys, size_t middle, size_t end, uint64_t *scratch) {
  size_t a = 0, b = middle, out = 0;
  memcpy(scratch, keys, middle * sizeof *keys);
  while (a < middle && b < end)
    keys[out++] = scratch[a] < keys[b] ? scratch[a++] : keys[b++];
  memcpy(keys + out, scratch + a, (middle - a) * sizeof *keys);
}

/// Natural merge sort: members arrive as a few sorted runs. Merges neighbours until one
/// run is left.
static void sort_keys(uint64_t *keys, size_t len, uint64_t *scratch) {
  while (run_end(keys, 0, len) < len) {
    for (size_t begin = 0; begin < len;) {
      size_t middle = run_end(keys, begin, len);
      if (middle == len) break;
      size_t end = run_end(keys, middle, len);
      merge_runs(keys + begin, middle - begin, end - begin, scratch);
      begin = end;
    }
  }
}

/// Gives back what a segment has beyond the capacity of `len` members: its upper half,
/// the upper half of the rest, and so on.
static void shrink_to(eg_engine *engine, eg_class_record *class, uint32_t len) {
  uint32_t cap = eg_members_capacity(class->len), wanted = eg_members_capacity(len);
  uint32_t only = engine->members.data[class->begin];
  for (; cap > wanted && cap > 1; cap /= 2)
    give_segment(engine, class->begin + cap / 2, cap / 2);
  if (wanted == 0) {
    give_segment(engine, class->begin, 1);
    class->begin = only;
  }
  class->len = len;
}

egraph_status eg_members_clean(eg_engine *engine, uint32_t root) {
  eg_class_record *class = &engine->classes.data[root];
  if (class->len < 2) return EGRAPH_OK;
  uint32_t *values = engine->members.data + class->begin;
  EG_TRY(eg_keys_reserve(&engine->sort_scratch, 2 * (size_t) class->len));
  uint64_t *keys = engine->sort_scratch.data;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < class->len; i++)
    if (!eg_engine_is_dead(engine, values[i])) values[kept++] = values[i];
  assert(kept != 0 && "a node only dies beside a live one");
  for (uint32_t i = 0; i < kept; i++)
    keys[i] = key_of(engine, values[i], kept);
  sort_keys(keys, kept, keys + kept);
  for (uint32_t i = 0; i < kept; i++)
    values[i] = (uint32_t)keys[i];
  if (kept != class->len) shrink_to(engine, class, kept);
  return EGRAPH_OK;
}

// ---- members with one head -------------------------------------------------------

/// The first member whose head is not below `head`.
static uint32_t first_from(const eg_engine *engine, const uint32_t *nodes, uint32_t len,
                           uint32_t head) {
  uint32_t low = 0, high = len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if ((engine->nodes.data[nodes[middle]] & EG_HEAD_MASK) < head)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const uint32_t *eg_members_with_head(const eg_engine *engine, uint32_t root,
                                     uint32_t head, uint32_t *out_count) {
  const uint32_t *nodes = eg_members_of(engine, root, out_count);
  if (*out_count < EG_GROUPED_MEMBERS || head == EG_NONE) return nodes;
  uint32_t first = first_from(engine, nodes, *out_count, head);
  *out_count = first_from(engine, nodes, *out_count, head + 1) - first;
  return nodes + first;
}
