// Reading an engine: sizes, classes, nodes, parents, the log of unions.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "egraph/engine_internal.h"

bool eg_engine_is_clean(const eg_engine *engine) {
  return engine->indexed == engine->nodes.len && engine->repairs.len == 0 &&
         engine->touched.len == 0 && engine->stale.next == engine->stale.items.len &&
         engine->modify.next == engine->modify.items.len;
}

eg_class eg_engine_find(const eg_engine *engine, eg_class class) {
  assert(class.id < engine->up.len);
  return (eg_class){eg_engine_root(engine, class.id)};
}

bool eg_engine_has_class(const eg_engine *engine, eg_class class) {
  return class.id < engine->up.len &&
         !eg_engine_is_dropped(engine, eg_engine_root(engine, class.id));
}

uint32_t eg_engine_class_count(const eg_engine *engine) { return engine->class_count; }
uint32_t eg_engine_node_count(const eg_engine *engine) { return engine->table.len; }
uint32_t eg_engine_class_limit(const eg_engine *engine) {
  return (uint32_t)engine->up.len;
}
uint32_t eg_engine_node_limit(const eg_engine *engine) {
  return (uint32_t)engine->nodes.len;
}

#define ARRAY_BYTES(member, type) +engine->member.cap * sizeof *engine->member.data
#define MAP_BYTES(member) +engine->member.capacity * sizeof *engine->member.slots

static size_t bytes_of(const eg_engine *engine) {
  size_t bytes = sizeof *engine EG_ENGINE_ARRAYS(ARRAY_BYTES) EG_ENGINE_MAPS(MAP_BYTES);
  for (size_t i = 0; i < engine->ops.len; i++)
    bytes += ((size_t)engine->ops.data[i].nodes.cap + engine->ops.data[i].changed.cap) *
             sizeof(uint32_t);
  return bytes + (engine->data_cap + 2) * engine->analysis.data_size;
}

size_t eg_engine_bytes(const eg_engine *engine) {
  size_t bytes = 0;
  for (; engine != NULL; engine = engine->saved)
    bytes += bytes_of(engine);
  return bytes;
}

static eg_class first_root_from(const eg_engine *engine, uint32_t id) {
  for (; id < engine->up.len; id++)
    if (engine->up.data[id] == id && !eg_engine_is_dropped(engine, id))
      return (eg_class){id};
  return EG_CLASS_NONE;
}

eg_class eg_engine_first(const eg_engine *engine) { return first_root_from(engine, 0); }

eg_class eg_engine_next(const eg_engine *engine, eg_class class) {
  return first_root_from(engine, class.id + 1);
}

const eg_node *eg_engine_class_nodes(const eg_engine *engine, eg_class class,
                                     uint32_t *out_count) {
  assert(!engine->is_rebuilding);
  if (engine->classes.data[class.id].len == 0) class = eg_engine_find(engine, class);
  // An eg_node is its one uint32_t member.
  return (const eg_node *)eg_members_of(engine, class.id, out_count);
}

static eg_node live_from(const eg_engine *engine, uint32_t node) {
  while (node < engine->nodes.len && eg_engine_is_dead(engine, node))
    node = eg_engine_node_after(engine, node);
  return node < engine->nodes.len ? (eg_node){node} : EG_NODE_NONE;
}

eg_node eg_engine_first_node(const eg_engine *engine) { return live_from(engine, 0); }

eg_node eg_engine_next_node(const eg_engine *engine, eg_node node) {
  return live_from(engine, eg_engine_node_after(engine, node.id));
}

eg_term eg_engine_term(const eg_engine *engine, eg_node node) {
  assert(node.id < engine->nodes.len);
  return eg_engine_stored(engine, node.id);
}

eg_class eg_engine_class_of(const eg_engine *engine, eg_node node) {
  return (eg_class){eg_engine_root(engine, eg_engine_class_word(engine, node.id))};
}

uint32_t eg_engine_node_reason(const eg_engine *engine, eg_node node) {
  assert(engine->record);
  return engine->nodes.data[eg_engine_node_after(engine, node.id) - 1];
}

const void *eg_engine_data(const eg_engine *engine, eg_class class) {
  if (engine->analysis.data_size == 0) return NULL;
  return engine->data +
         (size_t)eg_engine_find(engine, class).id * engine->analysis.data_size;
}

/// The first pair from `word` on whose node lives.
static eg_parent live_parent(const eg_engine *engine, uint32_t word) {
  while (word != EG_NONE) {
    uint32_t node = eg_engine_node_of_word(engine, word);
    if (!eg_engine_is_dead(engine, node))
      return (eg_parent){
          .node = {node}, .position = word - node - EG_FIRST_CHILD, .slot = word};
    word = *eg_engine_link(engine, node, word);
  }
  return (eg_parent){.node = EG_NODE_NONE, .slot = EG_NONE};
}

eg_parent eg_engine_parents(const eg_engine *engine, eg_class class) {
  uint32_t root = eg_engine_find(engine, class).id;
  return live_parent(engine, engine->classes.data[root].parents);
}

eg_parent eg_engine_next_parent(const eg_engine *engine, eg_parent parent) {
  return live_parent(engine, *eg_engine_link(engine, parent.node.id, parent.slot));
}
