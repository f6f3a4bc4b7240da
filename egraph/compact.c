// Compaction: the words of dead nodes are given back.
//
// Live nodes move down in the pool, in order, so that "oldest first" still holds. While
// references are rewritten, the class word of a node holds its new place; the class is
// found again through the members of the classes. Needs no memory, and cannot fail.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "egraph/engine_internal.h"

static uint32_t new_place(const eg_engine *engine, uint32_t node) {
  return eg_engine_class_word(engine, node);
}

static void choose_places(eg_engine *engine) {
  uint32_t place = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node)) {
    if (eg_engine_is_dead(engine, node)) continue;
    engine->nodes.data[node + EG_CLASS_WORD] = place;
    place += eg_engine_node_words(engine, eg_engine_head(engine, node)->arity);
  }
}

static void rename_nodes(const eg_engine *engine, uint32_t *nodes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    nodes[i] = new_place(engine, nodes[i]);
}

/// What changed in this epoch may have died since.
static void rename_changed(const eg_engine *engine, eg_node_list *changed) {
  uint32_t *nodes = changed->cap == 0 ? &changed->one : changed->many, kept = 0;
  for (uint32_t i = 0; i < changed->len; i++)
    if (!eg_engine_is_dead(engine, nodes[i])) nodes[kept++] = new_place(engine, nodes[i]);
  changed->len = kept;
}

static void rename_in_ops(eg_engine *engine) {
  for (size_t i = 0; i < engine->ops.len; i++) {
    eg_op_index *op = &engine->ops.data[i];
    rename_nodes(engine, op->nodes.cap == 0 ? &op->nodes.one : op->nodes.many,
                 op->nodes.len);
    rename_changed(engine, &op->changed);
  }
}

static void rename_in_table(eg_engine *engine) {
  for (uint32_t i = 0; i < engine->table.capacity; i++) {
    eg_flat_slot *slot = &engine->table.slots[i];
    if (slot->id_plus_one != 0)
      slot->id_plus_one = new_place(engine, slot->id_plus_one - 1) + 1;
  }
}

static void rename_in_classes(eg_engine *engine) {
  for (uint32_t c = 0; c < engine->classes.len; c++) {
    eg_class_record *class = &engine->classes.data[c];
    if (class->len == 0) continue;
    uint32_t *members =
        class->len == 1 ? &class->begin : engine->members.data + class->begin;
    rename_nodes(engine, members, class->len);
  }
}

static void move_nodes(eg_engine *engine) {
  uint32_t end = 0, after;
  for (uint32_t node = 0; node < engine->nodes.len; node = after) {
    after = eg_engine_node_after(engine, node);
    if (eg_engine_is_dead(engine, node)) continue;
    memmove(engine->nodes.data + end, engine->nodes.data + node,
            (after - node) * sizeof *engine->nodes.data);
    end += after - node;
  }
  engine->nodes.len = end;
}

static void restore_classes(eg_engine *engine) {
  for (uint32_t c = 0; c < engine->classes.len; c++) {
    uint32_t count;
    const uint32_t *members = eg_members_of(engine, c, &count);
    for (uint32_t i = 0; i < count; i++)
      engine->nodes.data[members[i] + EG_CLASS_WORD] = c;
  }
}

void eg_engine_compact(eg_engine *engine) {
  choose_places(engine);
  rename_in_classes(engine);
  rename_in_ops(engine);
  rename_in_table(engine);
  move_nodes(engine);
  restore_classes(engine);
  eg_index_link_parents(engine);
  engine->child_words -= engine->swept_words;
  engine->swept_words = 0;
  engine->indexed = (uint32_t)engine->nodes.len;
}
