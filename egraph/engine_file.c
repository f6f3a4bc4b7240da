// Reads and writes engines. Reading compares every number with its bound before it uses
// the number, then builds the indexes (engine_index.c) and verifies the invariants of a
// clean engine, which find errors that bounds do not find: congruent nodes, empty
// classes, incomplete data.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/engine_file.h"

#include <string.h>

#include "egraph/engine_internal.h"

typedef struct info {
  uint32_t record, data_size, epoch_class, live_nodes;
} info;

// ---- writing --------------------------------------------------------------------------

static egraph_status put_chunk(eg_chunk_writer *writer, const char *tag, const void *data,
                               size_t size) {
  EG_TRY(eg_chunks_begin(writer, tag));
  EG_TRY(eg_chunks_put(writer, data, size));
  return eg_chunks_end(writer);
}

static egraph_status put_ops(const eg_engine *engine, eg_chunk_writer *writer) {
  EG_TRY(eg_chunks_begin(writer, "OPS "));
  for (size_t i = 0; i < engine->ops.len; i++)
    EG_TRY(eg_chunks_put(writer, &engine->ops.data[i].nodes.len, sizeof(uint32_t)));
  return eg_chunks_end(writer);
}

static egraph_status put_roots(const eg_engine *engine, eg_chunk_writer *writer) {
  EG_TRY(eg_chunks_begin(writer, "UP  "));
  for (uint32_t i = 0; i < engine->up.len; i++) {
    uint32_t root = eg_engine_root(engine, i);
    EG_TRY(eg_chunks_put(writer, &root, sizeof root));
  }
  return eg_chunks_end(writer);
}

/// Writes the nodes without their links.
static egraph_status put_nodes(const eg_engine *engine, eg_chunk_writer *writer) {
  const uint32_t *words = engine->nodes.data;
  EG_TRY(eg_chunks_begin(writer, "NODE"));
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node)) {
    uint32_t arity = eg_engine_head(engine, node)->arity;
    EG_TRY(eg_chunks_put(writer, words + node, (EG_FIRST_CHILD + arity) * sizeof *words));
    if (engine->record)
      EG_TRY(eg_chunks_put(writer, words + eg_engine_node_after(engine, node) - 1,
                           sizeof *words));
  }
  return eg_chunks_end(writer);
}

egraph_status eg_engine_put(const eg_engine *engine, eg_chunk_writer *writer) {
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the e-graph is dirty; rebuild it before saving");
  info sizes = {.record = engine->record,
                .data_size = (uint32_t)engine->analysis.data_size,
                .epoch_class = engine->epoch_class,
                .live_nodes = engine->table.len};
  size_t words = engine->nodes.len - engine->child_words;
  EG_TRY(eg_chunks_reserve(writer, (words + engine->up.len + engine->ops.len) * 4 +
                                       engine->heads.len * sizeof(eg_head) + 1024));
  EG_TRY(put_chunk(writer, "INFO", &sizes, sizeof sizes));
  EG_TRY(put_chunk(writer, "HEAD", engine->heads.data,
                   engine->heads.len * sizeof *engine->heads.data));
  EG_TRY(put_ops(engine, writer));
  EG_TRY(put_roots(engine, writer));
  EG_TRY(put_nodes(engine, writer));
  if (sizes.data_size != 0)
    EG_TRY(put_chunk(writer, "DATA", engine->data, engine->up.len * sizes.data_size));
  if (!engine->record) return EGRAPH_OK;
  return put_chunk(writer, "UNIO", engine->unions.data,
                   engine->unions.len * sizeof *engine->unions.data);
}

// ---- reading --------------------------------------------------------------------------

typedef struct loading {
  const eg_chunk_reader *reader;
  eg_engine *engine;
  const char *ops; // live nodes of each operator
  size_t op_count;
  info sizes;
} loading;

static uint32_t word_at(const char *bytes, size_t index) {
  uint32_t word;
  memcpy(&word, bytes + index * sizeof word, sizeof word);
  return word;
}

static egraph_status get_info(const eg_chunk_reader *reader, info *out) {
  const char *bytes;
  size_t count;
  EG_TRY(eg_chunks_find(reader, "INFO", sizeof *out, &bytes, &count));
  if (count != 1) return eg_chunks_fail(reader, "INFO", "%zu records, not one", count);
  memcpy(out, bytes, sizeof *out);
  if (out->record > 1) return eg_chunks_fail(reader, "INFO", "flags %u", out->record);
  return EGRAPH_OK;
}

