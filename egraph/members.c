// The members of classes: segments of one pool, capacity a power of two, freed segments
// reused by size. A fresh class needs no segment: its only member is the node of its own
// id, which is what the union-find holds for a root.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

const uint32_t *eg_members_of(const eg_engine *engine, uint32_t root,
                              uint32_t *out_count) {
  const eg_class_record *class = &engine->classes.data[root];
  if (class->cap == 0) {
    *out_count = 1;
    return &engine->up.data[root];
  }
  *out_count = class->len;
  return engine->members.data + class->begin;
}

static uint32_t log2_of(uint32_t power) {
  uint32_t log = 0;
  while (power >> log != 1)
    log++;
  return log;
}

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

egraph_status eg_members_reserve(eg_engine *engine, uint32_t root, uint32_t count) {
  uint32_t len;
  eg_members_of(engine, root, &len);
  uint64_t wanted = (uint64_t)len + count;
  uint32_t cap = 2;
  if (wanted > UINT32_C(1) << 31)
    return EG_FAIL(EGRAPH_E_MEMORY, "a class holds at most 2^31 nodes");
  while (cap < wanted)
    cap *= 2;
  eg_class_record *class = &engine->classes.data[root];
  if (cap <= class->cap) return EGRAPH_OK;
  uint32_t begin = 0;
  EG_TRY(take_segment(engine, cap, &begin));
  const uint32_t *old = eg_members_of(engine, root, &len); // the pool may have moved
  memcpy(engine->members.data + begin, old, len * sizeof *old);
  give_segment(engine, class->begin, class->cap);
  *class = (eg_class_record){.parents = class->parents,
                             .parent_count = class->parent_count,
                             .begin = begin,
                             .len = len,
                             .cap = cap};
  return EGRAPH_OK;
}

bool eg_members_move(eg_engine *engine, uint32_t into, uint32_t from) {
  uint32_t count;
  const uint32_t *moved = eg_members_of(engine, from, &count);
  eg_class_record *target = &engine->classes.data[into];
  eg_class_record *source = &engine->classes.data[from];
  assert(target->cap - target->len >= count && "room was made");
  uint32_t *tail = engine->members.data + target->begin + target->len;
  bool is_in_order = tail[-1] < moved[0];
  for (uint32_t i = 0; i < count; i++) {
    tail[i] = moved[i];
    engine->up.data[moved[i]] = into; // one step from every live node to its class
  }
  target->len += count;
  give_segment(engine, source->begin, source->cap);
  source->begin = source->len = source->cap = 0;
  return is_in_order;
}

// ---- sorting --------------------------------------------------------------------------

static size_t run_end(const uint32_t *values, size_t begin, size_t len) {
  size_t end = begin + 1;
  while (end < len && values[end - 1] < values[end])
    end++;
  return end;
}

static void merge_runs(uint32_t *values, size_t middle, size_t end, uint32_t *scratch) {
  size_t a = 0, b = middle, out = 0;
  memcpy(scratch, values, middle * sizeof *values);
  while (a < middle && b < end)
    values[out++] = scratch[a] < values[b] ? scratch[a++] : values[b++];
  memcpy(values + out, scratch + a, (middle - a) * sizeof *values);
}

/// Natural merge sort: members arrive as a few sorted runs. Merges neighbours until one
/// run is left.
static void sort_ids(uint32_t *values, size_t len, uint32_t *scratch) {
  while (run_end(values, 0, len) < len) {
    for (size_t begin = 0; begin < len;) {
      size_t middle = run_end(values, begin, len);
      if (middle == len) break;
      size_t end = run_end(values, middle, len);
      merge_runs(values + begin, middle - begin, end - begin, scratch);
      begin = end;
    }
  }
}

egraph_status eg_members_clean(eg_engine *engine, uint32_t root) {
  eg_class_record *class = &engine->classes.data[root];
  if (class->cap == 0) return EGRAPH_OK;
  uint32_t *values = engine->members.data + class->begin;
  EG_TRY(eg_u32s_reserve(&engine->sort_scratch, class->len));
  uint32_t kept = 0;
  for (uint32_t i = 0; i < class->len; i++)
    if (!eg_engine_is_dead(engine, values[i])) values[kept++] = values[i];
  assert(kept != 0 && "a node only dies beside a live one");
  class->len = kept;
  sort_ids(values, kept, engine->sort_scratch.data);
  return EGRAPH_OK;
}
