// Creating, adding and uniting; the memory layout is pictured in engine_internal.h.
//
// Every change first makes room for all it will write, then asks the analysis, and only
// then changes anything: a failure leaves the engine as it was.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/engine.h"

#include <assert.h>
#include <string.h>

#include "egraph/engine_internal.h"

// ---- creating -------------------------------------------------------------------------

egraph_status eg_engine_create(const egraph_allocator *alloc, const eg_analysis *analysis,
                               eg_engine **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  if (analysis != NULL &&
      (analysis->data_size == 0 || analysis->make == NULL || analysis->join == NULL))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "an analysis needs a data size, make and join");
  eg_engine *engine;
  EG_TRY(eg_alloc(heap, 1, sizeof *engine, &engine));
  engine->alloc = heap;
  if (analysis != NULL) {
    engine->analysis = *analysis;
    egraph_status status = eg_alloc(heap, 2, analysis->data_size, &engine->scratch_data);
    if (status != EGRAPH_OK) {
      eg_free(heap, engine, 1, sizeof *engine);
      return status;
    }
  }
  eg_node_records_init(&engine->nodes, heap);
  eg_classes_init(&engine->slots, heap);
  eg_slot_links_init(&engine->links, heap);
  eg_u32s_init(&engine->up, heap);
  eg_flags_init(&engine->flags, heap);
  eg_class_records_init(&engine->classes, heap);
  eg_u32s_init(&engine->members, heap);
  for (size_t i = 0; i < EG_SEGMENT_SIZES; i++)
    engine->free_segments[i] = EG_NONE;
  eg_op_lists_init(&engine->ops, heap);
  eg_flatmap_init(&engine->table, heap);
  eg_unions_init(&engine->unions, heap);
  eg_u32s_init(&engine->repairs, heap);
  eg_u32s_init(&engine->touched, heap);
  eg_u32s_init(&engine->ops_dirty, heap);
  eg_u32s_init(&engine->stale.items, heap);
  eg_u32s_init(&engine->modify.items, heap);
  eg_classes_init(&engine->scratch, heap);
  eg_u32s_init(&engine->sort_scratch, heap);
  *out = engine;
  return EGRAPH_OK;
}

void eg_engine_destroy(eg_engine *engine) {
  if (engine == NULL) return;
  egraph_allocator alloc = engine->alloc;
  size_t data_size = engine->analysis.data_size;
  eg_free(alloc, engine->data, engine->data_cap, data_size);
  eg_free(alloc, engine->scratch_data, 2, data_size);
  eg_node_records_deinit(&engine->nodes);
  eg_classes_deinit(&engine->slots);
  eg_slot_links_deinit(&engine->links);
  eg_u32s_deinit(&engine->up);
  eg_flags_deinit(&engine->flags);
  eg_class_records_deinit(&engine->classes);
  eg_u32s_deinit(&engine->members);
  for (size_t i = 0; i < engine->ops.len; i++)
    eg_u32s_deinit(&engine->ops.data[i].nodes);
  eg_op_lists_deinit(&engine->ops);
  eg_flatmap_deinit(&engine->table);
  eg_unions_deinit(&engine->unions);
  eg_u32s_deinit(&engine->repairs);
  eg_u32s_deinit(&engine->touched);
  eg_u32s_deinit(&engine->ops_dirty);
  eg_u32s_deinit(&engine->stale.items);
  eg_u32s_deinit(&engine->modify.items);
  eg_classes_deinit(&engine->scratch);
  eg_u32s_deinit(&engine->sort_scratch);
  eg_free(alloc, engine, 1, sizeof *engine);
}

// ---- hashing --------------------------------------------------------------------------