/// Reads the heads (operator, payload, arity). The chunk with a number for each operator
/// bounds the memory for operators.
static egraph_status get_heads(loading *l) {
  const eg_chunk_reader *reader = l->reader;
  const char *bytes;
  size_t count;
  EG_TRY(eg_chunks_find(reader, "OPS ", sizeof(uint32_t), &l->ops, &l->op_count));
  EG_TRY(eg_chunks_find(reader, "HEAD", sizeof(eg_head), &bytes, &count));
  EG_TRY(eg_heads_reserve(&l->engine->heads, count));
  for (size_t i = 0; i < count; i++) {
    eg_head head;
    uint32_t id;
    memcpy(&head, bytes + i * sizeof head, sizeof head);
    if (head.op >= l->op_count || head.op > EG_ENGINE_MAX_OP ||
        head.arity > EG_ENGINE_MAX_ARITY)
      return eg_chunks_fail(reader, "HEAD", "head %zu has operator %u of %zu, arity %u",
                            i, head.op, l->op_count, head.arity);
    if (eg_engine_find_head(l->engine, head, &id))
      return eg_chunks_fail(reader, "HEAD", "heads %u and %zu are the same", id, i);
    EG_TRY(eg_engine_add_head(l->engine, head, &id));
  }
  return EGRAPH_OK;
}

static egraph_status get_roots(loading *l) {
  const char *bytes;
  size_t count;
  EG_TRY(eg_chunks_find(l->reader, "UP  ", sizeof(uint32_t), &bytes, &count));
  if (count >= EG_NONE || l->sizes.epoch_class > count)
    return eg_chunks_fail(l->reader, "UP  ", "%zu classes, the epoch from %u on", count,
                          l->sizes.epoch_class);
  for (size_t i = 0; i < count; i++) {
    uint32_t root = word_at(bytes, i);
    if (root >= count || word_at(bytes, root) != root)
      return eg_chunks_fail(l->reader, "UP  ", "class %zu is in %u, which is no root", i,
                            root);
  }
  EG_TRY(eg_u32s_resize(&l->engine->up, count));
  if (count != 0) memcpy(l->engine->up.data, bytes, count * sizeof(uint32_t));
  l->engine->epoch_class = l->sizes.epoch_class;
  return EGRAPH_OK;
}

static egraph_status get_node(loading *l, const char *bytes, size_t count,
                              size_t *inout_at) {
  eg_engine *engine = l->engine;
  size_t at = *inout_at, index = at;
  uint32_t head = word_at(bytes, at++), id = head & EG_HEAD_MASK;
  if ((head & EG_NODE_BIT) == 0 || id >= engine->heads.len)
    return eg_chunks_fail(l->reader, "NODE", "word %zu is no head", index);
  uint32_t arity = engine->heads.data[id].arity;
  bool live = (head & EG_DEAD_BIT) == 0;
  if (count - at < (size_t)arity + 1 + engine->record)
    return eg_chunks_fail(l->reader, "NODE", "the node of word %zu is cut short", index);
  size_t words = engine->nodes.len + eg_engine_node_words(engine, arity);
  if (words >= EG_NONE)
    return eg_chunks_fail(l->reader, "NODE", "more than 8 GiB of nodes");
  EG_TRY(eg_u32s_reserve(&engine->nodes, words));
  uint32_t *out = engine->nodes.data + engine->nodes.len;
  out[0] = head;
  for (uint32_t i = 0; i <= arity; i++) { // the class, and the children
    out[EG_CLASS_WORD + i] = word_at(bytes, at++);
    // Children of live nodes are roots on a clean engine.
    uint32_t class = out[EG_CLASS_WORD + i];
    if (class >= engine->up.len || (live && engine->up.data[class] != class))
      return eg_chunks_fail(l->reader, "NODE", "word %zu names class %u", at - 1, class);
  }
  for (uint32_t i = 0; i < arity; i++)
    out[EG_FIRST_CHILD + arity + i] = EG_NONE;
  if (engine->record) out[EG_FIRST_CHILD + 2 * arity] = word_at(bytes, at++);
  if (engine->record && word_at(bytes, at - 1) > EG_REASON_SEED)
    return eg_chunks_fail(l->reader, "NODE", "word %zu is no reason", at - 1);
  engine->nodes.len = words;
  *inout_at = at;
  return EGRAPH_OK;
}

