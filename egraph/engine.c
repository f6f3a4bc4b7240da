// Creates, destroys and reads an e-graph, and unites classes.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

// ---- creating, destroying -----------------------------------------------------------

#define INIT_ARRAY(member, type) type##_init(&engine->member, heap);
#define DEINIT_ARRAY(member, type) type##_deinit(&engine->member);
#define INIT_MAP(member) eg_flatmap_init(&engine->member, heap);
#define DEINIT_MAP(member) eg_flatmap_deinit(&engine->member);

egraph_status eg_engine_create(const egraph_allocator *alloc,
                               const eg_engine_options *options, eg_engine **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  const eg_analysis *analysis = options == NULL ? NULL : options->analysis;
  if (analysis != NULL &&
      (analysis->data_size == 0 || analysis->make == NULL || analysis->join == NULL))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "an analysis needs a data size, make and join");
  EG_HELD(eg_engine, engine);
  EG_TRY(eg_alloc(heap, 1, sizeof *engine, &engine));
  engine->alloc = heap;
  engine->record = options != NULL && options->record;
  EG_ENGINE_ARRAYS(INIT_ARRAY)
  EG_ENGINE_MAPS(INIT_MAP)
  if (analysis != NULL) {
    engine->analysis = *analysis;
    EG_TRY(eg_alloc(heap, 2, analysis->data_size, &engine->scratch_data));
  }
  for (size_t i = 0; i < EG_SEGMENT_SIZES; i++)
    engine->free_segments[i] = EG_NONE;
  EG_HAND_OVER(EGRAPH_OK, engine, out);
}

/// Frees an engine without its saved states.
static void destroy_one(eg_engine *engine) {
  egraph_allocator alloc = engine->alloc;
  size_t data_size = engine->analysis.data_size;
  eg_free(alloc, engine->data, engine->data_cap, data_size);
  eg_free(alloc, engine->scratch_data, 2, data_size);
  for (size_t i = 0; i < engine->ops.len; i++) {
    eg_node_list_deinit(&engine->ops.data[i].nodes, alloc);
    eg_node_list_deinit(&engine->ops.data[i].changed, alloc);
  }
  EG_ENGINE_ARRAYS(DEINIT_ARRAY)
  EG_ENGINE_MAPS(DEINIT_MAP)
  eg_free(alloc, engine, 1, sizeof *engine);
}

void eg_engine_destroy(eg_engine *engine) {
  while (engine != NULL) {
    eg_engine *older = engine->saved;
    destroy_one(engine);
    engine = older;
  }
}

// ---- uniting --------------------------------------------------------------------------

static egraph_status reserve_queue(eg_queue *queue) {
  return eg_u32s_reserve(&queue->items, queue->items.len + 1);
}

egraph_status eg_engine_reserve_union(eg_engine *engine) {
  EG_TRY(eg_u32s_reserve(&engine->repairs, engine->repairs.len + 1));
  EG_TRY(eg_u32s_reserve(&engine->touched, engine->touched.len + 2));
  if (engine->record) EG_TRY(eg_unions_reserve(&engine->unions, engine->unions.len + 1));
  if (engine->analysis.data_size == 0) return EGRAPH_OK;
  EG_TRY(reserve_queue(&engine->stale));
  return reserve_queue(&engine->modify);
}

static void enqueue(eg_engine *engine, eg_queue *queue, uint32_t root, uint8_t flag) {
  assert(queue->items.len < queue->items.cap);
  if ((engine->flags.data[root] & flag) != 0) return;
  engine->flags.data[root] |= flag;
  queue->items.data[queue->items.len++] = root;
}

void eg_engine_data_changed(eg_engine *engine, uint32_t root) {
  enqueue(engine, &engine->stale, root, EG_FLAG_STALE);
  if (engine->analysis.modify != NULL)
    enqueue(engine, &engine->modify, root, EG_FLAG_MODIFY);
}

static unsigned char *data_at(const eg_engine *engine, uint32_t class) {
  return engine->data + (size_t) class * engine->analysis.data_size;
}

egraph_status eg_engine_join_data(eg_engine *engine, eg_class class, const void *data) {
  assert(class.id < engine->up.len && engine->analysis.data_size != 0);
  uint32_t root = eg_engine_root_halving(engine, class.id);
  bool changed;
  EG_TRY(eg_engine_reserve_union(engine));
  memcpy(engine->scratch_data, data_at(engine, root), engine->analysis.data_size);
  EG_TRY(
      engine->analysis.join(engine->analysis.self, engine->scratch_data, data, &changed));
  memcpy(data_at(engine, root), engine->scratch_data, engine->analysis.data_size);
  if (changed) eg_engine_data_changed(engine, root);
  return EGRAPH_OK;
}

/// Joins the analysis data of two root classes into scratch_data; *out_changed: the
/// result differs from the data of either class.
static egraph_status join_data(eg_engine *engine, uint32_t keep, uint32_t drop,
                               bool *out_changed) {
  assert(keep != drop);
  const eg_analysis *analysis = &engine->analysis;
  size_t size = analysis->data_size;
  *out_changed = false;
  if (size == 0) return EGRAPH_OK;
  memcpy(engine->scratch_data, data_at(engine, keep), size);
  EG_TRY(analysis->join(analysis->self, engine->scratch_data, data_at(engine, drop),
                        out_changed));
  // `join` reports a change of `keep` only. Unequal bytes may mean equal data; then the
  // data of the parents are computed again needlessly.
  if (memcmp(engine->scratch_data, data_at(engine, drop), size) != 0) *out_changed = true;
  return EGRAPH_OK;
}

