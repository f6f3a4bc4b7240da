// Arc consistency by a queue of nodes: a value that is forbidden, or has only forbidden
// entries towards some neighbour, goes; the neighbours are looked at again. A merge turns
// up when every line of a table has one finite entry left: the neighbour is a function of
// the node then (in practice a bijection, as between an operator and what only follows
// its sharding).
// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_edit.h"
#include "extract/shard/shard_reduce.h"

static bool has_partner(const eg_shard_view *view, uint32_t v) {
  const int64_t *line = view->data + v * view->own_stride;
  for (uint32_t w = 0; w < view->other_count; w++)
    if (line[w * view->other_stride] < EG_SHARD_INFINITE) return true;
  return false;
}

static egraph_status look(eg_shard_model *model, uint32_t n, bool *changed) {
  const eg_shard_node *node = &model->nodes.data[n];
  uint32_t count = node->count;
  EG_TRY(eg_bytes_resize(&model->keep, count));
  for (uint32_t v = 0; v < count; v++)
    model->keep.data[v] = model->cost.data[node->values + v] < EG_SHARD_INFINITE;
  EG_SHARD_EACH_HALF(model, n, half) {
    eg_shard_view view = eg_shard_view_of(model, half);
    for (uint32_t v = 0; v < count; v++)
      if (model->keep.data[v] && !has_partner(&view, v)) model->keep.data[v] = 0;
  }
  EG_TRY(eg_shard_keep_values(model, n));
  if (node->count < count) *changed = true;
  return EGRAPH_OK;
}

egraph_status eg_shard_pass_consistency(eg_shard_model *model, bool *changed) {
  for (size_t next = 0; next < model->queue.len && !model->closed; next++) {
    uint32_t n = model->queue.data[next];
    model->queued.data[n] = 0;
    if (model->nodes.data[n].count != 0) EG_TRY(look(model, n, changed));
  }
  for (size_t i = 0; i < model->queue.len; i++)
    model->queued.data[model->queue.data[i]] = 0;
  model->queue.len = 0;
  return EGRAPH_OK;
}

// Fills of[] when the other end is a function of this one.
static bool find_function(const eg_shard_model *model, uint32_t half, uint32_t *of) {
  eg_shard_view view = eg_shard_view_of(model, half);
  for (uint32_t v = 0; v < view.own_count; v++) {
    const int64_t *line = view.data + v * view.own_stride;
    uint32_t found = 0;
    for (uint32_t w = 0; w < view.other_count && found < 2; w++)
      if (line[w * view.other_stride] < EG_SHARD_INFINITE) {
        of[v] = w;
        found++;
      }
    if (found != 1) return false;
  }
  return true;
}

// Tables of a node that takes over more values than it had grow; more than fourfold, and
// large, is not worth it.
static bool is_affordable(const eg_shard_model *model, uint32_t n, uint32_t gone) {
  size_t before = 0, after = 0;
  size_t own = model->nodes.data[n].count, old = model->nodes.data[gone].count;
  if (own <= old) return true;
  EG_SHARD_EACH_HALF(model, gone, half) {
    size_t other = model->nodes.data[eg_shard_other(model, half)].count;
    before += other * old;
    after += other * own;
  }
  return after <= 4 * before || after <= 20000;
}

static egraph_status merge_at(eg_shard_model *model, uint32_t half, bool *merged) {
  uint32_t n = model->edges.data[half >> 1].ends[half & 1];
  uint32_t other = eg_shard_other(model, half);
  uint32_t count = model->nodes.data[n].count;
  *merged = false;
  if (!is_affordable(model, n, other)) return EGRAPH_OK;
  eg_u32s of;
  eg_u32s_init(&of, model->alloc);
  egraph_status status = eg_u32s_resize(&of, count);
  if (status == EGRAPH_OK && find_function(model, half, of.data)) {
    status = eg_shard_absorb(model, n, other, half >> 1, of.data);
    *merged = true;
  }
  eg_u32s_deinit(&of);
  return status;
}

// Of two nodes that are functions of each other the one with fewer edges goes.
static egraph_status merge_edge(eg_shard_model *model, uint32_t e, bool *merged) {
  const uint32_t *ends = model->edges.data[e].ends;
  uint32_t side = model->nodes.data[ends[0]].degree < model->nodes.data[ends[1]].degree;
  EG_TRY(merge_at(model, 2 * e + side, merged));
  if (!*merged) EG_TRY(merge_at(model, 2 * e + (side ^ 1), merged));
  return EGRAPH_OK;
}

egraph_status eg_shard_pass_merge(eg_shard_model *model, bool *changed) {
  for (uint32_t e = 0; e < model->edges.len; e++) {
    if (eg_shard_is_dead(&model->edges.data[e])) continue;
    bool merged;
    EG_TRY(merge_edge(model, e, &merged));
    if (merged) *changed = true;
  }
  return EGRAPH_OK;
}
