// What goes is found first: nodes that are not wanted, then a stack of classes without
// nodes, whose parents go. Then what stays is copied into an engine of its own, which
// takes the place of the old one: a failure changes nothing.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/prune.h"

#include <string.h>

#include "base/owner.h"
#include "egraph/engine_internal.h"

typedef struct pruning {
  eg_engine *engine;
  eg_u32s map;   // of old nodes: EG_NONE goes; until it is renumbered, its own id
  eg_u32s left;  // nodes that each class has left
  eg_u32s empty; // stack of classes without any
} pruning;
EG_OWNER_DEFINE_STATIC(pruning, (eg_u32s, map, left, empty))

// ---- what stays -----------------------------------------------------------------------

static egraph_status lose_node(pruning *p, uint32_t class) {
  if (--p->left.data[class] != 0) return EGRAPH_OK;
  return eg_u32s_push(&p->empty, class);
}

static egraph_status
choose(pruning *p, bool (*keep)(void *user, const eg_engine *, eg_node), void *user) {
  eg_engine *engine = p->engine;
  EG_TRY(eg_u32s_resize(&p->map, engine->nodes.len));
  EG_TRY(eg_u32s_resize(&p->left, engine->up.len));
  if (p->map.len != 0) memset(p->map.data, 0xff, p->map.len * sizeof *p->map.data);
  for (uint32_t i = 0; i < engine->up.len; i++)
    p->left.data[i] = engine->classes.data[i].len;
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    if (keep == NULL || keep(user, engine, n))
      p->map.data[n.id] = n.id;
    else
      EG_TRY(lose_node(p, eg_engine_class_word(engine, n.id)));
  }
  return EGRAPH_OK;
}

static egraph_status drop_empty(pruning *p) {
  const eg_engine *engine = p->engine;
  while (p->empty.len != 0) {
    eg_class class = {eg_u32s_pop(&p->empty)};
    for (eg_parent parent = eg_engine_parents(engine, class);
         parent.node.id != EG_NODE_NONE.id;
         parent = eg_engine_next_parent(engine, parent)) {
      uint32_t node = parent.node.id;
      if (p->map.data[node] == EG_NODE_NONE.id) continue;
      p->map.data[node] = EG_NODE_NONE.id;
      EG_TRY(lose_node(p, eg_engine_class_word(engine, node)));
    }
  }
  return EGRAPH_OK;
}

// ---- copying --------------------------------------------------------------------------

static egraph_status copy_node(pruning *p, eg_engine *out, uint32_t node) {
  const eg_engine *engine = p->engine;
  const uint32_t *words = engine->nodes.data + node;
  eg_head head = *eg_engine_head(engine, node);
  uint32_t id;
  if (!eg_engine_find_head(out, head, &id)) EG_TRY(eg_engine_add_head(out, head, &id));
  p->map.data[node] = (uint32_t)out->nodes.len;
  EG_TRY(eg_u32s_push(&out->nodes, id | (words[0] & ~EG_HEAD_MASK)));
  // The links are made again.
  return eg_u32s_append(&out->nodes, words + 1,
                        eg_engine_node_words(engine, head.arity) - 1);
}

static egraph_status copy_nodes(pruning *p, eg_engine *out) {
  const eg_engine *engine = p->engine;
  size_t words = 0;
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (p->map.data[node] != EG_NODE_NONE.id)
      words += eg_engine_node_words(engine, eg_engine_head(engine, node)->arity);
  EG_TRY(eg_u32s_reserve(&out->nodes, words));
  for (uint32_t node = 0; node < engine->nodes.len;
       node = eg_engine_node_after(engine, node))
    if (p->map.data[node] != EG_NODE_NONE.id) EG_TRY(copy_node(p, out, node));
  return EGRAPH_OK;
}

static egraph_status copy_classes(const eg_engine *engine, eg_engine *out) {
  size_t size = engine->analysis.data_size, classes = engine->up.len;
  EG_TRY(eg_u32s_resize(&out->up, classes));
  for (uint32_t i = 0; i < classes; i++)
    out->up.data[i] = eg_engine_root(engine, i);
  out->epoch_class = engine->epoch_class;
  EG_TRY(eg_unions_append(&out->unions, engine->unions.data, engine->unions.len));
  if (size == 0) return EGRAPH_OK;
  EG_TRY(eg_alloc(out->alloc, classes, size, &out->data));
  out->data_cap = classes;
  if (classes != 0) memcpy(out->data, engine->data, classes * size);
  return EGRAPH_OK;
}

/// The log of explanations has its own terms, by numbers of heads and classes.
static egraph_status copy_log(const eg_engine *engine, eg_engine *out) {
  out->has_log = engine->has_log;
  out->own_reasons = engine->own_reasons;
  if (!engine->has_log) return EGRAPH_OK;
  uint32_t id;
  for (size_t i = 0; i < engine->heads.len; i++)
    EG_TRY(eg_engine_add_head(out, engine->heads.data[i], &id));
  const eg_u32s *classes = &engine->log_classes, *notes = &engine->log_notes;
  EG_TRY(eg_u32s_append(&out->log_classes, classes->data, classes->len));
  EG_TRY(eg_u32s_append(&out->log_notes, notes->data, notes->len));
  return eg_unions_append(&out->log_unions, engine->log_unions.data,
                          engine->log_unions.len);
}

static egraph_status copy_rest(pruning *p, eg_engine *out) {
  EG_TRY(copy_log(p->engine, out));
  EG_TRY(copy_nodes(p, out));
  EG_TRY(copy_classes(p->engine, out));
  return eg_engine_reindex(out);
}

/// `other` becomes the engine, except for the pushed states, and the old one goes.
static void replace(eg_engine *engine, eg_engine *other) {
  eg_engine old = *engine;
  *engine = *other;
  *other = old;
  engine->saved = other->saved;
  other->saved = NULL;
  eg_engine_destroy(other);
}

static egraph_status
prune(pruning *p, bool (*keep)(void *user, const eg_engine *, eg_node), void *user) {
  EG_TRY(choose(p, keep, user));
  EG_TRY(drop_empty(p));
  eg_engine *other;
  eg_engine_options options = {.record = p->engine->record};
  if (p->engine->analysis.data_size != 0) options.analysis = &p->engine->analysis;
  EG_TRY(eg_engine_create(&p->engine->alloc, &options, &other));
  egraph_status status = copy_rest(p, other);
  if (status == EGRAPH_OK)
    replace(p->engine, other);
  else
    eg_engine_destroy(other);
  return status;
}

egraph_status eg_engine_prune(eg_engine *engine,
                              bool (*keep)(void *user, const eg_engine *, eg_node),
                              void *user, eg_u32s *out_map) {
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the e-graph is dirty; rebuild it before pruning");
  pruning p;
  pruning_init(&p, engine->alloc);
  p.engine = engine;
  egraph_status status = prune(&p, keep, user);
  if (status == EGRAPH_OK && out_map != NULL) {
    eg_u32s map = *out_map;
    *out_map = p.map;
    p.map = map;
  }
  pruning_deinit(&p);
  return status;
}
