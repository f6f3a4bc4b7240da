// Memory layout of the engine, private to this module.
//
//   nodes     one pool of words; a node is named by the offset of its first word:
//               [head] [class] [child 0 .. child k-1] [link 0 .. link k-1] ([reason])
//             Only head words have EG_NODE_BIT, so that the node of a child word is
//             found by looking back. An eg_term borrows its children from here.
//   links     the link of a child word is the next child word with the same class: the
//             parents list of a class, from classes[c].parents
//   heads     operator, payload and arity of each head number
//   up        union-find parent of each class
//   classes   [parents parent_count begin len], meaningful for roots
//   members   segments of node names, oldest first (by head first when there are many),
//             capacity the next power of two of their length; a class with one node has
//             it in `begin` instead
//   ops       per operator the live nodes, oldest first, and those that changed
//   table     hash-cons over the live nodes, keyed by their *stored* children
//
// Members, operator lists and parents lists are indexes. Indexes, and the class words of
// nodes, change in rebuild only, not with additions and unions: new nodes (from
// `indexed` on) are in the hash-cons but in no index, and the union-find is ahead of the
// class words. So a search sees the graph of the last rebuild while its matches are
// already applied.
//
// A node dies when another node has become equal to it; its words stay until dead words
// are a large part of the pool (with `record`, forever, because nodes then keep their
// names). The stored children of live nodes may be stale until the next rebuild; then the
// class that they name is on the `repairs` stack, and its parents list still contains
// these child words.
//
// A node is fresh when it was created, or its class or children changed, since
// eg_engine_start_epoch: incremental search visits fresh nodes.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_ENGINE_INTERNAL_H
#define EG_EGRAPH_ENGINE_INTERNAL_H

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/vec.h"
#include "egraph/engine.h"

#define EG_NODE_BIT (UINT32_C(1) << 31)
#define EG_FRESH_BIT (UINT32_C(1) << 30)
#define EG_DEAD_BIT (UINT32_C(1) << 29)
#define EG_HEAD_MASK (EG_DEAD_BIT - 1)
/// The end of a parents list, or no class: the largest word without EG_NODE_BIT.
#define EG_NONE (EG_NODE_BIT - 1)

enum { EG_CLASS_WORD = 1, EG_FIRST_CHILD = 2 };

/// Bits of eg_engine.flags, one word per e-class.
enum {
  EG_FLAG_TOUCHED = 1, // its members are out of order or partly dead
  EG_FLAG_STALE = 2,   // its data changed; the data of its parents must be recomputed
  EG_FLAG_MODIFY = 4   // analysis.modify is due
};

typedef struct eg_head {
  uint32_t op, payload, arity;
} eg_head;

typedef struct eg_class_record {
  uint32_t parents;      // first child word, or EG_NONE
  uint32_t parent_count; // length of the list, dead nodes included
  uint32_t begin, len;   // place of the members; len 0: no root, or not indexed yet
} eg_class_record;

EG_VEC_DEFINE(eg_heads, eg_head);
EG_VEC_DEFINE(eg_class_records, eg_class_record);
EG_VEC_DEFINE(eg_flags, uint8_t);
EG_VEC_DEFINE(eg_unions, eg_union);
EG_VEC_DEFINE(eg_keys, uint64_t);

/// A growing list of e-nodes; a list of one node needs no memory block.
typedef struct eg_node_list {
  union {
    uint32_t one;
    uint32_t *many;
  };
  uint32_t len, cap; // cap 0: `one`
} eg_node_list;

static inline const uint32_t *eg_node_list_data(const eg_node_list *list) {
  return list->cap == 0 ? &list->one : list->many;
}

static inline void eg_node_list_deinit(eg_node_list *list, egraph_allocator alloc) {
  if (list->cap != 0) eg_free(alloc, list->many, list->cap, sizeof *list->many);
  *list = (eg_node_list){.len = 0};
}

typedef struct eg_op_index {
  // Live e-nodes of this operator; nodes from `fresh_from` on were created in this epoch.
  eg_node_list nodes;
  // Older e-nodes of this operator that changed in this epoch; they may have died since.
  eg_node_list changed;
  uint32_t fresh_from;
  uint32_t first_dead; // lowest dead node still listed, or UINT32_MAX
} eg_op_index;
EG_VEC_DEFINE(eg_op_indexes, eg_op_index);

