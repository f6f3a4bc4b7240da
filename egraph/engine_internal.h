// Memory layout of the engine, shared by the files of this module and by nobody else.
//
//   ids       node n and the class that adding it made are the same number n
//   nodes     [op payload reason first], one per id; the children of n are
//             slots[first of n .. first of n + 1)
//   slots     child classes, contiguous per node: an eg_term borrows them
//   links     [next node], one per slot: the slots whose child is class c form a list
//             from classes[c].parents
//   up        union-find parent, one per id; after a rebuild live nodes point at roots
//   classes   [parents parent_count begin len cap], one per id; meaningful for roots
//   members   segments of live node ids, oldest first; cap 0: the class is {its own id}
//   ops       per operator the live nodes, oldest first
//   table     hash-cons over the live nodes, keyed by their *stored* children
//
// A node dies when another one has become equal to it; its record stays, because ids
// are for ever. Between unite and rebuild the stored children of live nodes may be
// stale; then the class they name is on the `repairs` stack, with those slots still in
// its parents list.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_ENGINE_INTERNAL_H
#define EG_EGRAPH_ENGINE_INTERNAL_H

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/vec.h"
#include "egraph/engine.h"

#define EG_NONE UINT32_MAX

/// Bits of eg_engine.flags, per id.
enum {
  EG_FLAG_DEAD = 1,    // node: equal to another, live one
  EG_FLAG_TOUCHED = 2, // class: its members are out of order or partly dead
  EG_FLAG_STALE = 4,   // class: its data changed, its parents must be remade
  EG_FLAG_MODIFY = 8   // class: analysis.modify is due
};

typedef struct eg_node_record {
  uint32_t op, payload, reason, first;
} eg_node_record;

typedef struct eg_slot_link {
  uint32_t next, node;
} eg_slot_link;

typedef struct eg_class_record {
  uint32_t parents;      // first slot, or EG_NONE
  uint32_t parent_count; // slots in the list, dead ones included
  uint32_t begin, len, cap;
} eg_class_record;

EG_VEC_DEFINE(eg_node_records, eg_node_record);
EG_VEC_DEFINE(eg_slot_links, eg_slot_link);
EG_VEC_DEFINE(eg_class_records, eg_class_record);
EG_VEC_DEFINE(eg_flags, uint8_t);
EG_VEC_DEFINE(eg_unions, eg_union);

typedef struct eg_op_list {
  eg_u32s nodes;
  uint32_t first_dead; // lowest dead node still listed, or EG_NONE
} eg_op_list;
EG_VEC_DEFINE(eg_op_lists, eg_op_list);

/// Work that is done in order and survives a failure: items before `next` are done.
typedef struct eg_queue {
  eg_u32s items;
  size_t next;
} eg_queue;

enum { EG_SEGMENT_SIZES = 32 };

struct eg_engine {
  egraph_allocator alloc;
  eg_analysis analysis; // data_size 0: none
  eg_node_records nodes;
  eg_classes slots;
  eg_slot_links links;
  eg_u32s up;
  eg_flags flags;
  eg_class_records classes;
  eg_u32s members;
  // By log2 of the capacity; linked by their first words.
  uint32_t free_segments[EG_SEGMENT_SIZES];
  eg_op_lists ops;
  eg_flatmap table;
  eg_unions unions;
  unsigned char *data;         // data_size bytes per id
  size_t data_cap;             // in ids
  size_t id_cap;               // room in every array over ids
  size_t slot_cap;             // room in slots and links
  size_t dead_slots;           // slots of dead nodes, perhaps still linked
  size_t swept_slots;          // those that are certainly not
  unsigned char *scratch_data; // room for the data of two classes
  eg_u32s repairs;             // stack of ids that lost their root-hood
  eg_u32s touched;             // classes whose members are not in order
  eg_u32s ops_dirty;           // operators with a first_dead
  eg_queue stale, modify;
  eg_classes scratch; // children of the term being added
  eg_u32s sort_scratch;
  uint32_t class_count;
  size_t checked_changes; // ids and unions at the last check (check level 2)
};

static inline uint32_t eg_engine_root(const eg_engine *engine, uint32_t id) {
  const uint32_t *up = engine->up.data;
  while (up[id] != id)
    id = up[id];
  return id;
}
/// As eg_engine_root, but shortens the path.
static inline uint32_t eg_engine_root_halving(eg_engine *engine, uint32_t id) {
  uint32_t *up = engine->up.data;
  while (up[id] != id) {
    up[id] = up[up[id]];
    id = up[id];
  }
  return id;
}

static inline bool eg_engine_is_dead(const eg_engine *engine, uint32_t node) {
  return (engine->flags.data[node] & EG_FLAG_DEAD) != 0;
}

/// The stored form of a node; its children may be stale on a dirty engine.
static inline eg_term eg_engine_stored(const eg_engine *engine, uint32_t node) {
  const eg_node_record *record = &engine->nodes.data[node];
  size_t end = node + 1 < engine->nodes.len ? engine->nodes.data[node + 1].first
                                            : engine->slots.len;
  return (eg_term){.op = record->op,
                   .payload = record->payload,
                   .arity = (uint32_t)(end - record->first),
                   .children = engine->slots.data + record->first};
}

/// Hash of a term as it stands, and with its children replaced by their roots.
uint64_t eg_engine_hash_stored(const eg_term *term);
uint64_t eg_engine_hash_canonical(const eg_engine *engine, const eg_term *term);
/// The live node whose stored form is `term` with canonical children.
bool eg_engine_find_node(const eg_engine *engine, const eg_term *term, uint64_t hash,
                         uint32_t *out_node);

/// The members of a root: *out_count ids, sorted on a clean engine.
const uint32_t *eg_members_of(const eg_engine *engine, uint32_t root,
                              uint32_t *out_count);
/// Makes sure that eg_members_move can add `count` members to a root.
egraph_status eg_members_reserve(eg_engine *engine, uint32_t root, uint32_t count);
/// Moves the members of `from` behind those of `into`. False when they are
/// not in order then.
bool eg_members_move(eg_engine *engine, uint32_t into, uint32_t from);
/// Drops dead members and sorts the rest, oldest first. Fails with EGRAPH_E_MEMORY.
egraph_status eg_members_clean(eg_engine *engine, uint32_t root);

/// Makes room for all records of one union (every list that a union or a death can grow).
egraph_status eg_engine_reserve_union(eg_engine *engine);
/// Marks a root for eg_members_clean; room must have been made.
void eg_engine_touch(eg_engine *engine, uint32_t root);
/// Queues a root for the analysis; room must have been made.
void eg_engine_data_changed(eg_engine *engine, uint32_t root);

#endif
