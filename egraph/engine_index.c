// The indexes over e-nodes: members of classes, nodes of operators, parents of classes;
// and the marks of fresh nodes. Members are segments of one pool. The capacity of a
// segment is the next power of two of its length, so it need not be stored; freed
// segments are reused by size. A class with one member needs no segment.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

// ---- members of classes -------------------------------------------------------------

static uint32_t log2_of(uint32_t power) { return (uint32_t)__builtin_ctz(power); }

static egraph_status take_segment(eg_engine *engine, uint32_t cap, uint32_t *out_begin) {
  assert(cap != 0 && (cap & (cap - 1)) == 0);
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
  assert((cap & (cap - 1)) == 0);
  if (cap == 0) return;
  uint32_t *free_list = &engine->free_segments[log2_of(cap)];
  engine->members.data[begin] = *free_list;
  *free_list = begin;
}

/// Appends `count` >= 1 nodes to a class's members. `nodes` may point into the members.
static egraph_status append_members(eg_engine *engine, uint32_t root,
                                    const uint32_t *nodes, uint32_t count) {
  assert(count != 0);
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

egraph_status eg_members_move(eg_engine *engine, uint32_t into, uint32_t from,
                              bool *out_in_order) {
  assert(into != from);
  uint32_t old, count;
  eg_members_of(engine, into, &old);
  const uint32_t *moved = eg_members_of(engine, from, &count);
  *out_in_order = true;
  if (count == 0) return EGRAPH_OK;
  EG_TRY(append_members(engine, into, moved, count));
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

/// Returns the key by which the nodes of a class are in ascending order.
static uint64_t member_key(const eg_engine *engine, uint32_t node, uint32_t len) {
  if (len < EG_GROUPED_MEMBERS) return node;
  return (uint64_t)(engine->nodes.data[node] & EG_HEAD_MASK) << 32 | node;
}

bool eg_members_in_order(const eg_engine *engine, uint32_t a, uint32_t b, uint32_t len) {
  return member_key(engine, a, len) < member_key(engine, b, len);
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

/// Sorts by natural merge sort, because members arrive as a few sorted runs: merges
/// neighbours until one run is left.
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

/// Frees the part of a class's segment beyond the capacity for `len` members: its upper
/// half, the upper half of the rest, and so on.
static void shrink_to(eg_engine *engine, eg_class_record *class, uint32_t len) {
  assert(len <= class->len);
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
    keys[i] = member_key(engine, values[i], kept);
  sort_keys(keys, kept, keys + kept);
  for (uint32_t i = 0; i < kept; i++)
    values[i] = (uint32_t)keys[i];
  if (kept != class->len) shrink_to(engine, class, kept);
  return EGRAPH_OK;
}

// ---- members with one head -------------------------------------------------------

/// Returns the position of the first node whose head number is not below `head`.
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

// ---- lists of nodes -------------------------------------------------------------------

static egraph_status list_reserve(eg_engine *engine, eg_node_list *list, uint32_t len) {
  uint32_t cap = list->cap == 0 ? 1 : list->cap;
  if (len <= cap) return EGRAPH_OK;
  uint32_t grown = list->cap + list->cap / 2 + 4;
  if (grown < len) grown = len;
  uint32_t *many = list->cap == 0 ? NULL : list->many, one = list->one;
  EG_TRY(eg_resize(engine->alloc, list->cap, grown, sizeof *many, &many));
  if (list->cap == 0 && list->len == 1) many[0] = one;
  list->many = many;
  list->cap = grown;
  return EGRAPH_OK;
}

static uint32_t *list_data(eg_node_list *list) {
  return list->cap == 0 ? &list->one : list->many;
}

/// Appends a node to a list, in which list_reserve has reserved memory.
static void list_push(eg_node_list *list, uint32_t node) {
  list_data(list)[list->len++] = node;
}

// ---- new nodes ------------------------------------------------------------------------

static eg_op_index *index_of(eg_engine *engine, uint32_t node) {
  return &engine->ops.data[eg_engine_head(engine, node)->op];
}

/// Links the child words of a node. A child may no longer be a root since the node was
/// added. The word still enters the list of the child, which waits on the repairs stack,
/// but counts for the root.
static void link_children(eg_engine *engine, uint32_t node) {
  uint32_t arity = eg_engine_head(engine, node)->arity;
  uint32_t *children = eg_engine_children(engine, node);
  for (uint32_t i = 0; i < arity; i++) {
    eg_class_record *class = &engine->classes.data[children[i]];
    children[arity + i] = class->parents;
    class->parents = node + EG_FIRST_CHILD + i;
    engine->classes.data[eg_engine_root_halving(engine, children[i])].parent_count++;
  }
}

static egraph_status index_node(eg_engine *engine, uint32_t node) {
  eg_op_index *op = index_of(engine, node);
  uint32_t root = eg_engine_root_halving(engine, eg_engine_class_word(engine, node));
  EG_TRY(list_reserve(engine, &op->nodes, op->nodes.len + 1));
  EG_TRY(eg_u32s_reserve(&engine->touched, engine->touched.len + 1));
  EG_TRY(append_members(engine, root, &node, 1));
  if (engine->classes.data[root].len >= EG_GROUPED_MEMBERS) eg_engine_touch(engine, root);
  list_push(&op->nodes, node);
  engine->nodes.data[node + EG_CLASS_WORD] = root;
  link_children(engine, node);
  return EGRAPH_OK;
}

/// Prefetches the words that indexing the node will use.
EG_PREFETCHING prefetch_classes(const eg_engine *engine, uint32_t node) {
  uint32_t arity = eg_engine_head(engine, node)->arity;
  __builtin_prefetch(&engine->classes.data[eg_engine_class_word(engine, node)], 1);
  for (uint32_t i = 0; i < arity; i++)
    __builtin_prefetch(&engine->classes.data[eg_engine_children(engine, node)[i]], 1);
}

enum { PREFETCH_NODES = 12 };

egraph_status eg_index_new_nodes(eg_engine *engine) {
  uint32_t ahead = engine->indexed;
  for (uint32_t i = 0; i < PREFETCH_NODES && ahead < engine->nodes.len; i++)
    ahead = eg_engine_node_after(engine, ahead);
  while (engine->indexed < engine->nodes.len) {
    if (ahead < engine->nodes.len) {
      prefetch_classes(engine, ahead);
      ahead = eg_engine_node_after(engine, ahead);
    }
    EG_TRY(index_node(engine, engine->indexed));
    engine->indexed = eg_engine_node_after(engine, engine->indexed);
  }
  engine->indexed_classes = (uint32_t)engine->up.len;
  return EGRAPH_OK;
}

// ---- freshness ------------------------------------------------------------------------

egraph_status eg_index_reserve_changed(eg_engine *engine, uint32_t op) {
  eg_node_list *changed = &engine->ops.data[op].changed;
  return list_reserve(engine, changed, changed->len + 1);
}

void eg_index_mark_changed(eg_engine *engine, uint32_t node) {
  if (eg_engine_is_fresh(engine, node)) return;
  engine->nodes.data[node] |= EG_FRESH_BIT;
  list_push(&index_of(engine, node)->changed, node);
}

static void make_stale(eg_engine *engine, const uint32_t *nodes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    engine->nodes.data[nodes[i]] &= ~EG_FRESH_BIT;
}

void eg_engine_start_epoch(eg_engine *engine) {
  for (size_t i = 0; i < engine->ops.len; i++) {
    eg_op_index *op = &engine->ops.data[i];
    make_stale(engine, list_data(&op->nodes) + op->fresh_from,
               op->nodes.len - op->fresh_from);
    make_stale(engine, list_data(&op->changed), op->changed.len);
    op->fresh_from = op->nodes.len;
    eg_node_list_deinit(&op->changed, engine->alloc);
  }
  engine->epoch_class = engine->indexed_classes;
  engine->epochs++;
}

// ---- the dead -------------------------------------------------------------------------

/// Returns the position of the first node >= `node` in a sorted list.
static uint32_t lower_bound(const uint32_t *nodes, uint32_t len, uint32_t node) {
  uint32_t low = 0, high = len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (nodes[middle] < node)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void clean_op(eg_engine *engine, eg_op_index *op) {
  uint32_t *nodes = list_data(&op->nodes);
  uint32_t kept = lower_bound(nodes, op->nodes.len, op->first_dead);
  uint32_t fresh_from = op->fresh_from;
  for (uint32_t i = kept; i < op->nodes.len; i++) {
    if (i == op->fresh_from) fresh_from = kept;
    if (!eg_engine_is_dead(engine, nodes[i])) nodes[kept++] = nodes[i];
  }
  op->fresh_from = op->fresh_from == op->nodes.len ? kept : fresh_from;
  op->nodes.len = kept;
  op->first_dead = UINT32_MAX;
}

void eg_index_clean_ops(eg_engine *engine) {
  while (engine->ops_dirty.len != 0)
    clean_op(engine, &engine->ops.data[eg_u32s_pop(&engine->ops_dirty)]);
}

// Links in the order of the pool, which is far faster than following the old lists.
void eg_index_link_parents(eg_engine *engine) {
  for (uint32_t root = 0; root < engine->up.len; root++) {
    eg_class_record *class = &engine->classes.data[root];
    class->parents = EG_NONE;
    class->parent_count = 0;
  }
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (!eg_engine_is_dead(engine, node)) link_children(engine, node);
  engine->swept_words += engine->dead_words;
  engine->dead_words = 0;
}

// ---- all indexes at once ------------------------------------------------------------
// Builds the indexes of an engine that was loaded or pruned: lists are counted, get
// exactly their memory, and are filled in the order of the nodes, which is oldest first,
// as in rebuild. Dead nodes are in no list.

static uint32_t first_live(const eg_engine *engine, uint32_t node) {
  while (node < engine->nodes.len && eg_engine_is_dead(engine, node))
    node = eg_engine_node_after(engine, node);
  return node;
}

/// Iterates the live nodes, oldest first.
#define EACH_LIVE(node)                                                                  \
  uint32_t node = first_live(engine, 0);                                                 \
  node < engine->nodes.len;                                                              \
  node = first_live(engine, eg_engine_node_after(engine, node))

// ---- classes --------------------------------------------------------------------------

static egraph_status make_segments(eg_engine *engine) {
  uint64_t words = 0;
  for (uint32_t i = 0; i < engine->up.len; i++) {
    eg_class_record *class = &engine->classes.data[i];
    uint32_t cap = eg_members_capacity(class->len);
    class->begin = cap == 0 ? EG_NONE : (uint32_t)words;
    class->len = 0;
    words += cap;
    if (words >= EG_NONE)
      return EG_FAIL(EGRAPH_E_MEMORY, "the member lists of an e-graph are full");
  }
  return eg_u32s_resize(&engine->members, (size_t)words);
}

static egraph_status make_classes(eg_engine *engine) {
  EG_TRY(eg_flags_resize(&engine->flags, engine->up.len));
  EG_TRY(eg_class_records_resize(&engine->classes, engine->up.len));
  for (uint32_t i = 0; i < engine->up.len; i++)
    engine->classes.data[i].parents = EG_NONE;
  for (EACH_LIVE(node))
    engine->classes.data[eg_engine_class_word(engine, node)].len++;
  EG_TRY(make_segments(engine));
  for (EACH_LIVE(node)) {
    eg_class_record *class = &engine->classes.data[eg_engine_class_word(engine, node)];
    if (class->begin == EG_NONE)
      class->begin = node;
    else
      engine->members.data[class->begin + class->len] = node;
    class->len++;
  }
  for (uint32_t i = 0; i < engine->classes.len; i++)
    if (engine->classes.data[i].len >= EG_GROUPED_MEMBERS)
      EG_TRY(eg_members_clean(engine, i));
  engine->class_count = 0;
  for (uint32_t i = 0; i < engine->up.len; i++) {
    eg_class_record *class = &engine->classes.data[i];
    if (class->len == 0) class->begin = 0;
    engine->class_count += class->len != 0;
  }
  return EGRAPH_OK;
}

// ---- operators ------------------------------------------------------------------------

/// Reserves memory for the counted length of a list, and sets the length to 0.
static egraph_status make_list(eg_engine *engine, eg_node_list *list) {
  uint32_t count = list->len, *many;
  list->len = 0;
  if (count < 2) return EGRAPH_OK;
  EG_TRY(eg_alloc(engine->alloc, count, sizeof *many, &many));
  list->many = many;
  list->cap = count;
  return EGRAPH_OK;
}

/// Splits the fresh nodes of an operator's list: the last run of fresh nodes was created
/// in this epoch; the other fresh nodes have changed.
static egraph_status split_fresh(eg_engine *engine, eg_op_index *op) {
  const uint32_t *nodes = eg_node_list_data(&op->nodes);
  op->fresh_from = op->nodes.len;
  while (op->fresh_from != 0 && eg_engine_is_fresh(engine, nodes[op->fresh_from - 1]))
    op->fresh_from--;
  for (uint32_t i = 0; i < op->fresh_from; i++)
    op->changed.len += eg_engine_is_fresh(engine, nodes[i]);
  EG_TRY(make_list(engine, &op->changed));
  for (uint32_t i = 0; i < op->fresh_from; i++)
    if (eg_engine_is_fresh(engine, nodes[i])) list_push(&op->changed, nodes[i]);
  return EGRAPH_OK;
}

static egraph_status make_ops(eg_engine *engine) {
  for (EACH_LIVE(node))
    index_of(engine, node)->nodes.len++;
  for (size_t i = 0; i < engine->ops.len; i++)
    EG_TRY(make_list(engine, &engine->ops.data[i].nodes));
  for (EACH_LIVE(node))
    list_push(&index_of(engine, node)->nodes, node);
  for (size_t i = 0; i < engine->ops.len; i++)
    EG_TRY(split_fresh(engine, &engine->ops.data[i]));
  return EGRAPH_OK;
}

// ---- parents and hash-cons ------------------------------------------------------------

static void link_stored_children(eg_engine *engine, uint32_t node) {
  uint32_t arity = eg_engine_head(engine, node)->arity;
  uint32_t *children = eg_engine_children(engine, node);
  bool dead = eg_engine_is_dead(engine, node);
  engine->child_words += arity;
  if (dead) engine->swept_words += arity;
  for (uint32_t i = 0; i < arity; i++) {
    children[arity + i] = EG_NONE;
    if (dead) continue;
    eg_class_record *class = &engine->classes.data[children[i]];
    children[arity + i] = class->parents;
    class->parents = node + EG_FIRST_CHILD + i;
    class->parent_count++;
  }
}

static egraph_status make_table(eg_engine *engine) {
  uint32_t live = 0;
  for (EACH_LIVE(node))
    live++;
  EG_TRY(eg_flatmap_reserve(&engine->table, live));
  for (EACH_LIVE(node)) {
    eg_term term = eg_engine_stored(engine, node);
    EG_TRY(eg_flatmap_insert(&engine->table, eg_engine_hash(&term), node));
  }
  return EGRAPH_OK;
}

egraph_status eg_engine_reindex(eg_engine *engine) {
  assert(engine->table.len == 0 && engine->classes.len == 0);
  EG_TRY(make_classes(engine));
  EG_TRY(make_ops(engine));
  engine->child_words = engine->dead_words = engine->swept_words = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    link_stored_children(engine, node);
  engine->indexed = (uint32_t)engine->nodes.len;
  engine->indexed_classes = (uint32_t)engine->up.len;
  return make_table(engine);
}