static egraph_status get_nodes(loading *l) {
  const char *bytes;
  size_t count, at = 0;
  EG_TRY(eg_chunks_find(l->reader, "NODE", sizeof(uint32_t), &bytes, &count));
  EG_TRY(eg_u32s_reserve(&l->engine->nodes, count)); // and its links, unless all leaves
  while (at < count)
    EG_TRY(get_node(l, bytes, count, &at));
  return EGRAPH_OK;
}

static egraph_status get_data(loading *l) {
  size_t size = l->engine->analysis.data_size, count;
  if (size == 0) return EGRAPH_OK;
  const char *bytes;
  EG_TRY(eg_chunks_find(l->reader, "DATA", size, &bytes, &count));
  if (count != l->engine->up.len)
    return eg_chunks_fail(l->reader, "DATA", "data of %zu classes, but there are %zu",
                          count, l->engine->up.len);
  EG_TRY(eg_alloc(l->engine->alloc, count, size, &l->engine->data));
  l->engine->data_cap = count;
  if (count != 0) memcpy(l->engine->data, bytes, count * size);
  return EGRAPH_OK;
}

static egraph_status get_unions(loading *l) {
  eg_engine *engine = l->engine;
  if (!engine->record) return EGRAPH_OK;
  const char *bytes;
  size_t count;
  EG_TRY(eg_chunks_find(l->reader, "UNIO", sizeof(eg_union), &bytes, &count));
  EG_TRY(eg_unions_resize(&engine->unions, count));
  if (count != 0) memcpy(engine->unions.data, bytes, count * sizeof(eg_union));
  for (size_t i = 0; i < count; i++) {
    const eg_union *u = &engine->unions.data[i];
    if (u->a.id >= engine->up.len || u->b.id >= engine->up.len)
      return eg_chunks_fail(l->reader, "UNIO", "union %zu of classes %u and %u", i,
                            u->a.id, u->b.id);
  }
  return EGRAPH_OK;
}

/// Compares the counts that the file stores with the nodes read.
static egraph_status check_counts(const loading *l) {
  const eg_engine *engine = l->engine;
  if (engine->table.len != l->sizes.live_nodes)
    return eg_chunks_fail(l->reader, "INFO", "%u nodes, but there are %u",
                          l->sizes.live_nodes, engine->table.len);
  for (size_t i = 0; i < l->op_count; i++) {
    uint32_t counted = i < engine->ops.len ? engine->ops.data[i].nodes.len : 0;
    if (word_at(l->ops, i) != counted)
      return eg_chunks_fail(l->reader, "OPS ", "operator %zu has %u nodes, not %u", i,
                            counted, word_at(l->ops, i));
  }
  return EGRAPH_OK;
}

static egraph_status get_all(loading *l) {
  EG_TRY(get_heads(l));
  EG_TRY(get_roots(l));
  EG_TRY(get_nodes(l));
  EG_TRY(get_data(l));
  EG_TRY(get_unions(l));
  EG_TRY(eg_engine_reindex(l->engine));
  EG_TRY(check_counts(l));
  egraph_status status = eg_engine_check(l->engine);
  if (status != EGRAPH_E_INTERNAL) return status;
  char reason[EG_MESSAGE_BYTES / 2];
  strncpy(reason, egraph_last_error(), sizeof reason - 1);
  reason[sizeof reason - 1] = '\0';
  return eg_chunks_fail(l->reader, "NODE", "%s", reason);
}

egraph_status eg_engine_get(const eg_chunk_reader *reader, egraph_allocator alloc,
                            const eg_analysis *analysis, eg_engine **out) {
  loading l = {.reader = reader};
  EG_TRY(get_info(reader, &l.sizes));
  size_t data_size = analysis == NULL ? 0 : analysis->data_size;
  if (l.sizes.data_size != data_size)
    return eg_chunks_fail(reader, "INFO",
                          "%u bytes of data per class, but %zu are wanted",
                          l.sizes.data_size, data_size);
  eg_engine_options options = {.analysis = analysis, .record = l.sizes.record != 0};
  EG_HELD(eg_engine, engine);
  EG_TRY(eg_engine_create(&alloc, &options, &engine));
  l.engine = engine;
  EG_HAND_OVER(get_all(&l), engine, out);
}