/// Classes that rebuild processes, in order, even after a failure; `next` is the
/// next one.
typedef struct eg_queue {
  eg_u32s items;
  size_t next;
} eg_queue;

enum { EG_SEGMENT_SIZES = 32 };

struct eg_engine {
  egraph_allocator alloc;
  eg_analysis analysis; // data_size 0: none
  bool is_rebuilding;   // a rebuild failed half-way: the indexes are incomplete
  bool record;          // nodes have a reason word, and unions are logged
  eg_u32s nodes;
  uint32_t indexed;         // nodes from here on are in no index yet
  uint32_t indexed_classes; // classes from here on are in no index yet
  eg_heads heads;
  eg_flatmap head_table;
  eg_u32s up;
  eg_flags flags;
  eg_class_records classes;
  eg_u32s members;
  // Unused segments of `members` by log2 of their capacity, linked by their first words.
  uint32_t free_segments[EG_SEGMENT_SIZES];
  eg_op_indexes ops;
  eg_flatmap table;
  eg_unions unions;
  bool has_log;         // see explain_log.h
  uint32_t own_reasons; // unions whose reason is a smaller number are not logged
  // The explanation log, per class: head number and canonical children of the term that
  // created the class.
  eg_u32s log_classes;
  eg_unions log_unions;
  eg_u32s log_notes;           // words of the caller
  unsigned char *data;         // data_size bytes per class
  size_t data_cap;             // capacity in classes
  unsigned char *scratch_data; // room for the data of two classes
  size_t child_words;          // child words of all nodes
  size_t dead_words;           // child words of dead nodes, perhaps still linked
  size_t swept_words;          // child words that are certainly unlinked
  eg_u32s repairs;             // stack of classes that are no longer roots
  eg_u32s touched;             // classes whose members are not in order
  eg_u32s ops_dirty;           // operators with a first_dead
  eg_queue stale, modify;
  eg_classes scratch; // children of the term being added
  eg_keys sort_scratch;
  uint32_t class_count;
  uint32_t last_head;   // head of the last term added
  uint32_t epoch_class; // classes from here on were created in this epoch
  uint32_t epochs;      // epochs begun so far
  size_t checked_size;  // words and unions at the last check (check level 2)
  eg_engine *saved;     // the newest state that was pushed; its own `saved` is older
};

/// Marks a function that only prefetches: without this GCC treats its calls as dead code.
#define EG_PREFETCHING static inline __attribute__((always_inline)) void

// Member and type of every array of the engine, for create, destroy, bytes and clone. A
// new array must be listed here. The engine copies these arrays byte by byte; `ops`,
// which owns lists, and `data`, which has no type, are copied apart.
#define EG_ENGINE_STATE_ARRAYS(X)                                                        \
  X(nodes, eg_u32s)                                                                      \
  X(heads, eg_heads)                                                                     \
  X(up, eg_u32s)                                                                         \
  X(flags, eg_flags)                                                                     \
  X(classes, eg_class_records)                                                           \
  X(members, eg_u32s)                                                                    \
  X(unions, eg_unions)                                                                   \
  X(log_classes, eg_u32s)                                                                \
  X(log_unions, eg_unions)                                                               \
  X(log_notes, eg_u32s)                                                                  \
  X(repairs, eg_u32s)                                                                    \
  X(touched, eg_u32s)                                                                    \
  X(ops_dirty, eg_u32s)                                                                  \
  X(stale.items, eg_u32s)                                                                \
  X(modify.items, eg_u32s)
// Arrays of the engine whose contents are unused between calls.
#define EG_ENGINE_SCRATCH_ARRAYS(X)                                                      \
  X(scratch, eg_classes)                                                                 \
  X(sort_scratch, eg_keys)
#define EG_ENGINE_ARRAYS(X)                                                              \
  EG_ENGINE_STATE_ARRAYS(X)                                                              \
  EG_ENGINE_SCRATCH_ARRAYS(X)                                                            \
  X(ops, eg_op_indexes)