static uint64_t hash_step(uint64_t hash, uint32_t word) {
  hash = (hash << 5) | (hash >> 59);
  return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_head(const eg_term *term) {
  uint64_t head = (uint64_t)term->op << 32 | term->payload;
  return (head + term->arity) * UINT64_C(0xd6e8feb86659fd93);
}

uint64_t eg_engine_hash_stored(const eg_term *term) {
  uint64_t hash = hash_head(term);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = hash_step(hash, term->children[i].id);
  return eg_hash_mix(hash);
}

uint64_t eg_engine_hash_canonical(const eg_engine *engine, const eg_term *term) {
  uint64_t hash = hash_head(term);
  for (uint32_t i = 0; i < term->arity; i++)
    hash = hash_step(hash, eg_engine_root(engine, term->children[i].id));
  return eg_hash_mix(hash);
}

static bool is_stored_as(const void *user, uint32_t node, const void *key) {
  const eg_engine *engine = user;
  const eg_term *term = key;
  eg_term stored = eg_engine_stored(engine, node);
  if (stored.op != term->op || stored.payload != term->payload ||
      stored.arity != term->arity)
    return false;
  for (uint32_t i = 0; i < term->arity; i++)
    if (stored.children[i].id != eg_engine_root(engine, term->children[i].id))
      return false;
  return true;
}

bool eg_engine_find_node(const eg_engine *engine, const eg_term *term, uint64_t hash,
                         uint32_t *out_node) {
  return eg_flatmap_find(&engine->table, hash, term, is_stored_as, engine, out_node);
}

// ---- adding ---------------------------------------------------------------------------

static egraph_status check_term(const eg_engine *engine, const eg_term *term) {
  if (term->op > EG_ENGINE_MAX_OP)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "operator number %u is above %d", term->op,
                   (int)EG_ENGINE_MAX_OP);
  for (uint32_t i = 0; i < term->arity; i++)
    if (term->children[i].id >= engine->up.len)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "child %u names class %u, but there are only %zu",
                     i, term->children[i].id, engine->up.len);
  return EGRAPH_OK;
}

static egraph_status reserve_op(eg_engine *engine, uint32_t op) {
  EG_TRY(eg_op_lists_reserve(&engine->ops, (size_t)op + 1));
  // Every operator can become dirty once, so that marking one never allocates.
  EG_TRY(eg_u32s_reserve(&engine->ops_dirty, (size_t)op + 1));
  while (engine->ops.len <= op) {
    eg_op_list *list = &engine->ops.data[engine->ops.len++];
    eg_u32s_init(&list->nodes, engine->alloc);
    list->first_dead = EG_NONE;
  }
  eg_u32s *nodes = &engine->ops.data[op].nodes;
  return eg_u32s_reserve(nodes, nodes->len + 1);
}

static egraph_status reserve_data(eg_engine *engine, size_t ids) {
  if (engine->analysis.data_size == 0 || ids <= engine->data_cap) return EGRAPH_OK;
  size_t cap = engine->data_cap + engine->data_cap / 2 + 8;
  if (cap < ids) cap = ids;
  EG_TRY(eg_resize(engine->alloc, engine->data_cap, cap, engine->analysis.data_size,
                   &engine->data));
  engine->data_cap = cap;
  return EGRAPH_OK;
}

static egraph_status reserve_queue(eg_queue *queue) {
  return eg_u32s_reserve(&queue->items, queue->items.len + 1);
}

/// Arrays over ids grow together, so that one comparison is enough in most calls.
static egraph_status grow_ids(eg_engine *engine) {
  size_t ids = engine->id_cap + engine->id_cap / 2 + 16;
  if (engine->nodes.len + 1 >= EG_NONE)
    return EG_FAIL(EGRAPH_E_MEMORY, "an e-graph holds at most 2^32 - 2 nodes");
  EG_TRY(eg_node_records_reserve(&engine->nodes, ids));
  EG_TRY(eg_u32s_reserve(&engine->up, ids));
  EG_TRY(eg_flags_reserve(&engine->flags, ids));
  EG_TRY(eg_class_records_reserve(&engine->classes, ids));
  EG_TRY(reserve_data(engine, ids));
  engine->id_cap = ids;
  return EGRAPH_OK;
}

static egraph_status grow_slots(eg_engine *engine, size_t wanted) {
  size_t slots = engine->slot_cap + engine->slot_cap / 2 + 16;
  if (slots < wanted) slots = wanted;
  if (wanted >= EG_NONE)
    return EG_FAIL(EGRAPH_E_MEMORY, "an e-graph holds at most 2^32 - 2 children");
  EG_TRY(eg_classes_reserve(&engine->slots, slots));
  EG_TRY(eg_slot_links_reserve(&engine->links, slots));
  engine->slot_cap = slots;
  return EGRAPH_OK;
}