/// Returns the parents that rebuild must repair and members that it must move when this
/// root is united into another root.
static uint64_t weight_of(const eg_engine *engine, uint32_t root) {
  const eg_class_record *class = &engine->classes.data[root];
  return (uint64_t) class->parent_count + class->len;
}

egraph_status eg_engine_unite(eg_engine *engine, eg_class a, eg_class b, uint32_t reason,
                              bool *out_changed) {
  if (a.id >= engine->up.len || b.id >= engine->up.len)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "union of classes %u and %u, but there are only %zu", a.id, b.id,
                   engine->up.len);
  uint32_t keep = eg_engine_root_halving(engine, a.id);
  uint32_t drop = eg_engine_root_halving(engine, b.id);
  *out_changed = false;
  if (keep == drop) return EGRAPH_OK;
  if (eg_engine_is_dropped(engine, keep) || eg_engine_is_dropped(engine, drop))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "union of classes %u and %u, but one of them was pruned", a.id, b.id);
  uint64_t keep_weight = weight_of(engine, keep), drop_weight = weight_of(engine, drop);
  if (keep_weight != drop_weight ? keep_weight < drop_weight : keep > drop) {
    uint32_t lighter = keep;
    keep = drop;
    drop = lighter;
  }
  EG_TRY(eg_engine_reserve_union(engine));
  if (eg_engine_logs(engine, reason))
    EG_TRY(eg_unions_reserve(&engine->log_unions, engine->log_unions.len + 1));
  bool data_changed;
  EG_TRY(join_data(engine, keep, drop, &data_changed));
  if (engine->analysis.data_size != 0)
    memcpy(data_at(engine, keep), engine->scratch_data, engine->analysis.data_size);
  // Rebuild moves the members and the parents of `drop`.
  engine->up.data[drop] = keep;
  engine->classes.data[keep].parent_count += engine->classes.data[drop].parent_count;
  engine->class_count--;
  engine->repairs.data[engine->repairs.len++] = drop;
  if (data_changed) eg_engine_data_changed(engine, keep);
  if (engine->record)
    engine->unions.data[engine->unions.len++] = (eg_union){a, b, reason};
  if (eg_engine_logs(engine, reason))
    engine->log_unions.data[engine->log_unions.len++] = (eg_union){a, b, reason};
  *out_changed = true;
  return EGRAPH_OK;
}

// ---- reading ------------------------------------------------------------------------

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

static size_t bytes_of_state(const eg_engine *engine) {
  size_t bytes = sizeof *engine EG_ENGINE_ARRAYS(ARRAY_BYTES) EG_ENGINE_MAPS(MAP_BYTES);
  for (size_t i = 0; i < engine->ops.len; i++)
    bytes += ((size_t)engine->ops.data[i].nodes.cap + engine->ops.data[i].changed.cap) *
             sizeof(uint32_t);
  return bytes + (engine->data_cap + 2) * engine->analysis.data_size;
}

size_t eg_engine_bytes(const eg_engine *engine) {
  size_t bytes = 0;
  for (; engine != NULL; engine = engine->saved)
    bytes += bytes_of_state(engine);
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
  assert(class.id < engine->up.len);
  return first_root_from(engine, class.id + 1);
}

const eg_node *eg_engine_class_nodes(const eg_engine *engine, eg_class class,
                                     uint32_t *out_count) {
  assert(!engine->is_rebuilding);
  if (engine->classes.data[class.id].len == 0) class = eg_engine_find(engine, class);
  // Valid because an eg_node is its one uint32_t member.
  return (const eg_node *)eg_members_of(engine, class.id, out_count);
}

static eg_node live_from(const eg_engine *engine, uint32_t node) {
  while (node < engine->nodes.len && eg_engine_is_dead(engine, node))
    node = eg_engine_node_after(engine, node);
  return node < engine->nodes.len ? (eg_node){node} : EG_NODE_NONE;
}

eg_node eg_engine_first_node(const eg_engine *engine) { return live_from(engine, 0); }

eg_node eg_engine_next_node(const eg_engine *engine, eg_node node) {
  assert(node.id < engine->nodes.len);
  return live_from(engine, eg_engine_node_after(engine, node.id));
}

eg_term eg_engine_term(const eg_engine *engine, eg_node node) {
  assert(node.id < engine->nodes.len);
  return eg_engine_stored(engine, node.id);
}

eg_class eg_engine_class_of(const eg_engine *engine, eg_node node) {
  assert(node.id < engine->nodes.len);
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

/// Returns the first parent, from `word` on in a parents list, whose node is live.
static eg_parent live_parent(const eg_engine *engine, uint32_t word) {
  assert(word == EG_NONE || word < engine->nodes.len);
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

uint32_t eg_engine_head_count(const eg_engine *engine) {
  return (uint32_t)engine->heads.len;
}

void eg_engine_head_at(const eg_engine *engine, uint32_t head, uint32_t *out_op,
                       uint32_t *out_arity) {
  assert(head < engine->heads.len);
  *out_op = engine->heads.data[head].op;
  *out_arity = engine->heads.data[head].arity;
}

const uint32_t *eg_engine_op_nodes(const eg_engine *engine, uint32_t op,
                                   uint32_t *out_count) {
  *out_count = 0;
  if (op >= engine->ops.len) return NULL;
  *out_count = engine->ops.data[op].nodes.len;
  return eg_node_list_data(&engine->ops.data[op].nodes);
}

uint32_t eg_engine_epochs(const eg_engine *engine) { return engine->epochs; }