#define EG_ENGINE_MAPS(X) X(head_table) X(table)

// ---- classes --------------------------------------------------------------------------

static inline uint32_t eg_engine_root(const eg_engine *engine, uint32_t class) {
  const uint32_t *up = engine->up.data;
  while (up[class] != class)
    class = up[class];
  return class;
}
/// Returns the root of a class as eg_engine_root does, and shortens the path to the root.
static inline uint32_t eg_engine_root_halving(eg_engine *engine, uint32_t class) {
  uint32_t *up = engine->up.data;
  while (up[class] != class) {
    up[class] = up[up[class]];
    class = up[class];
  }
  return class;
}

/// True for a root whose nodes have all been pruned; it must not be used any more.
static inline bool eg_engine_is_dropped(const eg_engine *engine, uint32_t root) {
  assert(root < engine->up.len);
  return root < engine->indexed_classes && engine->classes.data[root].len == 0;
}

// ---- nodes ----------------------------------------------------------------------------

static inline const eg_head *eg_engine_head(const eg_engine *engine, uint32_t node) {
  return &engine->heads.data[engine->nodes.data[node] & EG_HEAD_MASK];
}
static inline bool eg_engine_is_dead(const eg_engine *engine, uint32_t node) {
  return (engine->nodes.data[node] & EG_DEAD_BIT) != 0;
}
static inline bool eg_engine_is_fresh(const eg_engine *engine, uint32_t node) {
  return (engine->nodes.data[node] & EG_FRESH_BIT) != 0;
}
/// Returns the class of a node at the last rebuild; for a newer node, its original class.
static inline uint32_t eg_engine_class_word(const eg_engine *engine, uint32_t node) {
  return engine->nodes.data[node + EG_CLASS_WORD];
}
/// Returns the stored children of a node, which may not be roots on a dirty engine.
static inline uint32_t *eg_engine_children(const eg_engine *engine, uint32_t node) {
  return engine->nodes.data + node + EG_FIRST_CHILD;
}
static inline eg_term eg_engine_stored(const eg_engine *engine, uint32_t node) {
  const eg_head *head = eg_engine_head(engine, node);
  // Valid because an eg_class is its one uint32_t member.
  return (eg_term){.op = head->op,
                   .payload = head->payload,
                   .arity = head->arity,
                   .children = (const eg_class *)eg_engine_children(engine, node)};
}
static inline uint32_t eg_engine_node_words(const eg_engine *engine, uint32_t arity) {
  return EG_FIRST_CHILD + 2 * arity + engine->record;
}
/// Returns the node after this one in the pool. Visit all nodes from 0 while
/// below nodes.len.
static inline uint32_t eg_engine_node_after(const eg_engine *engine, uint32_t node) {
  return node + eg_engine_node_words(engine, eg_engine_head(engine, node)->arity);
}
/// Finds the node that contains a child word.
static inline uint32_t eg_engine_node_of_word(const eg_engine *engine, uint32_t word) {
  const uint32_t *words = engine->nodes.data;
  while ((words[word] & EG_NODE_BIT) == 0)
    word--;
  return word;
}
static inline uint32_t *eg_engine_link(const eg_engine *engine, uint32_t node,
                                       uint32_t word) {
  assert(word > node + EG_CLASS_WORD);
  return &engine->nodes.data[word + eg_engine_head(engine, node)->arity];
}

// ---- the hash-cons (hashcons.c) ------------------------------------------------------

uint64_t eg_engine_hash(const eg_term *term);
bool eg_engine_find_head(const eg_engine *engine, eg_head head, uint32_t *out);
/// Adds a head (operator, payload, arity), and memory for its operator's lists. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_engine_add_head(eg_engine *engine, eg_head head, uint32_t *out);
/// Finds the live node with head number `head` and exactly the children of `term`.
bool eg_engine_find_stored(const eg_engine *engine, uint32_t head, const eg_term *term,
                           uint64_t hash, uint32_t *out_node);
/// Copies a term into engine->scratch, with canonical children, and hashes it. Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_engine_canonical(eg_engine *engine, const eg_term *term, eg_term *out,
                                  uint64_t *out_hash);