static egraph_status reserve_node(eg_engine *engine, const eg_term *term) {
  size_t slots = engine->slots.len + term->arity;
  if (engine->nodes.len == engine->id_cap) EG_TRY(grow_ids(engine));
  // From the first node on the arrays exist, so that a leaf has a place among them, too.
  if (slots >= engine->slot_cap) EG_TRY(grow_slots(engine, slots));
  EG_TRY(eg_flatmap_reserve_one(&engine->table));
  if (engine->analysis.modify != NULL) EG_TRY(reserve_queue(&engine->modify));
  return reserve_op(engine, term->op);
}

static unsigned char *data_at(const eg_engine *engine, uint32_t id) {
  return engine->data + (size_t)id * engine->analysis.data_size;
}

static void append_child(eg_engine *engine, uint32_t node, eg_class child) {
  uint32_t slot = (uint32_t)engine->slots.len++;
  eg_class_record *class = &engine->classes.data[child.id];
  engine->links.len++;
  engine->slots.data[slot] = child;
  engine->links.data[slot] = (eg_slot_link){.next = class->parents, .node = node};
  class->parents = slot;
  class->parent_count++;
}

/// Room has been made; the term has canonical children.
static uint32_t append_node(eg_engine *engine, const eg_term *term, uint32_t reason) {
  uint32_t node = (uint32_t)engine->nodes.len++;
  engine->nodes.data[node] = (eg_node_record){.op = term->op,
                                              .payload = term->payload,
                                              .reason = reason,
                                              .first = (uint32_t)engine->slots.len};
  engine->up.data[engine->up.len++] = node;
  engine->flags.data[engine->flags.len++] = 0;
  engine->classes.data[engine->classes.len++] = (eg_class_record){.parents = EG_NONE};
  for (uint32_t i = 0; i < term->arity; i++)
    append_child(engine, node, term->children[i]);
  eg_u32s *list = &engine->ops.data[term->op].nodes;
  list->data[list->len++] = node;
  engine->class_count++;
  return node;
}

static egraph_status copy_canonical(eg_engine *engine, const eg_term *term,
                                    eg_term *out) {
  engine->scratch.len = 0;
  EG_TRY(eg_classes_reserve(&engine->scratch, term->arity));
  for (uint32_t i = 0; i < term->arity; i++)
    engine->scratch.data[i].id = eg_engine_root_halving(engine, term->children[i].id);
  *out = *term;
  out->children = engine->scratch.data;
  return EGRAPH_OK;
}

egraph_status eg_engine_add(eg_engine *engine, const eg_term *term, uint32_t reason,
                            eg_class *out_class) {
  EG_TRY(check_term(engine, term));
  uint64_t hash = eg_engine_hash_canonical(engine, term);
  uint32_t node;
  if (eg_engine_find_node(engine, term, hash, &node)) {
    out_class->id = eg_engine_root_halving(engine, node);
    return EGRAPH_OK;
  }
  eg_term canonical; // a copy: term->children may point into our own slots
  EG_TRY(copy_canonical(engine, term, &canonical));
  EG_TRY(reserve_node(engine, &canonical));
  node = (uint32_t)engine->nodes.len;
  const eg_analysis *analysis = &engine->analysis;
  if (analysis->data_size != 0) {
    memset(data_at(engine, node), 0, analysis->data_size);
    EG_TRY(analysis->make(analysis->self, engine, &canonical, data_at(engine, node)));
  }
  append_node(engine, &canonical, reason);
  egraph_status status = eg_flatmap_insert(&engine->table, hash, node);
  assert(status == EGRAPH_OK && "room was made");
  (void)status;
  if (analysis->modify != NULL) {
    engine->modify.items.data[engine->modify.items.len++] = node;
    engine->flags.data[node] |= EG_FLAG_MODIFY;
  }
  out_class->id = node;
  return EGRAPH_OK;
}

bool eg_engine_find_term(const eg_engine *engine, const eg_term *term,
                         eg_class *out_class) {
  for (uint32_t i = 0; i < term->arity; i++)
    if (term->children[i].id >= engine->up.len) return false;
  uint32_t node;
  if (!eg_engine_find_node(engine, term, eg_engine_hash_canonical(engine, term), &node))
    return false;
  out_class->id = eg_engine_root(engine, node);
  return true;
}

// ---- uniting --------------------------------------------------------------------------

egraph_status eg_engine_reserve_union(eg_engine *engine) {
  EG_TRY(eg_u32s_reserve(&engine->repairs, engine->repairs.len + 1));
  EG_TRY(eg_u32s_reserve(&engine->touched, engine->touched.len + 2));
  EG_TRY(eg_unions_reserve(&engine->unions, engine->unions.len + 1));
  if (engine->analysis.data_size == 0) return EGRAPH_OK;
  EG_TRY(reserve_queue(&engine->stale));
  return reserve_queue(&engine->modify);
}