// ---- indexes (engine_index.c) ----------------------------------------------------

/// Classes with at least this many members have them grouped by head, so that a search
/// need not look at all members.
enum { EG_GROUPED_MEMBERS = 32 };

/// Returns the number of words in the segment of a class with `len` members.
static inline uint32_t eg_members_capacity(uint32_t len) {
  return len < 2 ? 0 : UINT32_C(1) << (32 - __builtin_clz(len - 1));
}

/// Returns the nodes of a root class: *out_count nodes, in order on a clean engine.
static inline const uint32_t *eg_members_of(const eg_engine *engine, uint32_t root,
                                            uint32_t *out_count) {
  const eg_class_record *class = &engine->classes.data[root];
  *out_count = class->len;
  return class->len < 2 ? &class->begin : engine->members.data + class->begin;
}
/// Returns the nodes of a class with this head (EG_NONE: any); in small classes all
/// nodes. Clean engine.
const uint32_t *eg_members_with_head(const eg_engine *engine, uint32_t root,
                                     uint32_t head, uint32_t *out_count);
/// True when node a comes before node b in the list of a class with `len` nodes.
bool eg_members_in_order(const eg_engine *engine, uint32_t a, uint32_t b, uint32_t len);
/// Appends the nodes of class `from` to those of class `into`; *out_in_order: the result
/// is in order. Fails with EGRAPH_E_MEMORY and then moves nothing.
egraph_status eg_members_move(eg_engine *engine, uint32_t into, uint32_t from,
                              bool *out_in_order);
/// Drops dead nodes of a class and sorts the rest. Fails with EGRAPH_E_MEMORY.
egraph_status eg_members_clean(eg_engine *engine, uint32_t root);

/// Enters the nodes added since the last call into all indexes over nodes.
egraph_status eg_index_new_nodes(eg_engine *engine);
/// Reserves memory so that eg_index_mark_changed succeeds for one node of this operator.
egraph_status eg_index_reserve_changed(eg_engine *engine, uint32_t op);
/// Marks a node as fresh (changed in this epoch), for incremental search.
void eg_index_mark_changed(eg_engine *engine, uint32_t node);
/// Drops dead nodes from the lists of nodes by operator.
void eg_index_clean_ops(eg_engine *engine);
/// Builds all classes' parents lists again, without dead nodes. Every child is a root.
void eg_index_link_parents(eg_engine *engine);

/// Builds the classes, all indexes and the hash-cons of an engine that has only nodes
/// (live nodes under roots, with canonical children), heads, union-find and data; fresh
/// nodes stay fresh. O(size of the engine). Fails with EGRAPH_E_MEMORY; the engine can
/// then only be destroyed.
egraph_status eg_engine_reindex(eg_engine *engine);

// ---- the log (explain_log.c) -----------------------------------------------------

/// True when unions for this reason go into the explanation log.
static inline bool eg_engine_logs(const eg_engine *engine, uint32_t reason) {
  return engine->has_log && reason >= engine->own_reasons &&
         reason != EG_REASON_CONGRUENCE;
}
/// Reserves memory in the explanation log for the class of a term of this arity.
egraph_status eg_log_reserve_class(eg_engine *engine, uint32_t arity);
/// Adds a class with the term that created it to the explanation log.
/// eg_log_reserve_class must have been called, and the children must be canonical.
void eg_log_class(eg_engine *engine, uint32_t head, const eg_term *term);

// ---- unions (engine.c) ----------------------------------------------------------------

/// Reserves memory for one union: for every list that a union or a dying node extends.
egraph_status eg_engine_reserve_union(eg_engine *engine);
/// Marks a root class for eg_members_clean, after eg_engine_reserve_union.
static inline void eg_engine_touch(eg_engine *engine, uint32_t root) {
  if ((engine->flags.data[root] & EG_FLAG_TOUCHED) != 0) return;
  engine->flags.data[root] |= EG_FLAG_TOUCHED;
  assert(engine->touched.len < engine->touched.cap);
  engine->touched.data[engine->touched.len++] = root;
}

/// Queues a root class whose analysis data changed; memory must have been reserved.
void eg_engine_data_changed(eg_engine *engine, uint32_t root);

#endif