void eg_engine_touch(eg_engine *engine, uint32_t root) {
  if ((engine->flags.data[root] & EG_FLAG_TOUCHED) != 0) return;
  engine->flags.data[root] |= EG_FLAG_TOUCHED;
  engine->touched.data[engine->touched.len++] = root;
}

static void enqueue(eg_engine *engine, eg_queue *queue, uint32_t root, uint8_t flag) {
  if ((engine->flags.data[root] & flag) != 0) return;
  engine->flags.data[root] |= flag;
  queue->items.data[queue->items.len++] = root;
}

void eg_engine_data_changed(eg_engine *engine, uint32_t root) {
  enqueue(engine, &engine->stale, root, EG_FLAG_STALE);
  if (engine->analysis.modify != NULL)
    enqueue(engine, &engine->modify, root, EG_FLAG_MODIFY);
}

/// Joins the data of two roots into scratch_data; *out_changed when either
/// differs from that.
static egraph_status join_data(eg_engine *engine, uint32_t keep, uint32_t drop,
                               bool *out_changed) {
  const eg_analysis *analysis = &engine->analysis;
  size_t size = analysis->data_size;
  *out_changed = false;
  if (size == 0) return EGRAPH_OK;
  memcpy(engine->scratch_data, data_at(engine, keep), size);
  EG_TRY(analysis->join(analysis->self, engine->scratch_data, data_at(engine, drop),
                        out_changed));
  // `join` speaks of `keep` only. Unequal bytes may mean equal data; then the parents are
  // made again for nothing.
  if (memcmp(engine->scratch_data, data_at(engine, drop), size) != 0) *out_changed = true;
  return EGRAPH_OK;
}

/// Parents to repair and members to move when a root loses its root-hood.
static uint64_t weight_of(const eg_engine *engine, uint32_t root) {
  const eg_class_record *class = &engine->classes.data[root];
  return (uint64_t) class->parent_count + (class->cap == 0 ? 1 : class->len);
}

static bool is_lighter(const eg_engine *engine, uint32_t a, uint32_t b) {
  uint64_t weight_a = weight_of(engine, a), weight_b = weight_of(engine, b);
  return weight_a != weight_b ? weight_a < weight_b : a > b;
}

static void link_roots(eg_engine *engine, uint32_t keep, uint32_t drop) {
  bool was_touched = (engine->flags.data[drop] & EG_FLAG_TOUCHED) != 0;
  bool is_in_order = eg_members_move(engine, keep, drop);
  engine->up.data[drop] = keep;
  engine->classes.data[keep].parent_count += engine->classes.data[drop].parent_count;
  engine->class_count--;
  engine->repairs.data[engine->repairs.len++] = drop;
  if (was_touched || !is_in_order) eg_engine_touch(engine, keep);
}

egraph_status eg_engine_unite(eg_engine *engine, eg_class a, eg_class b, uint32_t reason,
                              bool *out_changed) {
  if (a.id >= engine->up.len || b.id >= engine->up.len)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "union of classes %u and %u, but there are only %zu", a.id, b.id,
                   engine->up.len);
  uint32_t keep = eg_engine_root_halving(engine, a.id);
  uint32_t drop = eg_engine_root_halving(engine, b.id);
  if (keep == drop) {
    *out_changed = false;
    return EGRAPH_OK;
  }
  if (is_lighter(engine, keep, drop)) {
    uint32_t lighter = keep;
    keep = drop;
    drop = lighter;
  }
  uint32_t count;
  eg_members_of(engine, drop, &count);
  EG_TRY(eg_engine_reserve_union(engine));
  EG_TRY(eg_members_reserve(engine, keep, count));
  bool data_changed;
  EG_TRY(join_data(engine, keep, drop, &data_changed));
  if (engine->analysis.data_size != 0)
    memcpy(data_at(engine, keep), engine->scratch_data, engine->analysis.data_size);
  link_roots(engine, keep, drop);
  if (data_changed) eg_engine_data_changed(engine, keep);
  engine->unions.data[engine->unions.len++] = (eg_union){a, b, reason};
  *out_changed = true;
  return EGRAPH_OK;
}
